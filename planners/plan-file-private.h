/* plan-file-private.h - shared by the readers and writers of plan files. */
#pragma once

#include "base/io/input.h"
#include "planners/plan-file.h"

#define GEMEM_PLAN_SCHEMA "gemem-plan"
#define GEMEM_PLAN_VERSION 1
#define GEMEM_PLAN_MAX \
  (G_GUINT64_CONSTANT (1) << 62) /* offsets and sizes must be smaller, so that no end overflows */

/* An item as written in a file; offset may be GEMEM_NO_OFFSET. */
typedef struct
{
  guint64 id, begin, end, size, alignment, offset;
  guint32 number; /* in the file, from 0 */
} GememPlanRow;

/* Reads a plan with the offsets of @graph's items.  Without a graph, or if the file has `items`:
 * fills @rows (GememPlanRow) for the caller to match, and @gaps (GememLifeGap by number of the row, which is
 * their item), and returns a plan with the other fields of the file. */
GememPlan *gemem_plan_read_json (GememInput *input, const GememGraph *graph, GArray *rows,
                                 GArray *gaps, GError **error);
gboolean gemem_plan_read_csv (GememInput *input, GArray *rows, GArray *gaps, GError **error);
