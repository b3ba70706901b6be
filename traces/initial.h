/* initial.h - a trace without the state from before the recording
 * (GememReadOptions.without_initial): of any format, in one place.
 *
 * What is flagged GEMEM_EVENT_INITIAL is left out, and with it every later event about a block that
 * is then unknown: its free, its use on streams, what sets it.  An id that is allocated again is
 * known from there on.  The trace says no longer that it has all segments.
 * Memory: the ids of the blocks left out that are not freed yet, and one batch.
 */
#pragma once

#include "traces/trace.h"

typedef struct _GememInitialFilter GememInitialFilter;

/* A filter for the events that have the facts @info, where it is noted. */
GememInitialFilter *gemem_initial_filter_new (GememTraceInfo *info);
void gemem_initial_filter_free (GememInitialFilter *filter);
/* What is left of @n > 0 events: *events may become a copy, valid until the next call.  Returns how
 * many, perhaps 0. */
gssize gemem_initial_filter_take (GememInitialFilter *filter, const GememTraceEvent **events,
                                  gssize n);
