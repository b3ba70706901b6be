/* test-lower-paddle-flags.c - the lowering `paddle`, parameter by parameter: for each row of its
 * table a setting that changes the trace, event by event as paddle.md says, and a value that is
 * refused. A parameter without an example here fails the test. Then the settings that would have
 * no effect, each with its reason. */
#include "config.h"

#include <string.h>

#include "tests/util/graphs.h"
#include "tests/util/lowered.h"
#include "workloads/lowering.h"

/* clang-format off: texts in pieces, a line each */

#define GRAPH(nodes) "{\"name\":\"g\",\"nodes\":[" nodes "]}"
#define NODE(name, type, more) "{\"name\":\"" name "\",\"type\":\"" type "\"" more "}"
#define OUT(size) ",\"outputs\":[{\"size\":" size "}]"
#define IN(from) ",\"inputs\":[[\"" from "\",0]]"

/* Graphs of the examples. */
static const char chain[] = GRAPH (NODE ("a", "x", OUT ("100")) "," NODE (
    "b", "x", IN ("a") OUT ("200")) "," NODE ("c", "x", IN ("b") OUT ("300")));
static const char weight[] =
    "{\"name\":\"g\",\"variables\":[{\"name\":\"w\",\"size\":50,\"persistable\":true}],\"nodes\":["
    "{\"name\":\"a\",\"type\":\"x\",\"inputs\":[\"w\"],\"outputs\":[{\"size\":5}]}]}";
static const char batches[] = GRAPH (
    "{\"name\":\"a\",\"type\":\"x\",\"batch_label\":\"B0\",\"outputs\":[{\"size\":10}]},"
    "{\"name\":\"b\",\"type\":\"x\",\"batch_label\":\"B1\",\"outputs\":[{\"size\":20}]}");
static const char shape_only[] = GRAPH (
    NODE ("a", "x", OUT ("100")) "," NODE ("b", "x", IN ("a") OUT ("200")) "," NODE (
        "c", "x", IN ("a") ",\"attributes\":{\"no_need_buffer\":[0]}" OUT ("300")));
static const char three[] = GRAPH ("{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":40},{"
                                   "\"size\":100},{\"size\":60}]}," NODE ("b", "x", ""));
static const char overlay[] = GRAPH (
    NODE ("a", "x", OUT ("100")) "," NODE ("b", "relu", IN ("a") OUT ("100")) "," NODE (
        "c", "y", IN ("b") ",\"attributes\":{\"inplace_pairs\":[[0,0]]}" OUT ("100")));
static const char scratch[] = GRAPH (
    NODE ("a", "x", ",\"workspaces\":[200]") "," NODE ("b", "x", ",\"workspaces\":[100]"));
#define GRADIENT(n, dtype) \
  "{\"name\":\"l" n ".w\",\"dtype\":\"" dtype "\",\"shape\":[10]},{\"name\":\"l" n \
  ".w@GRAD\",\"dtype\":\"" dtype "\",\"shape\":[10]}"
#define MAKER(n, size) \
  "{\"name\":\"g" n "\",\"type\":\"x\",\"role\":1,\"attributes\":{\"op_role_var\":[\"l" n \
  ".w\",\"l" n ".w@GRAD\"]}," \
  "\"outputs\":[{\"size\":" size ",\"variable\":\"l" n ".w@GRAD\"}]}"
static const char gradients[] =
    "{\"name\":\"g\",\"variables\":[" GRADIENT ("0", "float32") "," GRADIENT (
        "1", "float32") "],\"nodes\":[" MAKER ("0", "40") "," MAKER ("1", "40") "]}";
/* Since 1.6 every group of one element type has a buffer, where there are several types. */
static const char mixed[] =
    "{\"name\":\"g\",\"variables\":[" GRADIENT ("0", "float32") "," GRADIENT ("1", "float32") "," GRADIENT ("2", "float32") "," GRADIENT (
        "3",
        "float32") "," GRADIENT ("4",
                                 "float16") "],\"nodes\":[" MAKER ("0",
                                                                   "40") "," MAKER ("1",
                                                                                    "40") "," MAKER ("2",
                                                                                                     "40") "," MAKER ("3",
                                                                                                                      "40") "," MAKER ("4",
                                                                                                                                       "20") "]}";

/* With @before alone the trace of @graph is @without, with @name=@value added @with (NULL: the
 * same, other tests show the change); @name=@bad is refused. */
typedef struct
{
  const char *name, *graph, *before, *value, *without, *with, *bad;
} Example;

static const Example examples[] = {
  { "steps", weight, "preset=P14", "2", "a2:50 S1 a1:5 f2 f1", "a2:50 S1 a1:5 f1 S2 a1:5 f2 f1",
    "0" },
  { "variables", weight, "preset=P14", "no", "a2:50 S1 a1:5 f2 f1", "S1 a1:5 f1", "some" },
  { "time_per_node", chain, "preset=P3", "1ms", "S1 a1:100 a2:200 f1 a3:300 f2 f3", NULL, "-1ms" },
  { "batch_label", batches, "preset=P3", "B0", "S1 a2:20 f2", "S1 a1:10 f1", "B2" },
  { "preset", chain, "executor=plain", "P14", "S1 a1:100 a2:200 f1 a3:300 f2 f3",
    "S1 a1:100 a2:200 a3:300 f1 f2 f3", "P15" },
  { "version", chain, "executor=plain", "1.4", "S1 a1:100 a2:200 f1 a3:300 f2 f3",
    "S1 a1:100 a2:200 a3:300 f1 f2 f3", "1.9" },
  { "rules", chain, "version=2.6", "documented", "S1 a1:100 a2:200 f1 a3:300 f2 f3",
    "S1 a1:100 a2:200 a3:300 f1 f2 f3", "manual" },
  { "place", scratch, "preset=P14", "cpu", "S1 a1:200 a2:100 s0 f2 f1", "S1 a1:200 f1 a2:100 f2",
    "npu" },
  { "executor", shape_only, "preset=P3", "parallel", "S1 a1:100 a2:200 f1 f2 a3:300 f3",
    "S1 a1:100 a2:200 f2 a3:300 f1 f3", "threaded" },
  /* 100 bytes count as 256 with auto_growth, which is the threshold */
  { "allocator_strategy", chain, "preset=P3,eager_delete_tensor_gb=2.384185791015625e-07",
    "naive_best_fit", "S1 a1:100 a2:200 f1 a3:300 f2 f3", "S1 a1:100 a2:200 a3:300 f1 f2 f3",
    "best" },
  { "eager_delete_tensor_gb", chain, "preset=P3", "-1", "S1 a1:100 a2:200 f1 a3:300 f2 f3",
    "S1 a1:100 a2:200 a3:300 f1 f2 f3", "many" },
  { "fast_eager_deletion_mode", chain, "preset=P3", "no", "S1 a1:100 a2:200 f1 a3:300 f2 f3",
    "S1 a1:100 a2:200 e5 a3:300 e6 f1 f2 f3", "maybe" },
  { "host_ahead", chain, "fast_eager_deletion_mode=no", "0",
    "S1 a1:100 a2:200 e5 a3:300 e6 f1 f2 f3", "S1 a1:100 a2:200 e5 f1 a3:300 e6 f2 f3", "-1" },
  { "memory_fraction_of_eager_deletion", three, "executor=parallel", "0.5",
    "S1 a1:40 a2:100 a3:60 f1 f2 f3", "S1 a1:40 a2:100 a3:60 f2 f1 f3", "1.5" },
  { "eager_delete_scope", weight, "preset=P14,steps=2", "no", "a2:50 S1 a1:5 f1 S2 a1:5 f2 f1",
    "a2:50 S1 a1:5 S2 a5:5 f1 f2 f5", "2" },
  { "scope_delay", chain, "preset=P14,steps=2,eager_delete_scope=no", "2",
    "S1 a1:100 a2:200 a3:300 S2 a7:100 f1 f2 f3 a8:200 a9:300 f7 f8 f9",
    "S1 a1:100 a2:200 a3:300 S2 a7:100 a8:200 f1 f2 f3 a9:300 f7 f8 f9", "-1" },
  { "scope_delay", chain, "preset=P14,steps=2,eager_delete_scope=no", "0",
    "S1 a1:100 a2:200 a3:300 S2 a7:100 f1 f2 f3 a8:200 a9:300 f7 f8 f9",
    "S1 a1:100 a2:200 a3:300 S2 f1 f2 f3 a7:100 a8:200 a9:300 f7 f8 f9", "1.5" },
  { "scope_delay", chain, "preset=P14,steps=2,eager_delete_scope=no", "4",
    "S1 a1:100 a2:200 a3:300 S2 a7:100 f1 f2 f3 a8:200 a9:300 f7 f8 f9",
    "S1 a1:100 a2:200 a3:300 S2 a7:100 a8:200 a9:300 f1 f2 f3 f7 f8 f9", "many" },
  { "scope_cost", chain, "preset=P3,eager_delete_scope=no", "5", "S1 a1:100 a2:200 f1 a3:300 f2 f3",
    NULL, "101" },
  { "enable_inplace", overlay, "preset=P14,executor=parallel", "yes",
    "S1 a1:100 a2:100 a3:100 f1 f2 f3", "S1 a1:100 f1", "sometimes" },
  { "enable_inplace_whitelist", overlay, "preset=P14,executor=parallel,enable_inplace=yes", "yes",
    "S1 a1:100 f1", "S1 a1:100 a3:100 f1 f3", "some" },
  { "inplace_version", overlay,
    "preset=P14,executor=parallel,enable_inplace=yes,enable_inplace_whitelist=yes", "1.5",
    "S1 a1:100 a3:100 f1 f3", "S1 a1:100 a2:100 f1 f2", "1.7" },
  { "fuse_all_reduce_ops", gradients, "executor=parallel", "yes", "S1 a1:40 f1 a2:40 f2",
    "a7:512 S1 f7", "perhaps" },
  { "fuse_version", gradients, "preset=P14,executor=parallel,fuse_all_reduce_ops=yes", "1.5",
    "a7:2048 S1 f7", "a7:512 S1 f7", "2.0" },
  { "fuse_parameter_memory_size", mixed, "executor=parallel,fuse_all_reduce_ops=yes", "1",
    "a16:256 a17:256 a18:256 a19:256 a20:256 S1 f16 f17 f18 f19 f20", "a16:1024 a17:256 S1 f16 f17",
    "lots" },
  { "fuse_parameter_groups_size", mixed,
    "executor=parallel,fuse_all_reduce_ops=yes,fuse_parameter_memory_size=1", "2",
    "a16:1024 a17:256 S1 f16 f17", "a16:768 a17:256 a18:256 S1 f16 f17 f18", "4294967296" },
  { "places", gradients, "executor=parallel,fuse_all_reduce_ops=yes", "1", "a7:512 S1 f7",
    "S1 a1:40 f1 a2:40 f2", "-1" },
  { "init_allocated_mem", weight, "preset=P16,allocator_strategy=naive_best_fit", "yes",
    "a2:50 S1 a1:5 f1 f2", "a2:50 m2:50 S1 a1:5 m1:5 f1 f2", "perhaps" },
  { "limit_of_tmp_allocation", scratch, "preset=P14", "150", "S1 a1:200 a2:100 s0 f2 f1",
    "S1 a1:200 s0 f1 a2:100 s0 f2", "-2" },
  { "times_excess_than_required_tmp_allocation", scratch, "preset=P14", "2.02",
    "S1 a1:200 a2:100 s0 f2 f1", "S1 a1:200 s0 f1", "-1" },
};

static const GememParam *
parameters (void)
{
  const GememLowering *const *lowering = gemem_lowerings ();

  while (strcmp ((*lowering)->base.name, "paddle") != 0)
    lowering++;
  return (*lowering)->base.params;
}

static void
check_example (const Example *e)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = test_graph_from_text (e->graph, NULL, &error);
  g_autofree char *without = g_strconcat ("paddle:", e->before, NULL),
                  *with = g_strdup_printf ("%s,%s=%s", without, e->name, e->value);
  g_autofree char *bad = g_strdup_printf ("%s,%s=%s", without, e->name, e->bad);

  g_assert_no_error (error);
  g_assert_cmpstr (e->without, !=, e->with);
  test_lowered_check (e->graph, without, e->without);
  test_lowered_check (e->graph, with, e->with != NULL ? e->with : e->without);
  test_lowered_refused (bad, graph, e->name);
  test_lowered_refused (bad, graph, e->bad);
}

/* Every parameter changes some trace, and refuses some value. */
static void
test_every_parameter (void)
{
  for (const GememParam *param = parameters (); param->name != NULL; param++)
    {
      guint n = 0;

      for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
        if (strcmp (examples[i].name, param->name) == 0)
          {
            check_example (&examples[i]);
            n++;
          }
      if (n == 0)
        g_error ("parameter %s has no example in this test; add one", param->name);
    }
}

/* ---- settings without effect */

static void
test_without_effect (void)
{
  static const struct
  {
    const char *spec, *text;
  } cases[] = {
    { "paddle:eager_delete_tensor_gb=1e30", "too large" },
    { "paddle:preset=P14,fast_eager_deletion_mode=no", "set eager_delete_tensor_gb to 0 or more" },
    { "paddle:host_ahead=3", "fast_eager_deletion_mode=no only" },
    { "paddle:executor=parallel,memory_fraction_of_eager_deletion=-0.1", "too small" },
    { "paddle:memory_fraction_of_eager_deletion=0.5", "choose executor=parallel" },
    { "paddle:preset=P14,executor=parallel,memory_fraction_of_eager_deletion=0.5",
      "set eager_delete_tensor_gb to 0 or more" },
    { "paddle:enable_inplace=yes", "choose executor=parallel" },
    { "paddle:inplace_version=1.5", "enable_inplace=yes" },
    { "paddle:executor=parallel,enable_inplace=yes,enable_inplace_whitelist=yes", "until 1.5" },
    { "paddle:preset=P14,enable_inplace_whitelist=yes", "until 1.5" },
    { "paddle:fuse_all_reduce_ops=yes", "since 1.4" },
    { "paddle:preset=P13,executor=parallel,fuse_all_reduce_ops=yes", "since 1.4" },
    { "paddle:executor=parallel,fuse_all_reduce_ops=yes", "no backward operator names a gradient" },
    { "paddle:fuse_parameter_memory_size=4", "fuse_all_reduce_ops=yes" },
    { "paddle:fuse_parameter_groups_size=2", "fuse_all_reduce_ops=yes" },
    { "paddle:places=2", "fuse_all_reduce_ops=yes" },
    { "paddle:fuse_version=1.5", "fuse_all_reduce_ops=yes" },
    { "paddle:executor=parallel,fuse_all_reduce_ops=yes,fuse_parameter_groups_size=3",
      "set fuse_parameter_memory_size above 0" },
    { "paddle:preset=P14,executor=parallel,fuse_all_reduce_ops=yes,places=2",
      "choose fuse_version=1.6" },
    { "paddle:init_allocated_mem=yes", "naive_best_fit" },
    { "paddle:preset=P14,allocator_strategy=naive_best_fit,init_allocated_mem=yes",
      "choose allocator_strategy=legacy, or rules=documented" },
    { "paddle:limit_of_tmp_allocation=10", "removed in 1.6" },
    { "paddle:times_excess_than_required_tmp_allocation=3", "removed in 1.6" },
    { "paddle:place=cpu,fast_eager_deletion_mode=no", "choose place=gpu" },
    { "paddle:place=cpu,preset=P14,limit_of_tmp_allocation=10", "choose place=gpu" },
    { "paddle:place=cpu,preset=P14,times_excess_than_required_tmp_allocation=3",
      "choose place=gpu" },
    { "paddle:place=cpu,allocator_strategy=naive_best_fit", "choose place=gpu" },
    { "paddle:place=cpu,init_allocated_mem=yes", "until 2.6" },
    { "paddle:allocator_strategy=legacy", "ended with 1.5" },
    { "paddle:preset=P14,allocator_strategy=auto_growth", "since 1.6" },
    { "paddle:version=1.8,allocator_strategy=thread_local", "since 2.0" },
    { "paddle:preset=P14,allocator_strategy=thread_local", "since 2.0" },
    { "paddle:version=1.2,fast_eager_deletion_mode=no,eager_delete_tensor_gb=0", "since 1.3" },
    { "paddle:version=1.3,executor=parallel,eager_delete_tensor_gb=0,"
      "memory_fraction_of_eager_deletion=0.5",
      "since 1.4" },
    { "paddle:version=1.2,limit_of_tmp_allocation=100", "since 1.3" },
    { "paddle:version=1.2,times_excess_than_required_tmp_allocation=3", "since 1.3" },
    { "paddle:version=1.2,executor=parallel,enable_inplace=yes,enable_inplace_whitelist=yes",
      "from 1.3 until 1.5" },
    { "paddle:version=1.3,rules=documented,executor=parallel,enable_inplace=yes,"
      "enable_inplace_whitelist=yes",
      "since 1.4 as documented" },
    { "paddle:version=1.4,rules=documented,executor=parallel,fuse_all_reduce_ops=yes,"
      "fuse_parameter_memory_size=16",
      "since 1.5 as documented" },
    { "paddle:version=1.4,preset=P14", "exclude each other" },
    { "paddle:scope_delay=2", "eager_delete_scope=no" },
    { "paddle:scope_cost=2", "eager_delete_scope=no" },
    { "paddle:eager_delete_tensor=1", "did you mean 'eager_delete_tensor_gb'" },
  };
  g_autoptr (GememGraph) graph = test_graph_from_text (chain, NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    test_lowered_refused (cases[i].spec, graph, cases[i].text);
}

/* ---- wrong values, one line each */

static void
test_wrong_values (void)
{
  static const char *const groups[] = { "-5", "0", "1.5", "many", "", "2147483648" };
  static const char *const fractions[] = { "-0.5", "1.5", "half", "", "nan" };
  static const char *const gigabytes[] = { "many", "", "nan", "inf", "1e30", "1GiB" };
  static const char *const megabytes[] = { "many", "", "nan", "inf", "16MiB" };
  static const char *const switches[] = { "2", "-5", "1.5", "maybe", "" };
  static const struct
  {
    const char *flag, *const *values;
    guint n;
  } flags[] = {
    { "fuse_parameter_groups_size", groups, G_N_ELEMENTS (groups) },
    { "memory_fraction_of_eager_deletion", fractions, G_N_ELEMENTS (fractions) },
    { "eager_delete_tensor_gb", gigabytes, G_N_ELEMENTS (gigabytes) },
    { "fuse_parameter_memory_size", megabytes, G_N_ELEMENTS (megabytes) },
    { "eager_delete_scope", switches, G_N_ELEMENTS (switches) },
    { "fast_eager_deletion_mode", switches, G_N_ELEMENTS (switches) },
    { "enable_inplace_whitelist", switches, G_N_ELEMENTS (switches) },
  };
  g_autoptr (GememGraph) graph = test_graph_from_text (gradients, NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (flags); i++)
    for (guint k = 0; k < flags[i].n; k++)
      for (guint documented = 0; documented < 2; documented++)
        {
          g_autofree char *spec = g_strdup_printf (
              "paddle:version=1.5,executor=parallel,fuse_all_reduce_ops=yes,enable_inplace=yes,%s"
              "FLAGS_%s=%s",
              documented ? "rules=documented," : "", flags[i].flag, flags[i].values[k]);

          test_lowered_refused (spec, graph, flags[i].flag);
        }
}

/* ---- the manual's rules */

/* Documented: garbage by the number of tensors, whole numbers rounded down; listed operators never
 * in place, whatever the release.  The groups of gradients are in test-fuse-gradients.c. */
static void
test_documented (void)
{
  static const struct
  {
    const char *graph, *settings, *built, *documented;
  } cases[] = {
    /* 100, 60 and 40 bytes: a limit of 60 takes the first, 0.9 of a tensor none */
    { three, "executor=parallel,eager_delete_tensor_gb=0,fraction=0.3",
      "S1 a1:40 a2:100 a3:60 f2 f1 f3", "S1 a1:40 a2:100 a3:60 f1 f2 f3" },
    /* 150 bytes take 100 and 60, 2.25 tensors the same two */
    { three, "executor=parallel,eager_delete_tensor_gb=0,fraction=0.75",
      "S1 a1:40 a2:100 a3:60 f2 f3 f1", "S1 a1:40 a2:100 a3:60 f2 f3 f1" },
    /* relu is listed, y is not */
    { overlay, "version=1.4,executor=parallel,enable_inplace=yes,enable_inplace_whitelist=yes",
      "S1 a1:100 a3:100 f1 f3", "S1 a1:100 a2:100 f1 f2" },
    { overlay, "version=1.5,executor=parallel,enable_inplace=yes,enable_inplace_whitelist=yes",
      "S1 a1:100 a2:100 f1 f2", "S1 a1:100 a2:100 f1 f2" },
    { overlay, "version=2.6,executor=parallel,enable_inplace=yes,enable_inplace_whitelist=yes",
      NULL, "S1 a1:100 a2:100 f1 f2" },
    /* off by default, on at 0 */
    { chain, "version=1.6", "S1 a1:100 a2:200 f1 a3:300 f2 f3",
      "S1 a1:100 a2:200 a3:300 f1 f2 f3" },
    { chain, "version=1.6,eager_delete_tensor_gb=0", "S1 a1:100 a2:200 f1 a3:300 f2 f3",
      "S1 a1:100 a2:200 f1 a3:300 f2 f3" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GememGraph) graph = test_graph_from_text (cases[i].graph, NULL, NULL);
      g_autofree char *built = g_strdup_printf ("paddle:%s,rules=as-built", cases[i].settings),
                      *documented = g_strdup_printf ("paddle:%s,rules=documented",
                                                     cases[i].settings);

      if (cases[i].built != NULL)
        test_lowered_check (cases[i].graph, built, cases[i].built);
      else
        test_lowered_refused (built, graph, "until 1.5");
      test_lowered_check (cases[i].graph, documented, cases[i].documented);
    }
}

/* The lowering `gc` has the fraction, too. */
static void
test_documented_gc (void)
{
  test_lowered_check (three, "gc:fraction=0.3", "S1 a1:40 a2:100 a3:60 f2 f1 f3");
  test_lowered_check (three, "gc:fraction=0.3,rules=documented", "S1 a1:40 a2:100 a3:60 f1 f2 f3");
}

/* Each release has the defaults and the passes of its own time. */
static void
test_releases (void)
{
  static const struct
  {
    const char *release, *off, *fused, *inplace;
  } cases[] = {
    { "1.4", "S1 a1:100 a2:200 a3:300 f1 f2 f3", "a7:2048 S1 f7", "S1 a1:100 a3:100 f1 f3" },
    { "1.5", "S1 a1:100 a2:200 a3:300 f1 f2 f3", "a7:512 S1 f7", "S1 a1:100 a2:100 f1 f2" },
    { "1.6", "S1 a1:100 a2:200 f1 a3:300 f2 f3", "a7:512 S1 f7", NULL },
    { "1.7.0", "S1 a1:100 a2:200 f1 a3:300 f2 f3", "a7:512 S1 f7", NULL },
    { "2.6.2", "S1 a1:100 a2:200 f1 a3:300 f2 f3", "a7:512 S1 f7", NULL },
    { "3.0", "S1 a1:100 a2:200 f1 a3:300 f2 f3", "a7:512 S1 f7", NULL },
  };
  g_autoptr (GememGraph) inplace = test_graph_from_text (overlay, NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *release = cases[i].release;
      g_autofree char *one = g_strdup_printf ("paddle:version=%s", release),
                      *two = g_strdup_printf ("%s,executor=parallel,fuse_all_reduce_ops=yes", one),
                      *three_ = g_strdup_printf ("%s,executor=parallel,enable_inplace=yes,"
                                                 "enable_inplace_whitelist=yes",
                                                 one);

      test_lowered_check (chain, one, cases[i].off);
      test_lowered_check (gradients, two, cases[i].fused);
      if (cases[i].inplace != NULL)
        test_lowered_check (overlay, three_, cases[i].inplace);
      else
        test_lowered_refused (three_, inplace, "until 1.5");
    }
}

/* The strategy by default says what counts as garbage: 100 bytes are 256 with auto_growth. */
static void
test_release_strategies (void)
{
#define AT_256 ",eager_delete_tensor_gb=2.384185791015625e-07"
  test_lowered_check (chain, "paddle:version=1.6" AT_256, "S1 a1:100 a2:200 a3:300 f1 f2 f3");
  test_lowered_check (chain, "paddle:version=1.7" AT_256, "S1 a1:100 a2:200 f1 a3:300 f2 f3");
  test_lowered_check (chain, "paddle:preset=P16" AT_256, "S1 a1:100 a2:200 f1 a3:300 f2 f3");
}

/* ---- settings that change no event */

static void
test_time (void)
{
  g_autoptr (GememGraph) graph = test_graph_from_text (chain, NULL, NULL);
  GememTraceReader *reader = gemem_lowering_open ("paddle:time_per_node=1ms", graph, NULL);
  const GememTraceEvent *events;
  const gssize n = gemem_trace_next (reader, &events, NULL);

  g_assert_cmpint (n, ==, 7);
  g_assert_cmpuint (events[2].time, ==, 1000000); /* a2 */
  g_assert_cmpuint (events[n - 1].time, ==, 2000000);
  gemem_trace_close (reader);
}

/* eager_delete_scope=no saves scope_cost percent of the time, and says whose figure that is. */
static void
test_scope_cost (void)
{
  static const struct
  {
    const char *spec;
    guint64 time;
    const char *text;
  } cases[] = {
    { "paddle:time_per_node=1ms", 2000000, NULL },
    { "paddle:time_per_node=1ms,eager_delete_scope=no", 1980000, "990.0 us instead of 1.000 ms" },
    { "paddle:time_per_node=1ms,eager_delete_scope=no,scope_cost=5", 1900000, "a guess" },
    { "paddle:time_per_node=1ms,eager_delete_scope=no,scope_cost=0", 2000000, "no next run" },
  };
  g_autoptr (GememGraph) graph = test_graph_from_text (chain, NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GememTraceReader *reader = gemem_lowering_open (cases[i].spec, graph, NULL);
      const GememTraceEvent *events;
      const gssize n = gemem_trace_next (reader, &events, NULL);
      gboolean said = cases[i].text == NULL;

      g_assert_cmpint (n, ==, 7);
      g_assert_cmpuint (events[n - 1].time, ==, cases[i].time);
      for (guint k = 0; k < reader->info.provenance->len; k++)
        said |= cases[i].text != NULL
                && strstr (reader->info.provenance->pdata[k], cases[i].text) != NULL;
      g_assert_true (said);
      gemem_trace_close (reader);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lower-paddle-flags/every-parameter", test_every_parameter);
  g_test_add_func ("/lower-paddle-flags/without-effect", test_without_effect);
  g_test_add_func ("/lower-paddle-flags/time", test_time);
  g_test_add_func ("/lower-paddle-flags/scope-cost", test_scope_cost);
  g_test_add_func ("/lower-paddle-flags/wrong-values", test_wrong_values);
  g_test_add_func ("/lower-paddle-flags/documented", test_documented);
  g_test_add_func ("/lower-paddle-flags/documented-gc", test_documented_gc);
  g_test_add_func ("/lower-paddle-flags/releases", test_releases);
  g_test_add_func ("/lower-paddle-flags/release-strategies", test_release_strategies);
  return g_test_run ();
}
