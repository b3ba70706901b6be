/* report.c - what `gmlake` tells of its state: spans, invariants, statistics.
 *
 * Memory that a program uses through a fused block is reported there, as LIVE, and the block
 * beneath it as UNMAPPED, so that every physical byte counts once.
 * Cost: O(blocks), a check O(blocks * runs).  Origin: peers.md 1a.12, 1e.
 */
#include "config.h"

#include "allocators/gmlake/gmlake.h"

/* The largest of stream @stream in @tree; 0: none. */
static guint64
largest_of (const GememTree *tree, guint64 stream)
{
  const GememTreeNode *node = gemem_tree_before (tree, stream, G_MAXUINT64, G_MAXUINT64);

  return node != NULL && node->group == stream ? node->size : 0;
}

guint64
gemem_gmlake_largest_free (GememAllocator *allocator, guint64 stream)
{
  const Gmlake *lake = (const Gmlake *) allocator;
  guint64 large = largest_of (&lake->large.free, stream);

  if (lake->params.variant == GMLAKE_PAPER || lake->params.reuse_limit >= 1)
    large = MAX (large, largest_of (&lake->whole, stream));
  return large > GMLAKE_SMALL ? large : MIN (largest_of (&lake->small.free, stream), GMLAKE_SMALL);
}

/* ---- spans */

typedef struct
{
  guint64 address;
  const GmlakeSegment *segment; /* or */
  const GmlakeFused *fused;
} Place;

static int
compare_places (gconstpointer a, gconstpointer b)
{
  const Place *x = a, *y = b;

  return x->address < y->address ? -1 : x->address > y->address;
}

static void
add_fused (GArray *places, const GmlakeFused *fused)
{
  const Place place = { .address = fused->block.base.node.address, .fused = fused };

  g_array_append_val (places, place);
}

/* Every segment and every range of a fused block, by address. */
static GArray *
places_of (const Gmlake *lake)
{
  const GememTree *const trees[] = { &lake->whole_order, &lake->fragmented };
  GArray *places = g_array_new (FALSE, FALSE, sizeof (Place));

  for (const GmlakeSegment *segment = lake->segments; segment != NULL; segment = segment->next)
    {
      const Place place = { .address = segment->address, .segment = segment };

      g_array_append_val (places, place);
    }
  for (guint i = 0; i < G_N_ELEMENTS (trees); i++)
    for (GememTreeNode *node = gemem_tree_first (trees[i]); node != NULL;
         node = gemem_tree_next (node))
      add_fused (places, GEMEM_TREE_ENTRY (node, GmlakeFused, order));
  for (const GmlakeFused *fused = lake->in_use; fused != NULL;
       fused = (const GmlakeFused *) (gpointer) fused->block.base.next)
    add_fused (places, fused);
  g_array_sort (places, compare_places);
  return places;
}

static const GememSpanState states[] = { GEMEM_SPAN_FREE, GEMEM_SPAN_LIVE, GEMEM_SPAN_PENDING,
                                         GEMEM_SPAN_UNMAPPED };

/* Bytes of @fused, from its beginning, that its own use takes. */
static guint64
taken_by (const GmlakeFused *fused)
{
  guint64 taken = 0;

  for (const GmlakeRun *run = fused->runs; run != NULL; run = run->next)
    taken += run->block != NULL ? run->block->base.node.size : 0;
  return taken;
}

static void
report_fused (const GmlakeFused *fused, GememSpanFunc func, gpointer data)
{
  const guint64 address = fused->block.base.node.address, taken = taken_by (fused);
  GememSpan span = { .address = address,
                     .size = taken,
                     .segment = address,
                     .segment_size = fused->range,
                     .stream = fused->block.base.node.group,
                     .state = states[fused->block.state],
                     .user = address };

  if (taken > 0)
    func (&span, data);
  span.address = span.user = address + taken;
  span.size = fused->range - taken;
  span.state = GEMEM_SPAN_UNMAPPED;
  if (span.size > 0)
    func (&span, data);
}

void
gemem_gmlake_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  g_autoptr (GArray) places = places_of ((const Gmlake *) allocator);

  for (guint i = 0; i < places->len; i++)
    {
      const Place *place = &g_array_index (places, Place, i);

      if (place->fused != NULL)
        {
          report_fused (place->fused, func, data);
          continue;
        }
      for (const GmlakeBlock *block = place->segment->first; block != NULL;
           block = gemem_gmlake_next (block))
        {
          const GememSpan span = { .address = block->base.node.address,
                                   .size = block->base.node.size,
                                   .segment = place->address,
                                   .segment_size = place->segment->size,
                                   .stream = block->base.node.group,
                                   .state = states[block->state],
                                   .user = block->base.node.address };
          func (&span, data);
        }
    }
}

/* ---- invariants */

static gboolean
broken (GError **error, guint64 address, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "gmlake: block 0x%" G_GINT64_MODIFIER "x: %s", address, what);
  return FALSE;
}

static gboolean
check_segment (const GmlakeSegment *segment, guint64 *free_blocks, GError **error)
{
  guint64 end = segment->address;
  const GmlakeBlock *previous = NULL;

  for (const GmlakeBlock *block = segment->first; block != NULL;
       previous = block, block = gemem_gmlake_next (block))
    {
      const gboolean is_free = block->state == GMLAKE_FREE;

      if (block->base.node.address != end || block->base.node.size == 0
          || block->base.previous != (previous != NULL ? &previous->base : NULL))
        return broken (error, end, "does not follow its neighbour");
      if (block->base.free != is_free
          || (is_free && previous != NULL && previous->state == GMLAKE_FREE))
        return broken (error, end, "is free, but not marked so, or beside another");
      if (segment->pages != NULL && block->base.node.size % GMLAKE_CHUNK != 0)
        return broken (error, end, "has no whole chunks");
      free_blocks[segment->small] += is_free;
      end += block->base.node.size;
    }
  return end == segment->address + segment->size
         || broken (error, end, "is where the blocks end, but not the segment");
}

/* Bytes that @run shows and that are in use. */
static guint64
used_under (const GmlakeRun *run)
{
  guint64 used = 0;

  for (const GmlakeBlock *block = run->segment->first; block != NULL;
       block = gemem_gmlake_next (block))
    {
      const guint64 begin = block->base.node.address - run->segment->address,
                    low = MAX (begin, run->offset),
                    high = MIN (begin + block->base.node.size, run->offset + run->size);

      used += block->state != GMLAKE_FREE && low < high ? high - low : 0;
    }
  return used;
}

static gboolean
check_fused (const GmlakeFused *fused, GError **error)
{
  const guint64 address = fused->block.base.node.address;
  const gboolean idle = fused->block.state == GMLAKE_FREE;
  guint64 used = 0, size = 0;

  for (const GmlakeRun *run = fused->runs; run != NULL; run = run->next)
    {
      if (run->place != size || run->fused != fused)
        return broken (error, address, "has runs that do not follow each other");
      if (run->block != NULL
          && (idle || run->block->state != GMLAKE_FUSED
              || run->block->base.node.address != run->segment->address + run->offset))
        return broken (error, address, "does not use the blocks beneath it");
      used += used_under (run);
      size += run->size;
    }
  if (size != fused->block.base.node.size || size > fused->range || used != fused->used)
    return broken (error, address, "is fused, and its bytes were miscounted");
  return !idle || fused->block.base.free == (used == 0)
         || broken (error, address, "is fused and in the wrong set");
}

gboolean
gemem_gmlake_check (GememAllocator *allocator, GError **error)
{
  const Gmlake *lake = (const Gmlake *) allocator;
  g_autoptr (GArray) places = places_of (lake);
  guint64 free_blocks[2] = { 0, 0 }, reserved = 0, stitched = 0, whole = 0;

  for (guint i = 0; i < places->len; i++)
    {
      const Place *place = &g_array_index (places, Place, i);

      if (place->fused != NULL ? !check_fused (place->fused, error)
                               : !check_segment (place->segment, free_blocks, error))
        return FALSE;
      if (place->fused != NULL)
        {
          stitched += place->fused->block.base.node.size;
          whole += place->fused->block.base.free;
        }
      else
        reserved += place->segment->size;
    }
  if (lake->large.free.count != free_blocks[0] || lake->small.free.count != free_blocks[1]
      || lake->whole.count != whole || lake->whole_order.count != whole
      || !gemem_tree_check (&lake->large.free) || !gemem_tree_check (&lake->whole))
    return broken (error, 0, "the free blocks and the trees differ");
  return (reserved == lake->reserved && stitched == lake->stitched)
         || broken (error, 0, "reserved or stitched bytes were miscounted");
}

void
gemem_gmlake_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Gmlake *lake = (const Gmlake *) allocator;
  const struct
  {
    const char *name;
    const GmlakeStat *stat;
    const char *unit;
  } rows[] = {
    { "allocated_bytes", &lake->allocated, "B" }, { "active_bytes", &lake->active, "B" },
    { "requested_bytes", &lake->requested, "B" }, { "reserved_bytes", &lake->reserved_bytes, "B" },
    { "segment", &lake->segments_held, "" },      { "sblocks", &lake->fused, "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *current = g_strconcat (rows[i].name, ".current", NULL),
                      *peak = g_strconcat (rows[i].name, ".peak", NULL);

      func (current, rows[i].stat->current, rows[i].unit, data);
      func (peak, rows[i].stat->peak, rows[i].unit, data);
    }
  func ("stitched_bytes", lake->stitched, "B", data);
  func ("exact_fits", lake->exact, "", data);
  func ("splits", lake->splits, "", data);
  func ("sblock_reuses", lake->reuses, "", data);
  func ("stitches", lake->stitches, "", data);
  func ("extensions", lake->extensions, "", data);
  func ("sblocks_collected", lake->collected, "", data);
  func ("num_alloc_retries", lake->num_alloc_retries, "", data);
  func ("num_ooms", lake->num_ooms, "", data);
}
