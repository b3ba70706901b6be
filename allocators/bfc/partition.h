/* partition.h - spatial partitioning of `tf-bfc`: requests of two kinds share a region from its two
 * ends, so that neither end's placements follow from what the other does.
 *
 * The chunks of a region are, in order of address: those of the lower end, at most one free chunk
 * that belongs to nobody (the gap), those of the upper end.  Each end takes its own holes first,
 * then from the gap.  What is freed beside the gap becomes part of it; so does what is freed where
 * the ends meet.
 *
 * Invariants: the group of a chunk's node is its part of the region, free or live, and never falls
 * from one chunk to the next; the gap is free.
 * Cost: O(log free chunks).  Origin: peers.md 1b.6, TensorFlow 2.22.
 */
#pragma once

#include "allocators/bfc/regions.h"

/* A chunk of @size bytes for @end, BFC_LOWER or BFC_UPPER, no longer free; NULL: none.  The lower
 * end cuts where that is worth it, the upper one always, and takes the upper bytes. */
GememNeighbour *gemem_bfc_find_at (GememBfc *self, GememBfcPart end, guint64 size);
/* `rejoin` of a partitioned allocator: @chunk is new or no longer live. */
void gemem_bfc_rejoin (GememBfc *self, GememNeighbour *chunk);
