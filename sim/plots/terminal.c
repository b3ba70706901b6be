/* terminal.c - plots as text: what a person over ssh, without gnuplot and without a browser, sees of a run.
 *
 * timeline: a panel for each result, live memory full, what is reserved beside it shaded; fragmentation: what is reserved and not allocated,
 * as a share; comparison: a bar for each result.  A column of a panel stands for some events and shows the largest value within them, so no
 * peak is lost.  What the least placement needs is a line where no memory is live.  Without UTF-8 a full cell is '#', one that is less than half full '_', a shaded one '.'; the segment map uses the same.
 *
 * Why panels and not lines: lines of characters cross and hide one another, and cannot be told apart without colours.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/units.h"
#include "sim/plots/canvas.h"
#include "sim/plots/map.h"
#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"

#define MIN_COLUMNS 40
#define LEFT 11      /* columns before the edge of a panel */
#define MIN_HEIGHT 4 /* rows of a panel */
#define MAX_HEIGHT 12
#define PANELS 6
#define EIGHTHS 8 /* of a row */
#define LOWER_BLOCK 0x2580
#define SHADE 0x2591
#define HATCH 0x2592
#define EDGE 0x2502
#define FLOOR 0x2500
#define LEAST 0x2504    /* a line across, of the least placement; */
#define LEAST_UP 0x2506 /* upwards */

typedef struct
{
  GememCanvas *canvas;
  guint columns; /* of the canvas */
  guint width;   /* columns of a panel */
  guint height;  /* rows of a panel */
  guint row;     /* the next */
  GememPlotAxis axis;
} Drawing;

/* What a column of a panel shows, in units of the panel's top. */
typedef struct
{
  guint64 full, shaded;
} Column;

static void G_GNUC_PRINTF (3, 4) put_text (Drawing *drawing, guint column, const char *format, ...)
{
  va_list arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  gemem_canvas_text (drawing->canvas, drawing->row, column,
                     drawing->columns - MIN (column, drawing->columns), text, GEMEM_TINT_NONE);
}

/* How many the group leaves out, if any. */
static void
put_rest (Drawing *drawing, const GememPlotGroup *group, const char *more)
{
  if (group->more > 0)
    put_text (drawing, 0, "%u more are not drawn%s", group->more, more);
  drawing->row += group->more > 0;
}

/* ---- over events */

static guint
column_at (const Drawing *drawing, guint64 seq)
{
  const guint64 span = drawing->axis.to - drawing->axis.from + 1;
  const guint64 past = seq - MIN (seq, drawing->axis.from);

  return MIN ((guint) ((double) past * drawing->width / (double) span), drawing->width - 1);
}

/* The columns of @result: of @shares thousandths of what is reserved, else bytes. */
static Column *
columns_of (const Drawing *drawing, const GememResult *result, gboolean shares)
{
  Column *columns = g_new0 (Column, drawing->width);
  guint64 from = drawing->axis.from;

  for (guint i = 0; i < result->timeline->len; i++)
    {
      const GememTimelinePoint *point = &g_array_index (result->timeline, GememTimelinePoint, i);
      const guint64 idle = point->reserved - MIN (point->allocated, point->reserved);
      const Column one = shares ? (Column){ gemem_map_permille (idle, point->reserved), 0 }
                                : (Column){ point->live_max, point->reserved_max };
      const guint first = column_at (drawing, from), next = column_at (drawing, point->seq + 1);
      const guint last = point->seq >= drawing->axis.to ? drawing->width - 1
                                                        : MAX (next, first + 1) - 1;
      for (guint c = first; c <= last; c++)
        {
          columns[c].full = MAX (columns[c].full, one.full);
          columns[c].shaded = MAX (columns[c].shaded, one.shaded);
        }
      from = MAX (from, point->seq + 1);
    }
  return columns;
}

static guint
eighths (guint64 value, guint64 top, guint height)
{
  return (guint) ((double) MIN (value, top) / (double) top * height * EIGHTHS + 0.5);
}

/* The cell of @column that is @up rows above the floor. */
static gunichar
cell_of (const Column *column, guint64 top, guint height, guint up)
{
  const guint full = eighths (column->full, top, height),
              shaded = eighths (column->shaded, top, height);
  const guint below = up * EIGHTHS;

  if (full > below)
    return LOWER_BLOCK + MIN (full - below, EIGHTHS);
  return shaded >= below + EIGHTHS / 2 ? SHADE : ' ';
}

static void
mark_failures (Drawing *drawing, const GememResult *result)
{
  for (guint i = 0; result->oom != NULL && i < result->oom->len; i++)
    gemem_canvas_put (drawing->canvas, drawing->row,
                      LEFT + 1 + column_at (drawing, g_array_index (result->oom, GememOom, i).seq),
                      'x', GEMEM_TINT_NONE);
}

/* A line at @least of @top, behind what is live; 0: none. */
static void
draw_least (Drawing *drawing, const Column *columns, guint64 top, guint64 least)
{
  const guint up = least > 0 ? (eighths (least, top, drawing->height) - 1) / EIGHTHS : 0;

  for (guint c = 0; least > 0 && least <= top && c < drawing->width; c++)
    if (eighths (columns[c].full, top, drawing->height) <= up * EIGHTHS)
      gemem_canvas_put (drawing->canvas, drawing->row - 1 - up, LEFT + 1 + c, LEAST,
                        GEMEM_TINT_NONE);
}

/* A panel, whose top is @top and named @named, with a line at @least. */
static void
draw_panel (Drawing *drawing, const GememResult *result, gboolean shares, guint64 top,
            const char *named, guint64 least)
{
  g_autofree Column *columns = columns_of (drawing, result, shares);

  for (guint row = 0; row < drawing->height; row++, drawing->row++)
    {
      put_text (drawing, 0, "%*s", LEFT - 1,
                row == 0                     ? named
                : row + 1 == drawing->height ? "0"
                                             : "");
      gemem_canvas_put (drawing->canvas, drawing->row, LEFT, EDGE, GEMEM_TINT_NONE);
      for (guint c = 0; c < drawing->width; c++)
        gemem_canvas_put (drawing->canvas, drawing->row, LEFT + 1 + c,
                          cell_of (&columns[c], top, drawing->height, drawing->height - 1 - row),
                          GEMEM_TINT_NONE);
    }
  draw_least (drawing, columns, top, least);
  if (result->ooms > 0 && !shares)
    {
      put_text (drawing, 0, "%*s", LEFT - 1, "failed");
      mark_failures (drawing, result);
      drawing->row++;
    }
}

/* The events along the lower edge. */
static void
draw_axis (Drawing *drawing)
{
  g_autofree char *last = g_strdup_printf ("%" G_GUINT64_FORMAT, drawing->axis.to);

  for (guint c = 0; c < drawing->width; c++)
    gemem_canvas_put (drawing->canvas, drawing->row, LEFT + 1 + c, FLOOR, GEMEM_TINT_NONE);
  drawing->row++;
  put_text (drawing, LEFT + 1, "event %" G_GUINT64_FORMAT, drawing->axis.from);
  put_text (drawing, drawing->columns - (guint) strlen (last), "%s", last);
  drawing->row++;
}

static guint64
most_reserved (const GememResult *result)
{
  return result->peak_reserved;
}

static void
draw_over_events (Drawing *drawing, const GememPlotGroup *all, gboolean shares, guint rows)
{
  g_autoptr (GememPlotGroup) group = gemem_plot_group_first (all, PANELS);
  const guint n = gemem_plot_timelines (group);
  const guint64 common = MAX (gemem_plot_common_end (group, most_reserved), 1);

  drawing->height = CLAMP (rows / MAX (n, 1), MIN_HEIGHT + 2, MAX_HEIGHT + 2) - 2;
  gemem_plot_axis_init (&drawing->axis, group, FALSE);
  drawing->axis.from = 0; /* a point stands for what is before it, the first one, too */
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      const guint64 top = shares ? 1000
                                 : MAX (result->peak_reserved,
                                        result->peak_reserved > common ? 1 : common);
      char size[GEMEM_FORMAT_MAX], peak[GEMEM_FORMAT_MAX];
      g_autofree char *failed = gemem_plot_failed_text (result);
      if (!gemem_plot_has_timeline (result))
        continue;
      put_text (drawing, 0, "%s: at most %s reserved, %s live%s", gemem_plot_label (group, i),
                gemem_format_size (size, result->peak_reserved),
                gemem_format_size (peak, result->peak_live), failed);
      drawing->row++;
      draw_panel (drawing, result, shares, top, shares ? "100 %" : gemem_format_size (size, top),
                  shares ? 0 : gemem_plot_optimum (group));
    }
  draw_axis (drawing);
  put_rest (drawing, group, "; name fewer allocators");
  gemem_plot_axis_clear (&drawing->axis);
}

/* ---- bars */

static void
draw_bar (Drawing *drawing, const GememResult *result, guint left, guint width, guint64 most,
          guint64 least)
{
  const guint end = (guint) ((double) result->peak_reserved / (double) most * width + 0.5),
              live = (guint) ((double) MIN (result->peak_live, result->peak_reserved)
                                  / (double) most * width
                              + 0.5),
              at = (guint) ((double) least / (double) most * width + 0.5);
  g_autofree char *text = gemem_plot_bar_text (result);

  for (guint c = 0; c < end; c++)
    gemem_canvas_put (drawing->canvas, drawing->row, left + c,
                      gemem_plot_failed (result) > 0 ? HATCH
                      : c < live                     ? LOWER_BLOCK + EIGHTHS
                                                     : SHADE,
                      GEMEM_TINT_NONE);
  if (least > 0 && at < end)
    gemem_canvas_put (drawing->canvas, drawing->row, left + at, LEAST_UP, GEMEM_TINT_NONE);
  put_text (drawing, left + end + 1, "%s", text);
  drawing->row++;
}

static void
draw_comparison (Drawing *drawing, const GememPlotGroup *group)
{
  guint64 most = 1;
  guint names = 0, texts = 0;

  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      g_autofree char *text = gemem_plot_bar_text (result);
      most = MAX (most, result->peak_reserved);
      names = MAX (names, (guint) g_utf8_strlen (gemem_plot_label (group, i), -1));
      texts = MAX (texts, (guint) strlen (text));
    }
  names = MIN (names, drawing->columns * 2 / 5);
  texts = MIN (texts, (drawing->columns - names) / 2);
  for (guint i = 0; i < group->results->len; i++)
    {
      gemem_canvas_text (drawing->canvas, drawing->row, 0, names, gemem_plot_label (group, i),
                         GEMEM_TINT_NONE);
      draw_bar (drawing, group->results->pdata[i], names + 1, drawing->columns - names - texts - 2,
                most, gemem_plot_optimum (group));
    }
  put_rest (drawing, group, "");
}

/* ---- a drawing */

/* What the characters mean. */
static void
draw_legend (Drawing *drawing, GememTextPlot plot, const GememPlotGroup *group)
{
  const char *failures = gemem_plot_failures_text (group);
  const gboolean some = *failures != '\0';
  const guint64 optimum = gemem_plot_optimum (group);
  char size[GEMEM_FORMAT_MAX];

  if (plot == GEMEM_TEXT_FRAGMENTATION)
    put_text (drawing, 0, "\u2588 reserved and not allocated, of what is reserved");
  else if (plot == GEMEM_TEXT_TIMELINE)
    put_text (drawing, 0, "\u2588 live  \u2591 reserved beside it%s",
              some ? "  x a request failed" : "");
  else
    put_text (drawing, 0, "\u2588 live at most  \u2591 reserved beside it%s%s",
              some ? "  \u2592 " : "", failures);
  drawing->row++;
  if (optimum == 0 || plot == GEMEM_TEXT_FRAGMENTATION)
    return;
  put_text (drawing, 0, "%s " GEMEM_PLOT_OPTIMUM ": %s",
            plot == GEMEM_TEXT_TIMELINE ? "\u2504" : "\u2506", gemem_format_size (size, optimum));
  drawing->row++;
}

static void
draw_group (GString *out, GememTextPlot plot, const GememPlotGroup *group, guint columns,
            guint rows, const GememTextLook *look)
{
  Drawing drawing = { .canvas = gemem_canvas_new (columns),
                      .columns = columns,
                      .width = columns - LEFT - 1 };
  const gboolean over_events = plot != GEMEM_TEXT_COMPARISON;

  gemem_canvas_text (drawing.canvas, drawing.row++, 0, columns, group->title, GEMEM_TINT_NONE);
  if (over_events && gemem_plot_timelines (group) == 0)
    put_text (&drawing, 0, "%s", "no run has a timeline: no events, or --timeline-points=0");
  else if (over_events)
    draw_over_events (&drawing, group, plot == GEMEM_TEXT_FRAGMENTATION, rows);
  else
    draw_comparison (&drawing, group);
  if (!over_events || gemem_plot_timelines (group) > 0)
    draw_legend (&drawing, plot, group);
  g_string_append (out, out->len > 0 ? "\n" : "");
  gemem_canvas_append (out, drawing.canvas, look);
  gemem_canvas_free (drawing.canvas);
}

gboolean
gemem_plot_text_parse (const char *name, GememTextPlot *plot, GError **error)
{
  static const char *const names[GEMEM_TEXT_PLOTS] = { "comparison", "timeline", "fragmentation" };

  for (guint i = 0; i < GEMEM_TEXT_PLOTS; i++)
    if (gemem_name_equal (name, names[i]))
      {
        if (plot != NULL)
          *plot = (GememTextPlot) i;
        return TRUE;
      }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--plot-terminal=%s: unknown plot; choose comparison, timeline or fragmentation",
               name);
  return FALSE;
}

void
gemem_plot_text (GString *out, GememResult *const *results, guint n, GememTextPlot plot,
                 guint columns, guint rows, const GememTextLook *look)
{
  g_autoptr (GPtrArray) groups = gemem_plot_groups (results, n);

  for (guint i = 0; i < groups->len; i++)
    draw_group (out, plot, groups->pdata[i], MAX (columns, MIN_COLUMNS), rows, look);
}
