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
    "S1 a1:100 a2:200 a3:300 f1 f2 f3", "maybe" },
  { "host_ahead", chain, "fast_eager_deletion_mode=no", "0", "S1 a1:100 a2:200 a3:300 f1 f2 f3",
    "S1 a1:100 a2:200 f1 a3:300 f2 f3", "-1" },
  { "memory_fraction_of_eager_deletion", three, "executor=parallel", "0.5",
    "S1 a1:40 a2:100 a3:60 f1 f2 f3", "S1 a1:40 a2:100 a3:60 f2 f1 f3", "1.5" },
  { "eager_delete_scope", weight, "preset=P14,steps=2", "no", "a2:50 S1 a1:5 f1 S2 a1:5 f2 f1",
    "a2:50 S1 a1:5 S2 a5:5 f1 f2 f5", "2" },
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
  { "init_allocated_mem", weight, "preset=P16", "yes", "a2:50 S1 a1:5 f1 f2",
    "a2:50 m2:50 S1 a1:5 m1:5 f1 f2", "perhaps" },
  { "limit_of_tmp_allocation", scratch, "preset=P14", "150", "S1 a1:200 a2:100 s0 f2 f1",
    "S1 a1:200 s0 f1 a2:100 s0 f2", "-2" },
  { "times_excess_than_required_tmp_allocation", scratch, "preset=P14", "2.02",
    "S1 a1:200 a2:100 s0 f2 f1", "S1 a1:200 s0 f1", "-1" },
  { "use_pinned_memory", chain, "preset=P3", "no", "S1 a1:100 a2:200 f1 a3:300 f2 f3", NULL, "3" },
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
      "legacy before" },
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
    { "paddle:preset=P16,allocator_strategy=thread_local", "since 2.1" },
    { "paddle:eager_delete_tensor=1", "did you mean 'eager_delete_tensor_gb'" },
  };
  g_autoptr (GememGraph) graph = test_graph_from_text (chain, NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    test_lowered_refused (cases[i].spec, graph, cases[i].text);
}

/* ---- settings that change no event */

static void
test_pinned (void)
{
  g_autoptr (GememGraph) graph = test_graph_from_text (chain, NULL, NULL);
  GememTraceReader *reader = gemem_lowering_open ("paddle:use_pinned_memory=no", graph, NULL);
  gboolean said = FALSE;

  for (guint i = 0; i < reader->info.provenance->len; i++)
    said |= strstr (reader->info.provenance->pdata[i], "nothing on the device depends on it")
            != NULL;
  g_assert_true (said);
  gemem_trace_close (reader);
}

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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lower-paddle-flags/every-parameter", test_every_parameter);
  g_test_add_func ("/lower-paddle-flags/without-effect", test_without_effect);
  g_test_add_func ("/lower-paddle-flags/pinned", test_pinned);
  g_test_add_func ("/lower-paddle-flags/time", test_time);
  return g_test_run ();
}
