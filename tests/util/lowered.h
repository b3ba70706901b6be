/* lowered.h - what a lowering makes of a graph, as text and as a peak.
 *
 * Events as text: a ID:SIZE (@STREAM unless 0), m memset, f free, r requested, c completed, u used, e recorded, w waits, s stream sync, S step, D device sync.
 */
#pragma once

#include "workloads/graph.h"

/* The trace of the graph @json lowered by @spec is @expected, and valid. */
void test_lowered_check (const char *json, const char *spec, const char *expected);
/* It is a valid trace. */
void test_lowered_valid (const char *spec, GememGraph *graph);
/* Most bytes alive at once. */
guint64 test_lowered_peak (const char *spec, GememGraph *graph);
