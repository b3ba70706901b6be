/* lowered.h - what a lowering makes of a graph, as text and as a peak.
 *
 * Events as text: a ID:SIZE (@STREAM unless 0), m memset, f free, r requested, c completed, u used,
 * e recorded, w waits, s stream sync, S step, D device sync.
 */
#pragma once

#include "graphs/graph.h"

/* Checks that the trace of the graph @json lowered by @spec is @expected, and valid. */
void test_lowered_check (const char *json, const char *spec, const char *expected);
/* The same for a graph of @nodes alone, as text between "[" and "]". */
void test_lowered (const char *nodes, const char *spec, const char *expected);
/* Checks that @spec is refused for @graph as bad usage, with @text in the message. */
void test_lowered_refused (const char *spec, GememGraph *graph, const char *text);
/* Free with g_free(). */
char *test_lowered_text (const char *spec, GememGraph *graph);
/* Checks that the trace is valid. */
void test_lowered_valid (const char *spec, GememGraph *graph);
/* The largest number of bytes live at once. */
guint64 test_lowered_peak (const char *spec, GememGraph *graph);
