/* script.c - see script.h. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "sim/plots/script.h"

#define ELLIPSIS "\342\200\246"

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

/* TRUE if the middle half of the events of @result takes less than a fifth of its time: a program that
 * loads or waits for long.  All of it would be drawn in a few columns. */
static gboolean
mostly_waits (const GememResult *result)
{
  const GArray *points = result->timeline;
  guint64 times[5];

  if (points == NULL || points->len < 8 || result->programs != NULL)
    return FALSE;
  for (guint q = 0; q < 5; q++)
    times[q] = g_array_index (points, GememTimelinePoint, q * (points->len - 1) / 4).time;
  return times[3] - times[1] < (times[4] - times[0]) / 5;
}

void
gemem_plot_axis_init (GememPlotAxis *axis, const GememPlotGroup *group)
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
  axis->time = to[1] > from[1] && to[1] > 0
               && (group->results->len == 0 || !mostly_waits (group->results->pdata[0]));
  axis->from = from[axis->time];
  axis->to = MAX (to[axis->time], axis->from + 1);
  axis->unit = axis->time ? gemem_plot_time_unit (axis->to) : gemem_plot_count_unit (axis->to);
  axis->title = gemem_plot_axis_title (axis->time ? "time" : "event", axis->unit);
}

void
gemem_plot_axis_clear (GememPlotAxis *axis)
{
  g_clear_pointer (&axis->title, g_free);
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
gemem_plot_script_begin (GString *out, const char *base, guint height)
{
  g_string_append_printf (out,
                          "# gnuplot %s.gp: draws %s.svg and %s.png\n"
                          "reset\n"
                          "set encoding utf8\n"
                          "set decimalsign '.'\n"
                          "set datafile missing 'NaN'\n"
                          "data = '%s.dat'\n"
                          "do for [kind in 'svg png'] {\n"
                          "if (kind eq 'svg') { set terminal svg noenhanced size %u,%u font "
                          "'DejaVu Sans,13' background '#ffffff' }\n"
                          "if (kind eq 'png') { set terminal pngcairo noenhanced size %u,%u font "
                          "'DejaVu Sans,10' background '#ffffff' }\n"
                          "set output " GEMEM_PLOT_INTO "'%s.'.kind\n"
                          "set border 3 lc rgb '#888888'\n"
                          "set tics nomirror out scale 0.5 textcolor rgb '" GEMEM_COLOUR_INK "'\n"
                          "set grid back lc rgb '#e6e6e6' lt 1\n"
                          "set style fill solid 1.0 noborder\n"
                          "unset key\n",
                          base, base, base, base, GEMEM_PLOT_WIDTH, height, GEMEM_PLOT_WIDTH,
                          height, base);
}

void
gemem_plot_script_end (GString *out)
{
  g_string_append (out, "unset multiplot\nunset output\n}\n");
}

void
gemem_plot_script_margins (GString *out, guint left, guint right, guint top, guint bottom,
                           guint height)
{
  append_fraction (out, "set lmargin at screen ", left * 1000 / GEMEM_PLOT_WIDTH);
  append_fraction (out, "\nset rmargin at screen ", right * 1000 / GEMEM_PLOT_WIDTH);
  append_fraction (out, "\nset tmargin at screen ", top * 1000 / height);
  append_fraction (out, "\nset bmargin at screen ", bottom * 1000 / height);
  g_string_append_c (out, '\n');
}

void
gemem_plot_script_row_names (GString *out, const GememPlotGroup *group)
{
  g_string_append (out, "set ytics scale 0 (");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      g_string_append (out, i > 0 ? ", " : "");
      gemem_plot_append_quoted (out, result->label, GEMEM_PLOT_ROW_NAME_MAX, TRUE);
      g_string_append_printf (out, " %u", i);
    }
  g_string_append (out, ")\n");
}

guint
gemem_plot_row_names_width (const GememPlotGroup *group)
{
  glong characters = 10;
  for (guint i = 0; i < group->results->len; i++)
    characters = MAX (characters,
                      g_utf8_strlen (((const GememResult *) group->results->pdata[i])->label, -1));
  return 30 + GEMEM_PLOT_CHARACTER * (guint) MIN (characters, GEMEM_PLOT_ROW_NAME_MAX);
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

void
gemem_plot_script_legend (GString *out, const GememPlotKey *keys, guint n, guint x, guint y,
                          guint height)
{
  const guint total = gemem_plot_legend_width (keys, n);
  x = x > 0 ? MIN (x, GEMEM_PLOT_WIDTH - MIN (total, GEMEM_PLOT_WIDTH))
            : (GEMEM_PLOT_WIDTH - MIN (total, GEMEM_PLOT_WIDTH)) / 2;
  for (guint i = 0; i < n; x += key_width (&keys[i++]))
    {
      const gboolean hatched = keys[i].sample == GEMEM_PLOT_HATCHED,
                     box = keys[i].sample == GEMEM_PLOT_BOX || hatched,
                     line = keys[i].sample == GEMEM_PLOT_LINE;
      append_fraction (out,
                       box    ? "set object rect from screen "
                       : line ? "set arrow from screen "
                              : "set label '' at screen ",
                       (x + (box || line ? 0 : 12)) * 1000 / GEMEM_PLOT_WIDTH);
      append_fraction (out, ",", (height - y - (box ? 5 : 0)) * 1000 / height);
      if (box || line)
        {
          append_fraction (out, " to screen ", (x + 22) * 1000 / GEMEM_PLOT_WIDTH);
          append_fraction (out, ",", (height - y + (box ? 5 : 0)) * 1000 / height);
        }
      g_string_append_printf (out, " %s%s\n",
                              hatched ? "fs " GEMEM_PLOT_HATCH " noborder fc "
                              : box   ? "fs solid noborder fc "
                              : line  ? "nohead "
                                      : "point ",
                              keys[i].look);
      g_string_append (out, "set label ");
      gemem_plot_append_quoted (out, keys[i].text, 0, FALSE);
      append_fraction (out, " at screen ", (x + 28) * 1000 / GEMEM_PLOT_WIDTH);
      append_fraction (out, ",", (height - y) * 1000 / height);
      g_string_append (out, " left\n");
    }
}

void
gemem_plot_script_title (GString *out, const GememPlotGroup *group, const char *what, guint height)
{
  g_autofree char *title = g_strdup_printf ("%s: %s", group->title, what);
  g_string_append (out, "set label ");
  gemem_plot_append_quoted (out, title, 110, FALSE);
  append_fraction (out, " at screen 0.5,", (height - 18) * 1000 / height);
  g_string_append (out, " center font ',16' textcolor rgb '" GEMEM_COLOUR_INK "'\n");
}

guint
gemem_plot_script_begin_rows (GString *out, const GememPlotGroup *group, const char *base,
                              const char *what, guint row)
{
  const guint rows = group->results->len, height = GEMEM_PLOT_HEAD + GEMEM_PLOT_FOOT + row * rows;
  gemem_plot_script_begin (out, base, height);
  g_string_append_printf (out, "set grid noytics\nset yrange [%u.5:-0.5]\nset multiplot\n",
                          rows - 1);
  gemem_plot_script_title (out, group, what, height);
  return height;
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
