/* release-order.h - the probe of the order of release: stream synchronisation, then memory, then
 * the device (ge-runtime.md 2.1).
 *
 * Why: work runs long after the host queued it.  Memory that goes back to the device (free, unmap,
 * release) while a stream still has work that uses a block which lay there is a fault on a real
 * device and nothing at all on a simulated one.  The probe watches the events of the trace and the
 * calls of the allocator, and finds the first time that it happens.
 *
 * What is work: the stream of the request may use the block from its allocation until the program
 * lets go of it, so that any work queued there up to then counts (a request, a use, a memset or a
 * run on a stream is work queued there; a free is none).  Another stream uses it where the trace
 * says so (USE_ON_STREAM, GRAPH_RUN; up to STREAM_FREE).  Memory that is still in the program's
 * hands may never go back.
 * What ends it: the stream or the device is synchronised; an event recorded after the work is found
 * complete or waited for by the host; another stream that waited for such an event is done;
 * FREE_COMPLETED, for all streams but the block's own; GRAPH_RUN_END; a device call that waits
 * until the device is idle before it does its work (GememDevice.waits: free_synchronises,
 * profiles).  All of it counts only from the moment when the host knew: the simulated clock proves
 * nothing.
 * Where memory lies is known by address: a page that is destroyed while it is mapped goes with its
 * last mapping.  Allocators that keep the memory of graphs themselves are asked what a run uses
 * (graphs.walk).
 *
 * Invariants: it decides nothing and changes nothing; a violation is never reported falsely for
 * want of room (stream-order.h).
 * Memory: a record per live block, and the pieces of memory with unfinished work, which are
 * replaced by those that are put over them: bounded by what is held, per stream.  Cost: O(log n)
 * per event; per device call that gives memory back O(streams * log n).
 */
#pragma once

#include "allocators/allocator.h"
#include "traces/trace.h"

typedef struct _GememReleaseOrder GememReleaseOrder;

/* Watches @device from now on; @device must live until gemem_release_order_free(). */
GememReleaseOrder *gemem_release_order_new (GememDevice *device);
void gemem_release_order_free (GememReleaseOrder *order);

/* Before event @seq reaches the allocator. */
void gemem_release_order_before (GememReleaseOrder *order, const GememTraceEvent *event,
                                 guint64 seq);
/* After it: block @id for @stream is where @block says. */
void gemem_release_order_served (GememReleaseOrder *order, guint64 id, guint64 stream,
                                 const GememBlock *block);
/* After a GRAPH_RUN: the work of graph @id on @stream uses the memory that @allocator says (it has
 * a graphs.walk). */
void gemem_release_order_ran (GememReleaseOrder *order, guint64 id, guint64 stream,
                              GememAllocator *allocator);
/* The program lets go of everything it has, after event @seq; @idle: having waited for the
 * device. */
void gemem_release_order_let_go (GememReleaseOrder *order, guint64 seq, gboolean idle);

/* FALSE if the order was violated: GEMEM_ERROR_INVARIANT "event N: ...", the first one only. */
gboolean gemem_release_order_check (const GememReleaseOrder *order, GError **error);
