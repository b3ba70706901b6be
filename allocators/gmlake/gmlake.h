/* gmlake.h - what the files of `gmlake` share: blocks, fused blocks, segments.
 *
 * A segment is what was taken from the device at once: plain memory, or (large pool) a range of
 * addresses with a physical page, a chunk, for every 2 MiB.  Its blocks form a chain that covers
 * it.  A fused block is another range, in which chunks of several blocks are mapped a second time,
 * in runs.  Memory is in use through the one or the other, never both: while a program uses a fused
 * block, the blocks beneath it are in state FUSED.
 *
 * Terms of the paper: pBlock is a block of the large pool, sBlock a fused block.
 * Invariants (checked by gemem_gmlake_check()): a block is in its pool's tree exactly when it is
 * FREE, and no two FREE blocks are neighbours; `used` of a fused block is how much of what its runs
 * show is not FREE; a fused block that no program uses is in `whole` if that is nothing, else it is
 * fragmented; the run of a fused block that is in use covers the beginning of exactly one FUSED
 * block as far as it is used.
 * Origin: peers.md section 1e.  Private to allocators/gmlake.
 */
#pragma once

#include "allocators/neighbours.h"
#include "base/units.h"

#define GMLAKE_QUANTUM G_GUINT64_CONSTANT (512)
#define GMLAKE_CHUNK (2 * GEMEM_MIB)
#define GMLAKE_SMALL GEMEM_MIB /* largest rounded size of the small pool */
#define GMLAKE_LARGE_SEGMENT (20 * GEMEM_MIB)
#define GMLAKE_MIN_LARGE (10 * GEMEM_MIB) /* from here on the segment size follows the request */
#define GMLAKE_TOO_LARGE (G_GUINT64_CONSTANT (1) << 60)
#define GMLAKE_ADDRESSES (G_GUINT64_CONSTANT (1) << 46) /* no range is longer */

typedef enum
{
  GMLAKE_CODE,
  GMLAKE_PAPER,
} GmlakeVariant;

typedef struct
{
  int variant; /* GmlakeVariant */
  int defragment, realloc;
  guint64 frag_limit, defrag_level, auto_gc, max_split_size, memory_limit;
  double reuse_limit, garbage_collection_threshold, memory_fraction;
} GmlakeParams;

/* ---- state */

typedef enum
{
  GMLAKE_FREE,
  GMLAKE_LIVE,
  GMLAKE_PENDING, /* freed by the program; streams may still use it */
  GMLAKE_FUSED,   /* a block in use through a fused one */
} GmlakeState;

typedef struct _GmlakeBlock GmlakeBlock;
typedef struct _GmlakeFused GmlakeFused;
typedef struct _GmlakeSegment GmlakeSegment;
typedef struct _GmlakeRun GmlakeRun;
typedef struct _GmlakeUse GmlakeUse;

struct _GmlakeUse /* an extra stream of a block */
{
  GmlakeUse *next;
  guint64 stream;
};

struct _GmlakeBlock
{
  GememNeighbour base; /* node.group: stream */
  GmlakeState state;
  GmlakeSegment *segment; /* NULL: part of a GmlakeFused */
  guint64 requested, gc_base;
  guint64
      allocated; /* LIVE, PENDING: bytes that the program has, of a fused block perhaps a part */
  GmlakeUse *uses;
  guint64 events; /* outstanding */
};

/* Chunks of one segment that a fused block shows. */
struct _GmlakeRun
{
  GmlakeRun *next;                      /* in the fused block */
  GmlakeRun *previous_here, *next_here; /* in the segment */
  GmlakeFused *fused;
  GmlakeSegment *segment;
  GmlakeBlock *block;          /* the FUSED block beneath it while the fused block is in use */
  guint64 place, offset, size; /* bytes: place in the fused block, offset in the segment */
};

struct _GmlakeFused
{
  GmlakeBlock block;   /* first */
  GememTreeNode order; /* size: when it was freed last; in `whole_order` or `fragmented` */
  GmlakeRun *runs;     /* in order of address */
  guint64 range;       /* bytes of addresses; block.base.node.size: of them mapped */
  guint64 used;        /* bytes of its chunks that are in use, through it or others */
  GememDeviceEvent event;
};

struct _GmlakeSegment
{
  GmlakeSegment *previous, *next;
  GmlakeBlock *first;
  GmlakeRun *runs; /* of fused blocks that show chunks of it */
  guint64 address, size;
  GememPage *pages; /* a chunk each; NULL: plain memory */
  gboolean small;
};

typedef struct
{
  GememTree free;
  guint64 search_count;
  gboolean small;
} GmlakePool;

typedef struct _GmlakeEvent GmlakeEvent;
struct _GmlakeEvent
{
  GmlakeEvent *next;
  GmlakeBlock *block;
  GememDeviceEvent event;
};

typedef struct
{
  guint64 stream;
  GmlakeEvent *head, *tail;
} GmlakeQueue;

typedef struct
{
  guint64 current, peak;
} GmlakeStat;

typedef struct
{
  GememAllocator base;
  GmlakeParams params;
  guint64 limit; /* G_MAXUINT64: none */
  guint64 gc_trigger;
  gboolean gc, vmm;
  guint64 granularity;
  GmlakePool small, large;
  GmlakeSegment *segments;
  GememTree whole;                   /* fused blocks of which nothing is used: stream, size */
  GememTree whole_order, fragmented; /* by the time of their latest free */
  GPtrArray *sources;                /* scratch: blocks to stitch */
  GmlakeFused *in_use;               /* unordered; `next`, `previous` of their neighbours */
  guint64 releases;                  /* frees of fused blocks so far */
  guint64 reserved, stitched;
  GememSlab block_slab, fused_slab, segment_slab, run_slab, use_slab, event_slab;
  GArray *queues; /* GmlakeQueue, in the order of first use */
  guint64 outstanding;
  GmlakeStat allocated, active, requested, reserved_bytes, segments_held, fused;
  guint64 exact, splits, reuses, stitches, extensions, collected;
  guint64 num_alloc_retries, num_ooms;
} Gmlake;

static inline GmlakeBlock *
gemem_gmlake_block (GememTreeNode *node)
{
  return (GmlakeBlock *) (gpointer) GEMEM_NEIGHBOUR_OF (node);
}

static inline GmlakeFused *
gemem_gmlake_fused (GmlakeBlock *block)
{
  return (GmlakeFused *) (gpointer) block;
}

static inline GmlakeBlock *
gemem_gmlake_next (const GmlakeBlock *block)
{
  return (GmlakeBlock *) (gpointer) block->base.next;
}

static inline GmlakePool *
gemem_gmlake_pool (Gmlake *lake, gboolean small)
{
  return small ? &lake->small : &lake->large;
}

static inline void
gemem_gmlake_stat_add (GmlakeStat *stat, guint64 n)
{
  stat->current += n;
  stat->peak = MAX (stat->peak, stat->current);
}

/* ---- blocks.c */

/* Takes @size bytes from the device as one block, in no tree; NULL: refused, and
 * nothing is kept. */
GmlakeBlock *gemem_gmlake_segment_new (Gmlake *lake, guint64 size, gboolean small, guint64 stream);
/* Returns the segment of @block, which is FREE and alone in it, with the fused blocks that show it.
 * FALSE: the device refused, and the block stays. */
gboolean gemem_gmlake_segment_release (Gmlake *lake, GmlakeBlock *block);
/* Gives all segments back at the end. */
void gemem_gmlake_segments_clear (Gmlake *lake);
/* Cuts @block, in no tree, after @size bytes; returns the upper part, of the same state. */
GmlakeBlock *gemem_gmlake_cut (Gmlake *lake, GmlakeBlock *block, guint64 size);
/* The block of @segment that contains @offset. */
GmlakeBlock *gemem_gmlake_block_at (const GmlakeSegment *segment, guint64 offset);
void gemem_gmlake_insert (Gmlake *lake, GmlakeBlock *block);
/* @block becomes FREE and merges with its free neighbours. */
void gemem_gmlake_make_free (Gmlake *lake, GmlakeBlock *block);
/* @block, FREE and in no tree, is used as @state from now on. */
void gemem_gmlake_make_used (Gmlake *lake, GmlakeBlock *block, GmlakeState state);

/* ---- fused.c */

/* Fuses free blocks of @stream to @size bytes; @extend: allocates what they lack.  NULL: there are
 * too few, or the device refused. */
GmlakeBlock *gemem_gmlake_stitch (Gmlake *lake, guint64 size, guint64 stream, gboolean extend);
/* The first @size bytes of @fused, which is in `whole`, are used from now on. */
void gemem_gmlake_reuse (Gmlake *lake, GmlakeFused *fused, guint64 size);
/* The end of the use of @fused, also by other streams. */
void gemem_gmlake_unfuse (Gmlake *lake, GmlakeFused *fused);
/* Bytes of @segment from @offset on have become used, or free again. */
void gemem_gmlake_toggle (Gmlake *lake, const GmlakeSegment *segment, guint64 offset, guint64 size,
                          gboolean used);
/* Takes what @segment has out of all fused blocks: those that no program uses are destroyed, the
 * others lose what they do not use.  FALSE: the device refused. */
gboolean gemem_gmlake_hide (Gmlake *lake, GmlakeSegment *segment);
/* Ends all fused blocks, at the end of the allocator. */
void gemem_gmlake_fused_clear (Gmlake *lake);

/* ---- events.c */

void gemem_gmlake_add_use (Gmlake *lake, GmlakeBlock *block, guint64 stream);
/* The program has freed @block: it becomes free now, or when the streams that use it are done. */
void gemem_gmlake_end_use (Gmlake *lake, GmlakeBlock *block);
void gemem_gmlake_process_events (Gmlake *lake);
/* Waits for all events. */
void gemem_gmlake_synchronize (Gmlake *lake);

/* ---- report.c */

void gemem_gmlake_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_gmlake_check (GememAllocator *allocator, GError **error);
void gemem_gmlake_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
guint64 gemem_gmlake_largest_free (GememAllocator *allocator, guint64 stream);
