/* scalable-pool.h - GE's ScalableAllocator: the pool that every level of the Graph Engine's dynamic
 * memory is made of.
 *
 * What: a request takes the most recently freed span of its length, else a piece of the shortest
 * longer span, else a new root block from the lower level (pool-core.h).  These rules decide
 * addresses: layers are LIFO; a cut allocates the HIGH end; a long span that is whole is not cut
 * before 1 % of its length has been asked of it (`tryl`); only neighbours in one root block merge;
 * only a recycle returns memory to the lower level; the threshold is a soft limit.
 * Invariants: gemem_ge_pool_check() verifies those of pool-core.h and of the counters.
 * Threads (1.11): no function locks.  A pool belongs to one thread at a time, by the care of its
 * callers; with config.guarded it belongs to the thread that uses it first, and alloc, free and
 * recycle of another are refused.  The exception is the bottom pool, which is `shared`: other pools
 * reach it as their lower level.
 * Cost: allocate and free O(1), whatever the number of spans; recycle O(idle spans).
 * Origin: ge-runtime.md section 1 (the 2 MiB rule of the bottom pool: 1.9).
 */
#pragma once

#include "allocators/ge/pool-core.h"

void gemem_ge_pool_init (GeSpanPool *pool, const GeSpanPoolConfig *config, const GeLower *lower,
                         gpointer lower_data);
/* Returns every root block to the lower level, live spans or not, and frees all. */
void gemem_ge_pool_clear (GeSpanPool *pool);

/* InitFixSizedAllocator (1.10): the new pool begins with a range, as one idle span that may be cut
 * without delay.  The range stays the caller's.  The pool still grows beyond it.  A recycle that
 * finds the range whole and idle loses it for good, as the real system does. */
void gemem_ge_pool_init_fixed (GeSpanPool *pool, guint64 base, guint64 size);

/* Alloc of 1.3, without any ladder: an occupied span, or NULL. */
GeSpan *gemem_ge_pool_alloc (GeSpanPool *pool, guint64 size);
void gemem_ge_pool_free (GeSpanPool *pool, GeSpan *span);
/* Returns every idle span that is a whole root block to the lower level; answers how many bytes. */
guint64 gemem_ge_pool_recycle (GeSpanPool *pool);

/* RtsCachingMemAllocator's Malloc: alloc; if that fails, recycle and once more; no
 * synchronisation. */
GeSpan *gemem_ge_pool_alloc_or_recycle (GeSpanPool *pool, guint64 size);

/* A pool as the lower level of another one (@lower: the GeSpanPool below), through
 * alloc_or_recycle. */
extern const GeLower gemem_ge_pool_lower;

/* The largest number of pages <= @limit for which alloc would succeed from idle spans alone; 0 if
 * none. */
guint32 gemem_ge_pool_largest_idle (const GeSpanPool *pool, guint64 limit);
/* The most pages that one request may take from the lower level now: those of the threshold if
 * nothing is idle, else what is left of it. */
guint64 gemem_ge_pool_growth_limit (const GeSpanPool *pool);

/* GetReachTheoryRate in 1/100 percent, to the nearest: 100 * real_theory_min / obtained, 10000 at
 * most, 0 while nothing is obtained. */
guint64 gemem_ge_pool_reach_theory_rate (const GeSpanPool *pool);
guint64 gemem_ge_pool_idle_bytes (const GeSpanPool *pool);

/* Verifies every invariant; @what names the pool in the message.  GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_pool_check (const GeSpanPool *pool, const char *what, GError **error);
