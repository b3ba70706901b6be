/* event-source.c - see event-source.h. */
#include "config.h"

#include "tests/util/event-source.h"

typedef struct
{
  GememTraceReader base;
  TestTrace *trace;
  gsize at;
  guint opening;
} Reader;

static gssize
next_events (GememTraceReader *base, const GememTraceEvent **events, GError **error)
{
  Reader *reader = (Reader *) base;
  const TestTrace *trace = reader->trace;
  gsize n = MIN (trace->batch > 0 ? trace->batch : trace->n, trace->n - reader->at);

  if (trace->interrupt != NULL && reader->at <= trace->interrupt_at
      && trace->interrupt_at < reader->at + n
      && (trace->interrupt_opening == 0 || trace->interrupt_opening == reader->opening))
    g_atomic_int_set (trace->interrupt, 1);
  if (trace->fail_at > 0)
    {
      n = MIN (n, trace->fail_at - reader->at);
      if (n == 0)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "array:event %" G_GSIZE_FORMAT ": damaged; repair it", reader->at);
          return -1;
        }
    }
  *events = trace->events + reader->at;
  reader->at += n;
  return (gssize) n;
}

static void
close_reader (GememTraceReader *base)
{
  gemem_trace_info_clear (&base->info);
  g_free (base);
}

GememTraceReader *
test_trace_open (gpointer data, GError **error)
{
  Reader *reader = g_new0 (Reader, 1);

  reader->trace = data;
  reader->opening = (guint) g_atomic_int_add (&reader->trace->opened, 1) + 1;
  gemem_trace_info_init (&reader->base.info, "array", "array");
  reader->base.info.flags = reader->trace->flags;
  reader->base.info.allocator = g_strdup (reader->trace->allocator);
  reader->base.info.settings = g_strdup (reader->trace->settings);
  reader->base.info.device = g_strdup (reader->trace->device);
  if (reader->trace->describe != NULL)
    reader->trace->describe (&reader->base.info);
  reader->base.next = next_events;
  reader->base.close = close_reader;
  return &reader->base;
}

GememTraceReader *
test_open_path (gpointer path, GError **error)
{
  const GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;

  return gemem_trace_open (path, NULL, &options, error);
}
