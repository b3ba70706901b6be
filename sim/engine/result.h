/* result.h - all findings of one replay, in one object; the only input of the reports.
 *
 * Measures are defined once, here and in the manual.  All fields are integers; the ratios are
 * computed from them by the functions below.  Modelled and measured latencies are separate fields
 * and never mixed.  A result is a pure function of (trace, allocator, parameters, device, options),
 * except for the fields under "measured".
 *
 * `seq` is always the number of an event in the reader's stream, from 0, including initial events
 * and events of other devices; with --repeat the count continues across epochs.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/histogram.h"
#include "base/macros.h"
#include "sim/engine/history.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* How the label of the row of `compare --optimal` begins. */
#define GEMEM_OPTIMAL_ROW "plan:planner=\"optimal"

/* One point of the timeline: the extremes of the events it stands for, so that no peak is lost. */
typedef struct
{
  guint64 seq;                                   /* of the last event in the point */
  guint64 time;                                  /* ns, trace time */
  guint64 live, allocated, reserved;             /* at the last event */
  guint64 live_max, allocated_max, reserved_max; /* largest within the point */
  guint64 largest_free; /* sampled at the last event; G_MAXUINT64: not sampled */
} GememTimelinePoint;

/* Who allocated a block, as far as the trace says. */
typedef struct
{
  gboolean known;   /* FALSE: nothing was asked for or found, and all other fields are 0 */
  gboolean initial; /* the block is from before the recording */
  guint64 seq;      /* of the event that allocated it */
  const char *by; /* "train.py:212 forward (mm) [activation]", owned by the result; NULL: unknown */
} GememOrigin;

/* One failed request. */
typedef struct
{
  guint64 seq, id, requested, stream;
  guint64 live, allocated, reserved;
  guint64 capacity; /* held + free: bytes this program could have */
  guint64 device_free;
  guint64 largest_free; /* within the allocator's cache */
  gboolean avoidable;   /* live + request <= capacity: some layout could have served it */
  /* not avoidable: bytes by which live + request exceeds the capacity; 0: gemem_oom_is_unbegun() */
  guint64 missing;
  /* avoidable: the smallest live block whose release would suffice; 0: none found */
  guint64 blocking_id;
  guint64 blocking_size;
  GememOrigin origin;          /* of the request */
  GememOrigin blocking_origin; /* of that block */
  /* avoidable: blocks that are freed, but that streams may still use, would suffice */
  gboolean waiting;
  gboolean wake; /* waking so much memory failed (WAKE), no request of a block */
} GememOom;

/* Why memory is held and not in use. */
typedef enum
{
  GEMEM_IDLE_STREAMS,    /* free, in the caches of other streams than the request's */
  GEMEM_IDLE_POOLS,      /* free, in other pools than the request's, or whole segments in its own
                             * private one */
  GEMEM_IDLE_RETURNABLE, /* free segments: emptying the cache would return them */
  GEMEM_IDLE_OVERSIZE,   /* blocks that a limit on splitting keeps whole */
  GEMEM_IDLE_PINNED,     /* the free rest of segments in which blocks are in use */
  GEMEM_IDLE_WAITING,    /* freed, but streams may still use it */
  GEMEM_IDLE_ROUNDING,   /* blocks are larger than what was requested */
  GEMEM_IDLE_ALLOCATOR,  /* everything else */
  GEMEM_IDLE_CAUSES
} GememIdleCause;

/* A block or gap at the moment of the reserved peak (segment map). */
typedef struct
{
  GememSpan span;
  guint64 requested; /* LIVE: bytes requested */
  guint64 id;        /* LIVE: of the block */
  GememOrigin origin;
  GememIdleCause cause; /* FREE, PENDING: why; GEMEM_IDLE_CAUSES: in use, or not known */
} GememMapSpan;

/* Idle memory of one cause: in @count streams, pools, segments or blocks, of which the rest of the row
 * describes the largest one. */
typedef struct
{
  GememIdleCause cause;
  guint32 pool;            /* POOLS; 0: the default pool */
  guint64 bytes, count;    /* of all; count 0: not known */
  guint64 largest;         /* bytes of the largest one */
  guint64 stream;          /* STREAMS */
  gboolean used, released; /* POOLS: the program allocates there; has released it */
  /* PINNED, one segment: blocks in use there, and the largest of them; 0: not known */
  guint64 blocks, id, size;
  GememOrigin origin;
} GememIdleRow;

/* Free memory of segments that blocks in use keep, by the place that allocated those that are freed last
 * there: until then nothing of a segment goes back. */
typedef struct
{
  GememOrigin origin; /* of the largest of these; `by` NULL: the place is not known */
  guint64 bytes;      /* free */
  guint64 segments;   /* of so many */
  guint64 blocks,
      size; /* that the place has in them and that are freed last, and requested bytes of them */
  guint64 others; /* blocks of other places there that are never freed, as these */
  guint64 id;     /* of the largest of the blocks; 0: not known */
  gboolean rest;  /* of several places, each of which keeps less than those that are named */
} GememPin;

#define GEMEM_PINS 10 /* places in a list, at most, and one for all others */

/* A block in a list of the largest. */
typedef struct
{
  guint64 id, size; /* size: bytes requested */
  GememOrigin origin;
} GememNamedBlock;

#define GEMEM_NAMED_BLOCKS 10 /* blocks in a list, at most */

typedef struct
{
  guint64 stream; /* G_MAXUINT64: all streams beyond the first GEMEM_STREAMS_MAX together */
  guint64 peak_live, peak_allocated, allocs;
} GememStreamUse;

#define GEMEM_STREAMS_MAX 1024

typedef struct
{
  guint64 limit; /* requests of at most this many bytes (power of two) */
  guint64 allocs;
  guint64 internal_waste_at_peak; /* block - requested of live blocks at the allocated peak */
  guint64 live_at_peak;
} GememSizeClassUse;

/* What one program held when a request of one of those that share the device failed. */
typedef struct
{
  guint64 seq;             /* of the failed request, in the order of the shared run */
  guint64 event;           /* of the same, in the trace of its program */
  guint32 failed, program; /* indexes in `programs`: whose request it was, and whose bytes follow */
  guint64 live, allocated, reserved;
} GememShare;

/* Comparison with the recorded decisions; all 0 unless this allocator made the recording.  A
 * decision is equal when address and, if recorded, block size are equal, or when both failed. */
typedef struct
{
  guint64 compared, equal;  /* ALLOCs with a recorded address, or recorded as failed */
  guint64 first_difference; /* seq of the first unequal one; G_MAXUINT64: none */
  guint64 expected_address, got_address;
  /* seq of the first request that was refused on one side alone, on a device that the user chose: it is
   * another machine, and what follows is not compared; G_MAXUINT64: none */
  guint64 parted;
  /* device calls, in order; a call without a partner is unequal */
  guint64 segments_compared, segments_equal;
  guint64 first_segment_difference; /* seq; G_MAXUINT64: none */
  guint64 recorded_peak; /* the most bytes that the recorded calls held at once; 0: it has none */
} GememFidelity;

/* Peaks and end state of one epoch (--repeat). */
typedef struct
{
  guint64 peak_live, peak_allocated, peak_reserved, end_reserved, end_largest_free, ooms;
} GememEpoch;

typedef struct _GememResult GememResult;
struct _GememResult
{
  /* identity */
  char *allocator, *label, *trace, *trace_sha256, *device;
  char *device_from; /* "device as recorded: ..."; NULL: as asked for, or nothing is known of it */
  char *hardware;    /* "NVIDIA H200, CUDA 13.0"; NULL: simulated */
  GPtrArray *parameters;      /* GememSetting: effective */
  GPtrArray *device_settings; /* GememSetting: effective */
  /* GememSetting: values set by environment variables, by the variables' names */
  GPtrArray *variables;
  GPtrArray *lowering; /* GememSetting: what the lowering of a graph says of it; else empty */
  int device_ordinal;
  /* the report names the device although its number is 0: the trace has others, or the user chose
   * it */
  gboolean names_device;
  gboolean device_assumed; /* nobody said how large it is */
  gboolean partial;        /* interrupted, or a damaged trace read with --allow-partial */
  char *failure;           /* NULL, or why the run could not be completed */
  gboolean stopped_above;  /* it reserved more than the job allows, and ended there */
  gboolean not_run;        /* the run did not begin: only names and `failure` are set */
  /* NULL, or the rule of the system's manual that the run broke, though the system lets it, or why
   * the real program ends: "event 3: ..." */
  char *not_allowed;
  /* NULL, or why the allocator is no more than an approximation of the real system; its label says
   * that it is one */
  char *approximation;

  /* counts */
  guint64 events;         /* of this device, of every kind, initial ones included */
  guint64 initial_events; /* part of events: the initial state of the recording */
  guint64 initial_blocks; /* part of these: blocks; in `allocs` too unless adopted as they were */
  /* bytes of the segments that the recorded allocator held then; whether they do not fit on this
   * device, so that the run starts from the blocks alone */
  guint64 initial_reserved;
  gboolean state_unfit;
  gboolean state_adopted; /* the run starts from those segments as they were */
  guint64 allocs;         /* requests that reached the allocator, failed ones included */
  guint64 frees;          /* frees that reached the allocator */
  guint64 trims, failed_allocs;
  guint64 skipped_frees; /* frees of requests that had failed */
  guint64 zero_allocs;   /* requests of 0 bytes that reached no allocator */
  guint64 graph_loads;   /* graphs whose static memory was asked for, failed ones included */
  /* memory that sleeps: times it was put to sleep; requests served from memory that sleeps, whose
   * use would fault; sleep, pause and wake events that the allocator does not know */
  guint64 sleeps, sleeping_allocs, unslept;
  guint64 peak_host_backup, end_host_backup; /* bytes copied to the host for it */
  /* requests that ran out of memory when they were recorded, each counted once; those of them that
   * were served here, so that what follows is not what this program would have done: peaks, lower
   * bound and least capacity are lower bounds; the largest of them, and its event; requests that
   * the recorded program made after the last one */
  guint64 recorded_ooms, recorded_ooms_served, recorded_oom_size, recorded_oom_seq,
      after_recorded_oom;
  guint64 inconsistent; /* --allow-partial: unknown or doubled ids, not replayed */
  /* peaks, and the seq of the first event after which they held; `reserved` includes bytes held
   * only during an event */
  guint64 peak_live, peak_live_seq, peak_allocated, peak_allocated_seq, peak_reserved,
      peak_reserved_seq;
  /* of peak_reserved, where that counts whole pages of the device and the allocator asked for less:
   * the most it asked for at once, which is what it says of itself; 0: the same */
  guint64 peak_asked;
  /* max over time of the bytes requested, each request rounded to the allocator's alignment, failed
   * ones included: a property of the trace; no smaller capacity can fit */
  guint64 lower_bound;
  /* where live memory stood at its peak: what its blocks took, what was held from the device, and
   * the largest request that the cache could have served.  Taken before the first event after the
   * peak that requests nothing, so that a refused request in between counts */
  guint64 allocated_at_live_peak, reserved_at_live_peak, largest_free_at_live_peak;
  guint64 end_live, end_allocated, end_reserved, leaked_blocks;
  /* average waste (internal: allocated - live, external: reserved - allocated), per event, or
   * time-weighted when the trace has times; rounded down */
  guint64 internal_mean, external_mean;
  gboolean time_weighted;
  /* device */
  guint64 calls[GEMEM_CALL_COUNT], refused[GEMEM_CALL_COUNT], call_ns[GEMEM_CALL_COUNT];
  guint64 retries;
  guint64 capacity;
  /* figures of the device profile behind the modelled latencies; how many of them are guesses */
  guint64 cost_numbers, cost_guesses;
  /* out of memory; at most `oom_max` kept, all counted */
  guint64 ooms, ooms_avoidable;
  GArray *oom; /* GememOom */
  /* modelled latency, ns */
  GememHistogram alloc_ns, free_ns;
  guint64 modelled_total_ns;
  /* measured (host clock); empty unless asked for */
  GememHistogram measured_alloc_ns, measured_free_ns;
  guint64 measured_total_ns;
  /* of the device's calls, by GememDeviceCall; NULL unless asked for */
  GememHistogram *measured_calls;

  GArray *timeline; /* GememTimelinePoint */
  GArray *map;      /* GememMapSpan at the first reserved peak; empty unless asked for */
  /* GememIdleRow, the most bytes first: what is held and not in use after the event of the reserved
   * peak, or another that the job names, and at the first failed request; the bytes add up to
   * reserved - live then.  Empty unless asked for, or where nothing is idle */
  GArray *idle, *idle_at_failure;
  /* at the former: reserved (after the event), live, and the stream of the event */
  guint64 idle_reserved, idle_live, idle_stream;
  gboolean idle_known; /* `idle` was taken */
  GArray *pins;        /* GememPin, the most bytes first: who keeps what `idle` calls PINNED */
  /* GememNamedBlock, largest first: blocks alive at the live peak, and never freed by the trace;
   * empty unless origins were asked for and the trace has any */
  GArray *largest, *leaked;
  GStringChunk *texts;   /* of origins */
  GememHistory *history; /* blocks and segments as rectangles; NULL unless asked for */
  GArray *streams;       /* GememStreamUse */
  GArray *classes;       /* GememSizeClassUse */
  GArray *epochs;        /* GememEpoch; one unless --repeat */
  /* GememSetting: the allocator's own statistics at the end, values as plain numbers */
  GPtrArray *stats;
  char *report; /* the allocator's own report at the end; NULL: not asked for, or it has none */
  GememFidelity fidelity;
  /* A device shared by several programs: GememResult of each, in the order given, with timelines of
   * the same points as this one; NULL: an ordinary run.  This result is then that of all together:
   * peaks are those of the sum, `seq` counts the events of all, latencies and calls are added. */
  GPtrArray *programs;
  GArray *shares; /* GememShare: one for each program for each of `oom`; empty in an ordinary run */
  const char *share_order; /* "time", "evenly" or "turns"; NULL: an ordinary run */
  /* whether the allocator and its settings are those that made the recording; bytes that such a run of
   * the same trace and device reserved, if it served everything; 0: there is none beside this one */
  gboolean as_now;
  guint64 peak_now;
  /* bytes that the best placement of the same trace reserves (--optimal), on the same device; 0: there is
   * none beside this one */
  guint64 least_placement;
  guint64 least_capacity; /* --find-capacity; 0: not asked for; G_MAXUINT64: none found */
  /* --histories: in how many other histories it was replayed, in how many of them a request failed, and
   * peak reserved of the others (with --find-capacity their least capacity); a sentence about them */
  guint64 histories_runs, histories_failed, histories_least, histories_most;
  guint histories_left_out;   /* in how many it was not, as that was interrupted */
  char *histories;            /* NULL: not asked for */
  gboolean capacity_monotone; /* every probed capacity above the answer also fitted */
  guint more_references;      /* than one */
  guint64 least_above;   /* more than these bytes are needed: GememJob.fits_first; 0: not known */
  guint capacity_passes; /* that were made to find these out */
};

/* All fields 0; gemem_result_free(). */
GememResult *gemem_result_new (void);
/* Names @result in all tables, pictures and files: @label, and " (approximation)"
 * where it is one. */
void gemem_result_set_label (GememResult *result, const char *label);
void gemem_result_free (GememResult *result);
/* Another reference: each is given up by gemem_result_free().  Not for threads. */
GememResult *gemem_result_ref (GememResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememResult, gemem_result_free)

/* TRUE if the run served every request to the end of the trace and broke no rule: only then do its
 * peaks say what the workload needs. */
gboolean gemem_result_is_complete (const GememResult *result);

/* TRUE if it is complete, and no approximation: then it proves what a program needs. */
gboolean gemem_result_is_proof (const GememResult *result);

/* Calls of the device, of every kind. */
guint64 gemem_result_calls (const GememResult *result);
/* Bytes of the device that others hold all the time, as recordings of dry runs count the driver's context:
 * no part of what the program needs. */
guint64 gemem_result_others (const GememResult *result);
/* Bytes of the device that was too small for @oom, a failed request of @result. */
guint64 gemem_result_too_small (const GememResult *result, const GememOom *oom);
/* TRUE if @a tells more of its device than @b: a run that failed, then one that holds more, then one
 * with more in use. */
gboolean gemem_result_is_worse (const GememResult *a, const GememResult *b);

/* The first failed request; NULL: none is kept. */
const GememOom *gemem_result_first_oom (const GememResult *result);

/* Failed requests that the recorded program was not refused. */
guint64 gemem_result_new_ooms (const GememResult *result);

/* Waste at the live peak. */
guint64 gemem_result_internal_waste (const GememResult *result); /* allocated - live */
guint64 gemem_result_external_waste (const GememResult *result); /* reserved - allocated */

/* Whether @oom is one of those of an allocator that did not get what it takes at the beginning and
 * serves nothing; `not_allowed` of the result says why. */
gboolean gemem_oom_is_unbegun (const GememOom *oom);

/* Ratios; 0 when undefined. */
/* TRUE if the user stopped the run, or kept it from beginning; `failure` then begins with
 * "interrupted". */
gboolean gemem_result_was_interrupted (const GememResult *result);
double gemem_result_utilisation (const GememResult *result); /* peak live / peak reserved */
double gemem_result_overhead (const GememResult *result);    /* peak reserved / lower bound */
/* 1 - largest free / free, free = external waste: at the live peak, and averaged over the time
 * (the events, where the trace has no times) between the points of the timeline. */
double gemem_result_fragmentation (const GememResult *result);
double gemem_result_mean_fragmentation (const GememResult *result);

/* Whether it is the row of `compare --optimal`. */
gboolean gemem_result_is_optimal (const GememResult *result);

/* Appends @by in at most 100 characters: the middle of a longer one (a C++ function with its
 * templates) becomes "...". */
void gemem_origin_append_short (GString *out, const char *by);
/* Appends " by train.py:212 forward"; a category alone is appended as " [activation]", an unknown
 * origin (NULL) not at all; shortened as above. */
void gemem_origin_append_by (GString *out, const char *by);
/* Appends @before and "allocated at event 12 by train.py:212 forward", as far as it is known;
 * nothing if it is not. */
void gemem_origin_describe (GString *out, const char *before, const GememOrigin *origin);

GEMEM_END_DECLS
