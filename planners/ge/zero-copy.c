/* zero-copy.c - which tensors may be supplied by the caller at run time (ge-static.md 7.1, 7.4).
 *
 * Cost: O(members of the symbol), once for each symbol.
 */
#include "config.h"

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

static gboolean
refreshable (const GeModel *model, guint32 node)
{
  return (model->nodes[node].kind & GE_NOT_REFRESHABLE) == 0;
}

/* TRUE if the node and all direct consumers are refreshable. */
static gboolean
refreshable_around (const GeModel *model, guint32 node, guint32 tensor)
{
  const GememConsumer *consumers = gemem_graph_consumers (model->graph, tensor);

  for (guint32 i = 0; i < gemem_graph_tensor (model->graph, tensor)->n_consumers; i++)
    if (!refreshable (model, consumers[i].node))
      return FALSE;
  return refreshable (model, node);
}

gboolean
gemem_ge_symbol_refreshable (const GeModel *model, guint32 tensor)
{
  const GeSymbol *symbol = &model->symbols[model->symbol_of[tensor]];

  for (guint32 i = 0; i < symbol->n_members; i++)
    if (!refreshable (model,
                      gemem_ge_anchor_node (model, model->members[symbol->first_member + i])))
      return FALSE;
  return TRUE;
}

/* Number of inputs of the planned graph's own NetOutput in the symbol; *@outputs_refreshable: the
 * nodes of all outputs in the symbol are refreshable. */
static guint32
graph_outputs (const GeModel *model, guint32 tensor, gboolean *outputs_refreshable)
{
  const GeSymbol *symbol = &model->symbols[model->symbol_of[tensor]];
  guint32 n = 0;

  *outputs_refreshable = TRUE;
  for (guint32 i = 0; i < symbol->n_members; i++)
    {
      const guint32 anchor = model->members[symbol->first_member + i],
                    node = gemem_ge_anchor_node (model, anchor);

      if (!ge_anchor_is_input (model, anchor))
        *outputs_refreshable = *outputs_refreshable && refreshable (model, node);
      else if ((model->nodes[node].kind & (GE_NETOUTPUT | GE_NESTED)) == GE_NETOUTPUT)
        n++;
    }
  return n;
}

static gboolean
data_is_zero_copy (const GeModel *model, guint32 node, guint32 tensor)
{
  const GememAttributes attributes = gemem_graph_node (model->graph, node)->attributes;

  if ((model->options->build_graph_mode == 0 || ge_is_documented (model->options))
      && gemem_graph_flag (model->graph, attributes, GEMEM_ATTRIBUTE_IS_MULTI_BATCH_SHAPE_DATA))
    return FALSE;
  return !gemem_graph_has_attribute (model->graph, attributes, GEMEM_ATTRIBUTE_PARENT_NODE_INDEX)
         && refreshable_around (model, node, tensor);
}

gboolean
gemem_ge_is_zero_copy (const GeModel *model, guint32 node, guint32 output, gboolean continuous,
                       guint64 noalign)
{
  const guint32 kind = model->nodes[node].kind,
                tensor = gemem_graph_node (model->graph, node)->first_output + output;
  gboolean outputs_refreshable;

  if (model->dynamic_root)
    {
      if ((kind & GE_NESTED) != 0)
        return FALSE;
      if ((kind & GE_DATA) != 0)
        return !continuous;
      if (model->options->static_model_addr_fixed && (kind & GE_HCCL) != 0)
        return FALSE;
      return graph_outputs (model, tensor, &outputs_refreshable) > 0;
    }
  if (model->options->io_mem_alloc_mode == 1 && noalign > model->options->input_fusion_size)
    return FALSE;
  if (continuous)
    return FALSE;
  if ((kind & GE_NETOUTPUT) != 0)
    return (kind & GE_NESTED) == 0;
  if ((kind & GE_DATA) != 0)
    return data_is_zero_copy (model, node, tensor);
  return graph_outputs (model, tensor, &outputs_refreshable) == 1 && outputs_refreshable
         && refreshable_around (model, node, tensor);
}
