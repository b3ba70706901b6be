/* initial.h - removes the initial state from a trace of any format
 * (GememReadOptions.without_initial).
 *
 * Events flagged GEMEM_EVENT_INITIAL are omitted, and with them every later event about their
 * blocks: free, use on streams, memset.  An id that is allocated again is known from then on.  The
 * fact that the trace has all segments is cleared.
 * Memory: the ids of the omitted blocks that are not freed yet, and one batch.
 */
#pragma once

#include "traces/trace.h"

typedef struct _GememInitialFilter GememInitialFilter;

/* A filter for the events of a trace with the facts @info; the omission is noted in @info. */
GememInitialFilter *gemem_initial_filter_new (GememTraceInfo *info);
void gemem_initial_filter_free (GememInitialFilter *filter);
/* Filters @n > 0 events; *@events may become a copy, valid until the next call.  Returns the number
 * of remaining events, possibly 0. */
gssize gemem_initial_filter_take (GememInitialFilter *filter, const GememTraceEvent **events,
                                  gssize n);
