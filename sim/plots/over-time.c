/* over-time.c - timeline and fragmentation: a panel per allocator, on one scale, with one legend
 * above them.
 *
 * Why panels and not one diagram of many lines: the lines of ten allocators hide one another.  In a
 * panel of the timeline the filled areas live, internal and external waste are stacked, so the
 * outline is the reserved bytes.  The x axis is the number of the event, or the time where that is
 * asked for and the trace has times; failed requests are marks on the upper edge.
 *
 * Data: a block per allocator (gnuplot's `index`), two empty lines between.  Neighbouring points
 * are merged as in the engine (larger maximum, later end), so no peak is lost: all panels together
 * have POINTS, that a picture stays below 200 kB.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/plots/plots-private.h"

#define U "%" G_GUINT64_FORMAT
#define HEAD 106
#define LEGEND 46
#define FOOT 64
#define GAP 56 /* px between rows of panels, for the title of the next one */
/* With more points, closely spaced, a line looks the same as steps, and the file is a tenth in
 * size. */
#define STEPS_MAX 200
#define LEFT 84
#define POINTS 840
#define PANELS 8

/* ---- data */

static void
merge (GememTimelinePoint *into, const GememTimelinePoint *next)
{
  const GememTimelinePoint before = *into;
  *into = *next;
  into->live_max = MAX (before.live_max, next->live_max);
  into->allocated_max = MAX (before.allocated_max, next->allocated_max);
  into->reserved_max = MAX (before.reserved_max, next->reserved_max);
}

static void
append_point (GString *out, gboolean peaks, const GememTimelinePoint *p)
{
  char largest[GEMEM_FORMAT_MAX] = "NaN";
  if (p->largest_free != G_MAXUINT64)
    g_snprintf (largest, sizeof largest, U, p->largest_free);
  if (peaks)
    g_string_append_printf (out, U " " U " " U " " U " " U "\n", p->seq, p->time, p->live_max,
                            p->allocated_max, p->reserved_max);
  else
    g_string_append_printf (out, U " " U " " U " " U " %s\n", p->seq, p->time, p->allocated,
                            p->reserved, largest);
}

/* The timeline of @result in at most @max points. */
static void
append_points (GString *out, gboolean peaks, const GememResult *result, guint max)
{
  const guint n = result->timeline->len, stride = (n + max - 1) / max;
  if (stride > 1) /* a point stands where it ends; what is before it is drawn, too */
    append_point (out, peaks, &g_array_index (result->timeline, GememTimelinePoint, 0));
  for (guint i = 0; i < n; i += stride)
    {
      GememTimelinePoint point = g_array_index (result->timeline, GememTimelinePoint, i);
      for (guint j = i + 1; j < MIN (i + stride, n); j++)
        merge (&point, &g_array_index (result->timeline, GememTimelinePoint, j));
      append_point (out, peaks, &point);
    }
}

static void
append_data (GString *out, gboolean peaks, const GememPlotGroup *all)
{
  g_autoptr (GememPlotGroup) group = gemem_plot_group_first (all, PANELS);
  const guint max = POINTS / MAX (gemem_plot_timelines (group), 1);
  guint index = 0;
  g_string_append (out, peaks ? "# bytes, the largest value of each between this row and the one "
                                "before; time in ns\n# event time live allocated reserved\n"
                              : "# bytes after the event; largest_free: largest request that could "
                                "be served from the cache; time in ns\n"
                                "# event time allocated reserved largest_free\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      g_autofree char *before = g_strdup_printf ("index %u: ", index);
      if (!gemem_plot_has_timeline (result))
        continue;
      g_string_append (out, index++ > 0 ? "\n\n" : "");
      gemem_plot_append_comment (out, before, gemem_plot_label (group, i));
      append_points (out, peaks, result, max);
    }
}

void
gemem_plot_timeline_data (GString *out, const GememPlotGroup *group)
{
  append_data (out, TRUE, group);
}

void
gemem_plot_fragmentation_data (GString *out, const GememPlotGroup *group)
{
  append_data (out, FALSE, group);
}

/* ---- script */

typedef struct
{
  const GememPlotPage *page;
  guint n, columns, rows, panel_height, head;
  /* upper end of the y axis; a panel far above it has its own scale, which its title states */
  guint64 bytes;
  gboolean own_scales; /* a panel has its own scale: then every panel shows its numbers */
  /* the largest that is drawn: a line far above all curves would flatten them; 0: none */
  guint64 capacity;
  guint64 optimum;   /* what the least placement needs; 0: unknown */
  gboolean failures; /* some request failed */
  GememPlotAxis axis;
  const GememPlotUnit *unit;
  const char *area, *line; /* plotting styles */
} TimelineLayout;

/* Whether a line between points looks like steps: many points, and no gap in time that would become
 * a slope. */
static gboolean
looks_like_steps (const GArray *timeline, const GememPlotAxis *axis)
{
  const guint64 widest = (axis->to - axis->from) / STEPS_MAX;
  guint64 before = axis->from;
  for (guint i = 0; i < timeline->len; i++)
    {
      const GememTimelinePoint *point = &g_array_index (timeline, GememTimelinePoint, i);
      const guint64 at = axis->time ? point->time : point->seq;
      if (at > before && at - before > widest)
        return FALSE;
      before = at;
    }
  return timeline->len > STEPS_MAX;
}

static void
lay_out (TimelineLayout *layout, const GememPlotGroup *group, GememPlotPage *page)
{
  *layout = (TimelineLayout){
    .page = page, .n = gemem_plot_timelines (group), .area = "fillsteps", .line = "steps"
  };
  gemem_plot_axis_init (&layout->axis, group, page->style->time);
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      layout->failures = layout->failures || result->ooms > 0;
      if (result->timeline != NULL && looks_like_steps (result->timeline, &layout->axis))
        {
          layout->area = "filledcurves y1=0";
          layout->line = "lines";
        }
    }
  layout->bytes = gemem_plot_common_end (group, gemem_plot_peak);
  layout->optimum = gemem_plot_optimum (group);
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      layout->own_scales = layout->own_scales || gemem_plot_peak (result) > layout->bytes;
      if (result->capacity <= layout->bytes + layout->bytes / 2)
        layout->capacity = MAX (layout->capacity, result->capacity);
    }
  layout->bytes = MAX (MAX (layout->bytes, layout->capacity), 1);
  layout->columns = page->slim || layout->n <= 3 ? 1 : 2;
  layout->rows = (layout->n + layout->columns - 1) / layout->columns;
  layout->panel_height = layout->n == 1 ? 340 : layout->columns == 1 ? 200 : 170;
  layout->unit = gemem_plot_size_unit (layout->bytes);
}

/* Margins of panel @i, title, and labels of the outer axes. */
static void
append_panel (GString *out, const TimelineLayout *layout, guint i, const char *label,
              const char *fact, const char *ylabel)
{
  const guint column = i % layout->columns, row = i / layout->columns;
  const guint pitch = (layout->page->width - LEFT - 10) / layout->columns,
              left = LEFT + column * pitch, right = left + pitch - (layout->own_scales ? 52 : 26);
  const guint top = layout->page->height - layout->head - row * (layout->panel_height + GAP),
              bottom = top - layout->panel_height;
  const guint characters = (right - left) / GEMEM_PLOT_CHARACTER;
  g_autoptr (GString) name = g_string_new (NULL);
  gemem_plot_append_label (name, label, characters, FALSE);
  g_string_append_printf (out, "\n# %u\n", i);
  gemem_plot_script_margins (out, left, right, top, bottom, layout->page);
  gemem_plot_axis_script (out, &layout->axis, right - left);
  g_string_append_printf (out, "set title %s.\"\\n\".t('%s') offset 0,-0.7\n", name->str, fact);
  g_string_append_printf (out, "set ylabel t('%s')\nset format y '%s'\n", column == 0 ? ylabel : "",
                          column == 0 || layout->own_scales ? "%g" : "");
  if (i + layout->columns < layout->n)
    g_string_append (out, "set xlabel ''\nset format x ''\n");
  else
    g_string_append_printf (out, "set xlabel '%s' offset 0,0.4\nset format x '%%g'\n",
                            layout->axis.title);
}

guint
gemem_plot_append_failures (GString *out, const GememResult *result, gboolean time)
{
  guint64 last = G_MAXUINT64;
  guint n = 0, point = 0;
  for (guint i = 0; result->oom != NULL && i < result->oom->len; i++)
    {
      guint64 at = g_array_index (result->oom, GememOom, i).seq;
      while (point + 1 < result->timeline->len
             && g_array_index (result->timeline, GememTimelinePoint, point).seq < at)
        point++;
      if (time)
        at = g_array_index (result->timeline, GememTimelinePoint, point).time;
      if (at != last)
        g_string_append_printf (out, "%s%" G_GUINT64_FORMAT, n++ > 0 ? " " : "failures = '", at);
      last = at;
    }
  g_string_append (out, n > 0 ? "'\n" : "");
  return n;
}

char *
gemem_plot_failed_text (const GememResult *result)
{
  const guint marked = result->oom != NULL ? result->oom->len : 0;

  if (result->ooms == 0)
    return g_strdup ("");
  if (marked < result->ooms)
    return g_strdup_printf (", " U " failed, the first %u marked", result->ooms, marked);
  return g_strdup_printf (", " U " failed", result->ooms);
}

static void
append_timeline (GString *out, const TimelineLayout *layout, guint i, const GememResult *result,
                 const char *label)
{
  char text[GEMEM_FORMAT_MAX];
  g_autofree char *ylabel = gemem_plot_axis_title ("memory", layout->unit);
  g_autofree char *failed = gemem_plot_failed_text (result);
  g_autofree char *bound = g_strdup_printf (U, result->lower_bound);
  const gboolean beyond = gemem_plot_peak (result) > layout->bytes;
  g_autofree char *fact = g_strdup_printf (
      "peak %s%s%s%s", gemem_format_size (text, result->peak_reserved), failed,
      result->not_allowed != NULL ? ", not allowed" : "", beyond ? ", own scale" : "");
  append_panel (out, layout, i, label, fact, ylabel);
  g_string_append_printf (out, "top = %" G_GUINT64_FORMAT "/unit*1.06\nset yrange [0:top]\n",
                          beyond ? gemem_plot_peak (result) : layout->bytes);
  gemem_plot_script_tics (out, 'y', layout->panel_height, "top");
  const guint failures = gemem_plot_append_failures (out, result, layout->axis.time);
  const struct
  {
    guint column;
    const char *style, *look, *title;
  } curves[] = {
    { 5, layout->area, "lc rgb '" GEMEM_COLOUR_EXTERNAL "'", "external waste" },
    { 4, layout->area, "lc rgb '" GEMEM_COLOUR_INTERNAL "'", "internal waste" },
    { 3, layout->area, "lc rgb '" GEMEM_COLOUR_LIVE "'", "live" },
    { 5, layout->line, "lw 1.2 lc rgb '" GEMEM_COLOUR_INK "'", "reserved" },
  };
  g_string_append (out, "plot ");
  for (gsize c = 0; c < G_N_ELEMENTS (curves); c++)
    g_string_append_printf (
        out, "data index %u using (x($%u)):($%u/unit) with %s %s title '%s', \\\n  ", i,
        1 + layout->axis.time, curves[c].column, curves[c].style, curves[c].look, curves[c].title);
  g_string_append_printf (out,
                          "%s"
                          "/unit with lines dt 2 lw 1.5 lc rgb '" GEMEM_COLOUR_GOOD
                          "' title 'lower bound'",
                          result->ooms > 0 ? "NaN" : bound);
  if (layout->capacity > 0 && result->capacity <= layout->capacity)
    g_string_append_printf (out,
                            ", \\\n  %" G_GUINT64_FORMAT
                            "/unit with lines dt 4 lw 1.5 lc rgb '" GEMEM_COLOUR_ALARM
                            "' title 'capacity'",
                            result->capacity);
  if (layout->optimum > 0)
    g_string_append_printf (out,
                            ", \\\n  " U "/unit with lines " GEMEM_PLOT_OPTIMUM_LINE " title '%s'",
                            layout->optimum, GEMEM_PLOT_OPTIMUM);
  if (failures > 0)
    g_string_append (out,
                     ", \\\n  for [at in failures] '+' every ::::0 using (x(real(at))):(top) with "
                     "points pt 11 ps 1.2 lc rgb '" GEMEM_COLOUR_ALARM "' title 'failed request'");
  g_string_append_c (out, '\n');
}

static void
append_fragmentation (GString *out, const TimelineLayout *layout, guint i,
                      const GememResult *result, const char *label)
{
  const guint external = result->reserved_at_live_peak > 0
                             ? (guint) (1000.0 * (double) gemem_result_external_waste (result)
                                            / (double) result->reserved_at_live_peak
                                        + 0.5)
                             : 0;
  g_autofree char *fact = g_strdup_printf ("%u.%u %% external waste at the live peak",
                                           external / 10, external % 10);
  append_panel (out, layout, i, label, fact, "share (%)");
  gemem_plot_script_tics (out, 'y', layout->panel_height, "100");
  g_string_append_printf (
      out,
      "plot data index %u using (x($%u)):($4 > 0 ? 100*($4-$3)/$4 : 0) with %s lc rgb "
      "'" GEMEM_COLOUR_EXTERNAL "' title 'external waste / reserved', \\\n"
      "  data index %u using (x($%u)):(index($4-$3, $5)) with %s lw 1.2 lc rgb '" GEMEM_COLOUR_ALARM
      "' title 'fragmentation'\n",
      i, 1 + layout->axis.time, layout->area, i, 1 + layout->axis.time, layout->line);
}

static guint
append_legend (GString *out, gboolean timeline, const TimelineLayout *layout)
{
  static const GememPlotKey areas[] = {
    { GEMEM_PLOT_LINE, "lw 1.2 lc rgb '" GEMEM_COLOUR_INK "'", "reserved" },
    { GEMEM_PLOT_BOX, "rgb '" GEMEM_COLOUR_EXTERNAL "'", "external waste" },
    { GEMEM_PLOT_BOX, "rgb '" GEMEM_COLOUR_INTERNAL "'", "internal waste" },
    { GEMEM_PLOT_BOX, "rgb '" GEMEM_COLOUR_LIVE "'", "live" },
    { GEMEM_PLOT_LINE, "dt 2 lw 1.5 lc rgb '" GEMEM_COLOUR_GOOD "'", "lower bound" },
  };
  static const GememPlotKey shares[] = {
    { GEMEM_PLOT_BOX, "rgb '" GEMEM_COLOUR_EXTERNAL "'", "external waste / reserved" },
    { GEMEM_PLOT_LINE, "lw 1.2 lc rgb '" GEMEM_COLOUR_ALARM "'",
      "fragmentation: 1 - largest free / free" },
  };
  static const GememPlotKey capacity = { GEMEM_PLOT_LINE,
                                         "dt 4 lw 1.5 lc rgb '" GEMEM_COLOUR_ALARM "'",
                                         "capacity" };
  static const GememPlotKey failure = { GEMEM_PLOT_POINT,
                                        "pt 11 ps 1.2 lc rgb '" GEMEM_COLOUR_ALARM "'",
                                        "failed request" };
  static const GememPlotKey optimum = GEMEM_PLOT_OPTIMUM_KEY;
  GememPlotKey keys[9];
  const guint y = LEGEND - layout->page->lift;
  guint n = 0;
  if (!timeline)
    return gemem_plot_script_legend (out, shares, G_N_ELEMENTS (shares), 0, y, layout->page);
  for (; n < G_N_ELEMENTS (areas); n++)
    keys[n] = areas[n];
  if (layout->optimum > 0)
    keys[n++] = optimum;
  if (layout->capacity > 0)
    keys[n++] = capacity;
  if (layout->failures)
    keys[n++] = failure;
  return gemem_plot_script_legend (out, keys, n, 0, y, layout->page);
}

static void
append_script (GString *out, gboolean timeline, const GememPlotGroup *all, GememPlotPage *page,
               const char *base)
{
  g_autoptr (GememPlotGroup) group = gemem_plot_group_first (all, PANELS);
  TimelineLayout layout;
  guint index = 0;
  lay_out (&layout, group, page);
  layout.head = HEAD - page->lift
                + (append_legend (NULL, timeline, &layout) - 1) * GEMEM_PLOT_LEGEND_ROW;
  page->height = layout.head + FOOT + layout.rows * layout.panel_height + (layout.rows - 1) * GAP;
  gemem_plot_script_begin (out, base, page);
  g_string_append_printf (out, "unit = %s\n", layout.unit->divisor);
  if (!timeline)
    g_string_append (out, "set yrange [0:100]\nindex(free, largest) = free > 0 ? 100*(1 - (largest "
                          "< free ? largest : free)/free) : 0\n");
  g_string_append (out, "set multiplot\n");
  gemem_plot_script_title (out, group, timeline ? "memory over time" : "fragmentation over time",
                           page);
  append_legend (out, timeline, &layout);
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      if (!gemem_plot_has_timeline (result))
        continue;
      if (timeline)
        append_timeline (out, &layout, index, result, gemem_plot_label (group, i));
      else
        append_fragmentation (out, &layout, index, result, gemem_plot_label (group, i));
      g_string_append (out, index == 0 ? GEMEM_PLOT_UNSET : "");
      index++;
    }
  gemem_plot_axis_clear (&layout.axis);
  gemem_plot_script_end (out);
}

void
gemem_plot_timeline_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                            const char *base)
{
  append_script (out, TRUE, group, page, base);
}

void
gemem_plot_fragmentation_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                                 const char *base)
{
  append_script (out, FALSE, group, page, base);
}
