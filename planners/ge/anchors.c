/* anchors.c - lookups of single anchors, tensors and nodes of a model; see anchors.h. */
#include "config.h"

#include "graphs/meaning.h"
#include "planners/ge/anchors.h"

guint32
gemem_ge_anchor_node (const GeModel *model, guint32 anchor)
{
  return ge_anchor_is_input (model, anchor) ? model->input_node[anchor - model->n_tensors]
                                            : gemem_graph_tensor (model->graph, anchor)->node;
}

guint32
gemem_ge_anchor_index (const GeModel *model, guint32 anchor)
{
  if (!ge_anchor_is_input (model, anchor))
    return gemem_graph_tensor (model->graph, anchor)->index;
  return anchor - model->n_tensors
         - gemem_graph_node (model->graph, gemem_ge_anchor_node (model, anchor))->first_input;
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
gemem_ge_tensor_size (const GeModel *model, guint32 tensor)
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

gboolean
gemem_ge_piece_size (const GeModel *model, guint32 tensor, guint32 dim, guint64 *bytes)
{
  const GememTensor *t = gemem_graph_tensor (model->graph, tensor);

  if (!t->has_shape || gemem_dtype_bits (t->dtype) == 0)
    return FALSE;
  if (dim > t->n_dims)
    dim = t->n_dims;
  return gemem_dtype_bytes (t->dtype, gemem_graph_dims (model->graph, t->first_dim + dim),
                            t->n_dims - dim, bytes);
}

guint32
gemem_ge_outer_tensor (const GeModel *model, guint32 id)
{
  guint32 owner, input;

  return gemem_graph_outer_input (model->graph, id, &owner, &input)
             ? gemem_graph_inputs (model->graph, owner)[input].tensor
             : GEMEM_NONE;
}

gboolean
gemem_ge_listed (const GeModel *model, guint32 id, GememAttributeKey key, guint32 index,
                 gint64 *value)
{
  return gemem_graph_int_at (model->graph, gemem_graph_node (model->graph, id)->attributes, key,
                             index, value);
}

guint32
gemem_ge_symbol_inputs (const GeModel *model, guint32 tensor)
{
  const GeSymbol *symbol = &model->symbols[model->symbol_of[tensor]];
  guint32 n = 0;

  for (guint32 i = 0; i < symbol->n_members; i++)
    {
      const guint32 anchor = model->members[symbol->first_member + i];

      if (ge_anchor_is_input (model, anchor))
        n += gemem_graph_inputs (
                 model->graph,
                 gemem_ge_anchor_node (model, anchor))[gemem_ge_anchor_index (model, anchor)]
                 .tensor
             != GEMEM_NONE;
    }
  return n;
}

gboolean
gemem_ge_is_global (const GeModel *model, guint32 tensor)
{
  gint64 scope;

  return gemem_graph_int (model->graph, gemem_graph_tensor (model->graph, tensor)->attributes,
                          GEMEM_ATTRIBUTE_TENSOR_MEMORY_SCOPE, &scope)
         && scope == 2;
}
