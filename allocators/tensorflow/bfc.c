/* bfc.c - `tf-bfc`: the "best fit with coalescing" allocator of TensorFlow, XLA and JAX.
 *
 * Requests are rounded to 256 bytes.  Memory comes from the device in regions, each twice as large
 * as the one before (allow_growth), or in one that takes the whole limit; a refused region is asked
 * for again with 0.9 of its size, and so on.  The best fitting free chunk serves a request; it is
 * split if it is at least twice as large, or if more than a fixed amount would be wasted.  Regions
 * stay until, under garbage_collection, a request finds no memory: then all that are idle are
 * released.
 *
 * The real allocator searches 21 bins of free chunks by powers of two, in each by (size, address);
 * that is the order of one tree over all.  It knows no streams, private pools or trimming.
 *
 * Invariants: the chunks of a region cover it in order of address, no two neighbours are free; the
 * tree has exactly the free chunks; `pool` is the sum of the regions and at most the limit.
 * Cost: O(log free chunks) per operation; one record per region is allocated on the host.
 * Origin: peers.md section 1b; examples T1 to T8.  Not modelled: alignments above 256 bytes (a trace
 * has none), timestamps of a safe frontier, spatial partitioning.
 */
#include "config.h"

#include "allocators/neighbours.h"
#include "base/units.h"

#define QUANTUM G_GUINT64_CONSTANT (256)
#define FIRST_REGION (2 * GEMEM_MIB)
#define MAX_WASTE (128 * GEMEM_MIB)

typedef struct
{
  guint64 limit;
  double fragmentation_fraction;
  gboolean allow_growth, garbage_collection, coalesce_regions;
} Params;

static const GememParam params[] = {
  { .name = "limit",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "device",
    .sweep = "device|1GiB|4GiB|16GiB",
    .special = "device=0",
    .aliases = "memory_limit",
    .offset = G_STRUCT_OFFSET (Params, limit),
    .help = "Most memory that regions may take; device: all of it.  JAX takes 75 %." },
  { .name = "allow_growth",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .aliases = "TF_FORCE_GPU_ALLOW_GROWTH",
    .offset = G_STRUCT_OFFSET (Params, allow_growth),
    .help = "Regions grow with the demand; no: the first request takes the whole limit, which is "
            "what TensorFlow and JAX do on a GPU unless told otherwise." },
  { .name = "garbage_collection",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .aliases = "TF_ENABLE_GPU_GARBAGE_COLLECTION",
    .offset = G_STRUCT_OFFSET (Params, garbage_collection),
    .help = "When a request finds no memory, regions without a live chunk are released and the "
            "device is asked again." },
  { .name = "fragmentation_fraction",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "0",
    .sweep = "0|0.01|0.05|0.1",
    .min = "0",
    .max = "1",
    .aliases = "internal_fragmentation_fraction",
    .offset = G_STRUCT_OFFSET (Params, fragmentation_fraction),
    .help = "A chunk less than twice as large as the request is split if it would waste at least "
            "this part of the limit; 0: if it would waste 128 MiB." },
  { .name = "coalesce_regions",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (Params, coalesce_regions),
    .help = "A region that begins where another ends becomes part of it, as with the sub-allocator "
            "over virtual memory." },
  { NULL },
};

typedef struct
{
  guint64 address, size;
} Grant; /* of the device */

typedef struct
{
  guint64 address, size;
  GememNeighbour *first;
} Region;

typedef struct
{
  GememAllocator base;
  guint64 limit, max_waste;
  gboolean collects, coalesces;
  guint64 next_region; /* bytes of the next region, unless it must be larger */
  guint64 pool, peak_pool;
  guint64 live, peak_live, largest, allocations; /* statistics; bytes of chunks */
  GememTree free;
  GememSlab chunk_slab;
  GArray *regions; /* Region, by address */
  GArray *grants;  /* Grant, by address */
} Bfc;

extern const GememAllocatorClass gemem_tf_bfc_class;

static Region *
region_at (const Bfc *self, guint i)
{
  return &g_array_index (self->regions, Region, i);
}

static Grant *
grant_at (const Bfc *self, guint i)
{
  return &g_array_index (self->grants, Grant, i);
}

/* ---- chunks */

static void
insert_free (Bfc *self, GememNeighbour *chunk)
{
  chunk->free = TRUE;
  gemem_tree_insert (&self->free, &chunk->node);
}

static void
release (Bfc *self, GememNeighbour *chunk)
{
  insert_free (self, gemem_neighbours_coalesce (chunk, &self->free, &self->chunk_slab));
}

/* The smallest free chunk with @size bytes, the lowest among equals, cut where that is worth it.
 * NULL: none. */
static GememNeighbour *
find (Bfc *self, guint64 size)
{
  GememTreeNode *node = gemem_tree_lower_bound (&self->free, 0, size, 0);
  GememNeighbour *chunk, *rest;

  if (node == NULL)
    return NULL;
  gemem_tree_remove (&self->free, node);
  chunk = GEMEM_NEIGHBOUR_OF (node);
  chunk->free = FALSE;
  if (node->size / 2 < size && node->size - size < self->max_waste)
    return chunk;
  if (node->size == size)
    return chunk;
  rest = gemem_slab_alloc (&self->chunk_slab);
  gemem_neighbours_split (chunk, rest, node->size - size);
  insert_free (self, rest);
  return chunk;
}

/* ---- regions */

/* The last chunk of a region. */
static GememNeighbour *
last_of (const Region *region)
{
  GememNeighbour *chunk = region->first;

  while (chunk->next != NULL)
    chunk = chunk->next;
  return chunk;
}

/* Adds [@address, @address + @size), which the device granted, as a free chunk. */
static void
add_region (Bfc *self, guint64 address, guint64 size)
{
  const Grant grant = { address, size };
  const Region region = { address, size, gemem_slab_alloc (&self->chunk_slab) };
  GememNeighbour *chunk = region.first;
  guint at = self->regions->len, before = self->grants->len;

  chunk->node.address = address;
  chunk->node.size = size;
  self->pool += size;
  self->peak_pool = MAX (self->peak_pool, self->pool);
  while (before > 0 && grant_at (self, before - 1)->address > address)
    before--;
  g_array_insert_val (self->grants, before, grant);
  while (at > 0 && region_at (self, at - 1)->address > address)
    at--;
  if (self->coalesces && at > 0
      && region_at (self, at - 1)->address + region_at (self, at - 1)->size == address)
    {
      chunk->previous = last_of (region_at (self, at - 1));
      chunk->previous->next = chunk;
      region_at (self, at - 1)->size += size;
    }
  else
    g_array_insert_val (self->regions, at, region);
  release (self, chunk);
}

/* 0.9 of @size in the precision of the real system, in whole quanta, and always less. */
static guint64
back_off (guint64 size)
{
  const float less = (float) size * 0.9f;
  const guint64 rounded = gemem_align_up ((guint64) less, QUANTUM);

  return rounded < size ? rounded : size - QUANTUM;
}

/* Obtains a region of at least @size bytes; FALSE: limit or device refuse. */
static gboolean
extend (Bfc *self, guint64 size)
{
  const guint64 available = (self->limit - self->pool) / QUANTUM * QUANTUM;
  gboolean grown = FALSE;
  guint64 wanted, address;

  if (size > available)
    return FALSE;
  for (; size > self->next_region; grown = TRUE)
    self->next_region *= 2;
  wanted = MIN (self->next_region, available);
  while ((address = gemem_device_malloc (self->base.device, wanted, 0)) == 0)
    {
      wanted = wanted > QUANTUM ? back_off (wanted) : 0;
      if (wanted < size)
        return FALSE;
    }
  if (!grown && self->next_region <= G_MAXUINT64 / 4)
    self->next_region *= 2;
  add_region (self, address, wanted);
  return TRUE;
}

static gboolean
is_idle (const Region *region)
{
  return region->first->free && gemem_neighbours_alone (region->first);
}

static void
release_region (Bfc *self, guint i)
{
  const Region region = *region_at (self, i);

  gemem_tree_remove (&self->free, &region.first->node);
  gemem_slab_free (&self->chunk_slab, region.first);
  for (guint k = self->grants->len; k-- > 0;)
    if (grant_at (self, k)->address >= region.address
        && grant_at (self, k)->address - region.address < region.size)
      {
        gemem_device_free (self->base.device, grant_at (self, k)->address,
                           grant_at (self, k)->size);
        g_array_remove_index (self->grants, k);
      }
  self->pool -= region.size;
  g_array_remove_index (self->regions, i);
}

/* Releases all idle regions, if that could make place for @size bytes under the limit. */
static gboolean
release_idle (Bfc *self, guint64 size)
{
  guint64 idle = 0;

  for (guint i = 0; i < self->regions->len; i++)
    idle += is_idle (region_at (self, i)) ? region_at (self, i)->size : 0;
  if (idle == 0 || size > self->limit - self->pool + idle)
    return FALSE;
  for (guint i = 0; i < self->regions->len;)
    if (is_idle (region_at (self, i)))
      release_region (self, i);
    else
      i++;
  self->base.retries++;
  return TRUE;
}

/* ---- the class */

static gboolean
bfc_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Bfc *self = (Bfc *) allocator;
  GememNeighbour *chunk;
  guint64 size;

  if (request->size > self->limit)
    return FALSE;
  size = gemem_align_up (MAX (request->size, 1), QUANTUM);
  chunk = find (self, size);
  if (chunk == NULL && extend (self, size))
    chunk = find (self, size);
  if (chunk == NULL && self->collects && release_idle (self, size) && extend (self, size))
    chunk = find (self, size);
  if (chunk == NULL)
    return FALSE;
  self->allocations++;
  self->live += chunk->node.size;
  self->peak_live = MAX (self->peak_live, self->live);
  self->largest = MAX (self->largest, chunk->node.size);
  *block = (GememBlock){ chunk->node.address, chunk->node.size, chunk };
  return TRUE;
}

static void
bfc_free (GememAllocator *allocator, const GememBlock *block,
          G_GNUC_UNUSED gboolean completion_follows)
{
  Bfc *self = (Bfc *) allocator;
  GememNeighbour *chunk = block->handle;

  self->live -= chunk->node.size;
  release (self, chunk);
}

static guint64
bfc_largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  const GememTreeNode *last = gemem_tree_last (&((Bfc *) allocator)->free);

  return last != NULL ? last->size : 0;
}

static void
bfc_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Bfc *self = (const Bfc *) allocator;

  for (guint i = 0; i < self->regions->len; i++)
    for (const GememNeighbour *chunk = region_at (self, i)->first; chunk != NULL;
         chunk = chunk->next)
      {
        const GememSpan span = { .address = chunk->node.address,
                                 .size = chunk->node.size,
                                 .segment = region_at (self, i)->address,
                                 .segment_size = region_at (self, i)->size,
                                 .state = chunk->free ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE,
                                 .user = chunk->node.address };
        func (&span, data);
      }
}

static gboolean
broken (GError **error, guint64 address, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "tf-bfc: chunk 0x%" G_GINT64_MODIFIER "x: %s", address, what);
  return FALSE;
}

static gboolean
check_region (const Region *region, guint64 *free_chunks, guint64 *live, GError **error)
{
  const GememNeighbour *previous = NULL;
  guint64 end = region->address;

  for (const GememNeighbour *chunk = region->first; chunk != NULL;
       previous = chunk, chunk = chunk->next)
    {
      if (chunk->node.address != end || chunk->previous != previous || chunk->node.size == 0)
        return broken (error, chunk->node.address, "does not follow its neighbour");
      if (chunk->free && previous != NULL && previous->free)
        return broken (error, chunk->node.address, "is free beside a free chunk");
      *free_chunks += chunk->free;
      *live += chunk->free ? 0 : chunk->node.size;
      end += chunk->node.size;
    }
  return end == region->address + region->size
         || broken (error, region->address, "the chunks do not fill the region");
}

static gboolean
bfc_check (GememAllocator *allocator, GError **error)
{
  const Bfc *self = (const Bfc *) allocator;
  guint64 free_chunks = 0, live = 0, pool = 0, granted = 0;

  for (guint i = 0; i < self->regions->len; i++)
    {
      if (!check_region (region_at (self, i), &free_chunks, &live, error))
        return FALSE;
      pool += region_at (self, i)->size;
    }
  for (guint i = 0; i < self->grants->len; i++)
    granted += grant_at (self, i)->size;
  if (!gemem_tree_check (&self->free) || self->free.count != free_chunks)
    return broken (error, 0, "the free chunks and the tree differ");
  return (pool == self->pool && granted == pool && live == self->live && pool <= self->limit)
         || broken (error, 0, "regions or live bytes were miscounted");
}

/* As in TensorFlow's and JAX's memory statistics. */
static void
bfc_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Bfc *self = (const Bfc *) allocator;

  func ("num_allocs", self->allocations, "", data);
  func ("bytes_in_use", self->live, "B", data);
  func ("peak_bytes_in_use", self->peak_live, "B", data);
  func ("largest_alloc_size", self->largest, "B", data);
  func ("bytes_limit", self->limit, "B", data);
  func ("pool_bytes", self->pool, "B", data);
  func ("peak_pool_bytes", self->peak_pool, "B", data);
  func ("largest_free_block_bytes", bfc_largest_free (allocator, 0), "B", data);
  func ("regions", self->regions->len, "", data);
}

static GememAllocator *
bfc_create (gconstpointer given, GememDevice *device, G_GNUC_UNUSED GError **error)
{
  const Params *own = given;
  GememDeviceInfo info = { 0 };
  Bfc *self = g_new0 (Bfc, 1);

  gemem_device_info (device, &info);
  self->base.klass = &gemem_tf_bfc_class;
  self->base.device = device;
  self->limit = MIN (own->limit != 0 ? own->limit : info.total, G_MAXINT64);
  self->max_waste = own->fragmentation_fraction > 0
                        ? (guint64) (own->fragmentation_fraction * (double) self->limit)
                        : MAX_WASTE;
  self->next_region = gemem_align_up (
      own->allow_growth ? MIN (self->limit, FIRST_REGION) : self->limit, QUANTUM);
  self->collects = own->garbage_collection;
  self->coalesces = own->coalesce_regions;
  self->regions = g_array_new (FALSE, FALSE, sizeof (Region));
  self->grants = g_array_new (FALSE, FALSE, sizeof (Grant));
  gemem_slab_init (&self->chunk_slab, sizeof (GememNeighbour));
  return &self->base;
}

static void
bfc_destroy (GememAllocator *allocator)
{
  Bfc *self = (Bfc *) allocator;

  for (guint i = 0; i < self->grants->len; i++)
    gemem_device_free (allocator->device, grant_at (self, i)->address, grant_at (self, i)->size);
  gemem_tree_clear (&self->free);
  gemem_slab_clear (&self->chunk_slab);
  g_array_unref (self->regions);
  g_array_unref (self->grants);
  g_free (self);
}

const GememAllocatorClass gemem_tf_bfc_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "tf-bfc",
  .aliases = "bfc|tensorflow|xla|jax",
  .summary = "TensorFlow's, XLA's and JAX's best fit with coalescing over growing regions",
  .origin = "TensorFlow 2.21 (peers.md 1b)",
  .known_as = "BFCAllocator|GPU_0_bfc|TF_GPU_ALLOCATOR",
  .alignment = QUANTUM,
  .params = params,
  .params_size = sizeof (Params),
  .create = bfc_create,
  .alloc = bfc_alloc,
  .free = bfc_free,
  .prefetch = gemem_neighbours_prefetch,
  .largest_free = bfc_largest_free,
  .walk = bfc_walk,
  .check = bfc_check,
  .destroy = bfc_destroy,
  .report.stats = bfc_stats,
};
