/* test-plan-allocator.c - the `plan` allocator: addresses are those of the plan, the arena is
 * all memory it allocates, a bad plan is never replayed, variables lie behind the plan, without
 * memory for the arena every request fails, steps and epochs repeat. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "planners/planner.h"
#include "sim/engine/lifetimes.h"
#include "sim/engine/replay.h"
#include "tests/util/event-source.h"
#include "tests/util/graphs.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "workloads/lowering.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

/* A graph and how it is lowered, or a trace. */
typedef struct
{
  GememGraph *graph;
  const char *lowering;
  TestTrace *trace;
} Source;

static GememTraceReader *
open_source (gpointer data, GError **error)
{
  Source *source = data;

  return source->graph != NULL ? gemem_lowering_open (source->lowering, source->graph, error)
                               : test_trace_open (source->trace, error);
}

/* A job of @text over @source; @prepare changes it. */
static GememResult *
run_job (const char *text, Source *source, void (*prepare) (GememJob *job), GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememJob job = { .device_spec = "sim:capacity=1PiB",
                   .device_ordinal = -1,
                   .source = open_source,
                   .source_data = source,
                   .graph = source->graph,
                   .full_checks = TRUE };

  g_assert_true (gemem_allocator_spec_parse (text, specs, error));
  equal (specs->len, 1);
  job.allocator = specs->pdata[0];
  if (prepare != NULL)
    prepare (&job);
  return gemem_job_run (&job, error);
}

static GememResult *
replay (const char *text, Source *source, void (*prepare) (GememJob *job))
{
  g_autoptr (GError) error = NULL;
  GememResult *result = run_job (text, source, prepare, &error);

  g_assert_no_error (error);
  return result;
}

static void
assert_refused (const char *text, Source *source, GememError code, const char *pattern)
{
  g_autoptr (GError) error = NULL;
  GememResult *result = run_job (text, source, NULL, &error);

  g_assert_null (result);
  g_assert_error (error, GEMEM_ERROR, (gint) code);
  if (!g_regex_match_simple (pattern, error->message, 0, 0))
    g_error ("'%s' does not match: %s", error->message, pattern);
}

static GememGraph *
graph_of (const char *json)
{
  g_autoptr (GError) error = NULL;
  GememGraph *graph = test_graph_from_text (json, NULL, &error);

  g_assert_no_error (error);
  return graph;
}

/* Two allocations that share bytes in time, one that does not. */
static const GememTraceEvent small_events[] = { TEST_ALLOC (1, 1000), TEST_ALLOC (2, 500),
                                                TEST_FREE (1),        TEST_ALLOC (3, 0),
                                                TEST_ALLOC (4, 700),  TEST_FREE (2),
                                                TEST_FREE (3),        TEST_ALLOC (1, 512),
                                                TEST_FREE (4),        TEST_FREE (1) };
static TestTrace small_trace = TEST_TRACE (small_events);
static Source small = { .trace = &small_trace };

/* ---- addresses */

static char *events_file;

static void
log_events (GememJob *job)
{
  job->events_path = events_file;
}

/* The plan that the planner makes for @source. */
static GememPlan *
plan_of (const char *planner, Source *source, GememLifetimes **lifetimes)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = open_source (source, NULL);
  GememPlanInput input = { source->graph, NULL, 1 };
  GememPlan *plan;

  *lifetimes = gemem_trace_lifetimes (reader, -1, NULL);
  gemem_trace_close (reader);
  input.lifetimes = source->graph == NULL ? *lifetimes : NULL;
  g_assert_true (gemem_planner_parse (planner, choices, &error));
  plan = gemem_planner_run (choices->pdata[0], &input, &error);
  g_assert_no_error (error);
  return plan;
}

/* The address of each allocation that the run logged, in order. */
static GArray *
logged_addresses (void)
{
  g_autofree char *text = test_read_text (events_file);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GArray *addresses = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 1; lines[i] != NULL && *lines[i] != '\0'; i++)
    {
      g_auto (GStrv) fields = g_strsplit (lines[i], ",", -1);
      const guint64 address = g_ascii_strtoull (fields[4], NULL, 0);

      if (strcmp (fields[1], "alloc") == 0)
        g_array_append_val (addresses, address);
    }
  return addresses;
}

static void
test_addresses (void)
{
  g_autoptr (GememLifetimes) lifetimes = NULL;
  g_autoptr (GememPlan) plan = plan_of ("ge-hybrid", &small, &lifetimes);
  guint64 base = 0;
  guint at = 0;
  GememResult *result;

  events_file = g_build_filename (test_tmpdir (), "events.csv", NULL);
  result = replay ("plan:planner=ge-hybrid", &small, log_events);
  g_autoptr (GArray) addresses = logged_addresses ();
  equal (addresses->len, 4);
  equal (lifetimes->items->len, 5);
  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      if (gemem_lifetimes_get (lifetimes, i)->size == 0)
        continue;
      if (at == 0)
        base = g_array_index (addresses, guint64, 0) - plan->offsets[i];
      equal (g_array_index (addresses, guint64, at++), base + plan->offsets[i]);
    }
  equal (result->peak_reserved, plan->arena);
  equal (result->calls[GEMEM_CALL_MALLOC], 1);
  equal (result->allocs, 4);
  equal (result->ooms, 0);
  gemem_result_free (result);
  g_free (events_file);
}

/* ---- graphs */

/* w persists and k is a constant; a, b, c follow one another. */
static const char chain[] =
    "{\"name\":\"chain\",\"variables\":[{\"name\":\"w\",\"size\":5000,\"persistable\":true}],"
    "\"nodes\":["
    "{\"name\":\"k\",\"type\":\"Const\",\"outputs\":[{\"size\":100}]},"
    "{\"name\":\"a\",\"type\":\"x\",\"inputs\":[\"w\",[\"k\",0]],\"workspaces\":[900],\"outputs\":["
    "{\"size\":1024}]},"
    "{\"name\":\"b\",\"type\":\"relu\",\"inputs\":[[\"a\",0]],\"outputs\":[{\"size\":1024}]},"
    "{\"name\":\"c\",\"type\":\"x\",\"inputs\":[[\"b\",0]],\"outputs\":[{\"size\":1024}]},"
    "{\"name\":\"d\",\"type\":\"x\",\"inputs\":[[\"c\",0]],\"outputs\":[{\"size\":1024}]}]}";

static void
three_epochs (GememJob *job)
{
  job->repeat = 3;
}

/* Tensors that the plan does not place have their own addresses behind it, the same in every
 * step. */
static void
test_variables (void)
{
  g_autoptr (GememGraph) graph = graph_of (chain);
  Source once = { graph, "eager", NULL }, often = { graph, "eager:steps=3", NULL },
         without = { graph, "eager:variables=no", NULL };
  g_autoptr (GememLifetimes) lifetimes = NULL;
  g_autoptr (GememPlan) plan = plan_of ("ge-hybrid", &once, &lifetimes);
  Source *sources[] = { &once, &often };

  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    {
      GememResult *result = replay ("plan:planner=ge-hybrid", sources[i], three_epochs);

      equal (plan->arena % 512, 0);
      equal (result->peak_reserved, plan->arena + 512 + 5000);
      equal (result->calls[GEMEM_CALL_MALLOC], 1);
      equal (result->ooms, 0);
      equal (result->epochs->len, 3);
      equal (g_array_index (result->epochs, GememEpoch, 2).peak_live,
             g_array_index (result->epochs, GememEpoch, 0).peak_live);
      gemem_result_free (result);
    }
  GememResult *result = replay ("plan:planner=ge-hybrid", &without, NULL);
  equal (result->peak_reserved, plan->arena);
  gemem_result_free (result);
}

/* A lowering that keeps tensors longer than the planner assumes does not fit the plan of the
 * graph; its trace can be planned. */
static void
test_other_lowering (void)
{
  g_autoptr (GememGraph) graph = graph_of (chain);
  Source kept = { graph, "no-gc", NULL };
  GememResult *result;

  assert_refused ("plan:planner=ge-hybrid", &kept, GEMEM_ERROR_INPUT,
                  "^ge-hybrid: unsafe plan, .*overlap: .*; the plan of the graph does not fit how "
                  "it was lowered; choose another --lower");
  assert_refused ("plan:input=graph", &kept, GEMEM_ERROR_INPUT, "^first-fit-by-size: unsafe plan");
  gemem_result_free (replay ("plan", &kept, NULL)); /* made for traces */
  result = replay ("plan:planner=ge-hybrid,input=trace", &kept, NULL);
  equal (result->peak_live, 5000 + 100 + 4 * 1024);
  g_assert_cmpuint (result->peak_reserved, >=, result->peak_live);
  gemem_result_free (result);
}

/* A plan that shares memory fits the lowering that shares the same memory. */
static void
test_sharing (void)
{
  g_autoptr (GememGraph) inplace = graph_of (
      "{\"nodes\":[{\"name\":\"a\",\"type\":\"x\",\"stream\":0,\"outputs\":[{\"size\":1024}]},"
      "{\"name\":\"b\",\"type\":\"x\",\"stream\":0,\"inputs\":[[\"a\",0]],\"attributes\":{\"_"
      "output_inplace_ability\":[0,0]},"
      "\"outputs\":[{\"size\":1024}]},{\"name\":\"c\",\"type\":\"x\",\"stream\":0,\"inputs\":[["
      "\"b\",0]],\"outputs\":[{\"size\":1024}]}]}");
  g_autoptr (GememGraph)
      concat = graph_of ("{\"nodes\":[{\"name\":\"a\",\"type\":\"x\",\"stream\":0,\"outputs\":[{"
                         "\"shape\":[256],\"dtype\":\"float32\"}]},"
                         "{\"name\":\"b\",\"type\":\"x\",\"stream\":0,\"outputs\":[{\"shape\":[512]"
                         ",\"dtype\":\"float32\"}]},"
                         "{\"name\":\"c\",\"type\":\"ConcatD\",\"stream\":0,\"inputs\":[[\"b\",0],["
                         "\"a\",0]],\"attributes\":{\"_reuse_input_on_dim_index\":0,"
                         "\"_no_padding_continuous_input\":true,\"_output_reuse_input\":true},"
                         "\"outputs\":[{\"shape\":[768],\"dtype\":\"float32\"}]},"
                         "{\"name\":\"d\",\"type\":\"x\",\"stream\":0,\"inputs\":[[\"c\",0]],"
                         "\"outputs\":[{\"size\":512}]}]}");
  Source eager = { inplace, "eager", NULL }, fitting = { inplace, "inplace", NULL },
         pieces = { concat, "eager", NULL };
  GememResult *result;

  assert_refused ("plan:planner=ge-hybrid", &eager, GEMEM_ERROR_INPUT,
                  "\\(inplace if the planner works in place\\)");
  result = replay ("plan:planner=ge-hybrid", &fitting, NULL);
  equal (result->peak_reserved, 2048);
  gemem_result_free (result);
  result = replay ("plan:planner=ge-hybrid", &pieces, NULL);
  equal (result->peak_reserved, 3072 + 512);
  equal (result->allocs, 2);
  gemem_result_free (result);
}

static void
check_vector (GememGraph *graph, const GememPlanner *planner)
{
  static const char *const lowerings[] = { "eager:steps=2", "gc:threshold=64KiB", "inplace",
                                           "zero-clear", "no-gc" };

  for (guint i = 0; i < G_N_ELEMENTS (lowerings); i++)
    {
      Source source = { graph, lowerings[i], NULL };
      g_autofree char *spec = g_strdup_printf ("plan:planner=%s,input=%s", planner->base.name,
                                               i == 0 ? "graph" : "trace");
      GememResult *result = replay (spec, &source, NULL);

      equal (result->ooms, 0);
      equal (result->calls[GEMEM_CALL_MALLOC], 1);
      g_assert_cmpuint (result->peak_reserved, >=, result->lower_bound);
      gemem_result_free (result);
    }
}

/* Every planner's plan of a graph fits the trace of the lowering eager, on one stream and on
 * several. */
static void
test_vectors (void)
{
  const GememPlanner *const *planners = gemem_planners ();
  g_autoptr (GPtrArray) files = test_shared_files ("vectors/ge-static", "-small.jsonl.gz");
  guint next = 0;

  for (guint i = 0; files != NULL && i < files->len; i++)
    for (guint n = 0; n < 60; n += g_getenv ("GEMEM_QUICK") != NULL ? 12 : 2)
      {
        g_autofree char *path = g_strdup_printf ("%s#%u", (const char *) files->pdata[i], n);
        g_autoptr (GememGraph) graph = gemem_graph_open (path, NULL, NULL);

        check_vector (graph, planners[next]);
        next = planners[next + 1] != NULL ? next + 1 : 0;
      }
}

/* Liveness by names equals the liveness in eager; in-place planners choose for themselves and
 * are left out. */
static void
test_paddle_vectors (void)
{
  static const char *const planners[] = { "paddle-memory-optimize", "paddle-release-memory",
                                          "paddle-memory-optimize-pass" };
  g_autoptr (GPtrArray) files = test_shared_files ("vectors/paddle-memory-optimize", ".jsonl.gz");

  for (guint i = 0; files != NULL && i < files->len; i++)
    for (guint n = 0; n < 60; n += g_getenv ("GEMEM_QUICK") != NULL ? 10 : 1)
      {
        g_autofree char *path = g_strdup_printf ("%s#%u", (const char *) files->pdata[i], n);
        g_autoptr (GememGraph) graph = gemem_graph_open (path, NULL, NULL);

        check_vector (graph, gemem_planner_find (planners[n % G_N_ELEMENTS (planners)], NULL));
      }
}

/* ---- plans from files */

static char *
write_file (const char *name, const char *text)
{
  char *path = g_build_filename (test_tmpdir (), name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return path;
}

/* A table must name each allocation once. */
static const GememTraceEvent named_events[] = { TEST_ALLOC (1, 1000), TEST_ALLOC (2, 500),
                                                TEST_FREE (1),        TEST_ALLOC (3, 700),
                                                TEST_FREE (2),        TEST_ALLOC (4, 512),
                                                TEST_FREE (3),        TEST_FREE (4) };
static TestTrace named_trace = TEST_TRACE (named_events);
static Source named = { .trace = &named_trace };

static void
assert_file (const char *rows, const char *refusal)
{
  g_autofree char *text = g_strconcat ("id,lower,upper,size,offset\n", rows, NULL);
  g_autofree char *path = write_file ("plan.csv", text),
                  *spec = g_strdup_printf ("plan:file=%s", path);
  GememResult *result;

  if (refusal != NULL)
    {
      assert_refused (spec, &named, GEMEM_ERROR_INPUT, refusal);
      return;
    }
  result = replay (spec, &named, NULL);
  equal (result->peak_reserved, 1500);
  equal (result->ooms, 0);
  gemem_result_free (result);
}

static void
test_files (void)
{
  assert_file ("1,0,2,1000,0\n2,1,4,500,1000\n3,3,6,700,0\n4,5,7,512,988\n", NULL);
  assert_file ("1,0,2,1000,0\n2,1,4,500,999\n3,3,6,700,0\n4,5,7,512,988\n",
               "overlap.*; such a plan is never replayed");
  assert_file ("1,0,2,1000,0\n2,1,4,500,1000\n3,3,6,700,0\n", "plan.csv");
  assert_refused ("plan:file=/nonexistent/plan.csv", &small, GEMEM_ERROR_FAILED,
                  "^/nonexistent/plan.csv: ");
}

/* ---- settings and memory */

static void
test_settings (void)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  assert_refused ("plan:planner=ge-hybird", &small, GEMEM_ERROR_USAGE,
                  "unknown planner 'ge-hybird'; did you mean 'ge-hybrid'\\?");
  assert_refused ("plan:planner='ge-*'", &small, GEMEM_ERROR_USAGE,
                  "planner=ge-\\*: stands for [0-9]+ planners; name one");
  assert_refused ("plan:planner=\"ge-hybrid:nonsense=1\"", &small, GEMEM_ERROR_USAGE, "nonsense");
  gemem_result_free (
      replay ("plan:planner=\"ge-hybrid:memory_priority=yes,disable_reuse=no\"", &small, NULL));
  g_assert_true (gemem_allocator_spec_parse ("plan:planner=ge-hybrid|ge-block", specs, NULL));
  equal (specs->len, 2);
}

static const char *device;

static void
on_device (GememJob *job)
{
  job->device_spec = device;
  job->timeline_points = 10;
}

static void
find_capacity (GememJob *job)
{
  job->find_capacity = TRUE;
}

static void
test_out_of_memory (void)
{
  GememResult *result = replay ("plan", &small, find_capacity);
  const guint64 arena = result->peak_reserved;
  g_autofree char *too_small = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT "B", arena - 1),
                  *enough = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT "B", arena);

  equal (result->least_capacity, arena);
  g_assert_true (result->capacity_monotone);
  gemem_result_free (result);

  device = too_small;
  result = replay ("plan", &small, on_device);
  equal (result->ooms, 4);
  equal (result->frees, 0);
  equal (result->peak_reserved, 0);
  gemem_result_free (result);

  device = enough;
  result = replay ("plan", &small, on_device);
  equal (result->ooms, 0);
  equal (result->peak_reserved, arena);
  gemem_result_free (result);

  device = "faulty:nth=1,call=malloc";
  result = replay ("plan", &small, on_device);
  equal (result->ooms, 4);
  gemem_result_free (result);
}

/* A request that the plan does not know, or that is larger than planned, goes to the device. */
static void
test_unknown_request (void)
{
  GememAllocator *allocator = test_allocator_new ("plan", NULL);
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("test");
  const GememPlanInput input = { NULL, lifetimes, 1 };
  const GememRequest known = { .size = 600, .id = 0 }, larger = { .size = 1000000, .id = 0 },
                     unknown = { .size = 70, .id = 9 };
  GememBlock a, b, c;

  gemem_lifetimes_add (lifetimes, 0, 5, 600);
  g_assert_true (allocator->klass->prepare (allocator, &input, NULL));
  equal (allocator->klass->largest_free (allocator, 0), allocator->device->held);
  g_assert_true (allocator->klass->alloc (allocator, &larger, &a));
  g_assert_true (allocator->klass->alloc (allocator, &known, &b));
  g_assert_true (allocator->klass->alloc (allocator, &unknown, &c));
  equal (allocator->device->calls[GEMEM_CALL_MALLOC], 3);
  equal (c.size, 70);
  g_assert_true (test_allocator_verify (allocator, 3, 1000000 + b.size + 70));
  allocator->klass->free (allocator, &b, FALSE);
  g_assert_true (allocator->klass->alloc (allocator, &known, &b)); /* again, as in a next step */
  allocator->klass->free (allocator, &a, FALSE);
  g_assert_true (test_allocator_verify (allocator, 2, b.size + 70));
  test_allocator_destroy (allocator);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-allocator/addresses", test_addresses);
  g_test_add_func ("/plan-allocator/variables", test_variables);
  g_test_add_func ("/plan-allocator/other-lowering", test_other_lowering);
  g_test_add_func ("/plan-allocator/sharing", test_sharing);
  g_test_add_func ("/plan-allocator/vectors", test_vectors);
  g_test_add_func ("/plan-allocator/paddle-vectors", test_paddle_vectors);
  g_test_add_func ("/plan-allocator/files", test_files);
  g_test_add_func ("/plan-allocator/settings", test_settings);
  g_test_add_func ("/plan-allocator/out-of-memory", test_out_of_memory);
  g_test_add_func ("/plan-allocator/unknown-request", test_unknown_request);
  return g_test_run ();
}
