/* async-pool.c - where a request of a CUDA pool is served from, and what a free, a recorded event
 * and a wait of the host change; see async.h.
 *
 * A request takes the best fit of what is available to all and of what its own stream freed; then
 * what another stream freed before an event that it waited for; then what another stream freed if
 * the device has come to that free; then the pool grows; and where it cannot, memory of another
 * stream with a wait on the device.  Streams are tried in the order of their first use, and the low
 * end of a block is allocated.
 *
 * Memory carries the events of all work that may still use it: that of its latest free, and a list
 * of others (streams that used the block, streams from which it was taken).  Events are recorded
 * only once a second stream has appeared: before, everything is in one order.
 *
 * Invariants: see async.h.  A block of group 0 has no event and no list.
 * Cost: O(log free blocks) for memory of the own stream; the search of another stream passes over
 * its free blocks of that size which are not available.
 * Origin: peers.md 1d.
 */
#include "config.h"

#include "allocators/cuda/async.h"
#include "base/units.h"

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

/* What the only stream so far has freed gets an event, before there are two. */
static void
catch_up (GememCudaPool *pool)
{
  const GememDeviceEvent event = record (pool, gemem_cuda_stream (pool, 1)->handle);

  for (GememTreeNode *node = gemem_tree_lower_bound (&pool->free, 1, 0, 0); node != NULL;
       node = gemem_tree_next (node))
    gemem_cuda_block (node)->event = event;
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
    }
  return *number;
}

/* Frees of stream number @from up to this mark come before what stream number @to does now. */
static guint64
known_of (const GememCudaPool *pool, guint64 to, guint64 from)
{
  const GArray *known = gemem_cuda_stream (pool, to)->known;

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

/* ---- the work that may still use memory */

/* Adds work of @stream to what @block waits for; the latest work of a stream is enough. */
static void
add_wait (GememCudaPool *pool, GememCudaBlock *block, guint64 stream, guint64 mark,
          GememDeviceEvent event)
{
  GememCudaWait *wait = block->waits;

  if (event == 0)
    return;
  while (wait != NULL && wait->stream != stream)
    wait = wait->next;
  if (wait == NULL)
    {
      wait = gemem_slab_alloc (&pool->wait_slab);
      wait->stream = stream;
      wait->next = block->waits;
      block->waits = wait;
    }
  if (mark >= wait->mark)
    {
      wait->mark = mark;
      wait->event = event;
    }
}

static void
copy_waits (GememCudaPool *pool, GememCudaBlock *to, const GememCudaBlock *from)
{
  for (const GememCudaWait *wait = from->waits; wait != NULL; wait = wait->next)
    add_wait (pool, to, wait->stream, wait->mark, wait->event);
}

/* Drops the waits of @block, all or those that the device has come to. */
static void
drop_waits (GememCudaPool *pool, GememCudaBlock *block, gboolean all)
{
  GememCudaWait **place = &block->waits, *wait;

  while ((wait = *place) != NULL)
    if (all || gemem_device_event_query (pool->base.device, wait->event))
      {
        *place = wait->next;
        gemem_slab_free (&pool->wait_slab, wait);
      }
    else
      place = &wait->next;
}

gboolean
gemem_cuda_pool_is_complete (GememCudaPool *pool, GememCudaBlock *block)
{
  GememCudaStream *stream;

  if (block->base.node.group == 0)
    return TRUE;
  stream = gemem_cuda_stream (pool, block->base.node.group);
  if (block->mark > stream->done)
    {
      if (is_alone (pool) && block->event == 0)
        block->event = record (pool, stream->handle);
      if (block->event != 0 && !gemem_device_event_query (pool->base.device, block->event))
        return FALSE;
      stream->done = block->mark;
    }
  if (G_UNLIKELY (block->waits != NULL))
    drop_waits (pool, block, FALSE);
  return block->waits == NULL;
}

/* ---- blocks */

static void
insert (GememCudaPool *pool, GememCudaBlock *block)
{
  block->state = GEMEM_CUDA_FREE;
  gemem_tree_insert (&pool->free, &block->base.node);
}

/* TRUE if @other may become part of @block: of the same stream, or available to all. */
static gboolean
absorbs (const GememCudaBlock *block, const GememCudaBlock *other)
{
  return other != NULL && other->state == GEMEM_CUDA_FREE
         && (other->base.node.group == block->base.node.group || other->base.node.group == 0);
}

/* @low absorbs its right neighbour; neither is in the tree. */
static GememCudaBlock *
merge (GememCudaPool *pool, GememCudaBlock *low)
{
  GememCudaBlock *high = gemem_cuda_next (low);

  low->base.node.group = MAX (low->base.node.group, high->base.node.group); /* equal, or one 0 */
  if (high->mark > low->mark)
    {
      low->mark = high->mark;
      low->event = high->event;
    }
  copy_waits (pool, low, high);
  drop_waits (pool, high, TRUE);
  gemem_neighbours_merge (&low->base, &pool->block_slab);
  return low;
}

GememCudaBlock *
gemem_cuda_pool_coalesce (GememCudaPool *pool, GememCudaBlock *block)
{
  GememCudaBlock *other;

  /* behind what is available to all there may be more of the stream's */
  while (absorbs (block, other = gemem_cuda_next (block)))
    {
      gemem_tree_remove (&pool->free, &other->base.node);
      merge (pool, block);
    }
  while (absorbs (block, other = gemem_cuda_previous (block)))
    {
      gemem_tree_remove (&pool->free, &other->base.node);
      block = merge (pool, other);
    }
  return block;
}

void
gemem_cuda_pool_publish (GememCudaPool *pool, GememCudaBlock *block)
{
  gemem_tree_remove (&pool->free, &block->base.node);
  drop_waits (pool, block, TRUE);
  block->base.node.group = 0;
  block->mark = 0;
  block->event = 0;
  insert (pool, gemem_cuda_pool_coalesce (pool, block));
}

/* ---- from the pool */

/* The best fit of group @group; NULL: none. */
static GememCudaBlock *
best_of (const GememCudaPool *pool, guint64 group, guint64 size)
{
  GememTreeNode *node = gemem_tree_fit (&pool->free, group, size);

  return node != NULL && node->group == group ? gemem_cuda_block (node) : NULL;
}

static GememCudaBlock *
own_or_public (const GememCudaPool *pool, guint64 own, guint64 size)
{
  GememCudaBlock *block = best_of (pool, own, size), *other = best_of (pool, 0, size);

  if (block == NULL || other == NULL)
    return block != NULL ? block : other;
  if (block->base.node.size != other->base.node.size)
    return block->base.node.size < other->base.node.size ? block : other;
  return block->base.node.address < other->base.node.address ? block : other;
}

/* The smallest block of stream number @from that was freed before what @own waited for. */
static GememCudaBlock *
followed (const GememCudaPool *pool, guint64 own, guint64 from, guint64 size)
{
  const guint64 known = known_of (pool, own, from);
  GememTreeNode *node = known != 0 ? gemem_tree_fit (&pool->free, from, size) : NULL;

  for (; node != NULL && node->group == from; node = gemem_tree_next (node))
    if (gemem_cuda_block (node)->mark <= known)
      return gemem_cuda_block (node);
  return NULL;
}

/* The smallest block of stream number @from to whose free the device has come. */
static GememCudaBlock *
completed (GememCudaPool *pool, guint64 from, guint64 size)
{
  guint64 pending = G_MAXUINT64; /* the least mark that is known not to be complete */

  for (GememTreeNode *node = gemem_tree_fit (&pool->free, from, size);
       node != NULL && node->group == from; node = gemem_tree_next (node))
    {
      GememCudaBlock *block = gemem_cuda_block (node);

      if (block->mark >= pending)
        continue;
      if (gemem_cuda_pool_is_complete (pool, block))
        return block;
      if (block->mark > gemem_cuda_stream (pool, from)->done)
        pending = block->mark;
    }
  return NULL;
}

/* A block of another stream that the rules for reuse permit without a wait. */
static GememCudaBlock *
of_others (GememCudaPool *pool, guint64 own, guint64 size)
{
  const guint64 streams = pool->streams->len;
  GememCudaBlock *block = NULL;

  for (guint64 from = 1; pool->params.follow_event_dependencies && from <= streams; from++)
    if (from != own && (block = followed (pool, own, from, size)) != NULL)
      {
        pool->followed++;
        return block;
      }
  for (guint64 from = 1; pool->params.allow_opportunistic && from <= streams; from++)
    if (from != own && (block = completed (pool, from, size)) != NULL)
      {
        pool->opportunistic++;
        return block;
      }
  return NULL;
}

/* Memory of another stream for which @own waits on the device. */
static GememCudaBlock *
with_a_wait (GememCudaPool *pool, guint64 own, guint64 size)
{
  GememCudaBlock *block = NULL;

  for (guint64 from = 1; block == NULL && from <= pool->streams->len; from++)
    if (from != own && (block = best_of (pool, from, size)) != NULL)
      {
        pool->internal++;
        learn (&gemem_cuda_stream (pool, own)->known, from, block->mark);
      }
  return block;
}

/* Makes available to all what stream number @number freed, in blocks of at least @least bytes, and
 * the device has come to, or @all of it. */
static void
publish_stream (GememCudaPool *pool, guint64 number, guint64 least, gboolean all)
{
  GememTreeNode *node = gemem_tree_fit (&pool->free, number, least);

  while (node != NULL && node->group == number)
    {
      GememCudaBlock *block = gemem_cuda_block (node);
      const guint64 size = node->size, address = node->address;

      if (all || gemem_cuda_pool_is_complete (pool, block))
        gemem_cuda_pool_publish (pool, block);
      node = gemem_tree_lower_bound (&pool->free, number, size, address + 1);
    }
}

/* A block of at least @size bytes, in no tree; NULL: out of memory. */
static GememCudaBlock *
obtain (GememCudaPool *pool, guint64 own, guint64 size)
{
  GememCudaBlock *block = own_or_public (pool, own, size);

  if (block == NULL && !is_alone (pool))
    block = of_others (pool, own, size);
  if (block == NULL && pool->params.remap && pool->params.allow_opportunistic)
    {
      for (guint64 number = 1; number <= pool->streams->len; number++)
        publish_stream (pool, number, pool->params.growth, FALSE);
      block = own_or_public (pool, own, size);
    }
  if (block == NULL)
    {
      block = gemem_cuda_pool_grow (pool, size, own);
      if (block != NULL)
        return block;
      if (pool->params.allow_internal_dependencies)
        block = with_a_wait (pool, own, size);
    }
  if (block != NULL)
    gemem_tree_remove (&pool->free, &block->base.node);
  return block;
}

static void
split (GememCudaPool *pool, GememCudaBlock *block, guint64 size)
{
  GememCudaBlock *rest = gemem_slab_alloc (&pool->block_slab);

  gemem_neighbours_split (&block->base, &rest->base, block->base.node.size - size);
  rest->mark = block->mark;
  rest->event = block->event;
  copy_waits (pool, rest, block);
  insert (pool, gemem_cuda_pool_coalesce (pool, rest));
}

static GememCudaBlock *
serve (GememCudaPool *pool, guint64 own, guint64 size)
{
  GememCudaBlock *block = obtain (pool, own, size);
  guint64 group;

  if (block == NULL)
    return NULL;
  block->state = GEMEM_CUDA_LIVE;
  if (block->base.node.size > size)
    split (pool, block, size);
  group = block->base.node.group;
  if (group != 0 && group != own && block->mark > gemem_cuda_stream (pool, group)->done)
    add_wait (pool, block, gemem_cuda_stream (pool, group)->handle, block->mark, block->event);
  block->stream = (guint32) own;
  pool->used += size;
  pool->used_high = MAX (pool->used_high, pool->used);
  return block;
}

static void
give (GememCudaPool *pool, GememCudaBlock *block)
{
  const GememCudaStream *stream = gemem_cuda_stream (pool, block->stream);

  pool->used -= block->base.node.size;
  while (block->uses != NULL)
    {
      GememCudaUse *use = block->uses;

      block->uses = use->next;
      add_wait (pool, block, use->stream, pool->clock + 1, record (pool, use->stream));
      gemem_slab_free (&pool->use_slab, use);
    }
  block->base.node.group = block->stream;
  block->mark = ++pool->clock;
  block->event = is_alone (pool) ? 0 : record (pool, stream->handle);
  insert (pool, gemem_cuda_pool_coalesce (pool, block));
}

gboolean
gemem_cuda_pool_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaBlock *block;
  guint64 size;

  if (request->size > G_MAXINT64 || pool->base.broken != NULL)
    return FALSE;
  size = gemem_align_up (MAX (request->size, 1), pool->params.alignment);
  block = serve (pool, number_of (pool, request->stream), size);
  if (block == NULL)
    return FALSE;
  *result = (GememBlock){ block->base.node.address, size, block };
  return TRUE;
}

void
gemem_cuda_pool_free (GememAllocator *allocator, const GememBlock *freed,
                      G_GNUC_UNUSED gboolean completion_follows)
{
  give ((GememCudaPool *) allocator, freed->handle);
}

/* ---- streams, as the trace tells */

void
gemem_cuda_pool_use (GememAllocator *allocator, const GememBlock *used, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaBlock *block = used->handle;
  GememCudaUse *use;

  if (stream == gemem_cuda_stream (pool, block->stream)->handle)
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
gemem_cuda_pool_record (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const guint64 from = number_of (pool, stream);
  const GArray *known = gemem_cuda_stream (pool, from)->known;
  GememCudaMark *mark = gemem_idmap_insert (pool->marks, id, NULL);

  mark->from = from;
  mark->to = to;
  mark->mark = pool->clock;
  if (mark->known != NULL)
    g_array_set_size (mark->known, 0);
  for (guint i = 0; known != NULL && i < known->len; i++)
    learn (&mark->known, i + 1, g_array_index (known, guint64, i));
}

void
gemem_cuda_pool_wait (GememAllocator *allocator, guint64 id, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  GememCudaMark *mark = gemem_idmap_lookup (pool->marks, id);
  GArray **known;

  if (mark == NULL)
    return;
  known = &gemem_cuda_stream (pool, number_of (pool, stream))->known;
  learn (known, mark->from, mark->mark);
  for (guint i = 0; mark->known != NULL && i < mark->known->len; i++)
    learn (known, i + 1, g_array_index (mark->known, guint64, i));
  if (mark->to != stream)
    return;
  g_clear_pointer (&mark->known, g_array_unref);
  gemem_idmap_remove (pool->marks, id, NULL);
}

/* The host waited: what the stream freed is done, and what is unused may go back. */
void
gemem_cuda_pool_sync (GememAllocator *allocator, guint64 stream)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const gboolean all = stream == G_MAXUINT64;

  for (guint64 number = 1; number <= pool->streams->len; number++)
    if (all || gemem_cuda_stream (pool, number)->handle == stream)
      {
        gemem_cuda_stream (pool, number)->done = pool->clock;
        publish_stream (pool, number, 0, all);
      }
  if (all)
    gemem_cuda_pool_forget_marks (pool);
  gemem_cuda_pool_shrink (pool, pool->params.release_threshold);
}

/* cudaMemPoolTrimTo: what the device has come to, though the host did not wait, goes too. */
void
gemem_cuda_pool_trim (GememAllocator *allocator)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;

  for (guint64 number = 1; number <= pool->streams->len; number++)
    publish_stream (pool, number, 0, FALSE);
  gemem_cuda_pool_shrink (pool, pool->params.trim_to);
}
