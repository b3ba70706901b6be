/* share.c - several programs on one device: as many traces and allocators, one capacity.
 *
 * Why: training and serving on one GPU fail together.  What one program caches the other cannot
 * have, so that neither alone shows whether both fit.
 *
 * Each program is a run of its own (run.h) with its own simulated device: own addresses, clock,
 * counters and allocator, as processes have.  The devices share their bytes
 * (gemem_device_share()).  Events are served one at a time, in the order of GememShareOrder; a trace
 * that has ended keeps what it holds, as a program that waits does.
 *
 * Invariants: the order depends on the traces alone; the sum that is sampled after each event is
 * that of the devices' held bytes; while one program is served the others hold what they held.
 *
 * The timelines of the programs and of the sum count the same events and have the same number of
 * points, so they close their points together, and the curves can be stacked.
 */
#include "config.h"

#include "sim/engine/engine-private.h"
#include "sim/engine/run.h"

typedef struct
{
  GememJob job; /* of this program alone */
  GememRun *run;
  GememRunReading reading;
  gssize next;          /* in the batch of `reading` */
  guint64 done, events; /* served; EVENLY: in the trace */
  GememTimeline timeline;
} Program;

typedef struct
{
  const GememJob *job;
  GememShareOrder order;
  GememResult *result;
  Program *programs;
  guint n;
  GememAccounts accounts; /* the sum; its `reserved` is what all devices hold */
  GememTimeline timeline;
  guint64 seq, time;
  guint64 oom_max;
  gboolean at_live_peak; /* largest_free_at_live_peak is to be taken */
  gboolean stop;
} Sharing;

/* ---- what only one program can have */

/* Whether @job, which has others, asks for nothing that only one program can have.
 * GEMEM_ERROR_USAGE. */
static gboolean
check_job (const GememJob *job, GError **error)
{
  const struct
  {
    gboolean asked;
    const char *option, *advice;
  } refused[] = {
    { job->repeat > 1, "--repeat", "write the traces as long as they are to run" },
    { job->warm_up > 0, "--warm-up", "write the traces as long as they are to run" },
    { job->threads > 1, "--host-threads", "each program is one thread" },
    { job->keep_map, "--map", "replay each trace alone for its map" },
    { job->events_path != NULL, "--events", "one file holds the decisions of one program" },
    { job->record_path != NULL, "--record", "a recording is of one program" },
    { job->calls_path != NULL, "--calls", "one file holds the device calls of one program" },
    { job->occupy, "--occupy", "streams of several programs are not modelled" },
    { job->touch, "--touch", "it needs a GPU" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (refused); i++)
    if (refused[i].asked)
      {
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                     "%s and --share-device exclude each other: %s; leave one of them out",
                     refused[i].option, refused[i].advice);
        return FALSE;
      }
  if (!gemem_setup_is_real (job))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "-d %s: programs can share only the simulated device; use -d sim:capacity=SIZE",
               gemem_setup_spec (job));
  return FALSE;
}

/* ---- the order of events */

/* Passes over events of other devices, and reads on; at the end of the trace reading.n is 0. */
static gboolean
find_next (Program *program, GError **error)
{
  GememRun *run = program->run;
  GememRunReading *reading = &program->reading;

  while (reading->n > 0)
    {
      for (; program->next < reading->n; program->next++, run->seq++)
        if (reading->events[program->next].device == run->ordinal)
          return TRUE;
      program->next = 0;
      if (!gemem_run_read (run, reading, error))
        return FALSE;
      if (reading->n == 0)
        return gemem_run_no_load_is_open (run, error);
    }
  return TRUE;
}

/* Whether the next event of @a precedes that of @b, which is a later program. */
static gboolean
precedes (const Sharing *sharing, const Program *a, const Program *b)
{
  switch (sharing->order)
    {
    case GEMEM_SHARE_TIME:
      return a->reading.events[a->next].time <= b->reading.events[b->next].time;
    case GEMEM_SHARE_EVENLY:
      return (GememWide) a->done * b->events <= (GememWide) b->done * a->events;
    default:
      return a->done <= b->done;
    }
}

/* The program whose event is next; NULL: all traces have ended. */
static Program *
choose (const Sharing *sharing)
{
  Program *chosen = NULL;

  for (guint i = 0; i < sharing->n; i++)
    if (sharing->programs[i].reading.n > 0
        && (chosen == NULL || !precedes (sharing, chosen, &sharing->programs[i])))
      chosen = &sharing->programs[i];
  return chosen;
}

/* ---- the sum */

static guint64
largest_free (const Sharing *sharing)
{
  guint64 largest = 0;

  for (guint i = 0; i < sharing->n; i++)
    {
      GememRun *run = sharing->programs[i].run;
      largest = MAX (largest, run->klass->largest_free (run->allocator, 0));
    }
  return largest;
}

static void
leave_live_peak (Sharing *sharing)
{
  if (!sharing->at_live_peak)
    return;
  sharing->at_live_peak = FALSE;
  sharing->result->allocated_at_live_peak = sharing->accounts.allocated;
  sharing->result->reserved_at_live_peak = sharing->accounts.reserved;
  sharing->result->largest_free_at_live_peak = largest_free (sharing);
}

static void
raise_peaks (Sharing *sharing)
{
  GememAccounts *accounts = &sharing->accounts;
  GememResult *result = sharing->result;

  if (accounts->live > accounts->peak_live)
    {
      result->peak_live = accounts->peak_live = accounts->live;
      result->peak_live_seq = sharing->seq;
      sharing->at_live_peak = TRUE;
    }
  if (accounts->allocated > accounts->peak_allocated)
    {
      result->peak_allocated = accounts->peak_allocated = accounts->allocated;
      result->peak_allocated_seq = sharing->seq;
    }
  if (accounts->high > accounts->peak_reserved)
    {
      result->peak_reserved = accounts->peak_reserved = accounts->high;
      result->peak_reserved_seq = sharing->seq;
    }
}

/* Closes the open point of all timelines. */
static void
close_points (Sharing *sharing, gboolean last)
{
  GememTimelinePoint end = { .seq = last ? sharing->seq - MIN (sharing->seq, 1) : sharing->seq,
                             .time = sharing->time,
                             .live = sharing->accounts.live,
                             .allocated = sharing->accounts.allocated,
                             .reserved = sharing->accounts.reserved,
                             .largest_free = largest_free (sharing) };

  gemem_timeline_close_point (&sharing->timeline, &end, last);
  for (guint i = 0; i < sharing->n; i++)
    {
      Program *program = &sharing->programs[i];
      const GememRun *run = program->run;
      end.live = run->accounts.live;
      end.allocated = run->accounts.allocated;
      end.reserved = run->device->held;
      end.largest_free = run->klass->largest_free (run->allocator, 0);
      gemem_timeline_close_point (&program->timeline, &end, last);
    }
}

static void
sample (Sharing *sharing, const Program *served)
{
  GememAccounts *accounts = &sharing->accounts;
  gboolean full;

  gemem_timeline_raise (&sharing->timeline, accounts->live, accounts->allocated, accounts->high);
  full = gemem_timeline_count (&sharing->timeline);
  for (guint i = 0; i < sharing->n; i++)
    {
      const GememAccounts *own = &sharing->programs[i].run->accounts;
      gemem_timeline_raise (&sharing->programs[i].timeline, own->live, own->allocated,
                            &sharing->programs[i] == served ? own->high : own->reserved);
      gemem_timeline_count (&sharing->programs[i].timeline);
    }
  if (full)
    close_points (sharing, FALSE);
}

/* A request of @failed was refused: keeps what each program held. */
static void
note_failure (Sharing *sharing, const Program *failed)
{
  const GArray *own = failed->run->result->oom;
  GememOom oom;

  if (sharing->result->oom->len >= sharing->oom_max || own->len == 0)
    return;
  oom = g_array_index (own, GememOom, own->len - 1);
  for (guint i = 0; i < sharing->n; i++)
    {
      const GememRun *run = sharing->programs[i].run;
      const GememShare share = { .seq = sharing->seq,
                                 .event = oom.seq,
                                 .failed = (guint32) (failed - sharing->programs),
                                 .program = i,
                                 .live = run->accounts.live,
                                 .allocated = run->accounts.allocated,
                                 .reserved = run->device->held };
      g_array_append_val (sharing->result->shares, share);
    }
  oom.seq = sharing->seq;
  oom.origin = oom.blocking_origin = (GememOrigin){ 0 }; /* their texts belong to the program */
  g_array_append_val (sharing->result->oom, oom);
}

static void
note_host (Sharing *sharing)
{
  guint64 host = 0;

  for (guint i = 0; i < sharing->n; i++)
    host += sharing->programs[i].run->host_backup;
  sharing->result->peak_host_backup = MAX (sharing->result->peak_host_backup, host);
  sharing->result->end_host_backup = host;
}

/* The peaks of all together while a block was held that was freed at once (refused.c). */
static void
hold (Sharing *sharing, GememRun *run, guint64 live, guint64 allocated)
{
  GememAccounts *sum = &sharing->accounts;
  const guint64 before[] = { sum->live, sum->allocated };

  if (run->refused.demand == 0)
    return;
  sum->peak_demand = MAX (sum->peak_demand,
                          sum->demand + gemem_accounts_round (sum, run->refused.demand));
  if (run->refused.live > live)
    {
      sum->live += run->refused.live - live;
      sum->allocated += run->refused.allocated - allocated;
      if (gemem_accounts_at_peak (sum))
        raise_peaks (sharing);
      leave_live_peak (sharing);
      sum->live = before[0];
      sum->allocated = before[1];
    }
  run->refused.demand = run->refused.live = 0;
}

static gboolean
serve (Sharing *sharing, Program *program, GError **error)
{
  GememAccounts *sum = &sharing->accounts;
  GememRun *run = program->run;
  const GememTraceEvent *event = &program->reading.events[program->next++];
  const GememAccounts *own = &run->accounts;
  const guint64 live = own->live, allocated = own->allocated, demand = own->demand,
                others = sum->reserved - run->device->held, ooms = run->result->ooms;

  if (event->kind != GEMEM_EVENT_ALLOC)
    leave_live_peak (sharing);
  if (sharing->order == GEMEM_SHARE_TIME && event->time > sharing->time)
    {
      gemem_accounts_weigh (sum, event->time - sharing->time);
      sharing->time = event->time;
    }
  if (!gemem_run_events (run, event, 1, error))
    return FALSE;
  program->done++;
  if (gemem_event_kind_sleeps (event->kind))
    note_host (sharing);
  hold (sharing, run, live, allocated);
  sum->live += own->live - live;
  sum->allocated += own->allocated - allocated;
  sum->demand += own->demand - demand;
  sum->peak_demand = MAX (sum->peak_demand, sum->demand);
  if (run->result->ooms > ooms)
    {
      sharing->result->ooms += run->result->ooms - ooms;
      note_failure (sharing, program);
    }
  gemem_accounts_sample (sum, others + run->device->held, others + own->high);
  if (gemem_accounts_at_peak (sum))
    raise_peaks (sharing);
  if (sharing->order != GEMEM_SHARE_TIME)
    gemem_accounts_weigh (sum, 1);
  sample (sharing, program);
  sharing->seq++;
  sharing->stop = sharing->stop || run->stop;
  return find_next (program, error);
}

/* ---- beginning */

/* The number of events of the device that is replayed. */
static gboolean
count_events (Program *program, GError **error)
{
  GememTraceReader *reader = program->job.source (program->job.source_data, error);
  const GememTraceEvent *events;
  gssize n = -1;

  while (reader != NULL && (n = gemem_trace_next (reader, &events, error)) > 0)
    for (gssize i = 0; i < n; i++)
      program->events += events[i].device == program->run->ordinal;
  g_clear_pointer (&reader, gemem_trace_close);
  if (n < 0 && program->job.allow_partial)
    g_clear_error (error);
  return n >= 0 || program->job.allow_partial;
}

static gboolean
choose_order (Sharing *sharing, GError **error)
{
  const Program *timeless = NULL;

  for (guint i = 0; i < sharing->n && timeless == NULL; i++)
    if (!sharing->programs[i].run->has_time)
      timeless = &sharing->programs[i];
  sharing->order = sharing->job->share_order;
  if (sharing->order == GEMEM_SHARE_DEFAULT)
    sharing->order = timeless == NULL ? GEMEM_SHARE_TIME : GEMEM_SHARE_EVENLY;
  if (sharing->order == GEMEM_SHARE_TIME && timeless != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--share-order=time: %s has no times; use evenly or turns", timeless->run->name);
      return FALSE;
    }
  for (guint i = 0; i < sharing->n && sharing->order == GEMEM_SHARE_EVENLY; i++)
    if (!count_events (&sharing->programs[i], error))
      return FALSE;
  return TRUE;
}

/* The job of program @i alone. */
static GememJob
job_of (const GememJob *job, guint i)
{
  GememJob own = *job;

  own.others = NULL;
  own.n_others = 0;
  own.timeline_points = 0; /* Program.timeline has the points of the sum */
  if (i > 0)
    {
      const GememSharer *other = &job->others[i - 1];
      own.allocator = other->allocator;
      own.device_ordinal = other->device_ordinal;
      own.source = other->source;
      own.source_data = other->source_data;
      own.graph = other->graph;
    }
  return own;
}

/* Opens every program, one after the other: what an allocator takes when it is created counts. */
static gboolean
open_all (Sharing *sharing, guint64 capacity, GError **error)
{
  GememAccounts *accounts = &sharing->accounts;

  for (guint i = 0; i < sharing->n; i++)
    {
      Program *program = &sharing->programs[i];
      GememDevice *beside = i > 0 ? sharing->programs[i - 1].run->device : NULL;
      program->job = job_of (sharing->job, i);
      program->run = gemem_run_start (&program->job, capacity, beside, &program->reading, error);
      if (program->run == NULL)
        return FALSE;
      gemem_accounts_sample (accounts, accounts->reserved + program->run->device->held,
                             accounts->reserved + program->run->accounts.high);
      raise_peaks (sharing);
      gemem_timeline_init (&program->timeline, program->run->result->timeline,
                           sharing->job->timeline_points);
    }
  if (!choose_order (sharing, error))
    return FALSE;
  for (guint i = 0; i < sharing->n; i++)
    if (!find_next (&sharing->programs[i], error))
      return FALSE;
  return TRUE;
}

/* ---- the result of all */

static void
append_name (char **names, const char *name)
{
  char *joined = *names != NULL ? g_strconcat (*names, " + ", name, NULL) : g_strdup (name);

  g_free (*names);
  *names = joined;
}

static void
add_counts (GememResult *sum, const GememResult *one)
{
  sum->events += one->events;
  sum->initial_events += one->initial_events;
  sum->initial_blocks += one->initial_blocks;
  sum->allocs += one->allocs;
  sum->frees += one->frees;
  sum->trims += one->trims;
  sum->failed_allocs += one->failed_allocs;
  sum->skipped_frees += one->skipped_frees;
  sum->zero_allocs += one->zero_allocs;
  sum->graph_loads += one->graph_loads;
  sum->inconsistent += one->inconsistent;
  sum->sleeps += one->sleeps;
  sum->sleeping_allocs += one->sleeping_allocs;
  sum->unslept += one->unslept;
  sum->recorded_ooms += one->recorded_ooms;
  sum->recorded_ooms_served += one->recorded_ooms_served;
  sum->after_recorded_oom += one->after_recorded_oom;
  sum->end_live += one->end_live;
  sum->end_allocated += one->end_allocated;
  sum->end_reserved += one->end_reserved;
  sum->leaked_blocks += one->leaked_blocks;
  sum->ooms_avoidable += one->ooms_avoidable;
  sum->retries += one->retries;
  sum->modelled_total_ns += one->modelled_total_ns;
  sum->measured_total_ns += one->measured_total_ns;
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      sum->calls[call] += one->calls[call];
      sum->refused[call] += one->refused[call];
      sum->call_ns[call] += one->call_ns[call];
    }
  gemem_histogram_merge (&sum->alloc_ns, &one->alloc_ns);
  gemem_histogram_merge (&sum->free_ns, &one->free_ns);
  gemem_histogram_merge (&sum->measured_alloc_ns, &one->measured_alloc_ns);
  gemem_histogram_merge (&sum->measured_free_ns, &one->measured_free_ns);
}

static void
add_result (GememResult *sum, const GememResult *one)
{
  add_counts (sum, one);
  append_name (&sum->trace, one->trace);
  append_name (&sum->allocator, one->allocator);
  append_name (&sum->label, one->label);
  sum->partial = sum->partial || one->partial;
  if (sum->failure == NULL && one->failure != NULL)
    sum->failure = g_strdup_printf ("%s: %s", one->trace, one->failure);
  if (sum->not_allowed == NULL && one->not_allowed != NULL)
    sum->not_allowed = g_strdup_printf ("%s: %s", one->trace, one->not_allowed);
}

/* The device is that of the first program: they are equal but for addresses. */
static void
describe (Sharing *sharing)
{
  static const char *const orders[] = {
    [GEMEM_SHARE_TIME] = "time", [GEMEM_SHARE_EVENLY] = "evenly", [GEMEM_SHARE_TURNS] = "turns"
  };
  const GememResult *first = sharing->programs[0].run->result;
  GememResult *result = sharing->result;

  result->share_order = orders[sharing->order];
  result->device = g_strdup (first->device);
  result->device_ordinal = first->device_ordinal;
  result->capacity = first->capacity;
  result->cost_numbers = first->cost_numbers;
  result->cost_guesses = first->cost_guesses;
  gemem_settings_append (result->device_settings, first->device_settings);
}

static gboolean
conclude (Sharing *sharing, GError **error)
{
  GememAccounts *accounts = &sharing->accounts;
  GememResult *result = sharing->result;
  GememEpoch epoch = { 0 };

  leave_live_peak (sharing);
  close_points (sharing, TRUE);
  for (guint i = 0; i < sharing->n; i++)
    if (!gemem_run_conclude (sharing->programs[i].run, &sharing->programs[i].reading, error))
      return FALSE;
  describe (sharing);
  gemem_accounts_finish (accounts, sharing->order == GEMEM_SHARE_TIME, result);
  epoch = (GememEpoch){ .peak_live = result->peak_live,
                        .peak_allocated = result->peak_allocated,
                        .peak_reserved = result->peak_reserved,
                        .end_reserved = accounts->reserved,
                        .end_largest_free = largest_free (sharing),
                        .ooms = result->ooms };
  g_array_append_val (result->epochs, epoch);
  return TRUE;
}

/* Ends every program, the last one first; the results of all, or NULL. */
static GememResult *
close_all (Sharing *sharing, gboolean ok, GError **error)
{
  GememResult *result = sharing->result;

  result->programs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  for (guint i = sharing->n; i-- > 0;)
    {
      Program *program = &sharing->programs[i];
      GememResult *one = program->run != NULL ? gemem_run_stop (program->run, &program->reading, ok,
                                                                ok ? error : NULL)
                                              : NULL;
      ok = ok && one != NULL;
      if (one != NULL)
        g_ptr_array_insert (result->programs, 0, one);
    }
  for (guint i = 0; ok && i < sharing->n; i++)
    add_result (result, result->programs->pdata[i]);
  gemem_accounts_clear (&sharing->accounts);
  if (!ok)
    g_clear_pointer (&result, gemem_result_free);
  return result;
}

static void
begin_result (GememResult *result)
{
  GememHistogram *const latencies[] = { &result->alloc_ns, &result->free_ns,
                                        &result->measured_alloc_ns, &result->measured_free_ns };

  for (gsize i = 0; i < G_N_ELEMENTS (latencies); i++)
    gemem_histogram_init (latencies[i]);
  result->device_settings = gemem_settings_new ();
}

GememResult *
gemem_share_pass (const GememJob *job, guint64 capacity, GError **error)
{
  Sharing sharing = { .job = job, .n = job->n_others + 1 };
  g_autofree Program *programs = g_new0 (Program, sharing.n);
  gboolean ok;

  if (!check_job (job, error))
    return NULL;
  sharing.programs = programs;
  sharing.oom_max = job->oom_max > 0 ? job->oom_max : GEMEM_RUN_OOM_MAX;
  sharing.result = gemem_result_new ();
  begin_result (sharing.result);
  gemem_accounts_init (&sharing.accounts, 1);
  gemem_timeline_init (&sharing.timeline, sharing.result->timeline, job->timeline_points);
  ok = open_all (&sharing, capacity, error);
  for (Program *next; ok && !sharing.stop && (next = choose (&sharing)) != NULL;)
    ok = serve (&sharing, next, error);
  ok = ok && conclude (&sharing, error);
  return close_all (&sharing, ok, error);
}
