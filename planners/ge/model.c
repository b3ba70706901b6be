/* model.c - builds the model of a graph, step by step, and answers for single anchors; see model.h.
 *
 * Invariant: every field is filled before a later step reads it (the order of GE itself: symbols,
 * in-place pairs, stream normalisation, then what the assigners precompute).
 * Cost: linear in nodes and edges, times the number of streams for the dependency tables.  Origin:
 * ge-static.md 0.2, 1.2.
 */
#include "config.h"

#include "planners/ge/model-private.h"

static void
fill_input_nodes (GeModel *model)
{
  const guint32 n = model->n_nodes;
  const GememNode *last = n > 0 ? gemem_graph_node (model->graph, n - 1) : NULL;

  model->input_node = g_new (guint32,
                             last != NULL ? (gsize) last->first_input + last->n_inputs + 1 : 1);
  for (guint32 id = 0; id < n; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        model->input_node[node->first_input + i] = id;
    }
}

GeModel *
ge_model_new (const GememGraph *graph, const GeOptions *options, GError **error)
{
  GeModel *model = g_new0 (GeModel, 1);
  g_autofree gint64 *streams = NULL;

  model->graph = graph;
  model->options = options;
  model->n_nodes = gemem_graph_n_nodes (graph);
  model->n_tensors = gemem_graph_n_tensors (graph);
  model->dynamic_root = gemem_graph_dynamic_root (graph);
  model->extend_memory = options->static_memory_policy == 1 || options->static_memory_policy == 2
                         || options->static_memory_policy == 4;
  model->nodes = g_new0 (GeNode, (gsize) model->n_nodes + 1);
  ge_model_fill_kinds (model);
  fill_input_nodes (model);
  streams = ge_model_effective_streams (model);
  if (!ge_model_check_attributes (model, error))
    {
      ge_model_free (model);
      return NULL;
    }
  ge_model_fill_symbols (model, streams);
  if (!ge_model_fill_streams (model, streams, error))
    {
      ge_model_free (model);
      return NULL;
    }
  ge_model_fill_edges (model);
  ge_model_fill_lives (model);
  ge_model_fill_symbol_info (model);
  ge_model_fill_continuous (model);
  return model;
}

void
ge_model_free (GeModel *model)
{
  if (model == NULL)
    return;
  for (gsize i = 0; model->in_edges != NULL && i < (gsize) model->n_streams * model->n_streams; i++)
    g_free (model->in_edges[i].edges);
  g_free (model->in_edges);
  g_free (model->lives);
  g_free (model->life_streams);
  g_free (model->nodes);
  g_free (model->streams);
  g_free (model->labels);
  g_free (model->symbols);
  g_free (model->members);
  g_free (model->symbol_of);
  g_free (model->multi_same_out);
  g_free (model->is_reference);
  g_free (model->referenced_input);
  g_free (model->origin);
  g_free (model->input_node);
  g_free (model->output_stream);
  g_free (model->takes_nopadding);
  g_free (model->takes_padded);
  g_free (model->cascade);
  g_free (model->central_out);
  g_free (model->input_reuse);
  g_free (model->output_reuse);
  g_free (model);
}

guint32
ge_anchor_node (const GeModel *model, guint32 anchor)
{
  return ge_anchor_is_input (model, anchor) ? model->input_node[anchor - model->n_tensors]
                                            : gemem_graph_tensor (model->graph, anchor)->node;
}

guint32
ge_anchor_index (const GeModel *model, guint32 anchor)
{
  if (!ge_anchor_is_input (model, anchor))
    return gemem_graph_tensor (model->graph, anchor)->index;
  return anchor - model->n_tensors
         - gemem_graph_node (model->graph, ge_anchor_node (model, anchor))->first_input;
}

static gboolean
feeds_net_output (const GeModel *model, guint32 tensor)
{
  const GememConsumer *consumers = gemem_graph_consumers (model->graph, tensor);

  for (guint32 i = 0; i < gemem_graph_tensor (model->graph, tensor)->n_consumers; i++)
    if (model->nodes[consumers[i].node].kind & GE_NETOUTPUT)
      return TRUE;
  return FALSE;
}

guint64
ge_tensor_size (const GeModel *model, guint32 tensor)
{
  const GememTensor *t = gemem_graph_tensor (model->graph, tensor);
  gint64 value;

  if (gemem_graph_int (model->graph, t->attributes, GEMEM_ATTRIBUTE_FFTS_SUB_TASK_TENSOR_SIZE,
                       &value)
      && value >= 0 && (model->nodes[t->node].kind & GE_DATA) == 0
      && !feeds_net_output (model, tensor))
    return (guint64) value;
  if (t->size == 0
      && gemem_graph_flag (model->graph, t->attributes, GEMEM_ATTRIBUTE_NO_TILING_MEM_TYPE)
      && gemem_graph_int (model->graph, t->attributes, GEMEM_ATTRIBUTE_NO_TILING_SIZE, &value)
      && value > 0)
    return (guint64) value;
  return t->size;
}
