/* caching-blocks.c - segments, chains of blocks and free sets of `pytorch-caching`.
 *
 * Why separate: keeps links out of caching.c, whose policy then reads like the specification.
 *
 * Invariants: see caching.h.  After a split the high part keeps the identity of the block (its
 * struct, its gc_base, its number); the low part gets a new struct.  A merged block keeps the
 * struct of the block that was freed.  Free blocks of equal size are ordered as the version of
 * PyTorch orders them (CachingTies): `ranks` is the address that the next segment would have if no
 * address were used twice, so that one comparison orders by segment, then address.
 * Cost: O(log n) per split, merge or insert, no allocation from the host heap but for slabs.
 * Origin: peers.md 1a.2, 1a.5, 1a.6.
 */
#include "config.h"

#include "allocators/pytorch/caching.h"

/* ---- segments */

CachingBlock *
gemem_caching_chain_new (Caching *caching, CachingPool *pool, guint64 address, guint64 size,
                         guint64 stream)
{
  CachingSegment *segment = gemem_slab_alloc (&caching->segment_slab);
  CachingBlock *block = gemem_slab_alloc (&caching->block_slab);

  segment->address = address;
  segment->size = size;
  segment->pool = pool;
  segment->first = block;
  segment->next = caching->segments;
  if (segment->next != NULL)
    segment->next->previous = segment;
  caching->segments = segment;
  segment->bias = caching->settings.version->ties == CACHING_TIES_SEGMENT ? caching->ranks - address
                                                                          : 0;
  caching->ranks += size;
  block->segment = segment;
  block->node.group = stream;
  block->node.size = size;
  block->address = address;
  block->number = ++caching->numbers;
  return block;
}

void
gemem_caching_chain_free (Caching *caching, CachingBlock *block)
{
  CachingSegment *segment = block->segment;

  if (segment->previous != NULL)
    segment->previous->next = segment->next;
  else
    caching->segments = segment->next;
  if (segment->next != NULL)
    segment->next->previous = segment->previous;
  if (caching->adopting == segment)
    caching->adopting = NULL;
  if (G_UNLIKELY (caching->captured != NULL))
    g_hash_table_remove (caching->captured, block);
  gemem_slab_free (&caching->segment_slab, segment);
  gemem_slab_free (&caching->block_slab, block);
}

CachingBlock *
gemem_caching_segment_add (Caching *caching, CachingPool *pool, guint64 address, guint64 size,
                           guint64 stream)
{
  CachingBlock *block = gemem_caching_chain_new (caching, pool, address, size, stream);

  caching->reserved += size;
  gemem_caching_stat_add (caching, CACHING_STAT_SEGMENT, pool->small, 1);
  gemem_caching_stat_add (caching, CACHING_STAT_RESERVED_BYTES, pool->small, size);
  if (gemem_caching_is_oversize (caching, size))
    gemem_caching_stat_raise (&caching->oversize_segments, 1);
  return block;
}

CachingBlock *
gemem_caching_segment_new (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  const guint64 unit = caching->settings.segment_unit;
  guint64 address = gemem_device_malloc (caching->base.device, size, stream);

  if (address == 0 && unit != 0 && size % unit == 0)
    address = gemem_device_malloc (caching->base.device, size, stream);
  if (address == 0)
    return NULL;
  caching->num_device_alloc++;
  gemem_caching_pair_of (pool)->balance++;
  return gemem_caching_segment_add (caching, pool, address, size, stream);
}

void
gemem_caching_release (Caching *caching, CachingBlock *block)
{
  CachingSegment *segment = block->segment;

  GEMEM_CHECK (block->state == CACHING_FREE && !gemem_caching_is_split (block));
  gemem_tree_remove (&segment->pool->free, &block->node);
  if (segment->sleeper != NULL)
    gemem_caching_sleeper_free (caching, segment);
  else
    gemem_device_free (caching->base.device, segment->address, segment->size);
  caching->num_device_free++;
  gemem_caching_pair_of (segment->pool)->balance--;
  caching->reserved -= segment->size;
  gemem_caching_stat_subtract (caching, CACHING_STAT_SEGMENT, segment->pool->small, 1);
  gemem_caching_stat_subtract (caching, CACHING_STAT_RESERVED_BYTES, segment->pool->small,
                               segment->size);
  if (gemem_caching_is_oversize (caching, segment->size))
    caching->oversize_segments.current--;
  gemem_caching_chain_free (caching, block);
}

/* ---- blocks */

CachingBlock *
gemem_caching_split (Caching *caching, CachingBlock *block, guint64 size)
{
  CachingBlock *low = gemem_slab_alloc (&caching->block_slab);

  low->node.group = block->node.group;
  low->node.size = size;
  low->address = block->address;
  low->number = ++caching->numbers;
  low->segment = block->segment;
  low->gc_base = block->gc_base;
  low->previous = block->previous;
  low->next = block;
  if (low->previous != NULL)
    low->previous->next = low;
  else
    block->segment->first = low;
  block->previous = low;
  block->address += size;
  block->node.size -= size;
  return low;
}

void
gemem_caching_unlink (Caching *caching, CachingBlock *block)
{
  if (block->previous != NULL)
    block->previous->next = block->next;
  else
    block->segment->first = block->next;
  if (block->next != NULL)
    block->next->previous = block->previous;
  if (G_UNLIKELY (caching->captured != NULL))
    g_hash_table_remove (caching->captured, block);
  gemem_slab_free (&caching->block_slab, block);
}

void
gemem_caching_insert (Caching *caching, CachingBlock *block)
{
  block->state = CACHING_FREE;
  block->node.address = G_UNLIKELY (caching->by_number) ? block->number
                                                        : block->address + block->segment->bias;
  gemem_tree_insert (&block->segment->pool->free, &block->node);
}

void
gemem_caching_make_free (Caching *caching, CachingBlock *block)
{
  CachingPool *pool = block->segment->pool;
  CachingBlock *low = block->previous, *high = block->next;

  if (low != NULL && low->state == CACHING_FREE)
    {
      gemem_tree_remove (&pool->free, &low->node);
      block->address = low->address;
      block->node.size += low->node.size;
      gemem_caching_unlink (caching, low);
    }
  if (high != NULL && high->state == CACHING_FREE)
    {
      gemem_tree_remove (&pool->free, &high->node);
      block->node.size += high->node.size;
      gemem_caching_unlink (caching, high);
    }
  block->gc_base = pool->search_count;
  gemem_caching_insert (caching, block);
}
