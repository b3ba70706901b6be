/* ways.h - the ways to search for a placement of boxes that fill their columns: the boxes as they are, and joined
 * where they fit together (glue.h).
 *
 * Why: joined boxes are fewer, and their search is done when that of all has hardly begun; but only the boxes as they
 * are can be searched to the end.  The least of all ways is kept.
 *
 * Invariants: the same steps give the same placement.  The bound holds for every placement: it comes from the boxes
 * as they are alone.
 * Cost: as parts.h and glue.h say, a copy of the boxes, and of the steps a half for the boxes as they are.
 */
#pragma once

#include "planners/optimal/parts.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  gint64 top, bound;
  GememStage stage; /* that found what decides the top */
} GememWaysResult;

/* Places @boxes, whose ids, order and columns change, until the top is at most the bound or @enough; takes the steps that
 * searches need from @effort. */
GememWaysResult gemem_ways_place (GememBoxes boxes, gint64 enough, GememEffort *effort);

GEMEM_END_DECLS
