/* pool-core.h - what a GE pool of spans consists of, and the steps that both kinds of pool are made
 * of: the plain ScalableAllocator (scalable-pool.h), and the one with a virtual range
 * (expandable-pool.h).
 *
 * Spans of whole pages are cut from root blocks, which a lower level (the device, or another pool)
 * allocates.  An idle span is in the layer of its length.
 * Invariants: the spans of a root block cover it without gap in chain order; two neighbours are
 * never both idle between two events; `obtained` is the sum of the root blocks; a span is in a
 * layer iff it is idle.
 * Cost: each step O(1).  64 bytes per span.
 * Origin: ge-runtime.md section 1, whose section numbers are given below.
 */
#pragma once

#include <glib.h>

#include "allocators/allocator.h"
#include "allocators/ge/layers.h"
#include "allocators/questions.h"
#include "base/slab.h"
#include "devices/device.h"

typedef struct _GeRoot GeRoot;
typedef struct _GeSpanPool GeSpanPool;
typedef struct _GeExpandable GeExpandable; /* expandable-pool.h */

/* Where a pool gets root blocks.  Sizes are bytes, whole pages; the level may keep a handle in
 * root->handle. */
typedef struct
{
  /* the address, or 0 when refused */
  guint64 (*malloc) (gpointer lower, guint64 bytes, GeRoot *root);
  void (*free) (gpointer lower, guint64 address, guint64 bytes, GeRoot *root);
} GeLower;

/* What the settings of a pool decide, as questions (questions.h). */
typedef enum
{
  GE_ASKED_PAGES, /* of a request of @a bytes; 0: it is refused */
  GE_ASKED_LIFT,  /* whether the search reaches a span that is @a layers further on */
  GE_ASKED_ROOT,  /* pages of the root block for @a pages */
  GE_ASKED_OVER,  /* whether @a bytes and @b pages more are beyond the threshold */
} GeAsked;

typedef struct
{
  guint page_shift;  /* page_idem_num */
  guint64 threshold; /* bytes; largest request, and soft limit of `obtained` */
  guint64 minimum;   /* smallest root block, in bytes: the bottom pool's 2 MiB; 0 elsewhere */
  guint64 span_layer_lift_max; /* 0: never cut; the Seq table walks at most this many layers */
  gboolean quick;              /* Quick table (else Seq) */
  /* several threads use the pool through gemem_ge_pool_lower, which locks this device; NULL: one
   * thread uses it */
  GememDevice *shared;
  /* single_thread: calls of any thread but the pool's first are refused, in the name of this
   * allocator; NULL: who calls is left to the caller */
  GememAllocator *guarded;
  guint64 *retries; /* counts recycles that released something, after which alloc is tried again */
  guint64 span_count_in_layer; /* printed as the capacity of layers ... */
  guint64 uncacheable;         /* ... up to this many bytes; 0 above */
  GememQuestions *watch;  /* NULL: nobody watches; else questions are put to `watched`, which */
  gconstpointer watched;  /* answers as this, */
  gboolean watches_roots; /* and also what root blocks are obtained */
} GeSpanPoolConfig;

/* A root block: what the lower level allocated, and the chain of spans cut from it. */
struct _GeRoot
{
  GeSpanPool *pool;
  gpointer handle;     /* of the lower level */
  GeSpan *first;       /* the header: lowest address */
  GeRoot *prev, *next; /* all roots of the pool, newest first */
  guint32 pages;
};

struct _GeSpan
{
  guint64 address;
  GeSpan *prev, *next; /* buddies: neighbours in the root block, in address order */
  union
  {
    struct
    {
      GeSpan *layer_prev, *layer_next; /* while idle */
    };
    struct /* while occupied */
    {
      GeRoot *upper; /* the root block a pool above made of it, or NULL */
      gpointer user; /* for the class that owns the pool */
    };
  };
  GeRoot *root;
  guint32 pages;
  guint32 tryl;  /* pages that requests wanted to cut from it while it was whole */
  guint32 waste; /* occupied: block size - requested bytes */
  guint8 occupied;
  guint8 splitable; /* may be cut without delay (fixed-size pools, virtual range) */
  guint8 new_va;    /* embedded in a GeNewVa of expandable-pool.h */
  /* occupied, but no block: its pages are mapped in a new-VA block, or it is lost (5.4) */
  guint8 hidden;
};

struct _GeSpanPool
{
  GeSpanPoolConfig config;
  const GeLower *lower;
  gpointer lower_data;
  guint64 page;           /* bytes */
  guint64 layer_capacity; /* requests have fewer pages than this */
  GeLayers layers;
  GeExpandable *expandable; /* the pool's virtual range, or NULL */
  GeRoot *roots;            /* without that of the range */
  /* the caller's range of a fixed-size pool; first NULL: there is none, or it was lost */
  GeRoot fixed;
  GememSlab span_slab, root_slab;

  guint64 obtained; /* bytes taken from the lower level and not returned, and pages of the range */
  guint64 idle_pages;
  guint64 theory, real_theory;         /* bytes of live blocks; of their requests */
  guint64 theory_min, real_theory_min; /* the maxima of these */
  guint64 alloc_count, free_count, recycle_count;
  guint64 root_alloc_count, root_free_count;
  GThread *owner;   /* config.guarded: who used it first */
  guint64 failures; /* calls of alloc that returned NULL */
};

static inline guint64
gemem_ge_span_bytes (const GeSpan *span)
{
  return (guint64) span->pages << span->root->pool->config.page_shift;
}

/* Bytes that were asked for. */
static inline guint64
gemem_ge_span_real (const GeSpan *span)
{
  return gemem_ge_span_bytes (span) - span->waste;
}

/* Makes the occupied @span the root block @root of a pool above, which frees root->handle when it
 * returns that block.  Returns the address. */
static inline guint64
gemem_ge_span_become_root (GeSpan *span, GeRoot *root)
{
  span->upper = root;
  root->handle = span;
  return span->address;
}

/* HasSplited: the span is a part of its root block. */
static inline gboolean
gemem_ge_span_is_split (const GeSpan *span)
{
  return span->prev != NULL || span->next != NULL;
}

/* In a check: FALSE with the broken invariant as GEMEM_ERROR_INVARIANT. */
#define GE_BROKEN(...) (g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, __VA_ARGS__), FALSE)

/* ---- the steps */

/* Bytes of @pages.  Of a span it is gemem_ge_span_bytes() without a look at the root block, which
 * is seldom in the cache. */
static inline guint64
gemem_ge_pool_bytes (const GeSpanPool *pool, guint64 pages)
{
  return pages << pool->config.page_shift;
}

/* 1.3: the pages of a request of @size bytes; 0 when it is beyond the threshold. */
static inline guint32
gemem_ge_pool_pages_of (const GeSpanPool *pool, guint64 size)
{
  const guint64 k = size == 0 ? 1 : (size + pool->page - 1) >> pool->config.page_shift;

  return size > pool->config.threshold || k >= pool->layer_capacity ? 0 : (guint32) k;
}

/* Into, and out of, the layer of its length. */
static inline void
gemem_ge_pool_push_idle (GeSpanPool *pool, GeSpan *span)
{
  gemem_ge_layers_push (&pool->layers, span);
  pool->idle_pages += span->pages;
}

static inline void
gemem_ge_pool_take_idle (GeSpanPool *pool, GeSpan *span)
{
  gemem_ge_layers_remove (&pool->layers, span);
  pool->idle_pages -= span->pages;
}

/* 1.5: whether @span may be cut once @wanted pages in all have been asked of it (kDelaySplitRatio =
 * 0.01). */
static inline gboolean
gemem_ge_span_is_splittable (const GeSpan *span, guint64 wanted)
{
  return span->splitable || gemem_ge_span_is_split (span) || wanted > span->pages / 100;
}

/* Puts a question to those who watch @pool, if any do. */
static inline void
gemem_ge_pool_note (const GeSpanPool *pool, GeAsked asked, guint64 a, guint64 b)
{
  if (G_UNLIKELY (pool->config.watch != NULL))
    gemem_questions_note (pool->config.watch, pool->config.watched, asked, a, b);
}

/* Adds the whole range [@address, @address + @pages) to @pool as the root block @root, one idle
 * span that may be cut without delay.  @root is not one of pool->roots. */
void gemem_ge_pool_add_range (GeSpanPool *pool, GeRoot *root, guint64 address, guint64 pages);
/* 1.4: the front of the first layer that may be cut for @k pages, or NULL.  The Quick table looks
 * at layers in use only and knows no limit but 0; the Seq table counts the empty layers it
 * passes. */
GeSpan *gemem_ge_pool_find_longer (const GeSpanPool *pool, guint32 k);
/* Cut: takes the HIGH @k pages off the idle @span, which goes to the front of its new layer.  The
 * piece is in no layer and not occupied. */
GeSpan *gemem_ge_pool_cut (GeSpanPool *pool, GeSpan *span, guint32 k);
/* 1.5: cuts the idle @span, or, if @span is NULL or may not be cut yet, fetches @k new pages from
 * the lower level.  NULL when refused. */
GeSpan *gemem_ge_pool_cut_or_fetch (GeSpanPool *pool, GeSpan *span, guint32 k);
/* 1.7: marks @span, which is in no layer, as idle, merges it with its idle neighbours and pushes
 * the survivor, which is returned. */
GeSpan *gemem_ge_pool_merge (GeSpanPool *pool, GeSpan *span);
/* Returns the root block of @span, which is all of it and in no layer, to the lower level. */
void gemem_ge_pool_return_root (GeSpanPool *pool, GeSpan *span);
