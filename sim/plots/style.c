/* style.c - see style.h. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "sim/plots/script.h"

#define SLIM 700      /* px: narrower pages have one panel across */
#define LIFT 32       /* px of a title */
#define CSS 96        /* px of an inch in SVG */
#define WIDTH_MIN 150 /* hundredths of an inch */
#define WIDTH_MAX 10000

static const struct
{
  const char *name;
  guint widths[2]; /* hundredths of an inch */
  guint points;    /* hundredths: size of letters */
  guint dpi;       /* of PNG */
  gboolean title;
  guint formats;
} looks[] = {
  [GEMEM_PLOT_SCREEN] = { "screen", { 1250 }, 975, 96, TRUE, GEMEM_PLOT_SVG | GEMEM_PLOT_PNG },
  [GEMEM_PLOT_PAPER] = { "paper", { 330, 700 }, 700, 300, FALSE, GEMEM_PLOT_PDF },
  [GEMEM_PLOT_SLIDE] = { "slide", { 1333 }, 1600, 144, TRUE, GEMEM_PLOT_SVG | GEMEM_PLOT_PNG },
};

static const struct
{
  const char *name, *ending, *end;
} formats[GEMEM_PLOT_FORMATS] = {
  { "svg", ".svg", "</svg>" },
  { "png", ".png", "IEND" },
  { "pdf", ".pdf", "%%EOF" },
  { "tikz", ".tex", "\\end{tikzpicture}" },
};

static const GememPlotStyle screen = { .look = GEMEM_PLOT_SCREEN };

gboolean
gemem_plot_page_init (GememPlotPage *page, const GememPlotStyle *style, guint i)
{
  *page = (GememPlotPage){ .style = style != NULL ? style : &screen };
  const guint *widths = page->style->widths[0] > 0 ? page->style->widths
                                                   : looks[page->style->look].widths;
  const guint most = page->style->widths[0] > 0 ? GEMEM_PLOT_WIDTHS : 2;

  if (i >= most || widths[i] == 0)
    return FALSE;
  page->inches = widths[i];
  page->width = widths[i] * 72 * GEMEM_PLOT_LETTERS / looks[page->style->look].points;
  page->lift = looks[page->style->look].title ? 0 : LIFT;
  page->slim = page->width < SLIM;
  return TRUE;
}

char *
gemem_plot_page_suffix (const GememPlotPage *page)
{
  GememPlotPage second;
  const guint tenths = page->inches % 100;

  if (!gemem_plot_page_init (&second, page->style, 1))
    return g_strdup ("");
  if (tenths == 0)
    return g_strdup_printf ("-%uin", page->inches / 100);
  return g_strdup_printf (tenths % 10 == 0 ? "-%u.%uin" : "-%u.%02uin", page->inches / 100,
                          tenths % 10 == 0 ? tenths / 10 : tenths);
}

gboolean
gemem_plot_page_titled (const GememPlotPage *page)
{
  return looks[page->style->look].title;
}

/* ---- formats */

static guint
formats_of (const GememPlotStyle *style)
{
  return style == NULL         ? looks[GEMEM_PLOT_SCREEN].formats
         : style->formats != 0 ? style->formats
                               : looks[style->look].formats;
}

gboolean
gemem_plot_style_draws (const GememPlotStyle *style, guint format)
{
  return (formats_of (style) >> format & 1) != 0;
}

const char *
gemem_plot_format_ending (guint format)
{
  return formats[format].ending;
}

const char *
gemem_plot_format_end (guint format)
{
  return formats[format].end;
}

/* @value as a decimal of three places. */
static void
append_decimal (GString *out, const char *before, guint64 thousandths)
{
  g_string_append_printf (out, "%s%" G_GUINT64_FORMAT ".%03u", before, thousandths / 1000,
                          (guint) (thousandths % 1000));
}

/* " fontscale 2.4 linewidth 2.4 pointscale 2.4", thousandths; nothing if it is 1. */
static void
append_scale (GString *out, guint64 letters, guint64 lines, gboolean points)
{
  if (letters == 1000 && lines == 1000)
    return;
  append_decimal (out, " fontscale ", letters);
  append_decimal (out, " linewidth ", lines);
  if (points)
    append_decimal (out, " pointscale ", lines);
}

/* Pixels: of the page, scaled. */
static void
append_pixels (GString *out, const GememPlotPage *page, guint dpi, const char *terminal,
               guint letters, gboolean points)
{
  const guint64 width = (guint64) page->inches * dpi / 100,
                scale = (width * 2000 / page->width + 1) / 2;

  g_string_append_printf (out,
                          "set terminal %s noenhanced size %u,%u font 'DejaVu Sans,%u' background "
                          "'#ffffff'",
                          terminal, (guint) width, (guint) (page->height * scale / 1000), letters);
  append_scale (out, scale, scale, points);
}

/* Inches.  Lines are as thick beside the letters as on a screen.  pdfcairo takes a font of 10 for
 * one of 10 px of 1/96 inch, times 4/3. */
static void
append_inches (GString *out, const GememPlotPage *page, gboolean tikz)
{
  const guint points = looks[page->style->look].points;
  const guint64 scale = points * 10 / GEMEM_PLOT_LETTERS;

  append_decimal (out, tikz ? "set terminal tikz size " : "set terminal pdfcairo noenhanced size ",
                  page->inches * 10);
  append_decimal (out, "in,", (guint64) page->inches * 10 * page->height / page->width);
  if (tikz)
    {
      append_decimal (out, "in font '\\fontsize{", points * 10);
      append_decimal (out, "pt}{", points * 12);
      g_string_append (out, "pt}\\selectfont'");
    }
  else
    {
      g_string_append (out, "in font 'DejaVu Sans,10' background '#ffffff'");
      append_scale (out, points * 3 / 4, scale, TRUE);
    }
}

/* Names of files and labels must not be TeX: t(text) is the text as TeX writes it, one character
 * after the other. */
#define TEX \
  "t(text) = strlen(text) == 0 ? '' : tex(text[1:1]).t(text[2:strlen(text)])\n" \
  "tex(c) = strstrt('#$%&_{}', c) > 0 ? '\\'.c : c eq '\\' ? '\\textbackslash{}' : " \
  "c eq '~' ? '\\textasciitilde{}' : c eq '^' ? '\\textasciicircum{}' : " \
  "c eq \"\\342\\200\\246\" ? '\\ldots{}' : c eq \"'\" ? '\\textquotesingle{}' : " \
  "c eq \"\\140\" ? '\\textasciigrave{}' : c eq '\"' ? '\\textquotedbl{}' : " \
  "strstrt('0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ !()*+,-./:;<=>?@[]|', " \
  "c) > 0 ? c : '?'\n"

void
gemem_plot_page_begin (GString *out, const GememPlotPage *page, const char *base, guint without)
{
  const guint drawn = formats_of (page->style) & ~without;
  const char *before = "";
  g_autofree char *suffix = gemem_plot_page_suffix (page);

  g_string_append_printf (out, "# gnuplot %s%s.gp: draws ", base, suffix);
  for (guint f = 0; f < GEMEM_PLOT_FORMATS; f++)
    if ((drawn >> f & 1) != 0)
      {
        g_string_append_printf (out, "%s%s%s%s", before, base, suffix, formats[f].ending);
        before = drawn >> (f + 1) > 1 ? ", " : " and ";
      }
  g_string_append (out, "\nreset\nset encoding utf8\nset decimalsign '.'\n"
                        "set datafile missing 'NaN'\n");
  g_string_append_printf (out, "data = '%s.dat'\ndo for [kind in '", base);
  before = "";
  for (guint f = 0; f < GEMEM_PLOT_FORMATS; f++)
    if ((drawn >> f & 1) != 0)
      {
        g_string_append_printf (out, "%s%s", before, formats[f].ending + 1);
        before = " ";
      }
  g_string_append (out, "'] {\nt(text) = text\nlarge = ',16'\n");
  for (guint f = 0; f < GEMEM_PLOT_FORMATS; f++)
    {
      if ((drawn >> f & 1) == 0)
        continue;
      g_string_append_printf (out, "if (kind eq '%s') { ", formats[f].ending + 1);
      switch (1u << f)
        {
        case GEMEM_PLOT_SVG:
          append_pixels (out, page, CSS, "svg", 13, FALSE);
          break;
        case GEMEM_PLOT_PNG:
          append_pixels (out, page, looks[page->style->look].dpi, "pngcairo", 10, TRUE);
          break;
        default:
          append_inches (out, page, 1u << f == GEMEM_PLOT_TIKZ);
        }
      g_string_append (out, 1u << f == GEMEM_PLOT_TIKZ ? "\nlarge = ''\n" TEX "}\n" : " }\n");
    }
  g_string_append_printf (out, "set output " GEMEM_PLOT_INTO "'%s%s.'.kind\n", base, suffix);
}

/* ---- from text */

static gboolean
unknown (GError **error, const char *option, const char *text, const char *const *names)
{
  g_autofree char *list = g_strjoinv (", ", (char **) names);

  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s=%s: choose %s", option, text, list);
  return FALSE;
}

static gboolean
parse_look (GememPlotStyle *style, const char *text, GError **error)
{
  const char *names[G_N_ELEMENTS (looks) + 1] = { NULL };

  for (guint i = 0; i < G_N_ELEMENTS (looks); i++)
    {
      names[i] = looks[i].name;
      if (gemem_name_equal (text, names[i]))
        {
          style->look = (GememPlotLook) i;
          return TRUE;
        }
    }
  return unknown (error, "--plot-style", text, names);
}

static gboolean
parse_formats (GememPlotStyle *style, const char *text, GError **error)
{
  const char *names[GEMEM_PLOT_FORMATS + 1] = { NULL };
  g_auto (GStrv) words = g_strsplit_set (text, ",|", -1);

  for (guint f = 0; f < GEMEM_PLOT_FORMATS; f++)
    names[f] = formats[f].name;
  for (char **word = words; *word != NULL; word++)
    {
      guint f = 0;
      while (f < GEMEM_PLOT_FORMATS && !gemem_name_equal (g_strstrip (*word), names[f]))
        f++;
      if (f == GEMEM_PLOT_FORMATS)
        return unknown (error, "--plot-format", text, names);
      style->formats |= 1u << f;
    }
  return TRUE;
}

/* "3.3in", "85mm", "8.5cm", "1600px": hundredths of an inch; 0: none of that. */
static guint
parse_width (const char *text)
{
  static const struct
  {
    const char *name;
    double inches;
  } units[] = { { "in", 1 }, { "cm", 1 / 2.54 }, { "mm", 1 / 25.4 }, { "px", 1.0 / CSS } };
  char *end;
  const double value = g_ascii_strtod (text, &end);

  for (gsize i = 0; i < G_N_ELEMENTS (units); i++)
    if (end != text && strcmp (end, units[i].name) == 0 && isfinite (value) && value > 0)
      return (guint) MIN (value * units[i].inches * 100 + 0.5, WIDTH_MAX + 1);
  return 0;
}

static gboolean
parse_widths (GememPlotStyle *style, const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit_set (text, ",|", -1);
  guint n = 0;

  for (char **word = words; *word != NULL; word++)
    {
      const guint width = parse_width (g_strstrip (*word));
      if (width < WIDTH_MIN || width > WIDTH_MAX || n == GEMEM_PLOT_WIDTHS)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "--plot-size=%s: a width from 1.5in to 100in is wanted, such as 3.3in, 85mm "
                       "or 1600px; at most %d, separated by commas",
                       text, GEMEM_PLOT_WIDTHS);
          return FALSE;
        }
      style->widths[n++] = width;
    }
  return TRUE;
}

gboolean
gemem_plot_style_parse (GememPlotStyle *style, const char *look, const char *format,
                        const char *size, const char *axis, GError **error)
{
  static const char *const axes[] = { "events", "time", NULL };

  *style = (GememPlotStyle){ .look = GEMEM_PLOT_SCREEN };
  if (axis != NULL && !gemem_name_equal (axis, axes[0]) && !gemem_name_equal (axis, axes[1]))
    return unknown (error, "--plot-axis", axis, axes);
  style->time = axis != NULL && gemem_name_equal (axis, axes[1]);
  return (look == NULL || parse_look (style, look, error))
         && (format == NULL || parse_formats (style, format, error))
         && (size == NULL || parse_widths (style, size, error));
}
