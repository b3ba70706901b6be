/* gemem-record.c - runs a program under the recorder and writes .gmt files of its memory calls.
 *
 *   gemem-record [-o FILE] [--stacks[=DEPTH]] [--] PROGRAM [ARGUMENTS]
 *
 * The environment of the program names the library libgemem-record.so (LD_PRELOAD) and the folder
 * of the journals (GEMEM_JOURNALS), which is created beside FILE.  When the program has ended,
 * normally or not, each journal becomes a trace: FILE for the program itself, and FILE with the
 * process id before the extension for each child.
 *
 * Invariants: a failed recording never stops the program; standard streams and signals of the
 * program are unchanged; the exit status is that of the program (128 + n for signal n, 127 and 126
 * if the program cannot be run).  FILE is written completely or not at all.  Messages go to stderr.
 */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/input.h"
#include "traces/trace.h"

#define LIBRARY "libgemem-record.so"
#define MOST_FRAMES 128     /* traces/record/stacks.c */
#define DEFAULT_FRAMES "32" /* of --stacks without =DEPTH */
#define CANNOT_RUN 126
#define NOT_FOUND 127

static char *output;
static int stacks;
static gboolean show_version;

static gboolean
parse_stacks (const char *name, const char *value, gpointer data, GError **error)
{
  char *end = NULL;
  gint64 depth = g_ascii_strtoll (value, &end, 10);

  if (end == value || *end != '\0' || depth < 1 || depth > MOST_FRAMES)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "%s=%s: how many frames, 1 to %d", name, value, MOST_FRAMES);
      return FALSE;
    }
  stacks = (int) depth;
  return TRUE;
}

static const GOptionEntry entries[] = {
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "where to write the trace (default: out.gmt)",
    "FILE" },
  { "stacks", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer) parse_stacks,
    "record the call stacks, DEPTH frames of each; without =DEPTH " DEFAULT_FRAMES, "DEPTH" },
  { "version", 0, 0, G_OPTION_ARG_NONE, &show_version, "print the version", NULL },
  G_OPTION_ENTRY_NULL,
};

static void G_GNUC_PRINTF (1, 2) say (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  fprintf (stderr, "gemem-record: %s\n", text);
}

/* ---- the program */

/* Finds the library: beside this program in a build folder, else as installed; NULL: missing. */
static char *
find_library (void)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = self != NULL ? g_path_get_dirname (self) : g_strdup (".");
  g_autofree char *built = g_build_filename (folder, LIBRARY, NULL);

  if (g_file_test (built, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&built);
  return g_file_test (GEMEM_PKGLIBDIR "/" LIBRARY, G_FILE_TEST_EXISTS)
             ? g_strdup (GEMEM_PKGLIBDIR "/" LIBRARY)
             : NULL;
}

/* The environment of the program; @folder NULL: unchanged. */
static char **
make_environment (const char *library, const char *folder)
{
  char **environment = g_get_environ ();

  if (folder == NULL)
    return environment;
  const char *preloaded = g_environ_getenv (environment, "LD_PRELOAD");
  g_autofree char *both = preloaded != NULL && *preloaded != '\0'
                              ? g_strconcat (library, ":", preloaded, NULL)
                              : g_strdup (library);
  environment = g_environ_setenv (environment, "LD_PRELOAD", both, TRUE);
  environment = g_environ_setenv (environment, "GEMEM_JOURNALS", folder, TRUE);
  if (stacks == 0)
    return g_environ_unsetenv (environment, "GEMEM_RECORD_STACKS");
  g_autofree char *depth = g_strdup_printf ("%d", stacks);
  return g_environ_setenv (environment, "GEMEM_RECORD_STACKS", depth, TRUE);
}

static volatile sig_atomic_t child;

/* Forwards a signal to the program; signals from the terminal reach the program directly. */
static void
pass_on (int number)
{
  if (child > 0)
    kill ((pid_t) child, number);
}

static void
set_signals (void)
{
  static const int passed[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
  struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };

  for (guint i = 0; i < G_N_ELEMENTS (passed); i++)
    sigaction (passed[i], &action, NULL);
  signal (SIGINT, SIG_IGN);
  signal (SIGQUIT, SIG_IGN);
  signal (SIGXFSZ, SIG_IGN); /* writing beyond the file size limit becomes an error */
}

/* Runs @arguments to the end; returns the exit status as a shell does.  *@pid: the process. */
static int
run (char **arguments, char **environment, pid_t *pid)
{
  struct sigaction interrupt, quit;
  sigset_t all, before;
  int status = 0;

  sigaction (SIGINT, NULL, &interrupt);
  sigaction (SIGQUIT, NULL, &quit);
  sigfillset (&all);
  sigprocmask (SIG_BLOCK, &all, &before);
  *pid = fork ();
  if (*pid == 0)
    {
      sigprocmask (SIG_SETMASK, &before, NULL);
      environ = environment;
      execvp (arguments[0], arguments);
      int problem = errno;
      say ("%s: %s", arguments[0], g_strerror (problem));
      _exit (problem == ENOENT ? NOT_FOUND : CANNOT_RUN);
    }
  child = *pid;
  set_signals ();
  sigprocmask (SIG_SETMASK, &before, NULL);
  if (*pid < 0)
    {
      say ("%s: %s", arguments[0], g_strerror (errno));
      return CANNOT_RUN;
    }
  while (waitpid (*pid, &status, 0) < 0 && errno == EINTR)
    ;
  child = 0;
  return WIFSIGNALED (status) ? 128 + WTERMSIG (status) : WEXITSTATUS (status);
}

/* ---- the journals */

typedef struct
{
  char *path;
  gint64 pid, part; /* PID.gmj, PID-PART.gmj */
} Journal;

static void
journal_free (gpointer data)
{
  Journal *journal = data;
  g_free (journal->path);
  g_free (journal);
}

static gint
compare_journals (gconstpointer a, gconstpointer b)
{
  const Journal *x = *(Journal *const *) a, *y = *(Journal *const *) b;
  return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
                          : (x->part > y->part) - (x->part < y->part);
}

/* The journals in @folder by process id. */
static GPtrArray *
find_journals (const char *folder)
{
  GPtrArray *journals = g_ptr_array_new_with_free_func (journal_free);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      if (!g_str_has_suffix (name, ".gmj"))
        continue;
      char *end;
      Journal *journal = g_new0 (Journal, 1);
      journal->path = g_build_filename (folder, name, NULL);
      journal->pid = g_ascii_strtoll (name, &end, 10);
      journal->part = *end == '-' ? g_ascii_strtoll (end + 1, NULL, 10) : 1;
      g_ptr_array_add (journals, journal);
    }
  g_ptr_array_sort (journals, compare_journals);
  return journals;
}

/* Writes the events of @reader to @path; a trace without events is written only if @empty. */
static gboolean
copy (GememTraceReader *reader, const char *path, gboolean empty, guint64 *count, GError **error)
{
  GememTraceWriter *writer = gemem_trace_create (path, "native", &reader->info, error);
  const GememTraceEvent *events;
  gssize n;

  if (writer == NULL)
    return FALSE;
  *count = 0;
  while ((n = gemem_trace_next (reader, &events, error)) > 0
         && writer->write (writer, events, (gsize) n, error))
    *count += (guint64) n;
  if (n == 0 && (*count > 0 || empty))
    return writer->finish (writer, error);
  writer->discard (writer);
  return n == 0;
}

/* Converts @journal (NULL: nothing was recorded) to @path and removes the journal; on failure
 * prints the reason and returns FALSE.
 * @ended: for the journal of the program itself, how the program ended; only this file may be
 * empty. */
static gboolean
convert (const Journal *journal, const char *path, const char *ended, guint64 *count)
{
  GememReadOptions options = { .allow_partial = TRUE, .device = -1 };
  g_autoptr (GBytes) nothing = g_bytes_new_static ("# gemem-trace: 1\n# end: 0\n", 26);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader;
  gboolean done = FALSE;

  if (journal != NULL)
    reader = gemem_trace_open (journal->path, "journal", &options, &error);
  else
    reader = gemem_trace_open_input (gemem_input_new_from_bytes (nothing, "nothing"), "text",
                                     &options, &error);
  if (reader != NULL)
    {
      gemem_trace_info_note (&reader->info, "recorder", "gemem-record %s", PACKAGE_VERSION);
      if (ended != NULL)
        gemem_trace_info_note (&reader->info, "ended", "%s", ended);
      done = copy (reader, path, ended != NULL, count, &error);
      gemem_trace_close (reader);
    }
  if (!done)
    say ("%s%s%s", error->message, journal != NULL ? "; the recording is still in " : "",
         journal != NULL ? journal->path : "");
  else if (journal != NULL)
    g_unlink (journal->path);
  return done;
}

/* The path of the trace: FILE for the program, with the process id in the name for a child. */
static char *
output_of (const Journal *journal)
{
  gsize length = g_str_has_suffix (output, ".gmt") ? strlen (output) - 4 : strlen (output);
  g_autofree char *part = journal->part > 1 ? g_strdup_printf ("-%" G_GINT64_FORMAT, journal->part)
                                            : g_strdup ("");
  return g_strdup_printf ("%.*s.%" G_GINT64_FORMAT "%s.gmt", (int) length, output, journal->pid,
                          part);
}

/* Finds the journal that becomes FILE: the last one of the program's process (which may have
 * executed another program), else that of the first process.
 */
static const Journal *
main_journal (const GPtrArray *journals, pid_t pid)
{
  const Journal *chosen = journals->len > 0 ? journals->pdata[0] : NULL;
  for (guint i = 0; i < journals->len; i++)
    if (((const Journal *) journals->pdata[i])->pid == pid)
      chosen = journals->pdata[i];
  return chosen;
}

static gboolean
still_runs (const Journal *journal, pid_t pid)
{
  return journal->pid != pid && kill ((pid_t) journal->pid, 0) == 0;
}

static void
finish (const char *program, const char *folder, pid_t pid, int status)
{
  g_autoptr (GPtrArray) journals = find_journals (folder);
  const Journal *first = main_journal (journals, pid);
  g_autofree char *ended = status > 128 ? g_strdup_printf ("signal %d", status - 128)
                                        : g_strdup_printf ("exit status %d", status);
  guint64 count;

  for (guint i = 0; i < journals->len; i++)
    {
      const Journal *journal = journals->pdata[i];
      g_autofree char *path = journal == first ? g_strdup (output) : output_of (journal);
      if (still_runs (journal, pid))
        say ("process %" G_GINT64_FORMAT " still runs; its recording is %s, which gemem-sim reads",
             journal->pid, journal->path);
      else if (!convert (journal, path, journal == first ? ended : NULL, &count))
        continue;
      else if (journal != first && count > 0)
        say ("%s: recorded from process %" G_GINT64_FORMAT, path, journal->pid);
      else if (journal == first && count == 0)
        say ("%s used CUDA, but allocated no memory; %s holds no events", program, path);
    }
  if (first == NULL && convert (NULL, output, ended, &count))
    say ("%s made no CUDA calls that are recorded; %s holds no events", program, output);
  g_rmdir (folder); /* fails, as intended, if a journal remains */
}

/* ---- */

/* Replaces --stacks by --stacks=DEPTH, because GLib would take the program name for the depth. */
static void
name_depth (int count, char **arguments)
{
  static char written_out[] = "--stacks=" DEFAULT_FRAMES;
  for (int i = 1; i < count && arguments[i][0] == '-'; i++)
    if (strcmp (arguments[i], "--stacks") == 0)
      arguments[i] = written_out;
    else if (strcmp (arguments[i], "-o") == 0 || strcmp (arguments[i], "--output") == 0)
      i++;
}

/* Parses the options before the program; *@arguments then starts with the program. */
static gboolean
parse (int *count, char ***arguments, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("PROGRAM [ARGUMENTS...]");
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_strict_posix (context, TRUE);
  g_option_context_set_summary (
      context, "Runs PROGRAM and records its use of CUDA memory as a trace for gemem-sim.");
  name_depth (*count, *arguments);
  if (!g_option_context_parse (context, count, arguments, error))
    return FALSE;
  if (*count > 1 && strcmp ((*arguments)[1], "--") == 0)
    {
      ++*arguments;
      --*count;
    }
  if (*count < 2 && !show_version)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                 "name a program to run; 'gemem-record --help' shows how");
  return *count >= 2 || show_version;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  pid_t pid;

  setlocale (LC_ALL, "");
  if (!parse (&argc, &argv, &error))
    {
      say ("%s", error->message);
      return 2;
    }
  if (show_version)
    {
      puts ("gemem-record " PACKAGE_VERSION);
      return 0;
    }
  g_autofree char *given = output != NULL ? output : g_strdup ("out.gmt");
  output = g_canonicalize_filename (given, NULL);
  g_autofree char *library = find_library ();
  g_autofree char *folder = g_strconcat (output, ".recording-XXXXXX", NULL);
  if (library == NULL)
    say (LIBRARY " was not found in " GEMEM_PKGLIBDIR "; %s runs without being recorded", argv[1]);
  else if (g_mkdtemp (folder) == NULL)
    {
      say ("%s: %s; %s runs without being recorded", given, g_strerror (errno), argv[1]);
      g_clear_pointer (&library, g_free);
    }
  g_auto (GStrv) environment = make_environment (library, library != NULL ? folder : NULL);
  int status = run (argv + 1, environment, &pid);
  if (library != NULL)
    finish (argv[1], folder, pid, status);
  return status;
}
