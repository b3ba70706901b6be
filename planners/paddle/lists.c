/* lists.c - see lists.h.  Cost: linear in the operators and their inputs and outputs. */
#include "config.h"

#include <string.h>

#include "planners/paddle/lists.h"

/* ---- which operators */

static const char *const owners[][2] = {
  { "while", "while_grad" },
  { "conditional_block", "conditional_block_grad" },
  { "parallel_do", "parallel_do_grad" }, /* in the old releases only, so it must be last */
};

static guint
n_kinds (gboolean old)
{
  return G_N_ELEMENTS (owners) - (old ? 0 : 1);
}

gboolean
gemem_paddle_owns_list (const GememNode *node, gboolean old)
{
  for (guint k = 0; k < n_kinds (old); k++)
    if (strcmp (node->type, owners[k][0]) == 0 || strcmp (node->type, owners[k][1]) == 0)
      return TRUE;
  return FALSE;
}

/* The nodes of each block, in order: nodes[first[b] .. first[b + 1]). */
typedef struct
{
  guint32 *first, *nodes;
} ByBlock;

static ByBlock
sort_by_block (const GememGraph *graph)
{
  const guint32 n_blocks = gemem_graph_n_blocks (graph), n = gemem_graph_n_nodes (graph);
  ByBlock result = { g_new0 (guint32, (gsize) n_blocks + 2), g_new (guint32, (gsize) n + 1) };

  for (guint32 id = 0; id < n; id++)
    result.first[gemem_graph_node (graph, id)->block + 2]++;
  for (guint32 b = 0; b < n_blocks; b++)
    result.first[b + 2] += result.first[b + 1];
  for (guint32 id = 0; id < n; id++) /* first[b + 1] advances from the start of b to its end */
    result.nodes[result.first[gemem_graph_node (graph, id)->block + 1]++] = id;
  return result;
}

static void
append_blocks (const GememGraph *graph, const ByBlock *by_block, guint32 owner, GArray *nodes)
{
  const GememNode *node = owner != GEMEM_NONE ? gemem_graph_node (graph, owner) : NULL;

  for (guint32 b = 0; node != NULL && b < node->n_blocks; b++)
    {
      const guint32 first = by_block->first[node->first_block + b];

      g_array_append_vals (nodes, by_block->nodes + first,
                           by_block->first[node->first_block + b + 1] - first);
    }
}

static void
add_list (GArray *lists, GArray *nodes, guint32 forward)
{
  PaddleList list = { .n = nodes->len, .forward = forward };

  list.nodes = (guint32 *) (gpointer) g_array_free (nodes, FALSE);
  g_array_append_val (lists, list);
}

static GArray *
new_nodes (void)
{
  /* zero-terminated: an empty list has memory, too */
  return g_array_new (TRUE, FALSE, sizeof (guint32));
}

static gboolean
is_ascending (const GArray *nodes)
{
  for (guint i = 1; i < nodes->len; i++)
    if (g_array_index (nodes, guint32, i) <= g_array_index (nodes, guint32, i - 1))
      return FALSE;
  return TRUE;
}

static void
add_owned (const GememGraph *graph, const ByBlock *by_block, guint32 forward, guint32 backward,
           GArray *lists)
{
  GArray *nodes = new_nodes ();
  guint32 n_forward;

  append_blocks (graph, by_block, forward, nodes);
  n_forward = nodes->len;
  append_blocks (graph, by_block, backward, nodes);
  if (!is_ascending (nodes))
    g_array_set_size (nodes, n_forward);
  add_list (lists, nodes, n_forward);
}

/* The lists of one kind of owner: those with gradients in the order of the gradient operators, then
 * the others. */
static void
add_kind (const PaddleProgram *program, const ByBlock *by_block, guint kind, GArray *lists)
{
  g_autofree guint8 *served = g_new0 (guint8, (gsize) gemem_graph_n_nodes (program->graph) + 1);

  for (guint32 i = by_block->first[0]; i < by_block->first[1]; i++)
    {
      const guint32 id = by_block->nodes[i];

      if (program->forward[id] == GEMEM_NONE
          || strcmp (gemem_graph_node (program->graph, id)->type, owners[kind][1]) != 0)
        continue;
      served[program->forward[id]] = TRUE;
      add_owned (program->graph, by_block, program->forward[id], id, lists);
    }
  for (guint32 i = by_block->first[0]; i < by_block->first[1]; i++)
    {
      const guint32 id = by_block->nodes[i];

      if (!served[id] && strcmp (gemem_graph_node (program->graph, id)->type, owners[kind][0]) == 0)
        add_owned (program->graph, by_block, id, GEMEM_NONE, lists);
    }
}

static void
clear_list (gpointer data)
{
  g_free (((PaddleList *) data)->nodes);
}

GArray *
gemem_paddle_lists (const PaddleProgram *program, gboolean old)
{
  GArray *lists = g_array_new (FALSE, FALSE, sizeof (PaddleList));
  GArray *global = new_nodes ();
  ByBlock by_block = sort_by_block (program->graph);

  g_array_set_clear_func (lists, clear_list);
  g_array_append_vals (global, by_block.nodes, by_block.first[1]);
  add_list (lists, global, by_block.first[1]);
  for (guint k = 0; k < n_kinds (old); k++)
    add_kind (program, &by_block, k, lists);
  g_free (by_block.first);
  g_free (by_block.nodes);
  return lists;
}

/* ---- liveness */

typedef struct
{
  guint32 position, variable;
} Death;

typedef struct
{
  const PaddleProgram *program;
  const PaddleList *list;
  PaddleLiveness *liveness;
  GArray *deaths;
} Walk;

static gboolean
is_walked (const Walk *walk, guint32 variable)
{
  return variable != GEMEM_NONE && gemem_paddle_variable (walk->program, variable)->named
         && walk->program->one_stream;
}

static void
add_death (const Walk *walk, guint32 position, guint32 variable)
{
  const Death death = { position, variable };

  g_array_append_val (walk->deaths, death);
}

/* Walks over one operator: `live_in` changes from what is live after it to what is before it. */
static void
step_back (const Walk *walk, guint32 position)
{
  const guint32 id = walk->list->nodes[position];
  const GememNode *node = gemem_graph_node (walk->program->graph, id);
  const guint32 *reads = gemem_paddle_reads (walk->program, id),
                *writes = gemem_paddle_writes (walk->program, id);
  guint8 *live = walk->liveness->live_in;

  for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
    walk->liveness->live_out[walk->liveness->write_at[position] + i] = writes[i] != GEMEM_NONE
                                                                       && live[writes[i]];
  for (guint32 i = 0; i < node->n_inputs; i++)
    if (is_walked (walk, reads[i]) && !live[reads[i]])
      {
        add_death (walk, position, reads[i]);
        live[reads[i]] = TRUE;
      }
  for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
    if (writes[i] != GEMEM_NONE)
      live[writes[i]] = FALSE;
  for (guint32 i = 0; i < node->n_inputs; i++)
    if (is_walked (walk, reads[i]))
      live[reads[i]] = TRUE;
}

/* Position of the first node that is not before @node; list->n: none. */
static guint32
position_of (const PaddleList *list, guint32 node)
{
  guint32 low = 0, high = list->n;

  while (low < high)
    {
      const guint32 middle = low + (high - low) / 2;

      if (list->nodes[middle] < node)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Adds the death of write @slot of the operator at @position, if the write is no variable of the
 * graph. */
static void
add_given_death (const Walk *walk, guint32 position, guint32 slot)
{
  const guint32 id = walk->list->nodes[position];
  const guint32 variable = gemem_paddle_writes (walk->program, id)[slot];
  const PaddleVariable *v = variable != GEMEM_NONE ? gemem_paddle_variable (walk->program, variable)
                                                   : NULL;
  guint32 death;

  if (v == NULL || v->named || v->dead_after == GEMEM_NONE
      || v->first_item != gemem_node_item (gemem_graph_node (walk->program->graph, id)) + slot)
    return;
  death = position_of (walk->list, v->dead_after);
  if (death == walk->list->n)
    return;
  add_death (walk, death, variable);
  walk->liveness->live_out[walk->liveness->write_at[position] + slot] = TRUE;
}

/* Counting sort by position. */
static void
lay_out (const Walk *walk)
{
  PaddleLiveness *liveness = walk->liveness;

  liveness->first = g_new0 (guint32, (gsize) walk->list->n + 2);
  liveness->dying = g_new (guint32, (gsize) walk->deaths->len + 1);
  for (guint i = 0; i < walk->deaths->len; i++)
    liveness->first[g_array_index (walk->deaths, Death, i).position + 2]++;
  for (guint32 i = 0; i < walk->list->n; i++)
    liveness->first[i + 2] += liveness->first[i + 1];
  for (guint i = 0; i < walk->deaths->len; i++)
    {
      const Death *death = &g_array_index (walk->deaths, Death, i);

      liveness->dying[liveness->first[death->position + 1]++] = death->variable;
    }
}

PaddleLiveness *
gemem_paddle_liveness_new (const PaddleProgram *program, const PaddleList *list)
{
  PaddleLiveness *liveness = g_new0 (PaddleLiveness, 1);
  g_autoptr (GArray) deaths = g_array_new (FALSE, FALSE, sizeof (Death));
  const Walk walk = { program, list, liveness, deaths };

  liveness->live_in = g_new0 (guint8, (gsize) program->n_variables + 1);
  liveness->write_at = g_new0 (guint32, (gsize) list->n + 1);
  for (guint32 i = 0; i < list->n; i++)
    liveness->write_at[i + 1] = liveness->write_at[i]
                                + gemem_paddle_n_writes (
                                    gemem_graph_node (program->graph, list->nodes[i]));
  liveness->live_out = g_new0 (guint8, (gsize) liveness->write_at[list->n] + 1);
  for (guint32 i = list->n; i-- > 0;)
    step_back (&walk, i);
  for (guint32 i = 0; i < list->n; i++)
    for (guint32 slot = 0; slot < liveness->write_at[i + 1] - liveness->write_at[i]; slot++)
      add_given_death (&walk, i, slot);
  lay_out (&walk);
  return liveness;
}

void
gemem_paddle_liveness_free (PaddleLiveness *liveness)
{
  if (liveness == NULL)
    return;
  g_free (liveness->first);
  g_free (liveness->dying);
  g_free (liveness->live_in);
  g_free (liveness->live_out);
  g_free (liveness->write_at);
  g_free (liveness);
}
