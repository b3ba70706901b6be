/* plot-script.c - what all gnuplot scripts have in common: quoting, units, terminals.
 *
 * A script stands alone: `gnuplot NAME.gp` in its folder makes NAME.svg and NAME.png.  The terminals are set `noenhanced`, so that no
 * character of a label ('_', '^', '{', '@') means anything; fonts, sizes and colours are fixed, nothing depends on the user's settings.
 */
#include "config.h"

#include <string.h>

#include "sim/report/plot.h"

static const GememPlotUnit size_units[] = {
  { "B", "1.0" }, { "KiB", "2.0**10" }, { "MiB", "2.0**20" }, { "GiB", "2.0**30" }, { "TiB", "2.0**40" }, { "PiB", "2.0**50" },
};
static const GememPlotUnit time_units[] = { { "ns", "1.0" }, { "us", "1e3" }, { "ms", "1e6" }, { "s", "1e9" } };
static const GememPlotUnit count_units[] = { { NULL, "1.0" }, { "thousands", "1e3" }, { "millions", "1e6" }, { "billions", "1e9" } };

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

/* @text in one line of at most @max characters. */
static char *
shorten (const char *text, guint max)
{
  char *valid = g_utf8_make_valid (text, -1);
  const glong length = g_utf8_strlen (valid, -1);
  for (char *p = valid; *p != '\0'; p++)
    if ((guchar) *p < 0x20 || *p == 0x7f)
      *p = ' ';
  if (max == 0 || length <= (glong) max)
    return valid;
  const glong head = max / 2, tail = (glong) max - head - 1;
  g_autofree char *first = g_utf8_substring (valid, 0, head), *last = g_utf8_substring (valid, length - tail, length);
  g_free (valid);
  return g_strconcat (first, "\342\200\246", last, NULL);
}

void
gemem_plot_append_quoted (GString *out, const char *text, guint max, gboolean format)
{
  g_autofree char *line = shorten (text, max);
  g_string_append_c (out, '\'');
  for (const char *p = line; *p != '\0'; p++)
    {
      if (*p == '\'' || (format && *p == '%'))
        g_string_append_c (out, *p);
      g_string_append_c (out, *p);
    }
  g_string_append_c (out, '\'');
}

void
gemem_plot_append_fraction (GString *out, const char *before, guint thousandths)
{
  g_string_append_printf (out, "%s%u.%03u", before, thousandths / 1000, thousandths % 1000);
}

void
gemem_plot_script_begin (GString *out, const char *base, guint width, guint height)
{
  g_string_append_printf (out,
                          "# gnuplot %s.gp: draws %s.svg and %s.png\n"
                          "reset\n"
                          "set encoding utf8\n"
                          "set decimalsign '.'\n"
                          "set datafile missing 'NaN'\n"
                          "data = '%s.dat'\n"
                          "do for [kind in 'svg png'] {\n"
                          "if (kind eq 'svg') { set terminal svg noenhanced size %u,%u font 'DejaVu Sans,13' background '#ffffff' }\n"
                          "if (kind eq 'png') { set terminal pngcairo noenhanced size %u,%u font 'DejaVu Sans,10' background '#ffffff' }\n"
                          "set output '%s.'.kind\n"
                          "set border 3 lc rgb '#888888'\n"
                          "set tics nomirror out scale 0.5 textcolor rgb '" GEMEM_COLOUR_INK "'\n"
                          "set grid back lc rgb '#e6e6e6' lt 1\n"
                          "set style fill solid 1.0 noborder\n",
                          base, base, base, base, width, height, width, height, base);
}

void
gemem_plot_script_end (GString *out)
{
  g_string_append (out, "unset multiplot\nunset output\n}\n");
}

void
gemem_plot_script (GString *out, GememPlotKind kind, const GememPlotGroup *group, const char *base)
{
  if (kind == GEMEM_PLOT_COMPARISON)
    gemem_plot_script_comparison (out, group, base);
  else
    gemem_plot_script_over_time (out, kind, group, base);
}
