/* caching-adopt.c - a recorded state from which `pytorch-caching` and `torch-npu` start: segments
 * first, then their blocks in the order of addresses.
 *
 * Why separate: none of it runs while a trace is replayed.
 *
 * Invariants: caching.h; `adopting` and `adopted` say where the block that comes next is looked
 * for, and are NULL after done().
 * Cost: O(1) per block where blocks come in order.
 * Origin: peers.md 2.1.
 */
#include "config.h"

#include "allocators/pytorch/caching.h"

gboolean
gemem_caching_adopt_segment (GememAllocator *allocator, const GememAdopt *segment)
{
  Caching *caching = (Caching *) allocator;
  CachingPool *pool = gemem_caching_pool (caching, segment->pool, segment->small);

  if (!gemem_device_adopt (allocator->device, segment->address, segment->size))
    return FALSE;
  gemem_caching_insert (caching, gemem_caching_segment_add (caching, pool, segment->address,
                                                            segment->size, segment->stream));
  return TRUE;
}

static gboolean
contains (guint64 address, guint64 size, const GememAdopt *adopt)
{
  return adopt->address >= address && adopt->address - address <= size
         && adopt->size <= size - (adopt->address - address);
}

/* The free block that contains the bytes of @adopt, or NULL. */
static CachingBlock *
find_place (Caching *caching, const GememAdopt *adopt)
{
  CachingSegment *segment = caching->adopting;
  CachingBlock *first;

  if (segment == NULL || !contains (segment->address, segment->size, adopt))
    for (segment = caching->segments; segment != NULL; segment = segment->next)
      if (contains (segment->address, segment->size, adopt))
        break;
  if (segment != caching->adopting)
    caching->adopted = NULL;
  caching->adopting = segment;
  if (segment == NULL || adopt->size == 0)
    return NULL;
  /* blocks are adopted in the order of their addresses */
  if (caching->adopted != NULL && caching->adopted->address < adopt->address)
    first = caching->adopted;
  else
    first = segment->first;
  for (CachingBlock *block = first; block != NULL; block = block->next)
    if (block->state == CACHING_FREE && contains (block->address, block->node.size, adopt))
      return block;
  return NULL;
}

gboolean
gemem_caching_adopt_block (GememAllocator *allocator, const GememAdopt *adopt, GememBlock *out)
{
  Caching *caching = (Caching *) allocator;
  CachingBlock *block = find_place (caching, adopt);

  if (block == NULL)
    return FALSE;
  gemem_tree_remove (&block->segment->pool->free, &block->node);
  if (adopt->address > block->address)
    gemem_caching_insert (caching,
                          gemem_caching_split (caching, block, adopt->address - block->address));
  if (adopt->size < block->node.size)
    {
      CachingBlock *rest = block;

      block = gemem_caching_split (caching, rest, adopt->size);
      gemem_caching_insert (caching, rest);
    }
  gemem_caching_hand_out (caching, block, adopt->requested, out);
  caching->adopted_odd |= (adopt->size | (adopt->address - block->segment->address))
                              % CACHING_QUANTUM
                          != 0;
  caching->adopted = block;
  return TRUE;
}

/* The bytes that no block claimed are in the free sets already. */
void
gemem_caching_adopt_done (GememAllocator *allocator)
{
  ((Caching *) allocator)->adopting = NULL;
  ((Caching *) allocator)->adopted = NULL;
}
