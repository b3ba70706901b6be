/* replay.c - one pass over a trace: opens reader, device and allocator, feeds the events, gathers
 * the result.
 *
 * The reader is opened once per epoch; the first batch decides which device of the trace is
 * replayed.  The map at the reserved peak needs the state after an event that is known only at the
 * end, so a second pass takes it and stops there; a copy at every new peak would cost a walk per
 * event while a workload grows.
 *
 * Invariants: nothing is kept per event; after any failure reader, log, allocator and device are
 * released in that order; the observer is removed before the allocator returns its memory, so that
 * the end of a run is not compared with the recording.
 */
#include "config.h"

#include <string.h>

#include "planners/planner.h"
#include "sim/engine/engine-private.h"
#include "sim/engine/lifetimes.h"
#include "sim/engine/run.h"

static const char *
trace_name (const GememTraceInfo *info)
{
  return info->path != NULL ? info->path : info->format != NULL ? info->format : "trace";
}

/* ---- beginning */

/* The allocator could not be created: if the recording's settings are the cause, @error says so. */
static void
blame_trace_settings (const GememRun *run, const char *defaults, GError **error)
{
  GememAllocator *alone = defaults != NULL && *defaults != '\0'
                              ? gemem_allocator_new (run->job->allocator, NULL, run->device, NULL)
                              : NULL;

  if (alone == NULL)
    return;
  alone->klass->destroy (alone);
  if (error != NULL && *error != NULL)
    {
      g_autofree char *message = g_strdup_printf (
          "%s: recorded with %s:%s: %s; --no-trace-settings leaves all of the recording's settings "
          "out",
          run->name, run->job->allocator->klass->name, defaults, (*error)->message);
      g_free ((*error)->message);
      (*error)->message = g_steal_pointer (&message);
    }
}

static gboolean
policy_is_recorded (GememDevice *device)
{
  g_autoptr (GPtrArray) settings = gemem_device_settings (device);

  return gemem_device_settings_recorded (settings);
}

/* Passes the whole trace to an allocator that must know it beforehand. */
static gboolean
show_future (GememRun *run, GError **error)
{
  GememPlanInput input = { .graph = run->job->graph,
                           .threads = 1, /* threads are for jobs */
                           .interrupted = run->job->interrupted };
  g_autoptr (GememLifetimes) lifetimes = NULL;
  GememTraceReader *reader;

  if (run->klass->prepare == NULL || run->job->source == NULL)
    return TRUE;
  reader = run->job->source (run->job->source_data, error);
  if (reader == NULL)
    return FALSE;
  lifetimes = gemem_trace_lifetimes (reader, run->ordinal, error);
  gemem_trace_close (reader);
  input.lifetimes = lifetimes;
  return lifetimes != NULL && run->klass->prepare (run->allocator, &input, error);
}

/* The recorded allocator obtained segments before its first event.  The replayed one asks for them
 * again while it is created; under the address policy `recorded` their addresses are reserved here.
 * An allocator that starts from the recorded state takes them over instead. */
static void
expect_first (GememRun *run, const GememTraceInfo *info, const GememTraceEvent *events, gsize n)
{
  if (run->job->allocator->klass->adopt.segment != NULL
      || !gemem_setup_same_allocator (run->job, info))
    return;
  for (gsize i = 0; i < n; i++)
    if ((events[i].flags & GEMEM_EVENT_INITIAL) != 0 && events[i].kind == GEMEM_EVENT_SEGMENT_ALLOC
        && events[i].device == run->ordinal)
      gemem_device_expect (run->device, events[i].address, events[i].size);
}

/* Whether the trace has the calls for segments, or those from before among its first @n events. */
static gboolean
tells_of_segments (const GememTraceInfo *info, const GememTraceEvent *events, gsize n)
{
  if ((info->flags & GEMEM_TRACE_HAS_SEGMENTS) != 0)
    return TRUE;
  for (gsize i = 0; i < n && (events[i].flags & GEMEM_EVENT_INITIAL) != 0; i++)
    if (events[i].kind == GEMEM_EVENT_SEGMENT_ALLOC || events[i].kind == GEMEM_EVENT_SEGMENT_MAP)
      return TRUE;
  return FALSE;
}

/* What device it is, and how far it follows the recorded one. */
static void
note_device (GememRun *run, const GememTraceInfo *info, guint64 capacity)
{
  const gboolean recorded = policy_is_recorded (run->device);

  run->result->device = gemem_device_describe (run->device);
  run->result->hardware = run->real ? gemem_device_identify (run->device) : NULL;
  run->result->device_settings = gemem_device_settings (run->device);
  run->result->capacity = gemem_device_capacity (run->device);
  run->result->device_ordinal = run->ordinal;
  if (capacity == 0)
    gemem_setup_note_device (run->job, info, run->result);
  run->attention |= GEMEM_RUN_ADOPTING | GEMEM_RUN_STARTING;
  run->recorded_device = recorded
                         && (gemem_setup_names_places (run->job)
                             || (capacity == 0 && !gemem_setup_names_device (run->job)));
  run->knows_ranges = info->device != NULL && strstr (info->device, "va_base=") != NULL;
  run->adopt = run->klass->adopt.segment != NULL && recorded;
  run->result->state_unfit = run->afresh;
}

/* What the allocator says of itself, and the label that marks it. */
static void
take_approximation (GememRun *run)
{
  g_free (run->result->approximation);
  run->result->approximation = g_strdup (run->allocator->approximation);
  gemem_result_set_label (run->result, run->job->allocator->label);
}

/* @events: the first @n of the trace. */
static gboolean
begin (GememRun *run, const GememTraceInfo *info, const GememTraceEvent *events, gsize n,
       guint64 capacity, GError **error)
{
  const GememJob *job = run->job;
  const char *defaults = gemem_setup_defaults (job, info);
  const gboolean named = info->settings != NULL || job->allocator->settings->len == 0;
  GememSetupRecorded recorded = { NULL };
  const gboolean alike = gemem_setup_is_alike (job, info, &recorded);

  gemem_setup_recorded_clear (&recorded);
  run->result->as_now = named && alike;
  run->alike = alike && !run->afresh;
  run->repeats = named && run->alike && !run->shares && tells_of_segments (info, events, n);
  if (job->device_ordinal >= 0
      || gemem_job_check_gpu (gemem_setup_spec (job), run->ordinal, TRUE, run->name, error))
    run->device = gemem_setup_device (job, info, run->ordinal, capacity,
                                      run->repeats  ? GEMEM_SETUP_RECORDED
                                      : run->afresh ? GEMEM_SETUP_AFRESH
                                                    : GEMEM_SETUP_AS_TRACE,
                                      error);
  if (run->device == NULL
      || (run->beside != NULL && !gemem_device_share (run->device, run->beside, error)))
    return FALSE;
  run->real = gemem_device_is_real (run->device);
  run->hurry = job->pace == GEMEM_PACE_ASAP && !run->real;
  run->trace_flags = info->flags;
  run->has_time = (info->flags & GEMEM_TRACE_HAS_TIME) != 0;
  run->middle = (info->flags & (GEMEM_TRACE_STARTS_IN_MIDDLE | GEMEM_TRACE_TRUNCATED)) != 0;
  run->same_allocator = gemem_setup_same_allocator (job, info);
  if (job->observer != NULL)
    gemem_device_add_observer (run->device, job->observer);
  run->device->times = run->times;
  expect_first (run, info, events, n);
  if (!gemem_probes_attach (run, error))
    return FALSE;
  run->allocator = gemem_allocator_new (job->allocator, defaults, run->device, error);
  if (!gemem_run_check_device (run, error))
    return FALSE;
  if (run->allocator == NULL)
    {
      blame_trace_settings (run, defaults, error);
      return FALSE;
    }
  run->klass = run->allocator->klass;
  memcpy (run->made, run->device->calls, sizeof run->made);
  if (job->rivals != NULL && run->klass->watch.begin != NULL)
    run->klass->watch.begin (run->allocator);
  run->ordered = (info->flags & GEMEM_TRACE_HAS_ORDER) != 0 && run->klass->streams.free_on != NULL;
  /* who chose settings wants to know what they do, from the first event to the last; settings in a
   * recording of CUDA's calls are those of its pools */
  run->follows = (run->same_allocator || (info->allocator == NULL && run->ordered))
                 && job->use_trace_settings && run->klass->configure != NULL
                 && job->allocator->settings->len == 0;
  run->unbegun = run->allocator->broken != NULL; /* it did not get what it takes when it is made */
  gemem_run_take_mark (run);
  take_approximation (run);
  run->result->parameters = gemem_allocator_effective (job->allocator, defaults, run->device,
                                                       error);
  gemem_settings_append (run->result->variables, job->allocator->variables);
  if (job->threads > 1)
    run->turns = gemem_turns_new (run, job->threads);
  if (run->result->parameters == NULL || !show_future (run, error)
      || !gemem_probes_start (run, error))
    return FALSE;
  note_device (run, info, capacity);
  gemem_accounts_init (&run->accounts, run->klass->alignment);
  /* what the allocator obtained before the first event */
  gemem_accounts_sample (&run->accounts, run->device->held, run->device->peak_held);
  gemem_run_raise_peaks (run, 0);
  return TRUE;
}

/* ---- one epoch */

static void
begin_histograms (GememRun *run)
{
  gemem_histogram_init (&run->alloc_ns);
  gemem_histogram_init (&run->free_ns);
  gemem_histogram_init (&run->measured_alloc_ns);
  gemem_histogram_init (&run->measured_free_ns);
  for (guint call = 0; run->times != NULL && call < GEMEM_CALL_COUNT; call++)
    gemem_histogram_init (&run->times->ns[call]);
  gemem_timeline_init (&run->timeline, run->result->timeline, run->job->timeline_points);
}

/* Ends the warm-up: resets everything counted so far.  No block is live. */
static void
start_counting (GememRun *run)
{
  GememDevice *device = run->device;

  gemem_result_restart (run->result);
  run->attention &= ~(guint) GEMEM_RUN_AT_LIVE_PEAK;
  begin_histograms (run);
  run->modelled_ns = 0;
  run->allocator->retries = 0;
  memset (device->calls, 0, sizeof device->calls);
  memset (device->refused, 0, sizeof device->refused);
  memset (device->call_ns, 0, sizeof device->call_ns);
  gemem_accounts_clear (&run->accounts);
  gemem_accounts_init (&run->accounts, run->klass->alignment);
  gemem_accounts_sample (&run->accounts, device->held, device->held);
  gemem_run_raise_peaks (run, 0);
}

static void
open_epoch (GememRun *run)
{
  run->epoch_ooms = 0;
  memset (&run->refused, 0, sizeof run->refused);
  run->time_base = run->last_time;
  if (run->epoch == 0)
    return;
  gemem_run_leave_live_peak (run);
  run->attention |= GEMEM_RUN_ADOPTING; /* the initial blocks of a later epoch are plain requests */
  run->adopt = run->adopted = FALSE;
  gemem_probes_next_epoch (run);
  gemem_run_free_all (run);
  gemem_run_restart_peaks (run);
  if (run->epoch == run->job->warm_up)
    start_counting (run);
}

static gboolean
close_epoch (GememRun *run, GError **error)
{
  GememEpoch epoch = { .peak_live = run->accounts.peak_live,
                       .peak_allocated = run->accounts.peak_allocated,
                       .peak_reserved = run->accounts.peak_reserved,
                       .end_reserved = run->device->held,
                       .end_largest_free = run->klass->largest_free (run->allocator, 0),
                       .ooms = run->epoch_ooms };
  g_array_append_val (run->result->epochs, epoch);
  gemem_run_lift_limit (run);
  return gemem_probes_end_epoch (run, error);
}

static gboolean
first_batch (GememRun *run, GememTraceReader *reader, guint64 capacity,
             const GememTraceEvent **events, gssize *n, GError **error)
{
  run->info = &reader->info;
  *n = gemem_trace_next (reader, events, error);
  if (*n < 0)
    return FALSE;
  if (run->device != NULL)
    return TRUE;
  run->name = g_strdup (trace_name (&reader->info));
  if (run->job->device_ordinal >= 0)
    run->ordinal = (guint16) run->job->device_ordinal;
  else
    run->ordinal = *n > 0 ? (*events)[0].device : 0;
  run->has_origins = run->job->keep_origins
                     && gemem_origins_found (&reader->info, *events, (gsize) *n);
  return begin (run, &reader->info, *events, (gsize) *n, capacity, error);
}

/* What the lowering of @graph added to the provenance, which begins with that of the graph and its
 * name. */
static void
note_lowering (GememResult *result, const GememGraph *graph, const GememTraceInfo *info)
{
  g_ptr_array_set_size (result->lowering, 0);
  for (guint i = gemem_graph_provenance (graph)->len + 1; i < info->provenance->len; i++)
    {
      g_auto (GStrv) parts = g_strsplit (info->provenance->pdata[i], ": ", 2);

      if (parts[0] != NULL && parts[1] != NULL && strcmp (parts[0], "lowering") != 0)
        gemem_settings_add (result->lowering, parts[0], parts[1]);
    }
}

static void
note_trace (GememRun *run, const GememTraceInfo *info)
{
  GememResult *result = run->result;

  g_free (result->trace);
  g_free (result->trace_sha256);
  result->trace = g_strdup (trace_name (info));
  result->trace_sha256 = g_strdup (info->sha256);
  if (run->job->graph != NULL)
    note_lowering (result, run->job->graph, info);
  if ((info->flags & GEMEM_TRACE_TRUNCATED) != 0)
    result->partial = TRUE;
}

/* Attaches the probes that have something to do from the next @n events on: that of origins, if the
 * first ones of the trace are among them (the origins of blocks before remain unknown), and that of
 * the recording's decisions, likewise. */
static gboolean
attach_late (GememRun *run, const GememTraceEvent *events, gsize n, GError **error)
{
  if (run->job->keep_origins && !run->has_origins && gemem_origins_found (run->info, events, n))
    {
      run->has_origins = TRUE;
      if (!gemem_probes_attach_late (run, &gemem_origins_probe, error))
        return FALSE;
    }
  return !gemem_ledger_begins (run, events, n)
         || gemem_probes_attach_late (run, &gemem_ledger_probe, error);
}

/* Reads the next batch; @reading->n is 0 at the end.  With --allow-partial, a reader that fails
 * leaves a partial result. */
static gboolean
read_on (GememRun *run, GememRunReading *reading, GError **error)
{
  g_autoptr (GError) broken = NULL;

  reading->n = gemem_trace_next (reading->reader, &reading->events, &broken);
  if (reading->n >= 0)
    return TRUE;
  reading->n = 0;
  if (!run->job->allow_partial)
    {
      g_propagate_error (error, g_steal_pointer (&broken));
      return FALSE;
    }
  run->result->partial = TRUE;
  run->result->failure = g_strdup (broken->message);
  run->stop = TRUE;
  return TRUE;
}

gboolean
gemem_run_read (GememRun *run, GememRunReading *reading, GError **error)
{
  return read_on (run, reading, error)
         && attach_late (run, reading->events, (gsize) reading->n, error);
}

static gboolean
feed (GememRun *run, GememRunReading *reading, GError **error)
{
  while (reading->n > 0)
    {
      if (!attach_late (run, reading->events, (gsize) reading->n, error)
          || !(run->turns != NULL
                   ? gemem_turns_events (run->turns, reading->events, (gsize) reading->n, error)
                   : gemem_run_events (run, reading->events, (gsize) reading->n, error)))
        return FALSE;
      if (run->stop)
        return TRUE;
      if (!read_on (run, reading, error))
        return FALSE;
    }
  return gemem_run_no_load_is_open (run, error);
}

static gboolean
begin_epoch (GememRun *run, guint64 capacity, GememRunReading *reading, GError **error)
{
  reading->reader = run->job->source (run->job->source_data, error);
  if (reading->reader == NULL
      || !first_batch (run, reading->reader, capacity, &reading->events, &reading->n, error))
    return FALSE;
  open_epoch (run);
  return TRUE;
}

static gboolean
conclude_epoch (GememRun *run, const GememRunReading *reading, GError **error)
{
  note_trace (run, &reading->reader->info);
  return close_epoch (run, error);
}

static void
stop_reading (GememRun *run, GememRunReading *reading)
{
  g_clear_pointer (&reading->reader, gemem_trace_close);
  run->info = NULL;
}

static gboolean
replay_epoch (GememRun *run, guint64 capacity, GError **error)
{
  GememRunReading reading = { NULL };
  const gboolean done = begin_epoch (run, capacity, &reading, error) && feed (run, &reading, error)
                        && conclude_epoch (run, &reading, error);

  stop_reading (run, &reading);
  return done;
}

/* ---- end */

static void
count_leaks (GememRun *run)
{
  run->result->leaked_blocks = gemem_live_count (&run->live);
  run->result->end_live = run->accounts.live;
  run->result->end_allocated = run->accounts.allocated;
  run->result->end_reserved = run->device->held;
}

static guint64
above (guint64 a, guint64 b)
{
  return a > b ? a - b : 0;
}

/* What the allocator asked the device for at most, if that is less than it held; else 0. */
static guint64
peak_asked (const GememRun *run)
{
  const GememDevice *last = run->device;

  while (last->inner != NULL)
    last = last->inner;
  return last->shares_pages && last->peak_asked < run->result->peak_reserved ? last->peak_asked : 0;
}

static void
gather (GememRun *run)
{
  GememResult *result = run->result;
  GememTimelinePoint end = { .seq = above (run->seq, 1),
                             .time = run->last_time,
                             .live = run->accounts.live,
                             .allocated = run->accounts.allocated,
                             .reserved = run->device->held,
                             .largest_free = run->klass->largest_free (run->allocator, 0) };

  take_approximation (run); /* some find out on the way */
  gemem_run_leave_live_peak (run);
  gemem_timeline_close_point (&run->timeline, &end, TRUE);
  count_leaks (run);
  gemem_accounts_finish (&run->accounts, run->has_time, result);
  run->device->peak_held = result->peak_reserved;
  result->peak_asked = peak_asked (run);
  memcpy (result->calls, run->device->calls, sizeof result->calls);
  memcpy (result->refused, run->device->refused, sizeof result->refused);
  memcpy (result->call_ns, run->device->call_ns, sizeof result->call_ns);
  result->retries = run->allocator->retries;
  if (result->recorded_ooms > 0)
    result->after_recorded_oom = result->allocs - run->refused.allocs;
  result->cost_numbers = run->device->cost_numbers;
  result->cost_guesses = run->device->cost_guesses;
  gemem_histogram_add_many (&run->alloc_ns, run->device->hit_ns,
                            result->allocs - run->alloc_ns.count);
  gemem_histogram_add_many (&run->free_ns, run->device->hit_ns, result->frees - run->free_ns.count);
  result->alloc_ns = run->alloc_ns;
  result->free_ns = run->free_ns;
  result->modelled_total_ns = run->modelled_ns + run->alloc_ns.sum + run->free_ns.sum;
  result->measured_alloc_ns = run->measured_alloc_ns;
  result->measured_free_ns = run->measured_free_ns;
  result->measured_total_ns = run->measured_alloc_ns.sum + run->measured_free_ns.sum;
  gemem_probes_gather (run);
  if (run->times != NULL)
    result->measured_calls = g_memdup2 (run->times->ns, sizeof run->times->ns);
  if (run->klass->report.stats != NULL && !result->stopped_above) /* nobody asks for those */
    run->klass->report.stats (run->allocator, gemem_result_add_stat, result->stats);
  if (run->job->keep_report && run->klass->report.text != NULL)
    {
      GString *text = g_string_new (NULL);

      run->klass->report.text (run->allocator, text);
      result->report = g_string_free (text, FALSE);
    }
}

/* Checks that the allocator returned all memory, and returned only memory that it had. */
static gboolean
check_end (GememRun *run, GError **error)
{
  if (run->device->held == 0 && run->device->misuses == 0)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "allocator %s: %" G_GUINT64_FORMAT
               " bytes were not returned to the device at the end, %" G_GUINT64_FORMAT
               " calls named memory that was never handed out; this is a bug of the allocator, "
               "please report it",
               run->klass->name, run->device->held, run->device->misuses);
  return FALSE;
}

/* On real memory, unfinished work may still fail: waits for it.  The wait is not the program's, so
 * observers of the device are not called. */
static gboolean
quiesce (GememRun *run, GError **error)
{
  if (run->device == NULL)
    return TRUE;
  run->device->observers = NULL;
  if (run->real)
    gemem_device_sync (run->device);
  return gemem_run_check_device (run, error);
}

/* Releases and frees everything.  TRUE if @ok and the end succeeded too. */
static gboolean
end (GememRun *run, gboolean ok, GError **error)
{
  if (run->device != NULL && run->job->observer != NULL)
    gemem_device_remove_observer (run->device, run->job->observer);
  gemem_turns_free (g_steal_pointer (&run->turns));
  gemem_probes_shut_down (run);
  /* as a program does: its streams are done before memory is returned, the device is closed last */
  if (run->allocator != NULL && gemem_device_failure (run->device) == NULL)
    gemem_device_sync (run->device);
  if (run->allocator != NULL)
    gemem_allocator_destroy (run->allocator);
  ok = ok && quiesce (run, error) && gemem_probes_finish (run, error)
       && (!run->check_end || check_end (run, error));
  gemem_probes_clear (run);
  if (run->device != NULL)
    gemem_device_destroy (run->device);
  gemem_accounts_clear (&run->accounts);
  gemem_live_clear (&run->live);
  g_clear_pointer (&run->held_back, g_array_unref);
  gemem_graphs_clear (&run->graphs);
  gemem_idset_clear (&run->recorded);
  g_free (run->times);
  g_free (run->name);
  return ok;
}

static GememCallTimes *
new_call_times (guint64 (*clock) (void))
{
  GememCallTimes *times = g_new (GememCallTimes, 1);

  times->clock = clock;
  return times;
}

static void
prepare (GememRun *run, const GememJob *job, guint64 map_seq)
{
  memset (run, 0, sizeof *run);
  run->job = job;
  run->map_seq = map_seq;
  run->result = gemem_result_new ();
  run->result->allocator = g_strdup (job->allocator->klass->name);
  run->result->label = g_strdup (job->allocator->label);
  gemem_live_init (&run->live);
  gemem_graphs_init (&run->graphs);
  gemem_idset_init (&run->recorded);
  run->oom_max = job->oom_max > 0 ? job->oom_max : GEMEM_RUN_OOM_MAX;
  run->clock = job->measure ? job->clock : NULL;
  if (run->clock != NULL)
    run->times = new_call_times (run->clock);
  run->verify = job->full_checks;
#if defined(GEMEM_CHECKS) && GEMEM_CHECKS >= 2
  run->verify = TRUE;
#endif
  run->check_end = run->verify || job->release_order;
  begin_histograms (run);
  run->result->variables = gemem_settings_new ();
  run->result->lowering = gemem_settings_new ();
  run->result->stats = gemem_settings_new ();
}

/* Releases everything and frees @run; its result if @ok and the end succeeded too. */
static GememResult *
finish_pass (GememRun *run, gboolean ok, GError **error)
{
  GememResult *result;

  ok = end (run, ok, error);
  result = run->result;
  g_free (run);
  if (!ok)
    g_clear_pointer (&result, gemem_result_free);
  return result;
}

/* @afresh: not from the state in which the recording began.  *@unfit: the run ended because that state
 * does not fit, and can be made afresh. */
static GememResult *
pass (const GememJob *job, guint64 capacity, guint64 map_seq, gboolean afresh, gboolean *unfit,
      GError **error)
{
  GememRun *run = g_new (GememRun, 1);
  const guint epochs = job->warm_up + MAX (job->repeat, 1);
  gboolean ok = TRUE;

  prepare (run, job, map_seq);
  run->afresh = afresh;
  for (run->epoch = 0; ok && run->epoch < epochs && !run->stop; run->epoch++)
    ok = replay_epoch (run, capacity, error);
  if (ok)
    gather (run);
  if (ok && job->rivals != NULL)
    gemem_rivals_compare (run);
  *unfit = run->unfit;
  return finish_pass (run, ok, error);
}

GememResult *
gemem_run_pass (const GememJob *job, guint64 capacity, guint64 map_seq, GError **error)
{
  g_autoptr (GError) reason = NULL;
  GememResult *result;
  gboolean unfit;

  if (job->n_others > 0)
    return gemem_share_pass (job, capacity, error);
  result = pass (job, capacity, map_seq, FALSE, &unfit, &reason);
  if (result == NULL && !unfit)
    g_propagate_error (error, g_steal_pointer (&reason));
  return unfit ? pass (job, capacity, map_seq, TRUE, &unfit, error) : result;
}

/* ---- a pass in steps, for runs that share a device */

GememRun *
gemem_run_start (const GememJob *job, guint64 capacity, GememDevice *beside,
                 GememRunReading *reading, GError **error)
{
  GememRun *run = g_new (GememRun, 1);

  prepare (run, job, G_MAXUINT64);
  run->beside = beside;
  run->shares = TRUE;
  if (begin_epoch (run, capacity, reading, error)
      && attach_late (run, reading->events, (gsize) reading->n, error))
    return run;
  gemem_run_stop (run, reading, FALSE, NULL);
  return NULL;
}

gboolean
gemem_run_conclude (GememRun *run, const GememRunReading *reading, GError **error)
{
  if (!conclude_epoch (run, reading, error))
    return FALSE;
  gather (run);
  return TRUE;
}

GememResult *
gemem_run_stop (GememRun *run, GememRunReading *reading, gboolean ok, GError **error)
{
  stop_reading (run, reading);
  return finish_pass (run, ok, error);
}

/* ---- a run fed by a running program */

GememRun *
gemem_run_open (const GememJob *job, const char *name, guint16 ordinal, guint64 capacity,
                GError **error)
{
  const GememTraceInfo info = { .flags = GEMEM_TRACE_HAS_TIME };
  GememRun *run = g_new (GememRun, 1);

  prepare (run, job, G_MAXUINT64);
  run->name = g_strdup (name);
  run->ordinal = ordinal;
  run->result->trace = g_strdup (name);
  if (begin (run, &info, NULL, 0, capacity, error))
    {
      open_epoch (run);
      return run;
    }
  gemem_run_close (run, NULL);
  return NULL;
}

GememResult *
gemem_run_finish (GememRun *run)
{
  close_epoch (run, NULL);
  gather (run);
  return g_steal_pointer (&run->result);
}

gboolean
gemem_run_close (GememRun *run, GError **error)
{
  gboolean ok;

  run->check_end |= error != NULL;
  ok = end (run, error != NULL, error);
  gemem_result_free (run->result);
  g_free (run);
  return ok;
}

/* Sets @seen[d] to 1 for each device d of the rest of @reader. */
static gboolean
see_devices (GememTraceReader *reader, guint8 *seen, GError **error)
{
  const GememTraceEvent *events;
  gssize n;

  if (reader->devices != NULL && reader->filter == NULL)
    return reader->devices (reader, seen, error);
  while ((n = gemem_trace_next (reader, &events, error)) > 0)
    for (gssize i = 0; i < n; i++)
      seen[events[i].device] = 1;
  return n == 0;
}

GArray *
gemem_trace_devices (GememTraceSource source, gpointer data, GError **error)
{
  GememTraceReader *reader = source (data, error);
  g_autoptr (GArray) devices = g_array_new (FALSE, FALSE, sizeof (guint16));
  g_autofree guint8 *seen = g_malloc0 (G_MAXUINT16 + 1);
  const gboolean ok = reader != NULL && see_devices (reader, seen, error);

  if (reader != NULL)
    gemem_trace_close (reader);
  if (!ok)
    return NULL;
  for (guint device = 0; device <= G_MAXUINT16; device++)
    {
      guint16 ordinal = (guint16) device;
      if (seen[device])
        g_array_append_val (devices, ordinal);
    }
  return g_steal_pointer (&devices);
}
