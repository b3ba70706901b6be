/* pytorch-state.h - what a PyTorch snapshot says about the time before its first event.
 *
 * A snapshot holds the final segments and blocks and, per device, the last N events.  The state
 * before the first event follows from one forward pass: what is freed without having been seen
 * allocated was there, and so was everything in the final state that was not allocated on the way.
 * (Undoing the events from last to first gives the same; forward needs no random access.)
 *
 * Sizes of blocks that were live before and are freed on the way are recorded as requests only.
 * The block is round(request), plus an unsplit tail: in a large, not expandable segment what
 * remains after a block is split off is more than 1 MiB, so a gap of up to 1 MiB before the next
 * block belongs to the block.  If more is free behind it, a tail may hide there: the first later
 * allocation that lands in the gap while the block lives starts where the block ends.  That takes
 * one more pass, only for such blocks.
 *
 * Memory: 32 bytes per address live at a time, 64 per initial block or segment.  Origin: peers.md
 * 2.1, 1a.3, 1a.4.
 */
#pragma once

#include "base/idmap.h"
#include "base/units.h"
#include "traces/trace.h"

#define GEMEM_PYTORCH_SLOTS 16
#define GEMEM_PYTORCH_SMALL_SEGMENT (2 * GEMEM_MIB)
/* Nothing larger is ever allocated (peers.md 1a.3); keeps every sum of a start and a size within 64
 * bits. */
#define GEMEM_PYTORCH_MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)

/* allocator_settings of the file. */
typedef struct
{
  gint64 max_split_size; /* bytes; -1: unlimited */
  double garbage_collection_threshold;
  gboolean expandable_segments;
  guint64 memory_limit;                   /* inferred; 0: none */
  guint64 divisions[GEMEM_PYTORCH_SLOTS]; /* roundup_power2_divisions: 1 MiB, 2 MiB, ... 32 GiB */
  char *configuration;                    /* PYTORCH_CUDA_ALLOC_CONF, or NULL */
} GememPytorchSettings;

void gemem_pytorch_settings_init (GememPytorchSettings *settings);
void gemem_pytorch_settings_clear (GememPytorchSettings *settings);
/* Block size of a request of @n bytes, without a tail. */
guint64 gemem_pytorch_settings_round (const GememPytorchSettings *settings, guint64 n);
/* "key=value,..." of what differs from the defaults, in PyTorch's own names; "" if nothing does. */
char *gemem_pytorch_settings_text (const GememPytorchSettings *settings);

typedef struct
{
  guint64 address, size, stream;
  guint64 since; /* final segments: number of the event that allocated it; 0: initial */
  guint32 pool;
  gboolean small, expandable;
} GememPytorchSegment;

typedef struct
{
  guint64 address, size, stream; /* size: as requested */
  guint64 block;                 /* block size with its tail; 0: not known yet */
  guint64 limit;                 /* a hidden tail ends at or before this; 0: none can hide */
  guint32 pool;
  gboolean small, pending; /* pending: its free was requested before the first event */
  gboolean freed;          /* by the events */
  gboolean ambiguous;      /* the file alone does not say how large (or where) it is */
} GememPytorchBlock;

typedef struct
{
  GArray *segments; /* initial; after finish: sorted by address */
  GArray *blocks;   /* initial; after finish: sorted by address */
  GArray *final_segments, *final_blocks, *pool_segments;
  /* address -> 1 + index of an initial block (0: seen allocated), shifted by the flag "free
   * requested" */
  GememIdMap *live;
  GememIdMap *held; /* address of a segment seen allocated -> its event + 1 */
  GArray *mapped;   /* ranges seen mapped, sorted */
  guint64 events;
  /* while no free was completed: those requested, less the ones whose place was used again */
  guint64 requested;
  gboolean completes; /* some free was completed */
  /* by finish: frees that were requested are completed, and the events do not say so
   * (skip_actions) */
  gboolean skips_completions;
  guint64 unexplained; /* live at the end by the events, absent from the final blocks */
  guint open;          /* blocks whose tail is looked for */
  guint64 inferred;    /* blocks whose tail a later address showed */
} GememPytorchState;

void gemem_pytorch_state_init (GememPytorchState *state);
void gemem_pytorch_state_clear (GememPytorchState *state);

/* First pass.  FALSE with GEMEM_ERROR_INPUT ("what; what to do", without the place) if the event
 * contradicts the ones before. */
gboolean gemem_pytorch_state_event (GememPytorchState *state, const GememTraceEvent *event,
                                    GError **error);

/* TRUE if what is live at @address was allocated by one of the events so far. */
gboolean gemem_pytorch_state_saw (const GememPytorchState *state, guint64 address);

/* The final state, in any order with the events. */
void gemem_pytorch_state_final_segment (GememPytorchState *state,
                                        const GememPytorchSegment *segment);
void gemem_pytorch_state_final_block (GememPytorchState *state, const GememPytorchBlock *block);

/* Works out the initial state.  @truncated: events are missing at the end, so live blocks of the
 * final state prove nothing. */
gboolean gemem_pytorch_state_finish (GememPytorchState *state, const GememPytorchSettings *settings,
                                     gboolean truncated, GError **error);

/* Second pass, while `open` > 0: looks for hidden tails. */
void gemem_pytorch_state_look (GememPytorchState *state, const GememTraceEvent *event);

/* Pool of the segment around @address at event number @event (from 0); 0 if it is not known to be a
 * private one. */
guint32 gemem_pytorch_state_pool (const GememPytorchState *state, guint64 address, guint64 event);
