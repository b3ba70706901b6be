/* apply.c - where an output or a workspace gets its block from: its symbol, a pool, or nowhere yet
 * (ge-static.md 2.4, 2.5).
 *
 * Pools: the system keeps per (memory type, stream) a vector and takes the newest (or oldest) entry
 * that suits.  What suits has exactly the size and label of the request, so the vector is kept here
 * as one list per (type, stream, size, label), each in the order of the vector: the same entry is
 * found without a walk over the others.  Entries that can never suit (continuous, zero-copy, alive
 * for ever) are not kept.
 */
#include "config.h"

#include "graphs/meaning.h"
#include "planners/ge/block.h"

/* ---- pools */

typedef struct
{
  guint64 size;
  gint32 stream, label;
  guint32 space;
} Key;

typedef struct
{
  Key key;
  GeBlock **blocks; /* [first, end), in the order of release */
  guint first, end, capacity;
} List;

struct _GePools
{
  GHashTable *lists; /* List, by its key */
};

static guint
hash_key (gconstpointer pointer)
{
  const Key *key = pointer;
  guint64 hash = key->size / GE_ALIGN * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  hash ^= ((guint64) (guint32) key->stream << 20) ^ ((guint64) (guint32) key->label << 4)
          ^ key->space;
  return (guint) ((hash * G_GUINT64_CONSTANT (0xff51afd7ed558ccd)) >> 32);
}

static gboolean
equal_keys (gconstpointer a, gconstpointer b)
{
  const Key *x = a, *y = b;

  return x->size == y->size && x->stream == y->stream && x->label == y->label
         && x->space == y->space;
}

static void
free_list (gpointer list)
{
  g_free (((List *) list)->blocks);
  g_free (list);
}

static GePools *
pools_new (void)
{
  GePools *pools = g_new0 (GePools, 1);

  pools->lists = g_hash_table_new_full (hash_key, equal_keys, NULL, free_list);
  return pools;
}

void
ge_pools_free (GePools *pools)
{
  if (pools != NULL)
    g_hash_table_unref (pools->lists);
  g_free (pools);
}

static List *
list_of (GePools *pools, guint64 size, gint32 stream, gint32 label, guint32 space)
{
  const Key key = { size, stream, label, space };
  List *list = g_hash_table_lookup (pools->lists, &key);

  if (list == NULL)
    {
      list = g_new0 (List, 1);
      list->key = key;
      g_hash_table_insert (pools->lists, &list->key, list);
    }
  return list;
}

void
ge_pools_push (GeAssigner *a, GeBlock *block)
{
  List *list;

  if (block->cont || block->zc || ge_block_life_end (block, block->stream) >= GE_NEVER)
    return;
  if (a->pools == NULL)
    a->pools = pools_new ();
  list = list_of (a->pools, block->size, block->stream, block->label, block->space);
  if (list->end == list->capacity)
    {
      list->capacity = MAX (4, 2 * list->capacity);
      list->blocks = g_renew (GeBlock *, list->blocks, list->capacity);
    }
  list->blocks[list->end++] = block;
}

static void
remove_at (List *list, guint i)
{
  if (i == list->first)
    list->first++;
  else
    {
      for (guint k = i + 1; k < list->end; k++)
        list->blocks[k - 1] = list->blocks[k];
      list->end--;
    }
  if (list->first == list->end)
    list->first = list->end = 0;
}

/* May @block be handed to @request (the tests of 2.5 that its list does not answer)? */
static gboolean
suits (const GeBlock *block, const GeRequest *request, guint64 size, gboolean data,
       gboolean central)
{
  return !block->cont && !block->zc && !block->diff_prior && block->reuse_mem && !block->child
         && block->size == size && !(block->data && central) && !(block->central && data)
         && (request->begin == 0 || request->begin > ge_block_life_end (block, block->stream));
}

GeBlock *
ge_pools_take (GeAssigner *a, const GeRequest *request, guint64 size, gint32 stream, gboolean data,
               gboolean central)
{
  const Key key = { size, stream, a->model->nodes[request->node].label, request->space };
  List *list = a->pools != NULL ? g_hash_table_lookup (a->pools->lists, &key) : NULL;

  if (list == NULL)
    return NULL;
  for (guint k = list->first; k < list->end; k++)
    {
      const guint i = a->strategy.first_release ? k : list->end - 1 - (k - list->first);
      GeBlock *block = list->blocks[i];

      if (!suits (block, request, size, data, central))
        continue;
      remove_at (list, i);
      return block;
    }
  return NULL;
}

/* ---- 2.5 */

guint64
ge_block_size (const GeAssigner *a, guint64 size)
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

/* What 2.5 decides before it looks for a block. */
typedef struct
{
  gboolean pre, post, can, multi;
  gboolean data, central; /* 6.5 */
  gint32 stream;
} Terms;

/* 2.5, first paragraph: lowers request->begin, sets request->end_request. */
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

static void
add_occupant (GeAssigner *a, GeBlock *block, const GeRequest *request, gint32 stream, guint64 real,
              guint8 flags)
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
  ge_block_add (block, &occupant, stream);
}

GeBlock *
ge_apply (GeAssigner *a, GeRequest *request, guint64 real, gboolean zc)
{
  const guint64 size = ge_block_size (a, real);
  const Terms terms = terms_of (a, request);
  const gboolean continuous = request->continuous && !request->sep;
  GeBlock *block = NULL;

  if (terms.can && terms.pre && !continuous && !zc && !terms.multi)
    block = ge_pools_take (a, request, size, terms.stream, terms.data, terms.central);
  if (block == NULL)
    block = ge_block_new (a, size, terms.stream, request->space, terms.can);
  if (request->kind == GE_KIND_OUTPUT)
    {
      block->post_reuse &= terms.post;
      block->diff_prior =
          (a->model->symbols[a->model->symbol_of[ge_request_tensor (a, request)]].flags
           & GE_SYMBOL_DIFF_PRIOR)
          != 0;
    }
  add_occupant (a, block, request, terms.stream, real, continuous ? GE_OCCUPANT_CONT : 0);
  block->data |= terms.data;
  block->central |= terms.central;
  if (terms.multi)
    block->same_stream = FALSE;
  block->label = a->model->nodes[request->node].label;
  block->reuse_mem &= block->post_reuse || terms.pre;
  block->zc |= zc;
  if (request->end_request != 0)
    {
      ge_block_set_end (block, request->end_request == GE_MAX ? GE_NEVER : request->end_request,
                        block->stream);
      ge_block_set_sym_end (block, request->end_request);
    }
  return block;
}

/* ---- 2.4 */

guint32
ge_symbol_inputs (const GeAssigner *a, guint32 tensor)
{
  const GeModel *model = a->model;
  const GeSymbol *symbol = &model->symbols[model->symbol_of[tensor]];
  guint32 n = 0;

  for (guint32 i = 0; i < symbol->n_members; i++)
    {
      const guint32 anchor = model->members[symbol->first_member + i];

      if (ge_anchor_is_input (model, anchor))
        n += gemem_graph_inputs (model->graph,
                                 ge_anchor_node (model, anchor))[ge_anchor_index (model, anchor)]
                 .tensor
             != GEMEM_NONE;
    }
  return n;
}

/* The symbol has a block: one more reference in it. */
static GeBlock *
join_symbol (GeAssigner *a, GeRequest *request, GeBlock *block, guint64 total)
{
  const GeModel *model = a->model;
  const GeNode *node = &model->nodes[request->node];
  const GememTensor *tensor = gemem_graph_tensor (model->graph, ge_request_tensor (a, request));
  guint32 end = a->time;

  ge_block_set_size (block, ge_block_size (a, total));
  if (a->continuous == NULL || !ge_continuous_end (a, request, &end))
    end = a->time;
  ge_block_set_sym_end (block, end);
  ge_block_set_end (block, a->time, block->stream);
  end = ge_block_last (block)->sym_end;
  add_occupant (a, block, request, block->stream, total, GE_OCCUPANT_REF);
  ge_block_last (block)->sym_end = end;
  block->data |= (node->kind & GE_DATA) != 0;
  block->central |= model->central_out[ge_request_tensor (a, request)];
  block->reuse_mem &= (node->kind & GE_NO_REUSE) == 0 && request->op_reuse;
  block->ref_count += tensor->n_consumers == 0;
  return block;
}

/* A nested Data node that stands for a constant or variable outside (2.4). */
static gboolean
is_nested_constant (GeAssigner *a, const GeRequest *request)
{
  const GememGraph *graph = a->model->graph;
  guint32 owner, input, tensor;

  if (!gemem_graph_outer_input (graph, request->node, &owner, &input))
    return FALSE;
  tensor = gemem_graph_inputs (graph, owner)[input].tensor;
  return tensor != GEMEM_NONE
         && (a->model->nodes[gemem_graph_tensor (graph, tensor)->node].kind & GE_ZERO_MEMORY) != 0;
}

/* The first output of its symbol: founds the block. */
static GeBlock *
found_symbol (GeAssigner *a, GeRequest *request, guint64 total)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request), symbol = model->symbol_of[tensor];
  const guint32 inputs = ge_symbol_inputs (a, tensor),
                consumers = gemem_graph_tensor (model->graph, tensor)->n_consumers;
  const gboolean zc = ge_is_zero_copy (model, request->node, request->index, request->continuous,
                                       request->noalign);
  GeBlock *block;

  if (request->sep)
    a->symbol_size[symbol] = total;
  block = ge_apply (a, request, a->symbol_size[symbol], zc);
  block->same_offset = (model->nodes[request->node].kind & GE_BATCH_INDEPENDENT) != 0;
  if (request->sep)
    ge_block_set_first_last (block);
  block->reuse_zc &= ge_symbol_refreshable (model, tensor);
  block->ref_count += (gint32) MAX (inputs, consumers);
  block->fixed |= (model->symbols[symbol].flags & GE_SYMBOL_FIXED) != 0;
  return block;
}

GeBlock *
ge_apply_output (GeAssigner *a, GeRequest *request)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request), kind = model->nodes[request->node].kind;
  const guint64 total = request->sep ? ge_continuous_total (a, request) : request->size;
  GeBlock *block = a->symbol_block[model->symbol_of[tensor]];

  if (request->sep)
    request->noalign = total;
  if (block != NULL)
    join_symbol (a, request, block, total);
  else if (model->is_reference[tensor] || is_nested_constant (a, request))
    ge_zero (a, request->node, request->index);
  else
    block = found_symbol (a, request, total);
  if (block != NULL
      && ((kind & GE_PADDED_OUT) != 0
          || (kind & (GE_NOPADDING_OUT | GE_CASCADE_OUT)) == (GE_NOPADDING_OUT | GE_CASCADE_OUT)))
    block->reuse_zc = FALSE;
  return block;
}
