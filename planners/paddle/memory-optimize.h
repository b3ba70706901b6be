/* memory-optimize.h - fluid.memory_optimize() as a function that returns the whole result, for the
 * planner and for tests. */
#pragma once

#include "planners/paddle/rewrite.h"

/* Releases that decide differently (paddle.md 13.2).  PADDLE_ERA_1_3 serves 1.3 and 1.4. */
enum
{
  PADDLE_ERA_1_3,   /* the pool is sorted, dynamic batches first, then by size */
  PADDLE_ERA_1_2,   /* 1.2 and before: the pool is in order of arrival */
  PADDLE_ERA_1_5,   /* as 1.3; skip_grads unless told otherwise */
  PADDLE_ERA_UNTYPED, /* 2019-02-01, between 1.2 and 1.3: as 1.3, whatever the element types */
};

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
