/* events.c - the event path: what each kind of event does to the allocator, the device and the
 * books.
 *
 * A block is live from its ALLOC to its FREE or FREE_COMPLETED; for an allocator without complete()
 * it ends at FREE_REQUESTED, because that is when such an allocator has the memory back, and the
 * books must close.  Requests of 0 bytes are passed on only to an allocator that has a block for
 * them.  A request that failed keeps its id, so that its free can be told from a free of nothing.
 * The recorded segment events are truth for comparison and, under the device policy `recorded`,
 * where segments lie and what the device refused; they never decide anything.
 *
 * Cost per event: one idmap operation, one call of the allocator, some 40 additions and compares;
 * no host allocation.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/audit.h"
#include "sim/engine/run.h"

#define STAGE 4   /* events that each stage of fetch_ahead() runs before the next one */
#define AHEAD 16  /* more than 3 STAGE; a power of two */
#define MANY 8192 /* live blocks from which their records are in no near cache */

gboolean
gemem_run_bad_event (GememRun *run, GError **error, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  if (run->job->allow_partial)
    {
      run->result->inconsistent++;
      run->result->partial = TRUE;
      return TRUE;
    }
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s:event %" G_GUINT64_FORMAT
               ": %s; repair the trace, or leave such events out with --allow-partial",
               run->name, run->seq, text);
  return FALSE;
}

gboolean
gemem_run_take_refusal (GememRun *run, GError **error)
{
  g_autofree char *refusal = g_steal_pointer (&run->allocator->refusal);

  return refusal == NULL || gemem_run_bad_event (run, error, "%s", refusal);
}

static void
log_block (GememRun *run, const GememTraceEvent *event, guint64 requested, const GememBlock *block)
{
  GememEventsRow row = {
    run->seq, (GememEventKind) event->kind, TRUE, event->id, requested, block, run->device->held
  };
  if (!gemem_events_log_row (run->log, &row))
    run->stop = TRUE;
}

static void
log_plain (GememRun *run, const GememTraceEvent *event)
{
  GememEventsRow row = { run->seq,         (GememEventKind) event->kind, FALSE, 0, 0, NULL,
                         run->device->held };
  if (run->log != NULL && !gemem_events_log_row (run->log, &row))
    run->stop = TRUE;
}

/* ---- requests */

void
gemem_run_out_of_memory (GememRun *run, const GememTraceEvent *event, const GememRequest *request)
{
  GememResult *result = run->result;
  GememOom oom = {
    .seq = run->seq, .id = event->id, .requested = event->size, .stream = event->stream
  };
  gboolean keep = result->oom->len < run->oom_max;

  gemem_audit (run->allocator, &run->live, &run->accounts, request, keep, &oom);
  result->failed_allocs++;
  result->ooms++;
  run->epoch_ooms++;
  if (oom.avoidable)
    result->ooms_avoidable++;
  if (keep)
    g_array_append_val (result->oom, oom);
  if (run->job->stop_at_oom)
    {
      result->failure = g_strdup_printf (
          "out of memory at event %" G_GUINT64_FORMAT ", where the replay was to stop", run->seq);
      run->stop = TRUE;
    }
}

/* The request itself, with its latencies. */
static inline gboolean
serve (GememRun *run, const GememRequest *request, GememBlock *block)
{
  guint64 charged = run->device->call_time, began = 0;
  gboolean served;

  if (G_UNLIKELY (run->clock != NULL))
    began = run->clock ();
  served = run->klass->alloc (run->allocator, request, block);
  if (G_UNLIKELY (run->clock != NULL))
    gemem_histogram_add (&run->measured_alloc_ns, run->clock () - began);
  charged = run->device->call_time - charged + run->device->hit_ns;
  gemem_histogram_add (&run->alloc_ns, charged);
  run->modelled_ns += charged;
  return served;
}

static inline void
account_begin (GememRun *run, const GememTraceEvent *event, GememLive *live)
{
  if (G_UNLIKELY (live->block.address >= GEMEM_HOST_ADDRESS))
    {
      live->flags = GEMEM_LIVE_HOST;
      return;
    }
  gemem_accounts_demand (&run->accounts, event->size);
  live->stream = gemem_accounts_alloc (&run->accounts, event->stream, event->size,
                                       live->block.size);
}

/* Whether requests of 0 bytes reach the allocator. */
static gboolean
serves_empty (const GememRun *run)
{
  return (run->klass->capabilities & GEMEM_CAP_EMPTY) != 0;
}

static inline gboolean
do_alloc (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememRequest request = { event->size, event->stream, event->pool, event->id };
  gboolean existed, served;
  GememLive *live = gemem_live_add (&run->live, event->id, &existed);

  if (G_UNLIKELY (existed))
    return gemem_run_bad_event (
        run, error, "id %" G_GUINT64_FORMAT " is allocated while it is alive", event->id);
  live->requested = event->size;
  if (G_UNLIKELY (event->size == 0) && !serves_empty (run))
    {
      live->flags = GEMEM_LIVE_UNSERVED;
      run->result->zero_allocs++;
      return TRUE;
    }
  run->result->allocs++;
  served = serve (run, &request, &live->block);
  if (G_LIKELY (served))
    account_begin (run, event, live);
  else
    {
      gemem_accounts_demand (&run->accounts, event->size);
      memset (&live->block, 0, sizeof live->block);
      live->flags = GEMEM_LIVE_UNSERVED;
      if (run->allocator->refusal != NULL)
        return gemem_run_take_refusal (run, error);
      gemem_run_out_of_memory (run, event, &request);
    }
  if (run->ledger != NULL)
    gemem_ledger_block (run->ledger, event, run->seq, served ? &live->block : NULL);
  if (G_UNLIKELY (run->log != NULL))
    log_block (run, event, event->size, served ? &live->block : NULL);
  return TRUE;
}

gboolean
gemem_run_alloc (GememRun *run, const GememTraceEvent *event, GError **error)
{
  return do_alloc (run, event, error);
}

/* ---- frees */

static inline void
give_back (GememRun *run, const GememBlock *block, gboolean completion_follows)
{
  guint64 charged = run->device->call_time, began = 0;

  run->result->frees++;
  if (G_UNLIKELY (run->clock != NULL))
    began = run->clock ();
  run->klass->free (run->allocator, block, completion_follows);
  if (G_UNLIKELY (run->clock != NULL))
    gemem_histogram_add (&run->measured_free_ns, run->clock () - began);
  charged = run->device->call_time - charged + run->device->hit_ns;
  gemem_histogram_add (&run->free_ns, charged);
  run->modelled_ns += charged;
}

static inline void
account_end (GememRun *run, const GememLive *live)
{
  if (G_UNLIKELY ((live->flags & GEMEM_LIVE_HOST) != 0))
    return;
  gemem_accounts_release (&run->accounts, live->stream, live->requested, live->block.size);
  gemem_accounts_end_demand (&run->accounts, live->requested);
}

/* The free of an id whose request had failed, or did not reach the allocator. */
static void
skip_free (GememRun *run, const GememLive *live)
{
  if (live->requested == 0 && !serves_empty (run))
    return;
  run->result->skipped_frees++;
  gemem_accounts_end_demand (&run->accounts, live->requested);
}

/* @live was taken out, but has no block, or is between the request to free it and the
 * completion. */
static gboolean
do_unusual_free (GememRun *run, const GememTraceEvent *event, GememLive *live, GError **error)
{
  if ((live->flags & GEMEM_LIVE_UNSERVED) != 0)
    {
      skip_free (run, live);
      gemem_live_recycle (&run->live, live);
      return TRUE;
    }
  *(GememLive **) gemem_idmap_insert (run->live.map, event->id, NULL) = live;
  return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is freed twice", event->id);
}

static inline gboolean
do_free (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememLive *live = gemem_live_take (&run->live, event->id);

  if (G_UNLIKELY (live == NULL))
    return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is freed but is not alive",
                                event->id);
  if (G_UNLIKELY ((live->flags & ~(guint32) GEMEM_LIVE_HOST) != 0))
    return do_unusual_free (run, event, live, error);
  give_back (run, &live->block, FALSE);
  account_end (run, live);
  if (G_UNLIKELY (run->log != NULL))
    log_block (run, event, live->requested, &live->block);
  gemem_live_recycle (&run->live, live);
  return TRUE;
}

gboolean
gemem_run_free (GememRun *run, const GememTraceEvent *event, GError **error)
{
  return do_free (run, event, error);
}

static gboolean
do_free_requested (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememLive *live = gemem_live_find (&run->live, event->id);

  if (live == NULL)
    return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is freed but is not alive",
                                event->id);
  if ((live->flags & GEMEM_LIVE_REQUESTED) != 0)
    return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is freed twice", event->id);
  live->flags |= GEMEM_LIVE_REQUESTED;
  if ((live->flags & GEMEM_LIVE_UNSERVED) != 0)
    return TRUE;
  give_back (run, &live->block, TRUE);
  if (run->klass->streams.complete == NULL)
    {
      live->flags |= GEMEM_LIVE_GONE;
      account_end (run, live);
    }
  if (G_UNLIKELY (run->log != NULL))
    log_block (run, event, live->requested, &live->block);
  return TRUE;
}

/* The end of a block that the allocator still has. */
static void
complete (GememRun *run, const GememTraceEvent *event, const GememLive *live)
{
  guint64 charged = run->device->call_time;

  if ((live->flags & GEMEM_LIVE_REQUESTED) == 0) /* let go before the recording began */
    give_back (run, &live->block, FALSE);
  else if (G_UNLIKELY (run->held_back != NULL))
    g_array_append_val (run->held_back, live->block);
  else
    {
      run->klass->streams.complete (run->allocator, &live->block);
      run->modelled_ns += run->device->call_time - charged;
    }
  account_end (run, live);
  if (G_UNLIKELY (run->log != NULL))
    log_block (run, event, live->requested, &live->block);
}

static gboolean
do_free_completed (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememLive *live = gemem_live_take (&run->live, event->id);

  if (live == NULL)
    return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is freed but is not alive",
                                event->id);
  if ((live->flags & GEMEM_LIVE_UNSERVED) != 0)
    skip_free (run, live);
  else if ((live->flags & GEMEM_LIVE_GONE) == 0)
    complete (run, event, live);
  gemem_live_recycle (&run->live, live);
  return TRUE;
}

/* ---- the state found at the beginning */

static gboolean
adopt_segment (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememAdopt adopt = { .address = event->address,
                       .size = event->size,
                       .stream = event->stream,
                       .pool = event->pool,
                       .small = (event->flags & GEMEM_EVENT_SMALL) != 0 };

  if (run->klass->adopt.segment (run->allocator, &adopt))
    return run->adopted = TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s:event %" G_GUINT64_FORMAT
               ": no room on the device for the segment of %" G_GUINT64_FORMAT
               " bytes that was there when the recording began; give a larger capacity or another "
               "address policy",
               run->name, run->seq, event->size);
  return FALSE;
}

static gboolean
adopt_block (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememAdopt adopt = { .address = event->address,
                       .size = event->aux,
                       .requested = event->size,
                       .stream = event->stream,
                       .pool = event->pool,
                       .small = (event->flags & GEMEM_EVENT_SMALL) != 0 };
  gboolean existed;
  GememLive *live = gemem_live_add (&run->live, event->id, &existed);

  if (existed)
    return gemem_run_bad_event (
        run, error, "id %" G_GUINT64_FORMAT " is allocated while it is alive", event->id);
  if (!run->klass->adopt.block (run->allocator, &adopt, &live->block))
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
          "%s:event %" G_GUINT64_FORMAT
          ": the block that was live when the recording began lies in none of its segments; "
          "repair the trace, or use another address policy than recorded",
          run->name, run->seq);
      return FALSE;
    }
  live->requested = event->size;
  live->stream = gemem_accounts_alloc (&run->accounts, event->stream, event->size,
                                       live->block.size);
  gemem_accounts_demand (&run->accounts, event->size);
  if (run->log != NULL)
    log_block (run, event, event->size, &live->block);
  return TRUE;
}

/* A block from before is requested like any other where nobody knows in which segment it lay. */
static gboolean
do_initial (GememRun *run, const GememTraceEvent *event, GError **error)
{
  run->result->initial_events++;
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC)
    return !run->adopt || adopt_segment (run, event, error);
  if (event->kind != GEMEM_EVENT_ALLOC)
    return TRUE;
  run->result->initial_blocks++;
  if (run->adopted && event->size > 0)
    return adopt_block (run, event, error);
  return do_alloc (run, event, error);
}

/* ---- everything else */

static void
do_sync (GememRun *run, const GememTraceEvent *event)
{
  guint64 charged = run->device->call_time;

  if (event->kind == GEMEM_EVENT_DEVICE_SYNC)
    gemem_device_sync (run->device);
  else
    gemem_device_stream_sync (run->device, event->stream);
  if (run->klass->streams.sync != NULL)
    {
      run->klass->streams.sync (
          run->allocator, event->kind == GEMEM_EVENT_DEVICE_SYNC ? G_MAXUINT64 : event->stream);
      log_plain (run, event);
    }
  run->modelled_ns += run->device->call_time - charged;
}

/* The program sets memory that it has; a block that was refused is not there to be set. */
static gboolean
do_memset (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const GememLive *live = gemem_live_find (&run->live, event->id);
  guint64 charged = run->device->call_time;

  if (live == NULL)
    return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is set but is not alive",
                                event->id);
  if (event->size > live->requested)
    return gemem_run_bad_event (run, error,
                                "%" G_GUINT64_FORMAT " bytes of id %" G_GUINT64_FORMAT
                                " are set, which has %" G_GUINT64_FORMAT,
                                event->size, event->id, live->requested);
  if (event->aux > G_MAXUINT8)
    return gemem_run_bad_event (
        run, error, "id %" G_GUINT64_FORMAT " is set to %" G_GUINT64_FORMAT ", which is no byte",
        event->id, event->aux);
  if (live->flags != 0)
    return TRUE;
  gemem_device_memset (run->device, live->block.address, (guint8) event->aux, event->size,
                       event->stream);
  run->modelled_ns += run->device->call_time - charged;
  return TRUE;
}

static void
do_trim (GememRun *run, const GememTraceEvent *event)
{
  guint64 charged = run->device->call_time;

  run->result->trims++;
  if (run->klass->trim == NULL)
    return;
  run->klass->trim (run->allocator);
  run->modelled_ns += run->device->call_time - charged;
  log_plain (run, event);
}

static void
do_segment (GememRun *run, const GememTraceEvent *event)
{
  if (run->epoch > 0)
    return; /* the recorded addresses have been given out */
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC && event->address != 0)
    gemem_device_expect (run->device, event->address, event->size);
  if (run->ledger != NULL && run->ledger_watch.func != NULL)
    gemem_ledger_recorded (run->ledger, event, run->seq);
}

void
gemem_run_lift_limit (GememRun *run)
{
  g_autoptr (GArray) held_back = g_steal_pointer (&run->held_back);

  if (held_back == NULL)
    return;
  gemem_device_limit (run->device, 0);
  for (guint i = 0; i < held_back->len; i++)
    run->klass->streams.complete (run->allocator, &g_array_index (held_back, GememBlock, i));
}

/* The recorded device refused the recorded allocator: so it is for the same one in its place, and
 * for no other.  What completed meanwhile did because the allocator waited; the one here is to wait
 * by itself, and hears of it afterwards. */
static void
do_limit (GememRun *run, const GememTraceEvent *event)
{
  gemem_run_lift_limit (run);
  if (event->size == 0 || run->epoch > 0 || !run->same_allocator || !run->recorded_device)
    return;
  gemem_device_limit (run->device, event->size);
  run->held_back = g_array_new (FALSE, FALSE, sizeof (GememBlock));
}

/* Where the recorded device is followed, the request that failed is made, as it changed what the
 * allocator holds; else it is a mark. */
static gboolean
do_oom (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememTraceEvent request = *event;

  if (run->held_back == NULL || event->size == 0)
    return TRUE;
  request.kind = GEMEM_EVENT_ALLOC;
  request.id = G_MAXUINT64;
  request.address = request.aux = 0;
  request.flags = GEMEM_EVENT_FAILED;
  if (!do_alloc (run, &request, error))
    return FALSE;
  request.kind = GEMEM_EVENT_FREE;
  return do_free (run, &request, error);
}

static void
do_pool_release (GememRun *run, const GememTraceEvent *event)
{
  guint64 charged = run->device->call_time;

  if (run->klass->release_pool == NULL || event->pool == 0)
    return;
  run->klass->release_pool (run->allocator, event->pool, event->aux != 0);
  run->modelled_ns += run->device->call_time - charged;
  log_plain (run, event);
}

static gboolean
do_other (GememRun *run, const GememTraceEvent *event, GError **error)
{
  switch (event->kind)
    {
    case GEMEM_EVENT_USE_ON_STREAM:
    case GEMEM_EVENT_STREAM_FREE:
    case GEMEM_EVENT_EVENT_RECORD:
    case GEMEM_EVENT_EVENT_WAIT:
      return gemem_run_stream (run, event, error);
    case GEMEM_EVENT_STREAM_SYNC:
    case GEMEM_EVENT_DEVICE_SYNC:
      do_sync (run, event);
      return TRUE;
    case GEMEM_EVENT_TRIM:
      do_trim (run, event);
      return TRUE;
    case GEMEM_EVENT_MEMSET:
      return do_memset (run, event, error);
    case GEMEM_EVENT_SEGMENT_ALLOC:
    case GEMEM_EVENT_SEGMENT_FREE:
    case GEMEM_EVENT_SEGMENT_MAP:
    case GEMEM_EVENT_SEGMENT_UNMAP:
      do_segment (run, event);
      return TRUE;
    case GEMEM_EVENT_POOL_RELEASE:
      do_pool_release (run, event);
      return TRUE;
    case GEMEM_EVENT_DEVICE_LIMIT:
      do_limit (run, event);
      return TRUE;
    case GEMEM_EVENT_GRAPH_LOAD:
    case GEMEM_EVENT_GRAPH_SEGMENT:
    case GEMEM_EVENT_GRAPH_RUN:
    case GEMEM_EVENT_GRAPH_RUN_END:
    case GEMEM_EVENT_GRAPH_UNLOAD:
      return gemem_run_graph (run, event, error);
    case GEMEM_EVENT_OOM:
      return do_oom (run, event, error);
    case GEMEM_EVENT_STEP:
    case GEMEM_EVENT_PHASE:
    case GEMEM_EVENT_SNAPSHOT:
      return TRUE; /* marks: nothing to decide */
    default:
      return gemem_run_bad_event (run, error, "there is no event of kind %u", event->kind);
    }
}

static void
finish_adopting (GememRun *run)
{
  run->adopting = FALSE;
  if (run->adopt && run->klass->adopt.done != NULL)
    run->klass->adopt.done (run->allocator);
}

static inline gboolean
dispatch (GememRun *run, const GememTraceEvent *event, GError **error)
{
  if (G_UNLIKELY (run->adopting))
    {
      if ((event->flags & GEMEM_EVENT_INITIAL) != 0)
        return do_initial (run, event, error);
      finish_adopting (run);
    }
  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      return do_alloc (run, event, error);
    case GEMEM_EVENT_FREE:
      return do_free (run, event, error);
    case GEMEM_EVENT_FREE_REQUESTED:
      return do_free_requested (run, event, error);
    case GEMEM_EVENT_FREE_COMPLETED:
      return do_free_completed (run, event, error);
    default:
      return do_other (run, event, error);
    }
}

/* ---- the books after each event */

static guint64
largest_free (GememRun *run, guint64 stream)
{
  return run->klass->largest_free (run->allocator, stream);
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
      result->live_at_peak_reserved = accounts->live;
      result->allocated_at_peak_reserved = accounts->allocated;
      result->largest_free_at_peak = largest_free (run, stream);
    }
}

static void
close_point (GememRun *run, guint64 stream)
{
  GememTimelinePoint end = { .seq = run->seq,
                             .time = run->last_time,
                             .live = run->accounts.live,
                             .allocated = run->accounts.allocated,
                             .reserved = run->accounts.reserved,
                             .largest_free = largest_free (run, stream) };
  gemem_timeline_close_point (&run->timeline, &end, FALSE);
}

static inline void
after_event (GememRun *run, const GememTraceEvent *event)
{
  GememAccounts *accounts = &run->accounts;

  if (G_UNLIKELY (gemem_accounts_sample (accounts, run->device->held, run->device->peak_held)))
    gemem_run_raise_peaks (run, event->stream);
  for (GememDevice *device = run->device; device != NULL; device = device->inner)
    device->peak_held = device->held; /* from here on: the peak of the next event */
  if (!run->has_time)
    gemem_accounts_weigh (accounts, 1);
  if (G_UNLIKELY (
          gemem_timeline_add (&run->timeline, accounts->live, accounts->allocated, accounts->high)))
    close_point (run, event->stream);
}

gboolean
gemem_run_check_order (const GememRun *run, GError **error)
{
  if (gemem_release_order_check (run->order, error))
    return TRUE;
  g_prefix_error (error, "%s: allocator %s: ", run->name, run->klass->name);
  return FALSE;
}

/* Tells the probe of the order of release where the blocks of @event are. */
static void
order_after (GememRun *run, const GememTraceEvent *event)
{
  const gboolean load = event->kind == GEMEM_EVENT_GRAPH_LOAD
                        || event->kind == GEMEM_EVENT_GRAPH_SEGMENT;
  const guint64 id = load ? GEMEM_GRAPH_BLOCK_ID (event->id) : event->id;
  const GememLive *live;

  if (event->kind == GEMEM_EVENT_GRAPH_RUN && run->klass->graphs.walk != NULL)
    gemem_release_order_ran (run->order, event->id, event->stream, run->allocator);
  if (!load && event->kind != GEMEM_EVENT_ALLOC)
    return;
  live = gemem_live_find (&run->live, id);
  if (live != NULL && live->flags == 0)
    gemem_release_order_served (run->order, id, load ? run->graphs.load.stream : event->stream,
                                &live->block);
}

/* Off the fast path: what the probes must know beforehand. */
static void
look_ahead (GememRun *run, const GememTraceEvent *event)
{
  if (run->ledger != NULL)
    run->ledger->seq = run->seq;
  if (run->order != NULL)
    gemem_release_order_before (run->order, event, run->seq);
  if (run->work != NULL || run->pace.wait != NULL)
    gemem_run_pace_before (run, event);
  if (run->touch != NULL)
    gemem_run_touch_before (run, event);
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

/* Off the fast path: memory itself, real devices, full checks, the order of release, the map,
 * interruption. */
static gboolean
look_closer (GememRun *run, const GememTraceEvent *event, GError **error)
{
  if (run->touch != NULL && !gemem_run_touch_after (run, event, error))
    return FALSE;
  if (run->real && !gemem_run_check_device (run, error))
    return FALSE;
  if (run->order != NULL)
    {
      order_after (run, event);
      if (!gemem_run_check_order (run, error))
        return FALSE;
    }
  if (run->verify && !gemem_verify (run->allocator, &run->live, &run->accounts, error))
    {
      g_prefix_error (error, "%s:event %" G_GUINT64_FORMAT ": ", run->name, run->seq);
      return FALSE;
    }
  if (run->seq == run->map_seq)
    {
      gemem_map_take (run->allocator, &run->live, run->result->map);
      run->stop = TRUE;
    }
  return TRUE;
}

static inline void
advance_clock (GememRun *run, const GememTraceEvent *event)
{
  guint64 time = run->time_base + event->time;

  if (time <= run->last_time)
    return;
  if (run->has_time)
    gemem_accounts_weigh (&run->accounts, time - run->last_time);
  run->last_time = time;
  if (!run->hurry)
    run->device->now = MAX (run->device->now, time);
}

/* Among many live blocks an event visits records that are in no cache, each found through the one
 * before: place of the id, record of the engine, record of the allocator, its neighbours.  So each
 * is asked for some events after the one that leads to it, and long before it is needed.
 * @ahead: of the events up to i + 3 STAGE, the records of ids that were alive when they were looked
 * up. */
static inline void
fetch_ahead (const GememRun *run, const GememTraceEvent *events, gsize i, gsize n,
             const GememLive **ahead)
{
  const GememLive *live = NULL;

  if (i + 4 * STAGE < n)
    gemem_idmap_prefetch (run->live.map, events[i + 4 * STAGE].id);
  if (i + 3 * STAGE < n && events[i + 3 * STAGE].kind != GEMEM_EVENT_ALLOC
      && (live = gemem_live_find (&run->live, events[i + 3 * STAGE].id)) != NULL)
    __builtin_prefetch (live, 1);
  ahead[(i + 3 * STAGE) % AHEAD] = live;
  if ((live = ahead[(i + 2 * STAGE) % AHEAD]) != NULL)
    __builtin_prefetch (live->block.handle, 1); /* whatever it is by now */
  if (run->klass->prefetch != NULL && (live = ahead[(i + STAGE) % AHEAD]) != NULL
      && live->flags == 0 && live->id == events[i + STAGE].id && live->block.handle != NULL)
    run->klass->prefetch (run->allocator, &live->block);
}

gboolean
gemem_run_events (GememRun *run, const GememTraceEvent *events, gsize n, GError **error)
{
  static const gint never = 0;
  const gint *interrupted = run->job->interrupted != NULL ? run->job->interrupted : &never;
  const GememLive *ahead[AHEAD] = { NULL };
  gboolean many = gemem_idmap_count (run->live.map) >= MANY;
  gboolean closer = run->real || run->verify || run->order != NULL || run->map_seq != G_MAXUINT64;

  for (gsize i = 0; i < n && !run->stop; i++, run->seq++)
    {
      const GememTraceEvent *event = &events[i];
      if (many)
        fetch_ahead (run, events, i, n, ahead);
      if (G_UNLIKELY (event->device != run->ordinal))
        continue;
      if (G_UNLIKELY (g_atomic_int_get (interrupted) != 0))
        {
          run->result->partial = TRUE;
          run->result->failure = g_strdup_printf ("interrupted before event %" G_GUINT64_FORMAT,
                                                  run->seq);
          run->stop = TRUE;
          return TRUE;
        }
      run->result->events++;
      advance_clock (run, event);
      if (G_UNLIKELY (run->watched))
        look_ahead (run, event);
      if (G_UNLIKELY (!dispatch (run, event, error)))
        {
          if (run->real)
            gemem_run_check_device (run, error);
          return FALSE;
        }
      after_event (run, event);
      if (G_UNLIKELY (closer) && !look_closer (run, event, error))
        return FALSE;
    }
  return TRUE;
}

void
gemem_run_free_all (GememRun *run)
{
  g_autoptr (GArray) rows = gemem_live_rows (&run->live, TRUE);

  gemem_run_unload_all (run);
  for (guint i = 0; i < rows->len; i++)
    {
      const GememLive *live = g_array_index (rows, GememLiveRow, i).live;
      if ((live->flags & GEMEM_LIVE_REQUESTED) != 0)
        run->klass->streams.complete (run->allocator, &live->block);
      else
        run->klass->free (run->allocator, &live->block, FALSE);
      if ((live->flags & GEMEM_LIVE_HOST) == 0)
        gemem_accounts_release (&run->accounts, live->stream, live->requested, live->block.size);
    }
  gemem_live_clear (&run->live);
  gemem_live_init (&run->live);
  run->accounts.demand = 0;
  run->accounts.reserved = run->device->held;
  run->device->peak_held = run->device->held;
}
