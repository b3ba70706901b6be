/* search.h - MiniMalloc's question: do the boxes fit into a capacity?
 *
 * Any placement can be pushed down until every box rests on 0 or on a box alive with it.  Taken in
 * the order of (offset, rank), each box then lies at its least offset over those placed before it
 * that are alive with it.  So the search goes through orders in which (offset, rank) increases:
 * an offset is never a choice, only who is next.
 *
 * A box is not placed at or above an offset below which another one would fit.  A section (a
 * stretch of time up to the next end of a box) fails where its floor and what is left of it exceed
 * the capacity.  Where nothing that is not placed connects two sections, the sides are searched apart.
 * Boxes alive with nobody who is left have no alternative.
 *
 * Invariant: NO is a proof, by what was excluded; UNKNOWN ends the search at a number of nodes.
 * Cost: O(boxes of the part + columns they cover) a node; memory linear.  MiniMalloc lists pairs of
 * boxes, this does not.  Origin: offline-planning.md 1.1.
 */
#pragma once

#include "base/macros.h"
#include "planners/boxes.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_MINIMALLOC_YES,
  GEMEM_MINIMALLOC_NO,
  GEMEM_MINIMALLOC_UNKNOWN
} GememMinimallocAnswer;

typedef struct _GememMinimallocSearch GememMinimallocSearch;

/* Makes sections of the columns of @boxes and sorts them by the first; they keep their places until
 * the end. */
GememMinimallocSearch *gemem_minimalloc_search_new (GememBoxes *boxes);
void gemem_minimalloc_search_free (GememMinimallocSearch *search);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememMinimallocSearch, gemem_minimalloc_search_free)

/* YES leaves the offsets in the boxes.  At most @nodes nodes; *steps counts down, to 0 at least. */
GememMinimallocAnswer gemem_minimalloc_search_run (GememMinimallocSearch *search, gint64 capacity,
                                                   guint64 nodes, guint64 *steps,
                                                   const gint *interrupted);

GEMEM_END_DECLS
