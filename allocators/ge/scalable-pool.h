/* scalable-pool.h - GE's ScalableAllocator: the pool that every level of the Graph Engine's dynamic
 * memory is made of.
 *
 * What: spans of whole pages are cut from root blocks that a lower level (the device, or another
 * pool) gives; freed spans wait in a layer per length; a request takes the most recently freed span
 * of its length, else a piece of the shortest longer one, else a new root block. Rules that decide
 * addresses: layers are LIFO; a cut hands out the HIGH end; an untouched long span is spared until
 * 1 % of its length has been asked for (`tryl`); only neighbours in one root block merge; nothing
 * goes down but by recycle; the threshold is soft.
 * Invariants: the spans of a root cover it without gap in chain order; two idle neighbours never
 * exist; `obtained` is the sum of the roots; a span is in a layer iff it is idle. 
 * gemem_ge_pool_check() verifies all of them.
 * Threads (1.11): none of this locks.  A pool belongs to the thread that uses it first (a build
 * with full checks ends the program when another one does), except one that is `shared`, the bottom
 * pool, which others reach as their lower level.
 * Cost: allocate and free O(1), whatever the number of live or idle spans; recycle O(idle spans). 
 * 64 bytes per span.
 * Origin: ge-runtime.md section 1 (the 2 MiB rule of the bottom pool: 1.9).
 */
#pragma once

#include "allocators/ge/pool-core.h"

void gemem_ge_pool_init (GeSpanPool *pool, const GeSpanPoolConfig *config, const GeLower *lower,
                         gpointer lower_data);
/* Returns every root block to the lower level, live spans or not, and frees all. */
void gemem_ge_pool_clear (GeSpanPool *pool);

/* InitFixSizedAllocator (1.10): the new pool begins with a range that stays the caller's, as one
 * idle span that may be cut without delay; the pool grows all the same.  A recycle that finds it
 * whole and idle drops it for good, as the real one does. */
void gemem_ge_pool_init_fixed (GeSpanPool *pool, guint64 base, guint64 size);

/* Alloc of 1.3, without any ladder: an occupied span, or NULL. */
GeSpan *gemem_ge_pool_alloc (GeSpanPool *pool, guint64 size);
void gemem_ge_pool_free (GeSpanPool *pool, GeSpan *span);
/* Gives every idle span that is a whole root block back to the lower level; the bytes given
 * back. */
guint64 gemem_ge_pool_recycle (GeSpanPool *pool);

/* Recycle, then alloc once more. */
GeSpan *gemem_ge_pool_recycle_and_alloc (GeSpanPool *pool, guint64 size);
/* RtsCachingMemAllocator's Malloc: alloc; if that fails, recycle and once more; no
 * synchronisation. */
GeSpan *gemem_ge_pool_alloc_or_recycle (GeSpanPool *pool, guint64 size);

/* A pool as the lower level of another one (@lower: the GeSpanPool below), through alloc_or_recycle. */
extern const GeLower gemem_ge_pool_lower;

/* The largest number of pages <= @limit for which alloc would succeed from idle spans alone; 0 if
 * none. */
guint32 gemem_ge_pool_largest_idle (const GeSpanPool *pool, guint64 limit);
/* The most pages that grow may take from the lower level now: all if nothing is idle, else what is
 * left of the threshold. */
guint64 gemem_ge_pool_growth_limit (const GeSpanPool *pool);

/* GetReachTheoryRate in 1/100 percent, to the nearest: 100 * real_theory_min / obtained, 10000 at
 * most, 0 while nothing is obtained. */
guint64 gemem_ge_pool_reach_theory_rate (const GeSpanPool *pool);
guint64 gemem_ge_pool_idle_bytes (const GeSpanPool *pool);

/* Every invariant of this file; @what names the pool in the message.  GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_pool_check (const GeSpanPool *pool, const char *what, GError **error);
