/* random-program.h - random training programs for tests, as PaddlePaddle would run them: weights
 * and their gradients (some in half precision), fed and fetched variables, variables that are
 * written again with other sizes, workspaces, shape-only inputs, in-place rules, an optimizer.
 *
 * The same seed and number of operators give the same graph everywhere. Complements random-graph.h,
 * which has the features of GE.
 */
#pragma once

#include "graphs/graph.h"

/* A sealed graph of about @operators operators (at least 2), on @streams streams; free with
 * gemem_graph_unref(). */
GememGraph *test_random_program (guint64 seed, guint operators, guint streams);
