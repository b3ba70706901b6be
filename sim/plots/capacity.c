/* capacity.c - the least capacity on which no request fails, a bar for each allocator, for
 * --find-capacity.
 *
 * Why: peak reserved on a large device says how much an allocator takes where it may; on a small
 * one it releases memory before it fails.  The line is the lower bound.  One for which none was
 * found has no bar.  Data: a row per allocator.
 */
#include "config.h"

#include "base/units.h"
#include "sim/plots/plots-private.h"

static guint64
capacity_of (const GememResult *result)
{
  return result->least_capacity == G_MAXUINT64 ? 0 : result->least_capacity;
}

/* What is enough first; none found last. */
static int
compare (gconstpointer a, gconstpointer b)
{
  const GememResult *x = *(const GememResult *const *) a, *y = *(const GememResult *const *) b;
  return (x->least_capacity > y->least_capacity) - (x->least_capacity < y->least_capacity);
}

/* @group in that order, with its names; gemem_plot_group_free(). */
static GememPlotGroup *
sorted (const GememPlotGroup *group)
{
  GememPlotGroup *copy = gemem_plot_group_first (group, G_MAXUINT);

  g_ptr_array_sort (copy->results, compare);
  g_ptr_array_set_size (copy->labels, 0);
  for (guint i = 0; i < copy->results->len; i++)
    {
      guint at = 0;
      g_ptr_array_find (group->results, copy->results->pdata[i], &at);
      g_ptr_array_add (copy->labels, g_strdup (gemem_plot_label (group, at)));
    }
  return copy;
}

gboolean
gemem_plot_has_capacity (const GememPlotGroup *group)
{
  return gemem_plot_most (group, capacity_of) > 0;
}

void
gemem_plot_capacity_data (GString *out, const GememPlotGroup *given)
{
  g_autoptr (GememPlotGroup) group = sorted (given);

  g_string_append (out,
                   "# bytes; 0: none was found\n# row least_capacity lower_bound text allocator\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      const guint64 capacity = capacity_of (result);
      char size[GEMEM_FORMAT_MAX];

      g_string_append_printf (out, "%u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, i, capacity,
                              result->ooms > 0 ? 0 : result->lower_bound);
      gemem_plot_append_text (out,
                              capacity > 0 ? gemem_format_size (size, capacity) : "none found");
      gemem_plot_append_text (out, gemem_plot_label (group, i));
      g_string_append_c (out, '\n');
    }
}

void
gemem_plot_capacity_script (GString *out, const GememPlotGroup *given, GememPlotPage *page,
                            const char *base)
{
  g_autoptr (GememPlotGroup) group = sorted (given);
  static const GememPlotKey legend[] = {
    { GEMEM_PLOT_BOX, "rgb '#56b4e9'", "least capacity without a failed request" },
    { GEMEM_PLOT_LINE, "lw 2.5 lc rgb '" GEMEM_COLOUR_INK "'", "lower bound" },
  };
  const guint64 end = gemem_plot_common_end (group, capacity_of), most = MAX (end, 1);
  const gboolean broken = gemem_plot_most (group, capacity_of) > most;
  const GememPlotUnit *unit = gemem_plot_size_unit (most);
  const guint left = gemem_plot_row_names_width (group, page), right = page->width - 20,
              lines = gemem_plot_script_legend (NULL, legend, 2, left, 0, page);

  gemem_plot_script_begin_rows (out, group, base, "least capacity", GEMEM_PLOT_ROW, lines, page);
  gemem_plot_script_legend (out, legend, 2, left, GEMEM_PLOT_LEGEND - page->lift, page);
  gemem_plot_script_row_names (out, group, page);
  gemem_plot_script_margins (out, left, right, page->height - gemem_plot_rows_head (page, lines),
                             GEMEM_PLOT_FOOT, page);
  g_string_append_printf (out, "set xlabel 'capacity (%s)' offset 0,0.4\n", unit->name);
  gemem_plot_script_bars_axis (out, most, unit, right - left, GEMEM_PLOT_CHARACTER * 12 + 24,
                               broken, page);
  g_string_append (out, "cut(bytes) = (bytes > end ? end : bytes)/unit\nplot data using "
                        "(0):1:(0):(cut($2)):($1-bar):($1+bar) with boxxyerror lc rgb '#56b4e9' "
                        "notitle, \\\n  ");
  if (broken)
    gemem_plot_script_breaks (out, "$2");
  g_string_append (out,
                   "data using ($3 > 0 ? cut($3) : NaN):($1-0.44):(0):(0.88) with vectors nohead "
                   "lw 2.5 lc rgb '" GEMEM_COLOUR_INK "' notitle, \\\n"
                   "  data using (cut($2)):1:(t(stringcolumn(4))) with labels left offset 0.8,0 "
                   "textcolor rgb '" GEMEM_COLOUR_INK "' notitle\n");
  gemem_plot_script_end (out);
}
