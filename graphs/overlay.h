/* overlay.h - which output of a node may be written over which of its inputs while the node runs.
 *
 * In-place planners, lowerings and the checker of plans share this rule.  An output may lie on an
 * input when
 *   - the output refers to it (`reuse_input`), or both are the same named variable;
 *   - attribute `inplace_pairs` (input, output) or `_output_inplace_ability` (output, input) of the
 *     node says so;
 *   - the node has no `inplace_pairs` and its type is on PaddlePaddle's whitelist: first output on
 *     first input.
 * The rule says what the operator permits; the caller checks that no other node reads the input
 * later.  Origin: paddle.md 7, ge-static.md 8.3.  Cost: O(attributes of the node + pairs), and 5
 * comparisons of names.
 */
#pragma once

#include "graphs/graph.h"

GEMEM_BEGIN_DECLS

/* TRUE if @type is one of the 19 operators of FLAGS_enable_inplace_whitelist. */
gboolean gemem_inplace_whitelisted (const char *type);

/* The in-place rule of @node as PaddlePaddle registers them: pairs (input, output), flattened; *n
 * is twice the number of pairs, 0 if there is none. */
const gint64 *gemem_graph_inplace_rule (const GememGraph *graph, guint32 node, guint *n);

/* May output @output of @node lie on its input @input?  Numbers that do not exist: no. */
gboolean gemem_graph_may_overlay (const GememGraph *graph, guint32 node, guint32 input,
                                  guint32 output);

GEMEM_END_DECLS
