/* vmm-auto-growth.c - PaddlePaddle's VirtualMemoryAutoGrowthBestFit: auto_growth in one range of
 * addresses per stream (FLAGS_use_virtual_memory_auto_growth).
 *
 * Each stream reserves a range as long as the device's memory.  A miss maps pages behind the mapped
 * ones; the new memory merges with a free block before it.  Best fit over (size, address); the HIGH
 * end is allocated.  A block is cut when it is more than twice the wanted size, or when more than
 * one alignment (256 bytes) would be left.  Memory is released only when the allocator is
 * destroyed.  Two facts cost memory: one alignment is added before the rounding to pages, so a
 * request of exactly k pages maps k + 1; and an extension ignores the free bytes at the end of the
 * range.  StreamSafe stands above: a block that other streams use waits on its arena's list until
 * they are done.
 *
 * Invariants: the blocks of an arena cover what it has mapped, in order of address; no two
 * neighbours are free; `pool` holds exactly the free blocks, under their arena; a block that waits
 * is neither free nor live.
 * Cost: O(log free blocks + waiting blocks of the stream) per request; on the host, one record per
 * extension is allocated.
 * Origin: paddle.md section 3.5, 1.1, 1.2, 2.8, 3.3 and 3.4; example E17.  Not modelled: the later
 * V2, compaction, multi-scale pools (not specified there).
 */
#include "config.h"

#include "allocators/paddle/shared-flags.h"
#include "allocators/paddle/stream-safe.h"
#include "base/idmap.h"
#include "base/units.h"

#define ALIGNMENT 256

typedef struct
{
  int version; /* GememPaddleVersion - GEMEM_PADDLE_2_3 */
  guint64 memory_limit;
  guint64 retry_time;
  guint64 alignment;
  gboolean stream_safe;
} Params;

static const GememParam params[] = {
  GEMEM_PADDLE_VERSION_ROW (Params, version, GEMEM_PADDLE_VERSIONS_SINCE_2_3, "3.x", "2.6|3.x",
                            "Release of Paddle; seen at work in 2.6.2, not in 2.2.2; "
                            "2.3 to 2.5 are taken to be like 2.6."),
  GEMEM_PADDLE_LIMIT_ROW (
      Params, "Most memory this process may hold; 0: no limit.  Default in 2.3-3.x: 0."),
  GEMEM_PADDLE_RETRY_ROW (
      Params, "10000", NULL,
      "Virtual time to wait before the one repetition of a request that found no memory; 0: "
      "none.  Default in 2.3-3.x: 10000."),
  GEMEM_PADDLE_ALIGNMENT_ROW (
      Params, "FLAGS_alignment_size",
      "Rounding unit of requests, what each mapping has in addition, and the most that is "
      "left uncut; a power of two. A flag in 3.x, which Paddle reads on other devices than "
      "CUDA's only.  Default in 3.x: 256."),
  GEMEM_PADDLE_STREAM_SAFE_ROW (Params),
  { NULL },
};

/* The allocator of one stream. */
typedef struct
{
  guint64 stream;
  guint64 base;   /* of the range; 0: the device refused it */
  guint64 mapped; /* bytes from the base */
  GememNeighbour *first, *last;
  PaddleDeferred deferred; /* freed blocks that other streams still use */
} Arena;

/* Memory that one extension mapped. */
typedef struct
{
  guint64 address, size;
  GememPage page;
} Piece;

typedef struct
{
  GememAllocator base;
  guint64 retry_time, alignment;
  guint64 limit;              /* of device bytes held */
  guint64 range, granularity; /* of the device */
  PaddleStreamSafe safe;
  GememTree pool;
  GememSlab block_slab;
  GArray *arenas; /* Arena, in order of first use */
  GArray *pieces; /* Piece */
  GememIdMap *by_stream;
} VmmGrowth;

extern const GememAllocatorClass gemem_paddle_vmm_auto_growth_class;
static const GememAllocatorClass at_once_class;

static Arena *
arena_at (const VmmGrowth *self, guint64 index)
{
  return &g_array_index (self->arenas, Arena, index);
}

static guint64
obtain_arena (VmmGrowth *self, guint64 stream)
{
  gboolean existed;
  guint64 *index = gemem_idmap_insert (self->by_stream, stream, &existed);

  if (!existed)
    {
      const Arena arena = { .stream = stream };
      *index = self->arenas->len;
      g_array_append_val (self->arenas, arena);
    }
  return *index;
}

/* ---- blocks */

static void
pool_insert (VmmGrowth *self, GememNeighbour *block)
{
  block->free = TRUE;
  gemem_tree_insert (&self->pool, &block->node);
}

static void
pool_remove (VmmGrowth *self, GememNeighbour *block)
{
  gemem_tree_remove (&self->pool, &block->node);
  block->free = FALSE;
}

/* Coalesces @block with its free neighbours and pools the result. */
static void
release (VmmGrowth *self, GememNeighbour *block)
{
  block = gemem_neighbours_coalesce (block, &self->pool, &self->block_slab);
  if (block->next == NULL)
    arena_at (self, block->node.group)->last = block;
  pool_insert (self, block);
}

/* Pools the @size bytes at @address, which lie behind all blocks of arena @index. */
static void
append (VmmGrowth *self, guint64 index, guint64 address, guint64 size)
{
  Arena *arena = arena_at (self, index);
  GememNeighbour *block = gemem_slab_alloc (&self->block_slab);

  block->node.group = index;
  block->node.address = address;
  block->node.size = size;
  block->previous = arena->last;
  *(arena->last != NULL ? &arena->last->next : &arena->first) = block;
  release (self, block);
}

/* Takes the best free block for @size bytes, cut; NULL: none. */
static GememNeighbour *
take (VmmGrowth *self, guint64 index, guint64 size)
{
  GememTreeNode *fit = gemem_tree_fit (&self->pool, index, size);
  GememNeighbour *block, *high;
  guint64 rest;

  if (fit == NULL || fit->group != index)
    return NULL;
  block = GEMEM_NEIGHBOUR_OF (fit);
  rest = block->node.size - size;
  pool_remove (self, block);
  if (rest <= self->alignment && rest <= size)
    return block;
  high = gemem_slab_alloc (&self->block_slab);
  gemem_neighbours_split (block, high, size);
  if (high->next == NULL)
    arena_at (self, index)->last = high;
  pool_insert (self, block);
  return high;
}

/* ---- the device */

/* Maps @bytes of new memory behind the mapped part of the range; FALSE: BadAlloc. */
static gboolean
map (VmmGrowth *self, Arena *arena, guint64 bytes)
{
  Piece piece = { .address = arena->base + arena->mapped, .size = bytes };

  if (bytes > self->range - arena->mapped
      || !gemem_paddle_within (self->base.device, bytes, self->limit))
    return FALSE;
  piece.page = gemem_device_create_page (self->base.device, bytes);
  if (piece.page == 0)
    return FALSE;
  if (!gemem_device_map (self->base.device, piece.address, piece.page, 0, bytes))
    {
      gemem_device_destroy_page (self->base.device, piece.page, bytes);
      return FALSE;
    }
  g_array_append_val (self->pieces, piece);
  arena->mapped += bytes;
  return TRUE;
}

/* Maps memory for @size bytes and pools it as a free block. */
static gboolean
extend (VmmGrowth *self, guint64 index, guint64 size)
{
  Arena *arena = arena_at (self, index);
  const guint64 bytes = gemem_round_up (size + self->alignment, self->granularity),
                end = arena->mapped;

  if (arena->base == 0)
    arena->base = gemem_device_reserve (self->base.device, self->range, self->granularity);
  if (arena->base == 0 || !map (self, arena, bytes))
    return FALSE;
  append (self, index, arena->base + end, bytes);
  return TRUE;
}

/* ---- events */

static GememNeighbour *
attempt_best_fit (VmmGrowth *self, guint64 index, guint64 size)
{
  GememNeighbour *block = take (self, index, size);

  if (block == NULL && extend (self, index, size))
    block = take (self, index, size);
  return block;
}

/* Frees the deferred blocks of all streams whose events are complete; there are no idle chunks to
 * release. */
static gboolean
process_all (VmmGrowth *self)
{
  gboolean any = FALSE;

  for (guint i = 0; i < self->arenas->len && self->safe.deferred > 0; i++)
    any = gemem_paddle_safe_process (&self->safe, &arena_at (self, i)->deferred) || any;
  return any;
}

/* StreamSafe: first frees the completed deferred blocks of this stream; after a miss, those of all
 * streams, and tries once more. */
static GememNeighbour *
attempt (VmmGrowth *self, guint64 index, guint64 size)
{
  GememNeighbour *block;

  if (self->safe.deferred > 0)
    gemem_paddle_safe_process (&self->safe, &arena_at (self, index)->deferred);
  block = attempt_best_fit (self, index, size);
  if (block != NULL || self->base.klass->streams.complete == NULL)
    return block;
  self->base.retries += process_all (self);
  return attempt_best_fit (self, index, size);
}

static gboolean
vmm_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  VmmGrowth *self = (VmmGrowth *) allocator;
  guint64 index, size;
  GememNeighbour *block;

  if (request->size == 0) /* a null pointer; never reaches the allocator */
    {
      *result = (GememBlock){ 0 };
      return TRUE;
    }
  index = obtain_arena (self, request->stream);
  /* a request above the range fails anyway; the bound avoids overflow */
  size = gemem_round_up (MIN (request->size, self->range + 1), self->alignment);
  block = attempt (self, index, size);
  if (block == NULL && self->retry_time != 0)
    {
      /* one thread: no block is freed meanwhile, but events may complete */
      allocator->device->now += self->retry_time;
      block = attempt (self, index, size);
    }
  if (block == NULL)
    return FALSE;
  *result = (GememBlock){ .address = block->node.address,
                          .size = block->node.size,
                          .handle = block };
  return TRUE;
}

static void
vmm_free (GememAllocator *allocator, const GememBlock *freed, gboolean completion_follows)
{
  VmmGrowth *self = (VmmGrowth *) allocator;
  GememNeighbour *block = freed->handle;

  if (block == NULL) /* request of 0 bytes */
    return;
  if (gemem_paddle_guard (block)->uses == NULL
      && !(completion_follows && allocator->klass->streams.complete != NULL))
    release (self, block);
  else
    gemem_paddle_safe_free (&self->safe, gemem_paddle_guard (block),
                            &arena_at (self, block->node.group)->deferred, completion_follows);
}

static void
release_guarded (gpointer self, PaddleGuard *guard)
{
  release (self, gemem_paddle_guarded (guard));
}

static void
vmm_complete (GememAllocator *allocator, const GememBlock *freed)
{
  VmmGrowth *self = (VmmGrowth *) allocator;
  GememNeighbour *block = freed->handle;

  if (block != NULL)
    gemem_paddle_safe_complete (&self->safe, gemem_paddle_guard (block),
                                &arena_at (self, block->node.group)->deferred);
}

static void
vmm_use_on_stream (GememAllocator *allocator, const GememBlock *used, guint64 stream)
{
  VmmGrowth *self = (VmmGrowth *) allocator;
  GememNeighbour *block = used->handle;

  if (block != NULL && arena_at (self, block->node.group)->stream != stream)
    gemem_paddle_safe_use (&self->safe, gemem_paddle_guard (block), stream);
}

/* ---- questions */

static guint64
vmm_largest_free (GememAllocator *allocator, guint64 stream)
{
  const VmmGrowth *self = (const VmmGrowth *) allocator;
  const guint64 *index = gemem_idmap_lookup (self->by_stream, stream);
  const GememTreeNode *best;

  if (index == NULL)
    return 0;
  best = gemem_tree_before (&self->pool, *index, G_MAXUINT64, G_MAXUINT64);
  return best != NULL && best->group == *index ? best->size : 0;
}

static int
compare_bases (gconstpointer a, gconstpointer b)
{
  const Arena *x = *(const Arena *const *) a, *y = *(const Arena *const *) b;
  return (x->base > y->base) - (x->base < y->base);
}

static void
vmm_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const VmmGrowth *self = (const VmmGrowth *) allocator;
  g_autoptr (GPtrArray) arenas = g_ptr_array_new ();

  for (guint i = 0; i < self->arenas->len; i++)
    g_ptr_array_add (arenas, arena_at (self, i));
  g_ptr_array_sort (arenas, compare_bases);
  for (guint i = 0; i < arenas->len; i++)
    {
      const Arena *arena = g_ptr_array_index (arenas, i);
      for (const GememNeighbour *block = arena->first; block != NULL; block = block->next)
        {
          const GememSpan span = {
            .address = block->node.address,
            .size = block->node.size,
            .segment = arena->base,
            .segment_size = arena->mapped,
            .stream = arena->stream,
            .state = block->free                            ? GEMEM_SPAN_FREE
                     : gemem_paddle_guard (block)->deferred ? GEMEM_SPAN_PENDING
                                                            : GEMEM_SPAN_LIVE,
            .user = block->free || gemem_paddle_guard (block)->deferred ? 0 : block->node.address
          };
          func (&span, data);
        }
    }
}

static gboolean
broken (GError **error, const GememNeighbour *block, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "paddle-vmm-auto-growth: block 0x%" G_GINT64_MODIFIER "x of %" G_GUINT64_FORMAT
               " bytes: %s",
               block->node.address, block->node.size, what);
  return FALSE;
}

/* Checks one arena; adds its free and its waiting blocks to the totals. */
static gboolean
check_arena (const Arena *arena, guint64 index, guint64 *free_blocks, guint64 *deferred,
             GError **error)
{
  guint64 end = arena->base;
  const GememNeighbour *previous = NULL;

  for (const GememNeighbour *block = arena->first; block != NULL;
       previous = block, block = block->next)
    {
      if (block->node.address != end || block->previous != previous || block->node.group != index)
        return broken (error, block, "does not follow its neighbour");
      if (block->free && previous != NULL && previous->free)
        return broken (error, block, "is free beside a free block");
      if (block->free
          && (gemem_paddle_guard (block)->deferred || gemem_paddle_guard (block)->uses != NULL))
        return broken (error, block, "is free, but other streams use it");
      *free_blocks += block->free;
      *deferred += gemem_paddle_guard (block)->deferred;
      end += block->node.size;
    }
  if (arena->last != previous || end != arena->base + arena->mapped)
    return broken (error, arena->last, "is not where the mapped memory ends");
  return TRUE;
}

static gboolean
vmm_check (GememAllocator *allocator, GError **error)
{
  const VmmGrowth *self = (const VmmGrowth *) allocator;
  guint64 free_blocks = 0, deferred = 0;

  for (guint i = 0; i < self->arenas->len; i++)
    if (arena_at (self, i)->mapped > 0
        && !check_arena (arena_at (self, i), i, &free_blocks, &deferred, error))
      return FALSE;
  if (gemem_tree_check (&self->pool) && self->pool.count == free_blocks
      && self->safe.deferred == deferred)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "paddle-vmm-auto-growth: %" G_GUINT64_FORMAT " free and %" G_GUINT64_FORMAT
               " waiting blocks, but %" G_GUINT64_FORMAT " in the pool and %" G_GUINT64_FORMAT
               " on lists",
               free_blocks, deferred, self->pool.count, self->safe.deferred);
  return FALSE;
}

static void
vmm_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const VmmGrowth *self = (const VmmGrowth *) allocator;
  guint64 mapped = 0;

  for (guint i = 0; i < self->arenas->len; i++)
    mapped += arena_at (self, i)->mapped;
  func ("mapped", mapped, "B", data);
  func ("extensions", self->pieces->len, "", data);
  func ("ranges", self->arenas->len, "", data);
  func ("free_blocks", self->pool.count, "", data);
  func ("deferred_blocks", self->safe.deferred, "", data);
}

/* ---- creation */

static GememAllocator *
vmm_create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *own = data;
  GememDeviceInfo info = { 0 };
  const GememFlag flags[] = {
    { "alignment_size", own->alignment != ALIGNMENT,
      own->version + GEMEM_PADDLE_2_3 == GEMEM_PADDLE_3_X, "is a flag in 3.x; choose version=3.x" },
  };
  VmmGrowth *self;

  if (!gemem_check_flags ("paddle-vmm-auto-growth", flags, G_N_ELEMENTS (flags), error)
      || !gemem_paddle_check_power_of_two ("paddle-vmm-auto-growth", own->alignment, error))
    return NULL;
  gemem_device_info (device, &info);
  self = g_new0 (VmmGrowth, 1);
  self->base.klass = own->stream_safe ? &gemem_paddle_vmm_auto_growth_class : &at_once_class;
  self->base.device = device;
  self->retry_time = own->retry_time;
  self->alignment = own->alignment;
  self->limit = own->memory_limit != 0 ? own->memory_limit : GEMEM_UNLIMITED;
  self->granularity = MAX (info.granularity, own->alignment); /* both powers of two */
  /* A device without a limit reports an enormous size; one range must leave addresses for
   * others. */
  self->range = gemem_round_up (MIN (info.total, G_GUINT64_CONSTANT (1) << 46), self->granularity);
  self->arenas = g_array_new (FALSE, FALSE, sizeof (Arena));
  self->pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  self->by_stream = gemem_idmap_new (sizeof (guint64));
  gemem_slab_init (&self->block_slab, sizeof (PaddleBlock));
  gemem_paddle_safe_init (&self->safe, device, release_guarded, self);
  return &self->base;
}

static void
vmm_destroy (GememAllocator *allocator)
{
  VmmGrowth *self = (VmmGrowth *) allocator;

  for (guint i = 0; i < self->pieces->len; i++)
    {
      const Piece *piece = &g_array_index (self->pieces, Piece, i);
      if (!gemem_device_unmap (allocator->device, piece->address, piece->size))
        gemem_device_unmap (allocator->device, piece->address,
                            piece->size); /* retried: memory that stays mapped cannot be released */
      gemem_device_destroy_page (allocator->device, piece->page, piece->size);
    }
  for (guint i = 0; i < self->arenas->len; i++)
    if (arena_at (self, i)->base != 0)
      gemem_device_release (allocator->device, arena_at (self, i)->base, self->range);
  g_array_unref (self->pieces);
  g_array_unref (self->arenas);
  gemem_idmap_free (self->by_stream);
  gemem_tree_clear (&self->pool);
  gemem_slab_clear (&self->block_slab);
  gemem_paddle_safe_clear (&self->safe);
  g_free (self);
}

static const GememForm forms[] = {
  { "paddle", GEMEM_FORM_VARIABLES, "FLAGS_use_virtual_memory_auto_growth=true", "",
    .instead = "FLAGS_allocator_strategy=auto_growth" },
  { NULL },
};

#define COMMON \
  .abi = GEMEM_ALLOCATOR_ABI, .name = "paddle-vmm-auto-growth", \
  .summary = "PaddlePaddle's auto_growth on virtual memory: best fit in one growing range of " \
             "addresses per stream", \
  .origin = "PaddlePaddle 2.3-3.x; paddle.md sections 3.5, 3.4", .forms = forms, \
  .known_as = "VirtualMemoryAutoGrowthBestFitAllocator|StreamSafeCUDAAllocator|auto_growth", \
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_VIRTUAL_MEMORY, .alignment = ALIGNMENT, \
  .params = params, .params_size = sizeof (Params), .create = vmm_create, .alloc = vmm_alloc, \
  .free = vmm_free, .prefetch = gemem_neighbours_prefetch, .largest_free = vmm_largest_free, \
  .walk = vmm_walk, .check = vmm_check, .report.stats = vmm_stats, .destroy = vmm_destroy

const GememAllocatorClass gemem_paddle_vmm_auto_growth_class = {
  COMMON, .streams = { .complete = vmm_complete, .use = vmm_use_on_stream }
};

/* Without StreamSafe a free completes at once, even if other streams use the block. */
static const GememAllocatorClass at_once_class = { COMMON };
