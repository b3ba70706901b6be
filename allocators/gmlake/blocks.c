/* blocks.c - segments, chains of blocks and free sets of `gmlake`.
 *
 * A segment of the large pool is a range of its own with a page for every chunk, created and mapped
 * one by one, as the driver's calls are; so a large segment costs many calls.
 * Invariants: see gmlake.h.
 * Cost: O(log n) per split, merge or insert, O(runs of the segment) per change of use,
 * O(chunks) per segment.
 * Origin: peers.md 1e.2, 1e.3.
 */
#include "config.h"

#include "allocators/gmlake/gmlake.h"

/* ---- chunks */

/* Unmaps [@address, @address + @size), as a whole. */
static gboolean
unmap (Gmlake *lake, guint64 address, guint64 size)
{
  return gemem_device_unmap (lake->base.device, address, size)
         || gemem_device_unmap (lake->base.device, address, size); /* once more */
}

static void
destroy_pages (Gmlake *lake, GememPage *pages, guint64 n)
{
  for (guint64 i = 0; i < n; i++)
    gemem_device_destroy_page (lake->base.device, pages[i], GMLAKE_CHUNK);
  g_free (pages);
}

/* Maps @n new chunks at @address; NULL: refused, and nothing is kept. */
static GememPage *
make_chunks (Gmlake *lake, guint64 address, guint64 n)
{
  GememDevice *device = lake->base.device;
  GArray *pages = g_array_new (FALSE, FALSE, sizeof (GememPage));
  guint64 mapped = 0;
  GememPage page;

  while (pages->len < n && (page = gemem_device_create_page (device, GMLAKE_CHUNK)) != 0)
    g_array_append_val (pages, page);
  while (pages->len == n && mapped < n
         && gemem_device_map (device, address + mapped * GMLAKE_CHUNK,
                              g_array_index (pages, GememPage, mapped), 0, GMLAKE_CHUNK))
    mapped++;
  if (mapped == n)
    return (GememPage *) (gpointer) g_array_free (pages, FALSE);
  if (mapped > 0)
    unmap (lake, address, mapped * GMLAKE_CHUNK);
  mapped = pages->len;
  destroy_pages (lake, (GememPage *) (gpointer) g_array_free (pages, FALSE), mapped);
  return NULL;
}

/* ---- segments */

/* A range with memory; 0: refused, and nothing is kept. */
static guint64
make_range (Gmlake *lake, guint64 size, GememPage **pages)
{
  const guint64 address = gemem_device_reserve (lake->base.device, size, lake->granularity);

  if (address == 0)
    return 0;
  *pages = make_chunks (lake, address, size / GMLAKE_CHUNK);
  if (*pages != NULL)
    return address;
  gemem_device_release (lake->base.device, address, size);
  return 0;
}

GmlakeBlock *
gemem_gmlake_segment_new (Gmlake *lake, guint64 size, gboolean small, guint64 stream)
{
  GmlakeSegment *segment;
  GmlakeBlock *block;
  GememPage *pages = NULL;
  guint64 address;

  if (lake->reserved > lake->limit || size > lake->limit - lake->reserved)
    return NULL;
  if (size > GMLAKE_ADDRESSES)
    return NULL;
  address = small || !lake->vmm ? gemem_device_malloc (lake->base.device, size, stream)
                                : make_range (lake, size, &pages);
  if (address == 0)
    return NULL;
  segment = gemem_slab_alloc (&lake->segment_slab);
  block = gemem_slab_alloc (&lake->block_slab);
  *segment = (GmlakeSegment){ .address = address,
                              .size = size,
                              .pages = pages,
                              .small = small,
                              .first = block,
                              .next = lake->segments };
  if (segment->next != NULL)
    segment->next->previous = segment;
  lake->segments = segment;
  block->base.node = (GememTreeNode){ .size = size, .address = address, .group = stream };
  block->segment = segment;
  lake->reserved += size;
  gemem_gmlake_stat_add (&lake->reserved_bytes, size);
  gemem_gmlake_stat_add (&lake->segments_held, 1);
  return block;
}

/* Returns the memory and the addresses of @segment, which no fused block shows. */
static gboolean
return_memory (Gmlake *lake, const GmlakeSegment *segment)
{
  if (segment->pages == NULL)
    {
      gemem_device_free (lake->base.device, segment->address, segment->size);
      return TRUE;
    }
  if (!unmap (lake, segment->address, segment->size))
    return FALSE;
  destroy_pages (lake, segment->pages, segment->size / GMLAKE_CHUNK);
  gemem_device_release (lake->base.device, segment->address, segment->size);
  return TRUE;
}

gboolean
gemem_gmlake_segment_release (Gmlake *lake, GmlakeBlock *block)
{
  GmlakeSegment *segment = block->segment;

  GEMEM_CHECK (block->state == GMLAKE_FREE && gemem_neighbours_alone (&block->base));
  if (segment->pages != NULL) /* no unmap waits by itself */
    gemem_device_stream_sync (lake->base.device, block->base.node.group);
  if (!gemem_gmlake_hide (lake, segment) || !return_memory (lake, segment))
    return FALSE;
  gemem_tree_remove (&gemem_gmlake_pool (lake, segment->small)->free, &block->base.node);
  lake->reserved -= segment->size;
  lake->reserved_bytes.current -= segment->size;
  lake->segments_held.current--;
  *(segment->previous != NULL ? &segment->previous->next : &lake->segments) = segment->next;
  if (segment->next != NULL)
    segment->next->previous = segment->previous;
  gemem_slab_free (&lake->segment_slab, segment);
  gemem_slab_free (&lake->block_slab, block);
  return TRUE;
}

void
gemem_gmlake_segments_clear (Gmlake *lake)
{
  for (const GmlakeSegment *segment = lake->segments; segment != NULL; segment = segment->next)
    return_memory (lake, segment);
}

/* ---- blocks */

GmlakeBlock *
gemem_gmlake_cut (Gmlake *lake, GmlakeBlock *block, guint64 size)
{
  GmlakeBlock *high = gemem_slab_alloc (&lake->block_slab);

  gemem_neighbours_split (&block->base, &high->base, block->base.node.size - size);
  high->segment = block->segment;
  high->state = block->state;
  high->gc_base = block->gc_base;
  return high;
}

GmlakeBlock *
gemem_gmlake_block_at (const GmlakeSegment *segment, guint64 offset)
{
  GmlakeBlock *block = segment->first;

  while (block->base.node.address + block->base.node.size - segment->address <= offset)
    block = gemem_gmlake_next (block);
  return block;
}

void
gemem_gmlake_insert (Gmlake *lake, GmlakeBlock *block)
{
  GmlakePool *pool = gemem_gmlake_pool (lake, block->segment->small);

  block->state = GMLAKE_FREE;
  block->base.free = TRUE;
  gemem_tree_insert (&pool->free, &block->base.node);
}

void
gemem_gmlake_make_free (Gmlake *lake, GmlakeBlock *block)
{
  GmlakePool *pool = gemem_gmlake_pool (lake, block->segment->small);

  if (block->segment->runs != NULL)
    gemem_gmlake_toggle (lake, block->segment, block->base.node.address - block->segment->address,
                         block->base.node.size, FALSE);
  block = (GmlakeBlock *) (gpointer) gemem_neighbours_coalesce (&block->base, &pool->free,
                                                                &lake->block_slab);
  block->gc_base = pool->search_count;
  gemem_gmlake_insert (lake, block);
}

void
gemem_gmlake_make_used (Gmlake *lake, GmlakeBlock *block, GmlakeState state)
{
  block->state = state;
  block->base.free = FALSE;
  if (block->segment->runs != NULL)
    gemem_gmlake_toggle (lake, block->segment, block->base.node.address - block->segment->address,
                         block->base.node.size, TRUE);
}
