/* plan-report.h - reports about plans: tables, JSON, CSV, Markdown, pictures.
 *
 * A row per plan, a group of rows per input.  One list of columns (plan-report.c) feeds all
 * formats.  Planning time is measured on the host: it is a column only when asked for, and no other
 * number depends on it.  Pictures: time across, address up (plan-picture.h).
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
} GememPlanResult;

typedef struct
{
  gboolean time; /* include planning times */
  guint width;   /* terminal width for the table; 0: unlimited */
} GememPlanReportOptions;

/* Appends the report of @n @results to @out; results of one input must be adjacent.  JSON: schema
 * "gemem-plans", version 1.  O(results + their items). */
void gemem_plan_report (GString *out, GememReportFormat format, const GememPlanResult *results,
                        guint n, const GememPlanReportOptions *options);

/* Appends one plan as an SVG document: the same bytes everywhere. */
void gemem_plan_svg (GString *out, const GememPlanResult *result);
/* Appends one plan for a terminal: rows of addresses, columns of time, at most @width characters
 * wide (0: 100). */
void gemem_plan_map (GString *out, const GememPlanResult *result, guint width);
/* Writes DIR/INPUT-PLANNER.svg, .dat, .gp, and with gnuplot .png, for each result; creates DIR.
 * @gnuplot, *rendered and errors as in gemem_plot_write(). */
gboolean gemem_plan_plots_write (const char *dir, const GememPlanResult *results, guint n,
                                 const char *gnuplot, gboolean *rendered, GError **error);

GEMEM_END_DECLS
