/* stack.h - GE's dynamic memory as a running model sees it: pools stacked on each other, and the
 * out-of-memory ladder.
 *
 * What: a CachingMemAllocator (L1) for each stream (and model, where the trace's pools are such)
 * over one RtsCachingMemAllocator per device (bottom pool), with the whole ladder: synchronise the
 * stream, recycle L1, try again, then the same for the pools of the other streams in the order of
 * their creation.  ge-scalable and ge-expandable differ only in what an L1 pool is.
 * Invariants: every L1 root block is a live block of the bottom pool; the bottom pool's root blocks
 * are allocations of the device.
 * Cost: O(1) per event; recycle O(idle spans).
 * Origin: ge-runtime.md 2.1.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/ge/expandable-pool.h"
#include "allocators/ge/scalable-pool.h"
#include "allocators/ge/stack-params.h"
#include "base/idmap.h"

enum
{
  GE_STACK_SINGLE, /* a bare pool for each stream on the device */
  GE_STACK_TWO,    /* an L1 pool for each stream over the bottom pool */
  GE_STACK_RTS,    /* the bottom pool alone */
  GE_STACK_FIXED,  /* one bare fixed-size pool in place of the bottom pool */
};

/* The pool of one stream of a model. */
typedef struct
{
  GeSpanPool pool;
  guint64 stream;
  guint32 model; /* pool number of the trace; 0 where pools are per stream */
} GeL1;

typedef struct
{
  GememAllocator base;
  int stack;
  GeSpanPoolConfig config; /* of the L1 pools */
  gboolean threshold_refused;
  GeSpanPool bottom;    /* unless GE_STACK_SINGLE */
  GePages *pages;       /* large pages of the L1 pools' virtual ranges, or NULL: no ranges */
  gboolean unsupported; /* a range was refused: that pool has none */
  /* GE_STACK_FIXED: the range, which is the class's own; 0: the device refused it */
  guint64 fixed, fixed_size;
  GPtrArray *pools;  /* GeL1, in order of creation; empty for GE_STACK_RTS and GE_STACK_FIXED */
  GPtrArray *ladder; /* GeL1 that the ladder goes over: these, and those of stacks that share it */
  GememIdMap *by_stream; /* stream -> GeL1 *, of model 0 */
  GememIdMap *by_model; /* model above 0 -> GememIdMap * as by_stream; NULL: pools are per stream */
  GeL1 *last;           /* of the latest request */
  guint64 syncs;        /* of streams, by the ladder */
  GememQuestions *watch; /* NULL: nobody watches */
  /* what walk says of an occupied span of the uppermost pool, or NULL: live */
  void (*describe) (const GeSpan *span, GememSpan *out);
} GeStack;

/* Fills the zeroed @stack, for a class that has more of its own around it.  @large_page: bytes of
 * the pages of virtual ranges; 0: no ranges. */
gboolean gemem_ge_stack_init (GeStack *stack, const GememAllocatorClass *klass,
                              const GeStackParams *params, guint64 large_page, GememDevice *device,
                              GError **error);
void gemem_ge_stack_clear (GeStack *stack);
GememAllocator *gemem_ge_stack_create (const GememAllocatorClass *klass,
                                       const GeStackParams *params, guint64 large_page,
                                       GememDevice *device, GError **error);

/* Calls of a second thread (single_thread=yes) are refused in the name of @allocator, which @stack
 * is part of.  Before the first request. */
void gemem_ge_stack_speak_as (GeStack *stack, GememAllocator *allocator);
/* Makes the ladders of both walk the pools of both, in the order of their creation: the ladder
 * walks the pools of one thread, whatever their memory types (2.1, step 6). */
void gemem_ge_stack_share_ladder (GeStack *stack, GeStack *with);

/* Members of both classes. */
gboolean gemem_ge_stack_alloc (GememAllocator *allocator, const GememRequest *request,
                               GememBlock *block);
void gemem_ge_stack_free (GememAllocator *allocator, const GememBlock *block,
                          gboolean completion_follows);
void gemem_ge_stack_prefetch (GememAllocator *allocator, const GememBlock *block);
void gemem_ge_stack_trim (GememAllocator *allocator);
guint64 gemem_ge_stack_largest_free (GememAllocator *allocator, guint64 stream);
void gemem_ge_stack_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_ge_stack_check (GememAllocator *allocator, GError **error);
void gemem_ge_stack_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
void gemem_ge_stack_destroy (GememAllocator *allocator);

/* stack-watch.c: `watch` of a class whose pools are those of the stack, and have no ranges. */
void gemem_ge_stack_watch (GememAllocator *allocator);
gboolean gemem_ge_stack_is_alike (const GememAllocator *allocator, const GememAllocator *other);

static inline gboolean
gemem_ge_stack_is_one_pool (const GeStack *stack)
{
  return stack->stack >= GE_STACK_RTS;
}

/* stack.c: the pool of @stream, or NULL; obtain: created if there is none.  Of model 0. */
GeL1 *gemem_ge_stack_find (const GeStack *stack, guint64 stream);
GeL1 *gemem_ge_stack_obtain (GeStack *stack, guint64 stream);
/* L1's Malloc: with the whole ladder, unless the stack is GE_STACK_SINGLE. */
GeSpan *gemem_ge_stack_malloc (GeStack *stack, GeL1 *l1, guint64 size);
/* The step that all ladders are made of: waits for @stream, then recycles @pool.  FALSE: the stream
 * failed, nothing was recycled. */
gboolean gemem_ge_stack_sync_and_recycle (GeStack *stack, guint64 stream, GeSpanPool *pool);

/* pool-report.c: PrintDetails, for a pool; for each pool of the stack, the lower one first. */
void gemem_ge_pool_report (const GeSpanPool *pool, GString *text);
void gemem_ge_stack_report (GememAllocator *allocator, GString *text);

/* notes() of the classes whose parameters begin with GeStackParams. */
void gemem_ge_stack_notes (gconstpointer params, GememNoteFunc func, gpointer data);

/* What ge-scalable and ge-expandable have in common in their classes. */
#define GE_STACK_MEMBERS \
  .alignment = 65536, .params = params, .params_size = sizeof (GeStackParams), .create = create, \
  .notes = gemem_ge_stack_notes, .alloc = gemem_ge_stack_alloc, .free = gemem_ge_stack_free, \
  .prefetch = gemem_ge_stack_prefetch, .trim = gemem_ge_stack_trim, \
  .largest_free = gemem_ge_stack_largest_free, .walk = gemem_ge_stack_walk, \
  .check = gemem_ge_stack_check, .destroy = gemem_ge_stack_destroy, \
  .report = { .stats = gemem_ge_stack_stats, .text = gemem_ge_stack_report }

/* stack-report.c: the largest request of at most @limit pages that @l1 (NULL: a new pool) serves
 * without going to the device, in pages. */
guint64 gemem_ge_stack_largest_pages (const GeStack *stack, const GeL1 *l1, guint64 limit);
/* Statistics of a pool under the names GE prints, each after @prefix. */
void gemem_ge_pool_stats (const GeSpanPool *pool, const char *prefix, GememStatFunc func,
                          gpointer data);
