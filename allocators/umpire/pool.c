/* pool.c - Umpire's QuickPool (`umpire-quick`) and DynamicPoolList (`umpire-list`): blocks of the
 * device, cut into chunks.
 *
 * Requests are rounded up to the alignment.  The smallest chunk that suffices serves a request and
 * is cut at its size; without one the device is asked for a block, of at least `first` bytes when
 * the pool is empty and of at least `next` bytes otherwise.  Each device call is one alignment
 * longer than the block, whose start is rounded up.  A freed chunk merges with its neighbours in
 * its block.  Blocks that are whole and free again ("releasable") return to the device when the
 * program releases the pool, before a request fails, and when a heuristic says after a free that
 * the pool should coalesce: what it released it then asks for again, as one block.
 *
 * The two pools differ in two rules.  Of free chunks of equal size QuickPool takes the one that
 * became free first, DynamicPoolList the one at the lowest address.  A free of QuickPool may
 * coalesce; the block with which it does so is freed like any other, so that the heuristic is asked
 * again.  Where the answer stays the same the real program recurses until its stack overflows: the
 * run is marked, and the replay goes on from the state that repeats.  A free of DynamicPoolList
 * coalesces only if more than one block is whole and free, and the heuristic is not asked again.
 *
 * Invariants: the chunks of a block cover it in order of address, and no two neighbours are free;
 * the tree has exactly the free chunks; `releasable` has exactly the free chunks that are a whole
 * block.
 * Cost: O(log free chunks) per operation, O(log) for each block released.
 * Origin: peers.md sections 1k, 1k.1 (QuickPool) and 1k.2 (DynamicPoolList).
 */
#include "config.h"

#include "allocators/neighbours.h"
#include "allocators/umpire/heuristic.h"
#include "base/units.h"

typedef struct
{
  guint64 first, next, alignment;
  char *coalesce;
} UmpireParams;

typedef struct _UmpireChunk UmpireChunk;

/* What one call of the device gave. */
typedef struct
{
  GememTreeNode by_address; /* address: as the device gave it */
  GememTreeNode releasable; /* in the tree while whole and free, in the order of release */
  guint64 size;             /* without the bytes for the alignment */
  UmpireChunk *first;
} UmpireBlock;

struct _UmpireChunk
{
  GememNeighbour part; /* in the tree node.address orders chunks of one size */
  guint64 address;
  UmpireBlock *block;
};

typedef struct
{
  GememAllocator base;
  UmpireParams params; /* without the text */
  UmpireHeuristic heuristic;
  guint64 least_blocks; /* releasable ones; with fewer the heuristic does not hit */
  gboolean by_age;      /* chunks of equal size: the one that became free first, else the lowest */
  guint64 aligned;      /* rounded bytes in use */
  guint64 aligned_high; /* most of them */
  guint64 actual;       /* bytes of all blocks */
  guint64 actual_high;  /* most of them */
  guint64 releasable_now; /* bytes of the blocks in `releasable` */
  guint64 age;            /* chunks that became free so far */
  guint64 chunks;
  GememTree free, blocks, releasable;
  GememSlab chunk_slab, block_slab;
} UmpirePool;

extern const GememAllocatorClass gemem_umpire_quick_class, gemem_umpire_list_class;

#define FIELD(field) .offset = G_STRUCT_OFFSET (UmpireParams, field)

static const GememParam parameters[] = {
  { .name = "first",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "512MiB",
    .max = "1024TiB",
    .sweep = "1MiB|64MiB|512MiB",
    .aliases = "first_minimum_pool_allocation_size",
    FIELD (first),
    .help = "Smallest block that the device is asked for while the pool has none." },
  { .name = "next",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "1MiB",
    .max = "1024TiB",
    .sweep = "1MiB|16MiB|256MiB",
    .aliases = "next_minimum_pool_allocation_size",
    FIELD (next),
    .help = "Smallest block that the device is asked for otherwise." },
  { .name = "alignment",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "16",
    .min = "16",
    .max = "1GiB",
    .sweep = "16|256|4KiB",
    FIELD (alignment),
    .help = "Addresses and sizes are multiples of this power of two, by which each device call is "
            "longer than its block." },
  { .name = "coalesce",
    .type = GEMEM_PARAM_STRING,
    .default_text = "percent_releasable_hwm:100",
    .choices = "percent_releasable:0|percent_releasable:100|percent_releasable:50|"
               "percent_releasable_hwm:25|blocks_releasable:2|blocks_releasable_hwm:1",
    .aliases = "should_coalesce",
    FIELD (coalesce),
    .help = "When a free coalesces: percent_releasable:N, percent_releasable_hwm:N, "
            "blocks_releasable:N or blocks_releasable_hwm:N; percent_releasable:0: never." },
  { NULL },
};

static UmpireChunk *
chunk_of (GememTreeNode *node)
{
  return (UmpireChunk *) GEMEM_NEIGHBOUR_OF (node);
}

static gboolean
is_whole (const UmpireChunk *chunk)
{
  return gemem_neighbours_alone (&chunk->part);
}

/* ---- free chunks */

static void
insert (UmpirePool *self, UmpireChunk *chunk)
{
  GememTreeNode *node = &chunk->part.node;

  node->address = self->by_age ? ++self->age : chunk->address;
  chunk->part.free = TRUE;
  gemem_tree_insert (&self->free, node);
  if (!is_whole (chunk))
    return;
  chunk->block->releasable = (GememTreeNode){ .size = self->by_age ? node->size : 0,
                                              .address = node->address };
  gemem_tree_insert (&self->releasable, &chunk->block->releasable);
  self->releasable_now += node->size;
}

static void
extract (UmpirePool *self, UmpireChunk *chunk)
{
  gemem_tree_remove (&self->free, &chunk->part.node);
  chunk->part.free = FALSE;
  if (!is_whole (chunk))
    return;
  gemem_tree_remove (&self->releasable, &chunk->block->releasable);
  self->releasable_now -= chunk->part.node.size;
}

/* Returns every block that is whole and free; TRUE if there was one. */
static gboolean
release (UmpirePool *self)
{
  const gboolean any = self->releasable.count > 0;
  GememTreeNode *node;

  while ((node = gemem_tree_first (&self->releasable)) != NULL)
    {
      UmpireBlock *block = GEMEM_TREE_ENTRY (node, UmpireBlock, releasable);

      extract (self, block->first);
      gemem_tree_remove (&self->blocks, &block->by_address);
      gemem_device_free (self->base.device, block->by_address.address,
                         block->size + self->params.alignment);
      self->actual -= block->size;
      self->chunks--;
      gemem_slab_free (&self->chunk_slab, block->first);
      gemem_slab_free (&self->block_slab, block);
    }
  return any;
}

/* A new block as one chunk that is in no tree; NULL: the device refused, even after releasing. */
static UmpireChunk *
obtain (UmpirePool *self, guint64 least)
{
  const guint64 size = MAX (least, self->actual == 0 ? self->params.first : self->params.next),
                call = size + self->params.alignment;
  guint64 address = gemem_device_malloc (self->base.device, call, 0);
  UmpireBlock *block;

  if (address == 0)
    {
      self->base.retries += release (self);
      address = gemem_device_malloc (self->base.device, call, 0);
    }
  if (address == 0)
    return NULL;
  block = gemem_slab_alloc (&self->block_slab);
  block->by_address.address = address;
  block->size = size;
  block->first = gemem_slab_alloc (&self->chunk_slab);
  block->first->part.node.size = size;
  block->first->address = gemem_align_up (address, self->params.alignment);
  block->first->block = block;
  gemem_tree_insert (&self->blocks, &block->by_address);
  self->chunks++;
  self->actual += size;
  self->actual_high = MAX (self->actual_high, self->actual);
  return block->first;
}

/* Allocates @n bytes, at least 1; NULL: out of memory. */
static UmpireChunk *
take (UmpirePool *self, guint64 n)
{
  const guint64 size = gemem_align_up (n, self->params.alignment);
  GememTreeNode *node = gemem_tree_fit (&self->free, 0, size);
  UmpireChunk *chunk, *rest;

  if (node != NULL)
    {
      chunk = chunk_of (node);
      extract (self, chunk);
    }
  else
    chunk = obtain (self, size);
  if (chunk == NULL)
    return NULL;
  if (chunk->part.node.size > size)
    {
      rest = gemem_slab_alloc (&self->chunk_slab);
      gemem_neighbours_split (&chunk->part, &rest->part, chunk->part.node.size - size);
      rest->address = chunk->address + size;
      rest->block = chunk->block;
      self->chunks++;
      insert (self, rest);
    }
  self->aligned += size;
  self->aligned_high = MAX (self->aligned_high, self->aligned);
  return chunk;
}

/* Frees @chunk without asking the heuristic. */
static void
put (UmpirePool *self, UmpireChunk *chunk)
{
  const guint64 before = self->free.count;

  self->aligned -= chunk->part.node.size;
  chunk = (UmpireChunk *) gemem_neighbours_coalesce (&chunk->part, &self->free, &self->chunk_slab);
  self->chunks -= before - self->free.count;
  insert (self, chunk);
}

/* ---- coalescing */

/* Releases, and makes up for what is missing to @bytes with one block, which is then free.  FALSE:
 * nothing was missing, or the device refused, which ends the real program and marks the run. */
static gboolean
coalesce (UmpirePool *self, guint64 bytes)
{
  UmpireChunk *chunk;

  release (self);
  if (self->actual >= bytes)
    return FALSE;
  chunk = take (self, bytes - self->actual);
  if (chunk == NULL)
    {
      gemem_allocator_break_rule (
          &self->base,
          "the device refused the %" G_GUINT64_FORMAT
          " bytes with which a free coalesces, which ends the real program; "
          "give more memory, or coalesce=percent_releasable:0",
          bytes - self->actual);
      return FALSE;
    }
  put (self, chunk);
  return TRUE;
}

/* What the heuristic says now. */
static guint64
suggestion (const UmpirePool *self, gboolean all_free)
{
  return gemem_umpire_heuristic_ask (&self->heuristic,
                                     &(UmpireFigures){ .actual = self->actual,
                                                       .high = self->aligned_high,
                                                       .releasable = self->releasable_now,
                                                       .blocks = self->releasable.count,
                                                       .all_free = all_free });
}

/* ---- frees of QuickPool */

/* How one level of coalescing ends; two equal ones in succession have no end. */
typedef struct
{
  guint64 bytes, actual, high, free;
} Level;

static gboolean
repeats (const Level *a, const Level *b)
{
  return a->bytes == b->bytes && a->actual == b->actual && a->high == b->high && a->free == b->free;
}

static guint64
ask (const UmpirePool *self)
{
  return suggestion (self, self->releasable_now == self->actual);
}

static G_GNUC_NO_INLINE void
coalesce_again (UmpirePool *self, guint64 bytes)
{
  Level now = { 0 }, before;

  while (bytes > 0 && self->free.count > 1 && coalesce (self, bytes))
    {
      before = now;
      bytes = ask (self);
      now = (Level){ bytes, self->actual, self->aligned_high, self->free.count };
      if (bytes > 0 && repeats (&now, &before))
        {
          gemem_allocator_break_rule (
              &self->base, "a free coalesces without end, which overflows the stack of the real "
                           "program; let coalesce= be a percentage of 0 or 100, or 2 blocks or "
                           "more, or take umpire-list");
          return;
        }
    }
}

static void
quick_free (GememAllocator *allocator, const GememBlock *block,
            G_GNUC_UNUSED gboolean completion_follows)
{
  UmpirePool *self = (UmpirePool *) allocator;

  put (self, block->handle);
  if (G_UNLIKELY (self->releasable.count >= self->least_blocks))
    coalesce_again (self, ask (self));
}

static void
quick_notes (gconstpointer params, GememNoteFunc func, gpointer data)
{
  const char *text = ((const UmpireParams *) params)->coalesce;
  UmpireHeuristic heuristic;

  if (gemem_umpire_heuristic_parse ("umpire-quick", text, &heuristic, NULL)
      && gemem_umpire_heuristic_repeats (&heuristic))
    {
      g_autofree char *note = g_strdup_printf (
          "coalesce=%s: the real QuickPool overflows its stack when it coalesces while free "
          "chunks lie between used ones; a run in which that happens is marked",
          text);
      func (note, data);
    }
}

/* ---- frees of DynamicPoolList */

static void
list_free (GememAllocator *allocator, const GememBlock *block,
           G_GNUC_UNUSED gboolean completion_follows)
{
  UmpirePool *self = (UmpirePool *) allocator;
  guint64 bytes;

  put (self, block->handle);
  if (self->releasable.count < MAX (self->least_blocks, 2))
    return;
  bytes = suggestion (self, self->aligned == 0);
  if (bytes > 0)
    coalesce (self, bytes);
}

/* ---- the classes */

static gboolean
umpire_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  UmpireChunk *chunk;

  if (request->size > G_MAXINT64)
    return FALSE;
  chunk = take ((UmpirePool *) allocator, MAX (request->size, 1));
  if (chunk == NULL)
    return FALSE;
  *block = (GememBlock){ chunk->address, chunk->part.node.size, chunk };
  return TRUE;
}

static void
umpire_trim (GememAllocator *allocator)
{
  release ((UmpirePool *) allocator);
}

static guint64
umpire_largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  const UmpirePool *self = (const UmpirePool *) allocator;
  const GememTreeNode *node = gemem_tree_last (&self->free);

  return node != NULL ? node->size & -self->params.alignment : 0;
}

static void
report_overhead (GememSpan span, guint64 from, guint64 to, GememSpanFunc func, gpointer data)
{
  span.address = from;
  span.size = to - from;
  span.state = GEMEM_SPAN_OVERHEAD;
  if (to > from)
    func (&span, data);
}

static void
umpire_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const UmpirePool *self = (const UmpirePool *) allocator;

  for (GememTreeNode *node = gemem_tree_first (&self->blocks); node != NULL;
       node = gemem_tree_next (node))
    {
      const UmpireBlock *block = GEMEM_TREE_ENTRY (node, UmpireBlock, by_address);
      const guint64 start = block->first->address;
      GememSpan span = { .segment = node->address,
                         .segment_size = block->size + self->params.alignment };

      report_overhead (span, node->address, start, func, data);
      for (const UmpireChunk *chunk = block->first; chunk != NULL;
           chunk = (const UmpireChunk *) chunk->part.next)
        {
          span.address = span.user = chunk->address;
          span.size = chunk->part.node.size;
          span.state = chunk->part.free ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE;
          func (&span, data);
        }
      span.user = 0;
      report_overhead (span, start + block->size, span.segment + span.segment_size, func, data);
    }
}

/* The totals that check() counts again. */
typedef struct
{
  guint64 chunks, free, used, releasable;
} Counts;

static gboolean
block_is_sound (const UmpirePool *self, const UmpireBlock *block, Counts *counts)
{
  const UmpireChunk *before = NULL;
  guint64 end = block->first->address;
  gboolean ok = end % self->params.alignment == 0 && end >= block->by_address.address
                && end <= block->by_address.address + self->params.alignment;

  for (const UmpireChunk *chunk = block->first; chunk != NULL;
       before = chunk, chunk = (const UmpireChunk *) chunk->part.next)
    {
      ok &= chunk->address == end && chunk->block == block && chunk->part.node.size > 0
            && chunk->part.previous == (before != NULL ? &before->part : NULL)
            && !(before != NULL && before->part.free && chunk->part.free);
      end += chunk->part.node.size;
      counts->chunks++;
      counts->free += chunk->part.free;
      counts->used += chunk->part.free ? 0 : chunk->part.node.size;
      counts->releasable += chunk->part.free && is_whole (chunk) ? block->size : 0;
    }
  return ok && end == block->first->address + block->size;
}

static gboolean
umpire_check (GememAllocator *allocator, GError **error)
{
  const UmpirePool *self = (const UmpirePool *) allocator;
  Counts counts = { 0 };
  guint64 actual = 0;
  gboolean ok = gemem_tree_check (&self->free) && gemem_tree_check (&self->blocks)
                && gemem_tree_check (&self->releasable);

  for (GememTreeNode *node = gemem_tree_first (&self->blocks); ok && node != NULL;
       node = gemem_tree_next (node))
    {
      const UmpireBlock *block = GEMEM_TREE_ENTRY (node, UmpireBlock, by_address);

      ok = block_is_sound (self, block, &counts);
      actual += block->size;
    }
  if (ok && actual == self->actual && counts.chunks == self->chunks
      && counts.free == self->free.count && counts.used == self->aligned
      && counts.releasable == self->releasable_now)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "%s: %" G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT
               " of them used, in chunks that do not add up",
               allocator->klass->name, self->actual, self->aligned);
  return FALSE;
}

/* Named as the methods of the pools. */
static void
umpire_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const UmpirePool *self = (const UmpirePool *) allocator;
  const GememTreeNode *largest = gemem_tree_last (&self->free);

  func ("getActualSize", self->actual, "B", data);
  func ("getActualHighwaterMark", self->actual_high, "B", data);
  func ("getAlignedSize", self->aligned, "B", data);
  func ("getAlignedHighwaterMark", self->aligned_high, "B", data);
  func ("getReleasableSize", self->releasable_now, "B", data);
  func ("getReleasableBlocks", self->releasable.count, "", data);
  func ("getTotalBlocks", self->blocks.count, "", data);
  func ("getBlocksInPool", self->chunks, "", data);
  func ("getLargestAvailableBlock", largest != NULL ? largest->size : 0, "B", data);
}

/* @by_age as in UmpirePool. */
static GememAllocator *
create (const GememAllocatorClass *klass, gconstpointer given, GememDevice *device, gboolean by_age,
        GError **error)
{
  const UmpireParams *own = given;
  UmpireHeuristic heuristic;
  UmpirePool *self;

  if ((own->alignment & (own->alignment - 1)) != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "allocator %s: alignment=%" G_GUINT64_FORMAT
                   ": not a power of two; give 16, 32, 64 and so on",
                   klass->name, own->alignment);
      return NULL;
    }
  if (!gemem_umpire_heuristic_parse (klass->name, own->coalesce, &heuristic, error))
    return NULL;
  self = g_new0 (UmpirePool, 1);
  self->base.klass = klass;
  self->base.device = device;
  self->params = *own;
  self->params.coalesce = NULL;
  self->heuristic = heuristic;
  self->least_blocks = gemem_umpire_heuristic_least (&heuristic);
  self->by_age = by_age;
  gemem_slab_init (&self->chunk_slab, sizeof (UmpireChunk));
  gemem_slab_init (&self->block_slab, sizeof (UmpireBlock));
  return &self->base;
}

static void
umpire_destroy (GememAllocator *allocator)
{
  UmpirePool *self = (UmpirePool *) allocator;

  for (GememTreeNode *node = gemem_tree_first (&self->blocks); node != NULL;
       node = gemem_tree_next (node))
    gemem_device_free (allocator->device, node->address,
                       GEMEM_TREE_ENTRY (node, UmpireBlock, by_address)->size
                           + self->params.alignment);
  gemem_tree_clear (&self->free);
  gemem_tree_clear (&self->blocks);
  gemem_tree_clear (&self->releasable);
  gemem_slab_clear (&self->chunk_slab);
  gemem_slab_clear (&self->block_slab);
  g_free (self);
}

static GememAllocator *
quick_create (gconstpointer given, GememDevice *device, GError **error)
{
  return create (&gemem_umpire_quick_class, given, device, TRUE, error);
}

static GememAllocator *
list_create (gconstpointer given, GememDevice *device, GError **error)
{
  return create (&gemem_umpire_list_class, given, device, FALSE, error);
}

#define COMMON \
  .abi = GEMEM_ALLOCATOR_ABI, .alignment = 16, .params = parameters, \
  .params_size = sizeof (UmpireParams), .alloc = umpire_alloc, \
  .prefetch = gemem_neighbours_prefetch, .trim = umpire_trim, .largest_free = umpire_largest_free, \
  .walk = umpire_walk, .check = umpire_check, .destroy = umpire_destroy, \
  .report.stats = umpire_stats

const GememAllocatorClass gemem_umpire_quick_class = {
  COMMON,
  .name = "umpire-quick",
  .aliases = "umpire",
  .summary = "Umpire's QuickPool: best fit in blocks that coalesce when all are free",
  .origin = "Umpire of October 2024 (peers.md 1k.1)",
  .known_as = "QuickPool|percent_releasable|blocks_releasable",
  .notes = quick_notes,
  .create = quick_create,
  .free = quick_free,
};

const GememAllocatorClass gemem_umpire_list_class = {
  COMMON,
  .name = "umpire-list",
  .summary = "Umpire's DynamicPoolList: best fit by address in blocks that coalesce",
  .origin = "Umpire of October 2024 (peers.md 1k.2)",
  .known_as = "DynamicPoolList|DynamicPool|DynamicSizePool",
  .create = list_create,
  .free = list_free,
};
