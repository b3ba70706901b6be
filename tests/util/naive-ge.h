/* naive-ge.h - the Graph Engine's run-time memory, written a second time from ge-runtime.md alone:
 * lists, linear searches, the text's own order of steps.
 *
 * naive-ge-range.c: the page pool and the backing of a virtual range (4, 5.1 to 5.3, 5.6, 5.7).
 * naive-ge-pool.c: the pool with and without a range (1, 5.4, 5.5). naive-ge.c: the two levels and
 * the ladder (2.1). naive-ge-active.c: static graphs (3, 5.9, 5.10), with naive-ge-static.h.
 * naive-ge-whole.c: the composition (7.2). naive-ge-streams.c: the level-2 pools (2.2 to 2.6). Only
 * the Quick table with its defaults, and 64 KiB pages. Where the text is silent the model does what
 * doc/design-notes.md says.
 */
#pragma once

#include "tests/util/naive-models.h"

#define NAIVE_PAGE G_GUINT64_CONSTANT (65536)

/* ---- 4: physical pages */

typedef struct
{
  guint ref;
  gboolean in_free, gone; /* gone: back at the driver */
  GArray *mapped;         /* guint64: addresses where it is mapped */
} NaivePhysical;

typedef struct
{
  NaiveDevice *device;
  guint64 size;
  GPtrArray *pages; /* NaivePhysical */
  GArray *free;     /* guint: stack */
  guint users;      /* number of ranges */
  gboolean fresh;   /* reuse=false: a released page is only reused at its last address */
} NaivePages;

NaivePages *naive_pages_new (NaiveDevice *device, guint64 size);
void naive_pages_destroy (NaivePages *pages);
gboolean naive_pages_map (NaivePages *pages, int page, guint64 va);
void naive_pages_release (NaivePages *pages, guint64 va, guint64 size);
/* Finalize. */
void naive_pages_close (NaivePages *pages, guint64 va, guint64 size);

/* ---- 5: a range of a pool */

typedef struct
{
  int page, last; /* physical; -1: none; `last` may be the number of a page that was refused */
  guint ref, maps;
  gboolean using, in_free, recycled;
} NaiveRecord;

typedef struct
{
  NaivePages *pages;
  guint64 base, size, page;
  NaiveRecord *records;
  GArray *free; /* guint: stack */
  GArray *list; /* guint: pa_list */
  guint64 phys, theory_min;
} NaiveRange;

typedef enum
{
  NAIVE_BACKED,
  NAIVE_REFUSED,
  NAIVE_USING,
  NAIVE_NEW_VA,
} NaiveBacking;

NaiveRange *naive_range_new (NaivePages *pages, guint64 size); /* NULL: reservation failed */
void naive_range_destroy (NaiveRange *range);
NaiveBacking naive_range_back (NaiveRange *range, guint64 address, guint64 bytes, guint64 *reuse);
void naive_range_free (NaiveRange *range, guint64 address, guint64 bytes);
void naive_range_recycle (NaiveRange *range, guint64 address, guint64 bytes);
/* The free-stack rule of 5.1. */
void naive_range_push (NaiveRange *range, guint i);
/* Release of 5.1. */
void naive_range_release (NaiveRange *range, guint i);

/* ---- 1: a pool */

typedef struct _NaiveSpan NaiveSpan;
typedef struct _NaivePool NaivePool;

/* Memory obtained from the lower level; the root of the range has none. */
typedef struct
{
  guint64 bytes;
  NaiveSpan *lower;
} NaiveRoot;

struct _NaiveSpan
{
  guint64 address, pages, tryl, real;
  guint64 stamp; /* when the span became the front of its layer */
  gboolean occupied;
  guint32 id;
  NaiveRoot *root;
  NaiveSpan *hidden; /* new-VA: ref_span, and the pages mapped in it */
  GArray *list;
};

struct _NaivePool
{
  NaiveDevice *device; /* or `lower` */
  NaivePool *lower;
  /* asks `lower` for a block; NULL: alloc or recycle */
  NaiveSpan *(*ask) (NaivePool *pool, guint64 bytes);
  gpointer data;
  guint64 threshold, minimum, stream;
  guint32 model;      /* the trace's pool, where each has pools of its own */
  GPtrArray *spans;   /* NaiveSpan: root by root, in address order within one */
  GPtrArray *new_vas; /* NaiveSpan: idle and occupied */
  NaiveRange *range;
  NaiveRoot *range_root;
  guint64 stamp, obtained, theory, theory_min, real_theory_min, real_theory;
  guint64 new_va_count;
};

NaivePool *naive_pool_new (NaiveDevice *device, NaivePool *lower, guint64 threshold,
                           guint64 minimum);
void naive_pool_destroy (NaivePool *pool);
/* InitExpandableAllocator. */
gboolean naive_pool_expand (NaivePool *pool, NaivePages *pages);
NaiveSpan *naive_pool_alloc (NaivePool *pool, guint64 size);
NaiveSpan *naive_pool_alloc_or_recycle (NaivePool *pool, guint64 size);
void naive_pool_free (NaivePool *pool, NaiveSpan *span);
void naive_pool_recycle (NaivePool *pool);

/* ---- 2.1: the stack */

typedef struct
{
  Naive base;
  NaiveDevice *device; /* that of `base`, unless another stack shares its own */
  gboolean expandable;
  gboolean per_model; /* pools=per-pool-and-stream */
  NaivePages *pages;  /* if expandable */
  NaivePool *bottom;  /* NULL before the first request */
  GPtrArray *pools;   /* NaivePool: of the streams, in order of creation */
  GPtrArray *ladder;  /* NaivePool: `pools`, and those of stacks that share it, by creation */
  GPtrArray *live;    /* NaiveSpan */
} NaiveGe;

void naive_ge_init (NaiveGe *ge, gboolean expandable);
/* @ge and @with share the ladder of one thread (2.1, step 6). */
void naive_ge_share_ladder (NaiveGe *ge, NaiveGe *with);
gboolean naive_ge_alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address,
                         guint64 *size);
void naive_ge_free (Naive *naive, guint32 id, gboolean completion_follows);
void naive_ge_trim (Naive *naive);
gboolean naive_ge_figure (Naive *naive, const char *name, guint64 *value);
void naive_ge_destroy (Naive *naive);
/* The page pool; the first call creates it. */
NaivePages *naive_ge_pages (NaiveGe *ge);
