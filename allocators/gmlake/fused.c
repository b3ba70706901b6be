/* fused.c - fused blocks of `gmlake`: stitching, reuse, garbage collection.
 *
 * A fused block costs a range of addresses and a mapping for every chunk, no memory.  It is kept
 * after its use; while nothing of it is in use it may serve again, else it is fragmented and waits.
 * Mappings are removed by one call for the whole range.
 *
 * Assumed: memory counts as stitched until its fused block is destroyed; a fused block is collected
 * only when the event of its latest free is complete, and one whose event is not is passed over;
 * blocks of equal size are taken from the highest address down.
 * Invariants: see gmlake.h.
 * Cost: O(chunks) to stitch, O(runs) to use and free.
 * Origin: peers.md 1e.3.
 */
#include "config.h"

#include "allocators/gmlake/gmlake.h"

#define AT_ONCE 3 /* attempts to map after a collection */

/* ---- in which sets a fused block is */

static void
enter_sets (Gmlake *lake, GmlakeFused *fused)
{
  fused->block.base.free = fused->used == 0;
  if (fused->used == 0)
    gemem_tree_insert (&lake->whole, &fused->block.base.node);
  gemem_tree_insert (fused->used == 0 ? &lake->whole_order : &lake->fragmented, &fused->order);
}

static void
leave_sets (Gmlake *lake, GmlakeFused *fused)
{
  gemem_tree_remove (fused->block.base.free ? &lake->whole_order : &lake->fragmented,
                     &fused->order);
  if (fused->block.base.free)
    gemem_tree_remove (&lake->whole, &fused->block.base.node);
  fused->block.base.free = FALSE;
}

/* While a program uses it, a fused block is in no set, but in a list. */
static void
enter_use (Gmlake *lake, GmlakeFused *fused)
{
  fused->block.state = GMLAKE_LIVE;
  fused->block.base.previous = NULL;
  fused->block.base.next = lake->in_use != NULL ? &lake->in_use->block.base : NULL;
  if (lake->in_use != NULL)
    lake->in_use->block.base.previous = &fused->block.base;
  lake->in_use = fused;
}

static void
leave_use (Gmlake *lake, GmlakeFused *fused)
{
  GememNeighbour *previous = fused->block.base.previous, *next = fused->block.base.next;

  if (previous != NULL)
    previous->next = next;
  else
    lake->in_use = (GmlakeFused *) (gpointer) next;
  if (next != NULL)
    next->previous = previous;
  fused->block.base.previous = fused->block.base.next = NULL;
}

void
gemem_gmlake_toggle (Gmlake *lake, const GmlakeSegment *segment, guint64 offset, guint64 size,
                     gboolean used)
{
  for (GmlakeRun *run = segment->runs; run != NULL; run = run->next_here)
    {
      const guint64 low = MAX (run->offset, offset),
                    high = MIN (run->offset + run->size, offset + size);
      GmlakeFused *fused = run->fused;
      const gboolean idle = fused->block.state == GMLAKE_FREE;

      if (low >= high)
        continue;
      if (idle)
        leave_sets (lake, fused);
      fused->used = used ? fused->used + (high - low) : fused->used - (high - low);
      if (idle)
        enter_sets (lake, fused);
    }
}

/* ---- runs */

static void
unlink_run (Gmlake *lake, GmlakeRun *run)
{
  *(run->previous_here != NULL ? &run->previous_here->next_here
                               : &run->segment->runs) = run->next_here;
  if (run->next_here != NULL)
    run->next_here->previous_here = run->previous_here;
  gemem_slab_free (&lake->run_slab, run);
}

static void
link_run (Gmlake *lake, GmlakeFused *fused, GmlakeRun ***end, GmlakeBlock *source, guint64 place)
{
  GmlakeRun *run = gemem_slab_alloc (&lake->run_slab);
  GmlakeSegment *segment = source->segment;

  *run = (GmlakeRun){ .fused = fused,
                      .segment = segment,
                      .block = source,
                      .place = place,
                      .offset = source->base.node.address - segment->address,
                      .size = source->base.node.size,
                      .next_here = segment->runs };
  if (segment->runs != NULL)
    segment->runs->previous_here = run;
  segment->runs = run;
  **end = run;
  *end = &run->next;
}

/* ---- ending fused blocks */

static gboolean
unmap (Gmlake *lake, guint64 address, guint64 size)
{
  return size == 0 || gemem_device_unmap (lake->base.device, address, size)
         || gemem_device_unmap (lake->base.device, address, size); /* once more */
}

/* Ends @fused, which is in no set; FALSE: the device refused. */
static gboolean
destroy (Gmlake *lake, GmlakeFused *fused)
{
  const guint64 address = fused->block.base.node.address, size = fused->block.base.node.size;
  GmlakeRun *run;

  if (!unmap (lake, address, size))
    return FALSE;
  gemem_device_release (lake->base.device, address, fused->range);
  while ((run = fused->runs) != NULL)
    {
      fused->runs = run->next;
      unlink_run (lake, run);
    }
  lake->stitched -= size;
  lake->fused.current--;
  gemem_slab_free (&lake->fused_slab, fused);
  return TRUE;
}

static gboolean
destroy_idle (Gmlake *lake, GmlakeFused *fused)
{
  leave_sets (lake, fused);
  if (destroy (lake, fused))
    return TRUE;
  enter_sets (lake, fused);
  return FALSE;
}

/* @fused, which a program uses, loses what it shows from @run on. */
static gboolean
shorten (Gmlake *lake, GmlakeFused *fused, const GmlakeRun *from)
{
  const guint64 kept = from->place, cut = fused->block.base.node.size - kept;
  GmlakeRun **place = &fused->runs, *run;

  if (!unmap (lake, fused->block.base.node.address + kept, cut))
    return FALSE;
  while (*place != from)
    place = &(*place)->next;
  while ((run = *place) != NULL)
    {
      const GmlakeSegment *segment = run->segment;
      const guint64 low = run->offset, high = run->offset + run->size;

      /* what others use of it counts no more */
      for (const GmlakeBlock *block = segment->first; block != NULL;
           block = gemem_gmlake_next (block))
        {
          const guint64 begin = block->base.node.address - segment->address,
                        end = begin + block->base.node.size;

          if (block->state != GMLAKE_FREE && begin < high && end > low)
            fused->used -= MIN (end, high) - MAX (begin, low);
        }
      *place = run->next;
      unlink_run (lake, run);
    }
  fused->block.base.node.size = kept;
  lake->stitched -= cut;
  return TRUE;
}

gboolean
gemem_gmlake_hide (Gmlake *lake, GmlakeSegment *segment)
{
  while (segment->runs != NULL)
    {
      GmlakeRun *run = segment->runs;
      GmlakeFused *fused = run->fused;

      if (fused->block.state == GMLAKE_FREE ? !destroy_idle (lake, fused)
                                            : !shorten (lake, fused, run))
        return FALSE;
    }
  return TRUE;
}

void
gemem_gmlake_fused_clear (Gmlake *lake)
{
  GmlakeFused *fused;
  GememTreeNode *node;

  while ((fused = lake->in_use) != NULL)
    {
      leave_use (lake, fused);
      destroy (lake, fused);
    }
  while ((node = gemem_tree_first (&lake->whole_order)) != NULL
         || (node = gemem_tree_first (&lake->fragmented)) != NULL)
    {
      fused = GEMEM_TREE_ENTRY (node, GmlakeFused, order);
      leave_sets (lake, fused);
      destroy (lake, fused);
    }
}

/* ---- garbage */

/* Destroys fused blocks of @tree in its order until @enough bytes were collected. */
static guint64
collect_from (Gmlake *lake, const GememTree *tree, guint64 enough)
{
  GememTreeNode *node = gemem_tree_first (tree), *next;
  guint64 got = 0;

  for (; node != NULL && got < enough; node = next)
    {
      GmlakeFused *fused = GEMEM_TREE_ENTRY (node, GmlakeFused, order);
      const guint64 size = fused->block.base.node.size;

      next = gemem_tree_next (node);
      if (!gemem_device_event_query (lake->base.device, fused->event))
        continue;
      if (destroy_idle (lake, fused))
        {
          got += size;
          lake->collected++;
        }
    }
  return got;
}

/* Collects at @level for a request of @needed bytes. */
static void
collect (Gmlake *lake, guint level, guint64 needed)
{
  static const guint64 times[] = { 4, 16 };
  const guint64 enough = level < G_N_ELEMENTS (times) ? times[level] * needed : G_MAXUINT64;
  const guint64 got = collect_from (lake, &lake->fragmented, enough);

  if (level > 0)
    collect_from (lake, &lake->whole_order, got < enough ? enough - got : 0);
}

/* ---- stitching */

/* Gathers free blocks of @stream from the largest down until they have @size bytes; returns how
 * many they have. */
static guint64
gather (Gmlake *lake, guint64 size, guint64 stream)
{
  GememTreeNode *node = gemem_tree_before (&lake->large.free, stream, G_MAXUINT64, G_MAXUINT64);
  guint64 sum = 0;

  g_ptr_array_set_size (lake->sources, 0);
  for (; node != NULL && node->group == stream && sum < size; node = gemem_tree_previous (node))
    {
      sum += node->size;
      g_ptr_array_add (lake->sources, gemem_gmlake_block (node));
    }
  return sum;
}

static gboolean
has_two (const Gmlake *lake, guint64 stream)
{
  const GememTreeNode *node = gemem_tree_before (&lake->large.free, stream, G_MAXUINT64,
                                                 G_MAXUINT64);

  if (node == NULL || node->group != stream)
    return FALSE;
  node = gemem_tree_previous (node);
  return node != NULL && node->group == stream;
}

/* Maps the chunks of the sources, as many as @size needs, at @address; returns the bytes that the
 * device has mapped. */
static guint64
map_sources (Gmlake *lake, guint64 address, guint64 size)
{
  guint64 mapped = 0;

  for (guint i = 0; i < lake->sources->len; i++)
    {
      const GmlakeBlock *source = g_ptr_array_index (lake->sources, i);
      const GmlakeSegment *segment = source->segment;
      const guint64 first = (source->base.node.address - segment->address) / GMLAKE_CHUNK,
                    chunks = MIN (source->base.node.size, size - mapped) / GMLAKE_CHUNK;

      for (guint64 chunk = first; chunk < first + chunks; chunk++, mapped += GMLAKE_CHUNK)
        if (!gemem_device_map (lake->base.device, address + mapped, segment->pages[chunk], 0,
                               GMLAKE_CHUNK))
          return mapped;
    }
  return mapped;
}

/* A range that shows the sources; 0: refused, and nothing is kept. */
static guint64
show_sources (Gmlake *lake, guint64 size)
{
  const guint64 address = gemem_device_reserve (lake->base.device, size, lake->granularity);
  guint64 mapped;

  if (address == 0)
    return 0;
  mapped = map_sources (lake, address, size);
  if (mapped == size)
    return address;
  unmap (lake, address, mapped);
  gemem_device_release (lake->base.device, address, size);
  return 0;
}

/* The sources become the fused block at @address, in use. */
static GmlakeFused *
fuse (Gmlake *lake, guint64 address, guint64 size, guint64 stream)
{
  GmlakeFused *fused = gemem_slab_alloc (&lake->fused_slab);
  GmlakeRun **end = &fused->runs;
  guint64 place = 0;

  fused->block.base.node = (GememTreeNode){ .size = size, .address = address, .group = stream };
  fused->range = size;
  enter_use (lake, fused);
  for (guint i = 0; i < lake->sources->len; i++)
    {
      GmlakeBlock *source = g_ptr_array_index (lake->sources, i);

      gemem_tree_remove (&lake->large.free, &source->base.node);
      if (source->base.node.size > size - place)
        gemem_gmlake_insert (lake, gemem_gmlake_cut (lake, source, size - place));
      link_run (lake, fused, &end, source, place);
      gemem_gmlake_make_used (lake, source, GMLAKE_FUSED);
      place += source->base.node.size;
    }
  lake->stitches++;
  lake->stitched += size;
  gemem_gmlake_stat_add (&lake->fused, 1);
  return fused;
}

GmlakeBlock *
gemem_gmlake_stitch (Gmlake *lake, guint64 size, guint64 stream, gboolean extend)
{
  const guint64 sum = gather (lake, size, stream);
  GmlakeBlock *more;
  GmlakeFused *fused;
  guint64 address;

  if (sum < size)
    {
      if (!extend || lake->sources->len == 0)
        return NULL;
      more = gemem_gmlake_segment_new (lake, size - sum, FALSE, stream);
      if (more == NULL)
        return NULL;
      gemem_gmlake_insert (lake, more);
      lake->extensions++;
      gather (lake, size, stream);
    }
  else if (!has_two (lake, stream))
    return NULL;
  address = show_sources (lake, size);
  for (guint level = 0; address == 0 && level < AT_ONCE; level++)
    {
      collect (lake, level, size);
      address = show_sources (lake, size);
    }
  if (address == 0)
    return NULL;
  fused = fuse (lake, address, size, stream);
  if (lake->stitched > lake->params.auto_gc)
    collect (lake, 2, size);
  return &fused->block;
}

/* ---- use */

void
gemem_gmlake_reuse (Gmlake *lake, GmlakeFused *fused, guint64 size)
{
  leave_sets (lake, fused);
  enter_use (lake, fused);
  for (GmlakeRun *run = fused->runs; run != NULL && run->place < size; run = run->next)
    {
      const guint64 part = MIN (run->size, size - run->place);
      GmlakeBlock *block = gemem_gmlake_block_at (run->segment, run->offset);
      const guint64 before = run->offset - (block->base.node.address - run->segment->address);

      gemem_tree_remove (&lake->large.free, &block->base.node);
      if (before > 0)
        {
          GmlakeBlock *low = block;

          block = gemem_gmlake_cut (lake, low, before);
          gemem_gmlake_insert (lake, low);
        }
      if (block->base.node.size > part)
        gemem_gmlake_insert (lake, gemem_gmlake_cut (lake, block, part));
      run->block = block;
      gemem_gmlake_make_used (lake, block, GMLAKE_FUSED);
    }
  lake->reuses++;
}

void
gemem_gmlake_unfuse (Gmlake *lake, GmlakeFused *fused)
{
  leave_use (lake, fused);
  for (GmlakeRun *run = fused->runs; run != NULL; run = run->next)
    if (run->block != NULL)
      gemem_gmlake_make_free (lake, g_steal_pointer (&run->block));
  fused->block.state = GMLAKE_FREE;
  fused->order = (GememTreeNode){ .size = ++lake->releases };
  enter_sets (lake, fused);
}
