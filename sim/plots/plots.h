/* plots.h - pictures of results and plans: plots drawn by gnuplot, the segment map, plans
 * as rectangles.
 *
 * What they show comes from results (sim/engine/result.h) and checked plans alone; equal ones give
 * equal bytes.  Text goes to a GString or a folder given by the caller.
 */
#pragma once

#include "base/macros.h"
#include "sim/engine/result.h"
#include "sim/plots/canvas.h"
#include "sim/report/plan-report.h"

GEMEM_BEGIN_DECLS

/* ---- style */

typedef enum
{
  GEMEM_PLOT_SVG = 1 << 0,
  GEMEM_PLOT_PNG = 1 << 1,
  GEMEM_PLOT_PDF = 1 << 2,
  GEMEM_PLOT_TIKZ = 1 << 3, /* NAME.tex, for \input */
} GememPlotFormat;

typedef enum
{
  GEMEM_PLOT_SCREEN, /* 1200 px, letters of 13 px; SVG and PNG */
  GEMEM_PLOT_PAPER,  /* no title, letters of 7 pt; PDF of 3.3 and of 7 inch */
  GEMEM_PLOT_SLIDE,  /* 1920 px, letters of 16 pt; SVG and PNG */
} GememPlotLook;

#define GEMEM_PLOT_WIDTHS 4

/* How pictures are drawn; all zero: for a screen. */
typedef struct
{
  GememPlotLook look;
  guint formats;                   /* GememPlotFormat; 0: those of the look */
  guint widths[GEMEM_PLOT_WIDTHS]; /* hundredths of an inch, 0 at the end; none: those of the look.
                                    * Each is drawn; of several, the names of the files tell. */
  gboolean time;                   /* the x axis is time without what is idle, not events */
} GememPlotStyle;

/* Sets *style from the texts of --plot-style ("paper"), --plot-format ("pdf,svg"), --plot-size
 * ("3.3in,7in") and --plot-axis ("time"); each may be NULL.  GEMEM_ERROR_USAGE. */
gboolean gemem_plot_style_parse (GememPlotStyle *style, const char *look, const char *format,
                                 const char *size, const char *axis, GError **error);

/* ---- results */

/* Writes DIR/NAME.dat, .gp and, when gnuplot is found, pictures in @style (NULL: for a screen), for
 * each trace among @results: comparison and calls; with timelines also timeline, fragmentation, and
 * for two to six results reserved; for measured runs also measured and latency; for programs that
 * share a device also programs; of a search sweep, front, capacity and cumulative; of several
 * recordings overall.  Creates DIR.  @gnuplot: the program, or NULL to search PATH; ""
 * draws nothing.  *rendered (or NULL): whether pictures were drawn.  GEMEM_ERROR_FAILED: a file
 * could not be written, or gnuplot failed. */
gboolean gemem_plot_write (const char *dir, const GememPlotStyle *style,
                           GememResult *const *results, guint n, const char *gnuplot,
                           gboolean *rendered, GError **error);

/* The same of the results of a search, which need have no more than settings, peak reserved, modelled time and
 * least capacity: sweep, front and capacity alone.  *@drawn: for how many of these there was anything to
 * show. */
gboolean gemem_plot_search_write (const char *dir, const GememPlotStyle *style,
                                  GememResult *const *results, guint n, const char *gnuplot,
                                  gboolean *rendered, guint *drawn, GError **error);

/* Writes DIR/comparison-SLUG as gemem_plot_write() does, of the recording @path in which there is nothing to be
 * drawn: a picture that says @reason. */
gboolean gemem_plot_nothing_write (const char *dir, const GememPlotStyle *style, const char *path,
                                   const char *reason, const char *gnuplot, gboolean *rendered,
                                   GError **error);

/* Two runs over one axis, which need not be of one recording, for gemem_plot_difference_write(). */
typedef struct
{
  const GememResult *results[2]; /* with timelines */
  const char *names[2];          /* "before.gmt" */
  const char *title;
  gboolean parts; /* they part, after these events */
  guint64 parting[2];
} GememPlotDifference;

/* Writes DIR/difference.dat, .gp and pictures as gemem_plot_write() does: what both hold and have in use, the
 * difference filled. */
gboolean gemem_plot_difference_write (const char *dir, const GememPlotStyle *style,
                                      const GememPlotDifference *difference, const char *gnuplot,
                                      gboolean *rendered, GError **error);

typedef enum
{
  GEMEM_TEXT_COMPARISON,
  GEMEM_TEXT_TIMELINE,
  GEMEM_TEXT_FRAGMENTATION,
  GEMEM_TEXT_PLOTS
} GememTextPlot;

/* Sets *@plot (may be NULL) to that of --plot-terminal=@name ("timeline").  GEMEM_ERROR_USAGE. */
gboolean gemem_plot_text_parse (const char *name, GememTextPlot *plot, GError **error);
/* Appends @plot of each trace as text of @columns characters, without gnuplot; panels over events take
 * about @rows lines together, and at least four each.  Equal results give equal bytes. */
void gemem_plot_text (GString *out, GememResult *const *results, guint n, GememTextPlot plot,
                      guint columns, guint rows, const GememTextLook *look);

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
/* Writes DIR/INPUT-PLANNER.dat, .gp, .svg, and with gnuplot what else @style has, for each result;
 * creates DIR.  @style, @gnuplot, *rendered and errors as in gemem_plot_write(). */
gboolean gemem_plan_plots_write (const char *dir, const GememPlotStyle *style,
                                 const GememPlanResult *results, guint n, const char *gnuplot,
                                 gboolean *rendered, GError **error);

GEMEM_END_DECLS
