/* front.c - memory against time: every result is a point; those that no other beats in both are the
 * front, which is named.
 *
 * Why: what needs least memory often takes longest; which of them is right is not ours to say, but
 * the others are out of the question.  Both axes begin near the least, as nothing is compared by
 * area.  Results in which requests failed are no answer and are left out.
 *
 * Data: the front, from the fastest on; then the others.
 */
#include "config.h"

#include "base/units.h"
#include "sim/plots/plots-private.h"

#define LEAST 3 /* results */
#define PANEL 320
#define LEFT 84
#define RIGHT 24
#define HEAD 56
#define FOOT 76
#define NAMES 10 /* of the front */

static gboolean
counts (const GememResult *result)
{
  return gemem_plot_failed (result) == 0 && result->modelled_total_ns > 0
         && result->programs == NULL;
}

/* Faster first; of equally fast ones what needs less. */
static int
compare (gconstpointer a, gconstpointer b)
{
  const GememResult *x = *(const GememResult *const *) a, *y = *(const GememResult *const *) b;

  if (x->modelled_total_ns != y->modelled_total_ns)
    return x->modelled_total_ns < y->modelled_total_ns ? -1 : 1;
  return (x->peak_reserved > y->peak_reserved) - (x->peak_reserved < y->peak_reserved);
}

static GPtrArray *
candidates (const GememPlotGroup *group)
{
  GPtrArray *sorted = g_ptr_array_new ();

  for (guint i = 0; i < group->all->len; i++)
    if (counts (group->all->pdata[i]))
      g_ptr_array_add (sorted, group->all->pdata[i]);
  g_ptr_array_sort (sorted, compare);
  return sorted;
}

gboolean
gemem_plot_has_front (const GememPlotGroup *group)
{
  g_autoptr (GPtrArray) sorted = candidates (group);
  guint different = 0;

  for (guint i = 1; i < sorted->len; i++)
    different += compare (&sorted->pdata[i - 1], &sorted->pdata[i]) != 0;
  return different + 1 >= LEAST;
}

static void
append_point (GString *out, const GememPlotGroup *group, const GememResult *result, gboolean named)
{
  const char *label = result->label;

  for (guint i = 0; i < group->results->len; i++)
    if (group->results->pdata[i] == result)
      label = gemem_plot_label (group, i);
  g_string_append_printf (out, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
                          result->modelled_total_ns, result->peak_reserved);
  g_autofree char *name = gemem_plot_shorten (label, 36);
  gemem_plot_append_text (out, named ? name : "");
  g_string_append_c (out, '\n');
}

void
gemem_plot_front_data (GString *out, const GememPlotGroup *group)
{
  g_autoptr (GPtrArray) sorted = candidates (group), others = g_ptr_array_new ();
  guint64 least = G_MAXUINT64;
  guint front = 0;

  g_string_append (out,
                   "# modelled time in the allocator, ns; peak reserved, bytes; name\n# index 0: "
                   "the front\n");
  for (guint i = 0; i < sorted->len; i++)
    {
      const GememResult *result = sorted->pdata[i];
      if (result->peak_reserved >= least)
        {
          g_ptr_array_add (others, sorted->pdata[i]);
          continue;
        }
      least = result->peak_reserved;
      append_point (out, group, result, front++ < NAMES);
    }
  g_string_append (out, "\n\n# index 1: the others\n");
  for (guint i = 0; i < others->len; i++)
    append_point (out, group, others->pdata[i], FALSE);
  if (others->len == 0)
    g_string_append (out, "NaN NaN \"\"\n");
}

void
gemem_plot_front_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                         const char *base)
{
  static const GememPlotKey legend[] = {
    { GEMEM_PLOT_POINT, "pt 7 ps 1 lc rgb '" GEMEM_COLOUR_LIVE "'", "no other beats it in both" },
    { GEMEM_PLOT_POINT, "pt 7 ps 0.8 lc rgb '#999999'", "another needs less and is no slower" },
  };
  g_autoptr (GPtrArray) sorted = candidates (group);
  const GememPlotGroup whole = { .title = group->title };
  guint64 most = 0;

  for (guint i = 0; i < sorted->len; i++)
    most = MAX (most, ((const GememResult *) sorted->pdata[i])->peak_reserved);
  const GememPlotUnit *unit = gemem_plot_size_unit (most);
  const guint lines = gemem_plot_script_legend (NULL, legend, 2, 0, 0, page),
              head = HEAD - page->lift + lines * GEMEM_PLOT_LEGEND_ROW;
  page->height = head + PANEL + FOOT;
  gemem_plot_script_begin (out, base, page);
  g_string_append_printf (out, "set multiplot\nunit = %s\n", unit->divisor);
  gemem_plot_script_title (out, &whole, "memory against time", page);
  gemem_plot_script_legend (out, legend, 2, 0, GEMEM_PLOT_LEGEND - page->lift, page);
  gemem_plot_script_margins (out, LEFT, page->width - RIGHT, page->height - head, FOOT, page);
  gemem_plot_script_guesses (out, group, "99 ");
  g_string_append_printf (
      out,
      "set logscale x\nset xrange [*:*]\nset yrange [*:*]\nset offsets graph 0.05, graph 0.3, "
      "graph "
      "0.08, graph 0.05\nset xtics 10 format '%%.0s%%cs'\nunset mxtics\n"
      "set xlabel 'modelled time in the allocator and its device calls, logarithmic' offset 0,0.4\n"
      "set ylabel 'peak reserved (%s)'\n"
      "plot data index 1 using ($1*1e-9):($2/unit) with points pt 7 ps 0.8 lc rgb '#999999' "
      "notitle, "
      "\\\n  data index 0 using ($1*1e-9):($2/unit) with steps lw 1.5 lc rgb '" GEMEM_COLOUR_LIVE
      "' notitle, \\\n"
      "  data index 0 using ($1*1e-9):($2/unit) with points pt 7 ps 1 lc rgb '" GEMEM_COLOUR_LIVE
      "' notitle, \\\n"
      "  data index 0 using ($1*1e-9):($2/unit):(t(stringcolumn(3))) with labels left offset "
      "0.7,0.5 "
      "notitle\n",
      unit->name);
  gemem_plot_script_end (out);
}
