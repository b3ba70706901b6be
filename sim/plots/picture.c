/* picture.c - see picture.h. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "sim/plots/picture.h"
#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"
#include "sim/plots/script.h"

typedef struct
{
  guint64 x, y, width, height;
  guint32 colour;
  gboolean outlined;
  char *title;
} Rect;

typedef struct
{
  guint64 x1, y1, x2, y2;
  guint32 colour;
  gboolean dashed;
} Line;

typedef struct
{
  guint64 x, y;
  GememAnchor anchor;
  guint size, flags;
  guint32 colour;
  char *text;
} Text;

struct _GememPicture
{
  guint width, height;
  char *title;
  GArray *rects, *lines, *texts;
};

static void
clear_rect (gpointer data)
{
  g_free (((Rect *) data)->title);
}

static void
clear_text (gpointer data)
{
  g_free (((Text *) data)->text);
}

GememPicture *
gemem_picture_new (guint width, guint height, const char *title)
{
  GememPicture *picture = g_new (GememPicture, 1);

  picture->width = width;
  picture->height = height;
  picture->title = g_strdup (title);
  picture->rects = g_array_new (FALSE, FALSE, sizeof (Rect));
  picture->lines = g_array_new (FALSE, FALSE, sizeof (Line));
  picture->texts = g_array_new (FALSE, FALSE, sizeof (Text));
  g_array_set_clear_func (picture->rects, clear_rect);
  g_array_set_clear_func (picture->texts, clear_text);
  return picture;
}

void
gemem_picture_free (GememPicture *picture)
{
  if (picture == NULL)
    return;
  g_free (picture->title);
  g_array_unref (picture->rects);
  g_array_unref (picture->lines);
  g_array_unref (picture->texts);
  g_free (picture);
}

void
gemem_picture_rect (GememPicture *picture, guint64 x, guint64 y, guint64 width, guint64 height,
                    guint32 colour, gboolean outlined, const char *title)
{
  const Rect rect = { x, y, width, height, colour, outlined, g_strdup (title) };

  g_array_append_val (picture->rects, rect);
}

void
gemem_picture_line (GememPicture *picture, guint64 x1, guint64 y1, guint64 x2, guint64 y2,
                    guint32 colour, gboolean dashed)
{
  const Line line = { x1, y1, x2, y2, colour, dashed };

  g_array_append_val (picture->lines, line);
}

void
gemem_picture_text (GememPicture *picture, guint64 x, guint64 y, GememAnchor anchor, guint size,
                    guint flags, guint32 colour, const char *text)
{
  const Text item = { x, y, anchor, size, flags, colour, g_strdup (text) };

  g_array_append_val (picture->texts, item);
}

/* ---- SVG */

void
gemem_svg_append_text (GString *out, const char *text)
{
  g_autofree char *line = gemem_text_line (text);

  for (const char *p = line; *p != '\0'; p++)
    if (*p == '<' || *p == '>' || *p == '&' || *p == '"')
      g_string_append_printf (out, "&#%d;", *p);
    else
      g_string_append_c (out, *p);
}

/* Hundredths of a pixel as " x=\"12.3\"", without trailing zeros. */
static void
append_pixels (GString *out, const char *name, guint64 hundredths)
{
  g_string_append_printf (out, " %s=\"%" G_GUINT64_FORMAT, name, hundredths / 100);
  if (hundredths % 10 != 0)
    g_string_append_printf (out, ".%02u", (guint) (hundredths % 100));
  else if (hundredths % 100 != 0)
    g_string_append_printf (out, ".%u", (guint) (hundredths % 100) / 10);
  g_string_append_c (out, '"');
}

static void
append_rects (GString *out, const GememPicture *picture, gboolean outlined)
{
  g_string_append (out, outlined ? "<g class=\"outlined\">\n" : "<g>\n");
  for (guint i = 0; i < picture->rects->len; i++)
    {
      const Rect *rect = &g_array_index (picture->rects, Rect, i);

      if (rect->outlined != outlined)
        continue;
      g_string_append (out, "<rect");
      append_pixels (out, "x", rect->x);
      append_pixels (out, "y", rect->y);
      append_pixels (out, "width", rect->width);
      append_pixels (out, "height", rect->height);
      g_string_append_printf (out, " fill=\"#%06x\"", rect->colour);
      if (rect->title != NULL)
        {
          g_string_append (out, "><title>");
          gemem_svg_append_text (out, rect->title);
          g_string_append (out, "</title></rect>\n");
        }
      else
        g_string_append (out, "/>\n");
    }
  g_string_append (out, "</g>\n");
}

static void
append_text (GString *out, const Text *text)
{
  static const char *const anchors[] = { "", " text-anchor=\"middle\"", " text-anchor=\"end\"" };
  const guint64 below = (guint64) text->size * 35; /* from middle to baseline */

  g_string_append (out, "<text");
  if (text->flags & GEMEM_TEXT_UPWARDS)
    g_string_append_printf (
        out, " transform=\"translate(%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ") rotate(-90)\"",
        (text->x + below) / 100, text->y / 100);
  else
    {
      append_pixels (out, "x", text->x);
      append_pixels (out, "y", text->y + below);
    }
  g_string_append_printf (out, "%s font-size=\"%u\" fill=\"#%06x\"%s>", anchors[text->anchor],
                          text->size, text->colour,
                          text->flags & GEMEM_TEXT_BOLD ? " font-weight=\"bold\"" : "");
  gemem_svg_append_text (out, text->text);
  g_string_append (out, "</text>\n");
}

void
gemem_picture_svg (GString *out, const GememPicture *picture)
{
  g_string_append_printf (out,
                          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
                          "viewBox=\"0 0 %u %u\" role=\"img\">\n<title>",
                          picture->width, picture->height, picture->width, picture->height);
  gemem_svg_append_text (out, picture->title);
  g_string_append_printf (
      out,
      "</title>\n<style>text{font-family:\"DejaVu Sans\",Verdana,sans-serif}.outlined "
      "rect{stroke:#fff;stroke-width:.6}</style>\n"
      "<rect width=\"%u\" height=\"%u\" fill=\"#ffffff\"/>\n",
      picture->width, picture->height);
  append_rects (out, picture, FALSE);
  append_rects (out, picture, TRUE);
  for (guint i = 0; i < picture->lines->len; i++)
    {
      const Line *line = &g_array_index (picture->lines, Line, i);

      g_string_append (out, "<line");
      append_pixels (out, "x1", line->x1);
      append_pixels (out, "y1", line->y1);
      append_pixels (out, "x2", line->x2);
      append_pixels (out, "y2", line->y2);
      g_string_append_printf (out, " stroke=\"#%06x\"%s/>\n", line->colour,
                              line->dashed ? " stroke-width=\"1.6\" stroke-dasharray=\"7 4\"" : "");
    }
  for (guint i = 0; i < picture->texts->len; i++)
    append_text (out, &g_array_index (picture->texts, Text, i));
  g_string_append (out, "</svg>\n");
}

/* ---- gnuplot: a canvas of as many units as pixels */

static void
append_units (GString *out, const char *before, guint64 hundredths)
{
  g_string_append_printf (out, "%s%" G_GUINT64_FORMAT ".%02u", before, hundredths / 100,
                          (guint) (hundredths % 100));
}

/* One block of the data: "x1 x2 y1 y2 colour".  FALSE if it is empty. */
static gboolean
append_block (GString *data, const GememPicture *picture, gboolean outlined)
{
  gboolean any = FALSE;

  for (guint i = 0; i < picture->rects->len; i++)
    {
      const Rect *rect = &g_array_index (picture->rects, Rect, i);

      if (rect->outlined != outlined)
        continue;
      append_units (data, "", rect->x);
      append_units (data, " ", rect->x + rect->width);
      append_units (data, " ", rect->y);
      append_units (data, " ", rect->y + rect->height);
      g_string_append_printf (data, " 0x%06x\n", rect->colour);
      any = TRUE;
    }
  if (!any)
    g_string_append (data, "0 0 0 0 0xffffff\n"); /* gnuplot does not count a block without lines */
  g_string_append (data, "\n\n");
  return any;
}

static void
append_label (GString *script, const Text *text)
{
  static const char *const anchors[] = { "left", "center", "right" };

  g_string_append (script, "set label ");
  gemem_plot_append_label (script, text->text, 0, FALSE);
  append_units (script, " at ", text->x);
  append_units (script, ",", text->y);
  g_string_append_printf (
      script, " %s font f('%s,%u.%02u') textcolor rgb '#%06x'%s front\n", anchors[text->anchor],
      text->flags & GEMEM_TEXT_BOLD ? "DejaVu Sans:Bold" : "DejaVu Sans",
      text->size * 10 / GEMEM_PLOT_LETTERS, text->size * 1000 / GEMEM_PLOT_LETTERS % 100,
      text->colour, text->flags & GEMEM_TEXT_UPWARDS ? " rotate by 90" : "");
}

void
gemem_picture_gnuplot (GString *script, GString *data, const GememPicture *picture,
                       GememPlotPage *page, const char *base)
{
  g_string_append_printf (data,
                          "# rectangles of %s, in pixels: x1 x2 y1 y2 colour; those without "
                          "and those with an outline\n",
                          base);
  append_block (data, picture, FALSE);
  append_block (data, picture, TRUE);
  page->width = picture->width;
  page->height = picture->height;
  g_autofree char *suffix = gemem_plot_page_suffix (page);
  gemem_plot_page_begin (script, page, base, GEMEM_PLOT_SVG);
  g_string_append_printf (script, "data = '%s%s.dat'\n", base, suffix);
  g_string_append_printf (
      script,
      "f(name) = large eq '' ? '' : name\n"
      "set lmargin at screen 0\nset rmargin at screen 1\nset tmargin at screen 1\n"
      "set bmargin at screen 0\nset xrange [0:%u]\nset yrange [%u:0]\nunset border\nunset "
      "tics\nunset key\n",
      picture->width, picture->height);
  for (guint i = 0; i < picture->lines->len; i++)
    {
      const Line *line = &g_array_index (picture->lines, Line, i);

      append_units (script, "set arrow from ", line->x1);
      append_units (script, ",", line->y1);
      append_units (script, " to ", line->x2);
      append_units (script, ",", line->y2);
      g_string_append_printf (script, " nohead front lc rgb '#%06x' lw %s\n", line->colour,
                              line->dashed ? "1.6 dt (10,6)" : "1");
    }
  for (guint i = 0; i < picture->texts->len; i++)
    append_label (script, &g_array_index (picture->texts, Text, i));
  g_string_append (script,
                   "plot data index 0 using 1:3:1:2:3:4:5 with boxxyerror fs solid 1.0 "
                   "noborder lc rgb variable, \\\n"
                   "     '' index 1 using 1:3:1:2:3:4:5 with boxxyerror fs solid 1.0 border "
                   "rgb '#ffffff' lc rgb variable\n"
                   "unset output\n}\n");
}

/* ---- files */

gboolean
gemem_picture_write (const GememPicture *picture, const char *dir, const char *base,
                     GememPlotPage *page, const char *program, GError **error)
{
  g_autoptr (GString) svg = g_string_new (NULL);
  g_autoptr (GString) script = g_string_new (NULL);
  g_autoptr (GString) data = g_string_new (NULL);
  g_autofree char *suffix = gemem_plot_page_suffix (page);
  g_autofree char *name = g_strconcat (base, suffix, NULL);

  gemem_picture_svg (svg, picture);
  gemem_picture_gnuplot (script, data, picture, page, base);
  return (!gemem_plot_style_draws (page->style, 0)
          || gemem_plot_write_part (dir, name, ".svg", svg, error))
         && gemem_plot_write_part (dir, name, ".dat", data, error)
         && gemem_plot_write_part (dir, name, ".gp", script, error)
         && (program == NULL
             || gemem_plot_render (program, dir, name, page->style, GEMEM_PLOT_SVG, error));
}
