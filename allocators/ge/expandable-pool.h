/* expandable-pool.h - a ScalableAllocator with a virtual range: policies 3 and 4 of the Ascend
 * Graph Engine.
 *
 * What: the pool begins with one idle span that covers a reserved range of addresses as large as
 * its threshold.  Blocks are cut from its top like from any other span, but get physical pages only
 * when they are allocated (range.h).  Where idle pages are scattered, a request may be served by
 * mapping them together at fresh addresses: a new-VA block.  The addresses that the request would
 * have had stay hidden until the new-VA block is freed.
 * Invariants: those that gemem_ge_pool_check() verifies, for the range too; `obtained` is the sum
 * of the root blocks and the pages under the range.
 * Cost: O(1) plus the pages of the block; a request that meets obstacles tries again, 1000 times at
 * most (5.4).
 * Origin: ge-runtime.md 5.2, 5.4 to 5.6.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/ge/pool-core.h"
#include "allocators/ge/range.h"

typedef struct _GeNewVa GeNewVa;

/* A new-VA block: pages of the range, mapped at addresses outside it. */
struct _GeNewVa
{
  GeSpan span;    /* first: the pool's handle */
  GeSpan *hidden; /* ref_span: the addresses in the range that it stands for */
  /* idle: of the same length, most recently freed first; and `all_*` for every one */
  GeNewVa *prev, *next;
  GeNewVa *all_prev, *all_next;
  guint n; /* large pages */
  guint32 records[];
};

#define GE_EXPANDABLE_TRIES 1000  /* attempts of one request; idle new-VA blocks inspected */
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

/* A span of @k pages (or more, at new addresses), occupied but not counted; NULL when refused. */
GeSpan *gemem_ge_expandable_alloc (GeSpanPool *pool, guint32 k);
void gemem_ge_expandable_free (GeSpanPool *pool, GeSpan *span);
/* First step of recycle: frees idle new-VA blocks. */
void gemem_ge_expandable_drop_idle (GeSpanPool *pool);
/* Returns the memory of the idle @span to the page pool, if it lies in the range; FALSE: it does
 * not. */
gboolean gemem_ge_expandable_recycle (GeSpanPool *pool, const GeSpan *span);
void gemem_ge_expandable_clear (GeSpanPool *pool);

/* ---- questions (expandable-report.c, expandable-largest.c) */

/* The largest request that is served without the device, in pages of the pool. */
guint32 gemem_ge_expandable_largest_backed (const GeSpanPool *pool);
/* Every span of the range, then every new-VA block, with where memory is; segments in no particular
 * order. */
void gemem_ge_expandable_walk (const GeSpanPool *pool, guint64 stream, GememSpanFunc func,
                               gpointer data);
/* Verifies the records and counters of the range against the spans of the pool.
 * GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_expandable_check (const GeSpanPool *pool, const char *what, GError **error);
