/* fuzz-plans.c - files with plans: of a graph, of the lifetimes of a trace, and with lifetimes of
 * their own.  A plan that was read is checked, as the commands do.
 */
#include "config.h"

#include "planners/check.h"
#include "planners/plan-file.h"
#include "tests/fuzz/fuzz.h"

static const char *const members[] = { "of-graph", "of-lifetimes", "with-items", NULL };

enum
{
  OF_GRAPH,
  OF_LIFETIMES,
  WITH_ITEMS
};

static const char *
member_name (guint member)
{
  return members[member];
}

/* a -> b -> c; b has two outputs and a workspace. */
static GememGraph *
small_graph (void)
{
  GememGraph *graph = gemem_graph_new ("small");

  gemem_graph_add_node (graph, "a", "Data");
  gemem_graph_add_output (graph, 1024);
  gemem_graph_add_node (graph, "b", "Split");
  gemem_graph_add_input (graph, "a", 0);
  gemem_graph_add_output (graph, 512);
  gemem_graph_add_output (graph, 2048);
  gemem_graph_add_workspace (graph, 512);
  gemem_graph_add_node (graph, "c", "Add");
  gemem_graph_add_input (graph, "b", 0);
  gemem_graph_add_input (graph, "b", 1);
  g_assert_true (gemem_graph_seal (graph, "fuzz", NULL));
  return graph;
}

/* The first and the last have one id. */
static GememLifetimes *
small_lifetimes (void)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("fuzz");

  gemem_lifetimes_add (lifetimes, 0, 4, 100);
  gemem_lifetimes_add (lifetimes, 1, 3, 200);
  gemem_lifetimes_add (lifetimes, 2, 6, 300);
  gemem_lifetimes_add (lifetimes, 5, 7, 400);
  gemem_lifetimes_get (lifetimes, 3)->id = gemem_lifetimes_get (lifetimes, 0)->id;
  return lifetimes;
}

static gboolean
run_plan (guint member, const guint8 *data, gsize size)
{
  g_autoptr (GememGraph) graph = member == OF_GRAPH ? small_graph () : NULL;
  g_autoptr (GememLifetimes) lifetimes = member == OF_LIFETIMES ? small_lifetimes () : NULL;
  const char *path = fuzz_file (data, size);
  GError *error = NULL;
  GememPlanInput input = { .graph = graph, .lifetimes = lifetimes, .threads = 1 };
  g_autoptr (GememPlan) plan = member == WITH_ITEMS
                                   ? gemem_plan_load_items (path, &lifetimes, &error)
                                   : gemem_plan_load (path, &input, &error);

  if (plan == NULL)
    return fuzz_refused (error);
  input.lifetimes = lifetimes;
  g_ptr_array_unref (gemem_plan_check (plan, &input, 10));
  g_autoptr (GString) text = g_string_new (NULL);
  gemem_plan_write_json (text, plan, &input);
  gemem_plan_write_csv (text, plan, &input);
  return TRUE;
}

static void
add_plans (GPtrArray *seeds, const GememPlanInput *input, const char *planner)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autoptr (GString) json = g_string_new (NULL), csv = g_string_new (NULL);

  g_assert_true (gemem_planner_parse (planner, choices, NULL));
  g_autoptr (GememPlan) plan = gemem_planner_run (choices->pdata[0], input, NULL);
  if (plan == NULL)
    return;
  gemem_plan_write_json (json, plan, input);
  fuzz_add_text (seeds, json->str);
  gemem_plan_write_csv (csv, plan, input);
  if (input->graph == NULL)
    fuzz_add_text (seeds, csv->str);
}

static void
plan_seeds (guint member, GPtrArray *seeds)
{
  g_autoptr (GememGraph) graph = member == OF_GRAPH ? small_graph () : NULL;
  g_autoptr (GememLifetimes) lifetimes = member != OF_GRAPH ? small_lifetimes () : NULL;
  const GememPlanInput input = { .graph = graph, .lifetimes = lifetimes, .threads = 1 };

  for (const GememPlanner *const *planner = gemem_planners (); *planner != NULL; planner++)
    add_plans (seeds, &input, (*planner)->base.name);
}

const FuzzKind fuzz_plan = { "plan", member_name, run_plan, plan_seeds, NULL };
