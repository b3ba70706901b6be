/* map.c - see map.h.  Cost: O(spans) + O(segments log segments). */
#include "config.h"

#include "sim/plots/map.h"
#include "sim/report/notes.h"

static guint64
clipped_end (const GememSpan *span, guint64 start)
{
  const guint64 from = span->address > start ? span->address - start : 0;
  return from > G_MAXUINT64 - span->size ? G_MAXUINT64 : from + span->size;
}

static void
add_span (GememMapSegment *segment, const GememMapSpan *piece)
{
  const GememSpan *span = &piece->span;
  segment->n++;
  if (span->state == GEMEM_SPAN_UNMAPPED)
    return;
  segment->extent = MAX (segment->extent, clipped_end (span, segment->start));
  segment->mapped += span->size;
  if (span->state != GEMEM_SPAN_LIVE)
    return;
  segment->live += span->size;
  segment->blocks++;
  if (segment->keeper == NULL || span->size > segment->keeper->span.size)
    segment->keeper = piece;
}

static GArray *
collect (const GememResult *result)
{
  GArray *segments = g_array_new (FALSE, TRUE, sizeof (GememMapSegment));
  GememMapSegment *segment = NULL;
  for (guint i = 0; result->map != NULL && i < result->map->len; i++)
    {
      const GememMapSpan *piece = &g_array_index (result->map, GememMapSpan, i);
      if (segment == NULL || piece->span.segment != segment->start)
        {
          g_array_set_size (segments, segments->len + 1);
          segment = &g_array_index (segments, GememMapSegment, segments->len - 1);
          segment->start = piece->span.segment;
          segment->first = i;
          segment->stream = piece->span.stream;
          segment->pool = piece->span.pool;
        }
      add_span (segment, piece);
    }
  return segments;
}

static int
compare_size (gconstpointer a, gconstpointer b)
{
  const GememMapSegment *left = a, *right = b;
  if (left->mapped != right->mapped)
    return left->mapped > right->mapped ? -1 : 1;
  return left->first < right->first ? -1 : 1;
}

static int
compare_place (gconstpointer a, gconstpointer b)
{
  return ((const GememMapSegment *) a)->first < ((const GememMapSegment *) b)->first ? -1 : 1;
}

void
gemem_map_view_init (GememMapView *view, const GememResult *result, guint max)
{
  *view = (GememMapView){ .segments = collect (result) };
  view->total = view->segments->len;
  if (max > 0 && view->total > max)
    g_array_sort (view->segments, compare_size);
  for (guint i = 0; i < view->total; i++)
    {
      const GememMapSegment *segment = &g_array_index (view->segments, GememMapSegment, i);
      gboolean shown = max == 0 || i < max;
      view->mapped += segment->mapped;
      view->live += segment->live;
      view->left_mapped += shown ? 0 : segment->mapped;
      view->left_live += shown ? 0 : segment->live;
      view->widest = shown ? MAX (view->widest, segment->extent) : view->widest;
    }
  if (max > 0 && view->total > max)
    {
      g_array_set_size (view->segments, max);
      g_array_sort (view->segments, compare_place);
    }
}

void
gemem_map_view_clear (GememMapView *view)
{
  g_clear_pointer (&view->segments, g_array_unref);
}

void
gemem_map_place (const GememMapSegment *segment, const GememSpan *span, guint64 *from, guint64 *to)
{
  *from = MIN (span->address > segment->start ? span->address - segment->start : 0,
               segment->extent);
  *to = MIN (clipped_end (span, segment->start), segment->extent);
}

gboolean
gemem_map_append_cause (GString *out, const GememMapSegment *segment, const GememMapSpan *piece)
{
  const GememSpan *span = &piece->span;
  GememIdleRow row = { .cause = piece->cause,
                       .pool = span->pool,
                       .bytes = span->size,
                       .count = 1,
                       .largest = span->size,
                       .stream = span->stream,
                       .used = (span->flags & GEMEM_SPAN_POOL_IN_USE) != 0,
                       .released = (span->flags & GEMEM_SPAN_POOL_RELEASED) != 0 };

  if (piece->cause == GEMEM_IDLE_CAUSES
      || (span->state != GEMEM_SPAN_FREE && span->state != GEMEM_SPAN_PENDING))
    return FALSE;
  if (segment->keeper != NULL)
    {
      row.blocks = segment->blocks;
      row.id = segment->keeper->id;
      row.size = segment->keeper->span.size;
      row.origin = segment->keeper->origin;
    }
  gemem_report_append_idle_row (out, &row);
  return TRUE;
}

guint
gemem_map_permille (guint64 part, guint64 whole)
{
  return whole > 0 ? (guint) ((unsigned __int128) MIN (part, whole) * 1000 / whole) : 0;
}
