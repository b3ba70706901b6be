/* pytorch-releases.h - why segments went back to the device in a PyTorch snapshot.
 *
 * The same events (a run of segment_free, or segment_unmap) have two causes.  The program emptied
 * the cache: an action of the program, which every allocator is to be told of.  Or the device
 * refused a request, and the allocator gave back what it had cached before it asked again: a fact
 * about the recorded device.  (Garbage collection within a memory limit looks like the second, and
 * may be replayed as such: what it releases counts.)
 *
 * Call stacks tell them apart: all of a run that the allocator made has the stack of the request
 * that follows it.  A run of the program names empty_cache, or at least another line.  But where
 * only requests were recorded with stacks (context "alloc"), a segment that the program gave back
 * has the stack of its last use, which in a loop is that of the next request too.  There a refusal
 * is believed only if the device was never seen to have given as much as was asked for.  Where no
 * event has a stack, a run is taken for the program's, and counted as a guess.
 *
 * What was refused is told as a limit (GEMEM_EVENT_DEVICE_LIMIT): the least that the device must
 * have had for the allocator, which is what it held when it was served at last; for a request that
 * failed, what it held then.  The blocks that the allocator waited for before it gave back
 * (free_completed with the stack of the request) are inside the limit, so that the simulated
 * allocator waits for them too. Those that it found completed without waiting look the same; they
 * are told apart only where it gave back oversize blocks first, which it does before it waits.
 *
 * Segments of a private pool go back only when the program has released the pool (a graph was
 * destroyed), with the next emptying; or, as with a MemPool, at that moment, and then the cache of
 * other pools stays.  Before PyTorch 2.12 events do not name their pool.
 *
 * Memory: 64 bytes per run, 4 per private pool, 1 per stack.  Origin: peers.md 1a.4 to 1a.8, 2.1,
 * and what PyTorch 2.0 to 2.15 write.
 */
#pragma once

#include "base/idset.h"
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
  /* number of the first one in its device's list, completions that belong to it included */
  guint64 event;
  guint64 bytes; /* that went back */
  guint64 first; /* bytes of the first segment */
  /* bytes that the request behind it wanted of the device, and unless it failed obtained */
  guint64 asked;
  gint64 before; /* what was reserved then, more than at the start of the events */
  /* private pools that the program had released, from here on in the list of such: */
  guint32 pools;
  guint32 n_pools;
  guint32 completions;
  guint8 cause;       /* GememPytorchCause */
  guint whole : 1;    /* all that was cached, not only that of these pools */
  guint failed : 1;   /* the request behind it */
  guint nameless : 1; /* its stack does not name empty_cache */
  guint waits : 1;    /* completions lie between its segments */
} GememPytorchRelease;

typedef struct
{
  GArray *runs;  /* GememPytorchRelease */
  GArray *pools; /* guint32 */
  guint next;    /* second pass: the next run, and the next of its events */
  guint step;
  guint64 counts[GEMEM_PYTORCH_RELEASE_CAUSES];
  guint64 failed;   /* requests */
  guint64 nameless; /* runs of the program by another way than empty_cache */
  guint64 added;    /* events that stand for all this, beside the recorded ones */
  gboolean limited; /* second pass: the device is known to have no more */

  /* private: first pass */
  /* gint64: what was reserved when a segment was obtained without giving back before */
  GArray *misses;
  GByteArray *requests; /* per stack: it is that of a request */
  GememIdSet known;     /* pools in `pools` */
  guint64 last_address;
  guint8 last_kind;
  guint64 events, completions;
  gint64 reserved, peak;  /* more than at the start */
  guint32 stack;          /* of the run that is open, or of the completions before the next event */
  gboolean open, uniform; /* all of the run has that stack */
  gboolean stacks, own;   /* requests have stacks; frees have stacks of their own */
} GememPytorchReleases;

void gemem_pytorch_releases_init (GememPytorchReleases *releases);
void gemem_pytorch_releases_clear (GememPytorchReleases *releases);

/* First pass: the next event, with the number of its stack (0: none), whether that names
 * empty_cache, and of a requested free whether its block was seen allocated (which no longer
 * matters once `own` is set).  O(1). */
void gemem_pytorch_releases_event (GememPytorchReleases *releases, const GememTraceEvent *event,
                                   guint32 stack, gboolean empties, gboolean seen);
/* @max_split_size: of the recorded allocator, G_MAXUINT64: none. */
void gemem_pytorch_releases_finish (GememPytorchReleases *releases, guint64 max_split_size);

/* The memory limit (a part of the device, set by the program) that explains when garbage was
 * collected: above @threshold of it, with @initial bytes reserved before the first event.  0:
 * nothing was collected, or no limit explains it.  O(runs + segments). */
guint64 gemem_pytorch_releases_infer_limit (const GememPytorchReleases *releases, double threshold,
                                            guint64 initial);

/* Second pass, for each event in order: fills @added but for device and time, and returns TRUE if
 * there is something.  O(1). before: the next event that comes before event @number (POOL_RELEASE,
 * TRIM, DEVICE_LIMIT), with @reserved held by the recorded allocator. behind: the end of a
 * limit. */
gboolean gemem_pytorch_releases_before (GememPytorchReleases *releases, guint64 number,
                                        const GememTraceEvent *event, guint64 reserved,
                                        GememTraceEvent *added);
gboolean gemem_pytorch_releases_behind (GememPytorchReleases *releases,
                                        const GememTraceEvent *event, GememTraceEvent *added);
