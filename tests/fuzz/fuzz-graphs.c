/* fuzz-graphs.c - every format of graphs, and recognition; a graph that was read survives being
 * written and read again, every lowering makes a trace of it, and a planner plans it.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/format.h"
#include "planners/check.h"
#include "planners/planner.h"
#include "tests/fuzz/fuzz.h"
#include "tests/util/graphs.h"
#include "workloads/lowering.h"

#define MOST_EVENTS 200000 /* of a lowering: a graph may ask for many steps */

static const char *
format_of (guint member)
{
  return member == 0 ? NULL : gemem_graph_formats ()[member - 1]->base.name;
}

static const char *
member_name (guint member)
{
  if (member == 0)
    return "any";
  return gemem_graph_formats ()[member - 1] != NULL ? format_of (member) : NULL;
}

static void
lower (GememGraph *graph, const char *lowering)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_lowering_open (lowering, graph, &error);
  const GememTraceEvent *events;
  guint64 count = 0;
  gssize n = 0;

  while (reader != NULL && count < MOST_EVENTS
         && (n = gemem_trace_next (reader, &events, &error)) > 0)
    count += (guint64) n;
  gemem_trace_close (reader);
  if (error != NULL)
    fuzz_refused (error);
}

/* The number of the planner comes from @size, which most mutations keep. */
static void
plan (const GememGraph *graph, gsize size)
{
  const GememPlanner *const *planners = gemem_planners ();
  const GememPlanInput input = { .graph = graph, .threads = 1 };
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  guint n = 0;
  GError *error = NULL;

  while (planners[n] != NULL)
    n++;
  g_assert_true (gemem_planner_parse (planners[size % n]->base.name, choices, NULL));
  GememPlan *made = gemem_planner_run (choices->pdata[0], &input, &error);
  if (made == NULL)
    {
      fuzz_refused (error);
      return;
    }
  /* GE's planners may be wrong for graphs of other systems: then the plan is never used */
  if (!gemem_plan_verify (made, &input, &error))
    fuzz_refused (error);
  gemem_plan_free (made);
}

static gboolean
run_graph (guint member, const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (data, size);
  GError *error = NULL;
  g_autoptr (GememGraph) graph = gemem_graph_open_input (gemem_input_new_from_bytes (bytes, "fuzz"),
                                                         format_of (member), 0, &error);

  if (graph == NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_assert_true (g_str_has_prefix (error->message, "fuzz"));
      return fuzz_refused (error);
    }
  g_assert_no_error (error);
  test_graph_written_and_read (graph);
  for (guint i = 0; gemem_lowerings ()[i] != NULL; i++)
    lower (graph, gemem_lowerings ()[i]->base.name);
  plan (graph, size);
  return TRUE;
}

const FuzzKind fuzz_graph = { "graph", member_name, run_graph, NULL, NULL };
