/* stream-safe.h - PaddlePaddle's StreamSafeCUDAAllocator (2.3 and later): frees a block that other
 * streams use only when they are done with it.
 *
 * Paddle wraps each allocation; here the PaddleGuard is a part of the block.  RecordStream keeps
 * one event per other stream, the latest.  Freeing a block with an incomplete event appends it to
 * the list of its allocator; every request to that allocator checks the list first.  Where the
 * recording says when the free completed (FREE_COMPLETED), the block waits only for that.
 *
 * Invariants: a block on a list is neither live nor free; a block on no list has no list links.
 * Memory: 40 bytes per use, while the block lives.
 * Cost: a use O(streams of the block); a request O(blocks on the list).
 * Origin: paddle.md section 3.4.
 */
#pragma once

#include "allocators/neighbours.h"
#include "base/slab.h"
#include "devices/device.h"

typedef struct _PaddleUse PaddleUse;
typedef struct _PaddleGuard PaddleGuard;

/* Part of an allocated block. */
struct _PaddleGuard
{
  PaddleUse *uses;
  PaddleGuard *previous, *next; /* on the list */
  gboolean deferred;            /* on a list */
  gboolean owed;                /* waits for the recording's FREE_COMPLETED */
};

/* A block of an allocator that uses StreamSafe. */
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

/* Deferred blocks of one allocator, in the order of their frees. */
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

/* RecordStream; @stream must differ from the block's own. */
void gemem_paddle_safe_use (PaddleStreamSafe *safe, PaddleGuard *guard, guint64 stream);
/* Frees the block at once, or appends it to @list. */
void gemem_paddle_safe_free (PaddleStreamSafe *safe, PaddleGuard *guard, PaddleDeferred *list,
                             gboolean completion_follows);
/* The recording says that the free of a block on @list has completed; frees the block. */
void gemem_paddle_safe_complete (PaddleStreamSafe *safe, PaddleGuard *guard, PaddleDeferred *list);
/* Frees the blocks on @list whose events are complete, in order; TRUE if there were any. */
gboolean gemem_paddle_safe_process (PaddleStreamSafe *safe, PaddleDeferred *list);
