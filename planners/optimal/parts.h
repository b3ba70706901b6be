/* parts.h - a space cut into the smallest parts that can be placed one by one, and the search for
 * a placement of each.
 *
 * A part is what remains of a stretch of time after the boxes that live throughout it have been
 * stacked at its bottom; this repeats, as what lies between them may fall apart again.  It is exact
 * while all boxes have one alignment; else nothing is stacked.
 *
 * Invariants: a part's boxes are consecutive in the array of its space, and keep their offsets from
 * the part's `base`.  bound <= least top <= top, all in units from `base`.
 * Origin: offline-planning.md 6 (reductions).
 */
#pragma once

#include "planners/boxes.h"
#include "planners/optimal/corner.h"
#include "planners/optimal/effort.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_STAGE_STACK, /* nothing but boxes that span their part */
  GEMEM_STAGE_DIVE,
  GEMEM_STAGE_PEAK, /* what lives at the peak first */
  GEMEM_STAGE_LOCAL,
  GEMEM_STAGE_CORNER,
  GEMEM_STAGE_WINDOW,
  GEMEM_STAGE_LARGE, /* the largest boxes first */
  GEMEM_STAGE_FIT,   /* another planner's plan was smaller */
  GEMEM_STAGE_COUNT
} GememStage;

typedef struct
{
  GememBoxes boxes;
  gint64 base, bound, top;
  gint64 grain;     /* divides all sizes, and so the least top */
  GememStage stage; /* that found `top` */
  guint kind;       /* of the dive that found the least top */
  guint tries;      /* of gemem_part_fill() so far */
} GememPart;

/* All parts of @boxes, GememPart; boxes that belong to none have their offsets. */
GArray *gemem_parts_new (GememBoxes boxes);
/* The largest base + bound, base + top. */
gint64 gemem_parts_bound (const GArray *parts);
gint64 gemem_parts_top (const GArray *parts);

/* Takes a placement whose top is @top, with the @offsets of @part's boxes, if it is lower than the one that there is; TRUE: it was. */
gboolean gemem_part_take (GememPart *part, gint64 top, const gint64 *offsets);

/* Places every part by dives of the kinds from @from to below @to, until its top is at most @goal less its base; from 0 on by one
 * at least. */
void gemem_parts_dive (GArray *parts, gint64 goal, guint from, guint to, const GememStop *stop);
/* peak.c: places what lives at the peak of each part without a gap and the others between that, in a few orders, until its top is at most
 * @goal less its base; not of parts that have nothing free elsewhere, or very many boxes. */
void gemem_parts_stack_peak (GArray *parts, gint64 goal, const GememStop *stop);

typedef enum
{
  GEMEM_SEARCH_GOAL, /* whether the goal can be reached */
  GEMEM_SEARCH_LESS, /* how far down it goes; what is too large for corner search, or left, by local search */
  GEMEM_SEARCH_FEW /* the same, but not by the largest boxes first */
} GememSearchKind;

/* Searches for less than @top where parts are still above @goal, by corner search (corner.h) with the steps of @effort, which raises
 * bounds where it proves that nothing fits. */
void gemem_parts_search (GArray *parts, gint64 goal, gint64 top, GememSearchKind kind,
                         GememEffort *effort);

/* Whether the boxes of @search fit under @capacity; if so, it sets their offsets.  As gemem_corner_run(). */
typedef GememCornerAnswer (*GememDecide) (gpointer search, gint64 capacity, guint64 *steps,
                                          const GememStop *stop);

/* Gets the top of @part down to @goal if it can, by asking @decide with @search for one capacity after another, and
 * raises its bound. */
void gemem_part_descend (GememPart *part, gint64 goal, GememDecide decide, gpointer search,
                         GememEffort *effort);

/* local.c: changes the order of dives until the top of @part, which has been dived, is at most @goal, or @effort has no steps for
 * another dive. */
void gemem_part_improve (GememPart *part, gint64 goal, GememEffort *effort);

/* window.c: places the boxes of one window after another anew until the top of @part, which has a placement, is at most
 * @goal, or @effort has no steps left. */
void gemem_part_rearrange (GememPart *part, gint64 goal, GememEffort *effort);

/* Fewer boxes have no large ones. */
#define GEMEM_LARGE_BOXES 1024
/* large.c: places the largest boxes of @part first and the others between them, level after level, as often as @effort has steps or until its top,
 * of the placement that it has, is at most @goal. */
void gemem_part_fill (GememPart *part, gint64 goal, GememEffort *effort);

GEMEM_END_DECLS
