/* pool.c - `cupy-pool`: CuPy's memory pool of one device.
 *
 * Requests are rounded to 512 bytes.  A request takes the best fitting free chunk of its stream,
 * and cuts it whatever remains; without one it gets a device allocation of exactly its size.  A
 * freed chunk merges with its neighbours in the same device allocation.  What has become whole
 * again is returned to the device when the program says so (free_all_blocks), or before a
 * request fails.
 *
 * Free chunks of equal size are ordered by address; CuPy orders them by the identity of its own
 * objects, which no trace tells.  With tie=recorded the recorded address decides, if it is that
 * of one of them.
 *
 * Invariants: the chunks of a device allocation cover it in order of address, all of one stream; no
 * two neighbours are free; the tree has exactly the free chunks.
 * Cost: O(log free chunks) per operation; a pass over all free chunks where they are returned.
 * Origin: peers.md section 1i.1.  Not modelled: CuPy's asynchronous pool, and what Python's garbage
 * collector frees on the way (it is in the trace if it was recorded).
 */
#include "config.h"

#include "allocators/neighbours.h"
#include "base/units.h"

#define UNIT G_GUINT64_CONSTANT (512)
/* The device is asked again: after a release, and after Python's garbage collection. */
#define AGAIN 2

enum
{
  TIE_LOWEST_ADDRESS,
  TIE_RECORDED
};

enum
{
  VERSION_13,
  VERSION_14
};

typedef struct
{
  guint64 limit;
  int tie, version;
} Params;

static const GememParam params[] = {
  { .name = "limit",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY | GEMEM_PARAM_PERCENT,
    .default_text = "none",
    .sweep = "none|64MiB|1GiB",
    .special = "none=0",
    .aliases = "CUPY_GPU_MEMORY_LIMIT|set_limit",
    .offset = G_STRUCT_OFFSET (Params, limit),
    .help = "Most bytes that the pool holds, or a part of the device as 50%." },
  { .name = "tie",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "lowest_address",
    .choices = "lowest_address|recorded",
    .offset = G_STRUCT_OFFSET (Params, tie),
    .help = "Which of several free chunks of equal size is taken: the lowest, or the one that the "
            "recording has, if it has one of them. CuPy goes by the identity of its own objects." },
  { .name = "version",
    .type = GEMEM_PARAM_CHOICE,
    .flags = GEMEM_PARAM_RELEASE | GEMEM_PARAM_NEAREST,
    .default_text = "14.2",
    .choices = "13.6|14.2",
    .offset = G_STRUCT_OFFSET (Params, version),
    .help = "Decides as this release: before 14 a request above the limit returns what is idle "
            "before it fails." },
  { NULL },
};

typedef struct
{
  GememAllocator base;
  guint64 limit;       /* GEMEM_UNLIMITED: none */
  gboolean follows;    /* tie=recorded */
  gboolean returns;    /* idle memory, even if the limit is below the request */
  guint64 total, used; /* bytes held, and of live chunks */
  GememTree free;      /* group: stream */
  GememSlab chunk_slab;
  GPtrArray *buffers; /* GememNeighbour: the first chunk of each device allocation, by address */
} CupyPool;

extern const GememAllocatorClass gemem_cupy_pool_class;

/* ---- device allocations */

/* Index of the first device allocation at @address or above. */
static guint
position_of (const CupyPool *self, guint64 address)
{
  guint low = 0, high = self->buffers->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (((GememNeighbour *) self->buffers->pdata[middle])->node.address < address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Returns what is whole again, stream by stream and by ascending size; TRUE if there was any. */
static gboolean
free_all_blocks (CupyPool *self)
{
  const guint64 before = self->total;
  GememTreeNode *next;

  for (GememTreeNode *node = gemem_tree_first (&self->free); node != NULL; node = next)
    {
      GememNeighbour *chunk = GEMEM_NEIGHBOUR_OF (node);

      next = gemem_tree_next (node);
      if (!gemem_neighbours_alone (chunk))
        continue;
      gemem_tree_remove (&self->free, node);
      gemem_device_free (self->base.device, node->address, node->size);
      self->total -= node->size;
      g_ptr_array_remove_index (self->buffers, position_of (self, node->address));
      gemem_slab_free (&self->chunk_slab, chunk);
    }
  return self->total < before;
}

/* TRUE if @size more bytes are within the limit, after returning what is idle if need be. */
static gboolean
within_limit (CupyPool *self, guint64 size)
{
  if (size <= self->limit && self->total <= self->limit - size)
    return TRUE;
  if (size <= self->limit || self->returns)
    self->base.retries += free_all_blocks (self);
  return size <= self->limit && self->total <= self->limit - size;
}

/* A device allocation of @size bytes as one chunk; NULL: limit or device refuse. */
static GememNeighbour *
obtain (CupyPool *self, guint64 size, guint64 stream)
{
  GememNeighbour *chunk;
  guint64 address;

  if (!within_limit (self, size))
    return NULL;
  address = gemem_device_malloc (self->base.device, size, stream);
  for (guint i = 0; address == 0 && i < AGAIN; i++)
    {
      self->base.retries += free_all_blocks (self);
      address = gemem_device_malloc (self->base.device, size, stream);
    }
  if (address == 0)
    return NULL;
  chunk = gemem_slab_alloc (&self->chunk_slab);
  chunk->node = (GememTreeNode){ .size = size, .address = address, .group = stream };
  g_ptr_array_insert (self->buffers, (int) position_of (self, address), chunk);
  self->total += size;
  return chunk;
}

/* ---- the class */

static void
insert (CupyPool *self, GememNeighbour *chunk)
{
  chunk->free = TRUE;
  gemem_tree_insert (&self->free, &chunk->node);
}

/* The best fitting free chunk of the stream, or NULL. */
static GememTreeNode *
best_fit (CupyPool *self, const GememRequest *request, guint64 size)
{
  GememTreeNode *best = gemem_tree_fit (&self->free, request->stream, size), *recorded;

  if (best == NULL || best->group != request->stream)
    return NULL;
  if (!self->follows)
    return best;
  recorded = gemem_tree_lower_bound (&self->free, best->group, best->size, request->address);
  return recorded != NULL && recorded->group == best->group && recorded->size == best->size
                 && recorded->address == request->address
             ? recorded
             : best;
}

static gboolean
cupy_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  CupyPool *self = (CupyPool *) allocator;
  GememTreeNode *node;
  GememNeighbour *chunk, *rest;
  guint64 size;

  if (request->size > G_MAXINT64)
    return FALSE;
  size = gemem_align_up (MAX (request->size, 1), UNIT);
  node = best_fit (self, request, size);
  if (node != NULL)
    {
      chunk = GEMEM_NEIGHBOUR_OF (node);
      gemem_tree_remove (&self->free, node);
      chunk->free = FALSE;
      if (node->size > size)
        {
          rest = gemem_slab_alloc (&self->chunk_slab);
          gemem_neighbours_split (chunk, rest, node->size - size);
          insert (self, rest);
        }
    }
  else
    chunk = obtain (self, size, request->stream);
  if (chunk == NULL)
    return FALSE;
  self->used += size;
  *block = (GememBlock){ chunk->node.address, size, chunk };
  return TRUE;
}

static void
cupy_free (GememAllocator *allocator, const GememBlock *block,
           G_GNUC_UNUSED gboolean completion_follows)
{
  CupyPool *self = (CupyPool *) allocator;
  GememNeighbour *chunk = block->handle;

  self->used -= chunk->node.size;
  insert (self, gemem_neighbours_coalesce (chunk, &self->free, &self->chunk_slab));
}

static void
cupy_trim (GememAllocator *allocator)
{
  free_all_blocks ((CupyPool *) allocator);
}

static guint64
cupy_largest_free (GememAllocator *allocator, guint64 stream)
{
  const GememTreeNode *node = gemem_tree_before (&((CupyPool *) allocator)->free, stream,
                                                 G_MAXUINT64, G_MAXUINT64);

  return node != NULL && node->group == stream ? node->size : 0;
}

/* The bytes of the device allocation that begins with @chunk. */
static guint64
size_of (const GememNeighbour *chunk)
{
  guint64 size = 0;

  for (; chunk != NULL; chunk = chunk->next)
    size += chunk->node.size;
  return size;
}

static void
cupy_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const CupyPool *self = (const CupyPool *) allocator;

  for (guint i = 0; i < self->buffers->len; i++)
    {
      const GememNeighbour *first = self->buffers->pdata[i];
      GememSpan span = { .segment = first->node.address,
                         .segment_size = size_of (first),
                         .stream = first->node.group };

      for (const GememNeighbour *chunk = first; chunk != NULL; chunk = chunk->next)
        {
          span.address = span.user = chunk->node.address;
          span.size = chunk->node.size;
          span.state = chunk->free ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE;
          func (&span, data);
        }
    }
}

static gboolean
cupy_check (GememAllocator *allocator, GError **error)
{
  const CupyPool *self = (const CupyPool *) allocator;
  guint64 total = 0, used = 0, free_chunks = 0, end = 0;
  gboolean ok = gemem_tree_check (&self->free);

  for (guint i = 0; i < self->buffers->len; i++)
    for (const GememNeighbour *chunk = self->buffers->pdata[i], *before = NULL; chunk != NULL;
         before = chunk, chunk = chunk->next)
      {
        ok &= chunk->previous == before && chunk->node.size % UNIT == 0 && chunk->node.size > 0
              && (before != NULL ? chunk->node.address == end : chunk->node.address >= end)
              && (before == NULL || chunk->node.group == before->node.group)
              && !(before != NULL && before->free && chunk->free);
        end = chunk->node.address + chunk->node.size;
        total += chunk->node.size;
        used += chunk->free ? 0 : chunk->node.size;
        free_chunks += chunk->free;
      }
  if (ok && total == self->total && used == self->used && free_chunks == self->free.count
      && total <= self->limit)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "cupy-pool: %" G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT
               " of them used, in chunks that do not add up",
               self->total, self->used);
  return FALSE;
}

/* As the methods of cupy.cuda.MemoryPool are called. */
static void
cupy_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const CupyPool *self = (const CupyPool *) allocator;

  func ("used_bytes", self->used, "B", data);
  func ("free_bytes", self->total - self->used, "B", data);
  func ("total_bytes", self->total, "B", data);
  func ("n_free_blocks", self->free.count, "", data);
}

static GememAllocator *
cupy_create (gconstpointer given, GememDevice *device, G_GNUC_UNUSED GError **error)
{
  const Params *own = given;
  CupyPool *self = g_new0 (CupyPool, 1);

  self->base.klass = &gemem_cupy_pool_class;
  self->base.device = device;
  self->limit = own->limit != 0 ? own->limit : GEMEM_UNLIMITED;
  self->follows = own->tie == TIE_RECORDED;
  self->returns = own->version < VERSION_14;
  self->buffers = g_ptr_array_new ();
  gemem_slab_init (&self->chunk_slab, sizeof (GememNeighbour));
  return &self->base;
}

static void
cupy_destroy (GememAllocator *allocator)
{
  CupyPool *self = (CupyPool *) allocator;

  for (guint i = 0; i < self->buffers->len; i++)
    {
      const GememNeighbour *first = self->buffers->pdata[i];
      gemem_device_free (allocator->device, first->node.address, size_of (first));
    }
  gemem_tree_clear (&self->free);
  gemem_slab_clear (&self->chunk_slab);
  g_ptr_array_unref (self->buffers);
  g_free (self);
}

static const GememForm forms[] = {
  /* a call, as $CUPY_GPU_MEMORY_LIMIT does nothing where the program sets a limit itself */
  { "cupy", GEMEM_FORM_CALL, "cupy.get_default_memory_pool().set_limit(size=%s)", "limit",
    "limit" },
  { "cupy", GEMEM_FORM_VARIABLES, NULL, "limit" },
  { NULL },
};

const GememAllocatorClass gemem_cupy_pool_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "cupy-pool",
  .aliases = "cupy",
  .summary = "CuPy's memory pool: best fit per stream in device allocations of the requests' size",
  .origin = "CuPy 13.6, 14.2 (peers.md 1i.1)",
  .forms = forms,
  .known_as = "SingleDeviceMemoryPool|MemoryPool|free_all_blocks",
  .capabilities = GEMEM_CAP_STREAMS,
  .alignment = UNIT,
  .params = params,
  .params_size = sizeof (Params),
  .create = cupy_create,
  .alloc = cupy_alloc,
  .free = cupy_free,
  .prefetch = gemem_neighbours_prefetch,
  .trim = cupy_trim,
  .largest_free = cupy_largest_free,
  .walk = cupy_walk,
  .check = cupy_check,
  .destroy = cupy_destroy,
  .report.stats = cupy_stats,
};
