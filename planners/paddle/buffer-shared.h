/* buffer-shared.h - the buffer sharing of PaddlePaddle 1.6 and later as a function that returns the
 * whole result, for the planner and for tests. */
#pragma once

#include "planners/paddle/inplace.h"

typedef struct
{
  gboolean enable_inplace, memory_optimize;
  guint64 alignment;
} PaddleBufferShared;

/* Runs the in-place pass and the cross-operator pass.  `op` of the renames is the node. */
PaddleRewrite *gemem_paddle_buffer_shared (const PaddleProgram *program,
                                           const PaddleBufferShared *settings);
