/* neighbours.h - blocks that lie side by side: a list in address order, with split and merge.
 *
 * Why: shared by the allocators that keep free blocks in a tree and coalesce neighbours.  A block
 * embeds a GememNeighbour first; `handle` of a GememBlock points to it.
 *
 * Invariants: the blocks of a list cover its memory without gaps; a merge keeps the left of two
 * neighbours, so the first block of a list always remains.
 * Cost: O(1), inline, except for tree operations.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/slab.h"
#include "base/tree.h"

typedef struct _GememNeighbour GememNeighbour;
struct _GememNeighbour
{
  GememTreeNode node; /* `group`, `size`, and mostly `address` are valid outside the tree too */
  GememNeighbour *previous, *next;
  gboolean free; /* the block is in the tree */
};

/* The block whose node is @tree_node. */
#define GEMEM_NEIGHBOUR_OF(tree_node) GEMEM_TREE_ENTRY (tree_node, GememNeighbour, node)

/* TRUE if @block is the only block of its list. */
static inline gboolean
gemem_neighbours_alone (const GememNeighbour *block)
{
  return block->previous == NULL && block->next == NULL;
}

/* Makes @block the previous block of @next, which may be NULL: without a branch, because where a
 * list ends is unpredictable. */
static inline void
gemem_neighbours_point_back (GememNeighbour *next, GememNeighbour *block)
{
  GememNeighbour nobody;

  (next != NULL ? next : &nobody)->previous = block;
}

/* Cuts the upper @size bytes off @block, which is in no tree; they become the new block @high. */
static inline void
gemem_neighbours_split (GememNeighbour *block, GememNeighbour *high, guint64 size)
{
  block->node.size -= size;
  high->node.group = block->node.group;
  high->node.address = block->node.address + block->node.size;
  high->node.size = size;
  high->previous = block;
  high->next = block->next;
  gemem_neighbours_point_back (high->next, high);
  block->next = high;
}

/* @left absorbs its right neighbour, which returns to @slab; neither is in the tree. */
static inline void
gemem_neighbours_merge (GememNeighbour *left, GememSlab *slab)
{
  GememNeighbour *right = left->next;

  left->node.size += right->node.size;
  left->next = right->next;
  gemem_neighbours_point_back (left->next, left);
  gemem_slab_free (slab, right);
}

/* Merges @block, which is not in @tree, with its free neighbours, which it removes from @tree.
 * Returns the merged block, not in the tree. */
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

/* TRUE if @block, which may be NULL, is free and of @group: without a branch, because which
 * neighbours are free is unpredictable. */
static inline gboolean
gemem_neighbours_is_free (const GememNeighbour *block, guint64 group)
{
  static const GememNeighbour none = { .free = FALSE };

  block = block != NULL ? block : &none;
  return block->free & (block->node.group == group);
}

/* Adds @block, which is not in @tree, merged with its free neighbours of the same group.
 * Returns the merged block.  As coalesce() and an insert, but the merged block mostly takes the
 * place of a neighbour. */
static inline GememNeighbour *
gemem_neighbours_release (GememNeighbour *block, GememTree *tree, GememSlab *slab)
{
  const guint low = (guint) gemem_neighbours_is_free (block->previous, block->node.group),
              high = (guint) gemem_neighbours_is_free (block->next, block->node.group);
  gpointer place; /* of the neighbour whose place the merged block takes */

  block->free = TRUE;
  switch (low + 2 * high) /* one branch that cannot be foreseen, not four */
    {
    case 0:
      gemem_tree_insert (tree, &block->node);
      return block;
    case 2:
      place = block->next->node.place;
      gemem_neighbours_merge (block, slab);
      break;
    case 3:
      gemem_tree_remove (tree, &block->next->node);
      gemem_neighbours_merge (block, slab);
      G_GNUC_FALLTHROUGH;
    default:
      block = block->previous;
      place = block->node.place;
      gemem_neighbours_merge (block, slab);
    }
  gemem_tree_raise (tree, place, &block->node);
  return block;
}

/* Takes the lower @size bytes, but not all, of the free @block; the rest, which is returned,
 * mostly takes its place in @tree.  What the caller's block has beyond a GememNeighbour is
 * undefined in it. */
static inline GememNeighbour *
gemem_neighbours_take_low (GememNeighbour *block, guint64 size, GememTree *tree, GememSlab *slab)
{
  GememNeighbour *rest = gemem_slab_take (slab);

  gemem_neighbours_split (block, rest, block->node.size - size);
  block->free = FALSE;
  rest->free = TRUE;
  gemem_tree_lower (tree, block->node.place, &rest->node);
  return rest;
}

/* prefetch() of a class: fetches the neighbours, with which a free may merge the block. */
static inline void
gemem_neighbours_prefetch (G_GNUC_UNUSED GememAllocator *allocator, const GememBlock *live)
{
  const GememNeighbour *block = live->handle;

  __builtin_prefetch (block->previous, 1);
  __builtin_prefetch (block->next, 1);
}
