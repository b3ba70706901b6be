/* launcher.c - see launcher.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/no-memory.h"
#include "base/text.h"
#include "record/launcher.h"
#include "record/variables.h"
#include "traces/journal/format.h"

#define MOST_FRAMES 128 /* record/stacks.c */

static const char *launcher = "gemem";
static struct sigaction file_size;   /* before gemem_launcher_begin() */
static int ended = 1;                /* the exit status of the program, once it has one */
static GememTraceWriter *unfinished; /* the trace that is being written */

/* Once the program has ended its status is what counts. */
void
gemem_end_without_memory (const char *what, gsize length)
{
  static char begin[] = ": out of memory: ",
              end[] = "; raise the limit (ulimit -v, the container's)\n";
  const struct iovec pieces[] = { { (char *) launcher, strlen (launcher) },
                                  { begin, strlen (begin) },
                                  { (char *) what, length },
                                  { end, strlen (end) } };

  if (unfinished != NULL)
    unfinished->discard (unfinished);
  _exit (writev (STDERR_FILENO, pieces, G_N_ELEMENTS (pieces)) < 0 ? 1 : ended);
}

void
gemem_launcher_begin (const char *name)
{
  const struct sigaction ignore = { .sa_handler = SIG_IGN };

  launcher = name;
  gemem_catch_no_memory ();
  sigaction (SIGXFSZ, &ignore, &file_size); /* writing beyond the limit becomes an error */
}

void
gemem_launcher_say (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *line = gemem_text_line (text);
  fprintf (stderr, "%s: %s\n", launcher, line);
}

/* ---- options */

gboolean
gemem_launcher_parse_stacks (const char *value, int *depth, GError **error)
{
  char *end = NULL;
  gint64 frames = g_ascii_strtoll (value, &end, 10);

  if (end == value || *end != '\0' || frames < 1 || frames > MOST_FRAMES)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--stacks=%s: how many frames, 1 to %d", value, MOST_FRAMES);
      return FALSE;
    }
  *depth = (int) frames;
  return TRUE;
}

void
gemem_launcher_name_depth (int count, char **arguments, const char *const *valued)
{
  static char written_out[] = "--stacks=" G_STRINGIFY (GEMEM_LAUNCHER_FRAMES);
  for (int i = 1; i < count && arguments[i][0] == '-'; i++)
    if (strcmp (arguments[i], "--stacks") == 0)
      arguments[i] = written_out;
    else if (g_strv_contains (valued, arguments[i]))
      i++;
}

gboolean
gemem_launcher_parse (const GOptionEntry *entries, const char *usage, const char *summary,
                      int *count, char ***arguments, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (usage);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_strict_posix (context, TRUE);
  g_option_context_set_summary (context, summary);
  if (!g_option_context_parse (context, count, arguments, error))
    return FALSE;
  if (*count > 1 && strcmp ((*arguments)[1], "--") == 0)
    {
      ++*arguments;
      --*count;
    }
  return TRUE;
}

/* ---- the program */

char *
gemem_launcher_find (const char *name, const char *installed)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = self != NULL ? g_path_get_dirname (self) : g_strdup (".");
  g_autofree char *built = g_build_filename (folder, name, NULL);
  g_autofree char *there = g_build_filename (installed, name, NULL);

  return g_file_test (built, G_FILE_TEST_EXISTS)   ? g_steal_pointer (&built)
         : g_file_test (there, G_FILE_TEST_EXISTS) ? g_steal_pointer (&there)
                                                   : NULL;
}

char *
gemem_launcher_list_path (char *path, char **links, GError **error)
{
  char *link;

  if (strpbrk (path, " :") == NULL)
    return path;
  if (*links == NULL && (*links = g_dir_make_tmp ("gemem-XXXXXX", error)) == NULL)
    {
      g_free (path);
      return NULL;
    }
  g_autofree char *target = path, *name = g_path_get_basename (target);
  link = g_build_filename (*links, name, NULL);
  if (strpbrk (link, " :") == NULL && (symlink (target, link) == 0 || errno == EEXIST))
    return link;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               "%s: the loader reads no such names in lists; let $TMPDIR name a folder that can be "
               "written, without blanks and colons",
               target);
  g_free (link);
  return NULL;
}

static gboolean
is_no_link (G_GNUC_UNUSED const char *name, mode_t mode)
{
  return !S_ISLNK (mode);
}

void
gemem_launcher_remove_links (char *links)
{
  if (links != NULL)
    gemem_folder_remove (links, is_no_link);
  g_free (links);
}

const char *
gemem_launcher_privileged (const char *path)
{
  struct stat facts;
  struct statvfs mount;

  if (stat (path, &facts) != 0 || prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
      || (statvfs (path, &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0))
    return NULL;
  if ((facts.st_mode & S_ISUID) != 0 && facts.st_uid != getuid ())
    return "it runs with the rights of its owner (setuid); run a copy without that bit";
  if ((facts.st_mode & S_ISGID) != 0 && (facts.st_mode & S_IXGRP) != 0 && facts.st_gid != getgid ())
    return "it runs with the rights of its group (setgid); run a copy without that bit";
  if (getuid () != 0 && getxattr (path, "security.capability", NULL, 0) > 0)
    return "its file gives it capabilities; run a copy, which has none";
  return NULL;
}

char **
gemem_launcher_preload (char **environment, const char *library)
{
  const char *preloaded = g_environ_getenv (environment, "LD_PRELOAD");
  g_autofree char *both = preloaded != NULL && *preloaded != '\0'
                              ? g_strconcat (library, ":", preloaded, NULL)
                              : g_strdup (library);
  return g_environ_setenv (environment, "LD_PRELOAD", both, TRUE);
}

char **
gemem_launcher_record (char **environment, const char *folder, int stacks)
{
  environment = g_environ_setenv (environment, GEMEM_ENV_JOURNALS, folder, TRUE);
  if (stacks == 0)
    return g_environ_unsetenv (environment, GEMEM_ENV_RECORD_STACKS);
  g_autofree char *depth = g_strdup_printf ("%d", stacks);
  return g_environ_setenv (environment, GEMEM_ENV_RECORD_STACKS, depth, TRUE);
}

static const int signals[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT };
static struct sigaction actions[G_N_ELEMENTS (signals)]; /* before the first run */
static volatile sig_atomic_t child, aside, stopped;

#define GRACE 10    /* seconds from the signal that asks a program to end to the one that ends it */
#define PATIENCE 60 /* the same for a program that ends as it should, and may have much to write */
#define TICKS 10    /* a second: how often it is asked whether a run is over */

/* Forwards a signal to the program; those of the terminal reach it directly, but aside, in a
 * process group of its own. */
static void
pass_on (int number)
{
  if (number != SIGUSR1 && number != SIGUSR2)
    stopped = number;
  if (child > 0 && (aside || (number != SIGINT && number != SIGQUIT)))
    kill (aside ? (pid_t) -child : (pid_t) child, number);
}

/* The time of a run aside is over: asks it to end, then ends it. */
static void
end_aside (G_GNUC_UNUSED int number)
{
  if (child > 0)
    kill ((pid_t) -child, aside == 1 ? SIGTERM : SIGKILL);
  aside = 2;
  alarm (GRACE);
}

/* Lets signals not end this process, which has to make traces of what the program leaves. */
static void
set_signals (void)
{
  static gboolean done;
  const struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };

  for (guint i = 0; i < G_N_ELEMENTS (signals) && !done; i++)
    sigaction (signals[i], &action, &actions[i]);
  done = TRUE;
}

int
gemem_launcher_stopped (void)
{
  return stopped;
}

/* In the program: a process group without the standard streams of this one. */
static void
step_aside (const GememLauncherWatch *watch)
{
  const int nowhere = open ("/dev/null", O_RDWR | O_CLOEXEC);

  setpgid (0, 0);
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO && nowhere >= 0; stream++)
    dup2 (nowhere, stream);
  if (watch->over != NULL)
    {
      dup2 (watch->out, STDOUT_FILENO);
      dup2 (watch->err, STDERR_FILENO);
    }
}

/* TRUE: process @pid has ended, and *@status says how. */
static gboolean
has_ended (pid_t pid, int *status)
{
  const pid_t got = waitpid (pid, status, WNOHANG);
  return got == pid || (got < 0 && errno != EINTR);
}

/* Waits up to @most for what the program started, which this process has adopted: it may write its recording yet. */
static void
wait_for_group (pid_t pid, gint64 most)
{
  int status;

  for (; g_get_monotonic_time () < most && kill (-pid, 0) == 0; g_usleep (G_USEC_PER_SEC / TICKS))
    while (waitpid (-1, &status, WNOHANG) > 0)
      ;
}

/* Waits for the program, which ends when @watch says so. */
static int
wait_until_over (pid_t pid, const GememLauncherWatch *watch)
{
  gboolean asked = FALSE;
  int status = 0;

  while (!has_ended (pid, &status))
    {
      if (!asked && watch->over (watch->data))
        {
          asked = TRUE;
          kill (-pid, SIGTERM);
          aside = 2;
          alarm (PATIENCE);
        }
      g_usleep (G_USEC_PER_SEC / TICKS);
    }
  watch->over (watch->data);
  wait_for_group (pid, g_get_monotonic_time () + PATIENCE * G_USEC_PER_SEC);
  return status;
}

int
gemem_launcher_run (char **arguments, char **environment, const GememLauncherWatch *watch,
                    pid_t *pid)
{
  const guint limit = watch != NULL ? watch->limit : 0;
  const gboolean apart = watch != NULL && (limit > 0 || watch->over != NULL);
  const struct sigaction over = { .sa_handler = end_aside, .sa_flags = SA_RESTART };
  sigset_t all, before;
  int status = 0;

  sigfillset (&all);
  sigprocmask (SIG_BLOCK, &all, &before);
  set_signals ();
  if (watch != NULL && watch->over != NULL)
    prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* to see when all of the group have ended */
  *pid = fork ();
  if (*pid == 0)
    {
      for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
        sigaction (signals[i], &actions[i], NULL);
      sigaction (SIGXFSZ, &file_size, NULL);
      sigprocmask (SIG_SETMASK, &before, NULL);
      if (apart)
        step_aside (watch);
      environ = environment;
      execvp (arguments[0], arguments);
      int problem = errno;
      gemem_launcher_say ("%s: %s%s", arguments[0], g_strerror (problem),
                          problem == ENOENT && access (arguments[0], F_OK) == 0
                              ? ": what its first line, or its ELF header, names to run it"
                              : "");
      _exit (problem == ENOENT ? GEMEM_LAUNCHER_NOT_FOUND : GEMEM_LAUNCHER_CANNOT_RUN);
    }
  child = *pid;
  aside = apart;
  if (*pid > 0 && apart)
    {
      setpgid (*pid, *pid); /* whichever of the two is first */
      sigaction (SIGALRM, &over, NULL);
      alarm (limit);
    }
  sigprocmask (SIG_SETMASK, &before, NULL);
  if (*pid < 0)
    {
      gemem_launcher_say ("%s: %s", arguments[0], g_strerror (errno));
      return GEMEM_LAUNCHER_CANNOT_RUN;
    }
  if (watch != NULL && watch->over != NULL)
    status = wait_until_over (*pid, watch);
  else
    while (waitpid (*pid, &status, 0) < 0 && errno == EINTR)
      ;
  child = 0;
  if (apart)
    {
      alarm (0);
      kill (-*pid, SIGKILL);
    }
  ended = WIFSIGNALED (status) ? 128 + WTERMSIG (status) : WEXITSTATUS (status);
  return ended;
}

char *
gemem_launcher_ended (int status)
{
  return status > 128 ? g_strdup_printf ("signal %d", status - 128)
                      : g_strdup_printf ("exit status %d", status);
}

/* ---- what it leaves */

static void
journal_free (gpointer data)
{
  GememJournal *journal = data;
  g_free (journal->path);
  g_free (journal);
}

static gint
compare_journals (gconstpointer a, gconstpointer b)
{
  const GememJournal *x = *(GememJournal *const *) a, *y = *(GememJournal *const *) b;
  return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
                          : (x->part > y->part) - (x->part < y->part);
}

gboolean
gemem_launcher_finds (const GememFolder *folder)
{
  const gboolean there = gemem_folder_stands (folder);

  if (!there)
    gemem_launcher_say (
        "%s: it was moved or replaced while the program ran, so its recordings are lost",
        folder->path);
  return there;
}

gboolean
gemem_launcher_is_recording (const char *name, mode_t mode)
{
  return S_ISREG (mode) && (g_str_has_suffix (name, ".gmj") || g_str_has_suffix (name, ".pickle"));
}

/* Reads a number without sign from *@text on; 0: there is none. */
static gint64
read_number (const char **text)
{
  char *end;
  const gboolean digit = g_ascii_isdigit (**text);
  const gint64 number = g_ascii_strtoll (*text, &end, 10);

  *text = end;
  return digit ? number : 0;
}

/* "12.gmj", "12-3.gmj"; FALSE: @name is something else, which the program put there. */
static gboolean
read_name (const char *name, const char *suffix, GememJournal *journal)
{
  journal->pid = read_number (&name);
  journal->part = 1;
  if (*name == '-')
    {
      name++;
      journal->part = read_number (&name);
    }
  return journal->pid > 0 && journal->pid <= G_MAXINT32 && journal->part > 0
         && strcmp (name, suffix) == 0;
}

GPtrArray *
gemem_launcher_journals (const GememFolder *folder, const char *suffix)
{
  GPtrArray *journals = g_ptr_array_new_with_free_func (journal_free);
  g_autoptr (GDir) dir = gemem_folder_stands (folder) ? g_dir_open (folder->path, 0, NULL) : NULL;
  GememJournal found = { .folder = folder };
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (read_name (name, suffix, &found) && gemem_folder_has (folder, name))
      {
        found.path = g_build_filename (folder->path, name, NULL);
        g_ptr_array_add (journals, g_memdup2 (&found, sizeof found));
      }
  g_ptr_array_sort (journals, compare_journals);
  return journals;
}

const GememJournal *
gemem_launcher_main (const GPtrArray *journals, pid_t pid)
{
  const GememJournal *chosen = journals->len > 0 ? journals->pdata[0] : NULL;
  for (guint i = 0; i < journals->len; i++)
    if (((const GememJournal *) journals->pdata[i])->pid == pid)
      chosen = journals->pdata[i];
  return chosen;
}

char *
gemem_launcher_beside (const char *output, const char *tag)
{
  gsize length = g_str_has_suffix (output, ".gmt") ? strlen (output) - 4 : strlen (output);
  return g_strdup_printf ("%.*s.%s.gmt", (int) length, output, tag);
}

char *
gemem_launcher_output (const char *output, const GememJournal *journal)
{
  g_autofree char *part = journal->part > 1 ? g_strdup_printf ("-%" G_GINT64_FORMAT, journal->part)
                                            : g_strdup ("");
  g_autofree char *tag = g_strdup_printf ("%" G_GINT64_FORMAT "%s", journal->pid, part);
  return gemem_launcher_beside (output, tag);
}

gboolean
gemem_launcher_keeps (const char *path)
{
  struct stat facts;

  return stat (path, &facts) == 0 && S_ISREG (facts.st_mode) && facts.st_size > 0;
}

gboolean
gemem_launcher_still_runs (const GememJournal *journal, pid_t pid)
{
  return journal->pid != pid && kill ((pid_t) journal->pid, 0) == 0;
}

GememTraceReader *
gemem_launcher_open (const GememJournal *journal, const GememLaunchFacts *facts, GError **error)
{
  GememReadOptions options = { .allow_partial = TRUE,
                               .device = -1,
                               .torch = facts->torch,
                               .calls_only = facts->calls_only,
                               .memory = facts->memory,
                               .managed_on_host = facts->managed_on_host,
                               .never_refused = facts->never_refused };
  g_autoptr (GBytes) nothing = g_bytes_new_static ("# gemem-trace: 1\n# end: 0\n", 26);
  GememTraceReader *reader;

  if (journal != NULL)
    reader = gemem_trace_open (journal->path, facts->format, &options, error);
  else
    reader = gemem_trace_open_input (gemem_input_new_from_bytes (nothing, "nothing"), "text",
                                     &options, error);
  if (reader != NULL)
    gemem_trace_info_note (&reader->info, "recorder", "%s %s", launcher, PACKAGE_VERSION);
  if (reader != NULL && facts->device != NULL)
    {
      g_free (reader->info.device);
      reader->info.device = g_strdup (facts->device);
    }
  if (reader != NULL && facts->allocator != NULL && reader->info.allocator == NULL)
    {
      reader->info.allocator = g_strdup (facts->allocator);
      reader->info.settings = g_strdup (facts->settings);
    }
  if (reader != NULL && facts->framework != NULL)
    gemem_trace_info_note (&reader->info, GEMEM_TRACE_FRAMEWORK, "%s", facts->framework);
  if (reader != NULL && facts->ended != NULL)
    gemem_trace_info_note (&reader->info, "ended", "%s", facts->ended);
  if (reader != NULL && facts->host != NULL)
    gemem_trace_info_note (&reader->info, GEMEM_TRACE_HOST,
                           "calls of CUDA for pinned memory, in their order, after all else");
  return reader;
}

/* The first request of a device that was served. */
typedef struct
{
  guint64 id;
  gboolean seen, left_out;
} First;

/* Whether @event is to be left out by facts->left_out. */
static gboolean
is_left_out (First *devices, const GememTraceEvent *event, guint64 size)
{
  First *first = &devices[MIN (event->device, JOURNAL_MAX_DEVICES)];

  if (event->device == GEMEM_DEVICE_HOST)
    return FALSE;
  if (event->kind == GEMEM_EVENT_FREE)
    return first->left_out && event->id == first->id;
  if (event->kind == GEMEM_EVENT_OOM)
    return !first->seen && event->size == size;
  if (first->seen || event->kind != GEMEM_EVENT_ALLOC)
    return FALSE;
  *first = (First){ .seen = TRUE, .id = event->id, .left_out = event->size == size };
  return first->left_out;
}

/* Writes the calls in @journal for pinned memory of the host, all at @last's time and with ids from above @last's. */
static gboolean
write_host (GememTraceWriter *writer, const GememJournal *journal, const GememTraceEvent *last,
            GError **error)
{
  const GememLaunchFacts facts = { .format = "journal", .calls_only = TRUE };
  g_autoptr (GememTraceReader) reader = gemem_launcher_open (journal, &facts, error);
  const GememTraceEvent *events;
  gssize n = -1;

  while (reader != NULL && (n = gemem_trace_next (reader, &events, error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        const GememTraceEvent event = { .kind = events[i].kind,
                                        .device = GEMEM_DEVICE_HOST,
                                        .time = last->time,
                                        .id = last->id + 1 + events[i].id,
                                        .size = events[i].size };

        if (events[i].device == GEMEM_DEVICE_HOST
            && (event.kind == GEMEM_EVENT_ALLOC || event.kind == GEMEM_EVENT_FREE)
            && !writer->write (writer, &event, 1, error))
          return FALSE;
      }
  return n == 0;
}

/* Writes the events of @reader to @path, as @facts say.  *@count: of them, without those of the host. */
static gboolean
copy (GememTraceReader *reader, const GememLaunchFacts *facts, const char *path, guint64 *count,
      GError **error)
{
  GememTraceWriter *writer = gemem_trace_create (path, "native", &reader->info, error);
  g_autoptr (GArray) kept = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  First devices[JOURNAL_MAX_DEVICES + 1] = { 0 };
  GememTraceEvent last = { 0 };
  const GememTraceEvent *events;
  gssize n;

  if (writer == NULL)
    return FALSE;
  unfinished = writer;
  *count = 0;
  while ((n = gemem_trace_next (reader, &events, error)) > 0)
    {
      g_array_set_size (kept, 0);
      for (gssize i = 0; i < n; i++)
        {
          if (facts->left_out == 0 || !is_left_out (devices, &events[i], facts->left_out))
            g_array_append_val (kept, events[i]);
          last.time = events[i].time;
          last.id = events[i].id != GEMEM_REFUSED_ID ? MAX (last.id, events[i].id) : last.id;
        }
      if (!writer->write (writer, (gpointer) kept->data, kept->len, error))
        break;
      *count += kept->len;
    }
  if (n == 0 && facts->host != NULL && !write_host (writer, facts->host, &last, error))
    n = -1;
  unfinished = NULL;
  const gboolean wanted = *count > 0
                          || (facts->ended != NULL
                              && !(facts->keeps_earlier && gemem_launcher_keeps (path)));
  if (n == 0 && wanted)
    return writer->finish (writer, error);
  writer->discard (writer);
  return n == 0;
}

gboolean
gemem_launcher_copy (GememTraceReader *reader, const char *path, GError **error)
{
  const GememLaunchFacts facts = { .ended = "" }; /* one without events is written, too */
  guint64 count;

  return copy (reader, &facts, path, &count, error);
}

gboolean
gemem_launcher_convert (const GememJournal *journal, const GememLaunchFacts *facts,
                        const char *path, guint64 *count)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememTraceReader) reader = gemem_launcher_open (journal, facts, &error);

  if (reader == NULL || !copy (reader, facts, path, count, &error))
    {
      gemem_launcher_say ("%s%s%s", error->message,
                          journal != NULL ? "; the recording is still in " : "",
                          journal != NULL ? journal->path : "");
      return FALSE;
    }
  if ((reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0)
    gemem_launcher_say ("%s: calls are missing, which could not be recorded; was the disk full?",
                        path);
  if (journal != NULL)
    gemem_folder_unlink (journal->folder, journal->path);
  return TRUE;
}
