/* refused.c - OOM: a request that the recorded program was refused is made again in every replay.
 *
 * Why: the recording knows how much was live and how large the request was, so whether it fits a
 * device is decided there, and nowhere later: a replay that passes over it says that all is well on
 * the very GPU that had just run out.
 *
 * The request has the recorded size: as the recorder rounded it, so at most 511 bytes more than the
 * program asked PyTorch for.  Where it is served it is freed at once, since what the program
 * did next followed from the refusal; peaks count it, and the result says how many there were: what
 * is needed is then a lower bound.  Where it fails, it is a failed request like any other.
 *
 * The recorded allocator whose segments lie where they were recorded is refused as it was: within a
 * limit of the recorded device, or, in recordings that tell none, by a device that has nothing left.
 * Only there the outcome is a decision to be compared.  With other settings the device has, for that request,
 * what the recorded program held and what was free, if that is known.  A search for the least capacity
 * refuses nothing for that reason.
 *
 * The same request again, without a request or a free of the program in between, is the program's next
 * attempt: it is made, as the allocator may have changed, and counted once.
 */
#include "config.h"

#include "sim/engine/blocks-private.h"

/* Requests and frees that have reached the allocator. */
static guint64
reached (const GememRun *run)
{
  return run->result->allocs + run->result->frees;
}

static gboolean
is_again (const GememRun *run, const GememTraceEvent *event)
{
  return run->result->recorded_ooms > 0 && run->refused.size == event->size
         && run->refused.stream == event->stream && run->refused.pool == event->pool
         && run->refused.reached == reached (run);
}

/* Raises the peaks to the present state, which ends with the current event. */
static void
hold (GememRun *run, guint64 stream)
{
  GememAccounts *accounts = &run->accounts;

  run->refused.live = accounts->live;
  run->refused.allocated = accounts->allocated;
  gemem_accounts_sample (accounts, run->device->held, run->device->peak_held);
  gemem_run_raise_bar (run, stream);
  gemem_run_leave_live_peak (run);
}

/* The peaks while the block of @event is held, and its end. */
static void
release (GememRun *run, const GememTraceEvent *event, const GememLive *live)
{
  GememTraceEvent end = *event;

  end.kind = GEMEM_EVENT_FREE;
  hold (run, event->stream);
  gemem_block_release (run, &live->block, event->stream, FALSE, TRUE);
  gemem_block_account_end (run, live);
  gemem_block_decided (run, &end, FALSE, live->requested, &live->block, TRUE);
}

/* @event: an ALLOC.  *@served: whether it was; @again: a failure is not counted. */
static gboolean
request (GememRun *run, const GememTraceEvent *event, gboolean again, gboolean *served,
         GError **error)
{
  const GememRequest request = { event->size, event->stream, event->pool, event->id, 0 };
  GememLive live = { .requested = event->size, .id = event->id };

  *served = gemem_block_serve (run, &request, &live.block, TRUE);
  if (*served)
    gemem_block_account (run, event, &live);
  else
    {
      gemem_accounts_demand (&run->accounts, event->size);
      if (run->allocator->refusal != NULL)
        return gemem_run_take_refusal (run, error);
      if (!again)
        gemem_run_out_of_memory (run, event, &request);
    }
  run->refused.demand = event->size;
  gemem_block_decided (run, event, TRUE, event->size, *served ? &live.block : NULL, TRUE);
  if (*served)
    release (run, event, &live);
  else
    gemem_accounts_end_demand (&run->accounts, event->size);
  return TRUE;
}

/* Limits the device for a request that was refused.  Whether the refusal itself is to be followed; then the
 * device has nothing left. */
static gboolean
follow (GememRun *run, const GememTraceEvent *event)
{
  const gboolean followed = run->same_allocator && run->recorded_device;

  if (run->job->ignore_refusals)
    gemem_run_lift_limit (run);
  if (run->held_back != NULL)
    return TRUE;
  if (run->job->ignore_refusals || run->epoch > 0)
    return FALSE;
  if (followed)
    gemem_device_limit (run->device, 1);
  else if (run->result->device_from != NULL && !run->result->device_assumed && run->refused.held > 0
           && event->aux > 0 && event->aux < event->size)
    gemem_device_limit (run->device, run->refused.held + event->aux);
  return followed;
}

/* What the recorded device had free when it refused @event: a replay that is refused for that has nothing
 * free itself. */
static guint64
free_of (const GememRun *run, const GememTraceEvent *event)
{
  return run->result->device_assumed ? 0 : event->aux;
}

gboolean
gemem_run_refused (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const gboolean again = is_again (run, event);
  GememTraceEvent made = *event;
  gboolean served = TRUE, followed, ok;

  if (event->size == 0) /* nobody knows how large it was */
    {
      gemem_run_count_refused (run, 0, TRUE);
      return TRUE;
    }
  followed = follow (run, event);
  made.kind = GEMEM_EVENT_ALLOC;
  made.id = GEMEM_REFUSED_ID;
  made.address = made.aux = 0;
  made.flags = followed ? GEMEM_EVENT_FAILED : 0;
  run->refused.free = followed ? free_of (run, event) : 0;
  ok = request (run, &made, again && run->refused.failed, &served, error);
  run->refused.free = 0;
  if (!ok)
    return FALSE;
  if (run->held_back == NULL)
    gemem_device_limit (run->device, 0);
  if (!again)
    gemem_run_count_refused (run, event->size, served);
  run->refused.size = event->size;
  run->refused.stream = event->stream;
  run->refused.pool = event->pool;
  run->refused.failed = !served;
  run->refused.reached = reached (run);
  return TRUE;
}
