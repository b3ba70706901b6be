/* timeline.c - see timeline.h. */
#include "config.h"

#include <string.h>

#include "sim/engine/timeline.h"

void
gemem_timeline_init (GememTimeline *timeline, GArray *points, guint max)
{
  memset (timeline, 0, sizeof *timeline);
  timeline->points = points;
  timeline->max = max <= 1 ? max : max & ~1u;
  timeline->stride = max > 1 ? 1 : G_MAXUINT64;
}

/* Merges each pair of points into the later one with the larger maxima; the number is even here. */
static void
halve (GememTimeline *timeline)
{
  GememTimelinePoint *points = (GememTimelinePoint *) (gpointer) timeline->points->data;
  guint n = timeline->points->len / 2;

  for (guint i = 0; i < n; i++)
    {
      const GememTimelinePoint *first = &points[2 * i];
      GememTimelinePoint merged = points[2 * i + 1];
      merged.live_max = MAX (merged.live_max, first->live_max);
      merged.allocated_max = MAX (merged.allocated_max, first->allocated_max);
      merged.reserved_max = MAX (merged.reserved_max, first->reserved_max);
      points[i] = merged;
    }
  g_array_set_size (timeline->points, n);
  timeline->stride *= 2;
}

void
gemem_timeline_close_point (GememTimeline *timeline, const GememTimelinePoint *end, gboolean last)
{
  GememTimelinePoint closed = *end;

  if (timeline->max == 0 || timeline->count == 0)
    return;
  if (timeline->points->len == timeline->max)
    {
      halve (timeline);
      if (timeline->count < timeline->stride && !last)
        return; /* the open point continues: closed points have equal numbers of events */
    }
  closed.live_max = timeline->open.live_max;
  closed.allocated_max = timeline->open.allocated_max;
  closed.reserved_max = timeline->open.reserved_max;
  g_array_append_val (timeline->points, closed);
  memset (&timeline->open, 0, sizeof timeline->open);
  timeline->count = 0;
}
