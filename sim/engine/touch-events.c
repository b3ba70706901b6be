/* touch-events.c - what --touch (touch.h) is told of the events of a replay.
 *
 * A block is touched while the allocator says that it is the program's: for an allocator without
 * complete() until its free is requested, for others until the second half.
 */
#include "config.h"

#include "sim/engine/run.h"

void
gemem_run_touch_before (GememRun *run, const GememTraceEvent *event)
{
  switch (event->kind)
    {
    case GEMEM_EVENT_FREE_REQUESTED:
      if (run->klass->streams.complete == NULL)
        gemem_touch_let_go (run->touch, run->seq, event->id);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_COMPLETED:
      gemem_touch_let_go (run->touch, run->seq, event->id);
      break;
    case GEMEM_EVENT_MEMSET:
      gemem_touch_will_set (run->touch, run->seq, event->id, event->stream);
      break;
    default:
      break;
    }
}

/* The error with what it is about in front of it. */
static gboolean
named (const GememRun *run, gboolean ok, GError **error)
{
  if (!ok)
    g_prefix_error (error, "%s: allocator %s: ", run->name, run->klass->name);
  return ok;
}

gboolean
gemem_run_touch_after (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const GememLive *live;

  if (event->kind == GEMEM_EVENT_ALLOC && (live = gemem_live_find (&run->live, event->id)) != NULL
      && live->flags == 0 && live->requested > 0)
    gemem_touch_served (run->touch, run->seq, event->id, live->block.address, live->requested,
                        event->stream);
  else if (event->kind == GEMEM_EVENT_MEMSET)
    gemem_touch_was_set (run->touch, event->id, event->stream);
  return named (run, gemem_touch_after (run->touch, run->seq, error), error);
}

gboolean
gemem_run_touch_finish (GememRun *run, GError **error)
{
  return named (run, gemem_touch_finish (run->touch, run->seq, error), error);
}
