/* state.h - derives the state before the first event of a PyTorch snapshot.
 *
 * A snapshot holds the final segments and blocks and, per device, the last N events.  One forward
 * pass yields the initial state: it consists of every block that an event frees but no event
 * allocates, and of everything in the final state that no event allocates.  (Undoing the events
 * from last to first has the same result but needs random access.)
 *
 * Of an initial block that is freed by an event, only the requested size is recorded.  The block
 * size is round(request) plus an unsplit tail: in a large, not expandable segment a remainder is
 * split off only if it exceeds 1 MiB, so a gap of up to 1 MiB before the next block belongs to the
 * block.  A larger gap may include a hidden tail: the first later allocation in the gap during the
 * life of the block starts where the block ends.  This takes one more pass, only for such blocks.
 *
 * Memory: 32 bytes per address live at a time, 64 per initial block or segment.  Origin: peers.md
 * 2.1, 1a.3, 1a.4.
 */
#pragma once

#include "base/idmap.h"
#include "base/tree.h"
#include "base/units.h"
#include "traces/trace.h"

#define GEMEM_PYTORCH_SLOTS 16
#define GEMEM_PYTORCH_SMALL_SEGMENT (2 * GEMEM_MIB)
/* The largest size accepted (peers.md 1a.3); keeps every sum of a start and a size within 64
 * bits. */
#define GEMEM_PYTORCH_MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)

/* The allocator_settings of the file. */
typedef struct
{
  gint64 max_split_size; /* bytes; -1: unlimited */
  double garbage_collection_threshold;
  gboolean expandable_segments;
  guint64 memory_limit;                   /* inferred; 0: none */
  guint64 divisions[GEMEM_PYTORCH_SLOTS]; /* roundup_power2_divisions: 1 MiB, 2 MiB, ... 32 GiB */
  gint64 pinned_max_cached, pinned_max_round; /* of the host's cache; bytes, -1: unlimited */
  char *configuration;                        /* PYTORCH_CUDA_ALLOC_CONF, or NULL */
  char *written_for; /* the allocator and its settings, if we wrote the file */
  gboolean npu;      /* torch_npu wrote the file */
  guint64 pad;       /* that its allocator adds to each request */
} GememPytorchSettings;

void gemem_pytorch_settings_init (GememPytorchSettings *settings);
void gemem_pytorch_settings_clear (GememPytorchSettings *settings);
/* Block size of a request of @n bytes, without a tail. */
guint64 gemem_pytorch_settings_round (const GememPytorchSettings *settings, guint64 n);
/* Whether the program's own text of settings (PYTORCH_CUDA_ALLOC_CONF) names @name. */
gboolean gemem_pytorch_settings_name (const GememPytorchSettings *settings, const char *name);
/* "key=value,..." of the settings that differ from the defaults, with PyTorch's names; "" if none
 * differs. */
char *gemem_pytorch_settings_text (const GememPytorchSettings *settings);
/* The same of the cache of pinned host memory. */
char *gemem_pytorch_settings_pinned (const GememPytorchSettings *settings);

typedef struct
{
  guint64 address, size, stream;
  guint64 since; /* final segments: number of the allocating event; 0: initial */
  guint64 until; /* gone ones: number of the event that freed it */
  guint32 pool;
  gboolean small, expandable;
} GememPytorchSegment;

typedef struct
{
  guint64 address, size, stream; /* size: as requested */
  guint64 block;                 /* block size with its tail; 0: not known yet */
  guint64 limit;                 /* upper bound of the end of a hidden tail; 0: no hidden tail */
  guint32 pool;
  guint32 stack;           /* that allocated it, for the caller; 0: unknown */
  gboolean small, pending; /* pending: its free was requested before the first event */
  gboolean freed;          /* only while its segment is read: it is none */
  gboolean ambiguous;      /* the file does not determine its size (or address) */
} GememPytorchBlock;

typedef struct
{
  GArray *segments; /* initial; after finish: sorted by address */
  GArray *blocks;   /* initial; after finish: sorted by address */
  GArray *final_segments, *final_blocks, *pool_segments;
  GArray *gone;       /* GememPytorchSegment: of private pools and not final, by `since` */
  GememTree gone_now; /* those that were made and may be live, by address */
  GememSlab gone_slab;
  guint next_gone;
  /* address -> 1 + index of an initial block (0: seen allocated), shifted by the flag "free
   * requested" */
  GememIdMap *live;
  GememIdMap *held; /* address of a segment seen allocated -> its event + 1 */
  GememTree mapped; /* ranges seen mapped */
  GememSlab mapped_slab;
  guint64 events;
  guint64 made; /* of the segment freed last: 1 + number of the event that made it; 0: none did */
  /* until a free is completed: frees requested, less those whose address was used again */
  guint64 requested;
  gboolean completes; /* some free was completed */
  /* set by finish: requested frees were completed without events (skip_actions) */
  gboolean skips_completions;
  guint64 unexplained; /* blocks live after the last event, but absent from the final blocks */
  guint open;          /* blocks with a tail to find */
  guint64 inferred;    /* blocks with a tail found by a later address */
} GememPytorchState;

void gemem_pytorch_state_init (GememPytorchState *state);
void gemem_pytorch_state_clear (GememPytorchState *state);

/* First pass: takes an event.  FALSE with GEMEM_ERROR_INPUT ("what; what to do", without the place)
 * if the event contradicts earlier events. */
gboolean gemem_pytorch_state_event (GememPytorchState *state, const GememTraceEvent *event,
                                    GError **error);

/* TRUE if one of the events so far allocated the block that is live at @address. */
gboolean gemem_pytorch_state_saw (const GememPytorchState *state, guint64 address);

/* These add the final state, in any order with the events. */
void gemem_pytorch_state_final_segment (GememPytorchState *state,
                                        const GememPytorchSegment *segment);
void gemem_pytorch_state_final_block (GememPytorchState *state, const GememPytorchBlock *block);

/* Derives the initial state.  @truncated: events are missing at the end, so live blocks of the
 * final state prove nothing. */
gboolean gemem_pytorch_state_finish (GememPytorchState *state, const GememPytorchSettings *settings,
                                     gboolean truncated, GError **error);

/* Second pass, while `open` > 0: looks for hidden tails. */
void gemem_pytorch_state_look (GememPytorchState *state, const GememTraceEvent *event);

/* After finish: a segment of private pool @pool that is no final one; @since, @until: numbers of the
 * events that made and freed it. */
void gemem_pytorch_state_gone (GememPytorchState *state, guint64 address, guint64 size,
                               guint64 since, guint64 until, guint32 pool);
/* After the last of them. */
void gemem_pytorch_state_gone_all (GememPytorchState *state);
/* Pool of the segment that contains @address at event number @event (from 0; it never falls); 0
 * unless the pool is known to be private. */
guint32 gemem_pytorch_state_pool (GememPytorchState *state, guint64 address, guint64 event);
/* The first number that no private pool of a final segment has. */
guint32 gemem_pytorch_state_free_pool (const GememPytorchState *state);
