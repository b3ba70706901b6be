/* replay.h - the engine: drives one trace through one allocator on one device and returns a result.
 *
 * Why a job object: compare, find-capacity, the tests and the bench all run the same loop.  A job
 * is self-contained (it opens its own reader and device), so jobs run in parallel, one thread each,
 * and results are indexed by job: the output does not depend on the number of threads.  Parallel
 * between runs, never inside one.
 *
 * Invariants: memory is bounded by what is live plus `timeline_points`; integers only; the reader's
 * events are seen once per epoch; accounting closes at every sample (live + internal + external ==
 * reserved).
 */
#pragma once

#include "allocators/allocator.h"
#include "base/macros.h"
#include "graphs/graph.h"
#include "sim/engine/result.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* Opens the trace afresh; called once per epoch, once more for the map, and some 50 times for the
 * least capacity; from any thread. */
typedef GememTraceReader *(*GememTraceSource) (gpointer data, GError **error);

/* When events happen. */
typedef enum
{
  GEMEM_PACE_DEFAULT, /* on the simulated device as recorded, on a real one as soon as possible */
  /* one after the other: the clock of a simulated device moves by what calls cost, alone */
  GEMEM_PACE_ASAP,
  /* not before their time: the clock of a simulated device moves on, the host of a real one
   * waits */
  GEMEM_PACE_RECORDED,
} GememPaceMode;

/* What is to be run.  `allocator` and `source` are required, `device_ordinal` is mostly -1; all else
 * may be 0.  Everything stays the caller's, and must live until the run has ended. */
typedef struct
{
  const GememAllocatorSpec *allocator;
  const char *device_spec; /* "sim:capacity=80GiB"; NULL: "sim" */
  int device_ordinal;      /* which device of the trace; -1: the first one that occurs */
  GememTraceSource source;
  gpointer source_data;
  const GememGraph *graph; /* from which the source lowers its trace; NULL: none */
  /* settings recorded in the trace are the default parameters (if made by this allocator) */
  gboolean use_trace_settings;
  /* events that cannot be are left out and counted, a reader that fails ends the run as partial */
  gboolean allow_partial;
  /* epochs; 0 = 1. The allocator lives on, the trace starts again; live blocks are freed between */
  guint repeat;
  /* epochs before these, of which nothing is counted or measured (but failed requests end them, and
   * fidelity is that of the very first) */
  guint warm_up;
  GememPaceMode pace;
  gboolean occupy;       /* streams get work that lasts as long as in the recording: pace.h */
  gboolean stop_at_oom;  /* the first failed request ends the replay */
  guint timeline_points; /* at most; 0: no timeline */
  gboolean keep_map;     /* fill result.map; costs a second pass up to the peak */
  gboolean keep_report;  /* fill result.report */
  gboolean many_threads; /* whoever feeds the run calls from many threads, one at a time */
  gboolean measure;      /* take host-clock latencies with `clock` */
  /* ns, monotonic; needed when measure, and for GEMEM_PACE_RECORDED on real devices */
  guint64 (*clock) (void);
  /* returns when `clock` has come there, or when interrupted; for GEMEM_PACE_RECORDED, too */
  void (*wait) (guint64 until);
  const char *events_path; /* --events FILE, or NULL */
  const char *calls_path;  /* --calls FILE, or NULL */
  gboolean full_checks;    /* walk and check after every event */
  /* memory goes back to the device only after the streams that use it are synchronised:
   * release-order.h */
  gboolean release_order;
  gboolean touch;         /* blocks are filled and verified on the device: touch.c */
  gboolean find_capacity; /* fill result.least_capacity */
  /* is told of every device call from before the allocator is made until it goes; or NULL */
  GememDeviceObserver *watch;
  const gint *interrupted; /* atomic; non-zero stops the run, result marked partial */
  guint oom_max;           /* failed requests kept in detail; 0 = 100 */
} GememJob;

#define GEMEM_TIMELINE_POINTS_DEFAULT 2000

/* Runs @job.  NULL with @error only when nothing could be run at all (bad settings, unreadable
 * trace, a full disk under events_path or calls_path). */
GememResult *gemem_job_run (const GememJob *job, GError **error);

/* Runs @n jobs on at most @threads threads (0: one per processor).  @results and @errors have @n
 * elements, errors[i] is NULL: for each job either its result is set, for gemem_result_free(), or
 * its error, for g_error_free(). */
void gemem_jobs_run (const GememJob *jobs, guint n, guint threads, GememResult **results,
                     GError **errors);

/* The devices that occur in a trace, ascending; GArray of guint16. */
GArray *gemem_trace_devices (GememTraceSource source, gpointer data, GError **error);

GEMEM_END_DECLS
