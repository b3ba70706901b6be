/* pace-events.c - what --pace=recorded and --occupy (pace.h) are told of the events of a replay. */
#include "config.h"

#include "sim/engine/run.h"

/* The stream of @event in @stream; FALSE: it has none. */
static gboolean
stream_of (GememRun *run, const GememTraceEvent *event, guint64 *stream)
{
  const GememLive *live;

  switch (event->kind)
    {
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_REQUESTED:
    case GEMEM_EVENT_FREE_COMPLETED:
      live = gemem_live_find (&run->live, event->id);
      if (live == NULL || (live->flags & (GEMEM_LIVE_UNSERVED | GEMEM_LIVE_HOST)) != 0)
        return FALSE;
      *stream = gemem_accounts_stream_at (&run->accounts, live->stream)->use.stream;
      return *stream != G_MAXUINT64;
    case GEMEM_EVENT_ALLOC:
    case GEMEM_EVENT_USE_ON_STREAM:
    case GEMEM_EVENT_STREAM_FREE:
    case GEMEM_EVENT_STREAM_SYNC:
    case GEMEM_EVENT_EVENT_RECORD:
    case GEMEM_EVENT_MEMSET:
    case GEMEM_EVENT_GRAPH_RUN:
    case GEMEM_EVENT_GRAPH_RUN_END:
      *stream = event->stream;
      return TRUE;
    default:
      return FALSE;
    }
}

static gboolean
is_free (const GememTraceEvent *event)
{
  return event->kind == GEMEM_EVENT_FREE || event->kind == GEMEM_EVENT_FREE_REQUESTED
         || event->kind == GEMEM_EVENT_FREE_COMPLETED;
}

static void
put_work (GememRun *run, const GememTraceEvent *event, guint64 time)
{
  guint64 stream;

  if (event->kind == GEMEM_EVENT_DEVICE_SYNC
      || (is_free (event) && gemem_work_is_shared (run->work, event->id)))
    gemem_work_until_all (run->work, time);
  else if (stream_of (run, event, &stream))
    gemem_work_until (run->work, stream, time);
  if (event->kind == GEMEM_EVENT_USE_ON_STREAM)
    gemem_work_share (run->work, event->id);
  else if (is_free (event) && event->kind != GEMEM_EVENT_FREE_REQUESTED)
    gemem_work_unshare (run->work, event->id);
}

void
gemem_run_pace_before (GememRun *run, const GememTraceEvent *event)
{
  const guint64 time = run->time_base + event->time;

  if (run->pace.wait != NULL)
    gemem_pace_keep (&run->pace, time);
  if (run->work != NULL && (event->flags & GEMEM_EVENT_INITIAL) == 0)
    put_work (run, event, time);
}

gboolean
gemem_run_pace_begin (GememRun *run, const GememTraceInfo *info, GError **error)
{
  const GememJob *job = run->job;
  const gboolean timed = job->pace == GEMEM_PACE_RECORDED || job->occupy;

  if (timed && (info->flags & GEMEM_TRACE_HAS_TIME) == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: the trace has no times, so that %s has nothing to go by; leave it out",
                   run->name, job->occupy ? "--occupy" : "--pace=recorded");
      return FALSE;
    }
  run->hurry = job->pace == GEMEM_PACE_ASAP && !run->real;
  if (job->pace == GEMEM_PACE_RECORDED && run->real)
    run->pace = (GememPace){ .clock = job->clock, .wait = job->wait };
  return !job->occupy || (run->work = gemem_work_new (run->device, error)) != NULL;
}
