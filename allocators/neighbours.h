/* neighbours.h - blocks that lie side by side: a list in the order of addresses, with split and merge.
 *
 * For allocators whose free blocks are in a tree and coalesce with their neighbours.  A block
 * embeds a GememNeighbour first; `handle` of a GememBlock points to it.
 *
 * Invariants: the blocks of a list cover its memory without gaps; of two neighbours that merge the
 * left one stays, so that the first block of a list never goes away.
 * Cost: O(1), inline, but for the tree.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/slab.h"
#include "base/tree.h"

typedef struct _GememNeighbour GememNeighbour;
struct _GememNeighbour
{
  GememTreeNode node; /* `group` and `size`, and mostly `address`, hold out of the tree too */
  GememNeighbour *previous, *next;
  gboolean free; /* it is in the tree */
};

/* The block whose node is @tree_node. */
#define GEMEM_NEIGHBOUR_OF(tree_node) GEMEM_TREE_ENTRY (tree_node, GememNeighbour, node)

/* @block is the whole list. */
static inline gboolean
gemem_neighbours_alone (const GememNeighbour *block)
{
  return block->previous == NULL && block->next == NULL;
}

/* Cuts the upper @size bytes off @block, which is in no tree, and returns them as @high, a new
 * block. */
static inline void
gemem_neighbours_split (GememNeighbour *block, GememNeighbour *high, guint64 size)
{
  block->node.size -= size;
  high->node.group = block->node.group;
  high->node.address = block->node.address + block->node.size;
  high->node.size = size;
  high->previous = block;
  high->next = block->next;
  if (high->next != NULL)
    high->next->previous = high;
  block->next = high;
}

/* @left absorbs its right neighbour, which goes back to @slab; neither is in the tree. */
static inline void
gemem_neighbours_merge (GememNeighbour *left, GememSlab *slab)
{
  GememNeighbour *right = left->next;

  left->node.size += right->node.size;
  left->next = right->next;
  if (left->next != NULL)
    left->next->previous = left;
  gemem_slab_free (slab, right);
}

/* Merges @block, which is not in @tree, with its free neighbours, which leave it; returns the block
 * that covers them all, not in the tree. */
static inline GememNeighbour *
gemem_neighbours_coalesce (GememNeighbour *block, GememTree *tree, GememSlab *slab)
{
  if (block->previous != NULL && block->previous->free)
    {
      block = block->previous;
      gemem_tree_remove (tree, &block->node);
      gemem_neighbours_merge (block, slab);
    }
  if (block->next != NULL && block->next->free)
    {
      gemem_tree_remove (tree, &block->next->node);
      gemem_neighbours_merge (block, slab);
    }
  return block;
}

/* prefetch() of a class: the neighbours, which a free may merge the block with. */
static inline void
gemem_neighbours_prefetch (G_GNUC_UNUSED GememAllocator *allocator, const GememBlock *live)
{
  const GememNeighbour *block = live->handle;

  __builtin_prefetch (block->previous, 1);
  __builtin_prefetch (block->next, 1);
}
