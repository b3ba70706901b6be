/* naive-ge-static.h - static memory of graphs, session ranges and memory outside of pools, for the
 * naive models of ge-active, ge-fixed-base and ge.
 *
 * naive-ge-session.c: a session's growing range (5.9). naive-ge-static.c: graphs under each policy
 * (3.3, 5.10, 7.2), and policy 2 as the user documentation describes it (3.4). naive-ge-kinds.c:
 * variables and other memory outside the pools of streams (7.2, 7.4). All fields are zeroed except
 * those that _init() sets.
 */
#pragma once

#include "tests/util/naive-ge.h"

/* ---- 5.9 */

typedef struct
{
  NaivePages *pages;
  NaiveRange *range; /* NULL: nothing is reserved */
  GArray *stack;     /* guint: its free stack, which outlives it */
  GArray *pieces;    /* guint64: address and bytes of each in turn */
  guint64 used, users;
  gboolean unsupported;
} NaiveSession;

void naive_session_init (NaiveSession *session);
void naive_session_clear (NaiveSession *session); /* frees its arrays */
void naive_session_reset (NaiveSession *session);
guint64 naive_session_append (NaiveSession *session, guint64 bytes); /* 0: refused */
/* incremental=false: every caller gets the base address. */
guint64 naive_session_share (NaiveSession *session, guint64 bytes);
void naive_session_unshare (NaiveSession *session);
/* Back [@address, @address + @bytes); FALSE: a failure. */
gboolean naive_session_bind (NaiveSession *session, guint64 address, guint64 bytes);
void naive_session_unbind (NaiveSession *session, guint64 address, guint64 bytes);
guint64 naive_session_phys (const NaiveSession *session);

/* ---- 3.3, 7.2 */

typedef enum
{
  NAIVE_STATIC_OWN, /* policies 0 and 3: one aclrtMalloc per model */
  /* policy 2: one block, as large as the largest graph since the first load */
  NAIVE_STATIC_DOCUMENTED,
  NAIVE_STATIC_AS_BUILT, /* policy 2: ActiveMemoryAllocator */
  NAIVE_STATIC_PAGED,    /* policy 4: the same on a range of pages */
} NaiveStaticMode;

typedef enum
{
  NAIVE_FIXED_BASE,   /* FixedBaseExpandable, fallback aclrtMalloc */
  NAIVE_FIXED_INSIDE, /* like other segments */
  NAIVE_FIXED_APART,  /* aclrtMalloc for each */
} NaiveFixedMode;

typedef struct
{
  NaiveDevice *device;
  NaiveStaticMode mode;
  NaiveFixedMode fixed_mode;
  gboolean leaky; /* the quirk of static_model_addr_fixed */
  gboolean bare;  /* an unload is FreeMemory alone, without the model around it */
  NaiveSession range, fixed;
  GArray *blocks, *graphs;
  guint64 load_count, peak, max_address, leaked;
  guint64 address, size; /* NAIVE_STATIC_DOCUMENTED */
} NaiveStatic;

/* @pages: for the fixed range, and for NAIVE_STATIC_PAGED. */
void naive_static_init (NaiveStatic *s, NaiveDevice *device, NaivePages *pages,
                        NaiveStaticMode mode, NaiveFixedMode fixed);
void naive_static_clear (NaiveStatic *s);
/* The end of the last segment that needs memory: the bytes that the graph allocates. */
guint64 naive_static_extent (const GememGraphSegment *segments, guint n);
gboolean naive_static_load (NaiveStatic *s, guint32 id, const GememGraphSegment *segments, guint n,
                            guint64 *address);
gboolean naive_static_run (NaiveStatic *s, guint32 id, gboolean begin);
void naive_static_unload (NaiveStatic *s, guint32 id);
gboolean naive_static_figure (const NaiveStatic *s, const char *name, guint64 *value);

/* ---- 7.2: memory outside the pools of streams */

typedef enum
{
  NAIVE_HBM, /* of an external allocator */
  NAIVE_P2P,
  NAIVE_HOST,
  NAIVE_VARIABLE,
  NAIVE_WEIGHT,
  NAIVE_RDMA,
  NAIVE_KINDS,
} NaiveKind;

#define NAIVE_RDMA_SIZE G_GUINT64_CONSTANT (41943340) /* of the model of ge-rdma */

typedef struct
{
  NaiveDevice *device;
  GArray *pieces;
  NaivePages *private;
  NaiveSession variables;
  guint ranged; /* number of variables in the range */
  Naive *rdma;  /* NULL before the first request */
  guint64 rdma_base, host, bytes[NAIVE_KINDS];
  gboolean keeps; /* HBM: the manual's mode 0, in which a freed block waits for its like */
  guint64 stream; /* of the next request */
  GArray *kept;   /* pieces */
} NaiveKinds;

void naive_kinds_init (NaiveKinds *k, NaiveDevice *device, guint64 variable_page);
void naive_kinds_clear (NaiveKinds *k);
gboolean naive_kinds_alloc (NaiveKinds *k, guint32 id, NaiveKind kind, guint64 bytes,
                            guint64 *address, guint64 *size);
/* FALSE: no such block exists. */
gboolean naive_kinds_free (NaiveKinds *k, guint32 id);
void naive_kinds_trim (NaiveKinds *k);
guint64 naive_kinds_size (const NaiveKinds *k, guint32 id);
gboolean naive_kinds_figure (const NaiveKinds *k, const char *name, guint64 *value);
