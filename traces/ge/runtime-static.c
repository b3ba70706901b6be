/* runtime-static.c - makes the load events of static graphs, with their segments, from a log of
 * GE's run time.
 *
 * The log lists the segments as requested, then again as placed, then merged; the first listing is
 * used.  The line "InitFeatureMapAndP2PMem graph_N" then names the graph and ends the load.
 * Memory: the segments of one graph for each process.
 * Origin: ge-runtime.md 3, 10.
 */
#include "config.h"

#include "traces/ge/runtime-private.h"

gboolean
gemem_ge_runtime_logical (GeLog *log, const GePlace *place)
{
  const GeLine *line = place->line;
  GeListing *listing = &log->listings[place->index];
  GememTraceEvent event = { .kind = GEMEM_EVENT_GRAPH_SEGMENT,
                            .address = line->logical,
                            .size = line->size };

  if (listing->segments == NULL)
    listing->segments = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  if (line->address != 0 && !listing->placed && listing->segments->len > 0)
    return gemem_log_reader_skip (&log->base); /* the same segments, placed or merged */
  if (line->logical < listing->end || (line->address == 0 && listing->placed))
    g_array_set_size (listing->segments, 0); /* another listing begins */
  listing->placed = line->address != 0;
  listing->end = line->logical + line->size;
  event.aux = line->alloc ? 0 : GEMEM_GRAPH_SEGMENT_ZERO_COPY | GEMEM_GRAPH_SEGMENT_NO_ALLOC;
  g_array_append_val (listing->segments, event);
  return TRUE;
}

gboolean
gemem_ge_runtime_graph (GeLog *log, const GePlace *place)
{
  const GeLine *line = place->line;
  GeListing *listing = &log->listings[place->index];
  const guint segments = listing->segments != NULL ? listing->segments->len : 0;
  g_autofree char *name = g_strdup_printf ("graph_%" G_GUINT64_FORMAT, line->number);
  gboolean loaded;
  guint64 *id = gemem_idmap_insert (log->graphs, (guint64) place->index << 32 | line->number,
                                    &loaded),
          size = line->size;

  if (loaded)
    gemem_log_reader_add (&log->base, GEMEM_EVENT_GRAPH_UNLOAD, place->device, line->time)->id =
        *id;
  else
    *id = ++log->last_graph;
  for (guint i = 0; i < segments; i++)
    {
      const GememTraceEvent *segment = &g_array_index (listing->segments, GememTraceEvent, i);
      if ((segment->aux & GEMEM_GRAPH_SEGMENT_NO_ALLOC) == 0)
        size = MAX (size, segment->address + segment->size);
    }
  GememTraceEvent *event = gemem_log_reader_add (&log->base, GEMEM_EVENT_GRAPH_LOAD, place->device,
                                                 line->time);
  event->id = *id;
  event->size = size;
  event->aux = segments;
  event->tag = gemem_trace_info_intern (&log->base.lines.base.info, name);
  for (guint i = 0; i < segments; i++)
    {
      const GememTraceEvent *segment = &g_array_index (listing->segments, GememTraceEvent, i);
      event = gemem_log_reader_add (&log->base, GEMEM_EVENT_GRAPH_SEGMENT, place->device,
                                    line->time);
      event->id = *id;
      event->address = segment->address;
      event->size = segment->size;
      event->aux = segment->aux;
    }
  g_clear_pointer (&listing->segments, g_array_unref);
  *listing = (GeListing){ 0 };
  return TRUE;
}
