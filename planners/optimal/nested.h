/* nested.h - placements of lifetimes with gaps that lie within one another, as those of blocks that a
 * repeated step of a program hands to its next: released soon after the beginning, asked for again near
 * the end.
 *
 * Why: the search for shapes (shapes.h) places box by box and wastes what dives do not.  If such items are
 * stacked at the bottom, the one with the smallest gap first, what is above them in any column is one
 * stretch; so each is two plain boxes, before and behind its gap, that a dive puts at one height.
 *
 * Invariants: the two halves of an item have one offset in every plan that is returned; gaps of others, and
 * gaps in which some bytes are in use, count as in use.  Cost: that of GEMEM_DIVE_ORDERS dives.
 */
#pragma once

#include "planners/optimal/effort.h"

GEMEM_BEGIN_DECLS

/* A plan of the lifetimes of @input, which have no places, with offsets in units of @unit bytes; without bound
 * and label, as the function of a planner.  NULL: there are no such gaps, or no dive kept the halves together. */
GememPlan *gemem_nested_plan (const GememPlanInput *input, guint64 alignment, guint64 unit,
                              const GememStop *stop);

GEMEM_END_DECLS
