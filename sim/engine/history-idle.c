/* history-idle.c - the probe that takes for a history (history.h) what lies idle, and why, at the moments asked
 * for, as idle.c tells it.
 *
 * Cost: a comparison for each event; at a moment that of gemem_idle_take().
 */
#include "config.h"

#include "base/compare.h"
#include "sim/engine/history.h"
#include "sim/engine/idle.h"

typedef struct
{
  GememProbe probe;
  const GememHistoryWish *wish;
  guint moment;        /* of the wish, that is next */
  GArray *idle, *gaps; /* become the history's */
} Moments;

static void
add_sums (GArray *idle, const GArray *rows, guint64 seq)
{
  guint64 sums[GEMEM_IDLE_CAUSES] = { 0 };

  for (guint i = 0; i < rows->len; i++)
    sums[g_array_index (rows, GememIdleRow, i).cause] +=
        g_array_index (rows, GememIdleRow, i).bytes;
  for (guint32 cause = 0; cause < GEMEM_IDLE_CAUSES; cause++)
    {
      const GememHistoryIdle sum = { seq, 0, sums[cause], cause };
      if (sum.size > 0)
        g_array_append_val (idle, sum);
    }
}

static int
compare_size (gconstpointer a, gconstpointer b)
{
  const GememHistoryIdle *x = a, *y = b;

  return x->size != y->size ? gemem_compare_uint64 (&y->size, &x->size)
                            : gemem_compare_uint64 (&x->address, &y->address);
}

static int
compare_address (gconstpointer a, gconstpointer b)
{
  return gemem_compare_uint64 (&((const GememHistoryIdle *) a)->address,
                               &((const GememHistoryIdle *) b)->address);
}

/* Adds at most @most parts, the largest. */
static void
add_gaps (GArray *gaps, GememRun *run, const GememTraceEvent *event, guint most)
{
  g_autoptr (GArray) spans = gemem_spans_of (run->allocator);
  g_autoptr (GArray) live = gemem_live_rows (&run->live, FALSE);
  g_autoptr (GArray) causes = gemem_idle_causes (run, event->stream, event->pool, spans, live);
  g_autoptr (GArray) found = g_array_new (FALSE, FALSE, sizeof (GememHistoryIdle));

  for (guint i = 0; i < spans->len; i++)
    {
      const GememSpan *span = &g_array_index (spans, GememSpan, i);
      const GememIdleCause cause = g_array_index (causes, GememIdleCause, i);
      const GememHistoryIdle gap = { run->seq, span->address, span->size, cause };

      if (cause != GEMEM_IDLE_CAUSES && span->size > 0)
        g_array_append_val (found, gap);
    }
  g_array_sort (found, compare_size);
  g_array_set_size (found, MIN (found->len, most));
  g_array_sort (found, compare_address);
  g_array_append_vals (gaps, found->data, found->len);
}

static gboolean
wanted (const GememRun *run)
{
  return run->job->history != NULL;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  Moments *self = (Moments *) probe;

  (void) error;
  self->wish = run->job->history;
  self->idle = g_array_new (FALSE, FALSE, sizeof (GememHistoryIdle));
  self->gaps = g_array_new (FALSE, FALSE, sizeof (GememHistoryIdle));
  return TRUE;
}

/* Takes what lies idle now, if the present event is a moment and it was not taken yet. */
static void
take (Moments *self, GememRun *run, const GememTraceEvent *event)
{
  const GememHistoryWish *wish = self->wish;
  g_autoptr (GArray) rows = NULL;

  while (self->moment < wish->n_moments && wish->moments[self->moment] < run->seq)
    self->moment++;
  if (self->moment == wish->n_moments || wish->moments[self->moment] != run->seq)
    return;
  while (self->moment < wish->n_moments && wish->moments[self->moment] == run->seq)
    self->moment++;
  rows = g_array_new (FALSE, FALSE, sizeof (GememIdleRow));
  gemem_idle_take (run, event->stream, event->pool, rows, NULL);
  add_sums (self->idle, rows, run->seq);
  add_gaps (self->gaps, run, event, GEMEM_HISTORY_GAPS / wish->n_moments);
}

/* A request that was refused, and is served, is held within its event alone (refused.c): what counts is what lies idle
 * beside it. */
static void
decided (GememProbe *probe, GememRun *run, const GememDecision *decision)
{
  if (decision->request && decision->block != NULL && decision->event->id == GEMEM_REFUSED_ID)
    take ((Moments *) probe, run, decision->event);
}

static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  (void) error;
  take ((Moments *) probe, run, event);
  return TRUE;
}

/* The history is there: its probe comes first. */
static void
gather (GememProbe *probe, GememRun *run)
{
  Moments *self = (Moments *) probe;
  GememHistory *history = run->result->history;

  if (history == NULL)
    return;
  g_array_append_vals (history->idle, self->idle->data, self->idle->len);
  g_array_append_vals (history->gaps, self->gaps->data, self->gaps->len);
  g_array_set_size (self->idle, 0);
  g_array_set_size (self->gaps, 0);
}

static void
clear (GememProbe *probe, GememRun *run)
{
  Moments *self = (Moments *) probe;

  (void) run;
  g_clear_pointer (&self->idle, g_array_unref);
  g_clear_pointer (&self->gaps, g_array_unref);
}

const GememProbeClass gemem_history_idle_probe = { .size = sizeof (Moments),
                                                   .wanted = wanted,
                                                   .attach = attach,
                                                   .decided = decided,
                                                   .after = after,
                                                   .gather = gather,
                                                   .clear = clear };
