/* partition.c - spatial partitioning of `tf-bfc`: requests of two kinds share a region from its two
 * ends, so that neither end's placements follow from what the other does.
 *
 * The chunks of a region are, in order of address: those of the lower end, at most one free chunk that
 * belongs to nobody (the gap), those of the upper end.  Each end takes its own holes first, then from
 * the gap.  What is freed beside the gap becomes part of it; so does what is freed where the ends meet.
 *
 * Invariants: the group of a chunk's node is its part of the region, free or live, and never falls from
 * one chunk to the next; the gap is free.
 * Cost: O(log free chunks).  Origin: peers.md 1b.6, TensorFlow 2.22.
 */
#include "config.h"

#include "allocators/bfc/regions.h"

/* The smallest free chunk of @part with @size bytes, the lowest among equals, or NULL. */
static GememTreeNode *
best_of (const GememBfc *self, GememBfcPart part, guint64 size)
{
  GememTreeNode *node = gemem_tree_fit (&self->free, part, size);

  return node != NULL && node->group == part ? node : NULL;
}

/* Cuts the upper @size bytes off the free chunk of @node, which keeps its part. */
static GememNeighbour *
cut_upper (GememBfc *self, GememTreeNode *node, guint64 size)
{
  GememNeighbour *chunk = GEMEM_NEIGHBOUR_OF (node), *high = chunk;

  gemem_tree_remove (&self->free, node);
  if (node->size > size)
    {
      high = gemem_slab_alloc (&self->chunk_slab);
      gemem_neighbours_split (chunk, high, size);
      gemem_bfc_insert_free (self, chunk);
    }
  high->free = FALSE;
  return high;
}

GememNeighbour *
gemem_bfc_find_at (GememBfc *self, GememBfcPart end, guint64 size)
{
  GememTreeNode *node = best_of (self, end, size);
  GememNeighbour *chunk, *rest;

  if (node == NULL)
    node = best_of (self, BFC_GAP, size);
  if (node == NULL)
    return NULL;
  chunk = end == BFC_UPPER ? cut_upper (self, node, size)
                           : gemem_bfc_take (self, node, size, &rest);
  chunk->node.group = end;
  return chunk;
}

/* The part to which the free chunk @neighbour and a chunk of @part beside it belong together. */
static guint64
joined (guint64 part, const GememNeighbour *neighbour)
{
  return neighbour == NULL || !neighbour->free || neighbour->node.group == part ? part : BFC_GAP;
}

/* TRUE if @chunk is the last of its end, and the other end or that of the region follows. */
static gboolean
is_border (const GememNeighbour *chunk, guint64 part)
{
  const GememNeighbour *beside = part == BFC_LOWER ? chunk->next : chunk->previous;

  return beside == NULL || beside->node.group != part;
}

void
gemem_bfc_rejoin (GememBfc *self, GememNeighbour *chunk)
{
  guint64 part = joined (joined (chunk->node.group, chunk->previous), chunk->next);

  chunk = gemem_neighbours_coalesce (chunk, &self->free, &self->chunk_slab);
  chunk->node.group = is_border (chunk, part) ? BFC_GAP : part;
  gemem_bfc_insert_free (self, chunk);
}
