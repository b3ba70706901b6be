/* auto-growth.c - PaddlePaddle's AutoGrowthBestFitAllocator, the `auto_growth` strategy since 1.6
 * and the default since 2.1.
 *
 * Best fit over (size, address) among all chunks of a stream.  The HIGH end of a free block is
 * allocated and the low part stays free, without a split threshold or an upper size.  A miss takes
 * a chunk of the rounded request (or of the growth size, if larger) from the device.  Idle chunks
 * are released when the device refuses, on empty_cache, and as two flags say.
 * Until 2.2 this stands on an aligning allocator: each chunk is one alignment longer and loses the
 * bytes before its first aligned address (gone in 2.5.2; 2.3 and 2.4 are not known and taken as
 * 2.5).  Since 2.1 each stream has an allocator of its own; on out of memory the idle chunks of all
 * streams are released (StreamSafe; 2.3 and later).
 *
 * Invariants: the blocks of a chunk cover it; no two neighbours are free; `pool` holds exactly the
 * free blocks, under group 2 * arena + small; an arena's `idle` counts its chunks that are one free
 * block.  The first block of a chunk is embedded in its Chunk and lives as long: a split keeps the
 * low part in it, and a left neighbour absorbs the right one.
 * Cost: O(log free blocks) per request, nothing allocated per event; releasing walks an arena's
 * chunks only while some are idle.
 *
 * Origin: paddle.md sections 3.1-3.4; examples E11-E15.  Not modelled: pools of CUDA graphs.
 */
#include "config.h"

#include "allocators/neighbours.h"
#include "allocators/paddle/auto-growth-watch.h"
#include "allocators/paddle/shared-flags.h"
#include "allocators/paddle/stream-safe.h"
#include "allocators/questions.h"
#include "base/idmap.h"
#include "base/units.h"

typedef struct _Chunk Chunk;
struct _Chunk
{
  PaddleBlock first;        /* the chunk's blocks have the key (2 * arena + small, size, address) */
  GememTreeNode by_address; /* key (0, 0, address from the device) */
  guint64 bytes;            /* from the device; alignment may shift the start of the first block */
  Chunk *older, *newer;
};

/* One AutoGrowthBestFit of the real stack: one for the device until 2.0, then one per stream. */
typedef struct
{
  guint64 stream;
  Chunk *oldest, *newest;
  guint64 chunks, idle;
  PaddleDeferred deferred; /* freed blocks that other streams still use */
  gboolean ready;          /* its pre-allocation is done */
  gboolean warm; /* use_auto_growth_v2: its idle chunks of the warm-up have been released */
} Arena;

typedef struct
{
  GememAllocator base;
  GememPaddleAutoGrowthParams params;
  guint64 limit;               /* of device bytes held */
  guint64 grow[2];             /* least chunk of the large pool, of the small one */
  guint64 reserved, allocated; /* deferred blocks count as allocated */
  guint64 idle;                /* chunks of all arenas */
  guint64 warm_up; /* use_auto_growth_v2: requests that still accept only an exact fit */
  PaddleStreamSafe safe;
  GememTree pool, chunks;
  GememSlab block_slab, chunk_slab;
  GArray *arenas; /* Arena, in order of first use */
  GememIdMap *by_stream;
  GememQuestions *watch; /* NULL: nobody wants to know what flags decide */
} AutoGrowth;

extern const GememAllocatorClass gemem_paddle_auto_growth_class;
static const GememAllocatorClass at_once_class;

#define CHUNK_OF(tree_node) GEMEM_TREE_ENTRY (tree_node, Chunk, by_address)

/* Notes that the flags are asked, where that is watched. */
static inline void
ask (AutoGrowth *self, AutoGrowthAsked asked, guint64 a, guint64 b)
{
  if (G_UNLIKELY (self->watch != NULL))
    gemem_questions_note (self->watch, &self->params, asked, a, b);
}

static Arena *
arena_at (const AutoGrowth *self, guint64 index)
{
  return &g_array_index (self->arenas, Arena, index);
}

/* Every free block enters and leaves the pool through these two, which count idle chunks. */
static void
pool_insert (AutoGrowth *self, GememNeighbour *block)
{
  block->free = TRUE;
  gemem_tree_insert (&self->pool, &block->node);
  if (gemem_neighbours_alone (block))
    {
      arena_at (self, block->node.group / 2)->idle++;
      self->idle++;
    }
}

static void
pool_remove (AutoGrowth *self, GememNeighbour *block)
{
  if (gemem_neighbours_alone (block))
    {
      arena_at (self, block->node.group / 2)->idle--;
      self->idle--;
    }
  gemem_tree_remove (&self->pool, &block->node);
  block->free = FALSE;
}

/* Takes a chunk of at least @want bytes from the device, as one block of @group that is not in the
 * pool.  NULL: the device refused (BadAlloc). */
static GememNeighbour *
add_chunk (AutoGrowth *self, guint64 group, guint64 want)
{
  Arena *arena = arena_at (self, group / 2);
  guint64 alignment = self->params.alignment;
  guint64 bytes = self->params.aligned ? want + alignment : want;
  guint64 address = gemem_paddle_malloc (self->base.device, bytes, arena->stream, self->limit);
  if (address == 0)
    return NULL;
  guint64 lost = self->params.aligned ? -address & (alignment - 1) : 0;
  Chunk *chunk = gemem_slab_alloc (&self->chunk_slab);
  chunk->bytes = bytes;
  chunk->by_address.address = address;
  gemem_tree_insert (&self->chunks, &chunk->by_address);
  chunk->older = arena->newest;
  *(arena->newest != NULL ? &arena->newest->newer : &arena->oldest) = chunk;
  arena->newest = chunk;
  arena->chunks++;
  self->reserved += bytes;
  chunk->first.place.node.group = group;
  chunk->first.place.node.address = address + lost;
  chunk->first.place.node.size = bytes - lost;
  return &chunk->first.place;
}

/* Releases @chunk, which is one block that is not in the pool. */
static void
drop_chunk (AutoGrowth *self, Chunk *chunk)
{
  Arena *arena = arena_at (self, chunk->first.place.node.group / 2);
  *(chunk->older != NULL ? &chunk->older->newer : &arena->oldest) = chunk->newer;
  *(chunk->newer != NULL ? &chunk->newer->older : &arena->newest) = chunk->older;
  arena->chunks--;
  self->reserved -= chunk->bytes;
  gemem_tree_remove (&self->chunks, &chunk->by_address);
  gemem_device_free (self->base.device, chunk->by_address.address, chunk->bytes);
  gemem_slab_free (&self->chunk_slab, chunk);
}

/* FreeIdleChunks(), in order of creation; TRUE if it released a chunk. */
static gboolean
free_idle_chunks (AutoGrowth *self, Arena *arena)
{
  gboolean any = arena->idle > 0;
  Chunk *newer;
  for (Chunk *chunk = arena->oldest; chunk != NULL && arena->idle > 0; chunk = newer)
    {
      newer = chunk->newer;
      if (!chunk->first.place.free || chunk->first.place.next != NULL)
        continue;
      pool_remove (self, &chunk->first.place);
      drop_chunk (self, chunk);
    }
  return any;
}

static gboolean
free_idle_chunks_of_all (AutoGrowth *self)
{
  gboolean any = FALSE;
  for (guint i = 0; i < self->arenas->len && self->idle > 0; i++)
    any = free_idle_chunks (self, arena_at (self, i)) || any;
  return any;
}

/* Allocates the high end of @block, which is in no tree; pools the rest. */
static GememNeighbour *
carve (AutoGrowth *self, GememNeighbour *block, guint64 size)
{
  GememNeighbour *high;

  self->allocated += size;
  if (block->node.size == size)
    return block;
  high = gemem_slab_alloc (&self->block_slab);
  gemem_neighbours_split (block, high, size);
  pool_insert (self, block);
  return high;
}

/* Free bytes that cudaMemGetInfo reports, within the limit. */
static guint64
available (AutoGrowth *self)
{
  GememDeviceInfo info;
  gemem_device_info (self->base.device, &info);
  return MIN (info.free, gemem_paddle_left (self->base.device, self->limit));
}

/* use_auto_growth_v2 during the warm-up: takes a free block of exactly @size bytes, else a chunk of
 * exactly @size bytes. */
static GememNeighbour *
attempt_exact_fit (AutoGrowth *self, guint64 group, guint64 size)
{
  GememTreeNode *fit = gemem_tree_fit (&self->pool, group, size);
  if (fit != NULL && fit->group == group && fit->size == size)
    {
      pool_remove (self, GEMEM_NEIGHBOUR_OF (fit));
      return carve (self, GEMEM_NEIGHBOUR_OF (fit), size);
    }
  if (available (self) < size)
    self->base.retries += free_idle_chunks (self, arena_at (self, group / 2));
  GememNeighbour *block = add_chunk (self, group, size);
  return block != NULL ? carve (self, block, size) : NULL;
}

/* AutoGrowthBestFit: best fit, else a new chunk, else a new chunk after releasing idle ones. */
static GememNeighbour *
attempt_best_fit (AutoGrowth *self, guint64 group, guint64 size)
{
  if (self->warm_up > 0)
    return attempt_exact_fit (self, group, size);
  GememTreeNode *fit = gemem_tree_fit (&self->pool, group, size);
  if (fit != NULL && fit->group == group)
    {
      pool_remove (self, GEMEM_NEIGHBOUR_OF (fit));
      return carve (self, GEMEM_NEIGHBOUR_OF (fit), size);
    }
  Arena *arena = arena_at (self, group / 2);
  guint64 want = MAX (size, self->grow[group % 2]);
  ask (self, AUTO_GROWTH_ASK_CHUNK, size, group % 2);
  if (arena->idle > 0)
    ask (self, AUTO_GROWTH_ASK_MISS, 0, 0);
  if (self->params.free_when_no_cache_hit)
    free_idle_chunks (self, arena);
  GememNeighbour *block = add_chunk (self, group, want);
  if (block == NULL)
    ask (self, AUTO_GROWTH_ASK_MISS, 0, 0);
  if (block == NULL && !self->params.free_when_no_cache_hit)
    {
      self->base.retries += free_idle_chunks (self, arena);
      block = add_chunk (self, group, want);
    }
  return block != NULL ? carve (self, block, size) : NULL;
}

/* Frees the completed deferred blocks of all streams, then releases all idle chunks. */
static gboolean
process_and_release_all (AutoGrowth *self)
{
  gboolean any = FALSE;
  for (guint i = 0; i < self->arenas->len && self->safe.deferred > 0; i++)
    any = gemem_paddle_safe_process (&self->safe, &arena_at (self, i)->deferred) || any;
  return free_idle_chunks_of_all (self) || any;
}

/* StreamSafe: first frees the completed deferred blocks of this stream; after a miss, those of all
 * streams, and tries once more. */
static GememNeighbour *
attempt_all_streams (AutoGrowth *self, guint64 group, guint64 size)
{
  if (self->safe.deferred > 0)
    gemem_paddle_safe_process (&self->safe, &arena_at (self, group / 2)->deferred);
  GememNeighbour *block = attempt_best_fit (self, group, size);
  if (block != NULL || !self->params.stream_safe)
    return block;
  self->base.retries += process_and_release_all (self);
  return attempt_best_fit (self, group, size);
}

/* use_auto_growth_v2: counts the requests of the warm-up; after the warm-up, the first request of
 * each arena releases its idle chunks. */
static void
pass_warm_up (AutoGrowth *self, Arena *arena)
{
  if ((self->warm_up > 0 && --self->warm_up > 0) || arena->warm)
    return;
  arena->warm = TRUE;
  free_idle_chunks (self, arena);
}

/* Takes the chunks that a new stream starts with, small pool first.  FALSE: the device has no space
 * for both; neither is kept. */
static gboolean
pre_allocate (AutoGrowth *self, guint64 arena)
{
  const guint64 bytes[2] = { self->params.large_pre_alloc, self->params.small_pre_alloc };
  GememNeighbour *taken[2] = { NULL, NULL };
  for (int small = 1; small >= 0; small--)
    {
      if (bytes[small] == 0)
        continue;
      taken[small] = add_chunk (self, 2 * arena + small,
                                gemem_round_up (bytes[small], self->params.alignment));
      if (taken[small] == NULL)
        {
          if (taken[1] != NULL)
            drop_chunk (self, (Chunk *) taken[1]);
          return FALSE;
        }
    }
  for (int small = 1; small >= 0; small--)
    if (taken[small] != NULL)
      pool_insert (self, taken[small]);
  arena_at (self, arena)->ready = TRUE;
  return TRUE;
}

/* Index of the arena that serves @stream; G_MAXUINT64 if there is none yet and @add is FALSE. */
static guint64
find_arena (AutoGrowth *self, guint64 stream, gboolean add)
{
  if (!self->params.per_stream)
    stream = 0;
  if (arena_at (self, 0)->stream == stream)
    return 0;
  const guint64 *known = gemem_idmap_lookup (self->by_stream, stream);
  if (known != NULL)
    return *known;
  if (!add)
    return G_MAXUINT64;
  guint64 index = self->arenas->len;
  *(guint64 *) gemem_idmap_insert (self->by_stream, stream, NULL) = index;
  g_array_append_val (self->arenas, (Arena){ .stream = stream });
  return index;
}

static gboolean
auto_growth_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  AutoGrowth *self = (AutoGrowth *) allocator;
  if (request->size == 0) /* a null pointer; never reaches the allocator */
    {
      *result = (GememBlock){ 0 };
      return TRUE;
    }
  ask (self, AUTO_GROWTH_ASK_ROUND, request->size, 0);
  if (request->size > G_MAXUINT64 - 2 * self->params.alignment)
    return FALSE;
  guint64 size = gemem_round_up (request->size, self->params.alignment);
  guint64 arena = find_arena (self, request->stream, TRUE);
  if (!arena_at (self, arena)->ready && !pre_allocate (self, arena))
    return FALSE;
  ask (self, AUTO_GROWTH_ASK_SMALL, size, 0);
  guint64 group = 2 * arena + (size <= self->params.small_pool);
  if (G_UNLIKELY (self->params.v2))
    pass_warm_up (self, arena_at (self, arena));
  GememNeighbour *block = attempt_all_streams (self, group, size);
  if (block == NULL && self->params.retry_time != 0)
    {
      allocator->device->now +=
          self->params.retry_time; /* one thread: no block is freed meanwhile */
      block = attempt_all_streams (self, group, size);
    }
  if (block == NULL)
    return FALSE;
  result->address = block->node.address;
  result->size = size;
  result->handle = block;
  return TRUE;
}

/* AutoGrowthBestFit's free. */
static void
release (gpointer data, PaddleGuard *guard)
{
  AutoGrowth *self = data;
  GememNeighbour *block = gemem_paddle_guarded (guard);

  GEMEM_CHECK (!block->free);
  self->allocated -= block->node.size;
  block = gemem_neighbours_coalesce (block, &self->pool, &self->block_slab);
  guint64 arena = block->node.group / 2;
  pool_insert (self, block);
  if (arena_at (self, arena)->idle > 0)
    ask (self, AUTO_GROWTH_ASK_RELEASE, 0, 0);
  if (self->params.free_idle_chunk)
    free_idle_chunks (self, arena_at (self, arena));
}

static void
auto_growth_free (GememAllocator *allocator, const GememBlock *freed, gboolean completion_follows)
{
  AutoGrowth *self = (AutoGrowth *) allocator;
  GememNeighbour *block = freed->handle;
  if (block == NULL) /* request of 0 bytes */
    return;
  if (gemem_paddle_guard (block)->uses == NULL && !(completion_follows && self->params.stream_safe))
    release (self, gemem_paddle_guard (block));
  else
    gemem_paddle_safe_free (&self->safe, gemem_paddle_guard (block),
                            &arena_at (self, block->node.group / 2)->deferred, completion_follows);
}

static void
auto_growth_complete (GememAllocator *allocator, const GememBlock *freed)
{
  AutoGrowth *self = (AutoGrowth *) allocator;
  GememNeighbour *block = freed->handle;
  if (block != NULL)
    gemem_paddle_safe_complete (&self->safe, gemem_paddle_guard (block),
                                &arena_at (self, block->node.group / 2)->deferred);
}

static void
auto_growth_use_on_stream (GememAllocator *allocator, const GememBlock *used, guint64 stream)
{
  AutoGrowth *self = (AutoGrowth *) allocator;
  GememNeighbour *block = used->handle;
  if (block != NULL && arena_at (self, block->node.group / 2)->stream != stream)
    gemem_paddle_safe_use (&self->safe, gemem_paddle_guard (block), stream);
}

static void
auto_growth_trim (GememAllocator *allocator)
{
  process_and_release_all ((AutoGrowth *) allocator);
}

/* Size of the largest free block of @group, rounded down to the alignment. */
static guint64
largest_in_group (const AutoGrowth *self, guint64 group)
{
  const GememTreeNode *last = gemem_tree_before (&self->pool, group, G_MAXUINT64, G_MAXUINT64);
  if (last == NULL || last->group != group)
    return 0;
  return last->size & -self->params.alignment;
}

static guint64
auto_growth_largest_free (GememAllocator *allocator, guint64 stream)
{
  AutoGrowth *self = (AutoGrowth *) allocator;
  guint64 arena = find_arena (self, stream, FALSE);
  if (arena == G_MAXUINT64)
    return 0;
  guint64 large = largest_in_group (self, 2 * arena);
  if (large > self->params.small_pool)
    return large;
  return MIN (largest_in_group (self, 2 * arena + 1),
              self->params.small_pool & -self->params.alignment);
}

static void
walk_chunk (const AutoGrowth *self, const Chunk *chunk, GememSpanFunc func, gpointer data)
{
  GememSpan span = { .segment = chunk->by_address.address,
                     .segment_size = chunk->bytes,
                     .stream = arena_at (self, chunk->first.place.node.group / 2)->stream };
  if (chunk->first.place.node.address != chunk->by_address.address)
    {
      span.address = chunk->by_address.address;
      span.size = chunk->first.place.node.address - chunk->by_address.address;
      span.state = GEMEM_SPAN_OVERHEAD;
      func (&span, data);
    }
  for (const GememNeighbour *block = &chunk->first.place; block != NULL; block = block->next)
    {
      span.address = block->node.address;
      span.size = block->node.size;
      span.state = block->free                            ? GEMEM_SPAN_FREE
                   : gemem_paddle_guard (block)->deferred ? GEMEM_SPAN_PENDING
                                                          : GEMEM_SPAN_LIVE;
      span.user = span.state == GEMEM_SPAN_LIVE ? block->node.address : 0;
      func (&span, data);
    }
}

static void
auto_growth_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  AutoGrowth *self = (AutoGrowth *) allocator;
  for (GememTreeNode *node = gemem_tree_first (&self->chunks); node != NULL;
       node = gemem_tree_next (node))
    walk_chunk (self, CHUNK_OF (node), func, data);
}

static gboolean
broken (GError **error, const GememNeighbour *block, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "paddle-auto-growth: block 0x%" G_GINT64_MODIFIER "x of %" G_GUINT64_FORMAT
               " bytes: %s",
               block->node.address, block->node.size, what);
  return FALSE;
}

typedef struct
{
  guint64 free_blocks, allocated, reserved, idle, deferred;
} Tally;

static gboolean
check_chunk (const Chunk *chunk, Tally *tally, GError **error)
{
  guint64 end = chunk->first.place.node.address;
  const GememNeighbour *previous = NULL;
  for (const GememNeighbour *block = &chunk->first.place; block != NULL;
       previous = block, block = block->next)
    {
      if (block->node.address != end || block->previous != previous)
        return broken (error, block, "does not follow its neighbour");
      if (block->node.group != chunk->first.place.node.group)
        return broken (error, block, "belongs to another pool than its chunk");
      if (block->free && previous != NULL && previous->free)
        return broken (error, block, "is free beside a free block");
      if (block->free
          && (gemem_paddle_guard (block)->deferred || gemem_paddle_guard (block)->uses != NULL))
        return broken (error, block, "is free, but other streams use it");
      *(block->free ? &tally->free_blocks : &tally->allocated) += block->free ? 1
                                                                              : block->node.size;
      tally->deferred += gemem_paddle_guard (block)->deferred;
      end += block->node.size;
    }
  if (end != chunk->by_address.address + chunk->bytes)
    return broken (error, &chunk->first.place, "and its neighbours do not cover the chunk");
  tally->reserved += chunk->bytes;
  tally->idle += chunk->first.place.free && chunk->first.place.next == NULL;
  return TRUE;
}

static gboolean
auto_growth_check (GememAllocator *allocator, GError **error)
{
  AutoGrowth *self = (AutoGrowth *) allocator;
  Tally tally = { 0 };
  for (GememTreeNode *node = gemem_tree_first (&self->chunks); node != NULL;
       node = gemem_tree_next (node))
    if (!check_chunk (CHUNK_OF (node), &tally, error))
      return FALSE;
  for (GememTreeNode *node = gemem_tree_first (&self->pool); node != NULL;
       node = gemem_tree_next (node))
    if (!GEMEM_NEIGHBOUR_OF (node)->free)
      return broken (error, GEMEM_NEIGHBOUR_OF (node), "is in the pool, but not free");
  guint64 idle = 0, chunks = 0;
  for (guint i = 0; i < self->arenas->len; i++)
    {
      idle += arena_at (self, i)->idle;
      chunks += arena_at (self, i)->chunks;
    }
  if (!gemem_tree_check (&self->pool) || !gemem_tree_check (&self->chunks)
      || tally.free_blocks != self->pool.count || tally.allocated != self->allocated
      || tally.reserved != self->reserved || tally.idle != idle || chunks != self->chunks.count
      || tally.deferred != self->safe.deferred || self->reserved > allocator->device->held)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "paddle-auto-growth: %" G_GUINT64_FORMAT " allocated and %" G_GUINT64_FORMAT
                   " reserved bytes, %" G_GUINT64_FORMAT " free blocks and %" G_GUINT64_FORMAT
                   " idle chunks do not agree with the chunks (%" G_GUINT64_FORMAT
                   ", %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ")",
                   self->allocated, self->reserved, self->pool.count, idle, tally.allocated,
                   tally.reserved, tally.free_blocks, tally.idle);
      return FALSE;
    }
  return TRUE;
}

static void
auto_growth_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const AutoGrowth *self = (const AutoGrowth *) allocator;
  guint64 idle = 0;
  for (guint i = 0; i < self->arenas->len; i++)
    idle += arena_at (self, i)->idle;
  func ("allocated", self->allocated, "B", data);
  func ("reserved", self->reserved, "B", data);
  func ("chunks", self->chunks.count, "", data);
  func ("idle_chunks", idle, "", data);
  func ("free_blocks", self->pool.count, "", data);
  func ("streams", self->arenas->len, "", data);
  func ("deferred_blocks", self->safe.deferred, "", data);
}

static void
auto_growth_destroy (GememAllocator *allocator)
{
  AutoGrowth *self = (AutoGrowth *) allocator;
  GememTreeNode *node;
  while ((node = gemem_tree_first (&self->chunks)) != NULL)
    drop_chunk (self, CHUNK_OF (node));
  gemem_tree_clear (&self->pool);
  gemem_tree_clear (&self->chunks);
  gemem_slab_clear (&self->block_slab);
  gemem_slab_clear (&self->chunk_slab);
  gemem_paddle_safe_clear (&self->safe);
  gemem_idmap_free (self->by_stream);
  g_array_unref (self->arenas);
  gemem_questions_free (self->watch);
  g_free (self);
}

static void
auto_growth_watch (GememAllocator *allocator)
{
  ((AutoGrowth *) allocator)->watch = gemem_questions_new (gemem_paddle_auto_growth_answer);
}

static gboolean
auto_growth_is_alike (const GememAllocator *allocator, const GememAllocator *other)
{
  const AutoGrowth *self = (const AutoGrowth *) allocator;
  const GememPaddleAutoGrowthParams *params = &((const AutoGrowth *) other)->params;

  return gemem_paddle_auto_growth_same_rules (&self->params, params)
         && gemem_questions_alike (self->watch, params);
}

static GememAllocator *
auto_growth_create (gconstpointer params, GememDevice *device, GError **error)
{
  AutoGrowth *self = g_new0 (AutoGrowth, 1);
  GememPaddleAutoGrowthParams *own = &self->params;
  *own = *(const GememPaddleAutoGrowthParams *) params;
  if (!gemem_paddle_auto_growth_params_resolve (own, error))
    {
      g_free (self);
      return NULL;
    }
  self->base.klass = own->stream_safe ? &gemem_paddle_auto_growth_class : &at_once_class;
  self->base.device = device;
  self->limit = own->memory_limit != 0 ? own->memory_limit : GEMEM_UNLIMITED;
  for (guint small = 0; small < 2; small++)
    self->grow[small] = gemem_paddle_auto_growth_least_chunk (own, small != 0);
  gemem_slab_init (&self->block_slab, sizeof (PaddleBlock));
  gemem_slab_init (&self->chunk_slab, sizeof (Chunk));
  gemem_paddle_safe_init (&self->safe, device, release, self);
  self->warm_up = own->v2 ? own->warm_up + 1 : 0;
  self->arenas = g_array_new (FALSE, TRUE, sizeof (Arena));
  self->by_stream = gemem_idmap_new (sizeof (guint64));
  g_array_set_size (self->arenas, 1); /* the default stream */
  return &self->base;
}

static const GememForm forms[] = {
  { "paddle", GEMEM_FORM_VARIABLES, NULL,
    "free_idle_chunk|free_when_no_cache_hit|auto_growth_chunk_size_in_mb|use_auto_growth_v2|"
    "small_pool_size_in_mb",
    .instead = "FLAGS_allocator_strategy=auto_growth FLAGS_use_virtual_memory_auto_growth=false" },
  { NULL },
};

#define COMMON \
  .abi = GEMEM_ALLOCATOR_ABI, .name = "paddle-auto-growth", \
  .summary = "PaddlePaddle's AutoGrowthBestFitAllocator: strategy auto_growth, best fit over " \
             "chunks as large as the request", \
  .origin = "PaddlePaddle 1.6-3.x; paddle.md sections 3.1, 3.4", .forms = forms, \
  .known_as = "AutoGrowthBestFitAllocator|StreamSafeCUDAAllocator|auto_growth", \
  .capabilities = GEMEM_CAP_STREAMS, .alignment = 256, .params = gemem_paddle_auto_growth_params, \
  .params_size = sizeof (GememPaddleAutoGrowthParams), .create = auto_growth_create, \
  .alloc = auto_growth_alloc, .free = auto_growth_free, .prefetch = gemem_neighbours_prefetch, \
  .trim = auto_growth_trim, .largest_free = auto_growth_largest_free, .walk = auto_growth_walk, \
  .check = auto_growth_check, .report.stats = auto_growth_stats, .destroy = auto_growth_destroy, \
  .watch = { auto_growth_watch, auto_growth_is_alike }

const GememAllocatorClass gemem_paddle_auto_growth_class = {
  COMMON, .streams = { .complete = auto_growth_complete, .use = auto_growth_use_on_stream }
};

/* Without StreamSafe a free completes at once, even if other streams use the block. */
static const GememAllocatorClass at_once_class = { COMMON };
