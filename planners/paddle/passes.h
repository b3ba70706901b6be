/* passes.h - PaddlePaddle's memory passes as functions that return the whole result, for their
 * planners and for tests. */
#pragma once

#include "planners/paddle/params.h"
#include "planners/paddle/rewrite.h"

/* ---- memory-optimize.c: fluid.memory_optimize() */

enum
{
  PADDLE_SKIP_GRADS_NO,
  PADDLE_SKIP_GRADS_YES,
  PADDLE_SKIP_GRADS_BY_VERSION,
};

typedef struct
{
  guint64 level; /* 0: equal shapes; 1: any shape that fits */
  char *skip_opt_set;
  int skip_grads;
  gboolean print_log;
  int era;
  int rules; /* GememRules */
  guint64 alignment;
} PaddleMemoryOptimize;

/* Renames all lists of @program.  Errors: GEMEM_ERROR_USAGE (skip_opt_set). */
PaddleRewrite *gemem_paddle_memory_optimize (const PaddleProgram *program,
                                             const PaddleMemoryOptimize *settings, GError **error);

/* ---- optimize-pass.c: the C++ memory_optimize_pass */

typedef struct
{
  int place; /* PADDLE_PLACE_* */
  gboolean enable_subgraph_optimize;
  guint64 alignment;
} PaddleOptimizePass;

PaddleRewrite *gemem_paddle_optimize_pass (const PaddleProgram *program,
                                           const PaddleOptimizePass *settings);

/* ---- buffer-shared.c: the buffer sharing of 1.6 and later */

typedef struct
{
  gboolean enable_inplace, memory_optimize;
  guint64 alignment;
} PaddleBufferShared;

/* Runs the in-place pass and the cross-operator pass.  `op` of the renames is the node. */
PaddleRewrite *gemem_paddle_buffer_shared (const PaddleProgram *program,
                                           const PaddleBufferShared *settings);
