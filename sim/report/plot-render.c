/* plot-render.c - see plot-render.h.
 *
 * gnuplot is run without the user's start file (-d) and the environment's settings of fonts and
 * terminals, in the C locale, so that pictures depend only on the script and on gnuplot's version.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/io/spool.h"
#include "sim/report/plot-render.h"
#include "sim/report/report.h"

static const gint *stop; /* atomic; NULL: nothing interrupts drawing */
static gint drawing;     /* atomic: the process of gnuplot; 0: none runs */

void
gemem_plot_stop_when (const gint *interrupted)
{
  stop = interrupted;
}

static gboolean
is_stopped (void)
{
  return stop != NULL && g_atomic_int_get (stop) != 0;
}

/* ---- gnuplot's process
 *
 * Its output is read here rather than by GSubprocess, which waits without end for a thread of GLib that
 * a lack of memory kept from being made, and whose wait nothing interrupts. */

#define LOOK_MS 50 /* how often an interrupt is looked for */

enum
{
  TEXT,
  MESSAGES,
  N_OUTPUTS
};

/* Starts @argv in @dir with @input as standard input; fds[] become the ends of its outputs to read. */
static gboolean
start (const char *const *argv, const char *dir, const char *input, GPid *pid, int *fds,
       GError **error)
{
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "LC_ALL", "C", TRUE);
  const gsize length = input != NULL ? strlen (input) : 0;
  int pipes[N_OUTPUTS][2] = { { -1, -1 }, { -1, -1 } };
  gboolean started = FALSE;

  for (const char *const *name =
           (const char *const[]){ "GNUTERM", "GNUPLOT_LIB", "GNUPLOT_FONTPATH", "GDFONTPATH",
                                  "GNUPLOT_DEFAULT_GDFONT", NULL };
       *name != NULL; name++)
    environment = g_environ_unsetenv (environment, *name);
  /* A file, since a gnuplot that fails early does not read, and writing into its pipe would end us. */
  const int in = gemem_spool_new (error);
  if (in >= 0 && !gemem_spool_write (in, input, length, 0))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "its script cannot be kept: %s",
                 g_strerror (errno));
  else if (in >= 0 && g_unix_open_pipe (pipes[TEXT], FD_CLOEXEC, error)
           && g_unix_open_pipe (pipes[MESSAGES], FD_CLOEXEC, error))
    started = g_spawn_async_with_fds (dir, (char **) argv, environment, G_SPAWN_DO_NOT_REAP_CHILD,
                                      NULL, NULL, pid, in, pipes[TEXT][1], pipes[MESSAGES][1],
                                      error);
  if (in >= 0)
    close (in);
  for (guint i = 0; i < N_OUTPUTS; i++)
    {
      fds[i] = pipes[i][0];
      if (pipes[i][1] >= 0)
        close (pipes[i][1]);
      if (!started && fds[i] >= 0)
        close (fds[i]);
    }
  return started;
}

/* Reads fds[] to their ends, and closes them.  FALSE: the user interrupted. */
static gboolean
read_outputs (const int *fds, GString **outputs)
{
  struct pollfd polls[N_OUTPUTS] = { { fds[TEXT], POLLIN, 0 }, { fds[MESSAGES], POLLIN, 0 } };
  char bytes[4096];

  while ((polls[TEXT].fd >= 0 || polls[MESSAGES].fd >= 0) && !is_stopped ())
    {
      if (poll (polls, N_OUTPUTS, stop != NULL ? LOOK_MS : -1) <= 0)
        continue;
      for (guint i = 0; i < N_OUTPUTS; i++)
        if (polls[i].fd >= 0 && polls[i].revents != 0)
          {
            const gssize n = read (polls[i].fd, bytes, sizeof bytes);
            if (n > 0)
              g_string_append_len (outputs[i], bytes, n);
            else if (n == 0 || (errno != EINTR && errno != EAGAIN))
              polls[i].fd = -1; /* poll() passes over it */
          }
    }
  for (guint i = 0; i < N_OUTPUTS; i++)
    close (fds[i]);
  return !is_stopped ();
}

/* Runs @argv to its end; its wait status, or -1 with @error where it could not be run. */
static int
communicate (const char *const *argv, const char *dir, const char *input, GString **outputs,
             GError **error)
{
  GPid pid;
  int fds[N_OUTPUTS], status = -1;

  if (!start (argv, dir, input, &pid, fds, error))
    return -1;
  g_atomic_int_set (&drawing, pid);
  if (!read_outputs (fds, outputs))
    kill (pid, SIGKILL);
  g_atomic_int_set (&drawing, 0); /* before its number may become another process's */
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

/* ---- runs */

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

gboolean
gemem_plot_run (const char *program, const char *dir, const char *script, const char *input,
                char **output, GError **error)
{
  const char *const argv[] = { program, "-d", "-e", "into = '" PART "'", script, NULL };
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GString) messages = g_string_new (NULL);
  g_autoptr (GError) local = NULL;
  const int status = communicate (argv, dir, input, (GString *[]){ text, messages }, &local);

  if (is_stopped ()) /* gnuplot may have caught the signal itself, and ended well */
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
  char tail[64] = "";
  FILE *file = g_fopen (part, "rb");
  gboolean read = file != NULL, whole = FALSE, kept = FALSE;
  gsize n = 0;
  if (read && fseek (file, -(long) sizeof tail, SEEK_END) == 0)
    {
      n = fread (tail, 1, sizeof tail, file);
      read = ferror (file) == 0;
    }
  for (gsize i = 0; i + strlen (end) <= n; i++)
    whole |= memcmp (tail + i, end, strlen (end)) == 0;
  if (read && !whole)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "%s: gnuplot could not write all of it; free some space or write elsewhere", path);
  else if (read && g_rename (part, path) == 0)
    kept = TRUE;
  else
    gemem_error_set_errno (error, errno, path,
                           "the picture was not kept; write elsewhere, or draw the .gp file");
  if (file != NULL)
    fclose (file);
  return kept;
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
gemem_plot_render (const char *program, const char *dir, const char *base, gboolean svg,
                   GError **error)
{
  g_autofree char *script = g_strconcat (base, ".gp", NULL);
  g_autofree char *vector = g_strconcat (dir, "/" PART, base, ".svg", NULL);
  g_autofree char *pixels = g_strconcat (dir, "/" PART, base, ".png", NULL);
  GememTemporary drawn[] = { { vector, &drawing, NULL }, { pixels, &drawing, NULL } };

  for (guint i = 0; i < G_N_ELEMENTS (drawn); i++)
    gemem_temporary_add (&drawn[i]);
  const gboolean whole = gemem_plot_run (program, dir, script, NULL, NULL, error)
                         && (!svg || keep_picture (dir, base, ".svg", "</svg>", error))
                         && keep_picture (dir, base, ".png", "IEND", error);
  for (guint i = 0; i < G_N_ELEMENTS (drawn); i++)
    {
      g_unlink (drawn[i].path);
      gemem_temporary_remove (&drawn[i]);
    }
  return whole;
}
