/* memory-optimize.h - fluid.memory_optimize() as a function that returns the whole result, for the
 * planner and for tests. */
#pragma once

#include "planners/paddle/params.h"
#include "planners/paddle/rewrite.h"

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
