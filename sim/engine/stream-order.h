/* stream-order.h - what of the work queued on streams is known to be done: by synchronisation, by
 * events, by one stream waiting for another.
 *
 * Why: whether memory may go back to the device depends on what the host knows, not on what the
 * simulated clock says; a clock that jumps hides the missing wait.  Time is counted in ticks that
 * the user gives: work queued at tick t on a stream is done once the stream is done up to t.
 * Streams are in order; a stream that waits for an event goes on only after it, so that what is
 * done of it proves the other stream's work too.
 *
 * Invariants: `done` never falls.  What is forgotten for want of space (EVENTS_MAX marks, WAITS_MAX
 * waits of a stream) is believed to be done: the answer "still at work" is always true, so a user
 * never complains falsely.
 * Memory: streams * WAITS_MAX at most; nothing per event of the trace.  Cost: O(1) amortised per
 * call.
 */
#pragma once

#include "base/idmap.h"
#include "base/slab.h"

typedef struct
{
  guint64 stream;
  guint64 queued; /* tick of the last work */
  guint64 done;   /* all work up to this tick is done */
  GArray *waits;  /* of stream-order.c; NULL: none */
} GememStreamState;

/* Events by key: recorded on some stream at some tick.  Several may have the same key where a
 * device cannot tell them apart. */
typedef struct
{
  GememIdMap *map; /* key -> chain of marks */
  GememSlab slab;
  guint64 n;
} GememStreamMarks;

typedef struct
{
  GArray *streams;                    /* GememStreamState, in the order of their first work */
  GememIdMap *index;                  /* stream -> index */
  GememStreamMarks traced, of_device; /* events of the trace; of the allocator, by handle */
  GArray *pending;                    /* scratch of complete() */
} GememStreamOrder;

void gemem_stream_order_init (GememStreamOrder *order);
void gemem_stream_order_clear (GememStreamOrder *order);

/* Index of @stream in order->streams. */
guint gemem_stream_order_index (GememStreamOrder *order, guint64 stream);

static inline GememStreamState *
gemem_stream_order_at (const GememStreamOrder *order, guint index)
{
  return &g_array_index (order->streams, GememStreamState, index);
}

/* Stream @index is done up to @tick, and with it what it waited for until then. */
void gemem_stream_order_complete (GememStreamOrder *order, guint index, guint64 tick);
/* All streams are. */
void gemem_stream_order_complete_all (GememStreamOrder *order, guint64 tick);

/* Event @key marks what is queued on stream @index up to @tick; @again: it no longer stands for
 * what it marked before. */
void gemem_stream_order_record (GememStreamOrder *order, GememStreamMarks *marks, guint64 key,
                                guint index, guint64 tick, gboolean again);
/* Stream @index goes on after @key only, from @tick on.  An unknown event is one long done. */
void gemem_stream_order_wait (GememStreamOrder *order, GememStreamMarks *marks, guint64 key,
                              guint index, guint64 tick);
/* The host knows that event @key is complete. */
void gemem_stream_order_reached (GememStreamOrder *order, GememStreamMarks *marks, guint64 key);
