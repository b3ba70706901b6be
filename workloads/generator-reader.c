/* generator-reader.c - see generator-reader.h. */
#include "config.h"

#include "workloads/generator-reader.h"

static gssize
next (GememTraceReader *parent, const GememTraceEvent **events, GError **error)
{
  GememGeneratorReader *reader = (GememGeneratorReader *) parent;
  g_array_set_size (reader->events, 0);
  while (reader->events->len == 0)
    if (!reader->fill (reader))
      return 0;
  *events = (const GememTraceEvent *) (gconstpointer) reader->events->data;
  return reader->events->len;
}

static void
close_reader (GememTraceReader *parent)
{
  GememGeneratorReader *reader = (GememGeneratorReader *) parent;
  if (reader->free_parts != NULL)
    reader->free_parts (reader);
  g_array_unref (reader->events);
  gemem_trace_info_clear (&parent->info);
  g_free (reader);
}

gpointer
gemem_generator_reader_new (gsize size, gboolean (*fill) (GememGeneratorReader *),
                            void (*free_parts) (GememGeneratorReader *))
{
  GememGeneratorReader *reader = g_malloc0 (size);
  gemem_trace_info_init (&reader->parent.info, "generator", "generated");
  reader->parent.info.flags = GEMEM_TRACE_HAS_TIME;
  reader->parent.next = next;
  reader->parent.close = close_reader;
  reader->events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  reader->next_id = 1;
  reader->fill = fill;
  reader->free_parts = free_parts;
  return reader;
}

guint64
gemem_events_alloc (GememGeneratorReader *reader, guint64 size, guint64 stream)
{
  GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC,
                            .id = reader->next_id++,
                            .size = size,
                            .stream = stream,
                            .time = reader->time };
  g_array_append_val (reader->events, event);
  return event.id;
}

void
gemem_events_free (GememGeneratorReader *reader, guint64 id)
{
  GememTraceEvent event = { .kind = GEMEM_EVENT_FREE, .id = id, .time = reader->time };
  g_array_append_val (reader->events, event);
}

void
gemem_events_mark (GememGeneratorReader *reader, GememEventKind kind, guint64 id)
{
  GememTraceEvent event = { .kind = (guint8) kind, .id = id, .time = reader->time };
  g_array_append_val (reader->events, event);
}

void
gemem_events_use (GememGeneratorReader *reader, guint64 id, guint64 stream)
{
  gemem_events_mark (reader, GEMEM_EVENT_USE_ON_STREAM, id);
  gemem_events_last (reader)->stream = stream;
}

GememTraceEvent *
gemem_events_last (GememGeneratorReader *reader)
{
  return &g_array_index (reader->events, GememTraceEvent, reader->events->len - 1);
}
