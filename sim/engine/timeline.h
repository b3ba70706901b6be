/* timeline.h - live, allocated and reserved bytes over a whole run, in a bounded number of points.
 *
 * A point stands for a fixed number of events (the stride) and keeps the largest and the last value
 * of each curve within them, so no peak is skipped.  When the points are full, neighbours are
 * merged pairwise (larger maximum, later end) and the stride doubles.  A run of n events costs O(n)
 * and at most 2 * points * log2 (n / points) samples of the largest free block.
 */
#pragma once

#include "sim/engine/result.h"

typedef struct
{
  GArray *points; /* GememTimelinePoint */
  guint max;      /* even; or 1: one point for the whole run; or 0: none */
  guint64 stride, count;
  GememTimelinePoint open; /* the point being filled; only its maxima are kept up to date */
} GememTimeline;

/* Stores at most @max points in @points. */
void gemem_timeline_init (GememTimeline *timeline, GArray *points, guint max);

/* Ends the open point with the state in @end (its `_max` fields are ignored).  @last: the run is
 * over. */
void gemem_timeline_close_point (GememTimeline *timeline, const GememTimelinePoint *end,
                                 gboolean last);

/* Raises the maxima of the open point to the state after an event. */
static inline void
gemem_timeline_raise (GememTimeline *timeline, guint64 live, guint64 allocated, guint64 reserved)
{
  GememTimelinePoint *open = &timeline->open;
  open->live_max = MAX (open->live_max, live);
  open->allocated_max = MAX (open->allocated_max, allocated);
  open->reserved_max = MAX (open->reserved_max, reserved);
}

/* Counts one event; TRUE: the point is full and is to be closed with the present state. */
static inline gboolean
gemem_timeline_count (GememTimeline *timeline)
{
  return ++timeline->count >= timeline->stride;
}
