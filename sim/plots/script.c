/* script.c - see script.h. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/plots/script.h"

#define ELLIPSIS "\342\200\246"
#define CUT 20 /* idle: this part of all time between two points */

/* ---- units */

static const GememPlotUnit size_units[] = {
  { "B", "1.0" },       { "KiB", "2.0**10" }, { "MiB", "2.0**20" },
  { "GiB", "2.0**30" }, { "TiB", "2.0**40" }, { "PiB", "2.0**50" },
};
static const GememPlotUnit time_units[] = {
  { "ns", "1.0" }, { "us", "1e3" }, { "ms", "1e6" }, { "s", "1e9" }
};
static const GememPlotUnit count_units[] = {
  { NULL, "1.0" }, { "thousands", "1e3" }, { "millions", "1e6" }, { "billions", "1e9" }
};

/* The largest unit of @units in which @value is at least 1. */
static const GememPlotUnit *
unit_of (const GememPlotUnit *units, guint n, guint64 step, guint64 value)
{
  guint i = 0;
  for (; i + 1 < n && value >= step; i++)
    value /= step;
  return &units[i];
}

const GememPlotUnit *
gemem_plot_size_unit (guint64 bytes)
{
  return unit_of (size_units, G_N_ELEMENTS (size_units), 1024, bytes);
}

const GememPlotUnit *
gemem_plot_time_unit (guint64 ns)
{
  return unit_of (time_units, G_N_ELEMENTS (time_units), 1000, ns);
}

const GememPlotUnit *
gemem_plot_count_unit (guint64 count)
{
  return unit_of (count_units, G_N_ELEMENTS (count_units), 1000, count < 100000 ? 0 : count);
}

char *
gemem_plot_axis_title (const char *what, const GememPlotUnit *unit)
{
  return unit->name != NULL ? g_strdup_printf ("%s (%s)", what, unit->name) : g_strdup (what);
}

/* The spans of time in which nothing happened, of the first result: the trace has them.  None if
 * there are few points, or nothing else would be left. */
static GArray *
find_cuts (const GememResult *result, guint64 span)
{
  GArray *cuts = g_array_new (FALSE, FALSE, 2 * sizeof (guint64));
  const GArray *points = result->timeline;
  guint64 left = span;

  for (guint i = 1; points != NULL && points->len > 2 * CUT && i < points->len; i++)
    {
      const guint64 cut[2] = { g_array_index (points, GememTimelinePoint, i - 1).time,
                               g_array_index (points, GememTimelinePoint, i).time };
      if (cut[1] > cut[0] && cut[1] - cut[0] > span / CUT)
        {
          g_array_append_val (cuts, cut);
          left -= MIN (left, cut[1] - cut[0]);
        }
    }
  if (left < span / 1000 || left == 0)
    g_array_set_size (cuts, 0);
  return cuts;
}

/* Seconds and so on that are drawn. */
static guint64
drawn_span (const GememPlotAxis *axis)
{
  guint64 span = axis->to - axis->from;
  for (guint i = 0; i < axis->cuts->len; i++)
    {
      const guint64 *cut = &g_array_index (axis->cuts, guint64, 2 * i);
      span -= cut[1] - cut[0];
    }
  return span;
}

static char *
axis_title (const GememPlotAxis *axis)
{
  char text[GEMEM_FORMAT_MAX];
  g_autofree char *what = g_strdup (axis->time ? "time" : "event");

  if (axis->cuts->len > 0)
    {
      g_free (what);
      what = g_strdup_printf ("time without %s of idle time",
                              gemem_format_time (text, axis->to - axis->from - drawn_span (axis)));
    }
  return gemem_plot_axis_title (what, axis->unit);
}

void
gemem_plot_axis_init (GememPlotAxis *axis, const GememPlotGroup *group, gboolean time)
{
  guint64 from[2] = { G_MAXUINT64, G_MAXUINT64 }, to[2] = { 0, 0 };
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      for (guint p = 0; result->timeline != NULL && p < result->timeline->len; p++)
        {
          const GememTimelinePoint *point = &g_array_index (result->timeline, GememTimelinePoint,
                                                            p);
          from[0] = MIN (from[0], point->seq), to[0] = MAX (to[0], point->seq);
          from[1] = MIN (from[1], point->time), to[1] = MAX (to[1], point->time);
        }
    }
  axis->time = time && to[1] > from[1] && to[1] > 0;
  axis->from = from[axis->time];
  axis->to = MAX (to[axis->time], axis->from + 1);
  axis->cuts = axis->time ? find_cuts (group->results->pdata[0], axis->to - axis->from)
                          : g_array_new (FALSE, FALSE, 2 * sizeof (guint64));
  const guint64 end = axis->cuts->len > 0 ? drawn_span (axis) : axis->to;
  axis->unit = axis->time ? gemem_plot_time_unit (end) : gemem_plot_count_unit (end);
  axis->title = axis_title (axis);
}

void
gemem_plot_axis_script (GString *out, const GememPlotAxis *axis, guint width)
{
  const guint n = axis->cuts->len;

  g_string_append (out, "x(value) = ");
  g_string_append (out, n > 0 ? "(value" : "value");
  for (guint i = 0; i < n; i++)
    {
      const guint64 *cut = &g_array_index (axis->cuts, guint64, 2 * i);
      g_string_append_printf (out, "-past(value, %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ")",
                              cut[0], cut[1]);
    }
  if (n > 0)
    g_string_append_printf (out, "-%" G_GUINT64_FORMAT ")", axis->from);
  g_string_append_printf (out, "/%s\n", axis->unit->divisor);
  if (n > 0)
    g_string_append (out, "past(value, from, to) = value <= from ? 0 : (value < to ? value : to) - "
                          "from\n");
  g_string_append_printf (out, "set xrange [x(%" G_GUINT64_FORMAT "):x(%" G_GUINT64_FORMAT ")]\n",
                          axis->from, axis->to);
  g_autofree char *span = g_strdup_printf ("x(%" G_GUINT64_FORMAT ")-x(%" G_GUINT64_FORMAT ")",
                                           axis->to, axis->from);
  gemem_plot_script_tics (out, 'x', width, span);
  for (guint i = 0; i < n; i++)
    {
      const guint64 at = g_array_index (axis->cuts, guint64, 2 * i);
      g_string_append_printf (out,
                              "set arrow %u from first x(%" G_GUINT64_FORMAT "), graph 0 to first "
                              "x(%" G_GUINT64_FORMAT "), graph 1 nohead front dt 3 lc rgb "
                              "'#888888'\n",
                              100 + i, at, at);
    }
}

void
gemem_plot_axis_clear (GememPlotAxis *axis)
{
  g_clear_pointer (&axis->title, g_free);
  g_clear_pointer (&axis->cuts, g_array_unref);
}

/* ---- text */

/* "name:max_split_size_mb=64" with keys of at most @key characters: settings differ in their
 * values, not in their keys. */
static char *
shorten_keys (const char *label, guint key)
{
  GString *out = g_string_new (NULL);
  const char *colon = strchr (label, ':'), *p = colon + 1;
  g_string_append_len (out, label, p - label);
  while (*p != '\0')
    {
      const gsize name = strcspn (p, "=,"), item = strcspn (p, ",");
      const gboolean cut = p[name] == '=' && name > key + 1;
      g_string_append_len (out, p, (gssize) (cut ? key : name));
      g_string_append (out, cut ? ELLIPSIS : "");
      g_string_append_len (out, p + name, (gssize) (item - name) + (p[item] == ','));
      p += item + (p[item] == ',');
    }
  return g_string_free (out, FALSE);
}

/* "ge = ge-active = ge-bins" with as many names as fit: "ge + 2 more"; NULL: it is one name. */
static char *
shorten_names (const char *line, guint max)
{
  g_auto (GStrv) names = g_strsplit (line, " = ", -1);
  const guint n = g_strv_length (names);

  for (guint left_out = 1; left_out < n; left_out++)
    {
      g_clear_pointer (&names[n - left_out], g_free);
      g_autofree char *kept = g_strjoinv (" = ", names);
      g_autofree char *text = g_strdup_printf ("%s + %u more", kept, left_out);
      if (g_utf8_strlen (text, -1) <= (glong) max)
        return g_steal_pointer (&text);
    }
  return NULL;
}

static gboolean
fits (const char *text, guint max)
{
  return max == 0 || g_utf8_strlen (text, -1) <= (glong) max;
}

char *
gemem_plot_shorten (const char *text, guint max)
{
  g_autofree char *line = gemem_text_line (text);
  for (guint key = 16; key >= 4 && !fits (line, max) && strchr (text, ':') != NULL
                       && g_utf8_validate (text, -1, NULL);
       key--)
    {
      g_autofree char *shorter = shorten_keys (line, key);
      if (fits (shorter, max))
        return g_steal_pointer (&shorter);
    }
  if (fits (line, max))
    return g_steal_pointer (&line);
  char *names = shorten_names (line, max);
  if (names != NULL)
    return names;
  const glong length = g_utf8_strlen (line, -1), head = max / 2, tail = (glong) max - head - 1;
  g_autofree char *first = g_utf8_substring (line, 0, head),
                  *last = g_utf8_substring (line, length - tail, length);
  return g_strconcat (first, ELLIPSIS, last, NULL);
}

void
gemem_plot_append_quoted (GString *out, const char *text, guint max, gboolean format)
{
  g_autofree char *line = gemem_plot_shorten (text, max);
  g_string_append_c (out, '"');
  for (const char *p = line; *p != '\0'; p++)
    {
      const guint times = format && *p == '%' ? 2 : 1;

      for (guint i = 0; i < times; i++)
        if (g_ascii_isalnum (*p) || strchr (" _-+.,:;=/()*|", *p) != NULL)
          g_string_append_c (out, *p);
        else
          g_string_append_printf (out, "\\%03o", (guchar) *p);
      if (g_str_has_prefix (p, "]>") && p > line && p[-1] == ']')
        g_string_append_c (out, ' '); /* gnuplot writes "]]>" into an SVG as it is: no XML */
    }
  g_string_append_c (out, '"');
}

void
gemem_plot_append_label (GString *out, const char *text, guint max, gboolean format)
{
  g_string_append (out, "t(");
  gemem_plot_append_quoted (out, text, max, format);
  g_string_append_c (out, ')');
}

void
gemem_plot_append_text (GString *out, const char *text)
{
  g_autofree char *line = gemem_text_line (text);

  g_string_append (out, " \"");
  for (const char *p = line; *p != '\0'; p++)
    g_string_append_c (out, *p == '"' ? '\'' : *p);
  g_string_append_c (out, '"');
}

void
gemem_plot_append_comment (GString *out, const char *before, const char *text)
{
  g_autofree char *line = gemem_text_line (text);

  g_string_append_printf (out, "# %s%s\n", before, line);
}

/* ---- pieces of a script */

/* @thousandths / 1000 as a decimal. */
static void
append_fraction (GString *out, const char *before, guint thousandths)
{
  g_string_append_printf (out, "%s%u.%03u", before, thousandths / 1000, thousandths % 1000);
}

void
gemem_plot_script_begin (GString *out, const char *base, const GememPlotPage *page)
{
  gemem_plot_page_begin (out, page, base, 0);
  g_string_append (out, "set border 3 lc rgb '#888888'\n"
                        "set tics nomirror out scale 0.5 textcolor rgb '" GEMEM_COLOUR_INK "'\n"
                        "set grid back lc rgb '#e6e6e6' lt 1\n"
                        "set style fill solid 1.0 noborder\n"
                        "unset key\n");
}

void
gemem_plot_script_end (GString *out)
{
  g_string_append (out, "unset multiplot\nunset output\n}\n");
}

void
gemem_plot_script_margins (GString *out, guint left, guint right, guint top, guint bottom,
                           const GememPlotPage *page)
{
  append_fraction (out, "set lmargin at screen ", left * 1000 / page->width);
  append_fraction (out, "\nset rmargin at screen ", right * 1000 / page->width);
  append_fraction (out, "\nset tmargin at screen ", top * 1000 / page->height);
  append_fraction (out, "\nset bmargin at screen ", bottom * 1000 / page->height);
  g_string_append_c (out, '\n');
}

/* Characters of a row's name: at most two fifths of the width. */
static guint
row_name_max (const GememPlotPage *page)
{
  return MIN (GEMEM_PLOT_ROW_NAME_MAX, page->width * 2 / 5 / GEMEM_PLOT_CHARACTER);
}

void
gemem_plot_script_row_names (GString *out, const GememPlotGroup *group, const GememPlotPage *page)
{
  g_string_append (out, "set ytics scale 0 (");
  for (guint i = 0; i < group->results->len; i++)
    {
      g_string_append (out, i > 0 ? ", " : "");
      gemem_plot_append_label (out, gemem_plot_label (group, i), row_name_max (page), TRUE);
      g_string_append_printf (out, " %u", i);
    }
  g_string_append (out, ")\n");
}

guint
gemem_plot_row_names_width (const GememPlotGroup *group, const GememPlotPage *page)
{
  glong characters = 10;
  for (guint i = 0; i < group->results->len; i++)
    characters = MAX (characters, g_utf8_strlen (gemem_plot_label (group, i), -1));
  return (page->slim ? 14 : 30)
         + GEMEM_PLOT_CHARACTER * (guint) MIN (characters, (glong) row_name_max (page));
}

void
gemem_plot_script_failures (GString *out, guint column)
{
  g_string_append_printf (out,
                          "served(y) = column(%u) > 0 ? NaN : y\n"
                          "failing(y) = column(%u) > 0 ? y : NaN\n",
                          column, column);
}

void
gemem_plot_script_bars (GString *out, const GememPlotGroup *group, const char *start,
                        const char *value, const char *low, const char *high, const char *colour,
                        const char *title)
{
  for (guint failed = 0; failed <= (guint) gemem_plot_has_failures (group); failed++)
    g_string_append_printf (out,
                            "data using (%s):(%s($1)):(%s):(%s):($1%s):($1%s) with boxxyerror %slc "
                            "rgb '%s' %s%s%s, \\\n  ",
                            start, failed ? "failing" : "served", start, value, low, high,
                            failed ? "fs " GEMEM_PLOT_HATCH " noborder " : "", colour,
                            failed ? "notitle" : "title '", failed ? "" : title, failed ? "" : "'");
}

void
gemem_plot_script_tics (GString *out, char axis, guint length, const char *span)
{
  g_string_append_printf (
      out,
      "raw = (%s)/%u.0\n"
      "mag = 10.0**floor(log10(raw))\n"
      "step = mag*(raw <= mag ? 1 : raw <= 2*mag ? 2 : raw <= 5*mag ? 5 : 10)\n"
      "set %ctics step\n",
      span, MAX (length / (axis == 'x' ? GEMEM_PLOT_TIC : GEMEM_PLOT_TIC_UP), 1), axis);
}

void
gemem_plot_script_bars_axis (GString *out, guint64 end, const GememPlotUnit *unit, guint width,
                             guint text, gboolean broken, const GememPlotPage *page)
{
  g_string_append_printf (out,
                          "unit = %s\nend = %" G_GUINT64_FORMAT "\nspan = %" G_GUINT64_FORMAT
                          "/unit*%u/%u\nset xrange [0:span]\nbar = 0.34\n",
                          unit->divisor, end, end, width, width - MIN (text, width / 2));
  gemem_plot_script_tics (out, 'x', width, "span");
  if (!broken)
    return;
  /* where the break is; how far its edges lean, and lie apart */
  g_string_append (out, "brk = end/unit*0.9\nlean = end/unit*0.012\nwide = end/unit*0.016\n"
                        "set xtics 0,step,brk\n");
  for (guint edge = 0; edge < 2; edge++)
    {
      g_string_append_printf (out, "set arrow from first brk-lean%s", edge ? "+wide" : "");
      append_fraction (out, ", screen ", (GEMEM_PLOT_FOOT - 6) * 1000 / page->height);
      g_string_append_printf (out, " to first brk+lean%s", edge ? "+wide" : "");
      append_fraction (out, ", screen ", (GEMEM_PLOT_FOOT + 6) * 1000 / page->height);
      g_string_append (out, " nohead front lc rgb '" GEMEM_COLOUR_INK "'\n");
    }
}

void
gemem_plot_script_breaks (GString *out, const char *value)
{
  g_string_append_printf (out,
                          "data using (brk-lean+wide/2):(%s > end ? $1+0.4 : NaN):(2*lean):(-0.8) "
                          "with vectors nohead lw 7 lc rgb '#ffffff' notitle, \\\n  ",
                          value);
  for (guint edge = 0; edge < 2; edge++)
    g_string_append_printf (
        out,
        "data using (brk-lean%s):(%s > end ? $1+0.4 : NaN):(2*lean):(-0.8) with "
        "vectors nohead lw 1 lc rgb '" GEMEM_COLOUR_INK "' notitle, \\\n  ",
        edge ? "+wide" : "", value);
}

static guint
key_width (const GememPlotKey *key)
{
  return 30 + GEMEM_PLOT_CHARACTER * (guint) strlen (key->text) + 16;
}

guint
gemem_plot_legend_width (const GememPlotKey *keys, guint n)
{
  guint total = 0;
  for (guint i = 0; i < n; i++)
    total += key_width (&keys[i]);
  return total;
}

/* One entry at (@x, @y), the latter from the lower edge. */
static void
append_key (GString *out, const GememPlotKey *key, guint x, guint y, const GememPlotPage *page)
{
  const gboolean hatched = key->sample == GEMEM_PLOT_HATCHED,
                 box = key->sample == GEMEM_PLOT_BOX || hatched,
                 line = key->sample == GEMEM_PLOT_LINE;
  append_fraction (out,
                   box    ? "set object rect from screen "
                   : line ? "set arrow from screen "
                          : "set label '' at screen ",
                   (x + (box || line ? 0 : 12)) * 1000 / page->width);
  append_fraction (out, ",", (y - (box ? 5 : 0)) * 1000 / page->height);
  if (box || line)
    {
      append_fraction (out, " to screen ", (x + 22) * 1000 / page->width);
      append_fraction (out, ",", (y + (box ? 5 : 0)) * 1000 / page->height);
    }
  g_string_append_printf (out, " %s%s\n",
                          hatched ? "fs " GEMEM_PLOT_HATCH " noborder fc "
                          : box   ? "fs solid noborder fc "
                          : line  ? "nohead "
                                  : "point ",
                          key->look);
  g_string_append (out, "set label ");
  gemem_plot_append_label (out, key->text, 0, FALSE);
  append_fraction (out, " at screen ", (x + 28) * 1000 / page->width);
  append_fraction (out, ",", y * 1000 / page->height);
  g_string_append (out, " left\n");
}

guint
gemem_plot_script_legend (GString *out, const GememPlotKey *keys, guint n, guint x, guint y,
                          const GememPlotPage *page)
{
  guint lines = 0;

  for (guint first = 0, last; first < n; first = last, lines++)
    {
      guint width = key_width (&keys[first]);
      for (last = first + 1; last < n && width + key_width (&keys[last]) <= page->width - 16;)
        width += key_width (&keys[last++]);
      guint at = x > 0 && !page->slim ? MIN (x, page->width - MIN (width, page->width))
                                      : (page->width - MIN (width, page->width)) / 2;
      for (guint i = first; out != NULL && i < last; at += key_width (&keys[i++]))
        append_key (out, &keys[i], at, page->height - y - lines * GEMEM_PLOT_LEGEND_ROW, page);
    }
  return lines;
}

void
gemem_plot_script_note (GString *out, const char *text, guint x, guint y, const GememPlotPage *page)
{
  g_string_append (out, "set label ");
  gemem_plot_append_label (out, text, page->width > x ? (page->width - x) / 7 : 1, FALSE);
  append_fraction (out, " at screen ", page->width > x ? x * 1000 / page->width : 0);
  append_fraction (out, ", screen ", y * 1000 / page->height);
  g_string_append (out, " left textcolor rgb '#666666'\n");
}

void
gemem_plot_script_title (GString *out, const GememPlotGroup *group, const char *what,
                         const GememPlotPage *page)
{
  g_autofree char *title = g_strdup_printf ("%s: %s", group->title, what);
  if (gemem_plot_page_titled (page))
    {
      g_string_append (out, "set label ");
      gemem_plot_append_label (out, title, MIN (110, page->width / 11), FALSE);
      append_fraction (out, " at screen 0.5,", (page->height - 18) * 1000 / page->height);
      g_string_append (out, " center font large textcolor rgb '" GEMEM_COLOUR_INK "'\n");
    }
  if (group->more > 0)
    {
      g_autofree char *more = g_strdup_printf ("and %u more, not drawn", group->more);
      gemem_plot_script_note (out, more, 12, 14, page);
    }
}

guint
gemem_plot_rows_head (const GememPlotPage *page, guint lines)
{
  return GEMEM_PLOT_HEAD - page->lift + (MAX (lines, 1) - 1) * GEMEM_PLOT_LEGEND_ROW;
}

void
gemem_plot_script_begin_rows (GString *out, const GememPlotGroup *group, const char *base,
                              const char *what, guint row, guint lines, GememPlotPage *page)
{
  const guint rows = group->results->len;
  page->height = gemem_plot_rows_head (page, lines) + GEMEM_PLOT_FOOT + row * rows;
  gemem_plot_script_begin (out, base, page);
  g_string_append_printf (out, "set grid noytics\nset yrange [%u.5:-0.5]\nset multiplot\n",
                          rows - 1);
  gemem_plot_script_title (out, group, what, page);
}

void
gemem_plot_script_guesses (GString *out, const GememPlotGroup *group, const char *tag)
{
  const GememResult *first = group->results->pdata[0];
  if (first->cost_guesses > 0)
    g_string_append_printf (out,
                            "set label %s'%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                            " costs are guesses' at graph 0.5, screen 0 center offset 0,0.8 "
                            "textcolor rgb '#666666'\n",
                            tag, first->cost_guesses, first->cost_numbers);
}
