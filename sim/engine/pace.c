/* pace.c - see pace.h; the last part is the probe of --pace=recorded and --occupy. */
#include "config.h"

#include "sim/engine/pace.h"
#include "sim/engine/run.h"

void
gemem_pace_keep (GememPace *pace, guint64 time)
{
  const guint64 now = pace->clock ();

  if (!pace->begun)
    {
      pace->begun = TRUE;
      pace->origin = now - time;
    }
  else if (now - pace->origin < time)
    {
      pace->waits++;
      pace->wait (pace->origin + time);
    }
  else
    pace->late = MAX (pace->late, now - pace->origin - time);
}

typedef struct
{
  guint64 stream, time; /* time: up to which the stream has its work */
} Stream;

struct _GememWork
{
  GememDevice *device;
  GememIdMap *places; /* stream -> index in streams */
  GememIdMap *shared; /* set of the ids of live blocks that several streams use */
  GArray *streams;    /* Stream, in the order of first use */
  guint64 pieces, ns;
};

GememWork *
gemem_work_new (GememDevice *device, GError **error)
{
  GememWork *work;

  if (!gemem_device_occupy (device, 0, 0, error))
    return NULL;
  work = g_new0 (GememWork, 1);
  work->device = device;
  work->places = gemem_idmap_new (sizeof (guint64));
  work->shared = gemem_idmap_new (0);
  work->streams = g_array_new (FALSE, FALSE, sizeof (Stream));
  return work;
}

void
gemem_work_free (GememWork *work)
{
  if (work == NULL)
    return;
  gemem_idmap_free (work->places);
  gemem_idmap_free (work->shared);
  g_array_unref (work->streams);
  g_free (work);
}

static void
put (GememWork *work, Stream *stream, guint64 time)
{
  const guint64 ns = time > stream->time ? time - stream->time : 0;

  if (ns < GEMEM_WORK_LEAST_NS)
    return;
  stream->time = time;
  work->pieces++;
  work->ns += ns;
  /* a failed device is reported by the failure probe */
  gemem_device_occupy (work->device, ns, stream->stream, NULL);
}

void
gemem_work_until (GememWork *work, guint64 stream, guint64 time)
{
  const Stream fresh = { stream, time };
  gboolean existed;
  guint64 *place = gemem_idmap_insert (work->places, stream, &existed);

  if (existed)
    {
      put (work, &g_array_index (work->streams, Stream, *place), time);
      return;
    }
  *place = work->streams->len;
  g_array_append_val (work->streams, fresh);
}

void
gemem_work_until_all (GememWork *work, guint64 time)
{
  for (guint i = 0; i < work->streams->len; i++)
    put (work, &g_array_index (work->streams, Stream, i), time);
}

void
gemem_work_counts (const GememWork *work, guint64 *pieces, guint64 *ns)
{
  *pieces = work->pieces;
  *ns = work->ns;
}

/* ---- the probe */

typedef struct
{
  GememProbe probe;
  GememPace pace;  /* `wait` NULL: no pacing, the host does not wait */
  GememWork *work; /* NULL: streams are not occupied */
} PaceProbe;

/* Stores the stream of @event in @stream; FALSE: it has none. */
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
put_work (GememWork *work, GememRun *run, const GememTraceEvent *event, guint64 time)
{
  guint64 stream;

  if (event->kind == GEMEM_EVENT_DEVICE_SYNC
      || (is_free (event) && gemem_idmap_lookup (work->shared, event->id) != NULL))
    gemem_work_until_all (work, time);
  else if (stream_of (run, event, &stream))
    gemem_work_until (work, stream, time);
  if (event->kind == GEMEM_EVENT_USE_ON_STREAM)
    gemem_idmap_insert (work->shared, event->id, NULL);
  else if (is_free (event) && event->kind != GEMEM_EVENT_FREE_REQUESTED)
    gemem_idmap_remove (work->shared, event->id, NULL);
}

static gboolean
wanted (const GememRun *run)
{
  return run->job->pace == GEMEM_PACE_RECORDED || run->job->occupy;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  PaceProbe *self = (PaceProbe *) probe;
  const GememJob *job = run->job;

  if ((run->trace_flags & GEMEM_TRACE_HAS_TIME) == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: the trace has no times, so that %s has nothing to go by; leave it out",
                   run->name, job->occupy ? "--occupy" : "--pace=recorded");
      return FALSE;
    }
  if (job->pace == GEMEM_PACE_RECORDED && run->real)
    self->pace = (GememPace){ .clock = job->clock, .wait = job->wait };
  return !job->occupy || (self->work = gemem_work_new (run->device, error)) != NULL;
}

static void
before (GememProbe *probe, GememRun *run, const GememTraceEvent *event)
{
  PaceProbe *self = (PaceProbe *) probe;
  const guint64 time = run->time_base + event->time;

  if (self->pace.wait != NULL)
    gemem_pace_keep (&self->pace, time);
  if (self->work != NULL && (event->flags & GEMEM_EVENT_INITIAL) == 0)
    put_work (self->work, run, event, time);
}

static void
gather (GememProbe *probe, GememRun *run)
{
  const PaceProbe *self = (const PaceProbe *) probe;
  GPtrArray *stats = run->result->stats;
  guint64 pieces, ns;

  if (self->pace.wait != NULL)
    {
      gemem_result_add_stat ("pace_waits", self->pace.waits, "", stats);
      gemem_result_add_stat ("pace_late_max_ns", self->pace.late, "ns", stats);
    }
  if (self->work == NULL)
    return;
  gemem_work_counts (self->work, &pieces, &ns);
  gemem_result_add_stat ("occupy_pieces", pieces, "", stats);
  gemem_result_add_stat ("occupy_ns", ns, "ns", stats);
}

static void
clear (GememProbe *probe, GememRun *run)
{
  (void) run;
  gemem_work_free (((PaceProbe *) probe)->work);
}

const GememProbeClass gemem_pace_probe = { .size = sizeof (PaceProbe),
                                           .wanted = wanted,
                                           .attach = attach,
                                           .before = before,
                                           .gather = gather,
                                           .clear = clear };
