/* releases.h - finds out why segments were released to the device in a PyTorch snapshot.
 *
 * A run of segment_free or segment_unmap events has one of two causes.  Either the program emptied
 * the cache: an action of the program, which every allocator must replay.  Or the device refused a
 * request, and the allocator released its cache and retried: a fact about the recorded device.
 * (Garbage collection within a memory limit looks like the second cause and is replayed as such,
 * because the released bytes matter.)
 *
 * Call stacks distinguish the causes.  All events of a run by the allocator have the stack of the
 * request that follows; a run by the program has a stack with empty_cache, or at least another
 * stack.  But if only requests were recorded with stacks (context "alloc"), a segment released by
 * the program has the stack of its last use, which in a loop equals that of the next request.  A
 * refusal is then assumed only if the device never provided as many bytes as the request needed.
 * If no event has a stack, a run is attributed to the program, and counted as a guess.  But a cache that
 * was emptied holds no segment without a block in use: where one is left, the device was asked at once,
 * and garbage_collection_threshold is set, garbage was collected; and so it was in the other runs, if one
 * limit explains them together.
 * Who knows that nothing was refused says so, and nothing is assumed.
 *
 * A refusal is delivered as a limit (GEMEM_EVENT_DEVICE_LIMIT): the least capacity that the device
 * must have had, which is the bytes reserved when the request was served at last, or when it
 * failed, or when it had mapped a part of an expandable segment.  Blocks that the allocator waited
 * for before it released segments (free_completed with the stack of the request) are inside the
 * limit, so that the simulated allocator waits for them too.  Blocks found completed without
 * waiting look the same; they differ only if oversize blocks were released first, which happens
 * before waiting.
 *
 * Segments of a private pool are released only after the program has released the pool (a graph was
 * destroyed): when the cache is emptied next or, for a MemPool, at once and without emptying the
 * cache of other pools.  Before PyTorch 2.12 events do not name their pool, and a segment that is gone
 * at the end is in no list.  But an emptied cache goes pool by pool, the default one first, and
 * within a pool by size class, stream, size and address: where that order breaks, another pool begins.
 *
 * Where call stacks are missing, but the device told at a failure what it let the program have, a run whose
 * request would have taken more than that is a refusal, unless one of the segments would have served the request.
 *
 * A request that fails releases the cache first, unless it is made while the program allocates in a pool
 * (use_mem_pool(), a capture).  So a segment of the default pool that is kept at a failure tells that it was;
 * events before PyTorch 2.12 do not say so.
 *
 * The cache of pinned host memory frees by itself what is larger than it may keep, and nothing else.
 *
 * Memory: 80 bytes per run, 4 per private pool, 1 per stack, 80 per segment, 16 for each of at most 65536 that failures
 * kept.  Origin: peers.md 1a.4 to 1a.8, 2.1, and what PyTorch 2.0 to 2.15 write.
 */
#pragma once

#include "base/idset.h"
#include "base/tree.h"
#include "traces/trace.h"

typedef enum
{
  GEMEM_PYTORCH_RELEASE_PROGRAM,
  GEMEM_PYTORCH_RELEASE_GUESSED, /* as PROGRAM */
  GEMEM_PYTORCH_RELEASE_REFUSED, /* or garbage collection */
  GEMEM_PYTORCH_RELEASE_CAUSES
} GememPytorchCause;

typedef struct
{
  /* number of the first event of the run, including its completions, in the list of the device */
  guint64 event;
  guint64 bytes; /* released in the run */
  guint64 first; /* bytes of the first segment */
  guint64 least; /* bytes of the smallest */
  guint64 most;  /* of the largest */
  /* bytes that the request after the run needed from the device, and obtained unless it failed */
  guint64 asked;
  gint64 before; /* bytes reserved before the run, relative to the first event */
  /* the private pools that the program had released: start and number in `pools` below */
  guint32 pools;
  guint32 n_pools;
  guint32 completions;
  guint8 cause;       /* GememPytorchCause */
  guint whole : 1;    /* the whole cache was released, not only that of these pools */
  guint failed : 1;   /* the request after the run failed */
  guint nameless : 1; /* its stack does not name empty_cache */
  guint waits : 1;    /* completions lie between its segments */
  guint mapped : 1;   /* the request had mapped a part of what it needed */
  guint left : 1;     /* a segment without a block in use was kept, so the cache was not emptied */
  guint guessed : 1;  /* the allocator's own only if that explains all of these */
} GememPytorchRelease;

/* A segment that was released behind those of the default pool, and so was of a private pool. */
typedef struct
{
  guint64 address, size;
  guint64 since, until; /* numbers of the events that made and released it */
  guint run;
  guint32 pool; /* in the run, from 1; after finish: its number */
} GememPytorchStray;

/* A plain segment without a block in use that was kept when a request failed. */
typedef struct
{
  guint64 event; /* number of the failure */
  guint64 address;
} GememPytorchKept;

typedef struct
{
  GArray *runs;  /* GememPytorchRelease */
  GArray *pools; /* guint32 */
  guint next;    /* second pass: the next run, and its next event */
  guint step;
  guint64 counts[GEMEM_PYTORCH_RELEASE_CAUSES];
  guint64 failed;     /* failed requests */
  guint64 nameless;   /* runs of the program without empty_cache */
  guint64 added;      /* events to add to the recorded ones */
  gboolean limited;   /* second pass: a limit is in effect */
  GArray *kept;       /* GememPytorchKept: in the order of their events */
  guint next_kept;    /* second pass: the next of them */
  guint32 fresh_pool; /* after finish: a number that no pool has; 0: events name their pool */

  /* private: first pass */
  GememTree segments; /* Segment: made by the events so far, plain, of no pool that is named */
  GememSlab slab;     /* of them */
  /* gint64: bytes reserved when a segment was obtained without a release before */
  GArray *misses;
  GByteArray *requests;     /* per stack: 1 if a request has it */
  GememIdSet known;         /* pools in `pools` */
  GArray *strays;           /* GememPytorchStray, in the order of their release */
  GememTraceEvent previous; /* in the open run: the release before */
  guint32 breaks;           /* in the open run: of the order */
  guint64 last_address;
  guint8 last_kind;
  guint64 events, completions;
  gint64 reserved, peak;  /* bytes, relative to the start */
  guint32 stack;          /* of the open run, or of the completions before the next event */
  gboolean maps;          /* the last event was a map, but for completions */
  gboolean open, uniform; /* uniform: all events of the run have that stack */
  gboolean stacks, own;   /* requests have stacks; frees have stacks of their own */
} GememPytorchReleases;

void gemem_pytorch_releases_init (GememPytorchReleases *releases);
void gemem_pytorch_releases_clear (GememPytorchReleases *releases);

/* First pass: takes the next event.  @stack: number of its stack (0: none); @empties: the stack
 * contains empty_cache; @seen: for a requested free, whether the allocation of its block was seen
 * (ignored once `own` is set); @made: 1 + number of the event that made the segment which is freed, 0: none did.  O(log segments). */
void gemem_pytorch_releases_event (GememPytorchReleases *releases, const GememTraceEvent *event,
                                   guint32 stack, gboolean empties, gboolean seen, guint64 made);
/* What is known of the recorded allocator. */
typedef struct
{
  guint64 max_split_size;      /* G_MAXUINT64: none */
  guint64 capacity;            /* bytes that the device let the program have; 0: not known */
  double collection_threshold; /* 0: none */
  guint64 initial;             /* bytes reserved before the first event */
  gboolean never_refused;      /* no request was refused, and no garbage collected */
  guint64 max_cached;          /* larger segments are never kept; G_MAXUINT64: none */
  gboolean private_pools;      /* there are some, whose segments an emptied cache may keep */
  guint32 free_pool;           /* the first number that no pool has; 0: events name their pool */
} GememPytorchReleaseFacts;

/* After the last event. */
void gemem_pytorch_releases_finish (GememPytorchReleases *releases,
                                    const GememPytorchReleaseFacts *facts);

/* Infers the memory limit (a part of the device, set by the program) that explains the garbage
 * collections, which start above @threshold of the limit; @initial bytes were reserved before the
 * first event.  0: nothing was collected, or no limit explains it.  O(runs + segments). */
guint64 gemem_pytorch_releases_infer_limit (const GememPytorchReleases *releases, double threshold,
                                            guint64 initial);

/* Second pass: the next segment that was kept when request @number failed, in @address; FALSE: no further
 * one.  O(1). */
gboolean gemem_pytorch_releases_kept (GememPytorchReleases *releases, guint64 number,
                                      guint64 *address);

/* Second pass, for each event in order: fills @added, except device and time, and returns TRUE if
 * there is an event to add.  O(1).  before: the next event to add before event @number
 * (POOL_RELEASE, TRIM, DEVICE_LIMIT), while the recorded allocator has @reserved bytes reserved.
 * behind: the end of a limit, after the event. */
gboolean gemem_pytorch_releases_before (GememPytorchReleases *releases, guint64 number,
                                        const GememTraceEvent *event, guint64 reserved,
                                        GememTraceEvent *added);
gboolean gemem_pytorch_releases_behind (GememPytorchReleases *releases,
                                        const GememTraceEvent *event, GememTraceEvent *added);
