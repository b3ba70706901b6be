/* bins.c - `ge-bins`: CachingAllocator, the pool of GE's old hybrid executor and of single
 * operators, and NpuMemoryAllocator above it.
 *
 * What: seven bins by size.  Each asks the device for blocks of its own size, cuts and merges them
 * (block-set.h), and is searched alone.  npu=yes is what a program sees: padding, a
 * CachingAllocator for each stream, and the out-of-memory ladder over them.  npu=no is one bare
 * CachingAllocator. Only the ladder and trim return blocks to the device, those that are whole and
 * free.
 * Where the specification is silent: the platform's padding is 32 bytes; the user's padding is
 * added to it; the ladder's walk over every known stream, in order of creation, includes the own
 * one; a stream that cannot be synchronised ends the ladder (as in 2.1); bound to a stream, the
 * device is not asked twice.  A request is not served by the only block of exactly its size if that
 * lies below the hint (nor by a new one).
 * Invariants: a block's bin is stream number * BINS + bin, and is that of its root.
 * Cost: O(log blocks) per event; the ladder O(blocks of one stream) per step.
 * Origin: ge-runtime.md 6.1.
 */
#include "config.h"

#include "allocators/ge/block-set.h"
#include "base/idmap.h"
#include "base/units.h"

#define TIB (1024 * GEMEM_GIB)
#define BINS 7
#define NPU_ALIGN 32

/* The largest request of a bin, and what it takes from the device; the last bin's is no limit. */
static const guint64 bin_sizes[BINS] = { 512 * GEMEM_KIB,
                                         8 * GEMEM_MIB + 512,
                                         32 * GEMEM_MIB + 512,
                                         128 * GEMEM_MIB + 512,
                                         256 * GEMEM_MIB + 512,
                                         512 * GEMEM_MIB + 512,
                                         GEMEM_GIB };

enum
{
  HINT_NONE,
  HINT_LATEST,
};

typedef struct
{
  gboolean npu;
  guint64 platform_padding, padding;
  int hint;
} Params;

typedef struct
{
  GememAllocator base;
  Params params;
  GeBlockSet set;
  GArray *streams;       /* guint64: known streams in order of creation */
  GememIdMap *by_stream; /* stream -> guint64 number */
  guint64 hint;          /* address of the block that was freed last */
  guint64 syncs, failures;
} Bins;

static const GememParam params[] = {
  { .name = "npu",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .offset = G_STRUCT_OFFSET (Params, npu),
    .help = "NpuMemoryAllocator: padding, a pool for each stream and the out-of-memory ladder; no: "
            "one bare CachingAllocator for all streams." },
  { .name = "platform_padding",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "32",
    .max = "1GiB",
    .offset = G_STRUCT_OFFSET (Params, platform_padding),
    .help = "What the platform wants behind each block (npu=yes); requests are rounded to 32 bytes "
            "after it is added." },
  { .name = "padding",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    .max = "1GiB",
    .offset = G_STRUCT_OFFSET (Params, padding),
    .help = "Padding that the user asks for (npu=yes): one more, and rounded to a multiple of it; "
            "0: none." },
  { .name = "hint",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "none",
    .choices = "none|latest",
    .offset = G_STRUCT_OFFSET (Params, hint),
    .help = "Address that a block of exactly the right size should not lie below: none, or that of "
            "the block freed latest." },
  { NULL }
};

extern const GememAllocatorClass gemem_ge_bins_class;

static GememAllocator *
create (gconstpointer data, GememDevice *device, G_GNUC_UNUSED GError **error)
{
  Bins *self = g_new0 (Bins, 1);

  self->base.klass = &gemem_ge_bins_class;
  self->base.device = device;
  self->params = *(const Params *) data;
  self->streams = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->by_stream = gemem_idmap_new (sizeof (guint64));
  gemem_ge_block_set_init (&self->set, device);
  return &self->base;
}

static void
destroy (GememAllocator *allocator)
{
  Bins *self = (Bins *) allocator;

  gemem_ge_block_set_clear (&self->set);
  gemem_idmap_free (self->by_stream);
  g_array_unref (self->streams);
  g_free (self);
}

/* ---- sizes */

/* What CachingAllocator is asked for, in whole units; 0: an error in the real system, or more than
 * can be counted. */
static guint64
rounded_size (const Bins *self, guint64 size)
{
  const guint64 padding = self->params.padding;

  if (self->params.npu)
    {
      if (size == 0 || size > TIB)
        return 0;
      size = gemem_align_up (size + self->params.platform_padding, NPU_ALIGN);
      if (padding > 0)
        size = gemem_round_up (size + padding, padding);
    }
  return gemem_ge_block_round (size);
}

static guint
bin_of (guint64 size)
{
  guint bin = 0;

  while (bin < BINS - 1 && size > bin_sizes[bin])
    bin++;
  return bin;
}

/* Bytes to ask of the device; 0: more than can be counted. */
static guint64
device_size (guint bin, guint64 size)
{
  if (size <= bin_sizes[bin])
    return bin_sizes[bin];
  return size > G_MAXUINT64 - GEMEM_GIB ? 0 : gemem_align_up (size, GEMEM_GIB);
}

/* ---- events */

/* The number of the pool of @stream; creates the pool if there is none. */
static guint64
pool_of (Bins *self, guint64 stream)
{
  gboolean existed;
  guint64 *number;

  if (!self->params.npu)
    return 0;
  number = gemem_idmap_insert (self->by_stream, stream, &existed);
  if (!existed)
    {
      *number = self->streams->len;
      g_array_append_val (self->streams, stream);
    }
  return *number;
}

/* CachingAllocator's Malloc. */
static GeBinBlock *
attempt (Bins *self, guint64 pool, guint64 stream, guint64 size)
{
  const guint bin = bin_of (size);
  const guint64 group = pool * BINS + bin, bytes = device_size (bin, size);
  GeBinBlock *block = gemem_ge_block_set_take (&self->set, group, size, self->hint);

  if (block != NULL || bytes == 0)
    return block;
  if (gemem_ge_block_set_grow (&self->set, group, bytes, stream)
      || (!self->params.npu && gemem_ge_block_set_grow (&self->set, group, bytes, stream)))
    return gemem_ge_block_set_take (&self->set, group, size, self->hint);
  return NULL;
}

/* FreeBlocksAfterSynchronize; FALSE: the stream failed. */
static gboolean
free_after_synchronize (Bins *self, guint64 pool, guint64 *released)
{
  self->syncs++;
  if (!gemem_device_stream_sync (self->base.device, g_array_index (self->streams, guint64, pool)))
    return FALSE;
  *released = gemem_ge_block_set_release (&self->set, pool * BINS, pool * BINS + BINS - 1);
  return TRUE;
}

/* One step of NpuMemoryAllocator's ladder: returns the free blocks of @other, then tries again in
 * @own.  FALSE: the ladder ends. */
static gboolean
free_and_retry (Bins *self, guint64 own, guint64 other, guint64 size, GeBinBlock **block)
{
  guint64 released;

  if (!free_after_synchronize (self, other, &released))
    return FALSE;
  if (released > 0)
    self->base.retries++;
  *block = attempt (self, own, g_array_index (self->streams, guint64, own), size);
  return TRUE;
}

static GeBinBlock *
climb_ladder (Bins *self, guint64 own, guint64 size)
{
  GeBinBlock *block = NULL;

  if (!free_and_retry (self, own, own, size, &block))
    return NULL;
  for (guint64 other = 0; other < self->streams->len && block == NULL; other++)
    if (!free_and_retry (self, own, other, size, &block))
      return NULL;
  return block;
}

static gboolean
alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Bins *self = (Bins *) allocator;
  const guint64 size = rounded_size (self, request->size);
  GeBinBlock *found = NULL;

  if (size != 0)
    {
      const guint64 pool = pool_of (self, request->stream);

      found = attempt (self, pool, self->params.npu ? request->stream : 0, size);
      if (found == NULL && self->params.npu)
        found = climb_ladder (self, pool, size);
    }
  return gemem_ge_block_set_answer (found, block, &self->failures);
}

static void
release (GememAllocator *allocator, const GememBlock *block,
         G_GNUC_UNUSED gboolean completion_follows)
{
  Bins *self = (Bins *) allocator;

  if (self->params.hint == HINT_LATEST)
    self->hint = block->address;
  gemem_ge_block_set_give (&self->set, block->handle);
}

static void
trim (GememAllocator *allocator)
{
  Bins *self = (Bins *) allocator;
  guint64 released;

  if (!self->params.npu)
    gemem_ge_block_set_release (&self->set, 0, BINS - 1);
  for (guint64 pool = 0; pool < self->streams->len; pool++)
    free_after_synchronize (self, pool, &released);
}

/* ---- questions */

/* The largest request that is rounded to no more than @limit. */
static guint64
unrounded_size (const Bins *self, guint64 limit)
{
  guint64 low = 0, high = limit + 1; /* rounding up never makes less */

  while (high - low > 1)
    {
      const guint64 middle = low + (high - low) / 2, rounded = rounded_size (self, middle);

      if (rounded != 0 && rounded <= limit)
        low = middle;
      else
        high = middle;
    }
  return low;
}

static guint64
largest_free (GememAllocator *allocator, guint64 stream)
{
  Bins *self = (Bins *) allocator;
  const guint64 *number = gemem_idmap_lookup (self->by_stream, stream);

  if (self->params.npu && number == NULL)
    return 0;
  for (guint bin = BINS; bin-- > 0;)
    {
      const guint64 longest = gemem_ge_block_set_largest (
          &self->set, (number != NULL ? *number : 0) * BINS + bin, self->hint);
      const guint64 size = unrounded_size (self, bin < BINS - 1 ? MIN (longest, bin_sizes[bin])
                                                                : longest);

      if (size > 0 && bin_of (rounded_size (self, size)) == bin)
        return size;
    }
  return 0;
}

static void
walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  gemem_ge_block_set_walk (&((Bins *) allocator)->set, func, data);
}

static gboolean
check (GememAllocator *allocator, GError **error)
{
  return gemem_ge_block_set_check (&((Bins *) allocator)->set, "ge-bins", error);
}

static void
stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Bins *self = (const Bins *) allocator;

  func ("obtained", self->set.obtained, "B", data);
  func ("occupied", self->set.occupied, "B", data);
  func ("device_blocks", self->set.roots.count, "", data);
  func ("free_blocks", self->set.idle.count, "", data);
  func ("stream_pools", self->streams->len, "", data);
  func ("stream_syncs", self->syncs, "", data);
  func ("failures", self->failures, "", data);
}

const GememAllocatorClass gemem_ge_bins_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-bins",
  .summary =
      "Ascend GE's older pool: seven bins by size, cut at half, given back after synchronisation",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 6.1",
  .known_as = "CachingAllocator|NpuMemoryAllocator",
  .capabilities = GEMEM_CAP_STREAMS,
  .alignment = GE_BLOCK_UNIT,
  .params = params,
  .params_size = sizeof (Params),
  .create = create,
  .alloc = alloc,
  .free = release,
  .prefetch = gemem_ge_block_set_prefetch,
  .trim = trim,
  .largest_free = largest_free,
  .walk = walk,
  .check = check,
  .destroy = destroy,
  .report.stats = stats,
};
