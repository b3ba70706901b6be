/* cumulative.c - how many allocations took at most so long: a curve for each allocator.
 *
 * Why: a median and a 99th percentile hide where the expensive ones begin and how many there are.
 * Times are modelled (device profile), logarithmic.  Equal curves are one, as equal results are; at
 * most six, so that colours are distinct.
 *
 * Data: a block per allocator: a time, and how many of its allocations took no longer.
 */
#include "config.h"

#include "base/histogram.h"
#include "sim/plots/plots-private.h"

#define MOST 6
#define PANEL 280
#define LEFT 84
#define RIGHT 24
#define HEAD 56
#define FOOT 76

static const char *const looks[MOST] = {
  "lw 4 lc rgb '#222222'",   "lw 3.4 lc rgb '#56b4e9'", "lw 2.8 lc rgb '#d55e00'",
  "lw 2.2 lc rgb '#e69f00'", "lw 1.8 lc rgb '#cc79a7'", "lw 1.4 lc rgb '#009e73'",
};

gboolean
gemem_plot_has_cumulative (const GememPlotGroup *group)
{
  guint n = 0;
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      n += result->alloc_ns.count > 0 && result->alloc_ns.max > 0;
    }
  return n >= 2;
}

static void
append_block (GString *out, const GememHistogram *histogram)
{
  guint64 sum = 0;

  for (guint bucket = 0; bucket < GEMEM_HISTOGRAM_BUCKETS; bucket++)
    {
      if (histogram->buckets[bucket] == 0)
        continue;
      const guint64 end = MIN (gemem_histogram_bucket_end (bucket), histogram->max);
      if (sum == 0)
        g_string_append_printf (out, "%" G_GUINT64_FORMAT " 0\n", end);
      sum += histogram->buckets[bucket];
      g_string_append_printf (out, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", end, sum);
    }
  if (sum == 0)
    g_string_append (out, "NaN NaN\n");
}

void
gemem_plot_cumulative_data (GString *out, const GememPlotGroup *all)
{
  g_autoptr (GememPlotGroup) group = gemem_plot_group_first (all, MOST);

  g_string_append (out, "# ns, and how many allocations took no longer, modelled\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      g_autofree char *before = g_strdup_printf ("index %u: ", i);
      g_string_append (out, i > 0 ? "\n\n" : "");
      gemem_plot_append_comment (out, before, gemem_plot_label (group, i));
      append_block (out, &((const GememResult *) group->results->pdata[i])->alloc_ns);
    }
}

void
gemem_plot_cumulative_script (GString *out, const GememPlotGroup *all, GememPlotPage *page,
                              const char *base)
{
  g_autoptr (GememPlotGroup) group = gemem_plot_group_first (all, MOST);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  GememPlotKey keys[MOST];
  const guint n = MIN (group->results->len, MOST);

  for (guint i = 0; i < n; i++)
    {
      g_ptr_array_add (names,
                       gemem_plot_shorten (gemem_plot_label (group, i),
                                           MIN (44, page->width / GEMEM_PLOT_CHARACTER - 8)));
      keys[i] = (GememPlotKey){ GEMEM_PLOT_LINE, looks[i], names->pdata[i] };
    }
  const guint head = HEAD - page->lift
                     + gemem_plot_script_legend (NULL, keys, n, 0, 0, page) * GEMEM_PLOT_LEGEND_ROW;
  page->height = head + PANEL + FOOT;
  gemem_plot_script_begin (out, base, page);
  g_string_append (out, "set multiplot\n");
  gemem_plot_script_title (out, group, "how long allocations take", page);
  gemem_plot_script_legend (out, keys, n, 0, GEMEM_PLOT_LEGEND - page->lift, page);
  gemem_plot_script_margins (out, LEFT, page->width - RIGHT, page->height - head, FOOT, page);
  gemem_plot_script_guesses (out, group, "99 ");
  g_string_append (out, "set logscale x\nset xrange [*:*]\nset yrange [0:100]\nset ytics 25\n"
                        "set xtics 10 format '%.0s%cs'\nunset mxtics\n"
                        "set xlabel 'modelled time of an allocation, logarithmic' offset 0,0.4\n"
                        "set ylabel t('allocations (%)')\nplot ");
  for (guint i = 0; i < n; i++)
    g_string_append_printf (
        out,
        "%sdata index %u using ($1*1e-9):($2*100.0/%" G_GUINT64_FORMAT ") with steps %s notitle",
        i > 0 ? ", \\\n  " : "", i,
        MAX (((const GememResult *) group->results->pdata[i])->alloc_ns.count, 1), looks[i]);
  g_string_append_c (out, '\n');
  gemem_plot_script_end (out);
}
