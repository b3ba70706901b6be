/* calls.c - the picture of device calls: a row per allocator with two stacked bars by kind of call:
 * modelled time, and number of calls.
 *
 * Why: allocators that map pages trade memory for calls, whose costs differ a hundredfold; the
 * first panel shows the time, the second whether it went into few expensive calls or many cheap
 * ones.  Kinds are grouped into nine classes, because more colours are not distinct (Okabe and
 * Ito's eight, and grey); in this picture a colour means a class of calls.  A bar far longer than
 * the others is broken where the longest of them ends, its parts in proportion.  On a slim page
 * there is the time alone.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/plots/plots-private.h"

#define SPLIT 560  /* time panel, then numbers: thousandths of the width right of the names */
#define BETWEEN 30 /* px between the panels */
#define RIGHT 20
#define CLASSES 9
#define FAILED (2 + 2 * CLASSES + 3) /* column of the data */

#define BIT(call) (1u << GEMEM_CALL_##call)

static const struct
{
  const char *name, *colour;
  guint32 calls;
} classes[CLASSES] = {
  { "malloc", "#0072b2", BIT (MALLOC) },
  { "free", "#56b4e9", BIT (FREE) },
  { "reserve, release", "#222222", BIT (RESERVE) | BIT (RELEASE) },
  { "create", "#009e73", BIT (CREATE) },
  { "destroy", "#cc79a7", BIT (DESTROY) },
  { "map", "#e69f00", BIT (MAP) },
  { "unmap", "#f0e442", BIT (UNMAP) },
  { "syncs, events", "#d55e00",
    BIT (EVENT_RECORD) | BIT (EVENT_QUERY) | BIT (EVENT_SYNC) | BIT (STREAM_SYNC)
        | BIT (DEVICE_SYNC) },
  { "memset, info", "#d4d4d4", BIT (MEMSET) | BIT (INFO) },
};

static guint64
sum_of (const guint64 *by_call, guint32 calls)
{
  guint64 sum = 0;
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    if ((calls >> call & 1) != 0)
      sum += by_call[call];
  return sum;
}

static guint64
whole_time (const GememResult *result)
{
  return sum_of (result->call_ns, G_MAXUINT32);
}

static guint64
whole_count (const GememResult *result)
{
  return sum_of (result->calls, G_MAXUINT32);
}

void
gemem_plot_calls_data (GString *out, const GememPlotGroup *group)
{
  g_string_append (out, "# modelled time of device calls by kind, ns; then their numbers\n# row");
  for (guint panel = 0; panel < 2; panel++)
    for (guint c = 0; c < CLASSES; c++)
      {
        g_auto (GStrv) words = g_strsplit (classes[c].name, ", ", -1);
        g_autofree char *name = g_strjoinv ("_", words);
        g_string_append_printf (out, " %s_%s", name, panel == 0 ? "ns" : "calls");
      }
  g_string_append (out, " time calls allocator failed\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      char time[GEMEM_FORMAT_MAX], count[GEMEM_FORMAT_MAX];
      g_string_append_printf (out, "%u", i);
      for (guint c = 0; c < CLASSES; c++)
        g_string_append_printf (out, " %" G_GUINT64_FORMAT,
                                sum_of (result->call_ns, classes[c].calls));
      for (guint c = 0; c < CLASSES; c++)
        g_string_append_printf (out, " %" G_GUINT64_FORMAT,
                                sum_of (result->calls, classes[c].calls));
      gemem_plot_append_text (out, gemem_format_time (time, whole_time (result)));
      g_snprintf (count, sizeof count, "%" G_GUINT64_FORMAT, whole_count (result));
      gemem_plot_append_text (out, count);
      gemem_plot_append_text (out, gemem_plot_label (group, i));
      g_string_append_printf (out, " %" G_GUINT64_FORMAT "\n", gemem_plot_failed (result));
    }
}

guint
gemem_plot_calls_legend (GString *out, const GememPlotGroup *group, guint y,
                         const GememPlotPage *page)
{
  const GememPlotKey hatched = GEMEM_PLOT_HATCHED_KEY (group);
  GememPlotKey keys[CLASSES + 1];
  char looks[CLASSES][16];
  guint n = 0;
  for (guint c = 0; c < CLASSES; c++)
    {
      gboolean occurs = FALSE;
      for (guint i = 0; i < group->results->len; i++)
        occurs = occurs
                 || sum_of (((const GememResult *) group->results->pdata[i])->calls,
                            classes[c].calls)
                        > 0;
      g_snprintf (looks[c], sizeof looks[c], "rgb '%s'", classes[c].colour);
      if (occurs)
        keys[n++] = (GememPlotKey){ GEMEM_PLOT_BOX, looks[c], classes[c].name };
    }
  if (gemem_plot_has_failures (group))
    keys[n++] = hatched;
  return gemem_plot_script_legend (out, keys, n, 0, y, page);
}

/* Stacked bars: modelled time, or numbers of calls, in @space px from the left margin to the right
 * one. */
static void
append_panel (GString *out, const GememPlotGroup *group, gboolean time, gboolean cut, guint space,
              const GememPlotPage *page)
{
  guint64 (*const value) (const GememResult *) = time ? whole_time : whole_count;
  const guint64 end = MAX (
      cut ? gemem_plot_common_end (group, value) : gemem_plot_most (group, value), 1);
  const GememPlotUnit *unit = time ? gemem_plot_time_unit (end) : gemem_plot_count_unit (end);
  const gboolean broken = gemem_plot_most (group, value) > end;
  const guint first = time ? 2 : 2 + CLASSES, text = 2 + 2 * CLASSES + !time;
  g_autofree char *title = gemem_plot_axis_title (
      time ? "modelled time in device calls" : "device calls", unit);
  g_string_append_printf (out, "set xlabel '%s' offset 0,0.4\n", title);
  gemem_plot_script_bars_axis (out, end, unit, space, GEMEM_PLOT_CHARACTER * 12 + 24, broken, page);
  g_string_append_printf (out,
                          "upto(last) = (sum [c=%u:last] column(c))\nwhole = %u\n"
                          "cut(last) = upto(last)/unit*(upto(whole) > end ? end/upto(whole) : 1)\n",
                          first, first + CLASSES - 1);
  gemem_plot_script_failures (out, FAILED);
  g_string_append (out, "plot ");
  for (guint c = CLASSES; c-- > 0;) /* the longest first: shorter bars are drawn over longer ones */
    {
      g_autofree char *length = g_strdup_printf ("cut(%u)", first + c);
      gemem_plot_script_bars (out, group, "0", length, "-bar", "+bar", classes[c].colour,
                              classes[c].name);
    }
  if (broken)
    gemem_plot_script_breaks (out, "upto(whole)");
  g_string_append_printf (out,
                          "data using (cut(whole)):1:(t(stringcolumn(%u))) with labels left offset "
                          "0.8,0 textcolor rgb '" GEMEM_COLOUR_INK "' notitle\n",
                          text);
}

void
gemem_plot_calls_panels (GString *out, const GememPlotGroup *group, guint legend, gboolean cut,
                         const GememPlotPage *page)
{
  const guint left = gemem_plot_row_names_width (group, page), right = page->width - RIGHT,
              split = page->slim ? right : left + (right - left) * SPLIT / 1000,
              second = split + BETWEEN,
              top = GEMEM_PLOT_FOOT + GEMEM_PLOT_ROW * group->results->len;
  gemem_plot_calls_legend (out, group, legend, page);
  gemem_plot_script_row_names (out, group, page);
  gemem_plot_script_margins (out, left, split, top, GEMEM_PLOT_FOOT, page);
  gemem_plot_script_guesses (out, group, "");
  append_panel (out, group, TRUE, cut, split - left, page);
  g_string_append (out, GEMEM_PLOT_UNSET "unset ytics\n");
  if (page->slim)
    return;
  gemem_plot_script_margins (out, second, right, top, GEMEM_PLOT_FOOT, page);
  append_panel (out, group, FALSE, cut, right - second, page);
}

void
gemem_plot_calls_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                         const char *base)
{
  gemem_plot_script_begin_rows (out, group, base, "device calls by kind", GEMEM_PLOT_ROW,
                                gemem_plot_calls_legend (NULL, group, 0, page), page);
  gemem_plot_calls_panels (out, group, GEMEM_PLOT_LEGEND - page->lift, TRUE, page);
  gemem_plot_script_end (out);
}
