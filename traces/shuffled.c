/* shuffled.c - see shuffled.h. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "traces/shuffled.h"

typedef struct
{
  GememTraceReader base;
  GememTraceReader *held;
  GememRng rng;
  GArray *batch; /* GememTraceEvent */
} Reader;

static gboolean
is_free (const GememTraceEvent *event)
{
  return event->kind == GEMEM_EVENT_FREE || event->kind == GEMEM_EVENT_FREE_REQUESTED;
}

/* Shuffles the @n events, but for their times. */
static void
shuffle (GememRng *rng, GememTraceEvent *events, guint n)
{
  for (guint i = n; i > 1; i--)
    {
      const guint j = (guint) gemem_rng_below (rng, i);
      const GememTraceEvent kept = events[i - 1];
      const guint64 time = events[j].time;

      events[i - 1] = events[j];
      events[i - 1].time = kept.time;
      events[j] = kept;
      events[j].time = time;
    }
}

static gssize
next_batch (GememTraceReader *base, const GememTraceEvent **events, GError **error)
{
  Reader *reader = (Reader *) base;
  const GememTraceEvent *held;
  const gssize n = gemem_trace_next (reader->held, &held, error);
  GememTraceEvent *own;

  if (n <= 0)
    return n;
  g_array_set_size (reader->batch, 0);
  g_array_append_vals (reader->batch, held, (guint) n);
  own = (GememTraceEvent *) (void *) reader->batch->data;
  for (guint begin = 0, end; begin < (guint) n; begin = end)
    {
      end = begin + 1;
      while (is_free (&own[begin]) && end < (guint) n && own[end].kind == own[begin].kind
             && own[end].device == own[begin].device)
        end++;
      shuffle (&reader->rng, own + begin, end - begin);
    }
  *events = own;
  return n;
}

static void
close_reader (GememTraceReader *base)
{
  Reader *reader = (Reader *) base;

  gemem_trace_close (reader->held);
  g_array_unref (reader->batch);
  g_free (reader);
}

GememTraceReader *
gemem_shuffled_open (gpointer data, GError **error)
{
  const GememShuffled *shuffled = data;
  GememTraceReader *held = gemem_held_open (shuffled->held, error);
  Reader *reader;

  if (held == NULL)
    return NULL;
  reader = g_new0 (Reader, 1);
  reader->base.format = held->format;
  reader->base.info = held->info;
  reader->base.next = next_batch;
  reader->base.close = close_reader;
  reader->held = held;
  gemem_rng_init (&reader->rng, shuffled->seed, "frees");
  reader->batch = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  return &reader->base;
}
