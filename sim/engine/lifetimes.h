/* lifetimes.h - the lifetimes of a trace's allocations: the input of off-line planners and of the
 * `plan` allocator.
 *
 * Time is the number of an event in the trace, counted from 0 over all events of all devices; in
 * formats that list lifetimes, the time of the event.  An
 * allocation is alive from its ALLOC to its FREE (to FREE_COMPLETED where frees come in two steps:
 * until then streams may use it); an allocation never freed lives to one past the last event; a
 * block of the initial state lives from 0.  A request that ran out of memory when it was recorded is one
 * like all others; that of an OOM event, with the id GEMEM_REFUSED_ID, lives for that event.
 *
 * Ordinals: item i belongs to the i-th ALLOC or OOM of the device, initial blocks included, and those of 0 bytes.
 *
 * Cost: one pass; memory linear in the allocations (56 bytes each), which planning needs anyway.
 */
#pragma once

#include "base/lifetimes.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* Reads @reader to its end.  @device: only its allocations; -1: those of all devices, in the order
 * of the trace.  Ids are those of the trace.  Errors: those of the reader; GEMEM_ERROR_INPUT for an
 * id that is allocated again while alive, and for more than GEMEM_MOST_LIFETIMES. */
GememLifetimes *gemem_trace_lifetimes (GememTraceReader *reader, int device, GError **error);

/* Takes over what the table of lifetimes that @info has says of the allocations in @lifetimes, all of one trace:
 * alignments, places, gaps, names. */
void gemem_lifetimes_take_table (GememLifetimes *lifetimes, const GememTraceInfo *info);

#define GEMEM_MOST_LIFETIMES (G_MAXUINT32 / 64)

GEMEM_END_DECLS
