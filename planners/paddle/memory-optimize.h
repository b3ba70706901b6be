/* memory-optimize.h - fluid.memory_optimize() as a function that returns the whole result, for the
 * planner and for tests. */
#pragma once

#include "planners/paddle/rewrite.h"

enum
{
  PADDLE_ERA_1_3, /* 1.3 and 1.4: the pool is sorted, dynamic batches first, then by size */
  PADDLE_ERA_1_2, /* 1.2 and before: the pool is in order of arrival */
};

typedef struct
{
  guint64 level; /* 0: equal shapes; 1: any shape that fits */
  char *skip_opt_set;
  gboolean skip_grads, print_log;
  int era;
  guint64 alignment;
} PaddleMemoryOptimize;

/* Renames all lists of @program.  Errors: GEMEM_ERROR_USAGE (skip_opt_set). */
PaddleRewrite *gemem_paddle_memory_optimize (const PaddleProgram *program,
                                             const PaddleMemoryOptimize *settings, GError **error);
