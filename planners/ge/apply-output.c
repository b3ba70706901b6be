/* apply-output.c - the block of an output: the block of its symbol, or a new one that becomes it
 * (ge-static.md 2.4).
 */
#include "config.h"

#include "planners/ge/anchors.h"
#include "planners/ge/continuous.h"
#include "planners/ge/ge-private.h"

/* The symbol has a block: the output becomes a further reference in it. */
static GeBlock *
join_symbol (GeAssigner *a, GeRequest *request, GeBlock *block, guint64 total)
{
  const GeModel *model = a->model;
  const GeNode *node = &model->nodes[request->node];
  const GememTensor *tensor = gemem_graph_tensor (model->graph, ge_request_tensor (a, request));
  guint32 end = a->time;

  gemem_ge_block_set_size (block, gemem_ge_block_size (a, total));
  if (a->continuous == NULL || !gemem_ge_continuous_end (a, request, &end))
    end = a->time;
  gemem_ge_block_set_sym_end (block, end);
  gemem_ge_block_set_end (block, a->time, block->stream);
  end = ge_block_last (block)->sym_end;
  gemem_ge_add_occupant (a, block, request, block->stream, total, GE_OCCUPANT_REF);
  ge_block_last (block)->sym_end = end;
  block->data |= (node->kind & GE_DATA) != 0;
  block->central |= model->central_out[ge_request_tensor (a, request)];
  block->reuse_mem &= (node->kind & GE_NO_REUSE) == 0 && request->op_reuse;
  block->ref_count += tensor->n_consumers == 0;
  return block;
}

/* TRUE for a nested Data node that stands for an outer constant or variable (2.4). */
static gboolean
is_nested_constant (GeAssigner *a, const GeRequest *request)
{
  const guint32 tensor = gemem_ge_outer_tensor (a->model, request->node);

  return tensor != GEMEM_NONE && (ge_tensor_kind (a->model, tensor) & GE_ZERO_MEMORY) != 0;
}

/* Obtains a block for the first output of a symbol; the later outputs join it. */
static GeBlock *
start_symbol (GeAssigner *a, GeRequest *request, guint64 total)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request), symbol = model->symbol_of[tensor];
  const guint32 inputs = gemem_ge_symbol_inputs (model, tensor),
                consumers = gemem_graph_tensor (model->graph, tensor)->n_consumers;
  const gboolean zc = gemem_ge_is_zero_copy (model, request->node, request->index,
                                             request->continuous, request->noalign);
  GeBlock *block;

  if (request->sep)
    a->symbol_size[symbol] = total;
  block = gemem_ge_apply (a, request, a->symbol_size[symbol], zc);
  block->same_offset = (model->nodes[request->node].kind & GE_BATCH_INDEPENDENT) != 0;
  if (request->sep)
    gemem_ge_block_set_first_last (block);
  block->reuse_zc &= gemem_ge_symbol_refreshable (model, tensor);
  block->ref_count += (gint32) MAX (inputs, consumers);
  block->fixed |= (model->symbols[symbol].flags & GE_SYMBOL_FIXED) != 0;
  return block;
}

GeBlock *
gemem_ge_apply_output (GeAssigner *a, GeRequest *request)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request), kind = model->nodes[request->node].kind;
  const guint64 total = request->sep ? gemem_ge_continuous_total (a) : request->size;
  GeBlock *block = a->symbol_block[model->symbol_of[tensor]];

  if (request->sep)
    request->noalign = total;
  if (block != NULL)
    join_symbol (a, request, block, total);
  else if (model->is_reference[tensor] || is_nested_constant (a, request))
    gemem_ge_zero (a, request->node, request->index);
  else
    block = start_symbol (a, request, total);
  if (block != NULL
      && ((kind & GE_PADDED_OUT) != 0
          || (kind & (GE_NOPADDING_OUT | GE_CASCADE_OUT)) == (GE_NOPADDING_OUT | GE_CASCADE_OUT)))
    block->reuse_zc = FALSE;
  return block;
}
