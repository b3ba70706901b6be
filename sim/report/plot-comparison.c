/* plot-comparison.c - the picture of a comparison: a row per allocator, three panels beside one another.
 *
 * Peak reserved, divided into what it is made of at that moment, against the lower bound; utilisation; modelled latency of an
 * allocation (median, 99th percentile, largest; logarithmic).  The picture grows with the number of rows, so that twenty allocators
 * are as legible as two.
 */
#include "config.h"

#include <string.h>

#include "sim/report/plot.h"

#define WIDTH 1200
#define ROW 30
#define HEAD 96  /* above the panels: title and legends */
#define FOOT 58  /* below: tics and axis labels */
#define LABEL_MAX 44
#define CHARACTER 8 /* px of one character of a label */

typedef struct
{
  guint   rows, height;
  guint   left;           /* of the first panel, px */
  guint64 bytes, latency; /* largest of the group */
} Layout;

static void
lay_out (Layout *layout, const GememPlotGroup *group)
{
  glong characters = 0;
  *layout = (Layout){ .rows = group->results->len };
  for (guint i = 0; i < layout->rows; i++)
    {
      const GememResult *result = group->results->pdata[i];
      characters = MAX (characters, g_utf8_strlen (result->label, -1));
      layout->bytes = MAX (layout->bytes, MAX (result->peak_reserved, result->lower_bound));
      layout->latency = MAX (layout->latency, result->alloc_ns.max);
    }
  layout->left = 30 + CHARACTER * (guint) MIN (MAX (characters, 10), LABEL_MAX);
  layout->height = HEAD + FOOT + ROW * layout->rows;
}

/* Margins of a panel, from @from to @to thousandths of what is right of the labels, and where its legend is. */
static void
append_panel (GString *out, const Layout *layout, guint from, guint to, const char *title)
{
  const guint room = WIDTH - 20 - layout->left;
  const guint left = (layout->left + room * from / 1000) * 1000 / WIDTH, right = (layout->left + room * to / 1000) * 1000 / WIDTH;
  const guint top = (layout->height - HEAD) * 1000 / layout->height, bottom = FOOT * 1000 / layout->height;
  gemem_plot_append_fraction (out, "set lmargin at screen ", left);
  gemem_plot_append_fraction (out, "\nset rmargin at screen ", right);
  gemem_plot_append_fraction (out, "\nset tmargin at screen ", top);
  gemem_plot_append_fraction (out, "\nset bmargin at screen ", bottom);
  gemem_plot_append_fraction (out, "\nset key at screen ", left);
  gemem_plot_append_fraction (out, ",", (layout->height - HEAD + 34) * 1000 / layout->height);
  g_string_append_printf (out, " left top horizontal Left reverse samplen 1.2 width 1\nset xlabel '%s'\n", title);
}

static void
append_row_names (GString *out, const GememPlotGroup *group)
{
  g_string_append (out, "set ytics scale 0 (");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      g_string_append (out, i > 0 ? ", " : "");
      gemem_plot_append_quoted (out, result->label, LABEL_MAX, TRUE);
      g_string_append_printf (out, " %u", i);
    }
  g_string_append (out, ")\n");
}

static void
append_memory (GString *out, const Layout *layout)
{
  const GememPlotUnit *unit = gemem_plot_size_unit (layout->bytes);
  g_autofree char *title = g_strdup_printf ("peak reserved (%s)", unit->name);
  append_panel (out, layout, 0, 540, title);
  g_string_append_printf (out,
                          "unit = %s\n"
                          "set xrange [0:%" G_GUINT64_FORMAT "/unit*1.28]\n"
                          "plot data using (0):1:(0):($3/unit):($1-0.34):($1+0.34) with boxxyerror lc rgb '" GEMEM_COLOUR_LIVE "' title 'live', \\\n"
                          "  data using (0):1:($3/unit):(($3+$4)/unit):($1-0.34):($1+0.34) with boxxyerror lc rgb '" GEMEM_COLOUR_INTERNAL
                          "' title 'internal waste', \\\n"
                          "  data using (0):1:(($3+$4)/unit):(($3+$4+$5)/unit):($1-0.34):($1+0.34) with boxxyerror lc rgb '" GEMEM_COLOUR_EXTERNAL
                          "' title 'external waste', \\\n"
                          "  data using ($6/unit):($1-0.44):(0):(0.88) with vectors nohead lw 2.5 lc rgb '" GEMEM_COLOUR_INK "' title 'lower bound', \\\n"
                          "  data using (($2>$6?$2:$6)/unit):1:13 with labels left offset 0.8,0 textcolor rgb '" GEMEM_COLOUR_INK "' notitle\n",
                          unit->divisor, MAX (layout->bytes, 1));
}

static void
append_utilisation (GString *out, const Layout *layout)
{
  append_panel (out, layout, 580, 750, "utilisation (%)");
  g_string_append (out, "set xrange [0:100]\n"
                        "set xtics 25\n"
                        "set ytics scale 0 format ''\n"
                        "plot data using (0):1:(0):($7/10):($1-0.34):($1+0.34) with boxxyerror lc rgb '#56b4e9' notitle, \\\n"
                        "  data using (3):1:(sprintf('%.1f', $7/10)) with labels left textcolor rgb '" GEMEM_COLOUR_INK "' notitle\n"
                        "set xtics autofreq\n");
}

static void
append_latency (GString *out, const Layout *layout)
{
  append_panel (out, layout, 790, 1000, "allocation, modelled");
  if (layout->latency == 0)
    g_string_append (out, "set xrange [0:1]\nset format x ''\nset label 1 'no costs: give the device a profile' at graph 0.5,0.5 center textcolor rgb '#888888'\n"
                          "plot NaN notitle\n");
  else
    g_string_append (out,
                     "set logscale x\n"
                     "set xrange [*:*]\n"
                     "set offsets graph 0.05, graph 0.05, 0, 0\n"
                     "set format x '%.0s %cs'\n"
                     "at(ns) = (ns < 1 ? 1 : ns) * 1e-9\n"
                     "plot data using (at($8)):1 with points pt 7 ps 1 lc rgb '" GEMEM_COLOUR_GOOD "' title 'median', \\\n"
                     "  data using (at($9)):1 with points pt 9 ps 1.2 lc rgb '" GEMEM_COLOUR_INTERNAL "' title '99 %', \\\n"
                     "  data using (at($10)):1 with points pt 5 ps 0.9 lc rgb '" GEMEM_COLOUR_ALARM "' title 'max'\n"
                     "unset logscale x\n"
                     "set offsets 0, 0, 0, 0\n");
  g_string_append (out, "set format\nunset label 1\n");
}

void
gemem_plot_script_comparison (GString *out, const GememPlotGroup *group, const char *base)
{
  Layout layout;
  lay_out (&layout, group);
  gemem_plot_script_begin (out, base, WIDTH, layout.height);
  g_string_append (out, "set multiplot\nset label 99 ");
  gemem_plot_append_quoted (out, group->title, 100, FALSE);
  gemem_plot_append_fraction (out, " at screen 0.5,", (layout.height - 22) * 1000 / layout.height);
  g_string_append_printf (out, " center font ',16' textcolor rgb '" GEMEM_COLOUR_INK "'\nset yrange [%u.5:-0.5]\n", layout.rows - 1);
  append_row_names (out, group);
  append_memory (out, &layout);
  g_string_append (out, "unset label 99\n");
  append_utilisation (out, &layout);
  append_latency (out, &layout);
  gemem_plot_script_end (out);
}
