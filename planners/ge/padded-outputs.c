/* padded-outputs.c - outputs that must lie side by side, each rounded up to 512 bytes: one block.
 *
 * Where the specification is silent: they are never zero-copy, as the caller may supply addresses
 * that are not adjacent.
 * Cost: linear in the outputs and the members of their symbols.  Origin: ge-static.md 5.4.
 */
#include "config.h"

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"
#include "planners/ge/stream-edges.h"

GeBlock *
gemem_ge_continuous_allocate (GeAssigner *a, GeRequest *request)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request), symbol = model->symbol_of[tensor];
  GeBlock *block;

  request->noalign = request->size;
  request->continuous = FALSE;
  block = gemem_ge_apply (
      a, request, request->size,
      gemem_ge_is_zero_copy (model, request->node, request->index, TRUE, request->noalign));
  gemem_ge_block_set_first_last (block);
  block->same_offset = (model->nodes[request->node].kind & GE_BATCH_INDEPENDENT) != 0;
  block->reuse_zc = FALSE;
  block->ref_count += (gint32) gemem_ge_symbol_inputs (model, tensor);
  a->symbol_size[symbol] = request->size;
  a->symbol_block[symbol] = block;
  return block;
}

/* Number of outputs of @node that reference an input. */
static guint32
count_references (const GeModel *model, const GememNode *node)
{
  guint32 n = 0;

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    n += model->referenced_input[t] != GEMEM_NONE;
  return n;
}

static void
refuse_mixed (GeAssigner *a, const GememNode *node, guint32 n)
{
  if (a->error == NULL)
    g_set_error (&a->error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "node '%s': continuous_output: %u of %u outputs refer to an input; all of them or "
                 "none must",
                 node->name, n, node->n_outputs);
}

/* The common end of all outputs; adds the streams of their readers to @streams. */
static guint32
outputs_end (const GeAssigner *a, const GememNode *node, guint64 *streams)
{
  guint32 reached = a->time, end = 0;

  for (guint32 i = 0; i < node->n_outputs; i++)
    {
      const guint32 last = gemem_ge_max_life (a->model, a->time, i, -1, &reached, streams);

      end = MAX (end, last);
    }
  return end;
}

void
gemem_ge_continuous_outputs (GeAssigner *a, GeRequest *request)
{
  const GeModel *model = a->model;
  const GememNode *node = gemem_graph_node (model->graph, request->node);
  const guint32 n_references = count_references (model, node);
  g_autofree guint64 *streams = NULL;
  guint64 total = 0;
  guint32 end;
  GeBlock *block;

  for (guint32 i = 0; i < node->n_outputs; i++)
    if (!gemem_ge_is_global (model, node->first_output + i))
      total += ge_align (gemem_ge_tensor_size (model, node->first_output + i));
  if (n_references > 0 && n_references < node->n_outputs)
    refuse_mixed (a, node, n_references);
  for (guint32 i = n_references > 0 || total == 0 ? 0 : 1; i < node->n_outputs; i++)
    gemem_ge_zero (a, request->node, i);
  if (n_references > 0 || total == 0)
    return;
  request->index = 0;
  request->size = total;
  block = gemem_ge_continuous_allocate (a, request);
  streams = g_new0 (guint64, ge_stream_words (model));
  end = outputs_end (a, node, streams);
  /* [QUIRK] NEVER is taken for an unknown end, which the first reader to leave then sets. */
  gemem_ge_block_set_end (block, end == GE_MAX && model->options->quirks ? GE_NEVER : end,
                          block->stream);
  if (!model->options
           ->quirks) /* [QUIRK] a reference to output 0 ignores the readers of the other outputs */
    gemem_ge_block_set_sym_end (block, end);
  gemem_ge_block_raise_out_cnt (block, gemem_ge_count_streams (model, streams));
}
