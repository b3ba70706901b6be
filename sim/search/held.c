/* held.c - see held.h. */
#include "config.h"

#include <string.h>

#include "sim/search/held.h"

#define BATCH \
  4096 /* events that a reader delivers at once: progress and interruption need pauses */

struct _GememHeld
{
  GememTraceSource source;
  gpointer data;
  GememTraceReader *reader; /* read to its end; its info is the one of all */
  GPtrArray *batches;       /* GArray of GememTraceEvent; NULL: too many, not kept */
  guint64 events, kinds[GEMEM_EVENT_KIND_COUNT];
  guint64 failed; /* ALLOCs that the recorded allocator refused */
};

typedef struct
{
  GememTraceReader base;
  const GememHeld *held;
  guint next;
} Reader;

static void
batch_free (gpointer batch)
{
  g_array_unref (batch);
}

/* Appends a copy of @n events. */
static void
keep (GememHeld *held, const GememTraceEvent *events, gsize n)
{
  while (n > 0)
    {
      GArray *batch = held->batches->len > 0 ? held->batches->pdata[held->batches->len - 1] : NULL;
      gsize count;

      if (batch == NULL || batch->len == BATCH)
        {
          batch = g_array_sized_new (FALSE, FALSE, sizeof (GememTraceEvent), BATCH);
          g_ptr_array_add (held->batches, batch);
        }
      count = MIN (n, BATCH - batch->len);
      g_array_append_vals (batch, events, (guint) count);
      events += count;
      n -= count;
    }
}

static gboolean
read_all (GememHeld *held, GError **error)
{
  const GememTraceEvent *events;
  gssize n;

  while ((n = gemem_trace_next (held->reader, &events, error)) > 0)
    {
      for (gssize i = 0; i < n; i++)
        {
          if (events[i].kind < GEMEM_EVENT_KIND_COUNT)
            held->kinds[events[i].kind]++;
          held->failed += events[i].kind == GEMEM_EVENT_ALLOC
                          && (events[i].flags & GEMEM_EVENT_FAILED) != 0;
        }
      held->events += (guint64) n;
      if (held->events > GEMEM_HELD_EVENTS)
        g_clear_pointer (&held->batches, g_ptr_array_unref);
      if (held->batches != NULL)
        keep (held, events, (gsize) n);
    }
  return n == 0;
}

GememHeld *
gemem_held_new (GememTraceSource source, gpointer data, GError **error)
{
  GememHeld *held = g_new0 (GememHeld, 1);

  held->source = source;
  held->data = data;
  held->batches = g_ptr_array_new_with_free_func (batch_free);
  held->reader = source (data, error);
  if (held->reader != NULL && read_all (held, error))
    return held;
  gemem_held_free (held);
  return NULL;
}

void
gemem_held_free (GememHeld *held)
{
  if (held == NULL)
    return;
  g_clear_pointer (&held->batches, g_ptr_array_unref);
  gemem_trace_close (held->reader);
  g_free (held);
}

static gssize
next_batch (GememTraceReader *base, const GememTraceEvent **events, G_GNUC_UNUSED GError **error)
{
  Reader *reader = (Reader *) base;
  const GArray *batch;

  if (reader->next == reader->held->batches->len)
    return 0;
  batch = reader->held->batches->pdata[reader->next++];
  *events = (const GememTraceEvent *) batch->data;
  return batch->len;
}

/* The info is the held one's. */
static void
close_reader (GememTraceReader *reader)
{
  g_free (reader);
}

GememTraceReader *
gemem_held_open (gpointer data, GError **error)
{
  const GememHeld *held = data;
  Reader *reader;

  if (held->batches == NULL)
    return held->source (held->data, error);
  reader = g_new0 (Reader, 1);
  reader->base.format = held->reader->format;
  reader->base.info = held->reader->info;
  reader->base.next = next_batch;
  reader->base.close = close_reader;
  reader->held = held;
  return &reader->base;
}

const GememTraceInfo *
gemem_held_info (const GememHeld *held)
{
  return &held->reader->info;
}

guint64
gemem_held_events (const GememHeld *held)
{
  return held->events;
}

guint64
gemem_held_count (const GememHeld *held, GememEventKind kind)
{
  return held->kinds[kind];
}

guint64
gemem_held_refused (const GememHeld *held)
{
  return held->failed + held->kinds[GEMEM_EVENT_OOM];
}
