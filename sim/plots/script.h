/* script.h - shared by the gnuplot scripts and data files: size, colours, units, quoting,
 * axes, legends.
 *
 * A script is self-contained: `gnuplot NAME.gp` in its folder creates NAME.svg and what else the
 * style has.  The terminals are set `noenhanced`, so that no character of a label ('_', '^', '{',
 * '@') is markup, and labels go through the script's function t(), which is for TeX; fonts, sizes
 * and colours are fixed and independent of the user's settings.
 */
#pragma once

#include "sim/plots/group.h"
#include "sim/plots/style.h"

#define GEMEM_PLOT_ROW 30          /* px of a row of bars */
#define GEMEM_PLOT_HEAD 76         /* px above the rows: title and legends */
#define GEMEM_PLOT_FOOT 76         /* px below them: tics and axis titles */
#define GEMEM_PLOT_LEGEND 54       /* px from the upper edge to the legend */
#define GEMEM_PLOT_CHARACTER 8     /* px of one character */
#define GEMEM_PLOT_TIC 56          /* px between tics of the x axis, at least */
#define GEMEM_PLOT_TIC_UP 36       /* and of the y axis */
#define GEMEM_PLOT_ROW_NAME_MAX 44 /* characters of a row's name */

/* The palette of Okabe and Ito, distinct for colour-blind readers; each colour has one meaning in
 * all pictures. */
#define GEMEM_COLOUR_LIVE "#0072b2"
#define GEMEM_COLOUR_INTERNAL "#e69f00"
#define GEMEM_COLOUR_EXTERNAL "#d4d4d4"
#define GEMEM_COLOUR_ALARM "#d55e00"
#define GEMEM_COLOUR_GOOD "#009e73"
#define GEMEM_COLOUR_INK "#222222"
#define GEMEM_COLOUR_P99 "#cc79a7"

/* What stands before the name of a picture: gemem draws under another name and renames it when it
 * is whole, so that a kill leaves no half picture. */
#define GEMEM_PLOT_INTO "(exists('into') ? into : '')."

/* Removes legends, titles and labels: written after the first plot that shows them. */
#define GEMEM_PLOT_UNSET "unset label\nunset object\nunset arrow\n"

/* ---- units */

/* A unit of an axis: its name, and its size in the unit of the data. */
typedef struct
{
  const char *name;    /* NULL: none is written */
  const char *divisor; /* in gnuplot's syntax */
} GememPlotUnit;

/* The largest unit of which @bytes (B to PiB), @ns (ns to s) or @count (one; from 100000 on
 * thousands, to billions) is at least one. */
const GememPlotUnit *gemem_plot_size_unit (guint64 bytes);
const GememPlotUnit *gemem_plot_time_unit (guint64 ns);
const GememPlotUnit *gemem_plot_count_unit (guint64 count);
/* "time (ms)", or "event" for a unit without a name; g_free(). */
char *gemem_plot_axis_title (const char *what, const GememPlotUnit *unit);

/* The range of the points of all timelines of a group.  Of time, what is idle is cut: a span
 * between two points that is a twentieth of the whole.  All events would else be drawn in a few
 * columns. */
typedef struct
{
  guint64 from, to; /* numbers of events, or ns if @time */
  gboolean time;    /* asked for, and the trace has times */
  const GememPlotUnit *unit;
  char *title;  /* "time (ms)" */
  GArray *cuts; /* guint64: start and end of each, in ns */
} GememPlotAxis;

/* @time: it is asked for. */
void gemem_plot_axis_init (GememPlotAxis *axis, const GememPlotGroup *group, gboolean time);
/* Defines the script's x(value), sets range and tics of the x axis of a panel of @width px, and
 * marks the cuts. */
void gemem_plot_axis_script (GString *out, const GememPlotAxis *axis, guint width);
void gemem_plot_axis_clear (GememPlotAxis *axis);

/* ---- text */

/* "t(\"text\")", @text as below, for labels. */
void gemem_plot_append_label (GString *out, const char *text, guint max, gboolean format);
/* @text in one line of at most @max characters (0: all): keys of settings are shortened first, then
 * the middle is omitted. */
char *gemem_plot_shorten (const char *text, guint max);
/* @text, shortened likewise, as a string of gnuplot.  Everything that gnuplot could take for more
 * than a character (quotes, backslashes, `commands`, @macros, braces) and all that is not ASCII
 * stands there by its number, so that names of files and labels are never script.  @format: for tic
 * labels, doubles '%'. */
void gemem_plot_append_quoted (GString *out, const char *text, guint max, gboolean format);
/* A text column of a data file: in double quotes, which gnuplot cannot escape. */
void gemem_plot_append_text (GString *out, const char *text);
/* "# BEFORETEXT", a line of a data file. */
void gemem_plot_append_comment (GString *out, const char *before, const char *text);

/* ---- pieces of a script; px from the left and the upper edge unless stated */

/* Opens and closes the loop over the terminals, which draw BASE.svg and so on from BASE.dat; the
 * height of @page is known. */
void gemem_plot_script_begin (GString *out, const char *base, const GememPlotPage *page);
void gemem_plot_script_end (GString *out);
/* The title of the whole picture, where @page has one; and, below everything, how many results of
 * @group are not drawn. */
void gemem_plot_script_title (GString *out, const GememPlotGroup *group, const char *what,
                              const GememPlotPage *page);
/* @text at @x px, @y px above the lower edge of the picture, in soft letters. */
void gemem_plot_script_note (GString *out, const char *text, guint x, guint y,
                             const GememPlotPage *page);
/* Begins a picture with a row per result, @row px each, row i at y = i, with title @what, below a
 * legend of @lines; sets the height of @page.  The caller adds legends and row names. */
void gemem_plot_script_begin_rows (GString *out, const GememPlotGroup *group, const char *base,
                                   const char *what, guint row, guint lines, GememPlotPage *page);
/* px above the rows of a picture with a legend of @lines. */
guint gemem_plot_rows_head (const GememPlotPage *page, guint lines);
/* Edges of a panel; @top and @bottom are measured from the lower edge of the picture. */
void gemem_plot_script_margins (GString *out, guint left, guint right, guint top, guint bottom,
                                const GememPlotPage *page);
/* Names of the results as tics of the y axis, row i at i; and their width in px. */
void gemem_plot_script_row_names (GString *out, const GememPlotGroup *group,
                                  const GememPlotPage *page);
guint gemem_plot_row_names_width (const GememPlotGroup *group, const GememPlotPage *page);
/* Writes "24 of 25 costs are guesses" below the panel unless none is: needed beside every modelled
 * time.  @tag: number of the label and a space, or "". */
void gemem_plot_script_guesses (GString *out, const GememPlotGroup *group, const char *tag);

/* Defines, for @group, how the bars of runs in which requests failed are told apart by @column of
 * the data, the number of failed requests: served(y) and failing(y) are y in rows of one kind and
 * undefined in those of the other. */
void gemem_plot_script_failures (GString *out, guint column);
/* Appends the bars of a panel, boxxyerror from (0, @low) to (@value, @high) in @colour: solid, and
 * hatched where requests failed.  Rows are drawn between $1 @low and $1 @high. */
void gemem_plot_script_bars (GString *out, const GememPlotGroup *group, const char *start,
                             const char *value, const char *low, const char *high,
                             const char *colour, const char *title);
/* Tics of @axis, 'x' or 'y', which is @length px long and shows @span, in gnuplot's syntax. */
void gemem_plot_script_tics (GString *out, char axis, guint length, const char *span);
/* The x axis of a panel of @width px, of bars up to @end, in units of @unit, with @text px for what
 * is written behind them.  If @broken, a bar that is far longer is cut off at the end, and so is
 * the axis: both are drawn broken, the bars by what the second appends to the plot, where @value is
 * larger than `end`. */
void gemem_plot_script_bars_axis (GString *out, guint64 end, const GememPlotUnit *unit, guint width,
                                  guint text, gboolean broken, const GememPlotPage *page);
void gemem_plot_script_breaks (GString *out, const char *value);
#define GEMEM_PLOT_HATCH "pattern 4"
/* The entry of a legend for hatched bars. */
#define GEMEM_PLOT_HATCHED_KEY(group) \
  { \
    GEMEM_PLOT_HATCHED, "rgb '" GEMEM_COLOUR_INK "'", gemem_plot_failures_text (group) \
  }

/* The line of what the least placement needs, gemem_plot_optimum(), and its entry. */
#define GEMEM_PLOT_OPTIMUM "least placement"
#define GEMEM_PLOT_OPTIMUM_LINE "dt 3 lw 2 lc rgb '" GEMEM_COLOUR_GOOD "'"
#define GEMEM_PLOT_OPTIMUM_KEY \
  { \
    GEMEM_PLOT_LINE, GEMEM_PLOT_OPTIMUM_LINE, GEMEM_PLOT_OPTIMUM \
  }

/* An entry of a legend: a box, or a line or point in gnuplot's style @look. */
typedef struct
{
  enum
  {
    GEMEM_PLOT_BOX,
    GEMEM_PLOT_HATCHED, /* a box */
    GEMEM_PLOT_LINE,
    GEMEM_PLOT_POINT
  } sample;
  const char *look, *text;
} GememPlotKey;

guint gemem_plot_legend_width (const GememPlotKey *keys, guint n); /* px, in one line */
#define GEMEM_PLOT_LEGEND_ROW 20                                   /* px of a line of a legend */
/* Draws a legend at @y, from @x on (0: centred; further left if too long), in as many lines as the
 * width of @page takes; returns their number.  @out: NULL to count only.  gnuplot's own legend
 * wraps at the width of a panel. */
guint gemem_plot_script_legend (GString *out, const GememPlotKey *keys, guint n, guint x, guint y,
                                const GememPlotPage *page);
