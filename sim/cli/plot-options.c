/* plot-options.c - see plot-options.h.  One list, so that a figure that a search, a replay or saved
 * results make is asked for in the same words. */
#include "config.h"

#include "sim/cli/cli.h"
#include "sim/cli/plot-options.h"

#define WIDTH 80 /* of a terminal that does not say its own */
#define HEIGHT 28

static char *look, *format, *size, *axis;

const GOptionEntry gemem_plot_entries[] = {
  { "plot-style", 0, 0, G_OPTION_ARG_STRING, &look,
    "How pictures look: paper has no title, letters of 7 pt, PDF of 3.3 and of 7 inch; slide is "
    "1920 "
    "pixels wide with letters of 16 pt",
    "screen|paper|slide" },
  { "plot-format", 0, 0, G_OPTION_ARG_STRING, &format,
    "Formats of pictures, separated by commas (default: svg,png; for a paper pdf)",
    "svg|png|pdf|tikz" },
  { "plot-size", 0, 0, G_OPTION_ARG_STRING, &size,
    "Width of pictures, such as 3.3in, 85mm, 1600px; of a list, separated by commas, each is "
    "drawn. "
    "The height follows from the rows",
    "WIDTH" },
  { "plot-axis", 0, 0, G_OPTION_ARG_STRING, &axis,
    "What runs along the x axis (default: events); of the time, what is idle is cut",
    "events|time" },
  { NULL }
};

gboolean
gemem_plot_options (GememPlotStyle *style, GError **error)
{
  return gemem_plot_style_parse (style, look, format, size, axis, error);
}

gboolean
gemem_draw_results (GememResult *const *results, guint n, const char *name, GError **error)
{
  const guint width = gemem_terminal_width ();
  const GememTextLook shown = gemem_terminal_look ();
  g_autoptr (GString) out = g_string_new (NULL);
  GememTextPlot plot;

  if (!gemem_plot_text_parse (name, &plot, error))
    return FALSE;
  gemem_plot_text (out, results, n, plot, width > 0 ? width : WIDTH, HEIGHT, &shown);
  return gemem_put (NULL, out->str, out->len, error);
}
