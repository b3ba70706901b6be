/* streams.c - the events of a trace about the order of streams: uses, counted references, events
 * recorded and waited for.
 *
 * The engine passes them on to the allocator; recording an event is a call of the device, too.  It checks that a block exists before a stream uses
 * it, and that an event is recorded before a stream waits for it.  Exceptions: a recording may
 * begin in the middle, and a request may have been refused.
 */
#include "config.h"

#include "sim/engine/blocks-private.h"

static gboolean
do_use (GememRun *run, const GememTraceEvent *event,
        void (*use) (GememAllocator *, const GememBlock *, guint64), GError **error)
{
  const GememLive *live = gemem_live_find (&run->live, event->id);

  if (live == NULL && !run->middle)
    return gemem_run_bad_event (
        run, error, "id %" G_GUINT64_FORMAT " is used on a stream but is not alive", event->id);
  if (live == NULL || live->flags != 0 || use == NULL) /* no block, or its free was requested */
    return TRUE;
  use (run->allocator, &live->block, event->stream);
  gemem_block_decided (run, event, FALSE, live->requested, &live->block, TRUE);
  return TRUE;
}

static gboolean
do_wait (GememRun *run, const GememTraceEvent *event, GError **error)
{
  if (!run->middle && !gemem_idset_contains (&run->recorded, event->id))
    return gemem_run_bad_event (run, error,
                                "stream %" G_GUINT64_FORMAT " waits for event %" G_GUINT64_FORMAT
                                ", which was never recorded",
                                event->stream, event->id);
  if (run->klass->streams.wait != NULL)
    run->klass->streams.wait (run->allocator, event->id, event->stream);
  return TRUE;
}

gboolean
gemem_run_stream (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const guint64 charged = run->device->call_time;
  gboolean ok = TRUE;

  switch (event->kind)
    {
    case GEMEM_EVENT_USE_ON_STREAM:
      ok = do_use (run, event, run->klass->streams.use, error);
      break;
    case GEMEM_EVENT_STREAM_FREE:
      ok = do_use (run, event, run->klass->streams.free, error);
      break;
    case GEMEM_EVENT_EVENT_RECORD:
      gemem_idset_add (&run->recorded, event->id);
      gemem_device_event_record (run->device, event->stream);
      if (run->klass->streams.record != NULL)
        run->klass->streams.record (run->allocator, event->id, event->stream, event->aux - 1);
      break;
    default:
      ok = do_wait (run, event, error);
    }
  run->modelled_ns += run->device->call_time - charged;
  return ok && gemem_run_take_refusal (run, error);
}
