/* comparison.c - the picture of a comparison: a row per allocator, three panels side by side.
 *
 * The panels: peak reserved with peak allocated and peak live within it, against the lower bound;
 * utilisation; modelled latency of an allocation (median, 99th percentile, largest; logarithmic).
 * The picture grows with the number of rows, so that twenty allocators stay legible; on a slim page
 * there is the first panel alone.  Data: a row per allocator.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/plots/plots-private.h"

#define U "%" G_GUINT64_FORMAT
#define FAILED 11 /* column of the data */
#define FIRST 0   /* left edges of the panels, thousandths of the width right of the labels */
#define FIRST_END 520
#define SECOND 550
#define THIRD 750
#define WIDE 1000 /* px */

/* ---- data */

char *
gemem_plot_bar_text (const GememResult *result)
{
  char size[GEMEM_FORMAT_MAX];
  GString *text = g_string_new (gemem_format_size (size, result->peak_reserved));
  if (result->ooms > 0)
    g_string_append_printf (text, ", " U " failed", result->ooms);
  if (result->failure != NULL)
    g_string_append (text, ", stopped");
  else if (result->partial)
    g_string_append (text, ", partial");
  if (result->not_allowed != NULL)
    g_string_append (text, ", not allowed");
  return g_string_free (text, FALSE);
}

void
gemem_plot_comparison_data (GString *out, const GememPlotGroup *group)
{
  g_string_append (out, "# bytes; latencies of an allocation, modelled, ns; NaN: unknown, as "
                        "requests failed or the run is not allowed\n"
                        "# row peak_live peak_allocated peak_reserved lower_bound "
                        "utilisation_permille alloc_p50 alloc_p99 alloc_max modelled_time "
                        "failed text allocator\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *r = group->results->pdata[i];
      g_autofree char *text = gemem_plot_bar_text (r);
      g_string_append_printf (out, "%u " U " " U " " U, i, r->peak_live, r->peak_allocated,
                              r->peak_reserved);
      if (r->ooms > 0)
        g_string_append (out, " NaN NaN");
      else if (r->not_allowed != NULL)
        g_string_append_printf (out, " " U " NaN", r->lower_bound);
      else
        g_string_append_printf (out, " " U " %u", r->lower_bound,
                                (guint) (1000 * gemem_result_utilisation (r) + 0.5));
      g_string_append_printf (out, " " U " " U " " U " " U " " U,
                              gemem_histogram_percentile (&r->alloc_ns, 500),
                              gemem_histogram_percentile (&r->alloc_ns, 990), r->alloc_ns.max,
                              r->modelled_total_ns, gemem_plot_failed (r));
      gemem_plot_append_text (out, text);
      gemem_plot_append_text (out, gemem_plot_label (group, i));
      g_string_append_c (out, '\n');
    }
}

/* ---- script */

typedef struct
{
  const GememPlotPage *page;
  guint head;
  guint left;        /* of the first panel, px */
  glong text;        /* characters after the end of the longest bar */
  guint64 bytes;     /* upper end of the memory axis; longer bars are broken */
  guint64 latency;   /* largest of the group */
  guint64 fastest;   /* smallest median */
  gboolean requests; /* a result has requests: not so if all memory is static memory of graphs */
} ComparisonLayout;

static void
lay_out (ComparisonLayout *layout, const GememPlotGroup *group, const GememPlotPage *page)
{
  *layout = (ComparisonLayout){ .page = page, .fastest = G_MAXUINT64 };
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      g_autofree char *text = gemem_plot_bar_text (result);
      layout->text = MAX (layout->text, g_utf8_strlen (text, -1));
      layout->latency = MAX (layout->latency, result->alloc_ns.max);
      layout->requests = layout->requests || result->allocs > 0;
      layout->fastest = MIN (layout->fastest, gemem_histogram_percentile (&result->alloc_ns, 500));
    }
  layout->bytes = gemem_plot_common_end (group, gemem_plot_peak);
  layout->left = gemem_plot_row_names_width (group, page);
}

/* px of a panel's left edge. */
static guint
panel_left (const ComparisonLayout *layout, guint from)
{
  return layout->left + (layout->page->width - 20 - layout->left) * from / 1000;
}

/* Margins of a panel, from @from to @to thousandths of the width right of the labels. */
static void
append_panel (GString *out, const ComparisonLayout *layout, guint from, guint to, const char *title)
{
  gemem_plot_script_margins (out, panel_left (layout, from), panel_left (layout, to),
                             layout->page->height - layout->head, GEMEM_PLOT_FOOT, layout->page);
  g_string_append_printf (out, "set xlabel t('%s') offset 0,0.4\n", title);
}

static guint
append_memory_legend (GString *out, const ComparisonLayout *layout, const GememPlotGroup *group)
{
  const GememPlotKey memory[] = {
    { GEMEM_PLOT_BOX, "rgb '" GEMEM_COLOUR_LIVE "'", "peak live" },
    { GEMEM_PLOT_BOX, "rgb '" GEMEM_COLOUR_INTERNAL "'", "peak allocated" },
    { GEMEM_PLOT_BOX, "rgb '" GEMEM_COLOUR_EXTERNAL "'", "peak reserved" },
    { GEMEM_PLOT_LINE, "lw 2.5 lc rgb '" GEMEM_COLOUR_INK "'", "lower bound" },
    GEMEM_PLOT_OPTIMUM_KEY,
    GEMEM_PLOT_HATCHED_KEY (group),
  };
  GememPlotKey chosen[G_N_ELEMENTS (memory)];
  guint keys = 0;

  for (guint i = 0; i < G_N_ELEMENTS (memory); i++)
    if (i == G_N_ELEMENTS (memory) - 1   ? gemem_plot_has_failures (group)
        : i == G_N_ELEMENTS (memory) - 2 ? gemem_plot_optimum (group) > 0
                                         : TRUE)
      chosen[keys++] = memory[i];
  const guint width = gemem_plot_legend_width (chosen, keys),
              end = panel_left (layout, layout->page->slim ? 1000 : THIRD);

  return gemem_plot_script_legend (out, chosen, keys,
                                   MIN (panel_left (layout, FIRST), end - MIN (width, end - 20)),
                                   GEMEM_PLOT_LEGEND - layout->page->lift, layout->page);
}

/* Right of that of the memory, or, where there is no space, below it; the number of lines so far is
 * @lines. */
static guint
append_latency_legend (GString *out, const ComparisonLayout *layout, guint lines)
{
  static const GememPlotKey latency[] = {
    { GEMEM_PLOT_POINT, "pt 7 ps 0.9 lc rgb '" GEMEM_COLOUR_GOOD "'", "median" },
    { GEMEM_PLOT_POINT, "pt 9 ps 1 lc rgb '" GEMEM_COLOUR_P99 "'", "p99" },
    { GEMEM_PLOT_POINT, "pt 5 ps 0.8 lc rgb '" GEMEM_COLOUR_ALARM "'", "max" },
  };
  const guint below = layout->page->width < WIDE ? lines : 0;

  if (layout->latency == 0 || layout->page->slim)
    return lines;
  gemem_plot_script_legend (out, latency, G_N_ELEMENTS (latency), panel_left (layout, THIRD),
                            GEMEM_PLOT_LEGEND - layout->page->lift + below * GEMEM_PLOT_LEGEND_ROW,
                            layout->page);
  return MAX (lines, below + 1);
}

static void
append_memory (GString *out, const ComparisonLayout *layout, const GememPlotGroup *group)
{
  const guint64 end = MAX (layout->bytes, 1);
  const GememPlotUnit *unit = gemem_plot_size_unit (end);
  const gboolean broken = gemem_plot_most (group, gemem_plot_peak) > end;
  g_autofree char *title = gemem_plot_axis_title ("peak reserved", unit);
  const guint to = layout->page->slim ? 1000 : FIRST_END;
  const guint space = panel_left (layout, to) - panel_left (layout, FIRST);
  append_panel (out, layout, FIRST, to, title);
  gemem_plot_script_bars_axis (out, end, unit, space,
                               GEMEM_PLOT_CHARACTER * (guint) layout->text + 24, broken,
                               layout->page);
  g_string_append (out, "cut(bytes) = (bytes > end ? end : bytes)/unit\n");
  gemem_plot_script_failures (out, FAILED);
  if (gemem_plot_optimum (group) > 0)
    g_string_append_printf (out,
                            "set arrow from first cut(" U "), graph 0 to first cut(" U
                            "), graph 1 nohead front " GEMEM_PLOT_OPTIMUM_LINE "\n",
                            gemem_plot_optimum (group), gemem_plot_optimum (group));
  g_string_append (out, "plot ");
  gemem_plot_script_bars (out, group, "0", "cut($4)", "-bar", "+bar", GEMEM_COLOUR_EXTERNAL,
                          "peak reserved");
  gemem_plot_script_bars (out, group, "0", "cut($3)", "-bar", "+bar", GEMEM_COLOUR_INTERNAL,
                          "peak allocated");
  gemem_plot_script_bars (out, group, "0", "cut($2)", "-bar", "+bar", GEMEM_COLOUR_LIVE,
                          "peak live");
  if (broken)
    gemem_plot_script_breaks (out, "$4");
  g_string_append (
      out,
      "data using (cut($5)):($1-0.44):(0):(0.88) with vectors nohead lw 2.5 "
      "lc rgb '" GEMEM_COLOUR_INK "' title 'lower bound', \\\n"
      "  data using (cut($11>0||$4>column(5)?$4:column(5))):1:(t(stringcolumn(12))) with labels "
      "left offset 0.8,0 textcolor rgb '" GEMEM_COLOUR_INK "' notitle\n");
}

static void
append_utilisation (GString *out, const ComparisonLayout *layout)
{
  append_panel (out, layout, SECOND, 710, "utilisation (%)");
  g_string_append_printf (out, "set xrange [0:100]\nset xtics 0,%u,100\n",
                          layout->page->width < WIDE ? 50 : 25);
  g_string_append (out, "unset ytics\n"
                        "plot data using (0):1:(0):($6/10):($1-bar):($1+bar) with boxxyerror lc "
                        "rgb '#56b4e9' title 'utilisation', \\\n"
                        "  data using (column(6) < 300 ? column(6)/10+3 : 3):1:($11>0 ? '-' : "
                        "sprintf('%.1f', column(6)/10)) with labels "
                        "left textcolor rgb '" GEMEM_COLOUR_INK "' notitle\n");
}

/* Powers of ten between two tics, so that tics are at least 60 px apart. */
static guint
tic_factor (const ComparisonLayout *layout)
{
  guint decades = 1;
  for (guint64 at = MAX (layout->fastest, 1); at < layout->latency / 10; at *= 10)
    decades++;
  return (panel_left (layout, 1000) - panel_left (layout, THIRD)) / (decades + 1) >= 60 ? 10 : 100;
}

static void
append_latency (GString *out, const ComparisonLayout *layout, const GememPlotGroup *group)
{
  append_panel (out, layout, THIRD, 1000, "modelled latency");
  gemem_plot_script_guesses (out, group, "2 ");
  if (layout->latency == 0)
    g_string_append_printf (out,
                            "set xrange [0:1]\nunset xtics\nset label 1 %s at graph 0.5,0.5 center "
                            "textcolor rgb '#888888'\nplot NaN\n",
                            layout->requests ? "\"no costs:\\ngive the device a profile\""
                                             : "'no requests'");
  else
    g_string_append_printf (
        out,
        "set logscale x\n"
        "set xrange [*:*]\n"
        "set offsets graph 0.05, graph 0.05, 0, 0\n"
        "set xtics %u format '%%.0s%%cs'\nset nomxtics\n"
        "at(ns) = (ns < 1 ? 1 : ns) * 1e-9\n"
        "plot data using (at($7)):1 with points pt 7 ps 0.9 lc rgb '" GEMEM_COLOUR_GOOD
        "' title 'median', \\\n"
        "  data using (at($8)):1 with points pt 9 ps 1 lc rgb '" GEMEM_COLOUR_P99
        "' title 'p99', \\\n"
        "  data using (at($9)):1 with points pt 5 ps 0.7 lc rgb '" GEMEM_COLOUR_ALARM
        "' title 'max'\n"
        "unset logscale x\n"
        "set offsets 0, 0, 0, 0\n",
        tic_factor (layout));
  g_string_append (out, "set xtics autofreq format '%g'\nunset label\n");
}

void
gemem_plot_comparison_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                              const char *base)
{
  ComparisonLayout layout;
  lay_out (&layout, group, page);
  const guint memory = append_memory_legend (NULL, &layout, group),
              lines = append_latency_legend (NULL, &layout, memory);
  layout.head = gemem_plot_rows_head (page, lines);
  gemem_plot_script_begin_rows (out, group, base, "peak memory and cost by allocator",
                                GEMEM_PLOT_ROW, lines, page);
  append_memory_legend (out, &layout, group);
  append_latency_legend (out, &layout, memory);
  gemem_plot_script_row_names (out, group, page);
  append_memory (out, &layout, group);
  g_string_append (out, GEMEM_PLOT_UNSET);
  if (!page->slim)
    {
      append_utilisation (out, &layout);
      append_latency (out, &layout, group);
    }
  gemem_plot_script_end (out);
}
