/* idle.h - memory that is held and not in use, by cause: what lies in the caches of other streams, in
 * private pools, beside blocks in use, and so on.
 *
 * Why: "60 GiB reserved, 2 live" is no answer; which part of it empties how is.
 *
 * Invariants: the bytes of the rows add up to reserved - live; what the spans of the allocator do not
 * explain is a row of its own (GEMEM_IDLE_ALLOCATOR), and all of it is where they explain more than
 * there is.  Reads only.
 * Cost: nothing per event; O(spans log spans + live log live) when it is taken.  Which event is the peak
 * is known only at the end, so a second pass ends there (jobs.c).
 */
#pragma once

#include "sim/engine/pins.h"
#include "sim/engine/run.h"

/* Replaces the contents of @rows, GememIdleRow, by the state now, and adds what blocks keep to @pins (NULL:
 * nobody asks); @stream and @pool: of the request that cannot use what lies elsewhere. */
void gemem_idle_take (GememRun *run, guint64 stream, guint32 pool, GArray *rows, GememPins *pins);

/* The cause (GememIdleCause) of each of @spans, those of the allocator now (gemem_spans_of()), by which
 * what is free or waits there counts above; GEMEM_IDLE_CAUSES: it does neither.  @rows_of_live: of
 * gemem_live_rows(). */
GArray *gemem_idle_causes (GememRun *run, guint64 stream, guint32 pool, const GArray *spans,
                           GArray *rows_of_live);

/* The same as gemem_idle_take() into the result, where an event of @stream and @pool was the last one. */
void gemem_idle_keep (GememRun *run, guint64 stream, guint32 pool, GememPins *pins);
