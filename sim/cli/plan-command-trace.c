/* plan-command-trace.c - `gemem-sim plan --trace`: writes the planned graphs as a session for
 * `compare` and `replay`: static memory with its segments is loaded, runs in turn, and is unloaded
 * (workloads/session.h). */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "graphs/graph.h"
#include "planners/plan-segments.h"
#include "sim/cli/plan-command.h"
#include "workloads/session.h"

#define TIME_PER_ITEM G_GUINT64_CONSTANT (10000) /* ns */

static char *path;
static char *split;
static int steps = 1;
static int loaded;
static gboolean asynchronous;
static gboolean zero_copy_reuse;
static guint64 limit = GEMEM_PLAN_SPLIT_STATIC; /* --split */

const GOptionEntry gemem_plan_command_trace_entries[] = {
  { "trace", 0, 0, G_OPTION_ARG_FILENAME, &path,
    "Write the smallest plan of each graph to FILE as a trace: static memory that is loaded, runs "
    "in turn, and is unloaded",
    "FILE" },
  { "steps", 0, 0, G_OPTION_ARG_INT, &steps,
    "In that trace: how often every graph runs (default 1)", "N" },
  { "loaded", 0, 0, G_OPTION_ARG_INT, &loaded,
    "In that trace: graphs loaded at once, at most (default 0: all)", "N" },
  { "asynchronous", 0, 0, G_OPTION_ARG_NONE, &asynchronous,
    "In that trace: the host does not wait for the runs", NULL },
  { "split", 0, 0, G_OPTION_ARG_STRING, &split,
    "In that trace: segments take in what begins less than SIZE behind their begin (default 512 B)",
    "SIZE" },
  { "zero-copy-reuse", 0, 0, G_OPTION_ARG_NONE, &zero_copy_reuse,
    "In that trace: inputs and outputs lie in the caller's memory", NULL },
  { NULL }
};

const char *
gemem_plan_command_trace_path (void)
{
  return path;
}

gboolean
gemem_plan_command_check_trace (GError **error)
{
  const char *idle = steps != 1      ? "--steps"
                     : loaded != 0   ? "--loaded"
                     : asynchronous  ? "--asynchronous"
                     : split != NULL ? "--split"
                                     : NULL;

  idle = idle == NULL && zero_copy_reuse ? "--zero-copy-reuse" : idle;
  if (path == NULL && idle != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "plan: %s says how a session runs, but none is written; add --trace=FILE", idle);
  else if (steps < 1 || loaded < 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "plan: --steps=%d, --loaded=%d: out of range; give at least 1 step, and 0 (all) "
                 "or more graphs",
                 steps, loaded);
  else if (split != NULL && !gemem_check_unit (split, error))
    g_prefix_error (error, "--split=");
  else if (split != NULL && !gemem_parse_size (split, 1, 0, &limit, error))
    g_prefix_error (error, "--split=%s: ", split);
  else
    return TRUE;
  return FALSE;
}

static guint32
flags_of (const GememPlanSegment *segment)
{
  return (segment->zero_copy
              ? GEMEM_GRAPH_SEGMENT_ZERO_COPY | (zero_copy_reuse ? GEMEM_GRAPH_SEGMENT_NO_ALLOC : 0)
              : 0u)
         | (segment->fixed ? GEMEM_GRAPH_SEGMENT_FIXED : 0u);
}

/* Those on the device; the host's memory is cleared by the host. */
static void
add_memsets (GememStaticGraph *graph, const GememPlan *plan)
{
  for (guint i = 0; i < plan->memsets->len; i++)
    {
      const GememPlanMemset *memset = &g_array_index (plan->memsets, GememPlanMemset, i);

      if (memset->space == GEMEM_MEMORY_HOST || memset->space == GEMEM_MEMORY_HOST_SVM)
        continue;
      graph->cleared += memset->size;
      graph->memsets++;
    }
  graph->memsets = MIN (graph->memsets, GEMEM_GRAPH_MEMSETS_MAX);
}

static gboolean
add_graph (GPtrArray *graphs, const GememPlanResult *result, GError **error)
{
  g_autofree char *name = g_path_get_basename (result->input);
  GememStaticGraph *graph = gemem_static_graph_new (name, result->plan->n_items * TIME_PER_ITEM);
  guint64 elsewhere;
  g_autoptr (GArray) segments = gemem_plan_segments (result->plan, limit, &elsewhere);
  char size[GEMEM_FORMAT_MAX];

  g_ptr_array_add (graphs, graph);
  for (guint i = 0; i < segments->len; i++)
    {
      const GememPlanSegment *segment = &g_array_index (segments, GememPlanSegment, i);

      if (!gemem_static_graph_add (graph, segment->size, flags_of (segment)))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s: %s needs 2^60 bytes or more; no device has them", path, result->input);
          return FALSE;
        }
    }
  add_memsets (graph, result->plan);
  if (elsewhere > 0)
    gemem_note ("%s: %s of %s are in other memory than the device's, and left out", path,
                gemem_format_size (size, elsewhere), result->input);
  return TRUE;
}

/* The smallest plan of each input, in the order of inputs, whose results are adjacent. */
static gboolean
add_graphs (GPtrArray *graphs, const GememPlanResult *results, guint n, GError **error)
{
  for (guint i = 0; i < n;)
    {
      const GememPlanResult *best = &results[i];
      const GememPlanInput *of = best->of;

      for (; i < n && results[i].of == of; i++)
        if (results[i].plan->arena < best->plan->arena)
          best = &results[i];
      if (!add_graph (graphs, best, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gemem_plan_command_write_trace (const GememPlanResult *results, guint n, GError **error)
{
  const GememSessionParams params = {
    .steps = (guint64) steps, .runs = 1, .loaded = (guint64) loaded, .asynchronous = asynchronous
  };
  g_autoptr (GPtrArray)
      graphs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_static_graph_free);
  GememSession *session;
  gboolean ok;

  if (path == NULL)
    return TRUE;
  if (!add_graphs (graphs, results, n, error))
    return FALSE;
  session = gemem_session_new (sizeof *session, g_steal_pointer (&graphs), &params);
  gemem_trace_info_note (&session->parent.parent.info, "planned", "%u graphs, steps=%d, loaded=%d",
                         session->graphs->len, steps, loaded);
  for (guint i = 0; i < session->graphs->len; i++)
    gemem_trace_info_note (&session->parent.parent.info, "graph", "%s",
                           ((GememStaticGraph *) session->graphs->pdata[i])->name);
  ok = gemem_copy_trace (&session->parent.parent, path, strcmp (path, "-") == 0 ? "text" : NULL,
                         error);
  gemem_trace_close (&session->parent.parent);
  return ok;
}
