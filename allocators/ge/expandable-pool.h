/* expandable-pool.h - a ScalableAllocator with a virtual range: policies 3 and 4 of the Ascend
 * Graph Engine.
 *
 * What: the pool begins with one idle span that covers a reserved range of addresses as large as
 * its threshold.  Blocks are cut from its top like from any other span, but get memory only when
 * they are handed out (range.h).  Where idle pages lie scattered, a request may be served by
 * showing them together at fresh addresses: a new-VA block, which keeps the addresses it displaced
 * hidden until it is freed.
 * Invariants: what gemem_ge_pool_check() verifies holds for the range too; obtained = root blocks +
 * pages under the range.
 * Cost: O(1) plus the pages of the block; a request that meets obstacles tries again, 1000 times at
 * most (5.4).
 * Origin: ge-runtime.md 5.2, 5.4 to 5.6.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/ge/pool-core.h"
#include "allocators/ge/range.h"

typedef struct _GeNewVa GeNewVa;

/* A block at addresses of its own; span.pages is its length. */
struct _GeNewVa
{
  GeSpan span;    /* first: the pool's handle */
  GeSpan *hidden; /* ref_span: the addresses that its pages left */
  /* idle: of the same length, most recently freed first; and `all_*` for every one */
  GeNewVa *prev, *next;
  GeNewVa *all_prev, *all_next;
  guint n; /* large pages */
  guint32 records[];
};

#define GE_EXPANDABLE_TRIES 1000  /* of one request, and idle new-VA blocks looked at */
#define GE_EXPANDABLE_PATIENCE 10 /* attempts before whole free spans are set aside */

struct _GeExpandable
{
  GeRange range;
  GeRoot root;    /* of the range's spans; not in pool->roots */
  GeNewVa **idle; /* per number of large pages */
  guint n_idle;   /* entries of `idle` */
  GeNewVa *all;
  gboolean used_new_va;
  guint64 new_va_size; /* bytes; only grows */
  guint64 new_va_count;
  GPtrArray *held; /* GeSpan: set aside during one request */
};

/* Gives @pool a range of its threshold less one page.  FALSE: no virtual memory; the pool stays as
 * it is. */
gboolean gemem_ge_expandable_init (GeSpanPool *pool, GePages *pages);

/* ---- called by the pool */

/* A span of @k pages (or more, at new addresses), occupied but not booked; NULL when refused. */
GeSpan *gemem_ge_expandable_alloc (GeSpanPool *pool, guint32 k);
void gemem_ge_expandable_free (GeSpanPool *pool, GeSpan *span);
/* First step of recycle: idle new-VA blocks are given up. */
void gemem_ge_expandable_drop_idle (GeSpanPool *pool);
/* If the idle @span lies in the range: its memory goes to the page pool, and TRUE. */
gboolean gemem_ge_expandable_recycle (GeSpanPool *pool, const GeSpan *span);
void gemem_ge_expandable_clear (GeSpanPool *pool);

/* ---- questions (expandable-report.c, expandable-largest.c) */

/* The largest request that is served without the device, in pages of the pool. */
guint32 gemem_ge_expandable_largest_backed (const GeSpanPool *pool);
/* Every span of the range, then every new-VA block, with where memory is; segments in no particular
 * order. */
void gemem_ge_expandable_walk (const GeSpanPool *pool, guint64 stream, GememSpanFunc func,
                               gpointer data);
/* The books of the range against the pool's spans; GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_expandable_check (const GeSpanPool *pool, const char *what, GError **error);
