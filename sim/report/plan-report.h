/* plan-report.h - reports about plans: tables, JSON, CSV, Markdown.
 *
 * A row per plan, a group of rows per input; for people the smallest first, and over several inputs a last group of means
 * (plan-overall.c).  One list of columns (plan-report.c) feeds all formats.  Planning time is measured on the host: it is a column only when asked for, and no other
 * number depends on it.
 */
#pragma once

#include "base/macros.h"
#include "planners/planner.h"
#include "sim/report/report.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  const char *input;        /* as the user named it */
  const GememPlanInput *of; /* the planner's input */
  const char *planner;      /* name; the plan has the label */
  GememPlan *plan;          /* checked */
  guint64 bound;            /* set by the report */
} GememPlanResult;

typedef struct
{
  gboolean time;  /* include planning times */
  guint width;    /* terminal width for the table; 0: unlimited */
  gboolean peaks; /* say below the table what decides the peak of each plan */
} GememPlanReportOptions;

/* Appends the report of @n @results to @out; results of one input must be adjacent.  JSON: schema
 * "gemem-plans", version 1.  O(results + their items). */
void gemem_plan_report (GString *out, GememReportFormat format, const GememPlanResult *results,
                        guint n, const GememPlanReportOptions *options);

GEMEM_END_DECLS
