/* planner-trials.c - see planner-trials.h. */
#include "config.h"

#include <string.h>

#include "planners/check.h"
#include "tests/util/planner-trials.h"
#include "tests/util/random-graph.h"

/* The feature sets to plan: a few features at a time, then all together. */
static const guint feature_sets[] = {
  0,
  TEST_GRAPH_WORKSPACES | TEST_GRAPH_REFERENCES,
  TEST_GRAPH_STREAMS | TEST_GRAPH_WORKSPACES,
  TEST_GRAPH_IO | TEST_GRAPH_REFERENCES,
  TEST_GRAPH_LABELS | TEST_GRAPH_WORKSPACES,
  TEST_GRAPH_PADDED | TEST_GRAPH_IO,
  TEST_GRAPH_NOPADDING | TEST_GRAPH_WORKSPACES,
  TEST_GRAPH_ATOMIC | TEST_GRAPH_IO,
  TEST_GRAPH_TYPES | TEST_GRAPH_WORKSPACES | TEST_GRAPH_REFERENCES,
  TEST_GRAPH_STREAMS | TEST_GRAPH_CONTROLS | TEST_GRAPH_REFERENCES | TEST_GRAPH_IO,
  TEST_GRAPH_BLOCKS | TEST_GRAPH_WORKSPACES | TEST_GRAPH_REFERENCES | TEST_GRAPH_IO,
  TEST_GRAPH_ALL & ~TEST_GRAPH_STREAMS,
  TEST_GRAPH_ALL,
};

static GememPlan *
run (const GememChoice *choice, const GememGraph *graph, guint threads, GError **error)
{
  const GememPlanInput input = { graph, NULL, threads };

  return gemem_planner_run (choice, &input, error);
}

static gboolean
same_plan (const GememPlan *a, const GememPlan *b)
{
  return a->n_items == b->n_items && a->arena == b->arena
         && memcmp (a->offsets, b->offsets, sizeof (guint64) * a->n_items) == 0
         && memcmp (a->sizes, b->sizes, sizeof (guint64) * a->n_items) == 0
         && g_strcmp0 (a->winner, b->winner) == 0;
}

/* The lower bound rounds every item up to the alignment, the last one too; some planners do not
 * round their totals up, so totals are rounded before the comparison. */
static guint64
rounded_arena (const GememPlan *plan)
{
  guint64 sum = 0;

  for (guint i = 0; i < plan->totals->len; i++)
    sum += (g_array_index (plan->totals, GememPlanTotal, i).bytes + plan->alignment - 1)
           / plan->alignment * plan->alignment;
  return sum;
}

/* NULL if @choice makes a sound plan of the graph (@seed, @features, @nodes), else the problem;
 * free with g_free(). */
static char *
planner_trial (const GememChoice *choice, guint64 seed, guint features, guint nodes)
{
  g_autoptr (GememGraph) graph = test_random_graph (seed, features, nodes);
  const GememPlanInput input = { graph, NULL, 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GememPlan) plan = run (choice, graph, 1, &error), other = NULL;

  if (plan == NULL)
    return g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_INPUT) ? NULL
                                                                   : g_strdup (error->message);
  if (!gemem_plan_verify (plan, &input, &error))
    return g_strdup (error->message);
  if (rounded_arena (plan) < plan->lower_bound)
    return g_strdup_printf ("%" G_GUINT64_FORMAT
                            " bytes, below the lower bound of %" G_GUINT64_FORMAT,
                            plan->arena, plan->lower_bound);
  if (!(((const GememPlanner *) choice->named)->capabilities & GEMEM_PLANNER_THREADS))
    return NULL;
  other = run (choice, graph, 8, NULL);
  return other != NULL && same_plan (plan, other) ? NULL
                                                  : g_strdup ("8 threads give another plan than 1");
}

/* TRUE if the failure comes from a quirk of GE: the plan is sound with quirks=no. Some quirks
 * make unsafe plans (ge-static.md 5.4: an end that is never known counts as not set yet), which
 * GE's own checker would refuse as ours does; about one graph in ten thousand. */
static gboolean
is_quirk (const GememChoice *choice, guint64 seed, guint features, guint nodes, const char *text)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autofree char *without = g_strconcat (choice->named->name, ":quirks=no", NULL), *other = NULL;

  if (choice->named->params == NULL || gemem_params_find (choice->named->params, "quirks") == NULL
      || !gemem_planner_parse (without, choices, NULL))
    return FALSE;
  other = planner_trial (choices->pdata[0], seed, features, nodes);
  if (other == NULL)
    g_test_message ("random-%" G_GUINT64_FORMAT "-0x%x-%u: a quirk: %s", seed, features, nodes,
                    text);
  return other == NULL;
}

/* Finds the fewest nodes with which one of several seeds fails as well; reports that graph. */
static void
fail_with_smallest (const GememChoice *choice, guint64 seed, guint features, guint nodes)
{
  g_autofree char *text = NULL, *json = NULL;
  g_autoptr (GememGraph) graph = NULL;

  for (guint n = 2; n <= nodes && text == NULL; n++)
    for (guint64 s = seed; s < seed + 200 && text == NULL; s++)
      if ((text = planner_trial (choice, s, features, n)) != NULL)
        graph = test_random_graph (s, features, n);
  json = test_graph_json (graph);
  g_test_message ("%s", json);
  g_error ("%s: %s: %s", gemem_graph_name (graph), choice->label, text);
}

void
test_planner_trials (const char *planners, guint64 first, guint graphs, guint nodes)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autoptr (GError) error = NULL;

  gemem_planner_parse (planners, choices, &error);
  g_assert_no_error (error);
  for (guint64 seed = first; seed < first + graphs; seed++)
    for (guint i = 0; i < choices->len; i++)
      {
        const guint features = feature_sets[seed % G_N_ELEMENTS (feature_sets)],
                    n = 2 + (guint) (seed / G_N_ELEMENTS (feature_sets)) % (nodes - 1);
        g_autofree char *text = planner_trial (choices->pdata[i], seed, features, n);

        if (text != NULL && !is_quirk (choices->pdata[i], seed, features, n, text))
          fail_with_smallest (choices->pdata[i], seed, features, n);
      }
}
