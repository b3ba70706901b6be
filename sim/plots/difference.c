/* difference.c - two runs over one axis: what both hold, and below it what both have in use, with the difference
 * filled.
 *
 * Why: two pictures side by side are compared with a ruler.  Where the second needs more the area between both is
 * vermilion, where it needs less green, so that it is seen when, and for how long.  The x axis is the number of the event,
 * or where asked for the time since the first; a vertical line is where the two part.
 *
 * Data: a row for each of at most COLUMNS equal parts of the axis in which something changes, with the largest value in it,
 * so that no peak is lost; behind the end of one run its columns are NaN.
 */
#include "config.h"

#include "sim/plots/plots-private.h"

#define COLUMNS 1000
#define LEFT 84
#define RIGHT 20
#define LEGEND 48
#define GAP 40
#define FOOT 64
#define PANELS 2
static const guint heights[PANELS] = { 240, 160 };
#define FIRST_LOOK "lw 2.2 lc rgb '#56b4e9'"
#define SECOND_LOOK "lw 1.4 lc rgb '" GEMEM_COLOUR_INK "'"
#define FILL " fs transparent solid 0.45 noborder"

typedef struct
{
  const GememPlotDifference *of;
  gboolean time;
  guint64 to; /* end of the axis; it begins with 0 */
} Difference;

static const GArray *
timeline_of (const Difference *difference, guint side)
{
  return difference->of->results[side]->timeline;
}

static guint64
position_of (const Difference *difference, guint side, guint i)
{
  const GArray *timeline = timeline_of (difference, side);
  const GememTimelinePoint *point = &g_array_index (timeline, GememTimelinePoint, i);

  return difference->time ? point->time - g_array_index (timeline, GememTimelinePoint, 0).time
                          : point->seq;
}

static guint64
end_of (const Difference *difference, guint side)
{
  return position_of (difference, side, timeline_of (difference, side)->len - 1);
}

/* Time is taken where both have it. */
static void
lay_out (Difference *difference, const GememPlotDifference *of, gboolean time)
{
  *difference = (Difference){ .of = of, .time = time };
  for (guint s = 0; s < 2; s++)
    difference->time = difference->time && end_of (difference, s) > 0;
  difference->to = MAX (MAX (end_of (difference, 0), end_of (difference, 1)), 1);
}

/* ---- data */

/* What one side had most of in a part. */
typedef struct
{
  guint64 reserved, live;
  gboolean ended;
} Value;

/* The largest values of @side up to position @to, from point *@i on; where there is no point, the last value. */
static Value
take_part (const Difference *difference, guint side, guint *i, guint64 to, const Value *before)
{
  const GArray *timeline = timeline_of (difference, side);
  Value value = *before;
  gboolean any = FALSE;

  value.ended = *i == timeline->len;
  for (; *i < timeline->len && position_of (difference, side, *i) <= to; (*i)++, any = TRUE)
    {
      const GememTimelinePoint *point = &g_array_index (timeline, GememTimelinePoint, *i);
      value.reserved = any ? MAX (value.reserved, point->reserved_max) : point->reserved_max;
      value.live = any ? MAX (value.live, point->live_max) : point->live_max;
    }
  return value;
}

static void
append_row (GString *out, guint64 position, const Value *values)
{
  g_string_append_printf (out, "%" G_GUINT64_FORMAT, position);
  for (guint s = 0; s < 2; s++)
    if (values[s].ended)
      g_string_append (out, " NaN NaN");
    else
      g_string_append_printf (out, " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, values[s].reserved,
                              values[s].live);
  g_string_append_c (out, '\n');
}

static gboolean
is_same (const Value *a, const Value *b)
{
  return a->reserved == b->reserved && a->live == b->live && a->ended == b->ended;
}

static void
append_data (GString *out, const Difference *difference)
{
  const guint64 step = difference->to / COLUMNS + 1;
  Value before[2] = { { 0 } };
  guint at[2] = { 0, 0 };

  gemem_plot_append_comment (out, "", difference->of->title);
  for (guint s = 0; s < 2; s++)
    gemem_plot_append_comment (out, s == 0 ? "first: " : "second: ", difference->of->names[s]);
  g_string_append_printf (out,
                          "# bytes, the largest value of each up to there\n"
                          "# %s first_reserved first_live second_reserved second_live\n",
                          difference->time ? "ns" : "event");
  for (guint64 from = 0; from <= difference->to; from += step)
    {
      const guint64 to = from + step - 1;
      const Value now[2] = { take_part (difference, 0, &at[0], to, &before[0]),
                             take_part (difference, 1, &at[1], to, &before[1]) };

      if (from > 0 && (!is_same (&now[0], &before[0]) || !is_same (&now[1], &before[1])))
        append_row (out, from, before); /* a step, not a slope */
      if (from == 0 || !is_same (&now[0], &before[0]) || !is_same (&now[1], &before[1])
          || from + step > difference->to)
        append_row (out, from, now);
      before[0] = now[0];
      before[1] = now[1];
    }
}

/* ---- script */

static void
append_parting (GString *out, const Difference *difference)
{
  guint64 at = difference->of->parting[1];
  guint i = 0;

  if (!difference->of->parts)
    return;
  if (difference->time)
    {
      while (i + 1 < timeline_of (difference, 1)->len
             && g_array_index (timeline_of (difference, 1), GememTimelinePoint, i).seq < at)
        i++;
      at = position_of (difference, 1, i);
    }
  g_string_append_printf (out,
                          "set arrow from x(%" G_GUINT64_FORMAT
                          ".0), graph 0 rto 0, graph 1 nohead dt 2 lw 1.2 lc rgb '" GEMEM_COLOUR_INK
                          "' front\n",
                          at);
}

static void
append_panel (GString *out, const Difference *difference, guint panel, const GememPlotAxis *axis,
              guint64 most, const GememPlotUnit *unit)
{
  static const char *const what[PANELS] = { "reserved", "in use" };
  g_autofree char *ylabel = gemem_plot_axis_title (what[panel], unit);
  const guint first = 2 + panel, second = 4 + panel;

  g_string_append_printf (
      out, "top = %" G_GUINT64_FORMAT "/unit*1.06\nset yrange [0:top]\nset ylabel t('%s')\n", most,
      ylabel);
  gemem_plot_script_tics (out, 'y', heights[panel], "top");
  if (panel + 1 < PANELS)
    g_string_append (out, "set xlabel ''\nset format x ''\n");
  else
    g_string_append_printf (out, "set xlabel '%s' offset 0,0.4\nset format x '%%g'\n", axis->title);
  append_parting (out, difference);
  g_string_append_printf (
      out,
      "plot data using (x($1)):($%u/unit):($%u/unit) with filledcurves below" FILL
      " lc rgb '" GEMEM_COLOUR_ALARM "' title 'more', \\\n"
      "  data using (x($1)):($%u/unit):($%u/unit) with filledcurves above" FILL
      " lc rgb '" GEMEM_COLOUR_GOOD "' title 'less', \\\n"
      "  data using (x($1)):($%u/unit) with lines " FIRST_LOOK " title 'first', \\\n"
      "  data using (x($1)):($%u/unit) with lines " SECOND_LOOK " title 'second'\n"
      "unset arrow\n",
      first, second, first, second, first, second);
}

static void
append_script (GString *out, gconstpointer drawn, GememPlotPage *page, const char *base)
{
  const GememPlotDifference *of = drawn;
  const GememResult *a = of->results[0], *b = of->results[1];
  const guint64 most[PANELS] = { MAX (MAX (a->peak_reserved, b->peak_reserved), 1),
                                 MAX (MAX (a->peak_live, b->peak_live), 1) };
  const GememPlotUnit *unit = gemem_plot_size_unit (most[0]);
  g_autoptr (GPtrArray) cuts_of = g_ptr_array_new ();
  GememPlotGroup group = { .title = (char *) of->title, .results = cuts_of };
  g_autofree char *first = gemem_plot_shorten (of->names[0], 36),
                  *second = gemem_plot_shorten (of->names[1], 36);
  const GememPlotKey keys[] = {
    { GEMEM_PLOT_LINE, FIRST_LOOK, first },
    { GEMEM_PLOT_LINE, SECOND_LOOK, second },
    { GEMEM_PLOT_BOX, "rgb '#ecb38c'", "the second has more" },
    { GEMEM_PLOT_BOX, "rgb '#8cd0bd'", "it has less" },
    { GEMEM_PLOT_LINE, "dt 2 lw 1.2 lc rgb '" GEMEM_COLOUR_INK "'", "they part" },
  };
  const guint n = G_N_ELEMENTS (keys) - !of->parts;
  Difference difference;
  GememPlotAxis axis = { 0 };
  guint lines, top;

  lay_out (&difference, of, page->style->time);
  axis.to = difference.to;
  axis.time = difference.time;
  axis.unit = difference.time ? gemem_plot_time_unit (axis.to) : gemem_plot_count_unit (axis.to);
  axis.title = gemem_plot_axis_title (difference.time ? "time" : "event", axis.unit);
  axis.cuts = g_array_new (FALSE, FALSE, sizeof (guint64));
  lines = gemem_plot_script_legend (NULL, keys, n, LEFT, 0, page);
  top = LEGEND - page->lift + GEMEM_PLOT_LEGEND_ROW * lines + 6;
  page->height = top + heights[0] + GAP + heights[1] + FOOT;
  gemem_plot_script_begin (out, base, page);
  g_string_append_printf (out, "unit = %s\nset multiplot\n", unit->divisor);
  gemem_plot_script_title (out, &group, "the difference", page);
  gemem_plot_script_legend (out, keys, n, LEFT, LEGEND - page->lift, page);
  for (guint panel = 0; panel < PANELS; panel++)
    {
      gemem_plot_script_margins (out, LEFT, page->width - RIGHT, page->height - top,
                                 page->height - top - heights[panel], page);
      gemem_plot_axis_script (out, &axis, page->width - LEFT - RIGHT);
      append_panel (out, &difference, panel, &axis, most[panel], unit);
      g_string_append (out, panel == 0 ? GEMEM_PLOT_UNSET : "");
      top += heights[panel] + GAP;
    }
  gemem_plot_axis_clear (&axis);
  gemem_plot_script_end (out);
}

gboolean
gemem_plot_difference_write (const char *dir, const GememPlotStyle *style,
                             const GememPlotDifference *difference, const char *gnuplot,
                             gboolean *rendered, GError **error)
{
  g_autofree char *program = gemem_plot_program (gnuplot);
  g_autoptr (GString) data = g_string_new (NULL);
  Difference all;

  if (rendered != NULL)
    *rendered = program != NULL;
  lay_out (&all, difference, style != NULL && style->time);
  append_data (data, &all);
  return gemem_make_folder (dir, error)
         && gemem_plot_write_one (dir, style, "difference", data, append_script, difference,
                                  program, error);
}
