/* gaps.h - the free bytes of an arena: taken at a given offset, or where they fit best.
 *
 * The arena has parts, and no gap reaches from one into another.
 *
 * Invariants: gaps do not touch within a part.  Cost: O(log n) each.
 */
#pragma once

#include "base/tree.h"

typedef struct
{
  GememTree by_size, by_offset; /* of GememGap */
  GememSlab slab;
} GememGaps;

void gemem_gaps_init (GememGaps *gaps);
void gemem_gaps_clear (GememGaps *gaps);
/* Frees @size bytes, more than 0, at @offset in @part: none of them is free. */
void gemem_gaps_add (GememGaps *gaps, guint64 part, guint64 offset, guint64 size);
/* Takes @size bytes at @offset in @part; FALSE: not all of them are free. */
gboolean gemem_gaps_take (GememGaps *gaps, guint64 part, guint64 offset, guint64 size);
/* Takes @size bytes from the smallest gap of @part that has them, of these the lowest, and returns
 * their @offset; FALSE: there is none. */
gboolean gemem_gaps_fit (GememGaps *gaps, guint64 part, guint64 size, guint64 *offset);
