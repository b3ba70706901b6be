/* lowering-check.h - checks traces of the lowering `paddle` against a second, naive run of the
 * graph.
 *
 * Checked of every trace: the memory that a node uses is allocated and large enough while the node
 * runs, and its use on other streams is announced. Tensors that share memory without a reference
 * are a legal in-place pair, one after the other. Garbage is freed exactly when 5.1-5.3 say, with
 * the threshold counted and the last operators found naively. Workspaces of P13 and P14 are
 * allocated and released as in 4. Each allocation is filled where it must be. After a step only
 * persistable memory and what its scope leaves to the next step is live, at the end nothing. The
 * trace is valid, and the same when the graph is read again. Origin: paddle.md 1.2, 1.3, 4-7.
 */
#pragma once

#include "graphs/graph.h"

/* @settings: of `paddle`, "key=value,..." without time_per_node. FALSE: `paddle` refuses them
 * with a reason. Fails the test on the first broken rule. */
gboolean test_lowering_check (GememGraph *graph, const char *settings);
