/* async.h - CUDA's stream-ordered memory pool (cudaMallocAsync, cudaMemPool): what `cuda-async` and
 * the allocators that use such a pool share.
 *
 * The rules are those that one H100 (driver 580.159.04, CUDA 13.0) was seen to follow;
 * tests/vectors/test-cuda-async-vectors.c replays its logs.
 *
 * A pool is one reserved range of addresses, cut into blocks: LIVE ones, PENDING ones, which belong
 * to the stream that freed them, and SHARED ones, which any stream may take.  At first the whole
 * range is one shared block.  Memory is mapped into the range in chunks of `growth` bytes; a shared
 * block is backed if all chunks that it touches are mapped.
 *
 * async.c has the settings and the class, async-pool.c decides, async-order.c knows how far streams
 * are, async-memory.c maps, moves and returns chunks, async-report.c reads the state.
 * Invariants (checked by gemem_cuda_pool_check()): the blocks cover the range; no two shared blocks
 * are neighbours, nor two pending blocks of one stream; a chunk without memory lies in one shared
 * block; `reserved` is what is mapped.
 * Origin: peers.md 1d.
 */
#pragma once

#include "allocators/neighbours.h"
#include "base/idmap.h"

/* ---- settings (async.c) */

typedef struct
{
  guint64 release_threshold, trim_to, max_size, growth;
  gboolean follow_event_dependencies, allow_opportunistic, allow_internal_dependencies;
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
        .help = "Most bytes that the pool may hold, rounded up to whole chunks; 0: all of the " \
                "device.  A real pool on a full device also takes what lies idle in another one, " \
                "and graphs hold memory of their own; no replay has either." }, \
  { \
    .name = "growth", .type = GEMEM_PARAM_SIZE, .default_text = "32MiB", .min = "64KiB", \
    .max = "1TiB", GEMEM_CUDA_POOL_FIELD (Type, member, growth), \
    .help = "Unit in which the pool takes and returns memory, a power of two; 32 MiB is measured " \
            "on an H100 (driver 580.159.04), of other cards nothing is known." \
  }

/* ---- state */

typedef enum
{
  GEMEM_CUDA_LIVE,
  GEMEM_CUDA_PENDING,
  GEMEM_CUDA_SHARED,
} GememCudaState;

/* The groups of `lists`; the stream with place n has GEMEM_CUDA_STREAMS + n. */
enum
{
  GEMEM_CUDA_BACKED,
  GEMEM_CUDA_BARE, /* shared, and some of its memory is missing */
  GEMEM_CUDA_STREAMS = GEMEM_CUDA_BARE
};

typedef struct _GememCudaUse GememCudaUse;
struct _GememCudaUse
{
  GememCudaUse *next;
  guint64 stream;
};

typedef struct _GememCudaBlock GememCudaBlock;
struct _GememCudaBlock
{
  GememNeighbour base; /* where it lies; its node is in no tree */
  GememTreeNode put;   /* in `lists`; its address is the moment at which the block was put there */
  GememCudaState state;
  guint32 stream;                  /* number of the stream that asked (LIVE) or freed (PENDING) */
  guint64 wanted;                  /* LIVE: bytes asked for */
  guint64 mark;                    /* PENDING: of the latest free; marks ascend over all streams */
  GememDeviceEvent event;          /* PENDING: recorded with that free; 0: none */
  GememCudaBlock *older, *younger; /* PENDING: of the same stream, in the order of marks */
  GememCudaUse *uses;              /* LIVE: other streams that use it */
};

/* What holds up a stream behind position `at`: pending work of its own, or a wait on the device. */
typedef struct
{
  guint64 at;
  guint64 stream;           /* waits for this stream; 0: work of its own */
  guint64 mark;             /* of `stream`; of work: its id, 0: none */
  GememDeviceEvent event;   /* of `stream`; 0: only what holds up that stream itself */
  guint64 held_by, held_at; /* `stream` waits for the work at this position; 0: not known */
} GememCudaObstacle;

/* Frees of stream number `stream` up to this mark come before. */
typedef struct
{
  guint64 stream, mark;
} GememCudaKnown;

typedef struct
{
  guint64 handle;
  guint64 place;     /* in `order`, from 1; 0: it has not asked or freed yet */
  guint64 done;      /* the device has come to this position */
  guint64 latest;    /* position of its latest free or recorded event */
  GArray *known;     /* GememCudaKnown by stream, of use only; NULL: none */
  GArray *obstacles; /* GememCudaObstacle, passed up to `first`; NULL: none */
  guint first;
  GememCudaBlock *oldest, *youngest;
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
  GememTree lists;
  GArray *pages;   /* GememPage by chunk; 0: unmapped */
  GPtrArray *idle; /* shared blocks that have whole chunks, the highest first */
  guint idle_at;   /* the chunks below `idle_end` of that block are still to be looked at */
  guint64 idle_end;
  GArray *streams; /* GememCudaStream; number n is at n - 1 */
  GArray *order;   /* guint64: numbers in the order in which streams first asked or freed */
  GememIdMap *by_handle;
  GememIdMap *marks; /* GememCudaMark by event */
  GememIdMap *works; /* where pending work stands, by id */
  GArray *path;      /* scratch of async-order.c */
  GememSlab block_slab, use_slab;
  guint64 clock;    /* the latest mark */
  gboolean assumes; /* a block was freed on the stream of its request for want of another */
  guint64 puts;     /* blocks put into `lists` so far */
  gboolean stale;   /* the threshold was set since the host last waited */
  guint64 used, used_high, reserved, reserved_high;
  guint64 followed, opportunistic, internal, growths, remapped, released;
} GememCudaPool;

/* The block whose `put` is @node. */
static inline GememCudaBlock *
gemem_cuda_block (GememTreeNode *node)
{
  return GEMEM_TREE_ENTRY (node, GememCudaBlock, put);
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
void gemem_cuda_pool_free_on (GememAllocator *allocator, const GememBlock *block, guint64 stream);
void gemem_cuda_pool_work (GememAllocator *allocator, guint64 id, guint64 stream);
void gemem_cuda_pool_work_done (GememAllocator *allocator, guint64 id);
void gemem_cuda_pool_asked (GememAllocator *allocator, guint64 stream);
/* The host waited for event @id. */
void gemem_cuda_pool_sync_event (GememCudaPool *pool, guint64 id);
void gemem_cuda_pool_set_threshold (GememCudaPool *pool, guint64 bytes);
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
               .sync = gemem_cuda_pool_sync, \
               .free_on = gemem_cuda_pool_free_on, \
               .work = gemem_cuda_pool_work, \
               .work_done = gemem_cuda_pool_work_done, \
               .asked = gemem_cuda_pool_asked }, \
  .report.stats = gemem_cuda_pool_stats

/* ---- async-pool.c, for async-memory.c and async.c */

/* Puts @block, shared and in no tree, into its list; @anew: as the last of its size. */
void gemem_cuda_pool_put_shared (GememCudaPool *pool, GememCudaBlock *block, gboolean anew);

/* ---- async-order.c: streams by number, positions by mark */

static inline gboolean
gemem_cuda_is_alone (const GememCudaPool *pool)
{
  return pool->streams->len < 2;
}

void gemem_cuda_order_init (GememCudaPool *pool);
void gemem_cuda_order_clear (GememCudaPool *pool);
/* The number of a stream; of one that asks for memory or frees, which from now on has its place. */
guint64 gemem_cuda_order_number (GememCudaPool *pool, guint64 handle);
guint64 gemem_cuda_order_place (GememCudaPool *pool, guint64 handle);
/* A block is freed, and nothing says on which stream. */
void gemem_cuda_order_assume (GememCudaPool *pool);
/* An event of the device behind the work queued on @handle; 0: the host has waited for it, because
 * none could be recorded. */
GememDeviceEvent gemem_cuda_order_record (GememCudaPool *pool, guint64 handle);
/* What the only stream so far has freed without an event gets one. */
void gemem_cuda_order_catch_up (GememCudaPool *pool);
/* Whether an obstacle keeps the device from position @mark of stream @number. */
gboolean gemem_cuda_order_is_held_up (GememCudaPool *pool, guint64 number, guint64 mark);
/* Whether the device has come to that position, with which @event was recorded (0: none). */
gboolean gemem_cuda_order_is_done (GememCudaPool *pool, guint64 number, guint64 mark,
                                   GememDeviceEvent event);
/* The device has come to position @mark, and to all that this one waited for.  Returns how far it
 * has come by its own events, up to @mark. */
guint64 gemem_cuda_order_come_to (GememCudaPool *pool, guint64 number, guint64 mark);
/* Stream @to waits on the device for a position of stream @from. */
void gemem_cuda_order_wait (GememCudaPool *pool, guint64 to, guint64 from, guint64 mark,
                            GememDeviceEvent event);
/* Stream @to follows that position. */
void gemem_cuda_order_learn (GememCudaPool *pool, guint64 to, guint64 from, guint64 mark);
/* Up to where @stream is known. */
guint64 gemem_cuda_known_of (const GArray *known, guint64 stream);
/* Whether anything that can be taken was freed up to @fact. */
gboolean gemem_cuda_known_is_of_use (const GememCudaPool *pool, const GememCudaKnown *fact);
void gemem_cuda_order_forget_marks (GememCudaPool *pool);

/* ---- async-memory.c */

/* Whether all chunks that @block touches are mapped. */
gboolean gemem_cuda_pool_is_backed (const GememCudaPool *pool, const GememCudaBlock *block);
/* Reserves the range where that is still to be done; FALSE: refused. */
gboolean gemem_cuda_pool_reserve (GememCudaPool *pool);
/* Maps what is missing under @block, which is not shared: chunks moved from elsewhere, then new
 * ones.  FALSE: maximum or device refuse; what was mapped stays. */
gboolean gemem_cuda_pool_map (GememCudaPool *pool, const GememCudaBlock *block);
/* Returns chunks that lie in shared blocks, the highest first, while more than @above bytes are
 * mapped. */
void gemem_cuda_pool_shrink (GememCudaPool *pool, guint64 above);
/* Returns everything, and the range. */
void gemem_cuda_pool_clear_memory (GememCudaPool *pool);
