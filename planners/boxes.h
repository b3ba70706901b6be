/* boxes.h - the items of one space as boxes in time and addresses, and from lifetimes to boxes and
 * back to a plan.
 *
 * Why: what all planners of lifetimes do alike.  Time becomes columns between one begin or end and
 * the next.  A planner is a function that gives the boxes of a space their offsets.  The
 * searches of `optimal` need small integers: sizes become units, the greatest common divisor of
 * all alignments, which is exact as every offset is a multiple of it; a column within another is
 * dropped; stretches of time that no box connects are parts, and each is placed on its own.
 *
 * Invariants: first < last <= columns for every box, size > 0; two boxes are alive at once if and
 * only if their columns meet.
 * Cost: O(n log n) time, 64 bytes a box.  Origin: offline-planning.md 1.1 (sections), 6.
 */
#pragma once

#include "base/macros.h"
#include "planners/planner.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  gint64 size;         /* units */
  gint64 unit;         /* offsets are multiples of this many units */
  gint64 offset;       /* units; the result */
  guint64 life;        /* steps */
  guint64 id;          /* of the lifetime: the order in which the input names them */
  guint32 first, last; /* columns; half-open */
  guint32 item;        /* of the plan */
  guint32 rank;        /* in the order of a dive; 0 comes first */
} GememBox;

/* Boxes with their columns counted from 0. */
typedef struct
{
  GememBox *boxes;
  guint32 n, columns;
} GememBoxes;

/* ---- plans */

/* The largest unit that divides all alignments; 0 if the sizes add up to 2^62 bytes or more. */
guint64 gemem_boxes_unit (const GememLifetimes *lifetimes, guint64 alignment);

/* Gives the boxes of one space, in the order of their ids, their offsets.  It may change their order, and
 * all but `item`. */
typedef gboolean (*GememPlaceBoxes) (GememBoxes *boxes, gpointer data, GError **error);

/* The plan of the lifetimes in @input, each space placed by @place with @data, in units of @unit
 * bytes.  Errors: those of @place; GEMEM_ERROR_INPUT where the sizes add up to 2^63 or more. */
GememPlan *gemem_boxes_plan (const GememPlanInput *input, guint64 alignment, guint64 unit,
                             GememPlaceBoxes place, gpointer data, GError **error);

/* What orders a box: ascending; ties go by id and item. */
typedef struct
{
  guint64 a, b, c;
} GememBoxKey;

typedef GememBoxKey (*GememBoxOrder) (const GememBox *box, gpointer data);

void gemem_boxes_sort (GememBoxes *boxes, GememBoxOrder key, gpointer data);
/* Of two GememBox, by the first step, then by the item (GCompareFunc). */
int gemem_box_compare (gconstpointer a, gconstpointer b);

/* The smallest multiple of @unit at or above @offset. */
static inline gint64
gemem_box_align (gint64 offset, gint64 unit)
{
  return unit > 1 ? (offset + unit - 1) / unit * unit : offset;
}

/* ---- columns and parts */

/* Whether @box, of @boxes, lives for all of the time. */
static inline gboolean
gemem_box_is_whole (const GememBox *box, const GememBoxes *boxes)
{
  return box->first == 0 && box->last == boxes->columns;
}

/* Whether the offsets of some have to be multiples of more than one unit. */
gboolean gemem_boxes_have_units (const GememBoxes *boxes);
/* What divides all sizes: where boxes are as low as they can be, every offset is a sum of some. */
gint64 gemem_boxes_grain (const GememBoxes *boxes);
/* The largest sum of sizes in a column: no placement has a smaller top. */
gint64 gemem_boxes_load (const GememBoxes *boxes);
/* The highest end of any box. */
gint64 gemem_boxes_top (const GememBoxes *boxes);
/* Drops columns whose boxes are all in another column, and sorts by first column; ranks are lost. */
void gemem_boxes_compress (GememBoxes *boxes);
/* Cuts the first independent part off @rest (sorted by first column), with columns of its own. */
GememBoxes gemem_boxes_take_part (GememBoxes *rest);

GEMEM_END_DECLS
