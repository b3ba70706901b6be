/* events.c - the event path: what each kind of event does to the allocator, the device and the
 * accounts.
 *
 * A block is live from its ALLOC to its FREE or FREE_COMPLETED; for an allocator without complete()
 * it ends at FREE_REQUESTED, because such an allocator then regains the memory, and the accounts
 * must close.  Requests of 0 bytes are passed on only to an allocator that has a block for them.  A
 * request that failed keeps its id, so that its free can be told from a free of nothing.  Recorded
 * segment events are the reference for comparison.  Under the device policy `recorded` they also
 * say where segments lie and which calls the device refused.  They never decide anything else.
 *
 * Cost per event: one idmap operation, one call of the allocator, some 40 additions and compares;
 * no host allocation.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/blocks-private.h"
#include "sim/engine/engine-private.h"

#define STAGE 4   /* events that each stage of fetch_ahead() runs before the next one */
#define AHEAD 16  /* more than 3 STAGE; a power of two */
#define SOME 256  /* events after which an interruption is looked for, where nothing watches */
#define MANY 8192 /* live blocks beyond which their records are in no near cache */

static ALWAYS_INLINE gboolean
do_free_requested (GememRun *run, const GememTraceEvent *event, gboolean watched, GError **error)
{
  GememLive *live = gemem_live_find (&run->live, event->id);

  if (live == NULL)
    return gemem_run_bad_free (run, event, error);
  if ((live->flags & GEMEM_LIVE_REQUESTED) != 0)
    return gemem_run_bad_event (run, error, "id %" G_GUINT64_FORMAT " is freed twice", event->id);
  live->flags |= GEMEM_LIVE_REQUESTED;
  if ((live->flags & GEMEM_LIVE_UNSERVED) != 0)
    return TRUE;
  gemem_block_release (run, &live->block, event->stream, TRUE, watched);
  if (run->klass->streams.complete == NULL)
    {
      live->flags |= GEMEM_LIVE_GONE;
      gemem_block_account_end (run, live);
    }
  gemem_block_decided (run, event, FALSE, live->requested, &live->block, watched);
  return TRUE;
}

/* The end of a block that the allocator has not freed. */
static ALWAYS_INLINE void
complete (GememRun *run, const GememTraceEvent *event, const GememLive *live, gboolean watched)
{
  guint64 charged = run->device->call_time;

  if ((live->flags & GEMEM_LIVE_REQUESTED)
      == 0) /* its free was requested before the recording began */
    gemem_block_release (run, &live->block, event->stream, FALSE, watched);
  else if (G_UNLIKELY (run->held_back != NULL))
    g_array_append_val (run->held_back, live->block);
  else
    {
      run->klass->streams.complete (run->allocator, &live->block);
      run->modelled_ns += run->device->call_time - charged;
    }
  gemem_block_account_end (run, live);
  gemem_block_decided (run, event, FALSE, live->requested, &live->block, watched);
}

static ALWAYS_INLINE gboolean
do_free_completed (GememRun *run, const GememTraceEvent *event, gboolean watched, GError **error)
{
  GememLive *live = gemem_live_take (&run->live, event->id);

  if (live == NULL)
    return gemem_run_bad_free (run, event, error);
  if ((live->flags & GEMEM_LIVE_UNSERVED) != 0)
    gemem_run_skip_free (run, live);
  else if ((live->flags & GEMEM_LIVE_GONE) == 0)
    complete (run, event, live, watched);
  gemem_live_recycle (&run->live, live);
  return TRUE;
}

/* ---- the initial state */

/* The state does not fit: a failure where it must, or the run is made afresh, unless the user asked
 * for the recorded places. */
static gboolean
refuse_state (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememDeviceInfo info;

  gemem_device_info (run->device, &info);
  if (run->job->whole_state && info.free < event->size)
    {
      run->result->ooms++;
      return run->stop = TRUE;
    }
  run->unfit = run->repeats && !gemem_setup_names_places (run->job);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s:event %" G_GUINT64_FORMAT
               ": no room on the device, or within the allocator's limit, for the segment of "
               "%" G_GUINT64_FORMAT " bytes that was there when the recording began; give a larger "
               "capacity or limit, or another address policy",
               run->name, run->seq, event->size);
  return FALSE;
}

/* What the device is asked for meanwhile happened before the recording, and does not count. */
static gboolean
adopt_segment (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememAdopt adopt = { .address = event->address,
                       .size = event->size,
                       .stream = event->stream,
                       .pool = event->pool,
                       .small = (event->flags & GEMEM_EVENT_SMALL) != 0,
                       .mapped = event->kind == GEMEM_EVENT_SEGMENT_MAP };
  GememDevice *device = run->device;
  guint64 calls[GEMEM_CALL_COUNT], ns[GEMEM_CALL_COUNT];
  const guint64 call_time = device->call_time;

  G_STATIC_ASSERT (sizeof calls == sizeof device->calls && sizeof ns == sizeof device->call_ns);
  memcpy (calls, device->calls, sizeof calls);
  memcpy (ns, device->call_ns, sizeof ns);
  if (!run->klass->adopt.segment (run->allocator, &adopt))
    return refuse_state (run, event, error);
  memcpy (device->calls, calls, sizeof calls);
  memcpy (device->call_ns, ns, sizeof ns);
  device->call_time = call_time;
  return run->adopted = TRUE;
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
  gemem_block_decided (run, event, FALSE, event->size, &live->block, TRUE);
  return TRUE;
}

/* Requests an initial block like any other where the segment in which it lay is unknown. */
static gboolean
do_initial (GememRun *run, const GememTraceEvent *event, GError **error)
{
  run->result->initial_events++;
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC || event->kind == GEMEM_EVENT_SEGMENT_MAP)
    {
      run->result->initial_reserved += event->size;
      run->result->state_adopted = run->adopt;
      return !run->adopt || adopt_segment (run, event, error);
    }
  if (event->kind != GEMEM_EVENT_ALLOC)
    return TRUE;
  run->result->initial_blocks++;
  if (run->adopted && event->size > 0)
    return adopt_block (run, event, error);
  return gemem_block_alloc (run, event, TRUE, error);
}

/* ---- everything else */

/* Reports an event that concerns no block to the probes. */
static void
decided_plain (GememRun *run, const GememTraceEvent *event)
{
  const GememDecision decision = { .event = event };
  gemem_probes_decided (run, &decision);
}

static void
do_sync (GememRun *run, const GememTraceEvent *event)
{
  guint64 charged = run->device->call_time;

  if (event->kind == GEMEM_EVENT_STREAM_SYNC && event->aux != 0
      && run->klass->streams.asked != NULL)
    {
      run->klass->streams.asked (run->allocator, event->stream);
      return;
    }
  if (event->kind == GEMEM_EVENT_DEVICE_SYNC)
    gemem_device_sync (run->device);
  else
    gemem_device_stream_sync (run->device, event->stream);
  if (run->klass->streams.sync != NULL)
    {
      run->klass->streams.sync (
          run->allocator, event->kind == GEMEM_EVENT_DEVICE_SYNC ? G_MAXUINT64 : event->stream);
      decided_plain (run, event);
    }
  run->modelled_ns += run->device->call_time - charged;
}

/* The program sets memory of a live block; a block whose request failed is skipped. */
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
  decided_plain (run, event);
}

static void
do_segment (GememRun *run, const GememTraceEvent *event)
{
  /* in later epochs the recorded addresses have been used */
  if (run->epoch != 0 || event->address == 0)
    return;
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC)
    gemem_device_expect (run->device, event->address, event->size);
  else if (event->kind == GEMEM_EVENT_SEGMENT_MAP)
    gemem_device_expect_map (run->device, event->address, event->size, run->knows_ranges);
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

/* DEVICE_LIMIT: the recorded device refused the recorded allocator; only a replay of the same
 * allocator is limited too.  Completions inside the limit happened because the recorded allocator
 * waited; the replayed one must wait by itself, so they are delivered afterwards. */
static void
do_limit (GememRun *run, const GememTraceEvent *event)
{
  gemem_run_lift_limit (run);
  run->refused.held = event->size;
  if (event->size == 0 || run->epoch > 0 || !run->same_allocator || !run->recorded_device)
    return;
  gemem_device_limit (run->device, event->size);
  run->held_back = g_array_new (FALSE, FALSE, sizeof (GememBlock));
}

static void
do_pool_release (GememRun *run, const GememTraceEvent *event)
{
  guint64 charged = run->device->call_time;

  if (run->klass->release_pool == NULL || event->pool == 0)
    return;
  run->klass->release_pool (run->allocator, event->pool, event->aux != 0);
  run->modelled_ns += run->device->call_time - charged;
  decided_plain (run, event);
}

static void
do_redirect (GememRun *run, const GememTraceEvent *event)
{
  if (run->klass->redirect != NULL)
    run->klass->redirect (run->allocator, event->pool, event->kind == GEMEM_EVENT_POOL_BEGIN,
                          event->aux != 0);
}

/* TRUE if @text is "key=value" of what a call of the program sets, beside which the user's settings, which are
 * others, hold. */
static gboolean
is_called (const GememRun *run, const char *text)
{
  const GememAllocatorSpec *spec = run->job->allocator;
  g_auto (GStrv) pair = g_strsplit (text, "=", 2);
  const GememParam *row = spec->klass->params != NULL && pair[0] != NULL && pair[1] != NULL
                              ? gemem_params_find (spec->klass->params, pair[0])
                              : NULL;

  return row != NULL && (row->flags & GEMEM_PARAM_CALLED) != 0 && run->same_allocator
         && run->job->use_trace_settings
         && !gemem_settings_override (spec->klass->params, spec->settings, row);
}

static gboolean
do_settings (GememRun *run, const GememTraceEvent *event, GError **error)
{
  g_autoptr (GError) reason = NULL;
  const char *text;

  if (run->klass->configure == NULL || run->info == NULL || event->tag >= run->info->strings->len)
    return TRUE;
  text = g_ptr_array_index (run->info->strings, event->tag);
  if ((!run->follows && !is_called (run, text))
      || run->klass->configure (run->allocator, text, &reason))
    return TRUE;
  return gemem_run_bad_event (run, error, "%s", reason->message);
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
    case GEMEM_EVENT_WORK:
      if (run->klass->streams.work != NULL)
        run->klass->streams.work (run->allocator, event->id, event->stream);
      return TRUE;
    case GEMEM_EVENT_WORK_DONE:
      if (run->klass->streams.work_done != NULL)
        run->klass->streams.work_done (run->allocator, event->id);
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
    case GEMEM_EVENT_POOL_BEGIN:
    case GEMEM_EVENT_POOL_END:
      do_redirect (run, event);
      return TRUE;
    case GEMEM_EVENT_SETTINGS:
      return do_settings (run, event, error);
    case GEMEM_EVENT_DEVICE_LIMIT:
      do_limit (run, event);
      return TRUE;
    case GEMEM_EVENT_GRAPH_LOAD:
    case GEMEM_EVENT_GRAPH_SEGMENT:
    case GEMEM_EVENT_GRAPH_RUN:
    case GEMEM_EVENT_GRAPH_RUN_END:
    case GEMEM_EVENT_GRAPH_UNLOAD:
      return gemem_run_graph (run, event, error);
    case GEMEM_EVENT_REGION_BEGIN:
    case GEMEM_EVENT_REGION_END:
    case GEMEM_EVENT_SLEEP:
    case GEMEM_EVENT_PAUSE:
    case GEMEM_EVENT_WAKE:
      return gemem_run_sleep (run, event, error);
    case GEMEM_EVENT_OOM:
      return gemem_run_refused (run, event, error);
    case GEMEM_EVENT_STEP:
    case GEMEM_EVENT_PHASE:
    case GEMEM_EVENT_PHASE_END:
    case GEMEM_EVENT_SNAPSHOT:
      return TRUE; /* marks: nothing to decide */
    default:
      return gemem_run_bad_event (run, error, "there is no event of kind %u", event->kind);
    }
}

static void
finish_adopting (GememRun *run)
{
  run->attention &= ~(guint) GEMEM_RUN_ADOPTING;
  if (run->adopt && run->klass->adopt.done != NULL)
    run->klass->adopt.done (run->allocator);
}

static void
notice_first_free (GememRun *run, const GememTraceEvent *event)
{
  if (event->kind != GEMEM_EVENT_FREE && event->kind != GEMEM_EVENT_FREE_REQUESTED)
    return;
  run->attention &= ~(guint) GEMEM_RUN_STARTING;
  gemem_device_compute (run->device);
}

static ALWAYS_INLINE gboolean
dispatch (GememRun *run, const GememTraceEvent *event, gboolean watched, GError **error)
{
  if (G_UNLIKELY (run->attention != 0))
    {
      if (event->kind != GEMEM_EVENT_ALLOC)
        gemem_run_leave_live_peak (run);
      if ((run->attention & GEMEM_RUN_ADOPTING) != 0)
        {
          if ((event->flags & GEMEM_EVENT_INITIAL) != 0)
            return do_initial (run, event, error);
          finish_adopting (run);
        }
      if ((run->attention & GEMEM_RUN_STARTING) != 0)
        notice_first_free (run, event);
      if ((run->attention & GEMEM_RUN_SLEEPING) != 0 && event->kind == GEMEM_EVENT_ALLOC)
        return gemem_run_alloc_asleep (run, event, error);
    }
  if (event->kind == GEMEM_EVENT_ALLOC)
    return gemem_block_alloc (run, event, watched, error);
  if (event->kind == GEMEM_EVENT_FREE)
    return gemem_block_free (run, event, watched, error);
  if (event->kind == GEMEM_EVENT_FREE_REQUESTED)
    return do_free_requested (run, event, watched, error);
  if (event->kind == GEMEM_EVENT_FREE_COMPLETED)
    return do_free_completed (run, event, watched, error);
  return do_other (run, event, error);
}

/* ---- the accounting after each event */

static void
close_point (GememRun *run, guint64 stream)
{
  GememTimelinePoint end = { .seq = run->seq,
                             .time = run->last_time,
                             .live = run->accounts.live,
                             .allocated = run->accounts.allocated,
                             .reserved = run->accounts.reserved,
                             .largest_free = run->klass->largest_free (run->allocator, stream) };
  gemem_timeline_close_point (&run->timeline, &end, FALSE);
  memset (&run->bar, 0, sizeof run->bar);
}

/* The peak of the next event starts at what is held now. */
static G_GNUC_NO_INLINE void
lower_device_peaks (GememDevice *device)
{
  for (; device != NULL; device = device->inner)
    device->peak_held = device->held;
}

static ALWAYS_INLINE void
after_event (GememRun *run, const GememTraceEvent *event)
{
  GememAccounts *accounts = &run->accounts;

  gemem_accounts_sample (accounts, run->device->held, run->device->peak_held);
  if (G_UNLIKELY (accounts->high != accounts->reserved))
    lower_device_peaks (run->device);
  if (G_UNLIKELY (accounts->live > run->bar.live || accounts->allocated > run->bar.allocated
                  || accounts->high > run->bar.reserved))
    gemem_run_raise_bar (run, event->stream);
  if (!run->has_time)
    gemem_accounts_weigh (accounts, 1);
  if (G_UNLIKELY (gemem_timeline_count (&run->timeline)))
    close_point (run, event->stream);
}

static ALWAYS_INLINE void
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

/* With many live blocks an event visits records that are in no cache, each found through the one
 * before: slot of the id, record of the engine, record of the allocator, its neighbours.  So each
 * record is prefetched some events after the one that leads to it, and long before it is needed.
 * @ahead: for the events up to i + 3 STAGE, the first record of the id's chain, mostly its own. */
static ALWAYS_INLINE void
fetch_ahead (const GememRun *run, const GememTraceEvent *events, gsize i, gsize n,
             const GememLive **ahead)
{
  const GememLive *live = NULL;

  if (i + 4 * STAGE < n)
    __builtin_prefetch (gemem_live_slot (&run->live, events[i + 4 * STAGE].id));
  if (i + 3 * STAGE < n && events[i + 3 * STAGE].kind != GEMEM_EVENT_ALLOC
      && (live = *gemem_live_slot (&run->live, events[i + 3 * STAGE].id)) != NULL)
    __builtin_prefetch (live, 1);
  ahead[(i + 3 * STAGE) % AHEAD] = live;
  if ((live = ahead[(i + 2 * STAGE) % AHEAD]) != NULL)
    __builtin_prefetch (live->block.handle, 1); /* harmless if the record was reused */
  if (run->klass->prefetch != NULL && (live = ahead[(i + STAGE) % AHEAD]) != NULL
      && live->flags == 0 && live->id == events[i + STAGE].id && live->block.handle != NULL)
    run->klass->prefetch (run->allocator, &live->block);
}

static ALWAYS_INLINE gboolean
serve (GememRun *run, const GememTraceEvent *event, gboolean watched, GError **error)
{
  if (watched && run->probes.n > 0)
    gemem_probes_before (run, event);
  if (G_UNLIKELY (!dispatch (run, event, watched, error)))
    {
      gemem_run_check_device (run, error);
      return FALSE;
    }
  after_event (run, event);
  return !watched || run->probes.n == 0 || gemem_probes_after (run, event, error);
}

static gboolean
interrupted (GememRun *run)
{
  if (run->job->interrupted == NULL || g_atomic_int_get (run->job->interrupted) == 0)
    return FALSE;
  run->result->partial = TRUE;
  run->result->failure = g_strdup_printf ("interrupted before event %" G_GUINT64_FORMAT, run->seq);
  run->stop = TRUE;
  return TRUE;
}

/* Serves @n events, or those up to the one that stops the run. */
static ALWAYS_INLINE gboolean
serve_all (GememRun *run, const GememTraceEvent *events, gsize n, gboolean watched, GError **error)
{
  const GememLive *ahead[AHEAD] = { NULL };
  const gboolean many = run->live.count >= MANY;

  for (gsize i = 0; i < n && !run->stop; i++, run->seq++)
    {
      const GememTraceEvent *event = &events[i];
      if (many)
        fetch_ahead (run, events, i, n, ahead);
      if ((watched || i % SOME == 0) && interrupted (run))
        return TRUE;
      if (G_UNLIKELY (event->device != run->ordinal))
        continue;
      run->result->events++;
      advance_clock (run, event);
      if (G_UNLIKELY (!serve (run, event, watched, error)))
        return FALSE;
    }
  return TRUE;
}

/* Apart, so that the loop without probes and clock has registers of its own. */
static G_GNUC_NO_INLINE gboolean
serve_watched (GememRun *run, const GememTraceEvent *events, gsize n, GError **error)
{
  return serve_all (run, events, n, TRUE, error);
}

gboolean
gemem_run_events (GememRun *run, const GememTraceEvent *events, gsize n, GError **error)
{
  if (run->probes.n > 0 || run->clock != NULL)
    return serve_watched (run, events, n, error);
  return serve_all (run, events, n, FALSE, error);
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
        gemem_block_give (run, &live->block,
                          gemem_accounts_stream_at (&run->accounts, live->stream)->use.stream,
                          FALSE);
      if ((live->flags & (GEMEM_LIVE_HOST | GEMEM_LIVE_ASLEEP)) == 0)
        gemem_accounts_release (&run->accounts, live->stream, live->requested, live->block.size);
    }
  gemem_live_clear (&run->live);
  gemem_live_init (&run->live);
  run->accounts.demand = 0;
  run->accounts.reserved = run->device->held;
  run->device->peak_held = run->device->held;
}
