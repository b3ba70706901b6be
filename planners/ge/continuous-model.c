/* continuous-model.c - properties of continuous and cleared memory, found before planning.
 *
 * Consumers come after producers, so one pass from the last node to the first answers the forward
 * searches through references for all nodes.  Results equal those of the specification's
 * depth-first search: its last match counts, and the first consumer of a node is visited last.
 * Cost: linear in edges and outputs; the cascade table walks the concats above each concat.
 * Origin: ge-static.md 5 (find), 2.8, 6.5.
 */
#include "config.h"

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

/* ---- searches forward through references */

/* The result of a search from input @input of node @id, as an input anchor less n_tensors;
 * GEMEM_NONE.  @found: the results of all later nodes. */
static guint32
search_from (const GeModel *model, const guint32 *found, guint32 predicate, guint32 id,
             guint32 input)
{
  const GememNode *node = gemem_graph_node (model->graph, id);

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    {
      const GememConsumer *consumers = gemem_graph_consumers (model->graph, t);

      if (model->referenced_input[t] != input)
        continue;
      for (guint32 i = 0; i < gemem_graph_tensor (model->graph, t)->n_consumers; i++)
        {
          const guint32 next = gemem_graph_node (model->graph, consumers[i].node)->first_input
                               + consumers[i].input;

          if (consumers[i].node > id && found[next] != GEMEM_NONE)
            return found[next];
        }
    }
  return model->nodes[id].kind & predicate ? ge_input_anchor (model, node, input) - model->n_tensors
                                           : GEMEM_NONE;
}

/* Per input anchor less n_tensors: the result of the search from it, in the same form. */
static guint32 *
search_all (const GeModel *model, guint32 predicate)
{
  guint32 *found = g_new (guint32, (gsize) model->n_inputs + 1);

  for (guint32 id = model->n_nodes; id-- > 0;)
    for (guint32 i = 0; i < gemem_graph_node (model->graph, id)->n_inputs; i++)
      found[gemem_graph_node (model->graph, id)->first_input + i] = search_from (model, found,
                                                                                 predicate, id, i);
  return found;
}

gboolean
gemem_ge_find_continuous (const GeModel *model, guint32 tensor, guint32 consumer, guint32 predicate,
                          guint32 *node, guint32 *input)
{
  const GememConsumer *start = &gemem_graph_consumers (model->graph, tensor)[consumer];
  const guint32 *found = predicate == GE_NOPADDING_IN ? model->takes_nopadding
                                                      : model->takes_padded;
  const guint32 at =
      found[gemem_graph_node (model->graph, start->node)->first_input + start->input];

  if (at == GEMEM_NONE)
    return FALSE;
  *node = model->input_node[at];
  *input = at - gemem_graph_node (model->graph, *node)->first_input;
  return TRUE;
}

/* ---- central-atomic outputs (6.5) */

/* TRUE if the node requires all its inputs cleared, and does not clear them itself. */
static gboolean
clears_inputs (const GeModel *model, guint32 id)
{
  guint n;
  const gint64 *indexes = gemem_graph_ints (model->graph,
                                            gemem_graph_node (model->graph, id)->attributes,
                                            GEMEM_ATTRIBUTE_ATOMIC_INPUT_INDEX, &n);

  return (model->nodes[id].kind & GE_GENTASK_ATOMIC) == 0 && n > 0 && indexes[0] == -1;
}

static gboolean
is_cleared_output (const GeModel *model, guint32 id, guint32 output)
{
  guint n;
  const gint64 *indexes = gemem_graph_ints (model->graph,
                                            gemem_graph_node (model->graph, id)->attributes,
                                            GEMEM_ATTRIBUTE_ATOMIC_OUTPUT_INDEX, &n);

  for (guint i = 0; (model->nodes[id].kind & GE_GENTASK_ATOMIC) == 0 && i < n; i++)
    if (indexes[i] == output)
      return TRUE;
  return FALSE;
}

/* TRUE if @tensor flows through references into a node that requires cleared inputs.  @fed: the
 * results for all later tensors. */
static gboolean
is_fed (const GeModel *model, const guint8 *fed, guint32 tensor)
{
  for (guint32 i = 0; i < gemem_graph_tensor (model->graph, tensor)->n_consumers; i++)
    {
      const GememConsumer *consumer = &gemem_graph_consumers (model->graph, tensor)[i];
      const GememNode *node = gemem_graph_node (model->graph, consumer->node);

      if (clears_inputs (model, consumer->node))
        return TRUE;
      for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
        if (t > tensor && model->referenced_input[t] == consumer->input && fed[t])
          return TRUE;
    }
  return FALSE;
}

static void
fill_central (GeModel *model)
{
  g_autofree guint8 *fed = g_new0 (guint8, (gsize) model->n_tensors + 1);

  model->central_out = g_new0 (guint8, (gsize) model->n_tensors + 1);
  for (guint32 t = model->n_tensors; t-- > 0;)
    {
      const GememTensor *tensor = gemem_graph_tensor (model->graph, t);

      fed[t] = (guint8) is_fed (model, fed, t);
      model->central_out[t] = fed[t] || is_cleared_output (model, tensor->node, tensor->index);
    }
}

/* ---- the cascade table (2.8) */

typedef struct
{
  GeModel *model;
  guint32 *seen;  /* per node: the concat whose walk reached it last */
  GArray *leaves; /* of the current walk */
} Cascade;

/* Visits the producers of @id: leaves, or further concats, each of which is entered once. */
static void
walk_up (Cascade *cascade, guint32 id, guint32 top, guint depth)
{
  const GeModel *model = cascade->model;
  const GememNodeInput *inputs = gemem_graph_inputs (model->graph, id);

  cascade->seen[id] = top;
  for (guint32 i = 0; i < gemem_graph_node (model->graph, id)->n_inputs; i++)
    {
      const guint32 producer = inputs[i].tensor == GEMEM_NONE
                                   ? GEMEM_NONE
                                   : gemem_ge_anchor_node (model, inputs[i].tensor);

      if (producer == GEMEM_NONE)
        continue;
      if (model->nodes[producer].kind & GE_RAW_NOPADDING_IN)
        {
          if (depth < GE_DEPTH_MAX && cascade->seen[producer] != top)
            walk_up (cascade, producer, top, depth + 1);
          continue;
        }
      model->cascade[top] = MIN (model->cascade[top], producer);
      if (i == 0)
        model->cascade[producer] = producer;
      g_array_append_val (cascade->leaves, producer);
    }
}

static void
fill_cascade (GeModel *model)
{
  Cascade cascade = { model, NULL, NULL };

  model->cascade = ge_new_none (model->n_nodes);
  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      if ((model->nodes[id].kind & GE_RAW_NOPADDING_IN) == 0)
        continue;
      if (cascade.seen == NULL)
        {
          cascade.seen = ge_new_none (model->n_nodes);
          cascade.leaves = g_array_new (FALSE, FALSE, sizeof (guint32));
        }
      g_array_set_size (cascade.leaves, 0);
      walk_up (&cascade, id, id, 1);
      for (guint i = 0; i < cascade.leaves->len; i++)
        {
          const guint32 leaf = g_array_index (cascade.leaves, guint32, i);

          if (model->cascade[leaf] != GEMEM_NONE)
            model->cascade[leaf] = model->cascade[id];
        }
    }
  if (cascade.seen != NULL)
    g_array_unref (cascade.leaves);
  g_free (cascade.seen);
}

void
gemem_ge_model_fill_continuous (GeModel *model)
{
  model->takes_nopadding = search_all (model, GE_NOPADDING_IN);
  model->takes_padded = search_all (model, GE_PADDED_IN);
  fill_central (model);
  fill_cascade (model);
}
