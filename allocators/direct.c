/* direct.c - `direct`: one device call per request, without a cache.
 *
 * Why: the baseline.  Its reserved bytes are the live bytes, the least memory that any on-line
 * allocator without moving blocks can hold; its modelled latency shows what caching saves.
 *
 * Invariants: block size == request, reserved == sum of live blocks.  The promised alignment is 1
 * byte for the lower bound (the device counts bytes as requested); real addresses have the device's
 * alignment.
 * Cost: O(1) per operation, which touches one record of 32 bytes in a pool; walk() visits the whole
 * pool and sorts.
 * Origin: cudaMalloc and cudaFree per request (PYTORCH_NO_CUDA_MEMORY_CACHING=1, peers.md section
 * 1a.11).
 */
#include "config.h"

#include "allocators/allocator.h"

#define SLICE 1024 /* records per allocation from the heap */

typedef struct _DirectBlock DirectBlock;

struct _DirectBlock
{
  union
  {
    guint64 address;
    DirectBlock *next; /* next unused record */
  };
  guint64 size; /* 0: unused */
  guint64 stream;
  guint32 pool;
};

typedef struct
{
  GememAllocator base;
  GPtrArray *slices; /* of SLICE records each */
  DirectBlock *unused;
  guint64 count, bytes, peak_bytes, failed;
} Direct;

extern const GememAllocatorClass gemem_direct_class;

static GememAllocator *
direct_create (gconstpointer params, GememDevice *device, GError **error)
{
  Direct *direct = g_new0 (Direct, 1);

  direct->base.klass = &gemem_direct_class;
  direct->base.device = device;
  direct->slices = g_ptr_array_new_with_free_func (g_free);
  return &direct->base;
}

/* Adds a slice of unused records; they are taken in ascending order. */
static void
add_slice (Direct *direct)
{
  DirectBlock *slice = g_new0 (DirectBlock, SLICE);

  g_ptr_array_add (direct->slices, slice);
  for (guint i = SLICE; i-- > 0;)
    {
      slice[i].next = direct->unused;
      direct->unused = &slice[i];
    }
}

static void
keep (Direct *direct, guint64 address, guint64 size, guint64 stream, guint32 pool,
      GememBlock *block)
{
  DirectBlock *node;

  if (G_UNLIKELY (direct->unused == NULL))
    add_slice (direct);
  node = direct->unused;
  direct->unused = node->next;
  node->address = address;
  node->size = size;
  node->stream = stream;
  node->pool = pool;
  direct->count++;
  direct->bytes += size;
  direct->peak_bytes = MAX (direct->peak_bytes, direct->bytes);
  block->address = address;
  block->size = size;
  block->handle = node;
}

static gboolean
direct_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Direct *direct = (Direct *) allocator;
  const guint64 address = gemem_device_malloc (allocator->device, request->size, request->stream);

  if (G_UNLIKELY (address == 0))
    {
      direct->failed++;
      return FALSE;
    }
  keep (direct, address, request->size, request->stream, request->pool, block);
  return TRUE;
}

static void
direct_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  Direct *direct = (Direct *) allocator;
  DirectBlock *node = block->handle;

  direct->count--;
  direct->bytes -= block->size;
  gemem_device_free (allocator->device, block->address, block->size);
  node->size = 0;
  node->next = direct->unused;
  direct->unused = node;
}

static guint64
direct_largest_free (GememAllocator *allocator, guint64 stream)
{
  return 0;
}

static int
compare_address (gconstpointer a, gconstpointer b)
{
  const DirectBlock *x = *(const DirectBlock *const *) a, *y = *(const DirectBlock *const *) b;

  return x->address < y->address ? -1 : x->address > y->address;
}

/* The live blocks by address. */
static GPtrArray *
sorted_blocks (const Direct *direct)
{
  GPtrArray *blocks = g_ptr_array_new ();

  for (guint s = 0; s < direct->slices->len; s++)
    {
      DirectBlock *slice = direct->slices->pdata[s];
      for (guint i = 0; i < SLICE; i++)
        if (slice[i].size != 0)
          g_ptr_array_add (blocks, &slice[i]);
    }
  g_ptr_array_sort (blocks, compare_address);
  return blocks;
}

static void
direct_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  g_autoptr (GPtrArray) blocks = sorted_blocks ((Direct *) allocator);

  for (guint i = 0; i < blocks->len; i++)
    {
      const DirectBlock *node = g_ptr_array_index (blocks, i);
      const GememSpan span = { node->address, node->size, node->address,   node->size,
                               node->stream,  node->pool, GEMEM_SPAN_LIVE, node->address };

      func (&span, data);
    }
}

static gboolean
direct_check (GememAllocator *allocator, GError **error)
{
  const Direct *direct = (const Direct *) allocator;
  g_autoptr (GPtrArray) blocks = sorted_blocks (direct);
  guint64 bytes = 0, end = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      const DirectBlock *node = g_ptr_array_index (blocks, i);

      if (node->address < end)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "direct: block 0x%" G_GINT64_MODIFIER "x overlaps its neighbour",
                       node->address);
          return FALSE;
        }
      end = node->address + node->size;
      bytes += node->size;
    }
  if (blocks->len == direct->count && bytes == direct->bytes)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "direct: %u blocks of %" G_GUINT64_FORMAT " bytes are there, %" G_GUINT64_FORMAT
               " of %" G_GUINT64_FORMAT " were counted",
               blocks->len, bytes, direct->count, direct->bytes);
  return FALSE;
}

static void
direct_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Direct *direct = (const Direct *) allocator;

  func ("blocks", direct->count, "", data);
  func ("bytes", direct->bytes, "B", data);
  func ("peak_bytes", direct->peak_bytes, "B", data);
  func ("failed_requests", direct->failed, "", data);
}

static void
direct_destroy (GememAllocator *allocator)
{
  Direct *direct = (Direct *) allocator;
  g_autoptr (GPtrArray) blocks = sorted_blocks (direct);

  for (guint i = 0; i < blocks->len; i++)
    {
      const DirectBlock *node = g_ptr_array_index (blocks, i);
      gemem_device_free (allocator->device, node->address, node->size);
    }
  g_ptr_array_unref (direct->slices);
  g_free (direct);
}

/* The recorded segments belong to the program's own allocator; only the blocks matter here. */
static gboolean
direct_adopt_segment (GememAllocator *allocator, const GememAdopt *segment)
{
  return TRUE;
}

static gboolean
direct_adopt_block (GememAllocator *allocator, const GememAdopt *adopt, GememBlock *block)
{
  Direct *direct = (Direct *) allocator;

  if (!gemem_device_adopt (allocator->device, adopt->address, adopt->requested))
    return FALSE;
  keep (direct, adopt->address, adopt->requested, adopt->stream, adopt->pool, block);
  return TRUE;
}

const GememAllocatorClass gemem_direct_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "direct",
  .aliases = "none|no-cache",
  .summary = "A device call for every request, nothing cached",
  .origin =
      "cudaMalloc and cudaFree per request; PYTORCH_NO_CUDA_MEMORY_CACHING=1 (peers.md 1a.11)",
  .alignment = 1,
  .create = direct_create,
  .alloc = direct_alloc,
  .free = direct_free,
  .largest_free = direct_largest_free,
  .walk = direct_walk,
  .check = direct_check,
  .destroy = direct_destroy,
  .adopt = { .segment = direct_adopt_segment, .block = direct_adopt_block },
  .report.stats = direct_stats,
};
