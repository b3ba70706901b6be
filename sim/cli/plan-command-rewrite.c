/* plan-command-rewrite.c - `gemem-sim plan --rewrite`: the program as a planner rewrote it, to be
 * executed (replay, compare --lower=paddle).
 *
 * PaddlePaddle's planners (memory_optimize, in-place) do not place bytes but rename variables: an
 * output that reuses the memory of a variable becomes a version of the variable.  So a plan becomes
 * a graph again: outputs at one offset write one variable, the one to which the planner renamed
 * them all, else that of the first of them.  A lowering then frees and grows variables as
 * PaddlePaddle does with the rewritten program.  Plans that share memory otherwise (overlapping at
 * different offsets) are no renaming, and refused.  Workspaces keep their own memory.  Cost:
 * O(items log items).  Origin: paddle.md 7, 8. */
#include "config.h"

#include "graphs/format.h"
#include "graphs/meaning.h"
#include "sim/cli/plan-command.h"

typedef struct
{
  guint64 space, offset, end;
  guint32 tensor;
} Placed;

static int
compare_places (gconstpointer a, gconstpointer b)
{
  const Placed *x = a, *y = b;

  if (x->space != y->space)
    return x->space < y->space ? -1 : 1;
  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static GArray *
list_places (const GememGraph *graph, const GememPlan *plan)
{
  GArray *places = g_array_new (FALSE, FALSE, sizeof (Placed));

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      for (guint32 o = 0; o < node->n_outputs; o++)
        {
          const guint32 item = gemem_node_output_item (node, o);
          const Placed placed = { plan->spaces != NULL ? plan->spaces[item] : 0,
                                  plan->offsets[item], plan->offsets[item] + plan->sizes[item],
                                  node->first_output + o };

          if (plan->sizes[item] > 0)
            g_array_append_val (places, placed);
        }
    }
  g_array_sort (places, compare_places);
  return places;
}

/* The variable that the output writes, or one named after it. */
static GememGraphNewVariable
name_of (const GememGraph *graph, guint32 tensor, GStringChunk *names)
{
  const GememTensor *t = gemem_graph_tensor (graph, tensor);
  GememGraphNewVariable own = { NULL, t->variable };
  g_autofree char *text = NULL;

  if (own.variable != GEMEM_NONE)
    return own;
  text = g_strdup_printf ("%s:%u", gemem_graph_node (graph, t->node)->name, t->index);
  own.variable = gemem_graph_find_variable (graph, text);
  if (own.variable == GEMEM_NONE)
    own.name = g_string_chunk_insert_const (names, text);
  return own;
}

/* The variable of the graph that the planner gave the output; GEMEM_NONE if it named none. */
static guint32
renamed (const GememGraph *graph, const GememPlan *plan, guint32 tensor)
{
  return plan->variables != NULL ? plan->variables[gemem_graph_tensor_item (graph, tensor)]
                                 : GEMEM_NONE;
}

/* Names @n outputs at one offset: the one variable that the planner gave to all, else that of the
 * first of them; an output alone keeps its own. */
static void
name_place (const GememGraph *graph, const GememPlan *plan, const Placed *placed, guint n,
            GememGraphNewVariable *variables, GStringChunk *names)
{
  GememGraphNewVariable one = { NULL, renamed (graph, plan, placed[0].tensor) };

  for (guint i = 1; i < n; i++)
    if (renamed (graph, plan, placed[i].tensor) != one.variable)
      one.variable = GEMEM_NONE;
  if (one.variable == GEMEM_NONE && n > 1)
    one = name_of (graph, placed[0].tensor, names);
  for (guint i = 0; i < n && (one.variable != GEMEM_NONE || one.name != NULL); i++)
    variables[placed[i].tensor] = one;
}

/* Names the outputs at one offset alike; FALSE if an item at another offset overlaps them. */
static gboolean
name_places (const GememGraph *graph, const GememPlan *plan, const GArray *places,
             GememGraphNewVariable *variables, GStringChunk *names, const char *path,
             GError **error)
{
  for (guint first = 0, last; first < places->len; first = last)
    {
      const Placed *start = &g_array_index (places, Placed, first);
      guint64 end = 0;

      for (last = first;
           last < places->len && g_array_index (places, Placed, last).space == start->space
           && g_array_index (places, Placed, last).offset == start->offset;
           last++)
        end = MAX (end, g_array_index (places, Placed, last).end);
      name_place (graph, plan, start, last - first, variables, names);
      if (last < places->len && g_array_index (places, Placed, last).space == start->space
          && g_array_index (places, Placed, last).offset < end)
        {
          const GememGraphNewVariable inside = name_of (
              graph, g_array_index (places, Placed, last).tensor, names);

          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "--rewrite=%s: '%s' lies inside the memory of another tensor, which no "
                       "renaming of variables can say; choose a planner that "
                       "renames (-p paddle-memory-optimize), and a graph without views",
                       path,
                       inside.name != NULL ? inside.name
                                           : gemem_graph_variable (graph, inside.variable)->name);
          return FALSE;
        }
    }
  return TRUE;
}

/* Outputs without bytes lie nowhere, but are renamed, too (paddle.md 13.2). */
static GememGraphNewVariable *
name_all (const GememGraph *graph, const GememPlan *plan)
{
  GememGraphNewVariable *variables = g_new0 (GememGraphNewVariable,
                                             (gsize) gemem_graph_n_tensors (graph) + 1);

  for (guint32 t = 0; t < gemem_graph_n_tensors (graph); t++)
    {
      const guint32 item = gemem_graph_tensor_item (graph, t);

      variables[t].variable = plan->sizes[item] == 0 && renamed (graph, plan, t) != GEMEM_NONE
                                  ? renamed (graph, plan, t)
                                  : gemem_graph_tensor (graph, t)->variable;
    }
  return variables;
}

gboolean
gemem_plan_command_write_rewritten (const char *path, const GememPlanResult *best, GError **error)
{
  const GememGraph *graph = best->of->graph;
  g_autoptr (GStringChunk) names = g_string_chunk_new (4096);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree GememGraphNewVariable *variables = NULL;
  g_autoptr (GArray) places = NULL;

  if (graph == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--rewrite=%s: %s is no graph; leave --lower out, or name a graph", path,
                   best->input);
      return FALSE;
    }
  places = list_places (graph, best->plan);
  variables = name_all (graph, best->plan);
  if (!name_places (graph, best->plan, places, variables, names, path, error))
    return FALSE;
  gemem_graph_json_write_renamed (graph, variables, text);
  return gemem_put (path, text->str, text->len, error);
}
