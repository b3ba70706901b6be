/* output.c - results to stdout or a file, messages to stderr, signals into one flag, and the clock
 * of the host; see cli.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/cli/cli.h"
#include "sim/cli/progress.h"
#include "sim/plots/plots.h"
#include "sim/report/report.h"

gint gemem_interrupted;
gboolean gemem_quiet;

static void
put_message (const char *kind, const char *text)
{
  g_autofree char *line = gemem_text_line (text);
  gemem_progress_pause ();
  fflush (stdout);
  fprintf (stderr, GEMEM_PROGRAM ": %s: %s\n", kind, line);
  gemem_progress_resume ();
}

static void
say (const char *kind, const char *format, va_list arguments)
{
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  put_message (kind, text);
}

void
gemem_note (const char *format, ...)
{
  va_list arguments;
  if (gemem_quiet)
    return;
  va_start (arguments, format);
  say ("note", format, arguments);
  va_end (arguments);
}

void
gemem_warn (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  say ("warning", format, arguments);
  va_end (arguments);
}

void
gemem_print_error (const GError *error)
{
  put_message ("error", error->message);
}

gboolean
gemem_put_drawing (const GString *shown, GError **error)
{
  gemem_progress_pause ();
  const gboolean written = fwrite (shown->str, 1, shown->len, stdout) == shown->len
                           && fflush (stdout) == 0;
  gemem_progress_resume ();
  if (!written)
    {
      gemem_error_set_errno (error, errno, "standard output",
                             "nothing after this point was written");
      return FALSE;
    }
  return TRUE;
}

gboolean
gemem_put (const char *path, const char *text, gsize length, GError **error)
{
  g_autoptr (GString) shown = g_string_sized_new (length);

  gemem_text_append_visible (shown, text, (gssize) length, TRUE);
  return path != NULL && strcmp (path, "-") != 0
             ? gemem_write_file (path, shown->str, (gssize) shown->len, error)
             : gemem_put_drawing (shown, error);
}

gboolean
gemem_terminal_obeys (int descriptor)
{
  const char *terminal = g_getenv ("TERM");

  return isatty (descriptor) && terminal != NULL && *terminal != '\0'
         && strcmp (terminal, "dumb") != 0;
}

GememTextLook
gemem_terminal_look (void)
{
  const char *none = g_getenv ("NO_COLOR");

  return (GememTextLook){ .unicode = g_get_charset (NULL),
                          .colour = gemem_terminal_obeys (STDOUT_FILENO)
                                    && (none == NULL || *none == '\0') };
}

guint
gemem_terminal_width (void)
{
  const char *columns = g_getenv ("COLUMNS");
  guint64 width;
  const guint shown = gemem_terminal_columns (STDOUT_FILENO);

  if (shown > 0)
    return shown;
  if (columns != NULL && gemem_parse_uint (columns, &width, NULL) && width < 10000)
    return (guint) width;
  return 0;
}

void
gemem_terminal_fit (const char *path)
{
  if ((path == NULL || strcmp (path, "-") == 0) && isatty (STDOUT_FILENO)
      && gemem_terminal_width () > 0)
    gemem_text_set_width (gemem_terminal_width ());
}

/* ---- signals
 *
 * The first one asks the program to end: whoever works looks at gemem_interrupted.  A thread
 * watches that the work does end: it may wait for a pipe, or be in one long step. */

#define PATIENCE 1000         /* ms until the work has ended ... */
#define PATIENCE_WRITING 5000 /* ... and what it found is written */

static int signals = -1; /* a byte for each signal; -1: nobody reads */
static gint over;        /* atomic: the work has ended, what it found is being written */

static void
interrupt (int signal_number G_GNUC_UNUSED)
{
  const gboolean second = g_atomic_int_get (&gemem_interrupted) != 0;
  const int number = errno;

  g_atomic_int_set (&gemem_interrupted, 1);
  if ((signals < 0 || write (signals, "", 1) != 1) && second)
    {
      gemem_progress_erase_at_once ();
      _exit (130);
    }
  errno = number;
}

/* Ends the program at once; what is half written is removed. */
static G_NORETURN void
end_at_once (const char *message)
{
  gemem_write_abandon ();
  gemem_progress_erase_at_once ();
  _exit (write (STDERR_FILENO, message, strlen (message)) < 0 ? 131 : 130);
}

static gpointer
watch_signals (gpointer data)
{
  struct pollfd more = { .fd = GPOINTER_TO_INT (data), .events = POLLIN };
  char byte;

  if (read (more.fd, &byte, 1) == 1 && poll (&more, 1, PATIENCE) == 0
      && g_atomic_int_get (&over) == 0)
    end_at_once (GEMEM_PROGRAM
                 ": error: interrupted while waiting, or in one long step; nothing was "
                 "kept\n");
  if (poll (&more, 1, PATIENCE_WRITING) == 0)
    end_at_once (GEMEM_PROGRAM ": error: interrupted while the report was written; its end is "
                               "missing\n");
  while (read (more.fd, &byte, 1) != 1)
    ;
  end_at_once ("");
  return NULL;
}

static void
start_watching (void)
{
  int ends[2];
  sigset_t all, old;

  if (signals >= 0 || !g_unix_open_pipe (ends, FD_CLOEXEC, NULL))
    return;
  sigfillset (&all); /* the others get the signals */
  pthread_sigmask (SIG_SETMASK, &all, &old);
  GThread *thread = g_thread_try_new ("gemem-signals", watch_signals, GINT_TO_POINTER (ends[0]),
                                      NULL);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  if (thread == NULL)
    {
      close (ends[0]);
      close (ends[1]);
      return;
    }
  g_thread_unref (thread);
  signals = ends[1];
}

void
gemem_catch_interrupts (void)
{
  gemem_plot_stop_when (&gemem_interrupted);
  start_watching ();
  struct sigaction action = { .sa_handler = interrupt, .sa_flags = (int) SA_RESTART };
  sigemptyset (&action.sa_mask);
  sigaction (SIGINT, &action, NULL);
  sigaction (SIGTERM, &action, NULL);
  struct sigaction hangup;
  if (sigaction (SIGHUP, NULL, &hangup) == 0
      && hangup.sa_handler != SIG_IGN) /* unless under nohup */
    sigaction (SIGHUP, &action, NULL);
}

void
gemem_interrupts_over (void)
{
  g_atomic_int_set (&over, 1);
}

/* A sleep ends some 50 us late; the rest is a busy wait. */
#define SLEEP_SLACK_NS 100000
#define NS_PER_S G_GUINT64_CONSTANT (1000000000)

void
gemem_host_wait (guint64 until)
{
  const guint64 wake = MAX (until, SLEEP_SLACK_NS) - SLEEP_SLACK_NS;
  const struct timespec time = { (time_t) (wake / NS_PER_S), (long) (wake % NS_PER_S) };

  while (gemem_host_clock () < until && g_atomic_int_get (&gemem_interrupted) == 0)
    if (gemem_host_clock () < wake)
      clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

guint64
gemem_host_clock (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (guint64) now.tv_sec * NS_PER_S + (guint64) now.tv_nsec;
}
