/* picture.h - a picture as a list of rectangles, lines and texts, written as SVG or as a gnuplot
 * script that draws the same.
 *
 * Why: SVG written here depends only on the drawing, so it is byte-identical everywhere; PNG needs
 * a program: gnuplot, as for the other plots.  Coordinates are hundredths of a pixel from the upper
 * left corner, integers; rectangles lie below lines, lines below texts.  Memory: the drawn
 * elements.
 */
#pragma once

#include "sim/plots/style.h"

typedef struct _GememPicture GememPicture;

typedef enum
{
  GEMEM_ANCHOR_START,
  GEMEM_ANCHOR_MIDDLE,
  GEMEM_ANCHOR_END,
} GememAnchor;

enum
{
  GEMEM_TEXT_BOLD = 1 << 0,
  GEMEM_TEXT_UPWARDS = 1 << 1, /* rotated a quarter turn to the left */
};

/* Sizes in pixels.  @title: description of the picture for screen readers. */
GememPicture *gemem_picture_new (guint width, guint height, const char *title);
void gemem_picture_free (GememPicture *picture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememPicture, gemem_picture_free)

/* @colour: 0xrrggbb.  @outlined: with a thin white outline.  @title: shown under the mouse, or
 * NULL. */
void gemem_picture_rect (GememPicture *picture, guint64 x, guint64 y, guint64 width, guint64 height,
                         guint32 colour, gboolean outlined, const char *title);
void gemem_picture_line (GememPicture *picture, guint64 x1, guint64 y1, guint64 x2, guint64 y2,
                         guint32 colour, gboolean dashed);
/* @y: the middle of the line of text; @size in pixels. */
void gemem_picture_text (GememPicture *picture, guint64 x, guint64 y, GememAnchor anchor,
                         guint size, guint flags, guint32 colour, const char *text);

void gemem_picture_svg (GString *out, const GememPicture *picture);
/* Writes a script that draws the formats of @page without SVG from BASESUFFIX.dat, and the content
 * of that file.  @page gets the height of @picture. */
void gemem_picture_gnuplot (GString *script, GString *data, const GememPicture *picture,
                            GememPlotPage *page, const char *base);

/* Writes DIR/BASESUFFIX.dat, .gp, .svg if @page has it, and, with gnuplot (@program of
 * gemem_plot_program() is not NULL), its other formats.  GEMEM_ERROR_FAILED. */
gboolean gemem_picture_write (const GememPicture *picture, const char *dir, const char *base,
                              GememPlotPage *page, const char *program, GError **error);

/* Appends @text as content of an SVG element or attribute: valid UTF-8, markup escaped, control
 * characters as spaces. */
void gemem_svg_append_text (GString *out, const char *text);
