/* pool.c - `rmm-pool`: pool_memory_resource of the RAPIDS memory manager.
 *
 * Requests are rounded to 256 bytes.  Each stream has a list of free blocks; a request takes the
 * best fit of its own stream, then of the first other stream that has one, then merges the other
 * streams' lists into its own, one after the other, and only then grows: by as much as the pool has
 * already, or under a maximum by half of what remains, halved until the upstream agrees.  The low
 * end of a block is allocated.  Blocks of different upstream allocations never merge.  Nothing is
 * returned before the end, but that RMM 26.10 returns what is free as a whole where a request would
 * exceed the maximum.
 *
 * A stream that takes from another waits for the event of that stream's last free; the wait is done
 * by the GPU and costs no call of the simulated device.  A block is freed on the stream of the last
 * STREAM_FREE that names it, else on that of its request.
 *
 * Invariants: the blocks of an upstream allocation cover it in order of address; neighbours that
 * are free and in one stream's list are one block; the tree has exactly the free blocks, under the
 * number of their stream.
 * Cost: O(log free blocks) per operation, and per stream on a miss; merging lists costs O(log n)
 * per block merged.
 * Origin: peers.md section 1c.1; examples R1 to R6.
 */
#include "config.h"

#include "allocators/neighbours.h"
#include "allocators/rmm/streams.h"
#include "allocators/rmm/upstream.h"
#include "base/units.h"

#define QUANTUM GEMEM_RMM_QUANTUM
#define WHAT "allocator rmm-pool"

typedef struct
{
  GememRmmParams rmm;
  guint64 initial, maximum;
} Params;

static const GememParam params[] = {
  { .name = "initial_pool_size",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .sweep = "0|16MiB|64MiB",
    .aliases = "initial",
    .offset = G_STRUCT_OFFSET (Params, initial),
    .help = "Bytes that the pool obtains first, for the default stream; a multiple of 256." },
  { .name = "maximum_pool_size",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "none",
    .sweep = "none|64MiB|1GiB",
    .special = "none=18446744073709551615",
    .aliases = "maximum",
    .offset = G_STRUCT_OFFSET (Params, maximum),
    .help =
        "Most bytes that the pool obtains; a multiple of 256.  With it the pool grows by half of "
        "what is left, without it by as much as it has." },
  GEMEM_RMM_ROWS (Params, rmm, "|rmm-arena", "|rmm-limiting"),
  { NULL },
};

typedef struct
{
  guint64 size;
  GememNeighbour *first;
} Segment; /* an allocation of the upstream */

typedef struct
{
  GememAllocator base;
  GememRmmUpstream upstream;
  guint64 maximum;
  guint64 pool, live; /* bytes */
  GememTree free;     /* group: number of the stream */
  GememSlab block_slab;
  GArray *segments; /* Segment, by address */
  GememRmmStreams streams;
  GememIdMap *leaving;   /* by address: the stream on which a live block will be freed, if another;
                          NULL: of none so far */
  gboolean reclaims;     /* returns memory rather than exceed the maximum */
  guint64 taken, merged; /* blocks of other streams, and lists */
  guint64 reclaimed;     /* allocations returned to the upstream */
} Pool;

extern const GememAllocatorClass gemem_rmm_pool_class;

static Segment *
segment_at (const Pool *self, guint i)
{
  return &g_array_index (self->segments, Segment, i);
}

/* ---- blocks */

/* Puts @block into the list of its stream, merged with its neighbours there. */
static void
insert (Pool *self, GememNeighbour *block)
{
  gemem_neighbours_release (block, &self->free, &self->block_slab);
}

#define NO_LIST G_MAXUINT64

/* The number of the first stream from number @from on whose list holds a block, or NO_LIST. */
static guint64
next_list (const Pool *self, guint64 from)
{
  const GememTreeNode *node = gemem_tree_lower_bound (&self->free, from, 0, 0);

  return node != NULL ? node->group : NO_LIST;
}

/* The best fit for @size bytes in the list of stream number @stream; NULL: none. */
static GememNeighbour *
find (const Pool *self, guint64 stream, guint64 size)
{
  GememTreeNode *node = gemem_tree_fit (&self->free, stream, size);

  return node != NULL && node->group == stream ? GEMEM_NEIGHBOUR_OF (node) : NULL;
}

/* Takes the lower @size bytes of the free @block out of its list. */
static void
take (Pool *self, GememNeighbour *block, guint64 size)
{
  if (block->node.size > size)
    {
      gemem_neighbours_take_low (block, size, &self->free, &self->block_slab);
      return;
    }
  block->free = FALSE;
  gemem_tree_remove (&self->free, &block->node);
}

/* Moves the list of stream number @from into that of @to; FALSE: it is empty. */
static gboolean
merge_list (Pool *self, guint64 from, guint64 to)
{
  GememTreeNode *node;
  gboolean any = FALSE;

  while ((node = gemem_tree_lower_bound (&self->free, from, 0, 0)) != NULL && node->group == from)
    {
      gemem_tree_remove (&self->free, node);
      node->group = to;
      insert (self, GEMEM_NEIGHBOUR_OF (node));
      any = TRUE;
    }
  return any;
}

/* ---- growing */

/* Adds an allocation of the upstream, which is one free block. */
static GememNeighbour *
add_segment (Pool *self, guint64 address, guint64 size, guint64 stream)
{
  const Segment segment = { size, gemem_slab_alloc (&self->block_slab) };
  guint at = self->segments->len;

  segment.first->node = (GememTreeNode){ .size = size, .address = address, .group = stream };
  while (at > 0 && segment_at (self, at - 1)->first->node.address > address)
    at--;
  g_array_insert_val (self->segments, at, segment);
  self->pool += size;
  insert (self, segment.first);
  return segment.first;
}

/* What the maximum leaves, rounded up to 256 as in RMM, so that the pool can end
 * slightly above it. */
static guint64
left_of (const Pool *self)
{
  return gemem_align_up (self->maximum - self->pool, QUANTUM);
}

/* As RMM 26.10 does before it exceeds the maximum: returns the first allocations of the upstream
 * that are free as a whole, on stream @handle, until @size more bytes fit. */
static void
reclaim (Pool *self, guint64 size, guint64 handle)
{
  for (guint i = 0; i < self->segments->len && size > left_of (self);)
    {
      const Segment segment = *segment_at (self, i);

      if (!segment.first->free || segment.first->next != NULL)
        {
          i++;
          continue;
        }
      gemem_tree_remove (&self->free, &segment.first->node);
      gemem_rmm_upstream_stream_free (&self->upstream, segment.first->node.address,
                                      gemem_rmm_stream_of (handle));
      gemem_rmm_upstream_free (&self->upstream, segment.first->node.address, segment.size);
      gemem_slab_free (&self->block_slab, segment.first);
      g_array_remove_index (self->segments, i);
      self->pool -= segment.size;
      self->reclaimed++;
    }
}

/* A new free block of at least @size bytes; NULL: maximum or upstream refuse. */
static GememNeighbour *
grow (Pool *self, guint64 size, guint64 stream, guint64 handle)
{
  guint64 wanted = MAX (size, self->pool), address, left;

  if (self->maximum != GEMEM_UNLIMITED)
    {
      if (self->reclaims && size <= self->maximum)
        reclaim (self, size, handle);
      left = left_of (self);
      wanted = size <= left ? MAX (size, left / 2) : 0;
    }
  for (; wanted >= size; wanted = MAX (size, wanted / 2))
    {
      address = gemem_rmm_upstream_malloc (&self->upstream, wanted, gemem_rmm_stream_of (handle));
      if (address != 0)
        return add_segment (self, address, wanted, stream);
      if (wanted == size)
        break;
    }
  return NULL;
}

/* ---- the class */

/* A free block of at least @size bytes for stream number @own. */
static GememNeighbour *
obtain (Pool *self, guint64 own, guint64 size, guint64 handle)
{
  GememNeighbour *block = find (self, own, size);

  if (G_LIKELY (block != NULL))
    return block;
  for (guint64 other = next_list (self, 0); block == NULL && other != NO_LIST;
       other = next_list (self, other + 1))
    if (other != own)
      block = find (self, other, size);
  self->taken += block != NULL;
  for (guint64 other = next_list (self, 0); block == NULL && other != NO_LIST;
       other = next_list (self, other + 1))
    if (other != own)
      {
        self->merged += merge_list (self, other, own);
        block = find (self, own, size);
      }
  return block != NULL ? block : grow (self, size, own, handle);
}

static void
begin (Pool *self, guint64 initial)
{
  const guint64 address = gemem_rmm_upstream_malloc (&self->upstream, initial, GEMEM_RMM_LEGACY);

  if (address == 0)
    gemem_rmm_cannot_begin (&self->base, self->upstream.resource, "initial_pool_size", initial);
  else
    add_segment (self, address, initial, gemem_rmm_streams_number (&self->streams, 0));
}

static gboolean
pool_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  Pool *self = (Pool *) allocator;
  GememNeighbour *block;
  guint64 size, own;

  if (request->size > G_MAXINT64 || self->base.broken != NULL)
    return FALSE;
  own = gemem_rmm_streams_number (&self->streams, request->stream);
  size = gemem_align_up (MAX (request->size, 1), QUANTUM);
  block = obtain (self, own, size, request->stream);
  if (block == NULL)
    return FALSE;
  take (self, block, size);
  block->node.group = own;
  self->live += size;
  *result = (GememBlock){ block->node.address, size, block };
  return TRUE;
}

static void
pool_free (GememAllocator *allocator, const GememBlock *freed,
           G_GNUC_UNUSED gboolean completion_follows)
{
  Pool *self = (Pool *) allocator;
  GememNeighbour *block = freed->handle;
  guint64 stream;

  if (G_UNLIKELY (self->leaving != NULL)
      && gemem_idmap_remove (self->leaving, freed->address, &stream))
    block->node.group = gemem_rmm_streams_number (&self->streams, stream);
  self->live -= block->node.size;
  insert (self, block);
}

static void
pool_stream_free (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  Pool *self = (Pool *) allocator;

  if (self->leaving == NULL)
    self->leaving = gemem_idmap_new (sizeof (guint64));
  *(guint64 *) gemem_idmap_insert (self->leaving, block->address, NULL) = stream;
}

/* What the pool can add for a request without a call of the device; at least that where it returns
 * memory to a resource that can give it again. */
static guint64
largest_growth (const Pool *self, guint64 stream)
{
  const guint64 free = gemem_rmm_upstream_largest_free (&self->upstream, stream);
  guint64 left;

  if (self->maximum == GEMEM_UNLIMITED)
    return free >= self->pool ? free : 0;
  left = left_of (self);
  return free >= left / 2 ? MIN (free, left) : 0;
}

/* With all lists merged, which is what a request comes to before the upstream is asked. */
static guint64
pool_largest_free (GememAllocator *allocator, guint64 stream)
{
  const Pool *self = (const Pool *) allocator;
  guint64 largest = self->base.broken == NULL ? largest_growth (self, stream) : 0;

  if (self->streams.count <= 1) /* one list, whose last block is its largest */
    {
      const GememTreeNode *last = gemem_tree_last (&self->free);

      return MAX (largest, last != NULL ? last->size : 0) / QUANTUM * QUANTUM;
    }

  for (guint i = 0; i < self->segments->len; i++)
    {
      guint64 run = 0;

      for (const GememNeighbour *block = segment_at (self, i)->first; block != NULL;
           block = block->next)
        {
          run = block->free ? run + block->node.size : 0;
          largest = MAX (largest, run);
        }
    }
  return largest / QUANTUM * QUANTUM;
}

static void
pool_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Pool *self = (const Pool *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  for (guint i = 0; i < self->segments->len; i++)
    {
      const Segment *segment = segment_at (self, i);
      const guint64 start = segment->first->node.address,
                    taken = gemem_rmm_upstream_size (&self->upstream, segment->size);
      GememSpan span = { .segment = start, .segment_size = taken };

      for (const GememNeighbour *block = segment->first; block != NULL; block = block->next)
        {
          span.address = block->node.address;
          span.size = block->node.size;
          span.state = block->free ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE;
          span.user = span.address;
          g_array_append_val (spans, span);
        }
      span.address = start + segment->size;
      span.size = taken - segment->size;
      span.state = GEMEM_SPAN_OVERHEAD;
      if (span.size > 0)
        g_array_append_val (spans, span);
    }
  gemem_rmm_upstream_walk (&self->upstream, spans, func, data);
}

static gboolean
broken (GError **error, guint64 address, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "rmm-pool: block 0x%" G_GINT64_MODIFIER "x: %s", address, what);
  return FALSE;
}

static gboolean
pool_check (GememAllocator *allocator, GError **error)
{
  const Pool *self = (const Pool *) allocator;
  guint64 free_blocks = 0, live = 0, pool = 0;

  for (guint i = 0; i < self->segments->len; i++)
    {
      const GememNeighbour *previous = NULL, *block = segment_at (self, i)->first;
      guint64 end = block->node.address;

      pool += segment_at (self, i)->size;
      for (; block != NULL; previous = block, block = block->next)
        {
          if (block->node.address != end || block->previous != previous || block->node.size == 0)
            return broken (error, block->node.address, "does not follow its neighbour");
          if (block->free && gemem_neighbours_is_free (previous, block->node.group))
            return broken (error, block->node.address, "is free beside a free block of its list");
          free_blocks += block->free;
          live += block->free ? 0 : block->node.size;
          end += block->node.size;
        }
      if (end != segment_at (self, i)->first->node.address + segment_at (self, i)->size)
        return broken (error, end, "is where the blocks end, but not the upstream's allocation");
    }
  if (!gemem_tree_check (&self->free) || self->free.count != free_blocks)
    return broken (error, 0, "the free blocks and the lists differ");
  if (pool != self->pool || live != self->live)
    return broken (error, 0, "pool or live bytes were miscounted");
  return gemem_rmm_upstream_check (&self->upstream, error);
}

static void
pool_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Pool *self = (const Pool *) allocator;

  func ("pool_size", self->pool, "B", data);
  func ("allocated_bytes", self->live, "B", data);
  func ("upstream_allocations", self->segments->len, "", data);
  func ("free_blocks", self->free.count, "", data);
  func ("streams", self->streams.count, "", data);
  func ("taken_from_other_streams", self->taken, "", data);
  func ("merged_lists", self->merged, "", data);
  func ("reclaimed_allocations", self->reclaimed, "", data);
  gemem_rmm_upstream_stats (&self->upstream, func, data);
}

/* ---- creation */

static gboolean
check_params (const Params *own, GError **error)
{
  const gboolean limited = own->maximum != GEMEM_UNLIMITED;

  if (own->initial % QUANTUM != 0 || (limited && own->maximum % QUANTUM != 0))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 WHAT ": %s=%" G_GUINT64_FORMAT ": not a multiple of 256 bytes, as RMM wants it",
                 own->initial % QUANTUM != 0 ? "initial_pool_size" : "maximum_pool_size",
                 own->initial % QUANTUM != 0 ? own->initial : own->maximum);
  else if (own->initial > own->maximum)
    g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         WHAT ": initial_pool_size is above maximum_pool_size; lower it, or raise "
                              "the other");
  else
    return TRUE;
  return FALSE;
}

static GememAllocator *
pool_create (gconstpointer given, GememDevice *device, GError **error)
{
  const Params *own = given;
  Pool *self;

  if (!check_params (own, error))
    return NULL;
  self = g_new0 (Pool, 1);
  self->base.klass = &gemem_rmm_pool_class;
  self->base.device = device;
  self->maximum = own->maximum;
  self->reclaims = own->rmm.version >= GEMEM_RMM_26_10;
  if (!gemem_rmm_upstream_open (&self->upstream, &own->rmm, &self->base, error))
    {
      g_free (self);
      return NULL;
    }
  self->segments = g_array_new (FALSE, FALSE, sizeof (Segment));
  gemem_rmm_streams_init (&self->streams);
  gemem_slab_init (&self->block_slab, sizeof (GememNeighbour));
  if (own->initial != 0 && self->base.broken == NULL)
    begin (self, own->initial);
  return &self->base;
}

static void
pool_destroy (GememAllocator *allocator)
{
  Pool *self = (Pool *) allocator;

  for (guint i = 0; i < self->segments->len; i++)
    gemem_rmm_upstream_free (&self->upstream, segment_at (self, i)->first->node.address,
                             segment_at (self, i)->size);
  gemem_rmm_upstream_close (&self->upstream);
  gemem_tree_clear (&self->free);
  gemem_slab_clear (&self->block_slab);
  gemem_rmm_streams_clear (&self->streams);
  gemem_idmap_free (self->leaving);
  g_array_unref (self->segments);
  g_free (self);
}

static const GememForm forms[] = {
  { "rmm", GEMEM_FORM_CALL,
    "rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource()%s))",
    "initial_pool_size|maximum_pool_size",
    "initial_pool_size" }, /* RMM's is half of what is free */
  { NULL },
};

const GememAllocatorClass gemem_rmm_pool_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "rmm-pool",
  .aliases = "rmm",
  .summary = "RMM's pool_memory_resource: best fit per stream, taking from other streams before "
             "growing",
  .origin = "RMM 24.12 to 26.10 (peers.md 1c.1)",
  .forms = forms,
  .known_as = "pool_memory_resource|PoolMemoryResource",
  .alignment = QUANTUM,
  .params = params,
  .params_size = sizeof (Params),
  .create = pool_create,
  .alloc = pool_alloc,
  .free = pool_free,
  .prefetch = gemem_neighbours_prefetch,
  .streams.free = pool_stream_free,
  .largest_free = pool_largest_free,
  .walk = pool_walk,
  .check = pool_check,
  .destroy = pool_destroy,
  .report.stats = pool_stats,
};
