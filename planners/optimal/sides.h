/* sides.h - decides whether shapes fit under a capacity, exactly: of each two that are in use at once, which lies above.
 *
 * For two boxes the differences of their offsets that would make them share bytes are a few intervals, one where
 * neither has windows.  For each interval one of them lies above the other.  So a placement is a choice of sides, and
 * the lowest for a choice is that of the longest path: each box as low as what it lies above allows.  The
 * search keeps for every box the lowest and the highest offset that the choices so far leave.  A side that they
 * leave no slack for is decided; where neither has slack, nothing fits.  If all boxes at their lowest offsets share no
 * bytes, that is a placement; else two that do are decided next.
 *
 * It knows nothing of shapes, so it is exact for gaps, windows, places and mixed alignments alike, but it sees only
 * pairs: corner search (corner.h) is better where it can be used.
 *
 * Invariants: bounds only tighten on the way down and are restored on the way up; lowest offsets are aligned.
 * Cost: memory linear in the pairs, of which there are MAX_PAIRS at most; a step is a pair looked at.
 */
#pragma once

#include "planners/optimal/corner.h"
#include "planners/optimal/shapes.h"

GEMEM_BEGIN_DECLS

typedef struct _GememSides GememSides;

/* NULL: too many pairs. */
GememSides *gemem_sides_new (GememShapes *shapes);
void gemem_sides_free (GememSides *sides);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememSides, gemem_sides_free)

/* A GememDecide (parts.h) with GememSides *. */
GememCornerAnswer gemem_sides_run (gpointer sides, gint64 capacity, guint64 *steps,
                                   const GememStop *stop);

GEMEM_END_DECLS
