/* plot-calls.c - the picture of device calls: a row per allocator, a stacked bar of modelled time
 * by kind of call, and one of their numbers.
 *
 * Why: allocators that map pages trade memory for calls, and what a call costs differs a
 * hundredfold; the time panel says what they pay, the other one whether it is few dear calls or
 * many cheap ones.  Kinds are gathered into classes, because nine colours are as many as can be
 * told apart (Okabe and Ito's eight, and grey); here a colour is a class of calls, nothing else.  A
 * bar far beyond the others ends where the longest of them does, with >> behind its figure and its
 * parts in proportion.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/report/plot.h"

#define WIDTH 1200
#define ROW 30
#define HEAD 76
#define FOOT 76
#define SPLIT 560 /* thousandths of what is right of the names: the time panel, then the numbers */
#define CHARACTER 8 /* px of one character */
#define CLASSES 9

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
  g_string_append (out, " time calls allocator\n");
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
      gemem_plot_append_text (out, result->label);
      g_string_append_c (out, '\n');
    }
}

void
gemem_plot_calls_legend (GString *out, const GememPlotGroup *group, guint x, guint y, guint width,
                         guint height)
{
  GememPlotKey keys[CLASSES];
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
  gemem_plot_script_legend (out, keys, n, x, y, width, height);
}

void
gemem_plot_calls_panel (GString *out, const GememPlotGroup *group, gboolean time, gboolean cut,
                        guint room)
{
  guint64 (*const value) (const GememResult *) = time ? whole_time : whole_count;
  const guint64 end = MAX (
      cut ? gemem_plot_common_end (group, value) : gemem_plot_most (group, value), 1);
  const GememPlotUnit *unit = time ? gemem_plot_time_unit (end) : gemem_plot_count_unit (end);
  const guint first = time ? 2 : 2 + CLASSES, text = 2 + 2 * CLASSES + !time;
  /* beside what is written behind it */
  const guint bar = room - MIN (CHARACTER * 12 + 24, room / 2);
  g_string_append_printf (out, "set xlabel '%s%s%s%s' offset 0,0.4\n",
                          time ? "modelled time in device calls" : "device calls",
                          unit->name != NULL ? " (" : "", unit->name != NULL ? unit->name : "",
                          unit->name != NULL ? ")" : "");
  g_string_append_printf (
      out,
      "unit = %s\nend = %" G_GUINT64_FORMAT "\n"
      "set xrange [0:%" G_GUINT64_FORMAT
      "/unit*%u/%u]\nset xtics autofreq format '%%g'\nbar = 0.34\n"
      "upto(last) = (sum [c=%u:last] column(c))\nwhole = %u\n"
      "cut(last) = upto(last)/unit*(upto(whole) > end ? end/upto(whole) : 1)\nplot ",
      unit->divisor, end, end, room, bar, first, first + CLASSES - 1);
  for (guint c = CLASSES;
       c-- > 0;) /* the whole first, so that each lies over the one that ends behind it */
    g_string_append_printf (out,
                            "data using (0):1:(0):(cut(%u)):($1-bar):($1+bar) with boxxyerror lc "
                            "rgb '%s' title '%s', \\\n  ",
                            first + c, classes[c].colour, classes[c].name);
  g_string_append_printf (out,
                          "data using (cut(whole)):1:(stringcolumn(%u).(upto(whole) > end ? ' >>' "
                          ": '')) with labels left offset 0.8,0 "
                          "textcolor rgb '" GEMEM_COLOUR_INK "' notitle\n",
                          text);
}

void
gemem_plot_script_calls (GString *out, const GememPlotGroup *group, const char *base)
{
  const guint rows = group->results->len, height = HEAD + FOOT + ROW * rows,
              left = gemem_plot_row_names_width (group);
  const guint whole = WIDTH - 20 - left, split = left + whole * SPLIT / 1000, second = split + 30;
  const guint top = (height - HEAD) * 1000 / height, bottom = FOOT * 1000 / height;
  g_autofree char *guesses = gemem_plot_guesses (group);
  gemem_plot_script_begin (out, base, WIDTH, height);
  g_string_append_printf (out, "set grid noytics\nset yrange [%u.5:-0.5]\nset multiplot\n",
                          rows - 1);
  gemem_plot_script_title (out, group, "device calls by kind", height);
  gemem_plot_calls_legend (out, group, 0, 54, WIDTH, height);
  gemem_plot_script_row_names (out, group);
  gemem_plot_script_margins (out, left * 1000 / WIDTH, split * 1000 / WIDTH, top, bottom);
  if (guesses != NULL)
    g_string_append_printf (
        out, "set label '%s' at graph 0.5, screen 0 center offset 0,0.8 textcolor rgb '#666666'\n",
        guesses);
  gemem_plot_calls_panel (out, group, TRUE, TRUE, split - left);
  g_string_append (out, "unset label\nunset object\nunset arrow\nunset ytics\n");
  gemem_plot_script_margins (out, second * 1000 / WIDTH, (left + whole) * 1000 / WIDTH, top,
                             bottom);
  gemem_plot_calls_panel (out, group, FALSE, TRUE, left + whole - second);
  gemem_plot_script_end (out);
}
