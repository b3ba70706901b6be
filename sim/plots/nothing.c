/* nothing.c - the figure of a recording in which there is nothing to be drawn: it says so, in the place of the
 * one that was asked for.
 *
 * Why: a script that makes the figures of a paper finds each of them, and a person who opens it the reason.
 */
#include "config.h"

#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"

#define HEIGHT 150

typedef struct
{
  const char *title, *reason;
} Nothing;

static void
append_script (GString *out, gconstpointer data, GememPlotPage *page, const char *base)
{
  const Nothing *nothing = data;
  const GememPlotGroup group = { .title = (char *) nothing->title };

  page->height = HEIGHT;
  gemem_plot_script_begin (out, base, page);
  gemem_plot_script_title (out, &group, "nothing to draw", page);
  gemem_plot_script_note (out, nothing->reason, 24, HEIGHT / 2, page);
  g_string_append (
      out, "unset border\nunset tics\nunset grid\nset xrange [0:1]\nset yrange [0:1]\nplot NaN "
           "notitle\n");
  gemem_plot_script_end (out);
}

gboolean
gemem_plot_nothing_write (const char *dir, const GememPlotStyle *style, const char *path,
                          const char *reason, const char *gnuplot, gboolean *rendered,
                          GError **error)
{
  g_autofree char *program = gemem_plot_program (gnuplot), *slug = gemem_plot_slug (path),
                  *title = g_path_get_basename (path),
                  *name = g_strdup_printf ("comparison-%s", slug);
  g_autoptr (GString) no_data = g_string_new (NULL);
  const Nothing nothing = { title, reason };

  *rendered = program != NULL;
  return gemem_make_folder (dir, error)
         && gemem_plot_write_one (dir, style, name, no_data, append_script, &nothing, program,
                                  error);
}
