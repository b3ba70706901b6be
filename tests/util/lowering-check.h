/* lowering-check.h - does a trace of the lowering `paddle` keep the rules? The graph run once more,
 * naively, beside the trace.
 *
 * Asked of every trace: what a node uses is allocated, large enough, and on other streams
 * announced, while the node runs; who shares memory without a reference is a legal in-place pair,
 * one after the other; garbage goes exactly when 5.1-5.3 say, with the threshold counted and the
 * last operators found in the plainest way; workspaces of P13 and P14 are taken and given as in 4;
 * each allocation is filled where it must be; after a step live what persists and what its scope
 * leaves to the next, at the end nothing; the trace is valid, and the same from the same graph read
 * again.  Origin: paddle.md 1.2, 1.3, 4-7.
 */
#pragma once

#include "graphs/graph.h"

/* @settings: of `paddle`, "key=value,..." without time_per_node.  FALSE: refused, with a reason.
 * Fails the test on the first rule that is broken. */
gboolean test_lowering_check (GememGraph *graph, const char *settings);
