/* run.h - the state of one pass over a trace, shared by replay.c (what surrounds the events),
 * events.c (the event path) and capacity.c.  Private to the engine, and to sim/live, which feeds
 * one from a program at work.
 */
#pragma once

#include "base/idset.h"
#include "sim/engine/calls-log.h"
#include "sim/engine/events-log.h"
#include "sim/engine/fidelity.h"
#include "sim/engine/graphs.h"
#include "sim/engine/live.h"
#include "sim/engine/pace.h"
#include "sim/engine/release-order.h"
#include "sim/engine/replay.h"
#include "sim/engine/timeline.h"
#include "sim/engine/touch.h"

typedef struct
{
  /* what the event path reads each time */
  const GememAllocatorClass *klass;
  GememAllocator *allocator;
  GememDevice *device;
  GememLiveTable live;
  GememAccounts accounts;
  GememGraphs graphs;
  GememIdSet recorded; /* stream events */
  GememTimeline timeline;
  GememHistogram alloc_ns, free_ns, measured_alloc_ns, measured_free_ns;
  guint64 seq;         /* of the present event */
  guint64 time_base;   /* trace time at which this epoch began */
  guint64 last_time;   /* of the last event; trace time over all epochs */
  guint64 modelled_ns; /* all device calls and hits so far */
  guint16 ordinal;     /* of the device that is replayed */
  gboolean has_time;
  gboolean middle; /* the recording may begin in the middle */
  gboolean stop;   /* no further event is wanted */
  guint64 (*clock) (void);
  GememCallTimes *times;    /* of the device's calls, by the same clock; or NULL */
  GememRows *log;           /* of events, or NULL */
  GememLedger *ledger;      /* or NULL: nothing to compare with */
  GememReleaseOrder *order; /* or NULL: not asked for */
  GememTouch *touch;        /* or NULL: not asked for */
  GememPace pace;           /* `wait` NULL: nobody waits */
  GememWork *work;          /* or NULL: not asked for */
  gboolean hurry;           /* the device's clock does not follow the trace's */
  /* one of those from `ledger` to `work` is there: they want to know of each event beforehand */
  gboolean watched;
  gboolean verify;          /* after each event */
  gboolean same_allocator;  /* as the recording was made with */
  gboolean recorded_device; /* its segments lie where they were recorded */
  /* GememBlock: completions inside a limit of the recorded device; NULL: no limit */
  GArray *held_back;
  gboolean real; /* the device can fail */

  /* what surrounds it */
  const GememJob *job;
  GememResult *result;
  char *name;        /* of the trace, for messages */
  gboolean adopt;    /* initial events are taken over as recorded */
  gboolean adopted;  /* one was: a segment */
  gboolean adopting; /* adopt.done() is still to come */
  guint epoch;
  guint64 epoch_ooms;
  guint64 map_seq; /* take the map after this event and stop; G_MAXUINT64: never */
  guint oom_max;
  GememLedger ledger_storage;
  GememDeviceWatch ledger_watch;
  GememCallsLog calls;
} GememRun;

/* Replays events[0..n); stops early when run->stop is set.  GEMEM_ERROR_INPUT,
 * GEMEM_ERROR_INVARIANT, GEMEM_ERROR_FAILED. */
gboolean gemem_run_events (GememRun *run, const GememTraceEvent *events, gsize n, GError **error);

/* The event is wrong: GEMEM_ERROR_INPUT with its number, or TRUE, with the event left out, under
 * --allow-partial. */
gboolean gemem_run_bad_event (GememRun *run, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* A request was refused: counted, and looked into. */
void gemem_run_out_of_memory (GememRun *run, const GememTraceEvent *event,
                              const GememRequest *request);
/* Ends what a DEVICE_LIMIT began, if one did. */
void gemem_run_lift_limit (GememRun *run);
/* ALLOC and FREE, for events that come to the same. */
gboolean gemem_run_alloc (GememRun *run, const GememTraceEvent *event, GError **error);
gboolean gemem_run_free (GememRun *run, const GememTraceEvent *event, GError **error);
/* GRAPH_LOAD, GRAPH_SEGMENT, GRAPH_RUN, GRAPH_RUN_END, GRAPH_UNLOAD (graphs.c). */
gboolean gemem_run_graph (GememRun *run, const GememTraceEvent *event, GError **error);
/* What gemem_run_bad_event returns if segments of a load are still missing, which is forgotten
 * then; else TRUE. */
gboolean gemem_run_no_load_is_open (GememRun *run, GError **error);
/* What gemem_run_bad_event returns if the allocator refused its latest call for breaking a rule
 * (GememAllocator.refusal); else TRUE. */
gboolean gemem_run_take_refusal (GememRun *run, GError **error);
/* The device can go on; GEMEM_ERROR_FAILED with trace and event, in place of what @error says
 * already. */
gboolean gemem_run_check_device (const GememRun *run, GError **error);
/* USE_ON_STREAM, STREAM_FREE, EVENT_RECORD, EVENT_WAIT (streams.c). */
gboolean gemem_run_stream (GememRun *run, const GememTraceEvent *event, GError **error);
/* Unloads every graph without counting it as part of the workload. */
void gemem_run_unload_all (GememRun *run);

/* Frees every block that is live, in the order of the ids, without counting it as part of the
 * workload. */
void gemem_run_free_all (GememRun *run);

/* The order of release was kept so far; GEMEM_ERROR_INVARIANT with trace, event and allocator. */
gboolean gemem_run_check_order (const GememRun *run, GError **error);

/* Tells the probe of --touch of an event, before and after it reached the allocator, and of the end
 * of an epoch (touch-events.c). GEMEM_ERROR_INVARIANT with trace, allocator and event, or what
 * ended the device. */
void gemem_run_touch_before (GememRun *run, const GememTraceEvent *event);
gboolean gemem_run_touch_after (GememRun *run, const GememTraceEvent *event, GError **error);
gboolean gemem_run_touch_finish (GememRun *run, GError **error);

/* Raises the peaks of the epoch, and those of the run, to the present state; remembers what else is
 * asked about the peak. */
void gemem_run_raise_peaks (GememRun *run, guint64 stream);

/* Begins with pace and work as the job says, and tells them of the next event (pace-events.c). 
 * GEMEM_ERROR_USAGE, GEMEM_ERROR_NO_DEVICE. */
gboolean gemem_run_pace_begin (GememRun *run, const GememTraceInfo *info, GError **error);
void gemem_run_pace_before (GememRun *run, const GememTraceEvent *event);

/* One pass over the trace with the device at @capacity (0: as the job says), ending after event
 * @map_seq with the map taken (G_MAXUINT64: the whole trace).  NULL with @error. */
GememResult *gemem_run_pass (const GememJob *job, guint64 capacity, guint64 map_seq,
                             GError **error);

/* A run without a reader: the caller feeds it with gemem_run_events(), one device, times from 0
 * on.  @job must outlive it; its source may be NULL (no future is shown to the allocator), epochs,
 * map and capacity are not for it.  @name stands for the trace in messages; @capacity of the
 * device, 0: as the job says. */
GememRun *gemem_run_open (const GememJob *job, const char *name, guint16 ordinal, guint64 capacity,
                          GError **error);
/* What was found so far, once; calls nothing of the device, after it only gemem_run_close() may
 * come.  gemem_result_free(). */
GememResult *gemem_run_finish (GememRun *run);
/* Gives everything back, what is live included.  @error NULL: without looking whether all came
 * back. */
gboolean gemem_run_close (GememRun *run, GError **error);

/* Fills least_capacity and capacity_monotone of @result. */
gboolean gemem_capacity_find (const GememJob *job, GememResult *result, GError **error);

/* Forgets what was counted and measured, but not whose result it is. */
void gemem_result_restart (GememResult *result);
