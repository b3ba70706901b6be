/* occupancy.h - the bytes taken during an interval of time: rectangles in time and addresses, and
 * the gaps between them.
 *
 * Why: greedy planners place items in any order of time and need the lowest (or smallest) gap that
 * is free during a whole lifetime.  Visiting every conflicting item costs hundreds of millions of
 * steps for the large traces; this visits merged ranges.
 *
 * Method: a segment tree over time columns.  A rectangle is added to the O(log n) nodes that make
 * up its interval (set `own`) and to those and all nodes above (set `below`).  A set is a sorted
 * list of disjoint ranges that merge when they touch.  The bytes taken in an interval are the union
 * of `below` of the nodes that make it up and `own` of the nodes above these: O(log n) sets.
 * Cost: take: O(log n) set updates; fit: O(ranges in these sets), which merging keeps few.
 * Memory: O(n log n) at worst.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct _GememOccupancy GememOccupancy;

/* Requires @n_columns > 0. */
GememOccupancy *gemem_occupancy_new (guint32 n_columns);
void gemem_occupancy_free (GememOccupancy *occupancy);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememOccupancy, gemem_occupancy_free)

/* Takes bytes [start, end) in columns [first, last); start < end, first < last. */
void gemem_occupancy_take (GememOccupancy *occupancy, guint32 first, guint32 last, guint64 start,
                           guint64 end);

/* The lowest multiple of @alignment from which @size bytes are free in all columns [first,
 * last). */
guint64 gemem_occupancy_first_fit (GememOccupancy *occupancy, guint32 first, guint32 last,
                                   guint64 size, guint64 alignment);
/* The same in the smallest sufficient gap between taken bytes (the lowest of equal ones); above all
 * taken bytes if there is none. */
guint64 gemem_occupancy_best_fit (GememOccupancy *occupancy, guint32 first, guint32 last,
                                  guint64 size, guint64 alignment);

/* Walks over the gaps in columns [first, last): the first gap that reaches above @from begins at the
 * result (at @from or above) and ends before *end; above all taken bytes, G_MAXUINT64. */
void gemem_occupancy_look (GememOccupancy *occupancy, guint32 first, guint32 last);
guint64 gemem_occupancy_gap (GememOccupancy *occupancy, guint64 from, guint64 *end);

GEMEM_END_DECLS
