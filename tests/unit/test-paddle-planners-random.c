/* test-paddle-planners-random.c - every PaddlePaddle planner with all its settings on random
 * graphs of every feature: the checker accepts each plan, and a second run makes the same plan. */
#include "config.h"

#include <string.h>

#include "planners/check.h"
#include "tests/util/random-graph.h"

static const char *const specs[] = {
  "paddle-memory-optimize:level=0|1,era=1.3|1.2,print_log=no|yes",
  "paddle-memory-optimize-pass:place=gpu|cpu,enable_subgraph_optimize=no|yes",
  "paddle-buffer-shared-pass:enable_inplace=no|yes,memory_optimize=no|yes",
  "paddle-inplace-pass:version=1.4|1.5|1.6,enable_inplace_whitelist=no|yes",
  "paddle-release-memory",
};

static void
check (const GememChoice *choice, const GememGraph *graph, guint64 seed)
{
  const GememPlanInput input = { graph, NULL, 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GememPlan) plan = gemem_planner_run (choice, &input, &error);
  g_autoptr (GememPlan) again = gemem_planner_run (choice, &input, &error);

  if (plan == NULL || again == NULL || !gemem_plan_verify (plan, &input, &error))
    {
      g_test_message ("%s, graph %" G_GUINT64_FORMAT ": %s", choice->label, seed, error->message);
      g_test_fail ();
      return;
    }
  g_assert_cmpmem (plan->offsets, plan->n_items * sizeof (guint64), again->offsets,
                   again->n_items * sizeof (guint64));
  g_assert_cmpuint (plan->arena, ==, again->arena);
}

static void
test_random (gconstpointer data)
{
  static const guint sizes[] = { 2, 5, 12, 30, 80 };
  const guint features = GPOINTER_TO_UINT (data);
  const guint rounds = g_getenv ("GEMEM_QUICK") != NULL ? 20 : 60;
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    gemem_planner_parse (specs[i], choices, &error);
  g_assert_no_error (error);
  for (guint seed = 1; seed <= rounds; seed++)
    {
      g_autoptr (GememGraph)
          graph = test_random_graph (seed, features, sizes[seed % G_N_ELEMENTS (sizes)]);

      for (guint i = 0; i < choices->len && !g_test_failed (); i++)
        check (choices->pdata[i], graph, seed);
    }
}

int
main (int argc, char **argv)
{
  const guint plain = TEST_GRAPH_REFERENCES | TEST_GRAPH_WORKSPACES;

  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/paddle/planners/random/plain", GUINT_TO_POINTER (plain), test_random);
  g_test_add_data_func ("/paddle/planners/random/continuous",
                        GUINT_TO_POINTER (plain | TEST_GRAPH_PADDED | TEST_GRAPH_NOPADDING),
                        test_random);
  g_test_add_data_func ("/paddle/planners/random/streams",
                        GUINT_TO_POINTER (plain | TEST_GRAPH_STREAMS | TEST_GRAPH_CONTROLS),
                        test_random);
  g_test_add_data_func ("/paddle/planners/random/no-stream",
                        GUINT_TO_POINTER (plain | TEST_GRAPH_NO_STREAM), test_random);
  g_test_add_data_func ("/paddle/planners/random/blocks",
                        GUINT_TO_POINTER (plain | TEST_GRAPH_BLOCKS), test_random);
  g_test_add_data_func ("/paddle/planners/random/ge", GUINT_TO_POINTER (TEST_GRAPH_ALL),
                        test_random);
  g_test_add_data_func (
      "/paddle/planners/random/all",
      GUINT_TO_POINTER (TEST_GRAPH_ALL | TEST_GRAPH_NO_STREAM | TEST_GRAPH_BLOCKS), test_random);
  return g_test_run ();
}
