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

#include <glib.h>

#include "allocators/ge/layers.h"
#include "base/slab.h"
#include "devices/device.h"

typedef struct _GeRoot GeRoot;
typedef struct _GePool GePool;
typedef struct _GeExpandable GeExpandable; /* expandable-pool.h */

/* Where a pool gets root blocks.  Sizes are bytes, whole pages; the level may keep a handle in
 * root->handle. */
typedef struct
{
  /* the address, or 0 when refused */
  guint64 (*malloc) (gpointer lower, guint64 bytes, GeRoot *root);
  void (*free) (gpointer lower, guint64 address, guint64 bytes, GeRoot *root);
} GeLower;

typedef struct
{
  guint page_shift;  /* page_idem_num */
  guint64 threshold; /* bytes; largest request, and soft limit of `obtained` */
  guint64 minimum;   /* smallest root block, in bytes: the bottom pool's 2 MiB; 0 elsewhere */
  guint64 span_layer_lift_max; /* 0: never cut; the Seq table walks at most this many layers */
  gboolean quick;              /* Quick table (else Seq) */
  /* several threads use the pool, through gemem_ge_pool_lower, which locks this device; NULL: one
   * thread's */
  GememDevice *shared;
  /* several threads use the pool, and one at a time is let in before it: GememDevice */
  gboolean serialized;
  guint64 *retries; /* counted up when a recycle released something and alloc is tried again */
  guint64 span_count_in_layer; /* printed as the capacity of layers ... */
  guint64 uncacheable;         /* ... up to this many bytes; 0 above */
} GePoolConfig;

/* A root block: what the lower level gave, and the chain of spans cut from it. */
struct _GeRoot
{
  GePool *pool;
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
      gpointer user; /* of the class that has the pool; the pool leaves it alone */
    };
  };
  GeRoot *root;
  guint32 pages;
  guint32 tryl;  /* pages that others wanted to cut from it while it was whole */
  guint32 waste; /* occupied: block size - requested bytes */
  guint8 occupied;
  guint8 splitable; /* may be cut without delay (fixed-size pools, virtual range) */
  guint8 new_va;    /* embedded in a GeNewVa of expandable-pool.h */
  guint8 hidden;    /* occupied, but by nobody: its pages are shown by a new-VA block */
};

struct _GePool
{
  GePoolConfig config;
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
  GThread *owner;   /* --enable-checks=full: who used it first, unless it is shared */
  guint64 failures; /* calls of alloc that returned NULL */
};

void gemem_ge_pool_init (GePool *pool, const GePoolConfig *config, const GeLower *lower,
                         gpointer lower_data);
/* Returns every root block to the lower level, live spans or not, and frees all. */
void gemem_ge_pool_clear (GePool *pool);

/* InitFixSizedAllocator (1.10): the new pool begins with a range that stays the caller's, as one
 * idle span that may be cut without delay; the pool grows all the same.  A recycle that finds it
 * whole and idle drops it for good, as the real one does. */
void gemem_ge_pool_init_fixed (GePool *pool, guint64 base, guint64 size);

/* Alloc of 1.3, without any ladder: an occupied span, or NULL. */
GeSpan *gemem_ge_pool_alloc (GePool *pool, guint64 size);
void gemem_ge_pool_free (GePool *pool, GeSpan *span);
/* Gives every idle span that is a whole root block back to the lower level; the bytes given
 * back. */
guint64 gemem_ge_pool_recycle (GePool *pool);

/* Recycle, then alloc once more. */
GeSpan *gemem_ge_pool_recycle_and_alloc (GePool *pool, guint64 size);
/* RtsCachingMemAllocator's Malloc: alloc; if that fails, recycle and once more; no
 * synchronisation. */
GeSpan *gemem_ge_pool_alloc_or_recycle (GePool *pool, guint64 size);

/* A pool as the lower level of another one (@lower: the GePool below), through alloc_or_recycle. */
extern const GeLower gemem_ge_pool_lower;

/* The largest number of pages <= @limit for which alloc would succeed from idle spans alone; 0 if
 * none. */
guint32 gemem_ge_pool_largest_idle (const GePool *pool, guint64 limit);
/* The most pages that grow may take from the lower level now: all if nothing is idle, else what is
 * left of the threshold. */
guint64 gemem_ge_pool_growth_limit (const GePool *pool);

/* GetReachTheoryRate in 1/100 percent, to the nearest: 100 * real_theory_min / obtained, 10000 at
 * most, 0 while nothing is obtained. */
guint64 gemem_ge_pool_reach_theory_rate (const GePool *pool);
guint64 gemem_ge_pool_idle_bytes (const GePool *pool);

/* Every invariant of this file; @what names the pool in the message.  GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_pool_check (const GePool *pool, const char *what, GError **error);

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

/* The occupied @span becomes the root block @root of a pool above, which frees root->handle one
 * day; returns its address. */
static inline guint64
gemem_ge_span_lend (GeSpan *span, GeRoot *root)
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
