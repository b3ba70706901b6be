/* render.c - runs gnuplot.
 *
 * gnuplot is run without the user's start file (-d) and the environment's settings of fonts and
 * terminals, in the C locale, so that pictures depend only on the script and on gnuplot's version.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/io/child.h"
#include "base/io/output.h"
#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"
#include "sim/report/report.h"

static const gint *stop; /* atomic; NULL: nothing interrupts drawing */
static gint drawing;     /* atomic: the process of gnuplot; 0: none runs */

void
gemem_plot_stop_when (const gint *interrupted)
{
  stop = interrupted;
}

char *
gemem_plot_program (const char *gnuplot)
{
  if (gnuplot != NULL && gnuplot[0] == '\0')
    return NULL;
  return g_find_program_in_path (gnuplot != NULL ? gnuplot : "gnuplot");
}

/* gnuplot's complaint: its first line that names a line of the script and is no warning, else its
 * first line. */
static char *
complaint (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    if (strstr (*line, "line ") != NULL && strstr (*line, "warning") == NULL)
      return g_strdup (*line);
  return g_strdup (lines[0] != NULL ? lines[0] : "");
}

#define PART ".part-" /* before the name of a picture that is being drawn */

/* Runs SCRIPT in @dir (NULL: here) with @input on standard input; standard output goes to *output
 * unless @output is NULL.  GEMEM_ERROR_FAILED with gnuplot's message;
 * GEMEM_ERROR_INTERRUPTED: see gemem_plot_stop_when(). */
static gboolean
run_gnuplot (const char *program, const char *dir, const char *script, const char *input,
             char **output, GError **error)
{
  const char *const argv[] = { program, "-d", "-e", "into = '" PART "'", script, NULL };
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "LC_ALL", "C", TRUE);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GString) messages = g_string_new (NULL);
  g_autoptr (GError) local = NULL;

  for (const char *const *name =
           (const char *const[]){ "GNUTERM", "GNUPLOT_LIB", "GNUPLOT_FONTPATH", "GDFONTPATH",
                                  "GNUPLOT_DEFAULT_GDFONT", NULL };
       *name != NULL; name++)
    environment = g_environ_unsetenv (environment, *name);
  const GememChild child = { .argv = argv,
                             .environment = environment,
                             .folder = dir,
                             .input = input,
                             .stop = stop,
                             .running = &drawing };
  const int status = gemem_child_run (&child, text, messages, &local);
  if (stop != NULL
      && g_atomic_int_get (stop)
             != 0) /* gnuplot may have caught the signal itself, and ended well */
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED,
                   "%s: interrupted; plots are missing", dir != NULL ? dir : "drawing");
      return FALSE;
    }
  if (local != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "%s: %s; install gnuplot, or draw the .gp files elsewhere", program,
                   local->message);
      return FALSE;
    }
  if (status != 0)
    {
      g_autofree char *reason = complaint (messages->str);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "%s: gnuplot failed: %s; gnuplot 5.2 or newer with svg and pngcairo is needed",
                   script[0] == '-' ? "drawing" : script,
                   reason[0] != '\0' ? reason : "without a message");
      return FALSE;
    }
  if (output != NULL)
    *output = g_strdup (text->str);
  return TRUE;
}

/* gnuplot does not report a full disk, so the end of its output is checked: @end must occur in the
 * last 64 bytes of DIR/.part-BASEENDING, which then becomes DIR/BASEENDING. */
static gboolean
keep_picture (const char *dir, const char *base, const char *ending, const char *end,
              GError **error)
{
  g_autofree char *path = g_strconcat (dir, "/", base, ending, NULL);
  g_autofree char *part = g_strconcat (dir, "/" PART, base, ending, NULL);
  g_autofree char *picture = NULL;
  gsize size;

  if (!g_file_get_contents (part, &picture, &size, error))
    {
      g_prefix_error (error, "%s: ", path);
      return FALSE;
    }
  const gsize tail = MIN (size, 64);
  if (memmem (picture + size - tail, tail, end, strlen (end)) != NULL)
    return gemem_write_file (path, picture, (gssize) size, error);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               "%s: gnuplot could not write all of it; free some space or write elsewhere", path);
  return FALSE;
}

gboolean
gemem_plot_write_part (const char *dir, const char *base, const char *ending, const GString *text,
                       GError **error)
{
  g_autofree char *name = g_strconcat (base, ending, NULL);
  g_autofree char *path = g_build_filename (dir, name, NULL);
  return gemem_write_file (path, text->str, (gssize) text->len, error);
}

gboolean
gemem_plot_render (const char *program, const char *dir, const char *base,
                   const GememPlotStyle *style, guint without, GError **error)
{
  g_autofree char *script = g_strconcat (base, ".gp", NULL);
  char *paths[GEMEM_PLOT_FORMATS];
  GememTemporary drawn[GEMEM_PLOT_FORMATS];

  for (guint f = 0; f < GEMEM_PLOT_FORMATS; f++)
    {
      paths[f] = g_strconcat (dir, "/" PART, base, gemem_plot_format_ending (f), NULL);
      drawn[f] = (GememTemporary){ paths[f], &drawing, NULL };
      gemem_temporary_add (&drawn[f]);
    }
  gboolean whole = run_gnuplot (program, dir, script, NULL, NULL, error);
  for (guint f = 0; f < GEMEM_PLOT_FORMATS && whole; f++)
    if (gemem_plot_style_draws (style, f) && (without >> f & 1) == 0)
      whole = keep_picture (dir, base, gemem_plot_format_ending (f), gemem_plot_format_end (f),
                            error);
  for (guint f = 0; f < GEMEM_PLOT_FORMATS; f++)
    {
      g_unlink (paths[f]);
      gemem_temporary_remove (&drawn[f]);
      g_free (paths[f]);
    }
  return whole;
}
