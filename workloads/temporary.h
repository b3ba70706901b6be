/* temporary.h - PaddlePaddle's temporary allocator (1.3-1.5): released scratch memory of operators
 * is queued and reused.
 *
 * One queue per stream, ordered by size, first come first served among equals.  A request of n
 * bytes takes the smallest block of at least n bytes if the block has less than n x `times`, as
 * documented not more than that; the block keeps its size.  A block that is released is queued;
 * when the queue then holds more than `limit` bytes (limit > 0, as documented also 0), the stream
 * is waited for and all blocks of the queue are freed, smallest first.
 *
 * The lowering uses it to decide which workspaces of a graph become requests; a block is the number
 * of the storage that was allocated for it.  Sizes of blocks are those that the allocator below
 * reports: requested bytes in legacy, 64 more in naive_best_fit (1.2).  Cost: O(log queued) a
 * request.  Origin: paddle.md 4, E16.
 */
#pragma once

#include "base/macros.h"
#include "base/rules.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct _GememTemporary GememTemporary;

/* Callbacks when a queue is emptied: the wait, then each block. */
typedef struct
{
  void (*synchronise) (gpointer data, guint64 stream);
  void (*release) (gpointer data, guint32 block);
} GememTemporaryHooks;

/* @limit: bytes; below 0, and as built 0, none.  @times >= 0. */
GememTemporary *gemem_temporary_new (GememRules rules, gint64 limit, double times,
                                     const GememTemporaryHooks *hooks, gpointer data);
void gemem_temporary_free (GememTemporary *temporary);
/* TRUE: *block, a queued block, serves a request of @size bytes and leaves the queue. */
gboolean gemem_temporary_allocate (GememTemporary *temporary, guint64 stream, guint64 size,
                                   guint32 *block);
/* Queues @block, of @size bytes as its allocator reports it. */
void gemem_temporary_release (GememTemporary *temporary, guint64 stream, guint64 size,
                              guint32 block);
/* The context waits: empties every queue, in the order of the streams' first use. */
void gemem_temporary_flush (GememTemporary *temporary);

GEMEM_END_DECLS
