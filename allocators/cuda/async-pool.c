/* async-pool.c - where a request of a CUDA pool is served from, and what a free, a recorded event
 * and a wait of the host change; see async.h.
 *
 * A request takes, in this order: what its own stream freed; what is shared and backed; what
 * another stream freed before an event that it waited for; what another stream freed if the device
 * has come to that free; then all that the device has come to is shared, and the best fit of what
 * is shared gets the memory that it lacks; where that is refused, memory of another stream with a
 * wait on the device.  In every list the smallest block that suffices is taken, of equal ones the
 * one that was put there first; its low end is allocated.
 *
 * Positions of streams are marks.  Events are recorded only once a second stream has appeared:
 * before, one is recorded where the pool must know.
 *
 * Invariants: see async.h.
 * Cost: O(log free blocks) for memory of the own stream and shared memory; the search of another
 * stream passes over its free blocks of that size which are not available.
 * Origin: peers.md 1d.
 */
#include "config.h"

#include "allocators/cuda/async.h"
#include "base/units.h"

#define ROUNDING 512

/* ---- streams */

static gboolean
is_alone (const GememCudaPool *pool)
{
  return pool->streams->len < 2;
}

/* An event behind the work queued on @handle; 0: the host has waited for it, because none could be
 * recorded. */
static GememDeviceEvent
record (GememCudaPool *pool, guint64 handle)
{
  const GememDeviceEvent event = gemem_device_event_record (pool->base.device, handle);

  if (G_UNLIKELY (event == 0))
    gemem_device_stream_sync (pool->base.device, handle);
  return event;
}

/* What the only stream so far has freed without an event gets one. */
static void
catch_up (GememCudaPool *pool)
{
  GememCudaStream *stream = gemem_cuda_stream (pool, 1);
  GememCudaBlock *block = stream->youngest;
  GememDeviceEvent event;

  if (block == NULL || block->event != 0 || block->mark <= stream->done)
    return;
  event = record (pool, stream->handle);
  if (event == 0)
    stream->done = block->mark;
  for (; block != NULL && block->event == 0; block = block->older)
    block->event = event;
}

static guint64
number_of (GememCudaPool *pool, guint64 handle)
{
  gboolean existed;
  guint64 *number = gemem_idmap_insert (pool->by_handle, handle, &existed);
  const GememCudaStream stream = { .handle = handle };

  if (!existed)
    {
      *number = pool->streams->len + 1;
      if (pool->streams->len == 1)
        catch_up (pool);
      g_array_append_val (pool->streams, stream);
      if (pool->streams->len == 2 && pool->base.approximation == NULL)
        pool->base.approximation =
            "a recording with several streams does not say on which of them a "
            "block was freed; that of its request is assumed";
    }
  return *number;
}

/* The same of a stream that asks for memory or frees: from now on it has its place in the order. */
static guint64
number_in_order (GememCudaPool *pool, guint64 handle)
{
  const guint64 number = number_of (pool, handle);
  GememCudaStream *stream = gemem_cuda_stream (pool, number);

  if (G_UNLIKELY (!stream->ordered))
    g_array_append_val (pool->order, number);
  stream->ordered = TRUE;
  return number;
}

/* Frees of stream number @from up to this mark come before what stream number @to does now. */
static guint64
known_of (const GArray *known, guint64 from)
{
  return known != NULL && from <= known->len ? g_array_index (known, guint64, from - 1) : 0;
}

static void
learn (GArray **known, guint64 from, guint64 mark)
{
  if (*known == NULL)
    *known = g_array_new (FALSE, TRUE, sizeof (guint64));
  if ((*known)->len < from)
    g_array_set_size (*known, (guint) from);
  if (g_array_index (*known, guint64, from - 1) < mark)
    g_array_index (*known, guint64, from - 1) = mark;
}

static void
learn_all (GArray **known, const GArray *more)
{
  for (guint i = 0; more != NULL && i < more->len; i++)
    learn (known, i + 1, g_array_index (more, guint64, i));
}

/* From now on stream number @to waits on the device for @mark of stream number @from. */
static void
add_wait (GememCudaPool *pool, guint64 to, guint64 from, guint64 mark, GememDeviceEvent event)
{
  const GememCudaWait wait = { pool->clock, from, mark, event };
  GememCudaStream *stream = gemem_cuda_stream (pool, to);

  if (stream->waits == NULL)
    stream->waits = g_array_new (FALSE, FALSE, sizeof (GememCudaWait));
  for (guint i = stream->waits->len; i-- > 0;)
    if (g_array_index (stream->waits, GememCudaWait, i).at < stream->done)
      g_array_remove_index_fast (stream->waits, i);
  g_array_append_val (stream->waits, wait);
}

/* Whether the device has come to @mark of stream number @number, with which @event was recorded. */
static gboolean
is_done (GememCudaPool *pool, guint64 number, guint64 mark, GememDeviceEvent event)
{
  GememCudaStream *stream = gemem_cuda_stream (pool, number);

  if (mark <= stream->done)
    return TRUE;
  if (event != 0 && !gemem_device_event_query (pool->base.device, event))
    return FALSE;
  for (guint i = 0; stream->waits != NULL && i < stream->waits->len; i++)
    {
      const GememCudaWait wait = g_array_index (stream->waits, GememCudaWait, i);

      if (wait.at >= stream->done && wait.at < mark
          && !is_done (pool, wait.stream, wait.mark, wait.event))
        return FALSE;
    }
  if (event != 0)
    stream->done = mark;
  return TRUE;
}

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
  put (pool, block, GEMEM_CUDA_STREAMS + block->stream);
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

GememCudaBlock *
gemem_cuda_pool_cut (GememCudaPool *pool, GememCudaBlock *block, guint64 size)
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
  GememCudaBlock *block = gemem_cuda_stream (pool, number)->youngest, *older;
  gboolean any = FALSE;

  for (; block != NULL; block = older)
    {
      older = block->older;
      if (block->mark > mark)
        continue;
      share (pool, block);
      any = TRUE;
    }
  return any;
}

/* Shares all that the device has come to. */
static void
share_done (GememCudaPool *pool)
{
  if (is_alone (pool))
    catch_up (pool);
  for (guint i = 0; i < pool->order->len; i++)
    {
      const guint64 number = g_array_index (pool->order, guint64, i);
      GememCudaBlock *block = gemem_cuda_stream (pool, number)->youngest;

      while (block != NULL && !is_done (pool, number, block->mark, block->event))
        block = block->older;
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
  const guint64 known = known_of (gemem_cuda_stream (pool, own)->known, from);
  const guint64 group = GEMEM_CUDA_STREAMS + from;
  GememTreeNode *node = known != 0 ? gemem_tree_fit (&pool->lists, group, size) : NULL;

  for (; node != NULL && node->group == group; node = gemem_tree_next (node))
    if (gemem_cuda_block (node)->mark <= known)
      return gemem_cuda_block (node);
  return NULL;
}

/* The smallest block of stream number @from to whose free the device has come. */
static GememCudaBlock *
completed (GememCudaPool *pool, G_GNUC_UNUSED guint64 own, guint64 from, guint64 size)
{
  const guint64 group = GEMEM_CUDA_STREAMS + from;
  guint64 pending = G_MAXUINT64; /* the least mark that is known not to be done */

  for (GememTreeNode *node = gemem_tree_fit (&pool->lists, group, size);
       node != NULL && node->group == group; node = gemem_tree_next (node))
    {
      GememCudaBlock *block = gemem_cuda_block (node);

      if (block->mark < pending && is_done (pool, from, block->mark, block->event))
        return block;
      pending = MIN (pending, block->mark);
    }
  return NULL;
}

static GememCudaBlock *
any_of (GememCudaPool *pool, G_GNUC_UNUSED guint64 own, guint64 from, guint64 size)
{
  return best_of (pool, GEMEM_CUDA_STREAMS + from, size);
}

/* What @of finds in the first other stream that has something. */
static GememCudaBlock *
of_others (GememCudaPool *pool, guint64 own, guint64 size, guint64 *count,
           GememCudaBlock *(*of) (GememCudaPool *, guint64 own, guint64 from, guint64 size))
{
  GememCudaBlock *block = NULL;

  for (guint i = 0; block == NULL && i < pool->order->len; i++)
    if (g_array_index (pool->order, guint64, i) != own)
      block = of (pool, own, g_array_index (pool->order, guint64, i), size);
  *count += block != NULL;
  return block;
}

/* ---- a request */

/* Takes the low end of @block off its list, which the rest stays in. */
static GememCudaBlock *
put_rest (GememCudaPool *pool, GememCudaBlock *block, guint64 size)
{
  GememCudaBlock *rest = gemem_cuda_pool_cut (pool, block, size);

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
  add_wait (pool, own, block->stream, block->mark, block->event);
  learn (&gemem_cuda_stream (pool, own)->known, block->stream, block->mark);
  return take_pending (pool, block, size);
}

/* A block of @size bytes, in no tree; NULL: out of memory. */
static GememCudaBlock *
obtain (GememCudaPool *pool, guint64 own, guint64 size)
{
  GememCudaBlock *block = best_of (pool, GEMEM_CUDA_STREAMS + own, size);

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
  own = number_in_order (pool, request->stream);
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

/* Stream number @number waits for the work of the other streams that use @block. */
static void
wait_for_uses (GememCudaPool *pool, GememCudaBlock *block, guint64 number)
{
  while (block->uses != NULL)
    {
      GememCudaUse *use = block->uses;
      const guint64 from = number_of (pool, use->stream), mark = ++pool->clock;

      add_wait (pool, number, from, mark, record (pool, use->stream));
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

  pool->used -= block->wanted;
  if (!is_alone (pool))
    event = record (pool, gemem_cuda_stream (pool, number)->handle);
  if (!is_alone (pool) && event == 0)
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
gemem_cuda_pool_free_on (GememCudaPool *pool, GememCudaBlock *block, guint64 stream)
{
  const guint64 number = number_in_order (pool, stream);

  wait_for_uses (pool, block, number);
  give (pool, block, number);
}

void
gemem_cuda_pool_free (GememAllocator *allocator, const GememBlock *freed,
                      G_GNUC_UNUSED gboolean completion_follows)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaBlock *block = freed->handle;

  if (block == NULL) /* 0 bytes */
    return;
  wait_for_uses (pool, block, block->stream);
  give (pool, block, block->stream);
}

/* ---- streams, as the trace tells */

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

void
gemem_cuda_pool_record (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const guint64 from = number_of (pool, stream);
  GememCudaMark *mark = gemem_idmap_insert (pool->marks, id, NULL);

  mark->from = from;
  mark->to = to;
  mark->mark = pool->clock;
  if (mark->known != NULL)
    g_array_set_size (mark->known, 0);
  learn_all (&mark->known, gemem_cuda_stream (pool, from)->known);
}

void
gemem_cuda_pool_wait (GememAllocator *allocator, guint64 id, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaMark *mark = gemem_idmap_lookup (pool->marks, id);
  const GArray *waits;
  GArray **known;
  guint64 number;

  if (mark == NULL)
    return;
  number = number_of (pool, stream);
  known = &gemem_cuda_stream (pool, number)->known;
  learn (known, mark->from, mark->mark);
  learn_all (known, mark->known);
  waits = gemem_cuda_stream (pool, mark->from)->waits;
  if (waits != NULL && waits->len > 0 && mark->from != number)
    add_wait (pool, number, mark->from, mark->mark, 0);
  if (mark->to != stream)
    return;
  g_clear_pointer (&mark->known, g_array_unref);
  gemem_idmap_remove (pool->marks, id, NULL);
}

/* ---- the host waits */

/* Up to where the host knows stream number @number, as it waited for @mark: not what comes behind
 * work of other streams that the device has not done. */
static guint64
known_to_host (GememCudaPool *pool, guint64 number, guint64 mark)
{
  const GArray *waits = gemem_cuda_stream (pool, number)->waits;

  for (guint i = 0; waits != NULL && i < waits->len; i++)
    {
      const GememCudaWait wait = g_array_index (waits, GememCudaWait, i);

      if (wait.at < mark && !is_done (pool, wait.stream, wait.mark, wait.event))
        mark = wait.at;
    }
  return mark;
}

/* The host knows all of stream number @number up to @mark (0: no such stream), and what @known says
 * of the others; @all: everything. */
static void
host_knows (GememCudaPool *pool, guint64 number, guint64 mark, const GArray *known, gboolean all)
{
  gboolean any = FALSE;

  if (number != 0)
    mark = known_to_host (pool, number, mark);
  for (guint64 n = 1; n <= pool->streams->len; n++)
    {
      const guint64 up_to = all ? pool->clock : n == number ? mark : known_of (known, n);

      gemem_cuda_stream (pool, n)->done = MAX (gemem_cuda_stream (pool, n)->done, up_to);
    }
  for (guint i = 0; i < pool->order->len; i++)
    {
      const guint64 n = g_array_index (pool->order, guint64, i);

      any |= share_up_to (pool, n, all ? pool->clock : n == number ? mark : known_of (known, n));
    }
  if (any || pool->stale)
    gemem_cuda_pool_shrink (pool, pool->params.release_threshold);
  pool->stale = FALSE;
}

void
gemem_cuda_pool_sync (GememAllocator *allocator, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const gboolean all = stream == G_MAXUINT64;
  const guint64 *number = all ? NULL : gemem_idmap_lookup (pool->by_handle, stream);
  const GArray *known = number != NULL ? gemem_cuda_stream (pool, *number)->known : NULL;

  host_knows (pool, number != NULL ? *number : 0, pool->clock, known, all);
  if (all)
    gemem_cuda_pool_forget_marks (pool);
}

void
gemem_cuda_pool_sync_event (GememCudaPool *pool, guint64 id)
{
  const GememCudaMark *mark = gemem_idmap_lookup (pool->marks, id);

  if (mark != NULL)
    host_knows (pool, mark->from, mark->mark, mark->known, FALSE);
}

void
gemem_cuda_pool_forget_marks (GememCudaPool *pool)
{
  GememCudaMark *mark;
  gsize position = 0;
  guint64 id;

  while (gemem_idmap_next (pool->marks, &position, &id, (gpointer *) &mark))
    g_clear_pointer (&mark->known, g_array_unref);
  gemem_idmap_clear (pool->marks);
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
