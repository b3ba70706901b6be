/* reserved.c - the picture that compares a few settings: reserved bytes over time in one
 * diagram, over live memory.
 *
 * Why: a memory policy helps where its line departs from the others; what it costs is in the
 * picture of the calls, where colours mean something else.  Drawn for two to six results, as more
 * lines would hide one another (the timeline shows them in panels).  Where lines coincide, wider
 * ones stay visible on both sides of the narrower ones drawn later.  Live memory may depend on the
 * allocator (graphs that share memory count once): the least is drawn and named.  Data: the file of the timeline, in the same folder.
 */
#include "config.h"

#include <string.h>

#include "sim/plots/plots-private.h"

#define LEFT 84
#define RIGHT 20
#define LEGEND 48 /* px from the upper edge to the first line of the legend */
#define MOST 6
#define PANEL 300
#define FOOT 64
#define LABEL_MAX 44

/* From wide to narrow, with different dashes: distinct where they coincide, and in grey. */
static const char *const looks[MOST] = {
  "lw 5 lc rgb '" GEMEM_COLOUR_INK "'",   "lw 4 lc rgb '#56b4e9'",
  "lw 3 lc rgb '" GEMEM_COLOUR_ALARM "'", "lw 2 lc rgb '" GEMEM_COLOUR_INTERNAL "'",
  "lw 2.2 dt 2 lc rgb '#cc79a7'",         "lw 2 dt 4 lc rgb '" GEMEM_COLOUR_GOOD "'",
};
#define LIVE_LOOK "fs transparent solid 0.3 noborder lc rgb '" GEMEM_COLOUR_LIVE "'"

gboolean
gemem_plot_has_reserved (const GememPlotGroup *group)
{
  const guint n = group->results->len;

  return n >= 2 && n <= MOST && gemem_plot_timelines (group) == n;
}

/* The result with the least live memory; *@same: it is equal in all results. */
static guint
least_live (const GememPlotGroup *group, gboolean *same)
{
  guint least = 0;

  *same = TRUE;
  for (guint i = 1; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i], *before = group->results->pdata[least];

      *same = *same && result->peak_live == before->peak_live;
      if (result->peak_live < before->peak_live)
        least = i;
    }
  return least;
}

/* The label of result @i, marked if it is not allowed. */
static char *
legend_text (const GememPlotGroup *group, guint i, const GememPlotPage *page)
{
  const GememResult *result = group->results->pdata[i];
  g_autofree char *label = gemem_plot_shorten (
      gemem_plot_label (group, i), MIN (LABEL_MAX, page->width / GEMEM_PLOT_CHARACTER - 8));

  return g_strconcat (label, result->not_allowed != NULL ? " (not allowed)" : "", NULL);
}

static guint64
peak_reserved (const GememResult *result)
{
  return result->peak_reserved;
}

static void
append_lines (GString *out, const GememPlotGroup *group, guint live, gboolean time, guint width)
{
  GememPlotAxis axis;
  const guint64 top = MAX (gemem_plot_most (group, peak_reserved), 1);
  const GememPlotUnit *unit = gemem_plot_size_unit (top);

  gemem_plot_axis_init (&axis, group, time);
  g_string_append_printf (out, "data = 'timeline-%s.dat'\nunit = %s\n", group->slug, unit->divisor);
  gemem_plot_axis_script (out, &axis, width);
  g_string_append_printf (out,
                          "set yrange [0:%" G_GUINT64_FORMAT "/unit*1.06]\n"
                          "set ylabel 'reserved (%s)'\nset xlabel '%s' offset 0,0.4\n",
                          top, unit->name, axis.title);
  g_string_append_printf (
      out, "plot data index %u using (x($%u)):($3/unit) with fillsteps " LIVE_LOOK " title 'live'",
      live, 1 + axis.time);
  for (guint i = 0; i < group->results->len; i++)
    g_string_append_printf (
        out, ", \\\n  data index %u using (x($%u)):($5/unit) with steps %s title 'reserved %u'", i,
        1 + axis.time, looks[i], i);
  g_string_append_c (out, '\n');
  gemem_plot_axis_clear (&axis);
}

void
gemem_plot_reserved_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                            const char *base)
{
  const guint n = MIN (group->results->len, MOST);
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  GememPlotKey keys[MOST + 1];
  gboolean same;
  const guint live = least_live (group, &same);

  for (guint i = 0; i < n; i++)
    {
      g_ptr_array_add (texts, legend_text (group, i, page));
      keys[i] = (GememPlotKey){ GEMEM_PLOT_LINE, looks[i], texts->pdata[i] };
    }
  g_ptr_array_add (texts,
                   same ? g_strdup ("live")
                        : g_strdup_printf ("live with %s", (const char *) texts->pdata[live]));
  keys[n] = (GememPlotKey){ GEMEM_PLOT_BOX, "rgb '#b3d5e8'", texts->pdata[n] };
  const guint lines = gemem_plot_script_legend (NULL, keys, n + 1, LEFT, 0, page),
              head = LEGEND - page->lift + GEMEM_PLOT_LEGEND_ROW * lines + 6;
  page->height = head + PANEL + FOOT;
  gemem_plot_script_begin (out, base, page);
  g_string_append (out, "set multiplot\n");
  gemem_plot_script_title (out, group, "reserved over time", page);
  gemem_plot_script_legend (out, keys, n + 1, LEFT, LEGEND - page->lift, page);
  gemem_plot_script_margins (out, LEFT, page->width - RIGHT, page->height - head, FOOT, page);
  append_lines (out, group, live, page->style->time, page->width - LEFT - RIGHT);
  gemem_plot_script_end (out);
}
