/* plan-file-private.h - what the readers and writers of plan files share. */
#pragma once

#include "base/io/input.h"
#include "planners/plan-file.h"

#define GEMEM_PLAN_SCHEMA "gemem-plan"
#define GEMEM_PLAN_VERSION 1
#define GEMEM_PLAN_MAX \
  (G_GUINT64_CONSTANT (1) << 62) /* offsets and sizes are smaller, so that no end overflows */

/* An item as a file has it; offset may be GEMEM_NO_OFFSET. */
typedef struct
{
  guint64 id, begin, end, size, alignment, offset;
  guint32 number; /* in the file, from 0 */
} GememPlanRow;

/* A plan with the offsets of @graph's items; or, without a graph or when the file has `items`, the
 * rows (GememPlanRow) for the caller to match, and a plan that has only what the file says
 * besides. */
GememPlan *gemem_plan_read_json (GememInput *input, const GememGraph *graph, GArray *rows,
                                 GError **error);
gboolean gemem_plan_read_csv (GememInput *input, GArray *rows, GError **error);
