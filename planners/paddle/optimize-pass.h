/* optimize-pass.h - the C++ memory_optimize_pass as a function that returns the whole result, for
 * the planner and for tests. */
#pragma once

#include "planners/paddle/rewrite.h"

typedef struct
{
  int place; /* PADDLE_PLACE_* */
  gboolean enable_subgraph_optimize;
  guint64 alignment;
} PaddleOptimizePass;

PaddleRewrite *gemem_paddle_optimize_pass (const PaddleProgram *program,
                                           const PaddleOptimizePass *settings);
