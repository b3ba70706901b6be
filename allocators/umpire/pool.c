/* pool.c - see pool.h. */
#include "config.h"

#include "allocators/umpire/pool.h"
#include "base/units.h"

#define FIELD(field) .offset = G_STRUCT_OFFSET (UmpireParams, field)

const GememParam gemem_umpire_params[] = {
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

gboolean
gemem_umpire_release (UmpirePool *self)
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
      self->base.retries += gemem_umpire_release (self);
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

UmpireChunk *
gemem_umpire_take (UmpirePool *self, guint64 n)
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

void
gemem_umpire_put (UmpirePool *self, UmpireChunk *chunk)
{
  const guint64 before = self->free.count;

  self->aligned -= chunk->part.node.size;
  chunk = (UmpireChunk *) gemem_neighbours_coalesce (&chunk->part, &self->free, &self->chunk_slab);
  self->chunks -= before - self->free.count;
  insert (self, chunk);
}

/* ---- coalescing */

gboolean
gemem_umpire_coalesce (UmpirePool *self, guint64 bytes)
{
  UmpireChunk *chunk;

  gemem_umpire_release (self);
  if (self->actual >= bytes)
    return FALSE;
  chunk = gemem_umpire_take (self, bytes - self->actual);
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
  gemem_umpire_put (self, chunk);
  return TRUE;
}

guint64
gemem_umpire_suggestion (const UmpirePool *self, gboolean all_free)
{
  return gemem_umpire_heuristic_ask (&self->heuristic,
                                     &(UmpireFigures){ .actual = self->actual,
                                                       .high = self->aligned_high,
                                                       .releasable = self->releasable_now,
                                                       .blocks = self->releasable.count,
                                                       .all_free = all_free });
}

/* ---- the class */

gboolean
gemem_umpire_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  UmpireChunk *chunk;

  if (request->size > G_MAXINT64)
    return FALSE;
  chunk = gemem_umpire_take ((UmpirePool *) allocator, MAX (request->size, 1));
  if (chunk == NULL)
    return FALSE;
  *block = (GememBlock){ chunk->address, chunk->part.node.size, chunk };
  return TRUE;
}

void
gemem_umpire_trim (GememAllocator *allocator)
{
  gemem_umpire_release ((UmpirePool *) allocator);
}

guint64
gemem_umpire_largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
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

void
gemem_umpire_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
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

gboolean
gemem_umpire_check (GememAllocator *allocator, GError **error)
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

/* As the methods of the pools are called. */
void
gemem_umpire_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
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

GememAllocator *
gemem_umpire_create (const GememAllocatorClass *klass, gconstpointer given, GememDevice *device,
                     gboolean by_age, GError **error)
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

void
gemem_umpire_destroy (GememAllocator *allocator)
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
