/* plots-private.h - what the files of the folder offer each other.
 *
 * The pictures of a group of results, one file each: NAME_data() writes the rows of its .dat, exact
 * integers, and NAME_script() the .gp that draws BASE.svg and so on from it, on a page of the width
 * of @page, whose height it sets.
 */
#pragma once

#include "sim/plots/picture.h"
#include "sim/plots/script.h"
#include "sim/report/plan-report.h"

/* comparison.c */
void gemem_plot_comparison_data (GString *out, const GememPlotGroup *group);
void gemem_plot_comparison_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                   const char *base);
/* The text after the bar of a result: "16.00 GiB, 15 failed"; g_free(). */
char *gemem_plot_bar_text (const GememResult *result);

/* over-time.c: for a group with timelines */
void gemem_plot_timeline_data (GString *out, const GememPlotGroup *group);
void gemem_plot_timeline_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                 const char *base);
void gemem_plot_fragmentation_data (GString *out, const GememPlotGroup *group);
void gemem_plot_fragmentation_script (GString *out, const GememPlotGroup *group,
                                      GememPlotPage *page, const char *base);

/* Sets the variable `failures`, positions of failed requests: the first point of the timeline at or
 * after each; @time: by time, else by event.  Returns their number; 0: it is not set. */
guint gemem_plot_append_failures (GString *out, const GememResult *result, gboolean time);
/* ", 3 failed" for a title, and how many of them are marked if not all are; "" if none failed. */
char *gemem_plot_failed_text (const GememResult *result);

/* programs.c: for results of programs that share a device */
gboolean gemem_plot_has_programs (const GememPlotGroup *group);
void gemem_plot_programs_data (GString *out, const GememPlotGroup *group);
void gemem_plot_programs_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                 const char *base);

/* calls.c */
void gemem_plot_calls_data (GString *out, const GememPlotGroup *group);
void gemem_plot_calls_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                              const char *base);
/* measured.c: for a group with measured latencies */
gboolean gemem_plot_has_measured (const GememPlotGroup *group);
void gemem_plot_measured_data (GString *out, const GememPlotGroup *group);
void gemem_plot_measured_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                 const char *base);
void gemem_plot_latency_data (GString *out, const GememPlotGroup *group);
void gemem_plot_latency_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                const char *base);

/* reserved.c: for two to six results with timelines.  The script reads the data of the timeline. */
gboolean gemem_plot_has_reserved (const GememPlotGroup *group);
void gemem_plot_reserved_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                 const char *base);

/* sweep.c: GememPlotGroup, each with results of one allocator that differ in one setting, or in two: the
 * group itself, or where more differ, parts of it around the result that needs least; empty: it is no
 * search.  g_ptr_array_unref() */
GPtrArray *gemem_plot_sweeps (const GememPlotGroup *group);
void gemem_plot_sweep_data (GString *out, const GememPlotGroup *group);
void gemem_plot_sweep_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                              const char *base);

/* front.c: for three results or more that differ in memory or time */
gboolean gemem_plot_has_front (const GememPlotGroup *group);
void gemem_plot_front_data (GString *out, const GememPlotGroup *group);
void gemem_plot_front_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                              const char *base);

/* capacity.c: for results of --find-capacity */
gboolean gemem_plot_has_capacity (const GememPlotGroup *group);
void gemem_plot_capacity_data (GString *out, const GememPlotGroup *group);
void gemem_plot_capacity_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                 const char *base);

/* cumulative.c: for two results or more with modelled latencies */
gboolean gemem_plot_has_cumulative (const GememPlotGroup *group);
void gemem_plot_cumulative_data (GString *out, const GememPlotGroup *group);
void gemem_plot_cumulative_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                   const char *base);

/* overall.c: several recordings in one picture; NULL if there are fewer than two, or fewer than two
 * allocators */
typedef struct _GememPlotOverall GememPlotOverall;
GememPlotOverall *gemem_plot_overall_new (GememResult *const *results, guint n);
void gemem_plot_overall_free (GememPlotOverall *overall);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememPlotOverall, gemem_plot_overall_free)
void gemem_plot_overall_data (GString *out, const GememPlotOverall *overall);
void gemem_plot_overall_script (GString *out, const GememPlotOverall *overall, GememPlotPage *page,
                                const char *base);

/* ---- plot.c: every picture of a group of results by its kind */

typedef enum
{
  GEMEM_PLOT_COMPARISON,
  GEMEM_PLOT_TIMELINE,
  GEMEM_PLOT_FRAGMENTATION,
  GEMEM_PLOT_CALLS,
  GEMEM_PLOT_MEASURED,
  GEMEM_PLOT_LATENCY,
  GEMEM_PLOT_PROGRAMS,
  GEMEM_PLOT_SWEEP,
  GEMEM_PLOT_FRONT,
  GEMEM_PLOT_CAPACITY,
  GEMEM_PLOT_CUMULATIVE,
  GEMEM_PLOT_RESERVED, /* last: its script reads the data of the timeline */
  GEMEM_PLOT_COUNT
} GememPlotKind;

/* The data file: comment lines, then rows; empty where the script reads data of others. */
void gemem_plot_data (GString *out, GememPlotKind kind, const GememPlotGroup *group);
/* The script, to be run in the folder of the data; it draws BASE.svg and so on from BASE.dat. */
void gemem_plot_script (GString *out, GememPlotKind kind, const GememPlotGroup *group,
                        GememPlotPage *page, const char *base);

/* Appends the script of @drawn for @page, whose height it sets; it reads BASE.dat. */
typedef void (*GememPlotScript) (GString *out, gconstpointer drawn, GememPlotPage *page,
                                 const char *base);
/* Writes DIR/NAME.dat and, for each width of @style, the script, which @program (NULL: none) runs. */
gboolean gemem_plot_write_one (const char *dir, const GememPlotStyle *style, const char *name,
                               const GString *data, GememPlotScript script, gconstpointer drawn,
                               const char *program, GError **error);

/* ---- plan-picture.c: a plan as a picture of fixed size */

/* As wide as @page, or as wide as it must be; gemem_picture_free(). */
GememPicture *gemem_plan_picture (const GememPlanResult *result, const GememPlotPage *page);

/* ---- render.c: runs gnuplot */

/* The program to run: @gnuplot, or if NULL the one in PATH; NULL if there is none or @gnuplot is
 * "". g_free(). */
char *gemem_plot_program (const char *gnuplot);
/* Writes DIR/BASEENDING. */
gboolean gemem_plot_write_part (const char *dir, const char *base, const char *ending,
                                const GString *text, GError **error);
/* Draws the formats of @style, without those of @without (bits), by DIR/BASE.gp, which exists.
 * GEMEM_ERROR_FAILED: gnuplot failed, or a picture is incomplete, which is then removed. */
gboolean gemem_plot_render (const char *program, const char *dir, const char *base,
                            const GememPlotStyle *style, guint without, GError **error);
