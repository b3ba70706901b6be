/* plots.h - pictures of results and plans: plots drawn by gnuplot, the segment map, plans
 * as rectangles.
 *
 * What they show comes from results (sim/engine/result.h) and checked plans alone; equal ones give
 * equal bytes.  Text goes to a GString or a folder given by the caller.
 */
#pragma once

#include "base/macros.h"
#include "sim/engine/result.h"
#include "sim/report/plan-report.h"

GEMEM_BEGIN_DECLS

/* ---- results */

/* Writes DIR/NAME.dat, .gp and, when gnuplot is found, .svg and .png, for each trace among
 * @results: comparison and calls; with timelines also timeline, fragmentation, and for two to six
 * results reserved; for measured runs also measured and latency; for programs that share a device
 * also programs.  Creates DIR.  @gnuplot: the
 * program, or NULL to search PATH; "" draws nothing.  *rendered (or NULL): whether pictures were
 * drawn.  GEMEM_ERROR_FAILED: a file could not be written, or gnuplot failed. */
gboolean gemem_plot_write (const char *dir, GememResult *const *results, guint n,
                           const char *gnuplot, gboolean *rendered, GError **error);

/* The plot @name ("comparison", "timeline", "fragmentation") as text of @columns times @rows
 * characters, drawn by gnuplot's terminal `dumb`; g_free().  @gnuplot as above.  GEMEM_ERROR_USAGE:
 * another name; GEMEM_ERROR_FAILED: no gnuplot. */
char *gemem_plot_dumb (GememResult *const *results, guint n, const char *name, guint columns,
                       guint rows, const char *gnuplot, GError **error);

/* Appends the segment map at the reserved peak: a row per segment, a character per page, legend
 * last; @width: columns of the terminal, 0: unlimited.  The result must contain the map. */
void gemem_map_text (GString *out, const GememResult *result, guint width);
/* The same as a complete SVG document; equal results give equal bytes. */
void gemem_map_svg (GString *out, const GememResult *result);

/* From now on gnuplot is ended, and drawing fails with GEMEM_ERROR_INTERRUPTED, as soon as
 * *@interrupted (atomic) is not 0; for the whole process, before threads that draw begin. */
void gemem_plot_stop_when (const gint *interrupted);

/* ---- plans: time across, address up */

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
