/* style.h - how pictures look: their formats, widths and letters; and the page a script draws on.
 *
 * Why: a screen, a column of a paper and a slide differ in width and in the size of letters, not in
 * what is shown.  A script is laid out in pixels of a page on which letters are GEMEM_PLOT_LETTERS
 * px high, as many px wide as the width of the picture is in such letters.  Each format then scales
 * the page, so that all parts keep their proportions, and nothing else depends on the style.
 */
#pragma once

#include "sim/plots/plots.h"

#define GEMEM_PLOT_LETTERS 13 /* px */

/* A page of one width.  The height follows from what is drawn. */
typedef struct
{
  const GememPlotStyle *style;
  guint inches; /* width, hundredths */
  guint width, height;
  guint lift;    /* px by which everything moves up, as there is no title */
  gboolean slim; /* one panel across */
} GememPlotPage;

/* The page of width number @i of @style; FALSE: there are no more. */
gboolean gemem_plot_page_init (GememPlotPage *page, const GememPlotStyle *style, guint i);
/* What distinguishes the names of its files: "-3.3in", or "" where there is one width; g_free(). */
char *gemem_plot_page_suffix (const GememPlotPage *page);
/* Whether the pictures have titles. */
gboolean gemem_plot_page_titled (const GememPlotPage *page);

/* Formats of a style: a number for each, in the order of GememPlotFormat. */
#define GEMEM_PLOT_FORMATS 4
gboolean gemem_plot_style_draws (const GememPlotStyle *style, guint format);
/* ".svg", and what the file ends with if it is whole. */
const char *gemem_plot_format_ending (guint format);
const char *gemem_plot_format_end (guint format);

/* Opens the loop over the formats of @page (without those of @without, bits), which draw
 * BASESUFFIX.svg and so on from BASE.dat; sets the terminal and the output. */
void gemem_plot_page_begin (GString *out, const GememPlotPage *page, const char *base,
                            guint without);
