/* stream-order.h - which work queued on streams is known to be complete: by synchronisation, by
 * events, by one stream waiting for another.
 *
 * Why: whether memory may be returned to the device depends on what the host knows, not on the
 * simulated clock, which jumps and so hides a missing wait.  Time is counted in ticks that the
 * caller chooses: work queued at tick t on a stream is complete once the stream is complete up to
 * t.  Work on a stream is ordered; a stream that waits for an event runs later work only after it,
 * so completed work of the stream proves the other stream's work complete too.
 *
 * Invariants: `done` never decreases.  What is dropped for want of space (EVENTS_MAX marks,
 * WAITS_MAX waits of a stream) is taken to be complete: the answer "still running" is always true,
 * so a caller never reports a false violation.  Memory: streams * WAITS_MAX at most; nothing per
 * event of the trace.  Cost: O(1) amortised per call.
 */
#pragma once

#include "base/idmap.h"
#include "base/slab.h"

typedef struct
{
  guint64 stream;
  guint64 queued; /* tick of the last work */
  guint64 done;   /* all work up to this tick is complete */
  GArray *waits;  /* private to stream-order.c; NULL: none */
} GememStreamState;

/* Events by key, each recorded on one stream at one tick.  Several events share a key where a
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
  GememStreamMarks traced, of_device; /* events of the trace; the allocator's events, by handle */
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

/* Marks stream @index complete up to @tick, and the streams it had waited for until then. */
void gemem_stream_order_complete (GememStreamOrder *order, guint index, guint64 tick);
/* The same for all streams. */
void gemem_stream_order_complete_all (GememStreamOrder *order, guint64 tick);

/* Event @key marks the work queued on stream @index up to @tick; @again: @key loses what it marked
 * before. */
void gemem_stream_order_record (GememStreamOrder *order, GememStreamMarks *marks, guint64 key,
                                guint index, guint64 tick, gboolean again);
/* From @tick on, work of stream @index runs after event @key.  An unknown event is complete. */
void gemem_stream_order_wait (GememStreamOrder *order, GememStreamMarks *marks, guint64 key,
                              guint index, guint64 tick);
/* The host knows that event @key is complete. */
void gemem_stream_order_reached (GememStreamOrder *order, GememStreamMarks *marks, guint64 key);
