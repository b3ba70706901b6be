/* stream-safe.h - PaddlePaddle's StreamSafeCUDAAllocator (2.3 and later): a block that other
 * streams use comes back when they are done.
 *
 * A wrapper in Paddle, a part of the block here: RecordStream keeps one event for each other
 * stream, the latest; a free with an event that is not complete puts the block on the list of its
 * allocator, which every request there looks through first.  Where a recording says itself when the
 * block came back (FREE_COMPLETED), it waits for that and for no event.
 *
 * Invariants: a block on a list is neither live nor free; a block that is not has no list links.
 * Memory: 40 bytes per use, while the block lives.
 * Cost: a use O(streams of the block); a request O(blocks on the list).  Origin: paddle.md
 * section 3.4.
 */
#pragma once

#include "allocators/neighbours.h"
#include "base/slab.h"
#include "devices/device.h"

typedef struct _PaddleUse PaddleUse;
typedef struct _PaddleGuard PaddleGuard;

/* Part of a block, while that is allocated. */
struct _PaddleGuard
{
  PaddleUse *uses;
  PaddleGuard *previous, *next; /* on the list */
  gboolean deferred;            /* on a list */
  gboolean owed;                /* its completion will be told */
};

/* A block of an allocator under StreamSafe. */
typedef struct
{
  GememNeighbour place; /* first */
  PaddleGuard guard;
} PaddleBlock;

static inline PaddleGuard *
gemem_paddle_guard (const GememNeighbour *block)
{
  return &((PaddleBlock *) (gpointer) block)->guard;
}

static inline GememNeighbour *
gemem_paddle_guarded (PaddleGuard *guard)
{
  return (gpointer) ((char *) guard - G_STRUCT_OFFSET (PaddleBlock, guard));
}

/* Blocks of one allocator that wait, in the order of their frees. */
typedef struct
{
  PaddleGuard *first, *last;
} PaddleDeferred;

typedef struct
{
  GememDevice *device;
  GememSlab use_slab;
  guint64 deferred;                                    /* blocks on all lists */
  void (*release) (gpointer data, PaddleGuard *guard); /* frees the block */
  gpointer data;
} PaddleStreamSafe;

void gemem_paddle_safe_init (PaddleStreamSafe *safe, GememDevice *device,
                             void (*release) (gpointer data, PaddleGuard *guard), gpointer data);
void gemem_paddle_safe_clear (PaddleStreamSafe *safe);

/* RecordStream: @stream is not the block's own. */
void gemem_paddle_safe_use (PaddleStreamSafe *safe, PaddleGuard *guard, guint64 stream);
/* Free: released at once, or put on @list. */
void gemem_paddle_safe_free (PaddleStreamSafe *safe, PaddleGuard *guard, PaddleDeferred *list,
                             gboolean completion_follows);
/* The recording says that the block, which is on @list, was freed: released. */
void gemem_paddle_safe_complete (PaddleStreamSafe *safe, PaddleGuard *guard, PaddleDeferred *list);
/* Releases what is done on @list, in order; whether anything was. */
gboolean gemem_paddle_safe_process (PaddleStreamSafe *safe, PaddleDeferred *list);
