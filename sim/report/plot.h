/* plot.h - what the files behind gemem_plot_write() share: a group of results, its units, and the
 * pieces of a gnuplot script. */
#pragma once

#include "sim/engine/result.h"

typedef enum
{
  GEMEM_PLOT_COMPARISON,
  GEMEM_PLOT_TIMELINE,
  GEMEM_PLOT_FRAGMENTATION,
  GEMEM_PLOT_CALLS,
  GEMEM_PLOT_MEASURED, /* of runs with measured latencies: the whole time, */
  GEMEM_PLOT_LATENCY,  /* and each call */
  GEMEM_PLOT_RESERVED, /* last: its script reads the data of the timeline and of the calls */
  GEMEM_PLOT_COUNT
} GememPlotKind;

static inline gboolean
gemem_plot_is_over_time (GememPlotKind kind)
{
  return kind == GEMEM_PLOT_TIMELINE || kind == GEMEM_PLOT_FRAGMENTATION;
}

/* A unit of an axis: what one of it is in the unit of the data. */
typedef struct
{
  const char *name;
  const char *divisor; /* as gnuplot reads it */
} GememPlotUnit;

/* The results of one trace, in the order of the tables. */
typedef struct
{
  char *title; /* as in tables, without folders */
  char *slug;  /* for file names: a-z, 0-9, '.', '_' and '-' */
  GPtrArray *results;
} GememPlotGroup;

/* Groups of @results, in order of first occurrence; free with g_ptr_array_unref(). */
GPtrArray *gemem_plot_groups (GememResult *const *results, guint n);
/* Results of @group with at least one point in their timeline. */
guint gemem_plot_timelines (const GememPlotGroup *group);
const char *gemem_plot_kind_name (GememPlotKind kind);

/* Upper end of a byte axis shared by @group: the largest peak (reserved or lower bound) that is not
 * more than GEMEM_PLOT_OUTLIER times the median, of two the larger. One allocator that takes the
 * whole device must not press all others into a line; what is beyond is cut off, and says so. What
 * half of the group needs is never cut: two policies of four that share memory do not make outliers
 * of the others. */
#define GEMEM_PLOT_OUTLIER 3
guint64 gemem_plot_common_top (const GememPlotGroup *group);
/* The same of any number. */
guint64 gemem_plot_common_end (const GememPlotGroup *group,
                               guint64 (*value) (const GememResult *result));
/* The largest. */
guint64 gemem_plot_most (const GememPlotGroup *group, guint64 (*value) (const GememResult *result));
/* "24 of 25 costs are guesses", or NULL: goes beside every modelled time. */
char *gemem_plot_guesses (const GememPlotGroup *group);
/* "/tmp/GPT2 train.gmt" -> "gpt2-train": for file names. */
char *gemem_plot_slug (const char *path);
/* What one result needs of such an axis. */
guint64 gemem_plot_peak (const GememResult *result);

/* KiB, MiB, GiB or TiB by the magnitude of @bytes; ns to s; events, thousands or millions. */
const GememPlotUnit *gemem_plot_size_unit (guint64 bytes);
const GememPlotUnit *gemem_plot_time_unit (guint64 ns);
const GememPlotUnit *gemem_plot_count_unit (guint64 count);

/* @text in one line of at most @max characters (0: all): keys of settings give way first, then the
 * middle. */
char *gemem_plot_shorten (const char *text, guint max);
/* @text between single quotes for gnuplot, one line, at most @max characters (0: all; keys of
 * settings give way, then the middle);
 * @format: for tic labels, where '%' means something. */
void gemem_plot_append_quoted (GString *out, const char *text, guint max, gboolean format);
/* @thousandths / 1000 as a decimal. */
void gemem_plot_append_fraction (GString *out, const char *before, guint thousandths);

/* What is written behind a bar: "16.00 GiB, 15 failed". */
char *gemem_plot_bar_text (const GememResult *result);
/* A column of text in a data file: in double quotes, which gnuplot cannot escape. */
void gemem_plot_append_text (GString *out, const char *text);
/* The data file: a commented header, then rows; exact integers. */
void gemem_plot_data (GString *out, GememPlotKind kind, const GememPlotGroup *group);
/* The script, to be run in the folder of the data; draws BASE.svg and BASE.png from BASE.dat. */
void gemem_plot_script (GString *out, GememPlotKind kind, const GememPlotGroup *group,
                        const char *base);
void gemem_plot_script_comparison (GString *out, const GememPlotGroup *group, const char *base);
void gemem_plot_script_over_time (GString *out, GememPlotKind kind, const GememPlotGroup *group,
                                  const char *base);
void gemem_plot_script_calls (GString *out, const GememPlotGroup *group, const char *base);
/* Of a group for which gemem_plot_has_reserved() (plot-reserved.c): reserved over time in one
 * diagram, and the calls. */
void gemem_plot_script_reserved (GString *out, const GememPlotGroup *group, const char *base);
gboolean gemem_plot_has_reserved (const GememPlotGroup *group);
/* Of a group for which gemem_plot_has_measured() (plot-measured.c). */
gboolean gemem_plot_has_measured (const GememPlotGroup *group);
void gemem_plot_measured_data (GString *out, const GememPlotGroup *group);
void gemem_plot_latency_data (GString *out, const GememPlotGroup *group);
void gemem_plot_script_measured (GString *out, const GememPlotGroup *group, const char *base);
void gemem_plot_script_latency (GString *out, const GememPlotGroup *group, const char *base);
/* Margins of a panel, thousandths of the picture from its left and lower edge. */
void gemem_plot_script_margins (GString *out, guint left, guint right, guint top, guint bottom);
/* Names of the results as tics of the y axis, row i at i; and the px they take. */
#define GEMEM_PLOT_ROW_NAME_MAX 44
void gemem_plot_script_row_names (GString *out, const GememPlotGroup *group);
guint gemem_plot_row_names_width (const GememPlotGroup *group);
/* Opens and closes the loop over the two terminals. */
void gemem_plot_script_begin (GString *out, const char *base, guint width, guint height);
/* The title of the whole picture, undone like a legend. */
void gemem_plot_script_title (GString *out, const GememPlotGroup *group, const char *what,
                              guint height);
void gemem_plot_script_end (GString *out);
/* An entry of a legend: a box, or a line or point with gnuplot's words for how it looks. */
typedef struct
{
  enum
  {
    GEMEM_PLOT_BOX,
    GEMEM_PLOT_LINE,
    GEMEM_PLOT_POINT
  } sample;
  const char *look, *text;
} GememPlotKey;
/* Draws a legend in one line, @y px below the upper edge, from @x px on (0: centred; further left
 * if it is too long), on a picture of @width * @height.  gnuplot's own legend wraps at the width of
 * a panel.  To be undone with `unset label; unset object; unset arrow` after the first plot. */
void gemem_plot_script_legend (GString *out, const GememPlotKey *keys, guint n, guint x, guint y,
                               guint width, guint height);
/* ---- device calls by kind (plot-calls.c), for its own picture and as a part of others */

/* A row per result: modelled ns of each class of calls, then their numbers, then what stands behind
 * the two bars. */
void gemem_plot_calls_data (GString *out, const GememPlotGroup *group);
/* The legend of the classes that occur, as gemem_plot_script_legend() draws it. */
void gemem_plot_calls_legend (GString *out, const GememPlotGroup *group, guint x, guint y,
                              guint width, guint height);
/* Plots stacked bars, row i at y = i, from the gnuplot variable `data`, which names a file of
 * gemem_plot_calls_data(): modelled time, or numbers of calls;
 * @cut: bars far beyond the others are cut off.  Sets the x axis and its label; margins, y axis and
 * legend are the caller's.  @room: px from the left margin to the right one. */
void gemem_plot_calls_panel (GString *out, const GememPlotGroup *group, gboolean time, gboolean cut,
                             guint room);

/* The range and place of points that all panels share. */
typedef struct
{
  guint64 from, to; /* events, or ns if @time */
  gboolean time;
  const GememPlotUnit *unit;
} GememPlotAxis;
void gemem_plot_axis (GememPlotAxis *axis, const GememPlotGroup *group);

/* The program to run: @gnuplot, or the one in PATH if it is NULL; NULL if there is none or @gnuplot
 * is "". */
char *gemem_plot_program (const char *gnuplot);
/* Runs SCRIPT in @dir (NULL: here) with @input on standard input; standard output in *output unless
 * that is NULL.  GEMEM_ERROR_FAILED with gnuplot's own words. */
gboolean gemem_plot_run (const char *program, const char *dir, const char *script,
                         const char *input, char **output, GError **error);
/* TRUE if @end stands in the last 64 bytes of @path; else the file is removed, and @error
 * (GEMEM_ERROR_FAILED) names it. */
gboolean gemem_plot_check_picture (const char *path, const char *end, GError **error);

/* Okabe and Ito's palette, told apart by colour-blind eyes; one meaning each in all pictures. */
#define GEMEM_COLOUR_LIVE "#0072b2"
#define GEMEM_COLOUR_INTERNAL "#e69f00"
#define GEMEM_COLOUR_EXTERNAL "#d4d4d4"
#define GEMEM_COLOUR_ALARM "#d55e00"
#define GEMEM_COLOUR_GOOD "#009e73"
#define GEMEM_COLOUR_INK "#222222"
