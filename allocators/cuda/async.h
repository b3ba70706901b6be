/* async.h - CUDA's stream-ordered memory pool (cudaMallocAsync, cudaMemPool), as far as it is
 * documented: what `cuda-async` and the allocators that use such a pool share.
 *
 * Documented are the attributes and what they permit; how the driver searches, grows, splits and
 * merges is not, and is assumed here.  So every report calls it an approximation
 * (GememAllocator.approximation).
 *
 * A pool is one reserved range of addresses.  Memory is mapped into it in units of `growth` bytes,
 * each a physical page of its own.  A free block is in the order of the stream that freed it last
 * (its group), or available to all streams (group 0): fresh memory, and memory whose free the host
 * has seen complete.
 *
 * async.c has the settings and the class, async-pool.c decides, async-memory.c maps and returns
 * units, async-report.c reads the state.
 * Invariants (checked by gemem_cuda_pool_check()): the blocks cover the range; UNMAPPED blocks
 * begin and end at units and no two are neighbours; no two free blocks of one group are neighbours;
 * `reserved` is what is mapped.
 * Origin: peers.md 1d.
 */
#pragma once

#include "allocators/neighbours.h"
#include "base/idmap.h"

/* ---- settings (async.c) */

typedef struct
{
  guint64 release_threshold, trim_to, max_size, growth, alignment;
  gboolean follow_event_dependencies, allow_opportunistic, allow_internal_dependencies, remap;
} GememCudaPoolParams;

#define GEMEM_CUDA_POOL_FIELD(Type, member, field) .offset = G_STRUCT_OFFSET (Type, member.field)

/* The row of the release threshold, whose default differs: "0" in CUDA. */
#define GEMEM_CUDA_POOL_THRESHOLD_ROW(Type, member, text) \
  { \
    .name = "release_threshold", .type = GEMEM_PARAM_SIZE, .flags = GEMEM_PARAM_MEMORY, \
    .default_text = text, .sweep = "0|64MiB|1GiB|unlimited", \
    .special = "unlimited=18446744073709551615", .aliases = "cudaMemPoolAttrReleaseThreshold", \
    GEMEM_CUDA_POOL_FIELD (Type, member, release_threshold), \
    .help = "Bytes that the pool keeps; what is unused above them goes back when the host waits " \
            "for a stream or the device." \
  }

/* The other rows of a class whose parameters are a @Type with a GememCudaPoolParams as @member. */
#define GEMEM_CUDA_POOL_ROWS(Type, member) \
  { .name = "reuse_follow_event_dependencies", \
    .type = GEMEM_PARAM_BOOL, \
    .default_text = "yes", \
    .aliases = "cudaMemPoolReuseFollowEventDependencies", \
    GEMEM_CUDA_POOL_FIELD (Type, member, follow_event_dependencies), \
    .help = "A stream takes what another stream freed before an event that it has waited for." }, \
      { .name = "reuse_allow_opportunistic", \
        .type = GEMEM_PARAM_BOOL, \
        .default_text = "yes", \
        .aliases = "cudaMemPoolReuseAllowOpportunistic", \
        GEMEM_CUDA_POOL_FIELD (Type, member, allow_opportunistic), \
        .help = "A stream takes what another stream freed if the device has come to that free." }, \
      { .name = "reuse_allow_internal_dependencies", \
        .type = GEMEM_PARAM_BOOL, \
        .default_text = "yes", \
        .aliases = "cudaMemPoolReuseAllowInternalDependencies", \
        GEMEM_CUDA_POOL_FIELD (Type, member, allow_internal_dependencies), \
        .help = "Where the pool cannot grow, a stream takes what another stream freed and waits " \
                "for that stream on the device." }, \
      { .name = "trim_to", \
        .type = GEMEM_PARAM_SIZE, \
        .flags = GEMEM_PARAM_MEMORY, \
        .default_text = "0", \
        .sweep = "0|64MiB|1GiB", \
        .aliases = "minBytesToKeep", \
        GEMEM_CUDA_POOL_FIELD (Type, member, trim_to), \
        .help = "Bytes that the pool keeps when the program trims it (cudaMemPoolTrimTo)." }, \
      { .name = "max_size", \
        .type = GEMEM_PARAM_SIZE, \
        .flags = GEMEM_PARAM_MEMORY, \
        .default_text = "0", \
        .special = "none=0", \
        .aliases = "maxSize", \
        GEMEM_CUDA_POOL_FIELD (Type, member, max_size), \
        .help = "Most bytes that the pool may hold; 0: as many as the device has." }, \
      { .name = "growth", \
        .type = GEMEM_PARAM_SIZE, \
        .default_text = "32MiB", \
        .min = "64KiB", \
        .max = "1TiB", \
        .sweep = "2MiB|32MiB|64MiB", \
        GEMEM_CUDA_POOL_FIELD (Type, member, growth), \
        .help = "Unit in which the pool takes and returns memory, a power of two; undocumented, " \
                "32 MiB is what people report." }, \
      { .name = "alignment", \
        .type = GEMEM_PARAM_SIZE, \
        .default_text = "512", \
        .min = "256", \
        .max = "64KiB", \
        GEMEM_CUDA_POOL_FIELD (Type, member, alignment), \
        .help = "Sizes are rounded up to it, a power of two; undocumented, CUDA promises 256." }, \
  { \
    .name = "remap", .type = GEMEM_PARAM_BOOL, .default_text = "yes", \
    GEMEM_CUDA_POOL_FIELD (Type, member, remap), \
    .help = "Unused units are moved to where a request needs them before new ones are taken, as " \
            "NVIDIA says the driver does." \
  }

/* ---- state */

typedef enum
{
  GEMEM_CUDA_LIVE,
  GEMEM_CUDA_FREE,
  GEMEM_CUDA_UNMAPPED,
} GememCudaState;

typedef struct _GememCudaWait GememCudaWait;
struct _GememCudaWait /* for the latest work of one stream */
{
  GememCudaWait *next;
  guint64 stream;         /* handle */
  guint64 mark;           /* of the free with which the event was recorded */
  GememDeviceEvent event; /* of a stream, events complete in the order of marks */
};

typedef struct _GememCudaUse GememCudaUse;
struct _GememCudaUse
{
  GememCudaUse *next;
  guint64 stream;
};

typedef struct
{
  GememNeighbour base; /* node.group: of a free block; 0: available to all */
  GememCudaState state;
  guint32 stream;         /* LIVE: number of the stream that asked for it */
  guint64 mark;           /* of the latest free; marks ascend over all streams */
  GememDeviceEvent event; /* recorded with that free; 0: none */
  GememCudaWait *waits;   /* other work that may still use the memory, one for a stream */
  GememCudaUse *uses;     /* LIVE: other streams that use it */
} GememCudaBlock;

typedef struct
{
  guint64 handle;
  guint64 done;  /* the device has come to the frees up to this mark */
  GArray *known; /* guint64 by stream number: frees up to this mark come before; NULL: none */
} GememCudaStream;

/* What a recorded event tells who waits for it. */
typedef struct
{
  guint64 from, mark;
  guint64 to;    /* the stream that it is for; G_MAXUINT64: any */
  GArray *known; /* of the stream `from` at that time; NULL: none */
} GememCudaMark;

typedef struct
{
  GememAllocator base; /* first */
  GememCudaPoolParams params;
  guint64 granularity, range, range_size; /* range 0: not reserved yet */
  GememCudaBlock *first;
  GememTree free, unmapped;
  GArray *pages;    /* GememPage by unit; 0: unmapped */
  GArray *gathered; /* GememPage, while the pool grows */
  GPtrArray *idle;  /* scratch: blocks that have whole units */
  GArray *streams;  /* GememCudaStream; number n is at n - 1 */
  GememIdMap *by_handle;
  GememIdMap *marks; /* GememCudaMark by event */
  GememSlab block_slab, wait_slab, use_slab;
  guint64 clock; /* the latest mark */
  guint64 used, used_high, reserved, reserved_high;
  guint64 followed, opportunistic, internal, growths, remapped, released;
} GememCudaPool;

static inline GememCudaBlock *
gemem_cuda_block (GememTreeNode *node)
{
  return (GememCudaBlock *) (gpointer) GEMEM_NEIGHBOUR_OF (node);
}

static inline GememCudaBlock *
gemem_cuda_next (const GememCudaBlock *block)
{
  return (GememCudaBlock *) (gpointer) block->base.next;
}

static inline GememCudaBlock *
gemem_cuda_previous (const GememCudaBlock *block)
{
  return (GememCudaBlock *) (gpointer) block->base.previous;
}

static inline GememCudaStream *
gemem_cuda_stream (const GememCudaPool *pool, guint64 number)
{
  return &g_array_index (pool->streams, GememCudaStream, number - 1);
}

/* ---- for classes: a pool of @klass, and the members of that class */

/* @what: "allocator cuda-async", for messages.  GEMEM_ERROR_USAGE: a
 * device without virtual memory, or settings that contradict each other. */
GememAllocator *gemem_cuda_pool_new (const GememAllocatorClass *klass, const char *what,
                                     const GememCudaPoolParams *params, GememDevice *device,
                                     GError **error);
/* An allocator of the class `cuda-async` with CUDA's attributes but for the release
 * threshold in bytes. */
GememAllocator *gemem_cuda_async_new (const char *what, guint64 release_threshold,
                                      GememDevice *device, GError **error);
void gemem_cuda_pool_destroy (GememAllocator *allocator);
gboolean gemem_cuda_pool_alloc (GememAllocator *allocator, const GememRequest *request,
                                GememBlock *block);
void gemem_cuda_pool_free (GememAllocator *allocator, const GememBlock *block,
                           gboolean completion_follows);
void gemem_cuda_pool_trim (GememAllocator *allocator);
void gemem_cuda_pool_use (GememAllocator *allocator, const GememBlock *block, guint64 stream);
void gemem_cuda_pool_record (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to);
void gemem_cuda_pool_wait (GememAllocator *allocator, guint64 id, guint64 stream);
void gemem_cuda_pool_sync (GememAllocator *allocator, guint64 stream);
guint64 gemem_cuda_pool_largest_free (GememAllocator *allocator, guint64 stream);
void gemem_cuda_pool_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_cuda_pool_check (GememAllocator *allocator, GError **error);
void gemem_cuda_pool_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);

/* The members of a class whose allocators are pools. */
#define GEMEM_CUDA_POOL_MEMBERS \
  .capabilities = GEMEM_CAP_VIRTUAL_MEMORY, .alignment = 256, .alloc = gemem_cuda_pool_alloc, \
  .free = gemem_cuda_pool_free, .trim = gemem_cuda_pool_trim, \
  .prefetch = gemem_neighbours_prefetch, .largest_free = gemem_cuda_pool_largest_free, \
  .walk = gemem_cuda_pool_walk, .check = gemem_cuda_pool_check, \
  .destroy = gemem_cuda_pool_destroy, \
  .streams = { .use = gemem_cuda_pool_use, \
               .record = gemem_cuda_pool_record, \
               .wait = gemem_cuda_pool_wait, \
               .sync = gemem_cuda_pool_sync }, \
  .report.stats = gemem_cuda_pool_stats

/* ---- async-pool.c, for async-memory.c */

/* Merges @block, free and in no tree, with its neighbours; the merged block, in no tree. */
GememCudaBlock *gemem_cuda_pool_coalesce (GememCudaPool *pool, GememCudaBlock *block);
/* TRUE if the host knows, or finds out by asking the device, that all work on @block, which is
 * free, is done. */
gboolean gemem_cuda_pool_is_complete (GememCudaPool *pool, GememCudaBlock *block);
/* Puts @block, free, complete and in the tree, among the blocks that are available to all. */
void gemem_cuda_pool_publish (GememCudaPool *pool, GememCudaBlock *block);
/* Drops all recorded events: after a wait for the device nothing follows from them. */
void gemem_cuda_pool_forget_marks (GememCudaPool *pool);

/* ---- async-memory.c */

/* Maps units so that a block of at least @size bytes exists that the stream number @stream may
 * take; that block, in no tree.  NULL: maximum or device refuse. */
GememCudaBlock *gemem_cuda_pool_grow (GememCudaPool *pool, guint64 size, guint64 stream);
/* Returns units that are available to all to the device, from the highest address down, as long as
 * @keep bytes remain. */
void gemem_cuda_pool_shrink (GememCudaPool *pool, guint64 keep);
/* Returns everything, and the range. */
void gemem_cuda_pool_clear_memory (GememCudaPool *pool);
