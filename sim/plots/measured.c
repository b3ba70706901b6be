/* measured.c - the pictures of modelled against measured times, for runs with --measure.
 *
 * measured: a row per allocator: the total time predicted by the device profile, below it the
 * measured time, and the error; logarithmic, as allocators differ a thousandfold, so that equal
 * differences of two bars are equal errors.  latency: a row per allocator: histograms of the
 * latency of allocations (left) and frees (right); both axes are logarithmic, because expensive
 * ones take a thousand times as long as most.  A bin is a quarter of a doubling.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/plots/plots-private.h"

#define ROW_BARS 44
#define ROW_PANEL 170 /* px, GAP of them free */
#define GAP 46
#define BINS 256
#define BETWEEN 60
#define PANELS 8 /* results of the latencies */
#define MODELLED GEMEM_COLOUR_LIVE
#define MEASURED GEMEM_COLOUR_INTERNAL

gboolean
gemem_plot_has_measured (const GememPlotGroup *group)
{
  for (guint i = 0; i < group->results->len; i++)
    if (((const GememResult *) group->results->pdata[i])->measured_alloc_ns.count > 0)
      return TRUE;
  return FALSE;
}

#define MODELLED_KEY \
  { \
    GEMEM_PLOT_BOX, "rgb '" MODELLED "'", "modelled: what the device profile predicts" \
  }
#define MEASURED_KEY \
  { \
    GEMEM_PLOT_BOX, "rgb '" MEASURED "'", "measured: by the clock of the host" \
  }

/* ---- total time */

static guint64
longer_time (const GememResult *result)
{
  return MAX (result->modelled_total_ns, result->measured_total_ns);
}

/* The start of the bars: a tenth of the shortest time, at least a microsecond. */
static guint64
shortest_time (const GememPlotGroup *group)
{
  guint64 ns = gemem_plot_most (group, longer_time);
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *r = group->results->pdata[i];
      if (r->measured_total_ns > 0 && r->modelled_total_ns > 0)
        ns = MIN (ns, MIN (r->modelled_total_ns, r->measured_total_ns));
    }
  return MAX (ns / 10, 1000);
}

static char *
error_text (const GememResult *r)
{
  char modelled[GEMEM_FORMAT_MAX], measured[GEMEM_FORMAT_MAX], error[G_ASCII_DTOSTR_BUF_SIZE];

  if (r->measured_total_ns == 0)
    return g_strdup ("not measured");
  g_ascii_formatd (error, sizeof error, "%+.1f",
                   100 * ((double) r->modelled_total_ns / (double) r->measured_total_ns - 1));
  return g_strdup_printf ("%s for %s: %s %%", gemem_format_time (modelled, r->modelled_total_ns),
                          gemem_format_time (measured, r->measured_total_ns), error);
}

void
gemem_plot_measured_data (GString *out, const GememPlotGroup *group)
{
  g_string_append (out, "# time in the allocator and its device calls, ns\n# row modelled measured "
                        "text allocator failed\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *r = group->results->pdata[i];
      g_autofree char *text = error_text (r);
      g_string_append_printf (out, "%u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, i,
                              r->modelled_total_ns, r->measured_total_ns);
      gemem_plot_append_text (out, text);
      gemem_plot_append_text (out, gemem_plot_label (group, i));
      g_string_append_printf (out, " %" G_GUINT64_FORMAT "\n", gemem_plot_failed (r));
    }
}

void
gemem_plot_measured_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                            const char *base)
{
  const guint64 end = MAX (gemem_plot_most (group, longer_time), 1), start = shortest_time (group);
  const guint left = gemem_plot_row_names_width (group, page);
  const GememPlotKey legend[] = { MODELLED_KEY, MEASURED_KEY, GEMEM_PLOT_HATCHED_KEY (group) };
  const guint keys = G_N_ELEMENTS (legend) - !gemem_plot_has_failures (group),
              lines = gemem_plot_script_legend (NULL, legend, keys, left, 0, page);

  gemem_plot_script_begin_rows (out, group, base, "predicted and real time in the allocator",
                                ROW_BARS, lines, page);
  gemem_plot_script_legend (out, legend, keys, left, GEMEM_PLOT_LEGEND - page->lift, page);
  gemem_plot_script_row_names (out, group, page);
  gemem_plot_script_margins (out, left, page->width - 24,
                             page->height - gemem_plot_rows_head (page, lines), GEMEM_PLOT_FOOT,
                             page);
  g_string_append_printf (
      out,
      "set xlabel 'time in the allocator and its device calls, logarithmic' offset 0,0.4\n"
      "set logscale x\nstart = %" G_GUINT64_FORMAT "e-9\nend = %" G_GUINT64_FORMAT "e-9\n"
      "set xrange [start:end*(end/start)**0.4]\nset xtics 10 format '%%.0s%%cs'\nunset mxtics\n"
      "at(ns) = (ns*1e-9 > start ? ns*1e-9 : start)\n",
      start, end);
  gemem_plot_script_failures (out, 6);
  g_string_append (out, "plot ");
  gemem_plot_script_bars (out, group, "start", "at($2)", "-0.36", "-0.02", MODELLED, "modelled");
  gemem_plot_script_bars (out, group, "start", "at($3)", "+0.02", "+0.36", MEASURED, "measured");
  g_string_append (
      out,
      "data using (at($2>$3?$2:$3)):1:(t(stringcolumn(4))) with labels left offset 0.8,0 textcolor "
      "rgb '" GEMEM_COLOUR_INK "' notitle\n");
  gemem_plot_script_end (out);
}

/* ---- each call */

/* Quarters of doublings: 4 times the binary logarithm, rounded down. */
static guint
bin_of (guint64 ns)
{
  const guint octave = 63 - (guint) __builtin_clzll (ns | 1);
  return octave < 2 ? 4 * octave : 4 * octave + (guint) (ns >> (octave - 2) & 3);
}

static guint64
bin_start (guint bin)
{
  const guint octave = bin / 4;
  return octave < 2 ? (guint64) 1 << octave : (guint64) (4 + bin % 4) << (octave - 2);
}

static void
fill_bins (guint64 *bins, const GememHistogram *histogram)
{
  memset (bins, 0, BINS * sizeof *bins);
  for (guint bucket = 0; bucket < GEMEM_HISTOGRAM_BUCKETS; bucket++)
    if (histogram->buckets[bucket] > 0)
      bins[bin_of (gemem_histogram_bucket_end (bucket))] += histogram->buckets[bucket];
}

void
gemem_plot_latency_data (GString *out, const GememPlotGroup *all)
{
  g_autoptr (GememPlotGroup) group = gemem_plot_group_first (all, PANELS);

  g_string_append (out,
                   "# how many took from so long to so long, ns: a block for each allocator\n"
                   "# from to allocs_modelled allocs_measured frees_modelled frees_measured\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *r = group->results->pdata[i];
      const GememHistogram *const histograms[] = { &r->alloc_ns, &r->measured_alloc_ns, &r->free_ns,
                                                   &r->measured_free_ns };
      guint64 bins[G_N_ELEMENTS (histograms)][BINS];

      for (guint h = 0; h < G_N_ELEMENTS (histograms); h++)
        fill_bins (bins[h], histograms[h]);
      g_string_append (out, i > 0 ? "\n\n" : "");
      for (guint bin = 0; bin + 1 < BINS; bin++)
        if (bin_start (bin + 1) > bin_start (bin)
            && bins[0][bin] + bins[1][bin] + bins[2][bin] + bins[3][bin] > 0)
          g_string_append_printf (out,
                                  "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
                                  " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
                                  "\n",
                                  bin_start (bin), bin_start (bin + 1), bins[0][bin], bins[1][bin],
                                  bins[2][bin], bins[3][bin]);
    }
}

static guint64
longest (const GememPlotGroup *group)
{
  guint64 ns = 10000;
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *r = group->results->pdata[i];
      ns = MAX (ns, MAX (MAX (r->alloc_ns.max, r->measured_alloc_ns.max),
                         MAX (r->free_ns.max, r->measured_free_ns.max)));
    }
  return ns;
}

static guint64
most_calls (const GememResult *result)
{
  return MAX (result->alloc_ns.count, result->free_ns.count);
}

/* Panel of allocations (@column 3) or frees (5) of result @i. */
static void
append_panel (GString *out, const GememPlotGroup *group, guint i, guint column,
              const GememPlotPage *page)
{
  const guint above = page->height - GEMEM_PLOT_HEAD + page->lift - 20, top = above - i * ROW_PANEL,
              bottom = above - (i + 1) * ROW_PANEL + GAP,
              half = (page->width - 84 - 18 - BETWEEN) / 2,
              left = column == 3 ? 84 : 84 + half + BETWEEN;

  gemem_plot_script_margins (out, left, left + half, top, bottom, page);
  g_string_append (out, "set label 1 ");
  gemem_plot_append_label (out, gemem_plot_label (group, i),
                           MIN (GEMEM_PLOT_ROW_NAME_MAX, half / GEMEM_PLOT_CHARACTER), FALSE);
  g_string_append_printf (
      out,
      " at graph 0, graph 1.09 left\nset xlabel '%s' offset 0,0.6\nset ylabel '%s' offset 0,0\n",
      i + 1 < group->results->len ? ""
      : column == 3               ? "time of an allocation"
                                  : "time of a free",
      column == 3 ? "calls" : "");
  g_string_append_printf (
      out,
      "plot data index %u using ($1*1e-9):(0.7):($1*1e-9):($2*1e-9):(0.7):($%u>0?$%u:0.7) with "
      "boxxyerror fs transparent solid 0.75 noborder lc rgb '" MEASURED "' title 'measured', \\\n"
      "  data index %u using ($1*1e-9):(0.7):($1*1e-9):($2*1e-9):(0.7):($%u>0?$%u:0.7) with "
      "boxxyerror fs transparent solid 0.55 noborder lc rgb '" MODELLED "' title 'modelled'\n",
      i, column + 1, column + 1, i, column, column);
}

void
gemem_plot_latency_script (GString *out, const GememPlotGroup *all, GememPlotPage *page,
                           const char *base)
{
  static const GememPlotKey legend[] = { MODELLED_KEY, MEASURED_KEY };
  g_autoptr (GememPlotGroup) group = gemem_plot_group_first (all, PANELS);

  page->height = GEMEM_PLOT_HEAD - page->lift + 30 + ROW_PANEL * group->results->len;
  gemem_plot_script_begin (out, base, page);
  g_string_append_printf (out,
                          "set multiplot\nset logscale xy\nset xrange [10e-9:%" G_GUINT64_FORMAT
                          "e-9*2]\nset yrange [0.7:%" G_GUINT64_FORMAT "*2]\n"
                          "set xtics %u format '%%.0s%%cs'\nset ytics 1,10 format "
                          "'%%.0s%%c'\nunset mxtics\nunset mytics\n",
                          longest (group), MAX (gemem_plot_most (group, most_calls), 1),
                          page->slim ? 1000 : 10);
  gemem_plot_script_title (out, group, "latency of allocations (left) and frees (right)", page);
  gemem_plot_script_legend (out, legend, G_N_ELEMENTS (legend), 0, GEMEM_PLOT_LEGEND - page->lift,
                            page);
  for (guint i = 0; i < group->results->len; i++)
    {
      append_panel (out, group, i, 3, page);
      g_string_append (out, i == 0 ? "unset label\nunset object\n" : "");
      append_panel (out, group, i, 5, page);
    }
  gemem_plot_script_end (out);
}
