/* release-order.h - the probe that checks the order of release: stream synchronisation, then
 * memory, then the device (ge-runtime.md 2.1).
 *
 * Why: work runs long after the host queued it.  Returning memory to the device (free, unmap,
 * release) while queued work still uses a block there faults on a real device and goes unnoticed on
 * a simulated one.  The probe observes trace events and device calls and reports the first
 * violation.
 *
 * Work: a request, use, memset or run on a stream is work queued there; a free is none.  The stream
 * of the request may use the block from its allocation until the program frees it, so all work
 * queued there in between counts.  Other streams use it where the trace says so (USE_ON_STREAM,
 * GRAPH_RUN; up to STREAM_FREE).  Memory that the program has not freed may never be returned.
 * Work ends when: the stream or device is synchronised; the host finds an event recorded after the
 * work complete, or waits for it; another stream that waited for such an event is done;
 * FREE_COMPLETED (for all streams but the block's own); GRAPH_RUN_END; a device call that first
 * waits until the device is idle (GememDevice.waits: free_synchronises, profiles).  Each counts
 * only once the host knows it: the simulated clock proves nothing.  Memory is identified by
 * address: a page destroyed while mapped is returned with its last mapping.  Allocators that manage
 * the memory of graphs report what a run uses (graphs.walk).
 *
 * Invariants: the probe changes no decision; want of space never causes a false report
 * (stream-order.h).  Memory: a record per live block, and pieces of memory with unfinished work,
 * which newer pieces replace: bounded by the held memory, per stream.  Cost: O(log n) per event;
 * O(streams * log n) per device call that returns memory.
 */
#pragma once

#include "allocators/allocator.h"
#include "traces/trace.h"

typedef struct _GememReleaseOrder GememReleaseOrder;

/* Observes @device from now on; @device must outlive the GememReleaseOrder. */
GememReleaseOrder *gemem_release_order_new (GememDevice *device);
void gemem_release_order_free (GememReleaseOrder *order);

/* Call before event @seq reaches the allocator. */
void gemem_release_order_before (GememReleaseOrder *order, const GememTraceEvent *event,
                                 guint64 seq);
/* Call after it: @block tells where block @id for @stream lies. */
void gemem_release_order_served (GememReleaseOrder *order, guint64 id, guint64 stream,
                                 const GememBlock *block);
/* The program releases everything after event @seq; @idle: after waiting for the device. */
void gemem_release_order_release_all (GememReleaseOrder *order, guint64 seq, gboolean idle);

/* FALSE if the order was violated: GEMEM_ERROR_INVARIANT "event N: ...", the first one only. */
gboolean gemem_release_order_check (const GememReleaseOrder *order, GError **error);
