/* lifetimes.h - the lifetimes of a trace's allocations: what off-line planners plan, and what the
 * `plan` allocator replays.
 *
 * Time is the number of an event in the trace, counted from 0 over all events of all devices.  An
 * allocation lives from its ALLOC to its FREE (FREE_COMPLETED where frees come in halves: until
 * then streams may use it); one that is never freed to one past the last event.  What was there
 * when the recording began lives from 0.
 *
 * Ordinals: item i belongs to the i-th ALLOC of the device that did not fail, initial blocks
 * included; FAILED ones have no item and are not counted.  A request of 0 bytes counts as 1, so
 * that it has an address; its tag is 1, of others 0.
 *
 * Cost: one pass; memory linear in the allocations (56 bytes each), because planning is.
 */
#pragma once

#include "base/lifetimes.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* Reads @reader to its end.  @device: only its allocations; -1: those of all devices, in the order
 * of the trace.  `id` is the trace's.
 * Errors: those of the reader; GEMEM_ERROR_INPUT for an id that is allocated while alive, and for
 * more than GEMEM_MOST_LIFETIMES. */
GememLifetimes *gemem_trace_lifetimes (GememTraceReader *reader, int device, GError **error);

#define GEMEM_MOST_LIFETIMES (G_MAXUINT32 / 64)

GEMEM_END_DECLS
