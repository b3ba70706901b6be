/* apply.c - a block for an output or a workspace without one: from a pool, or new (ge-static.md
 * 2.5).
 */
#include "config.h"

#include "planners/ge/ge-private.h"

guint64
gemem_ge_block_size (const GeAssigner *a, guint64 size)
{
  guint low = 0, high = a->ranges->len;

  if (!a->strategy.use_range)
    return ge_align (size);
  while (low < high)
    {
      const guint middle = (low + high) / 2;

      if (g_array_index (a->ranges, guint64, middle) < size)
        low = middle + 1;
      else
        high = middle;
    }
  return low < a->ranges->len ? g_array_index (a->ranges, guint64, low) : size;
}

/* The decisions of 2.5 that precede the search for a block. */
typedef struct
{
  gboolean pre, post, can, multi;
  gboolean data, central; /* 6.5 */
  gint32 stream;
} Terms;

/* 2.5, first paragraph; also lowers request->begin and sets request->end_request. */
static Terms
terms_of (GeAssigner *a, GeRequest *request)
{
  const GeModel *model = a->model;
  const GeNode *node = &model->nodes[request->node];
  const gboolean output = request->kind == GE_KIND_OUTPUT;
  const guint32 tensor = output ? ge_request_tensor (a, request) : GEMEM_NONE;
  const guint32 flags = output ? model->symbols[model->symbol_of[tensor]].flags
                               : GE_SYMBOL_PRE | GE_SYMBOL_POST;
  const gboolean no_reuse = (node->kind & GE_NO_REUSE) != 0
                            || (request->kind == GE_KIND_WORKSPACE && !request->reuse_flag);
  const guint32 cascade = request->kind != GE_KIND_WORKSPACE ? model->cascade[request->node]
                                                             : GEMEM_NONE;
  Terms terms = { .pre = (flags & GE_SYMBOL_PRE) != 0, .post = (flags & GE_SYMBOL_POST) != 0 };

  if (no_reuse || !terms.pre)
    request->begin = GE_MIN_LIFE;
  else if (cascade != GEMEM_NONE && cascade < request->begin)
    request->begin = cascade;
  if (output && !terms.post)
    request->end_request = GE_MAX;
  terms.stream = output ? model->output_stream[tensor] : node->stream;
  terms.multi = output && model->multi_same_out[tensor];
  terms.can = terms.stream != -1 && a->reuse && request->kind != GE_KIND_DESCRIPTOR && !no_reuse
              && request->op_reuse
              && !gemem_graph_flag (model->graph,
                                    gemem_graph_node (model->graph, request->node)->attributes,
                                    GEMEM_ATTRIBUTE_L2FUSION_DYNAMIC_CONVERGE);
  terms.data = (node->kind & GE_DATA) != 0;
  terms.central = output && model->central_out[tensor];
  return terms;
}

void
gemem_ge_add_occupant (GeAssigner *a, GeBlock *block, const GeRequest *request, gint32 stream,
                       guint64 real, guint8 flags)
{
  GeOccupant occupant = {
    .real = real,
    .noalign = request->noalign,
    .node = request->node,
    .index = request->index,
    .begin = request->node,
    .end = GE_NEVER,
    .sym_end = GE_NEVER,
    .diff_stream = GE_NO_DIFF,
    .out_cnt = 1,
    .kind = (guint8) request->kind,
    .flags = flags,
  };

  if (0 < request->begin && request->begin < request->node)
    {
      occupant.begin = request->begin;
      occupant.flags |= GE_OCCUPANT_BEGIN_MIN;
    }
  if (request->kind == GE_KIND_OUTPUT
      && (a->model->nodes[request->node].kind & GE_PARTITIONED_CALL) != 0)
    occupant.flags |= GE_OCCUPANT_CALL;
  gemem_ge_block_add (block, &occupant, stream);
}

GeBlock *
gemem_ge_apply (GeAssigner *a, GeRequest *request, guint64 real, gboolean zc)
{
  const guint64 size = gemem_ge_block_size (a, real);
  const Terms terms = terms_of (a, request);
  const gboolean continuous = request->continuous && !request->sep;
  GeBlock *block = NULL;

  if (terms.can && terms.pre && !continuous && !zc && !terms.multi)
    block = gemem_ge_pools_take (a, request, size, terms.stream, terms.data, terms.central);
  if (block == NULL)
    block = gemem_ge_block_new (a, size, terms.stream, request->space, terms.can);
  if (request->kind == GE_KIND_OUTPUT)
    {
      block->post_reuse &= terms.post;
      block->diff_prior =
          (a->model->symbols[a->model->symbol_of[ge_request_tensor (a, request)]].flags
           & GE_SYMBOL_DIFF_PRIOR)
          != 0;
    }
  gemem_ge_add_occupant (a, block, request, terms.stream, real, continuous ? GE_OCCUPANT_CONT : 0);
  block->data |= terms.data;
  block->central |= terms.central;
  if (terms.multi)
    block->same_stream = FALSE;
  block->label = a->model->nodes[request->node].label;
  block->reuse_mem &= block->post_reuse || terms.pre;
  block->zc |= zc;
  if (request->end_request != 0)
    {
      gemem_ge_block_set_end (
          block, request->end_request == GE_MAX ? GE_NEVER : request->end_request, block->stream);
      gemem_ge_block_set_sym_end (block, request->end_request);
    }
  return block;
}
