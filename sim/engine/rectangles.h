/* rectangles.h - a bounded number of rectangles of addresses by time: of all that are added, those that
 * matter most.
 *
 * Invariants: which ones are kept depends on what was added alone, not on the order of equal ones.
 * Cost: O(log most) for each, amortised; memory of twice as many as are kept.
 */
#pragma once

#include "sim/engine/history.h"

typedef struct
{
  const GememHistoryWish *wish;
  GArray *kept;     /* Weighted */
  guint64 bar;      /* the weight that a rectangle needs */
  guint64 left_out; /* rectangles that had less */
  gboolean crowded; /* one of them was there at a moment that was asked for */
} GememRectangles;

void gemem_rectangles_init (GememRectangles *self, const GememHistoryWish *wish);
void gemem_rectangles_clear (GememRectangles *self);
void gemem_rectangles_add (GememRectangles *self, const GememHistoryBlock *rectangle);
/* Those that are kept, by birth and then address (GememHistoryBlock); *@left_out of the others; *@crowded is set, never
 * cleared. */
GArray *gemem_rectangles_end (GememRectangles *self, guint64 *left_out, gboolean *crowded);
