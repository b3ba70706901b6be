/* boxes.h - the items of one space as boxes in time and addresses, reduced to what decides the
 * peak.
 *
 * Why: the searches of `optimal` need small integers.  Time becomes columns, of which none lies
 * within another; sizes become units, the greatest common divisor of all alignments, which is
 * exact as every offset is a multiple of it.  Stretches of time that no box connects are
 * independent parts, and each is placed on its own.
 *
 * Invariants: first < last <= columns for every box, size > 0; two boxes are alive at once if and
 * only if their columns meet.
 * Cost: O(n log n) time, 64 bytes a box.  Origin: offline-planning.md 1.1 (sections), 6.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  gint64 size;         /* units */
  gint64 unit;         /* offsets are multiples of this many units */
  gint64 offset;       /* units; the result */
  double life;         /* steps, for orders */
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

/* The largest sum of sizes in a column: no placement has a smaller top. */
gint64 gemem_boxes_load (const GememBoxes *boxes);
/* The highest end of any box. */
gint64 gemem_boxes_top (const GememBoxes *boxes);
/* Drops columns whose boxes are all in another column, and sorts by first column. */
void gemem_boxes_compress (GememBoxes *boxes);
/* Cuts the first independent part off @rest (sorted by first column), with columns of its own. */
GememBoxes gemem_boxes_take_part (GememBoxes *rest);

GEMEM_END_DECLS
