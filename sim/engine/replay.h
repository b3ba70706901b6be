/* replay.h - the engine: drives one trace through one allocator on one device and returns a result.
 *
 * Why a job object: compare, find-capacity, the tests and the bench run the same loop.  A job is
 * self-contained (it opens its own reader and device), so jobs run in parallel, one thread each,
 * and results are indexed by job: the output does not depend on the number of threads.  A single
 * run is never parallel, though several threads may serve it in turn.
 *
 * Invariants: memory is bounded by what is live plus `timeline_points`; integers only; each event
 * is read once per epoch; accounting closes at every sample (live + internal + external ==
 * reserved).
 */
#pragma once

#include "allocators/allocator.h"
#include "base/macros.h"
#include "graphs/graph.h"
#include "sim/engine/history.h"
#include "sim/engine/result.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* The times at which events are replayed. */
typedef enum
{
  GEMEM_PACE_DEFAULT, /* simulated device: RECORDED; real device: ASAP */
  /* one after the other: the clock of a simulated device advances only by the cost of calls */
  GEMEM_PACE_ASAP,
  /* not before their time: a simulated device advances its clock, for a real one the host waits */
  GEMEM_PACE_RECORDED,
} GememPaceMode;

/* How far a job is; the engine writes it, and other threads read it meanwhile (atomic). */
typedef struct
{
  gint openings_left; /* how often the engine expects to call `source` from here on */
  gint ended;
} GememJobProgress;

/* The order in which the events of programs that share a device follow one another. */
typedef enum
{
  GEMEM_SHARE_DEFAULT, /* TIME if all traces have times, else EVENLY */
  GEMEM_SHARE_TIME,    /* by time, each trace beginning at 0; at equal times in the order given */
  GEMEM_SHARE_EVENLY, /* so that all traces begin and end together: by the share already replayed */
  GEMEM_SHARE_TURNS,  /* one event of each in turn; a longer trace goes on alone */
} GememShareOrder;

/* A further program on the device of a job. */
typedef struct
{
  const GememAllocatorSpec *allocator;
  int device_ordinal; /* as in GememJob, like the rest */
  GememTraceSource source;
  gpointer source_data;
  const GememGraph *graph;
} GememSharer;

/* A run.  `allocator` and `source` are required, `device_ordinal` is mostly -1; the rest may be 0.
 * The caller owns everything, and keeps it until the run has ended. */
typedef struct
{
  const GememAllocatorSpec *allocator;
  const char *device_spec; /* "sim:capacity=80GiB"; NULL: "sim" */
  /* "capacity=80GiB", what tells the device from those of other jobs, for labels; NULL: nothing */
  const char *device_difference;
  int device_ordinal; /* which device of the trace; -1: the first one that occurs */
  GememTraceSource source;
  gpointer source_data;
  const GememGraph *graph; /* from which the source lowers the trace; NULL: none */
  /* settings recorded in the trace are default parameters (if recorded by this allocator) */
  gboolean use_trace_settings;
  /* impossible events are skipped and counted; a reader that fails ends the run as partial */
  gboolean allow_partial;
  /* epochs; 0 = 1.  The allocator persists, the trace restarts; live blocks are freed between */
  guint repeat;
  /* epochs before these, neither counted nor measured (but a failed request ends the epoch, and
   * fidelity is that of the very first epoch) */
  guint warm_up;
  guint threads; /* host threads that serve the events in turn (turns.c); 0 and 1: the run's own */
  GememPaceMode pace;
  gboolean occupy;      /* streams get work that lasts as long as in the recording: pace.h */
  gboolean stop_at_oom; /* the first failed request ends the replay */
  guint64 stop_above;   /* so does reserving more bytes than this; 0: nothing is too much */
  /* other settings: where rivals_alike[i] is set, it stays so only if those of rivals.h would have decided
   * alike all that was replayed, to the end or to where it was stopped; NULL: nobody asks */
  const struct _GememRivals *rivals;
  gboolean *rivals_alike;
  guint timeline_points; /* at most; 0: no timeline */
  gboolean keep_map;     /* fill result.map; costs a second pass up to the peak */
  gboolean keep_idle;    /* fill result.idle, at the cost of the same pass, and idle_at_failure */
  gboolean keep_pins;    /* with keep_idle: fill result.pins; that pass goes on until it is known */
  /* with keep_idle: result.idle is of the state after this event instead, at which the run ends; NULL:
   * of the reserved peak */
  const guint64 *idle_event;
  /* fill the origins in result.oom and result.map, and result.largest and result.leaked, if the
   * trace has call stacks or tags */
  gboolean keep_origins;
  const GememHistoryWish *history; /* fill result.history; NULL: do not */
  gboolean keep_report;            /* fill result.report */
  gboolean measure;                /* take host-clock latencies with `clock` */
  /* ns, monotonic; needed when measure, and for GEMEM_PACE_RECORDED on real devices */
  guint64 (*clock) (void);
  /* returns when `clock` reaches the time or on interruption; also for GEMEM_PACE_RECORDED */
  void (*wait) (guint64 until);
  const char *events_path; /* --events FILE, or NULL */
  const char *calls_path;  /* --calls FILE, or NULL */
  const char *record_path; /* --record FILE, or NULL */
  gboolean full_checks;    /* walk and check after every event */
  /* check that memory returns to the device only after the streams that use it are synchronised:
   * release-order.h */
  gboolean release_order;
  gboolean touch;         /* blocks are filled and verified on the device: touch.c */
  gboolean find_capacity; /* fill result.least_capacity */
  /* with find_capacity: whether all fits in so many bytes is tried first; if not, that ends the job, which
   * says so in result.least_above, and the rivals are those of that pass; if so, none is alike.  0: it is
   * not asked */
  guint64 fits_first;
  /* with find_capacity: only capacities above these bytes are looked at, as so many are known to be too few */
  guint64 not_in;
  gboolean ignore_refusals; /* refuse no request for the reason alone that it was when recorded */
  /* a recorded state that does not fit ends the run as failed, and is not left out */
  gboolean whole_state;
  /* observes every device call from before the allocator's creation to its destruction; or NULL */
  GememDeviceObserver *observer;
  GememJobProgress *progress; /* or NULL */
  const gint *interrupted;    /* atomic; non-zero stops the run, result marked partial */
  guint oom_max;              /* failed requests kept in detail; 0 = 100 */
  /* Further programs on the same simulated device (share.c); all else that is said here holds for
   * them too.  The result is that of all together, with those of each in its `programs`. */
  const GememSharer *others;
  guint n_others;
  GememShareOrder share_order;
} GememJob;

#define GEMEM_TIMELINE_POINTS_DEFAULT 2000

/* FALSE with GEMEM_ERROR_USAGE if @spec names a GPU by number (cuda:0), and device @ordinal of
 * trace @name would go to it without having its number; @alone: the trace has no other device, and
 * then device 0, which most traces have, goes to any. */
gboolean gemem_job_check_gpu (const char *spec, int ordinal, gboolean alone, const char *name,
                              GError **error);

/* Runs @job.  NULL with @error only when nothing could be run at all (bad settings, unreadable
 * trace, a full disk under events_path or calls_path). */
GememResult *gemem_job_run (const GememJob *job, GError **error);

/* Runs @n jobs on at most @threads threads (0: one per processor).  Jobs with the same events_path
 * or calls_path share the file: its rows are in the order of the trace.  @results and @errors have
 * @n elements, errors[i] is NULL: for each job either its result is set, for gemem_result_free(),
 * or its error, for g_error_free(). */
void gemem_jobs_run (const GememJob *jobs, guint n, guint threads, GememResult **results,
                     GError **errors);

/* Who runs jobs for others, with the results and errors of gemem_jobs_run(): that on all processors where @run
 * is NULL. */
typedef struct
{
  void (*run) (gconstpointer data, const GememJob *jobs, guint n, GememResult **results,
               GError **errors);
  gconstpointer data; /* the first argument; outlives the runs */
} GememRunner;

/* Runs the @n @jobs as @runner does. */
void gemem_runner_run (const GememRunner *runner, const GememJob *jobs, guint n,
                       GememResult **results, GError **errors);

/* The devices that occur in a trace, ascending; GArray of guint16. */
GArray *gemem_trace_devices (GememTraceSource source, gpointer data, GError **error);

GEMEM_END_DECLS
