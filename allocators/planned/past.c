/* past.c - see past.h. */
#include "config.h"

#include "allocators/planned/past.h"
#include "base/idmap.h"
#include "traces/trace.h"

GememPast *
gemem_past_new (void)
{
  GememPast *past = g_new0 (GememPast, 1);

  past->requests = g_array_new (FALSE, FALSE, sizeof (GememPastRequest));
  past->aside = g_array_new (FALSE, FALSE, sizeof (GememPastAside));
  past->marks = g_array_new (FALSE, FALSE, sizeof (GememPastMark));
  return past;
}

void
gemem_past_free (GememPast *past)
{
  if (past == NULL)
    return;
  g_array_unref (past->requests);
  g_array_unref (past->aside);
  g_array_unref (past->marks);
  g_free (past);
}

guint32
gemem_past_ask (GememPast *past, guint64 size, guint64 stream)
{
  const GememPastRequest request = { size, stream, past->live, GEMEM_NEVER };

  g_array_append_val (past->requests, request);
  past->live += size;
  return past->requests->len - 1;
}

void
gemem_past_release (GememPast *past, guint32 number)
{
  GememPastRequest *request = gemem_past_get (past, number);

  request->released = past->requests->len;
  past->live -= request->size;
}

guint32
gemem_past_ask_aside (GememPast *past, guint64 size, guint64 stream, guint32 pool)
{
  const GememPastAside aside = { size, stream, pool, past->requests->len, GEMEM_NEVER };

  g_array_append_val (past->aside, aside);
  return past->aside->len - 1;
}

void
gemem_past_release_aside (GememPast *past, guint32 number)
{
  g_array_index (past->aside, GememPastAside, number).released = past->requests->len;
}

/* ---- from a recording */

typedef struct
{
  GememPast *past;
  GememIdMap *live;  /* id -> guint64: number of the request */
  GememIdMap *aside; /* the same of private pools */
  GememIdMap *few;   /* id -> guint64: size of a request that is too small */
  guint64 small;
  int device; /* -1: not known yet */
} Reading;

static void
on_request (Reading *reading, const GememTraceEvent *event)
{
  guint64 *number;

  if (event->size == 0 || (event->flags & GEMEM_EVENT_FAILED) != 0)
    return;
  if (event->pool != 0)
    {
      number = gemem_idmap_insert (reading->aside, event->id, NULL);
      *number = gemem_past_ask_aside (reading->past, event->size, event->stream, event->pool);
      return;
    }
  reading->device = event->device;
  if (event->size <= reading->small)
    {
      number = gemem_idmap_insert (reading->few, event->id, NULL);
      *number = event->size;
      reading->past->small += event->size;
      reading->past->small_peak = MAX (reading->past->small, reading->past->small_peak);
      return;
    }
  number = gemem_idmap_insert (reading->live, event->id, NULL);
  *number = gemem_past_ask (reading->past, event->size, event->stream);
}

static void
on_mark (Reading *reading, guint32 name)
{
  const GememPastMark mark = { reading->past->requests->len, name };

  g_array_append_val (reading->past->marks, mark);
}

static void
on_event (Reading *reading, const GememTraceEvent *event)
{
  guint64 number;

  if (reading->device != -1 && event->device != reading->device)
    return;
  if (event->kind == GEMEM_EVENT_ALLOC)
    on_request (reading, event);
  else if (event->kind == GEMEM_EVENT_STEP)
    on_mark (reading, GEMEM_MARK_STEP);
  else if (event->kind == GEMEM_EVENT_PHASE)
    on_mark (reading, 2 * event->tag + 1);
  else if (event->kind == GEMEM_EVENT_PHASE_END)
    on_mark (reading, 2 * event->tag + 2);
  else if (event->kind == GEMEM_EVENT_TRIM)
    gemem_past_ask_aside (reading->past, 0, 0, 0);
  else if (event->kind == GEMEM_EVENT_POOL_RELEASE)
    gemem_past_ask_aside (reading->past, 0, 0, event->pool);
  else if (event->kind != GEMEM_EVENT_FREE && event->kind != GEMEM_EVENT_FREE_COMPLETED)
    return;
  else if (gemem_idmap_remove (reading->live, event->id, &number))
    gemem_past_release (reading->past, (guint32) number);
  else if (gemem_idmap_remove (reading->aside, event->id, &number))
    gemem_past_release_aside (reading->past, (guint32) number);
  else if (gemem_idmap_remove (reading->few, event->id, &number))
    reading->past->small -= number;
}

GememPast *
gemem_past_read (const char *path, guint64 small, GError **error)
{
  g_autoptr (GememTraceReader) reader = gemem_trace_open (path, NULL, NULL, error);
  g_autoptr (GememPast) past = gemem_past_new ();
  Reading reading = { .past = past, .small = small, .device = -1 };
  const GememTraceEvent *events;
  gssize n;

  if (reader == NULL)
    return NULL;
  reading.live = gemem_idmap_new (sizeof (guint64));
  reading.aside = gemem_idmap_new (sizeof (guint64));
  reading.few = gemem_idmap_new (sizeof (guint64));
  while ((n = gemem_trace_next (reader, &events, error)) > 0
         && past->requests->len <= GEMEM_MOST_PAST - n && past->aside->len <= GEMEM_MOST_PAST - n)
    for (gssize i = 0; i < n; i++)
      on_event (&reading, &events[i]);
  gemem_idmap_free (reading.live);
  gemem_idmap_free (reading.aside);
  gemem_idmap_free (reading.few);
  if (n < 0)
    return NULL;
  if (past->requests->len > 0)
    return g_steal_pointer (&past);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: no request to learn from", path);
  return NULL;
}
