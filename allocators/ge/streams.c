/* streams.c - `ge-streams`: the level-2 pools of the Ascend Graph Engine, for dynamic-shape models
 * on several streams.
 *
 * What: every logical stream has a pool of its own (L2) over the model's L1 pool, whose stream is
 * the first one that appears; L1 stands on the device's bottom pool (stack.h).  A block belongs to
 * the pool of its birth stream, and counts its holders (holders.h).  A stream that has ended its
 * last hold and knows that no stream holds the block recycles it: on its birth stream the pool has
 * it back (birth recycle); elsewhere that stream may use it again until an event returns it (borrow
 * recycle).  While others may hold the block, an entry in a local list says so (local recycle),
 * which events carry to other streams.
 * L2's ladder: wait for the own stream, recycle, try again.  An attempt that needs new memory asks
 * L1, which climbs its own ladder; where that fails, all L2 pools are waited for and recycled in
 * turn, each followed by a new attempt of L1, unless the executor has several threads.  Last comes
 * the borrow pool.
 * `streams=single`: one stream; the wrapper counts holds, and the end of the last one returns the
 * block to L1 at once.
 *
 * How a trace says it:
 *  - ALLOC holds for its stream, USE_ON_STREAM once more for another one (or the same); STREAM_FREE
 *    ends one hold of a stream, FREE ends what is left, first of the stream that asked for the
 *    block, then of the others in the order of their numbers.  A STREAM_FREE of a stream that holds
 *    nothing has no effect.
 *  - The block is the program's until FREE: the STREAM_FREE of the last hold waits for it, and
 *    counts earlier only if another hold comes.
 *  - FREE_REQUESTED is the STREAM_FREE of the stream that asked.  FREE_COMPLETED says that the host
 *    waited for all: birth recycle.
 *  - EVENT_RECORD for a stream sends what is not sent yet, and takes blocks that return to that
 *    stream out of the borrow pool, at once; EVENT_WAIT of that stream delivers.  If the trace does
 *    not say for which stream, the state at the record counts for every one: whoever waits gets
 *    what it has not got before, and of the borrow pool what was in it at the record and has not
 *    been used since.  An event that is recorded again before it was waited for has both marks.
 *  - DEVICE_SYNC is LastWaitEvents, the end of an execution: all events are delivered, every block
 *    without holder returns to its birth stream, borrowed ones too, and every L2 pool is recycled.
 *    STREAM_SYNC has no effect: these pools learn nothing from it.
 *  - The 65th stream is bad input: the real system has no bit for it.
 *  - Graph outputs that move from an L2 pool to L1 (2.7) cannot be said in a trace, and are not
 *    modelled.
 * Cost: O(1) per allocation, use and free; an event O(what it carries).
 * Origin: ge-runtime.md 2.2 to 2.6.
 */
#include "config.h"

#include "allocators/ge/streams.h"

static const GememParam params[] = {
  { .name = "streams",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "multi",
    .choices = "multi|single",
    .offset = G_STRUCT_OFFSET (GeStreamsParams, streams),
    .help = "A level-2 pool for each stream (multi), or the model runs on one stream, whatever the "
            "trace says, and uses L1 itself (single)." },
  { .name = "MAX_RUNTIME_CORE_NUMBER",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .offset = G_STRUCT_OFFSET (GeStreamsParams, max_runtime_core_number),
    .help = "Environment variable of GE: above 1 the executor has several threads, and memory that "
            "L1 lacks is not sought in other streams' pools "
            "unless ENABLE_DYNAMIC_SHAPE_MULTI_STREAM is 1." },
  { .name = "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .offset = G_STRUCT_OFFSET (GeStreamsParams, enable_dynamic_shape_multi_stream),
    .help = "Environment variable of GE: 1 keeps the executor on one thread where "
            "MAX_RUNTIME_CORE_NUMBER asks for several." },
  GE_STACK_PARAM_ROWS,
  { NULL }
};

extern const GememAllocatorClass gemem_ge_streams_class;

/* ---- the adapter below the L2 pools: MultiStreamL1Allocator */

static guint64
adapter_malloc (gpointer lower, guint64 bytes, GeRoot *root)
{
  GeStreams *self = lower;
  GeSpan *span = gemem_ge_stack_malloc (&self->stack, self->l1, bytes);

  for (guint i = 0; span == NULL && self->walks && i < self->n_streams; i++)
    {
      GeL1 *l2 = &self->streams[i]->l2;

      if (!gemem_ge_stack_sync_and_recycle (&self->stack, l2->stream, &l2->pool))
        return 0;
      span = gemem_ge_stack_malloc (&self->stack, self->l1, bytes);
    }
  return span != NULL ? gemem_ge_span_become_root (span, root) : 0;
}

static void
adapter_free (gpointer lower, G_GNUC_UNUSED guint64 address, G_GNUC_UNUSED guint64 bytes,
              GeRoot *root)
{
  gemem_ge_pool_free (&((GeStreams *) lower)->l1->pool, root->handle);
}

static const GeLower adapter = { adapter_malloc, adapter_free };

/* ---- create and destroy */

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  GeStreamsParams p = *(const GeStreamsParams *) data;
  GeStreams *self = g_new0 (GeStreams, 1);

  p.stack.stack = GE_STACK_TWO;
  if (!gemem_ge_stack_init (&self->stack, &gemem_ge_streams_class, &p.stack, 0, device, error))
    {
      g_free (self);
      return NULL;
    }
  self->stack.describe = gemem_ge_streams_describe;
  self->single = p.streams == GE_STREAMS_SINGLE;
  self->walks = p.max_runtime_core_number <= 1 || p.enable_dynamic_shape_multi_stream == 1;
  self->by_handle = gemem_idmap_new (sizeof (GeStream *));
  gemem_slab_init (&self->blocks, sizeof (GeStreamBlock));
  gemem_slab_init (&self->wide, sizeof (GeWideHolders));
  gemem_ge_streams_events_init (self);
  return &self->stack.base;
}

static void
destroy (GememAllocator *allocator)
{
  GeStreams *self = (GeStreams *) allocator;

  for (guint i = 0; i < self->n_streams; i++)
    {
      if (!self->single)
        gemem_ge_pool_clear (&self->streams[i]->l2.pool);
      gemem_tree_clear (&self->streams[i]->borrow.tree);
      g_array_unref (self->streams[i]->local.entries);
      g_free (self->streams[i]);
    }
  gemem_ge_streams_events_clear (self);
  gemem_ge_stack_clear (&self->stack);
  gemem_idmap_free (self->by_handle);
  gemem_slab_clear (&self->blocks);
  gemem_slab_clear (&self->wide);
  g_free (self);
}

/* ---- streams */

static GeStream *
add_stream (GeStreams *self, guint64 handle)
{
  GeStream *stream;

  if (self->n_streams == GE_STREAMS_MAX)
    {
      gemem_allocator_refuse (&self->stack.base,
                              "stream %" G_GUINT64_FORMAT
                              " is the 65th, and GE's multi-stream pools know at most 64; use "
                              "fewer streams, or choose another allocator",
                              handle);
      return NULL;
    }
  if (self->l1 == NULL)
    self->l1 = gemem_ge_stack_obtain (&self->stack, handle);
  stream = g_new0 (GeStream, 1);
  stream->number = self->n_streams;
  stream->l2.stream = handle;
  stream->pool = self->single ? &self->l1->pool : &stream->l2.pool;
  if (!self->single)
    gemem_ge_pool_init (&stream->l2.pool, &self->stack.config, &adapter, self);
  stream->local.entries = g_array_new (FALSE, FALSE, sizeof (GeLocalEntry));
  *(GeStream **) gemem_idmap_insert (self->by_handle, handle, NULL) = stream;
  return self->streams[self->n_streams++] = stream;
}

/* NULL, with a refusal: too many streams. */
static inline GeStream *
obtain_stream (GeStreams *self, guint64 handle)
{
  GeStream *stream = self->last;

  if (G_LIKELY (stream != NULL && (self->last_handle == handle || self->single)))
    return stream;
  stream = gemem_ge_streams_find (self, handle);
  if (stream == NULL)
    stream = add_stream (self, handle);
  self->last = stream;
  self->last_handle = handle;
  return stream;
}

/* Free at a stream (2.4); @dropped: its count became 0. */
static inline void
free_at (GeStreams *self, GeStreamBlock *block, guint stream, gboolean dropped)
{
  if (gemem_ge_holders_row (&block->holders, stream) == 0)
    gemem_ge_streams_recycle (self, block, stream);
  else if (dropped)
    gemem_ge_streams_local_recycle (self, self->streams[stream], block);
}

/* ---- events */

static GeStreamBlock *
wrap (GeStreams *self, GeSpan *span, guint birth)
{
  GeStreamBlock *block = self->spare;

  if (block != NULL)
    self->spare = block->next;
  else
    block = gemem_slab_alloc (&self->blocks);
  block->span = span;
  block->birth = (guint8) birth;
  span->user = block;
  return block;
}

/* L2MemPool's Malloc (2.3), or SingleStreamL2Allocator's. */
static GeSpan *
malloc_span (GeStreams *self, GeStream *stream, guint64 size)
{
  GeSpan *span;

  if (self->single)
    return gemem_ge_stack_malloc (&self->stack, self->l1, size);
  span = gemem_ge_pool_alloc (stream->pool, size);
  if (G_UNLIKELY (span == NULL)
      && gemem_ge_stack_sync_and_recycle (&self->stack, stream->l2.stream, stream->pool))
    span = gemem_ge_pool_alloc (stream->pool, size);
  return span;
}

static GeStreamBlock *
borrow (GeStreams *self, GeStream *stream, guint64 size)
{
  GeStreamBlock *block = gemem_ge_borrow_find (&stream->borrow, size);

  if (block == NULL)
    return NULL;
  gemem_ge_borrow_remove (&stream->borrow, block);
  self->borrowed_bytes -= gemem_ge_span_bytes (block->span);
  self->borrows++;
  return block;
}

static gboolean
streams_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *out)
{
  GeStreams *self = (GeStreams *) allocator;
  GeStream *stream = obtain_stream (self, request->stream);
  GeStreamBlock *block;
  GeSpan *span;

  if (G_UNLIKELY (stream == NULL))
    return FALSE;
  span = malloc_span (self, stream, request->size);
  block = span != NULL ? wrap (self, span, stream->number) : borrow (self, stream, request->size);
  if (block == NULL)
    return FALSE;
  block->owner = (guint8) stream->number;
  block->state = GE_BLOCK_USED;
  gemem_ge_holders_access (&block->holders, stream->number, &self->wide);
  *out = (GememBlock){ .address = block->span->address,
                       .size = (guint64) block->span->pages << self->stack.config.page_shift,
                       .handle = block };
  return TRUE;
}

/* Ends one hold of @stream; if it is the last of all, defers that. */
static void
free_one (GeStreams *self, GeStreamBlock *block, guint stream)
{
  if (block->holders.total > 1)
    free_at (self, block, stream, gemem_ge_holders_release (&block->holders, stream));
  else if (gemem_ge_holders_count (&block->holders, stream) > 0)
    block->deferred = TRUE;
}

static inline void
free_all_at (GeStreams *self, GeStreamBlock *block, guint stream)
{
  gemem_ge_holders_release_all (&block->holders, stream);
  free_at (self, block, stream, TRUE);
}

static void
streams_prefetch (G_GNUC_UNUSED GememAllocator *allocator, const GememBlock *allocated)
{
  const GeStreamBlock *block = allocated->handle;

  __builtin_prefetch (block->span, 1);
}

static void
streams_free (GememAllocator *allocator, const GememBlock *allocated, gboolean completion_follows)
{
  GeStreams *self = (GeStreams *) allocator;
  GeStreamBlock *block = allocated->handle;

  if (completion_follows)
    {
      free_one (self, block, block->owner);
      block->state = GE_BLOCK_FREE_REQUESTED;
      return;
    }
  block->deferred = FALSE;
  if (G_LIKELY ((block->holders.holding >> block->owner & 1) != 0))
    free_all_at (self, block, block->owner);
  while (block->holders.holding != 0)
    free_all_at (self, block, (guint) __builtin_ctzll (block->holders.holding));
  if (block->state != GE_BLOCK_USED)
    return; /* it was recycled */
  block->state = GE_BLOCK_PENDING;
  self->pending_bytes += gemem_ge_span_bytes (block->span);
}

static void
streams_complete (GememAllocator *allocator, const GememBlock *allocated)
{
  gemem_ge_streams_birth_recycle ((GeStreams *) allocator, allocated->handle);
}

static void
streams_use (GememAllocator *allocator, const GememBlock *allocated, guint64 handle)
{
  GeStreams *self = (GeStreams *) allocator;
  GeStream *stream = obtain_stream (self, handle);
  GeStreamBlock *block = allocated->handle;
  const guint64 before = block->holders.holding;

  if (stream == NULL)
    return;
  gemem_ge_holders_access (&block->holders, stream->number, &self->wide);
  if (block->deferred)
    {
      block->deferred = FALSE;
      free_one (self, block, (guint) __builtin_ctzll (before));
    }
}

static void
streams_stream_free (GememAllocator *allocator, const GememBlock *allocated, guint64 handle)
{
  GeStreams *self = (GeStreams *) allocator;
  const GeStream *stream = gemem_ge_streams_find (self, handle);

  if (stream != NULL)
    free_one (self, allocated->handle, stream->number);
}

static void
streams_event_record (GememAllocator *allocator, guint64 id, guint64 handle, guint64 to)
{
  GeStreams *self = (GeStreams *) allocator;
  GeStream *stream = obtain_stream (self, handle), *other = NULL;

  if (stream == NULL || (to != G_MAXUINT64 && (other = obtain_stream (self, to)) == NULL))
    return;
  gemem_ge_streams_send (self, id, stream, other);
}

static void
streams_event_wait (GememAllocator *allocator, guint64 id, guint64 handle)
{
  GeStreams *self = (GeStreams *) allocator;
  GeStream *stream = obtain_stream (self, handle);

  if (stream != NULL)
    gemem_ge_streams_wait (self, id, stream);
}

static void
streams_sync (GememAllocator *allocator, guint64 stream)
{
  if (stream == G_MAXUINT64 && !((GeStreams *) allocator)->single)
    gemem_ge_streams_last_wait ((GeStreams *) allocator);
}

/* Recycles every L2 pool, then L1; what L1 returns stays in the bottom pool. */
static void
streams_trim (GememAllocator *allocator)
{
  GeStreams *self = (GeStreams *) allocator;

  for (guint i = 0; i < self->n_streams; i++)
    gemem_ge_pool_recycle (self->streams[i]->pool);
  gemem_ge_stack_trim (allocator);
}

const GememAllocatorClass gemem_ge_streams_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-streams",
  .summary =
      "Ascend GE dynamic memory on several streams: L2 pool per stream, borrowed blocks, events",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 2.2-2.6",
  .known_as = "MultiStreamL2Allocator|L2MemPool|SingleStreamL2Allocator",
  .capabilities = GEMEM_CAP_STREAMS,
  .alignment = 65536,
  .params = params,
  .params_size = sizeof (GeStreamsParams),
  .notes = gemem_ge_stack_notes,
  .create = create,
  .alloc = streams_alloc,
  .free = streams_free,
  .prefetch = streams_prefetch,
  .trim = streams_trim,
  .largest_free = gemem_ge_streams_largest_free,
  .walk = gemem_ge_stack_walk,
  .check = gemem_ge_streams_check,
  .destroy = destroy,
  .streams = { .complete = streams_complete,
               .use = streams_use,
               .free = streams_stream_free,
               .record = streams_event_record,
               .wait = streams_event_wait,
               .sync = streams_sync },
  .report.stats = gemem_ge_streams_stats,
};
