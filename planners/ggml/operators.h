/* operators.h - which operators ggml lets write over a source, by their names in many systems.
 *
 * Why: graphs of gemem have the types of PyTorch, ONNX, PaddlePaddle, GE or ggml itself.
 *
 * A type is compared without what surrounds the name (a namespace as in "aten::add", a leading
 * "elementwise_", underscores) and without regard to case.  Where a name means other things in two
 * systems, what the graph says of the node decides (graphs/inplace.h).
 * Origin: peers.md section 1l.2.
 */
#pragma once

#include <glib.h>

/* TRUE if nodes of @type are operators that ggml runs in place. */
gboolean gemem_ggml_runs_in_place (const char *type);
