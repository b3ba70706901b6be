/* plans.c - see plans.h. */
#include "config.h"

#include "planners/check.h"
#include "tests/util/plans.h"

static GememPlan *
plan_input (const char *planner, const GememPlanInput *input)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  GError *error = NULL;
  GememPlan *plan;

  gemem_planner_parse (planner, choices, &error);
  g_assert_no_error (error);
  plan = gemem_planner_run (choices->pdata[0], input, &error);
  g_assert_no_error (error);
  return plan;
}

GememPlan *
test_plan (const GememGraph *graph, const char *planner, guint threads)
{
  return plan_input (planner, &(GememPlanInput){ .graph = graph, .threads = threads });
}

GememPlan *
test_plan_lifetimes (const char *planner, const GememLifetimes *lifetimes)
{
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
  GememPlan *plan = plan_input (planner, &input);
  GError *error = NULL;

  gemem_plan_verify (plan, &input, &error);
  g_assert_no_error (error);
  return plan;
}

/* "NODE", "NODE.OUTPUT", "NODE.wN" */
static guint32
find_item (const GememGraph *graph, const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, ".", 2);
  const gboolean workspace = parts[1] != NULL && parts[1][0] == 'w';
  const guint32 index = parts[1] != NULL
                            ? (guint32) g_ascii_strtoull (parts[1] + workspace, NULL, 10)
                            : 0;
  const guint32 id = gemem_graph_find_node (graph, parts[0]);

  g_assert_cmpuint (id, !=, GEMEM_NONE);
  return workspace ? gemem_node_workspace_item (gemem_graph_node (graph, id), index)
                   : gemem_node_output_item (gemem_graph_node (graph, id), index);
}

void
test_plan_offsets (const GememGraph *graph, const GememPlan *plan, const char *expected)
{
  g_auto (GStrv) words = g_strsplit (expected, " ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (words[i], "=", 2);
      const guint64 offset = g_ascii_strtoull (parts[1], NULL, 10),
                    got = plan->offsets[find_item (graph, parts[0])];

      if (got != offset)
        g_test_message ("%s: %s: expected %" G_GUINT64_FORMAT ", got %" G_GUINT64_FORMAT,
                        gemem_graph_name (graph), parts[0], offset, got);
      g_assert_cmpuint (got, ==, offset);
    }
}

guint64
test_plan_total (const GememPlan *plan, guint64 space)
{
  for (guint i = 0; i < plan->totals->len; i++)
    if (g_array_index (plan->totals, GememPlanTotal, i).space == space)
      return g_array_index (plan->totals, GememPlanTotal, i).bytes;
  return 0;
}
