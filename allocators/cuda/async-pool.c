/* async-pool.c - where a request of a CUDA pool is served from, and what a free and a wait of the
 * host change; see async.h.
 *
 * A request takes, in this order: what its own stream freed; what is shared and backed; what
 * another stream freed before an event that it waited for; what another stream freed if the device
 * has come to that free; then all that the device has come to is shared, and the best fit of what
 * is shared gets the memory that it lacks; where that is refused, memory of another stream with a
 * wait on the device.  In every list the smallest block that suffices is taken, of equal ones the
 * one that was put there first; its low end is allocated.
 *
 * Invariants: see async.h.
 * Cost: O(log free blocks) for memory of the own stream and shared memory; the search of another
 * stream passes over its free blocks of that size which are not available.
 * Origin: peers.md 1d.
 */
#include "config.h"

#include <stdlib.h>

#include "allocators/cuda/async.h"
#include "base/compare.h"
#include "base/units.h"

#define ROUNDING 512

/* ---- lists */

static void
put (GememCudaPool *pool, GememCudaBlock *block, guint64 group)
{
  block->put.group = group;
  block->put.size = block->base.node.size;
  block->put.address = pool->puts++;
  gemem_tree_insert (&pool->lists, &block->put);
}

void
gemem_cuda_pool_put_shared (GememCudaPool *pool, GememCudaBlock *block, gboolean anew)
{
  block->state = GEMEM_CUDA_SHARED;
  block->put.group = gemem_cuda_pool_is_backed (pool, block) ? GEMEM_CUDA_BACKED : GEMEM_CUDA_BARE;
  block->put.size = block->base.node.size;
  if (anew)
    block->put.address = pool->puts++;
  gemem_tree_insert (&pool->lists, &block->put);
}

static void
put_pending (GememCudaPool *pool, GememCudaBlock *block)
{
  GememCudaStream *stream = gemem_cuda_stream (pool, block->stream);

  block->state = GEMEM_CUDA_PENDING;
  block->older = stream->youngest;
  block->younger = NULL;
  *(stream->youngest != NULL ? &stream->youngest->younger : &stream->oldest) = block;
  stream->youngest = block;
  put (pool, block, GEMEM_CUDA_STREAMS + stream->place);
}

/* @with (or NULL) takes the place of @block among those of its stream, by age. */
static void
replace (GememCudaPool *pool, const GememCudaBlock *block, GememCudaBlock *with)
{
  GememCudaStream *stream = gemem_cuda_stream (pool, block->stream);

  if (with != NULL)
    {
      with->older = block->older;
      with->younger = block->younger;
    }
  *(block->older != NULL ? &block->older->younger
                         : &stream->oldest) = with != NULL ? with : block->younger;
  *(block->younger != NULL ? &block->younger->older
                           : &stream->youngest) = with != NULL ? with : block->older;
}

static void
remove_pending (GememCudaPool *pool, const GememCudaBlock *block)
{
  gemem_tree_remove (&pool->lists, &block->put);
  replace (pool, block, NULL);
}

/* Cuts the upper part off @block, which is in no tree: it keeps @size bytes. */
static GememCudaBlock *
cut (GememCudaPool *pool, GememCudaBlock *block, guint64 size)
{
  GememCudaBlock *rest = gemem_slab_alloc (&pool->block_slab);

  gemem_neighbours_split (&block->base, &rest->base, block->base.node.size - size);
  rest->state = block->state;
  rest->stream = block->stream;
  rest->mark = block->mark;
  rest->event = block->event;
  return rest;
}

static gboolean
is_shared (const GememCudaBlock *block)
{
  return block != NULL && block->state == GEMEM_CUDA_SHARED;
}

/* A pending block becomes shared, one with its shared neighbours. */
static void
share (GememCudaPool *pool, GememCudaBlock *block)
{
  remove_pending (pool, block);
  if (is_shared (gemem_cuda_next (block)))
    {
      gemem_tree_remove (&pool->lists, &gemem_cuda_next (block)->put);
      gemem_neighbours_merge (&block->base, &pool->block_slab);
    }
  if (is_shared (gemem_cuda_previous (block)))
    {
      block = gemem_cuda_previous (block);
      gemem_tree_remove (&pool->lists, &block->put);
      gemem_neighbours_merge (&block->base, &pool->block_slab);
    }
  gemem_cuda_pool_put_shared (pool, block, TRUE);
}

/* Shares what stream number @number freed up to @mark, the youngest first; TRUE: something. */
static gboolean
share_up_to (GememCudaPool *pool, guint64 number, guint64 mark)
{
  GememCudaBlock *block = gemem_cuda_stream (pool, number)->oldest, *older;

  if (block == NULL || block->mark > mark)
    return FALSE;
  while (block->younger != NULL && block->younger->mark <= mark)
    block = block->younger;
  for (; block != NULL; block = older)
    {
      older = block->older;
      share (pool, block);
    }
  return TRUE;
}

/* The youngest block of stream number @number to whose free the device has come; NULL: none. */
static GememCudaBlock *
youngest_done (GememCudaPool *pool, guint64 number)
{
  const GememCudaStream *stream = gemem_cuda_stream (pool, number);
  GememCudaBlock *block = stream->youngest, *done = NULL;

  if (block != NULL && gemem_cuda_order_is_held_up (pool, number, block->mark))
    {
      for (block = stream->oldest;
           block != NULL && gemem_cuda_order_is_done (pool, number, block->mark, block->event);
           block = block->younger)
        done = block;
      return done;
    }
  while (block != NULL && !gemem_cuda_order_is_done (pool, number, block->mark, block->event))
    block = block->older;
  return block;
}

/* Shares all that the device has come to. */
static void
share_done (GememCudaPool *pool)
{
  if (gemem_cuda_is_alone (pool))
    gemem_cuda_order_catch_up (pool);
  for (guint i = 0; i < pool->order->len; i++)
    {
      const guint64 number = g_array_index (pool->order, guint64, i);
      const GememCudaBlock *block = youngest_done (pool, number);

      if (block != NULL)
        share_up_to (pool, number, block->mark);
    }
}

/* ---- the search */

/* The best fit of @group; NULL: none. */
static GememCudaBlock *
best_of (const GememCudaPool *pool, guint64 group, guint64 size)
{
  GememTreeNode *node = gemem_tree_fit (&pool->lists, group, size);

  return node != NULL && node->group == group ? gemem_cuda_block (node) : NULL;
}

/* The smallest block of stream number @from that was freed before what @own waited for. */
static GememCudaBlock *
followed (GememCudaPool *pool, guint64 own, guint64 from, guint64 size)
{
  const GememCudaStream *stream = gemem_cuda_stream (pool, from);
  const guint64 known = gemem_cuda_known_of (gemem_cuda_stream (pool, own)->known, from);
  const guint64 group = GEMEM_CUDA_STREAMS + stream->place;
  GememTreeNode *node = NULL;

  if (stream->oldest != NULL && stream->oldest->mark <= known)
    node = gemem_tree_fit (&pool->lists, group, size);

  for (; node != NULL && node->group == group; node = gemem_tree_next (node))
    if (gemem_cuda_block (node)->mark <= known)
      return gemem_cuda_block (node);
  return NULL;
}

/* The smallest block of stream number @from to whose free the device has come. */
static GememCudaBlock *
completed (GememCudaPool *pool, G_GNUC_UNUSED guint64 own, guint64 from, guint64 size)
{
  const GememCudaStream *stream = gemem_cuda_stream (pool, from);
  const guint64 group = GEMEM_CUDA_STREAMS + stream->place;
  guint64 pending = G_MAXUINT64; /* the least mark that is known not to be done */

  if (stream->oldest == NULL || gemem_cuda_order_is_held_up (pool, from, stream->oldest->mark))
    return NULL;
  for (GememTreeNode *node = gemem_tree_fit (&pool->lists, group, size);
       node != NULL && node->group == group; node = gemem_tree_next (node))
    {
      GememCudaBlock *block = gemem_cuda_block (node);

      if (block->mark < pending && gemem_cuda_order_is_done (pool, from, block->mark, block->event))
        return block;
      pending = MIN (pending, block->mark);
    }
  return NULL;
}

static GememCudaBlock *
any_of (GememCudaPool *pool, G_GNUC_UNUSED guint64 own, guint64 from, guint64 size)
{
  return best_of (pool, GEMEM_CUDA_STREAMS + gemem_cuda_stream (pool, from)->place, size);
}

/* What @of finds in the first other stream that has something. */
static GememCudaBlock *
of_others (GememCudaPool *pool, guint64 own, guint64 size, guint64 *count,
           GememCudaBlock *(*of) (GememCudaPool *, guint64 own, guint64 from, guint64 size))
{
  GememCudaBlock *block = NULL;
  const GememTreeNode *node;

  /* streams without a block that suffices are passed over by the tree */
  for (guint64 place = 1; block == NULL; place++)
    {
      node = gemem_tree_fit (&pool->lists, GEMEM_CUDA_STREAMS + place, size);
      if (node == NULL)
        break;
      place = node->group - GEMEM_CUDA_STREAMS;
      if (g_array_index (pool->order, guint64, place - 1) != own)
        block = of (pool, own, g_array_index (pool->order, guint64, place - 1), size);
    }
  *count += block != NULL;
  return block;
}

/* ---- a request */

/* Takes the low end of @block off its list, which the rest stays in. */
static GememCudaBlock *
put_rest (GememCudaPool *pool, GememCudaBlock *block, guint64 size)
{
  GememCudaBlock *rest = cut (pool, block, size);

  rest->put = (GememTreeNode){ .group = block->put.group,
                               .size = rest->base.node.size,
                               .address = pool->puts++ };
  gemem_tree_lower (&pool->lists, block->put.place, &rest->put);
  return rest;
}

/* The low end of the pending @block; the rest stays pending, of the same age. */
static GememCudaBlock *
take_pending (GememCudaPool *pool, GememCudaBlock *block, guint64 size)
{
  GememCudaBlock *rest = NULL;

  if (block->base.node.size > size)
    rest = put_rest (pool, block, size);
  else
    gemem_tree_remove (&pool->lists, &block->put);
  replace (pool, block, rest);
  return block;
}

/* The low end of the shared @block with all of its memory; NULL: that is refused. */
static GememCudaBlock *
take_shared (GememCudaPool *pool, GememCudaBlock *block, guint64 size)
{
  GememCudaBlock *rest = NULL;
  gboolean served;

  if (block->base.node.size > size)
    rest = put_rest (pool, block, size);
  else
    gemem_tree_remove (&pool->lists, &block->put);
  if (block->put.group == GEMEM_CUDA_BACKED)
    return block;
  served = gemem_cuda_pool_map (pool, block);
  if (rest != NULL)
    gemem_tree_remove (&pool->lists, &rest->put);
  if (rest != NULL && served) /* the chunk that both touch has memory now */
    gemem_cuda_pool_put_shared (pool, rest, FALSE);
  if (served)
    return block;
  if (rest != NULL)
    gemem_neighbours_merge (&block->base, &pool->block_slab);
  gemem_cuda_pool_put_shared (pool, block, FALSE);
  return NULL;
}

/* The best fit of all that is shared. */
static GememCudaBlock *
place_of (const GememCudaPool *pool, guint64 size)
{
  GememCudaBlock *bare = best_of (pool, GEMEM_CUDA_BARE, size),
                 *backed = best_of (pool, GEMEM_CUDA_BACKED, size);

  if (bare == NULL || backed == NULL)
    return bare != NULL ? bare : backed;
  if (bare->put.size != backed->put.size)
    return bare->put.size < backed->put.size ? bare : backed;
  return bare->put.address < backed->put.address ? bare : backed;
}

static GememCudaBlock *
grow (GememCudaPool *pool, guint64 size)
{
  GememCudaBlock *place;

  if (pool->params.allow_opportunistic)
    share_done (pool);
  place = gemem_cuda_pool_reserve (pool) ? place_of (pool, size) : NULL;
  return place != NULL ? take_shared (pool, place, size) : NULL;
}

/* What a stream may take of the others without more memory. */
static GememCudaBlock *
permitted (GememCudaPool *pool, guint64 own, guint64 size)
{
  GememCudaBlock *block = NULL;

  if (pool->params.follow_event_dependencies)
    block = of_others (pool, own, size, &pool->followed, followed);
  if (block == NULL && pool->params.allow_opportunistic)
    block = of_others (pool, own, size, &pool->opportunistic, completed);
  return block;
}

static GememCudaBlock *
with_a_wait (GememCudaPool *pool, guint64 own, guint64 size)
{
  GememCudaBlock *block = of_others (pool, own, size, &pool->internal, any_of);

  if (block == NULL)
    return NULL;
  gemem_cuda_order_wait (pool, own, block->stream, block->mark, block->event);
  gemem_cuda_order_learn (pool, own, block->stream, block->mark);
  return take_pending (pool, block, size);
}

/* A block of @size bytes, in no tree; NULL: out of memory. */
static GememCudaBlock *
obtain (GememCudaPool *pool, guint64 own, guint64 size)
{
  GememCudaBlock *block = any_of (pool, own, own, size);

  if (block != NULL)
    return take_pending (pool, block, size);
  block = best_of (pool, GEMEM_CUDA_BACKED, size);
  if (block != NULL)
    return take_shared (pool, block, size);
  block = permitted (pool, own, size);
  if (block != NULL)
    return take_pending (pool, block, size);
  block = grow (pool, size);
  if (block == NULL && pool->params.allow_internal_dependencies)
    block = with_a_wait (pool, own, size);
  return block;
}

gboolean
gemem_cuda_pool_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaBlock *block;
  guint64 own;

  if (request->size > G_MAXINT64 || pool->base.broken != NULL)
    return FALSE;
  *result = (GememBlock){ 0 };
  if (request->size == 0)
    return TRUE;
  own = gemem_cuda_order_place (pool, request->stream);
  block = obtain (pool, own, gemem_align_up (request->size, ROUNDING));
  if (block == NULL)
    return FALSE;
  block->state = GEMEM_CUDA_LIVE;
  block->stream = (guint32) own;
  block->wanted = request->size;
  pool->used += request->size;
  pool->used_high = MAX (pool->used_high, pool->used);
  *result = (GememBlock){ block->base.node.address, block->base.node.size, block };
  return TRUE;
}

/* ---- a free */

/* Forgets which streams use @block; @waits: its stream waits for their work. */
static void
end_uses (GememCudaPool *pool, GememCudaBlock *block, gboolean waits)
{
  while (block->uses != NULL)
    {
      GememCudaUse *use = block->uses;

      if (waits)
        {
          const guint64 from = gemem_cuda_order_number (pool, use->stream), mark = ++pool->clock;

          gemem_cuda_stream (pool, from)->latest = mark;
          gemem_cuda_order_wait (pool, block->stream, from, mark,
                                 gemem_cuda_order_record (pool, use->stream));
        }
      block->uses = use->next;
      gemem_slab_free (&pool->use_slab, use);
    }
}

static gboolean
is_pending_of (const GememCudaBlock *block, guint64 number)
{
  return block != NULL && block->state == GEMEM_CUDA_PENDING && block->stream == number;
}

static void
give (GememCudaPool *pool, GememCudaBlock *block, guint64 number)
{
  const guint64 mark = ++pool->clock;
  GememDeviceEvent event = 0;

  gemem_cuda_stream (pool, number)->latest = mark;
  pool->used -= block->wanted;
  if (!gemem_cuda_is_alone (pool))
    event = gemem_cuda_order_record (pool, gemem_cuda_stream (pool, number)->handle);
  if (!gemem_cuda_is_alone (pool) && event == 0)
    gemem_cuda_stream (pool, number)->done = mark;
  if (is_pending_of (gemem_cuda_next (block), number))
    {
      remove_pending (pool, gemem_cuda_next (block));
      gemem_neighbours_merge (&block->base, &pool->block_slab);
    }
  if (is_pending_of (gemem_cuda_previous (block), number))
    {
      block = gemem_cuda_previous (block);
      remove_pending (pool, block);
      gemem_neighbours_merge (&block->base, &pool->block_slab);
    }
  block->stream = (guint32) number;
  block->mark = mark;
  block->event = event;
  put_pending (pool, block);
}

void
gemem_cuda_pool_free_on (GememAllocator *allocator, const GememBlock *freed, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaBlock *block = freed->handle;

  if (block == NULL) /* 0 bytes */
    return;
  end_uses (pool, block, FALSE);
  give (pool, block, gemem_cuda_order_place (pool, stream));
}

void
gemem_cuda_pool_free (GememAllocator *allocator, const GememBlock *freed,
                      G_GNUC_UNUSED gboolean completion_follows)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaBlock *block = freed->handle;

  if (block == NULL) /* 0 bytes */
    return;
  if (G_UNLIKELY (!pool->assumes))
    gemem_cuda_order_assume (pool);
  end_uses (pool, block, TRUE);
  give (pool, block, block->stream);
}

void
gemem_cuda_pool_use (GememAllocator *allocator, const GememBlock *used, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaBlock *block = used->handle;
  GememCudaUse *use;

  if (block == NULL || stream == gemem_cuda_stream (pool, block->stream)->handle)
    return;
  for (use = block->uses; use != NULL; use = use->next)
    if (use->stream == stream)
      return;
  use = gemem_slab_alloc (&pool->use_slab);
  use->stream = stream;
  use->next = block->uses;
  block->uses = use;
}

/* ---- the host waits */

/* What the host knows makes shared blocks of pending ones; @any: something became shared. */
static void
release (GememCudaPool *pool, gboolean any)
{
  if (any || pool->stale)
    gemem_cuda_pool_shrink (pool, pool->params.release_threshold);
  pool->stale = FALSE;
}

static int
compare_places (gconstpointer a, gconstpointer b)
{
  return gemem_compare_uint64 (&((const GememCudaKnown *) a)->stream,
                               &((const GememCudaKnown *) b)->stream);
}

/* The host knows all of stream number @number up to @mark, but for what is held up, and what @known
 * says of the others. */
static void
host_knows (GememCudaPool *pool, guint64 number, guint64 mark, const GArray *known)
{
  const guint n = known != NULL ? known->len : 0;
  GememCudaKnown *facts;
  gboolean any = FALSE;

  mark = gemem_cuda_order_come_to (pool, number, mark);
  g_array_set_size (pool->path, n + 1);
  facts = (GememCudaKnown *) (gpointer) pool->path->data;
  facts[n] = (GememCudaKnown){ number, mark };
  for (guint i = 0; i < n; i++)
    {
      facts[i] = g_array_index (known, GememCudaKnown, i);
      if (!gemem_cuda_known_is_of_use (pool, &facts[i]))
        facts[i].mark = 0;
      else if (facts[i].stream != number)
        gemem_cuda_stream (pool, facts[i].stream)->done = MAX (
            gemem_cuda_stream (pool, facts[i].stream)->done, facts[i].mark);
      else
        facts[i].mark = 0;
    }
  for (guint i = 0; i <= n; i++) /* from here on `stream` is the place */
    facts[i].stream = gemem_cuda_stream (pool, facts[i].stream)->place;
  qsort (facts, n + 1, sizeof *facts, compare_places);
  for (guint i = 0; i <= n; i++)
    if (facts[i].stream != 0) /* it has freed something */
      any |= share_up_to (pool, g_array_index (pool->order, guint64, facts[i].stream - 1),
                          facts[i].mark);
  release (pool, any);
}

static void
host_knows_all (GememCudaPool *pool)
{
  gboolean any = FALSE;

  for (guint64 n = 1; n <= pool->streams->len; n++)
    gemem_cuda_stream (pool, n)->done = pool->clock;
  for (guint i = 0; i < pool->order->len; i++)
    any |= share_up_to (pool, g_array_index (pool->order, guint64, i), pool->clock);
  gemem_cuda_order_forget_marks (pool);
  release (pool, any);
}

void
gemem_cuda_pool_sync (GememAllocator *allocator, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const guint64 *number = gemem_idmap_lookup (pool->by_handle, stream);

  if (stream == G_MAXUINT64)
    host_knows_all (pool);
  else if (number != NULL)
    host_knows (pool, *number, pool->clock, gemem_cuda_stream (pool, *number)->known);
  else
    release (pool, FALSE);
}

void
gemem_cuda_pool_sync_event (GememCudaPool *pool, guint64 id)
{
  const GememCudaMark *mark = gemem_idmap_lookup (pool->marks, id);

  if (mark != NULL)
    host_knows (pool, mark->from, mark->mark, mark->known);
}

void
gemem_cuda_pool_set_threshold (GememCudaPool *pool, guint64 bytes)
{
  pool->params.release_threshold = bytes;
  pool->stale = TRUE;
}

/* cudaMemPoolTrimTo: at least `trim_to` bytes stay, and nothing becomes shared. */
void
gemem_cuda_pool_trim (GememAllocator *allocator)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const guint64 keep = pool->params.trim_to, unit = pool->params.growth;

  gemem_cuda_pool_shrink (pool, keep > G_MAXUINT64 - unit ? G_MAXUINT64 : MAX (keep + unit, 1) - 1);
}
