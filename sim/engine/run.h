/* run.h - the state of one pass over a trace, shared by replay.c (start and end), events.c (the
 * event path) and the probes.  Private to the engine and to sim/live, which feeds events from a
 * running program.
 */
#pragma once

#include "base/idset.h"
#include "sim/engine/graphs.h"
#include "sim/engine/live.h"
#include "sim/engine/probe.h"
#include "sim/engine/replay.h"
#include "sim/engine/timeline.h"

/* ---- turns.c: serves the events of a run from several host threads, one event at a time */

typedef struct _GememRun GememRun;
typedef struct _GememTurns GememTurns;

/* @threads: at least 1.  They serve @run until gemem_turns_free(), which ends them. */
GememTurns *gemem_turns_new (GememRun *run, guint threads);
void gemem_turns_free (GememTurns *turns);
/* As gemem_run_events(); also GEMEM_ERROR_INPUT where the allocator refuses a call of a thread. */
gboolean gemem_turns_events (GememTurns *turns, const GememTraceEvent *events, gsize n,
                             GError **error);

/* What the event loop does before it serves the next event; bits of GememRun.attention, so that an
 * ordinary event pays for one test. */
typedef enum
{
  GEMEM_RUN_ADOPTING = 1 << 0,    /* adopt.done() has not been called yet */
  GEMEM_RUN_SLEEPING = 1 << 2,    /* memory sleeps, or did: requests are watched (sleep.c) */
  GEMEM_RUN_STARTING = 1 << 3,    /* no block was freed yet: gemem_device_compute() */
  GEMEM_RUN_AT_LIVE_PEAK = 1 << 1 /* live memory stands at its peak, whose measures are not saved */
} GememRunAttention;

#define GEMEM_RUN_OOM_MAX 100 /* failed requests kept in detail, unless the job says otherwise */

struct _GememRun
{
  /* read at every event */
  const GememAllocatorClass *klass;
  GememAllocator *allocator;
  GememDevice *device;
  GememLiveTable live;
  GememAccounts accounts;
  GememGraphs graphs;
  GememIdSet recorded; /* stream events that were recorded */
  GememTimeline timeline;
  /* No more than the peaks of the epoch and the maxima of the timeline's open point: what an event
   * must exceed to raise any of them. */
  struct
  {
    guint64 live, allocated, reserved;
  } bar;
  /* of requests and frees during which device calls took time; at the end, of all */
  GememHistogram alloc_ns, free_ns;
  GememHistogram measured_alloc_ns, measured_free_ns;
  guint64 seq;         /* number of the current event */
  guint64 time_base;   /* trace time at which this epoch began */
  guint64 last_time;   /* of the last event; trace time over all epochs */
  guint64 modelled_ns; /* device calls so far that were for neither requests nor frees */
  guint16 ordinal;     /* of the device that is replayed */
  gboolean has_time;
  gboolean middle; /* the recording may begin in the middle of the program */
  gboolean stop;   /* no further event is needed */
  guint64 (*clock) (void);
  GememProbes probes;
  GememCallTimes *times;    /* latencies of the device's calls, by the same clock; or NULL */
  gboolean hurry;           /* the device's clock does not follow the trace's */
  gboolean same_allocator;  /* the allocator is the one that made the recording */
  gboolean follows;         /* ... and its settings change with the recording's (SETTINGS) */
  gboolean ordered;         /* frees take effect in the order of their own stream (free_on()) */
  gboolean recorded_device; /* its segments lie where they were recorded */
  gboolean knows_ranges;    /* the recording says where large ranges begin (va_base) */
  /* GememBlock: completions deferred by a limit of the recorded device; NULL: no limit */
  GArray *held_back;
  gboolean unbegun; /* the allocator did not get what it takes when it is made: nothing is served */
  gboolean real;    /* the device can fail */
  gboolean verify;  /* check while it runs (checks.c) */
  gboolean check_end; /* check that the allocator returned everything */
  GememTurns *turns;  /* serve the events; NULL: the thread of the run does */

  /* start and end of the run */
  const GememJob *job;
  GememResult *result;
  GememDevice *beside;        /* its device shares the memory of this one; NULL: of none */
  char *name;                 /* of the trace, for messages */
  guint32 trace_flags;        /* GememTraceInfo.flags */
  const GememTraceInfo *info; /* of the reader that is open; NULL: none */
  gboolean has_origins;       /* of these, the job wants origins, and the trace has some */
  gboolean compared;          /* with the recording's decisions (fidelity.c), from some event on */
  GememProbe *origins;        /* the probe that knows them (origins.c), or NULL */
  gboolean adopt;             /* initial segments and blocks are taken over as recorded */
  gboolean adopted;           /* a segment was taken over */
  gboolean alike;   /* the recorded allocator with its settings, as far as they are known */
  gboolean repeats; /* ... so that the run starts from the recorded state */
  gboolean afresh;  /* the recorded state does not fit: only from what it held alive */
  gboolean unfit;   /* that is found now: the run is to be made afresh */
  gboolean shares;  /* the device with other programs */
  guint64 made[GEMEM_CALL_COUNT]; /* device calls of the allocator while it was made */
  guint attention;                /* GememRunAttention: what is to be done before the next event */
  guint64 peak_stream;            /* of the event that raised the live peak */
  guint epoch;
  guint64 epoch_ooms;
  /* The latest request that the recorded program was refused (refused.c). */
  struct
  {
    guint64 size, stream;
    guint32 pool;
    gboolean failed; /* here too */
    guint64 held;    /* by the recorded program then; 0: not known */
    guint64 free; /* of the recorded device, while it is made as that device refused it; else 0 */
    guint64 reached, allocs; /* requests and frees; requests, until then */
    /* while it was made: bytes of the request, and of all blocks with it if it was served */
    guint64 demand, live, allocated;
  } refused;
  guint64 host_backup; /* bytes on the host now of memory that sleeps (sleep.c) */
  guint64 own_copies;  /* of these: what the program copied itself */
  guint64 map_seq;     /* take the map after this event, then stop; G_MAXUINT64: never */
  guint oom_max;
};

/* Replays events[0..n); stops early when run->stop is set.  GEMEM_ERROR_INPUT,
 * GEMEM_ERROR_INVARIANT, GEMEM_ERROR_FAILED. */
gboolean gemem_run_events (GememRun *run, const GememTraceEvent *events, gsize n, GError **error);

/* Reports a wrong event: GEMEM_ERROR_INPUT with its number and, where known, origin; under
 * --allow-partial TRUE, and the
 * event is skipped. */
gboolean gemem_run_bad_event (GememRun *run, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* The same for the free of an id that is not alive. */
gboolean gemem_run_bad_free (GememRun *run, const GememTraceEvent *event, GError **error);
/* The free of @live, removed from the table: its request failed, or it was freed already. */
gboolean gemem_run_unusual_free (GememRun *run, const GememTraceEvent *event, GememLive *live,
                                 GError **error);
/* The free of an id whose request failed or did not reach the allocator. */
void gemem_run_skip_free (GememRun *run, const GememLive *live);
/* Counts and audits a refused request. */
void gemem_run_out_of_memory (GememRun *run, const GememTraceEvent *event,
                              const GememRequest *request);
/* Counts the failure @oom, and keeps it while there is space for details. */
void gemem_run_keep_oom (GememRun *run, const GememOom *oom);
/* Ends the limit of a DEVICE_LIMIT event, if there is one. */
void gemem_run_lift_limit (GememRun *run);
/* GRAPH_LOAD, GRAPH_SEGMENT, GRAPH_RUN, GRAPH_RUN_END, GRAPH_UNLOAD (graphs.c). */
gboolean gemem_run_graph (GememRun *run, const GememTraceEvent *event, GError **error);
/* If segments of a load are missing: drops the load and returns what gemem_run_bad_event returns;
 * else TRUE. */
gboolean gemem_run_no_load_is_open (GememRun *run, GError **error);
/* If the allocator refused its latest call because it breaks a rule (GememAllocator.refusal):
 * returns what gemem_run_bad_event returns; else TRUE. */
gboolean gemem_run_take_refusal (GememRun *run, GError **error);
/* Marks the run if the allocator did (gemem_allocator_break_rule()): with the current event. */
void gemem_run_take_mark (GememRun *run);
/* gemem_run_take_refusal() after gemem_run_events() of one event, of which it is then: of frees,
 * which have no answer. */
gboolean gemem_run_take_late_refusal (GememRun *run, GError **error);
/* Checks that the device has not failed.  GEMEM_ERROR_FAILED with trace and event replaces an
 * @error already set. */
gboolean gemem_run_check_device (const GememRun *run, GError **error);
/* REGION_BEGIN, REGION_END, SLEEP, PAUSE, WAKE (sleep.c). */
gboolean gemem_run_sleep (GememRun *run, const GememTraceEvent *event, GError **error);
/* ALLOC while memory sleeps: the block may be of it. */
gboolean gemem_run_alloc_asleep (GememRun *run, const GememTraceEvent *event, GError **error);
/* OOM (refused.c). */
gboolean gemem_run_refused (GememRun *run, const GememTraceEvent *event, GError **error);
/* Counts a request of @size bytes that the recorded program was refused, and whether it was @served
 * here. */
void gemem_run_count_refused (GememRun *run, guint64 size, gboolean served);
/* USE_ON_STREAM, STREAM_FREE, EVENT_RECORD, EVENT_WAIT (streams.c). */
gboolean gemem_run_stream (GememRun *run, const GememTraceEvent *event, GError **error);
/* Unloads every graph without counting it as part of the workload. */
void gemem_run_unload_all (GememRun *run);
/* Frees every block that is live, in the order of the ids, without counting it as part of the
 * workload. */
void gemem_run_free_all (GememRun *run);

/* TRUE once: with events[0..n), which are next, the probe gemem_ledger_probe has something to
 * compare. */
gboolean gemem_ledger_begins (GememRun *run, const GememTraceEvent *events, gsize n);

/* Raises the peaks of the epoch, and those of the run, to the present state. */
void gemem_run_raise_peaks (GememRun *run, guint64 stream);
/* The present state exceeds `bar`: raises what it exceeds, and the bar. */
void gemem_run_raise_bar (GememRun *run, guint64 stream);
/* Starts the peaks of an epoch at the present state. */
void gemem_run_restart_peaks (GememRun *run);
/* Saves the measures taken at the live peak, if live memory still stands at it.  Called when it is
 * about to fall and not at each new peak: while live memory grows every event is one, and the
 * largest free block of some allocators takes a walk. */
void gemem_run_leave_live_peak (GememRun *run);

/* One pass over the trace with the device at @capacity (0: as the job says), ending after event
 * @map_seq and taking the map there (G_MAXUINT64: the whole trace).  NULL with @error. */
GememResult *gemem_run_pass (const GememJob *job, guint64 capacity, guint64 map_seq,
                             GError **error);

/* Where a pass in steps stands in its trace: events[0..n) are next; n is 0 at the end. */
typedef struct
{
  GememTraceReader *reader;
  const GememTraceEvent *events;
  gssize n;
} GememRunReading;

/* A pass in steps, for runs that share a device (share.c): the caller feeds the events of @reading
 * with gemem_run_events().  @job: without epochs, threads and map; @beside: the device whose memory
 * is shared, or NULL.  Creates device and allocator and reads the first batch into @reading; NULL
 * with @error. */
GememRun *gemem_run_start (const GememJob *job, guint64 capacity, GememDevice *beside,
                           GememRunReading *reading, GError **error);
/* Reads the next batch. */
gboolean gemem_run_read (GememRun *run, GememRunReading *reading, GError **error);
/* The end of the trace, or of the part that is replayed: fills the result. */
gboolean gemem_run_conclude (GememRun *run, const GememRunReading *reading, GError **error);
/* Releases everything and frees @run.  The result, if @ok and the end succeeded; else NULL. */
GememResult *gemem_run_stop (GememRun *run, GememRunReading *reading, gboolean ok, GError **error);

/* Opens a run without a reader: the caller feeds it one device's events with gemem_run_events(),
 * times from 0 on.  @job must outlive it; its source may be NULL (no plan-ahead), its epochs, map
 * and capacity search are ignored.  @name: the trace in messages; @capacity of the device, 0: as
 * @job says. */
GememRun *gemem_run_open (const GememJob *job, const char *name, guint16 ordinal, guint64 capacity,
                          GError **error);
/* The result so far; may be called once, makes no device call.  Afterwards only gemem_run_close()
 * may be called.  gemem_result_free(). */
GememResult *gemem_run_finish (GememRun *run);
/* Releases everything, including live blocks, and frees @run.  @error NULL: does not check that all
 * memory was returned. */
gboolean gemem_run_close (GememRun *run, GError **error);

/* Notes in the job's progress that @passes over the trace are expected from here on. */
void gemem_job_expect (const GememJob *job, guint passes);

#define GEMEM_CAPACITY_PASSES 48 /* of gemem_capacity_find(), more or less */
/* The pass with fits_first of @job, which is set: least_above of the result is too if not all fits. */
GememResult *gemem_capacity_try (const GememJob *job, GError **error);
/* Fills least_capacity and capacity_monotone of @result. */
gboolean gemem_capacity_find (const GememJob *job, GememResult *result, GError **error);

/* Resets counts and measures; names and settings stay. */
void gemem_result_restart (GememResult *result);
/* Adds a number to @stats (GPtrArray of GememSetting); a GememStatFunc. */
void gemem_result_add_stat (const char *name, guint64 value, const char *unit, gpointer stats);
