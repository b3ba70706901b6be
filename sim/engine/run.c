/* run.c - shared by the handlers of all kinds of events: refusals, failed requests, peaks, the
 * state of the device. */
#include "config.h"

#include "sim/engine/engine-private.h"
#include "sim/engine/idle.h"
#include "sim/engine/run.h"

/* @advice: what to do, besides leaving the event out. */
static gboolean
leave_out (GememRun *run, const char *text, const char *advice, GError **error)
{
  g_autofree char *blame = NULL;

  if (run->job->allow_partial)
    {
      run->result->inconsistent++;
      run->result->partial = TRUE;
      return TRUE;
    }
  blame = gemem_origins_blame (run);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s:event %" G_GUINT64_FORMAT
               ": %s%s; %s, or leave such events out with --allow-partial",
               run->name, run->seq, text, blame, advice);
  return FALSE;
}

gboolean
gemem_run_bad_event (GememRun *run, GError **error, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  return leave_out (run, text, "repair the trace", error);
}

gboolean
gemem_run_take_refusal (GememRun *run, GError **error)
{
  g_autofree char *refusal = g_steal_pointer (&run->allocator->refusal);
  char *advice;

  if (refusal == NULL)
    return TRUE;
  advice = g_strrstr (refusal, "; ");
  if (advice != NULL)
    *advice = '\0';
  return leave_out (run, refusal, advice != NULL ? advice + 2 : "repair the trace", error);
}

void
gemem_run_take_mark (GememRun *run)
{
  if (run->allocator->broken != NULL && run->result->not_allowed == NULL)
    run->result->not_allowed = g_strdup_printf ("event %" G_GUINT64_FORMAT ": %s", run->seq,
                                                run->allocator->broken);
}

gboolean
gemem_run_take_late_refusal (GememRun *run, GError **error)
{
  gboolean ok = TRUE;

  if (run->allocator->refusal != NULL)
    {
      run->seq--;
      ok = gemem_run_take_refusal (run, error);
      run->seq++;
    }
  return ok;
}

gboolean
gemem_run_bad_free (GememRun *run, const GememTraceEvent *event, GError **error)
{
  return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is freed but is not alive",
                              event->id);
}

void
gemem_run_skip_free (GememRun *run, const GememLive *live)
{
  if (live->requested == 0 && (run->klass->capabilities & GEMEM_CAP_EMPTY) == 0)
    return;
  run->result->skipped_frees++;
  gemem_accounts_end_demand (&run->accounts, live->requested);
}

gboolean
gemem_run_unusual_free (GememRun *run, const GememTraceEvent *event, GememLive *live,
                        GError **error)
{
  if ((live->flags & GEMEM_LIVE_UNSERVED) != 0)
    {
      gemem_run_skip_free (run, live);
      gemem_live_recycle (&run->live, live);
      return TRUE;
    }
  gemem_live_put (&run->live, live);
  return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is freed twice", event->id);
}

void
gemem_run_out_of_memory (GememRun *run, const GememTraceEvent *event, const GememRequest *request)
{
  GememResult *result = run->result;
  GememOom oom = {
    .seq = run->seq, .id = event->id, .requested = event->size, .stream = event->stream
  };
  gboolean keep = result->oom->len < run->oom_max;

  gemem_audit (run->allocator, &run->live, &run->accounts, request, run->refused.free, keep, &oom);
  if (run->unbegun) /* the program would not have come to this request: no layout would help */
    {
      oom.avoidable = FALSE;
      oom.missing = oom.blocking_id = oom.blocking_size = 0;
    }
  if (run->job->keep_idle && result->ooms == 0 && !run->unbegun)
    gemem_idle_take (run, request->stream, request->pool, result->idle_at_failure, NULL);
  result->failed_allocs++;
  gemem_run_keep_oom (run, &oom);
}

void
gemem_run_keep_oom (GememRun *run, const GememOom *oom)
{
  GememResult *result = run->result;

  result->ooms++;
  run->epoch_ooms++;
  if (oom->avoidable)
    result->ooms_avoidable++;
  if (result->oom->len < run->oom_max)
    g_array_append_vals (result->oom, oom, 1);
  if (run->job->stop_at_oom)
    {
      result->failure = g_strdup_printf (
          "out of memory at event %" G_GUINT64_FORMAT ", where the replay was to stop", run->seq);
      run->stop = TRUE;
    }
}

gboolean
gemem_run_check_device (const GememRun *run, GError **error)
{
  const GError *failure = gemem_device_failure (run->device);

  if (failure == NULL)
    return TRUE;
  g_clear_error (error);
  g_set_error (error, failure->domain, failure->code, "%s:event %" G_GUINT64_FORMAT ": %s",
               run->name, run->seq, failure->message);
  return FALSE;
}

static void
stop_above (GememRun *run)
{
  GememResult *result = run->result;

  run->stop = result->stopped_above = TRUE;
  if (result->failure == NULL)
    result->failure = g_strdup_printf (
        "more reserved at event %" G_GUINT64_FORMAT " than the replay was to allow", run->seq);
}

void
gemem_run_raise_peaks (GememRun *run, guint64 stream)
{
  GememAccounts *accounts = &run->accounts;
  GememResult *result = run->result;

  accounts->peak_live = MAX (accounts->peak_live, accounts->live);
  accounts->peak_allocated = MAX (accounts->peak_allocated, accounts->allocated);
  accounts->peak_reserved = MAX (accounts->peak_reserved, accounts->high);
  if (accounts->live > result->peak_live)
    {
      result->peak_live = accounts->live;
      result->peak_live_seq = run->seq;
      run->peak_stream = stream;
      run->attention |= GEMEM_RUN_AT_LIVE_PEAK;
    }
  if (accounts->allocated > result->peak_allocated)
    {
      result->peak_allocated = accounts->allocated;
      result->peak_allocated_seq = run->seq;
      accounts->peak_stamp++;
    }
  if (accounts->high > result->peak_reserved)
    {
      result->peak_reserved = accounts->high;
      result->peak_reserved_seq = run->seq;
      if (run->job->stop_above != 0 && accounts->high > run->job->stop_above)
        stop_above (run);
    }
}

void
gemem_run_restart_peaks (GememRun *run)
{
  gemem_accounts_epoch (&run->accounts);
  memset (&run->bar, 0, sizeof run->bar);
}

void
gemem_run_leave_live_peak (GememRun *run)
{
  GememResult *result = run->result;

  if ((run->attention & GEMEM_RUN_AT_LIVE_PEAK) == 0)
    return;
  run->attention &= ~(guint) GEMEM_RUN_AT_LIVE_PEAK;
  result->allocated_at_live_peak = run->accounts.allocated;
  result->reserved_at_live_peak = run->accounts.reserved;
  result->largest_free_at_live_peak = run->klass->largest_free (run->allocator, run->peak_stream);
}

void
gemem_run_raise_bar (GememRun *run, guint64 stream)
{
  const GememAccounts *accounts = &run->accounts;
  const GememTimelinePoint *open = &run->timeline.open;

  if (gemem_accounts_at_peak (accounts))
    gemem_run_raise_peaks (run, stream);
  gemem_timeline_raise (&run->timeline, accounts->live, accounts->allocated, accounts->high);
  run->bar.live = MIN (accounts->peak_live, open->live_max);
  run->bar.allocated = MIN (accounts->peak_allocated, open->allocated_max);
  run->bar.reserved = MIN (accounts->peak_reserved, open->reserved_max);
}

void
gemem_run_count_refused (GememRun *run, guint64 size, gboolean served)
{
  GememResult *result = run->result;

  result->recorded_ooms++;
  result->recorded_ooms_served += served;
  if (size >= result->recorded_oom_size)
    {
      result->recorded_oom_size = size;
      result->recorded_oom_seq = run->seq;
    }
  run->refused.allocs = result->allocs;
}
