/* corner.h - corner search: decides whether boxes fit under a capacity, exactly.
 *
 * A placement can be pushed down until every box rests on the bottom or on another box.  So one
 * column at a time is decided: which box lies lowest in what is free of it, or that nothing does up
 * to the next height at which something could rest.  The column must be part of a local minimum of
 * the skyline (no higher than the columns on both sides): elsewhere a box could close a valley that
 * another placement uses, and "does not fit" would be wrong (test-optimal-corner.c shows it).
 *
 * What follows from a decision is followed to its end before the next: the floor of a column rises
 * to the lowest that any of its boxes can lie, and floor + what is still to be placed must stay
 * under the capacity.  States that failed are remembered, by 128 bits; searches that take long are
 * given up and begun anew in another order; where nothing connects the two sides of a column border
 * any more, each side is searched by itself.
 *
 * Invariants: a floor never sinks on the way down and is restored on the way up; for every box not
 * yet placed `low` is the highest floor of its columns.
 * Cost: memory linear in the boxes x their columns.  Time is counted in steps: boxes looked at in a
 * column.  Origin: offline-planning.md 6.2.
 */
#pragma once

#include "planners/boxes.h"
#include "planners/optimal/effort.h"
#include "planners/optimal/walls.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_CORNER_FITS,
  GEMEM_CORNER_NEVER,  /* all was tried */
  GEMEM_CORNER_UNKNOWN /* the steps were used up */
} GememCornerAnswer;

/* Which column is decided next. */
typedef enum
{
  GEMEM_BRANCH_LOWEST,  /* of the lowest run: full columns first, then few choices */
  GEMEM_BRANCH_FEWEST,  /* of any local minimum: few choices */
  GEMEM_BRANCH_SOUND,   /* number of the sound ones */
  GEMEM_BRANCH_ANYWHERE /* any column: WRONG, for the test that shows it */
} GememBranch;

typedef struct _GememCorner GememCorner;

/* For @boxes, all of unit 1, sorted by first column; their ranks are changed by searches. */
GememCorner *gemem_corner_new (GememBoxes *boxes);
/* The same where @walls, which are not copied, are in the way; another @seed above 0, another order of search. */
GememCorner *gemem_corner_new_between (GememBoxes *boxes, const GememWalls *walls, guint64 seed);
void gemem_corner_free (GememCorner *corner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememCorner, gemem_corner_free)

/* Decides by @branch only; default: the sound ones in turn. */
void gemem_corner_set_branch (GememCorner *corner, GememBranch branch);

/* Whether the boxes fit under @capacity; if so, sets their offsets.  Takes what it uses from
 * @steps.  @stop may be NULL. */
GememCornerAnswer gemem_corner_run (GememCorner *corner, gint64 capacity, guint64 *steps,
                                    const GememStop *stop);
/* The same as a GememDecide (parts.h). */
GememCornerAnswer gemem_corner_decide (gpointer corner, gint64 capacity, guint64 *steps,
                                       const GememStop *stop);

GEMEM_END_DECLS
