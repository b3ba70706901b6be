/* sweep-programs.c - the programs of a sweep: each is run once under gemem-dry-run, and what it did is kept
 * beside the database.
 *
 * Why files: a run that goes on, and another task on the same disk, find the same bytes, and so the same
 * runs; who wants to look at a program opens them.
 *
 * Invariants: of a program there is its recording, or the reason why there is none (.failed), or neither,
 * if nobody ran it or the run was interrupted.  Whoever runs it holds a lock of its log, so that no two
 * do.  The program and all it starts end with the sweep.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/cli/sweep.h"
#include "sim/report/report.h"

#define LOOK_US 20000   /* how often an interruption is looked for */
#define PATIENCE 20     /* such looks, from SIGTERM to SIGKILL */
#define NAME_MOST 48    /* characters of a program in the name of its file */
#define TAIL_BYTES 4096 /* of a log, where its last line is looked for */

char *
gemem_sweep_recording (const char *folder, const char *program)
{
  g_autofree char *name = g_strndup (program, NAME_MOST),
                  *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, program, -1);

  g_strcanon (name, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_=", '-');
  return g_strdup_printf ("%s/%s.%.12s.gmt", folder, name + strspn (name, "-"), hash);
}

/* The file beside @recording that ends in @extension. */
static char *
beside (const char *recording, const char *extension)
{
  g_autofree char *stem = g_strndup (recording, strlen (recording) - strlen (".gmt"));

  return g_strconcat (stem, extension, NULL);
}

static gboolean
is_interrupted (void)
{
  return g_atomic_int_get (&gemem_interrupted) != 0;
}

static gboolean
interrupted (GError **error)
{
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED, "interrupted");
  return FALSE;
}

/* The log, locked; -1 with @error. */
static int
lock_log (const char *path, GError **error)
{
  const int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

  if (fd < 0)
    {
      gemem_error_set_errno (error, errno, path, "choose another folder with --recordings");
      return -1;
    }
  while (flock (fd, LOCK_EX | LOCK_NB) != 0)
    {
      if (!is_interrupted ())
        {
          g_usleep (LOOK_US); /* another task runs the program */
          continue;
        }
      close (fd);
      interrupted (error);
      return -1;
    }
  return fd;
}

/* In the child: a group of its own, which ends with the thread that waits for it. */
static void
set_up (gpointer data G_GNUC_UNUSED)
{
  setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGTERM);
}

/* The wait status of @argv, whose outputs go to the end of the file @log; -1 with @error. */
static int
run_to_end (const char *const *argv, const char *log, GError **error)
{
  const int out = open (log, O_WRONLY | O_APPEND | O_CLOEXEC);
  g_autoptr (GError) cause = NULL;
  int status = -1;
  guint looks = 0;
  GPid pid;

  if (out < 0)
    {
      gemem_error_set_errno (error, errno, log, "choose another folder with --recordings");
      return -1;
    }
  const gboolean started = g_spawn_async_with_fds (NULL, (char **) argv, NULL,
                                                   G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD,
                                                   set_up, NULL, &pid, -1, out, out, &cause);
  close (out);
  if (!started)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s; programs are run by gemem-dry-run",
                   cause->message);
      return -1;
    }
  while (waitpid (pid, &status, WNOHANG) == 0)
    {
      if (is_interrupted () && looks++ % PATIENCE == 0)
        kill (-pid, looks == 1 ? SIGTERM : SIGKILL);
      g_usleep (LOOK_US);
    }
  return status;
}

/* The last line that the program itself wrote to the log @fd; "": none is found.  What gemem-dry-run
 * says behind it is indented.  g_free(). */
static char *
last_line (int fd)
{
  char bytes[TAIL_BYTES + 1];
  const off_t size = lseek (fd, 0, SEEK_END);
  const gssize n = size > 0 ? pread (fd, bytes, TAIL_BYTES, MAX (size - TAIL_BYTES, 0)) : 0;
  g_auto (GStrv) lines = NULL;
  guint i;

  bytes[MAX (n, 0)] = '\0';
  lines = g_strsplit (bytes, "\n", -1);
  for (i = g_strv_length (lines); i > 0 && (*lines[i - 1] == ' ' || *lines[i - 1] == '\0'); i--)
    ;
  return gemem_text_line (i > 0 ? lines[i - 1] : "");
}

/* Why a program that ended with @status failed; NULL: it did not. */
static char *
failure_of (int status, int log, const char *recording)
{
  g_autofree char *line = last_line (log);
  const char *colon = *line != '\0' ? ": " : "";

  if (WIFSIGNALED (status))
    return g_strdup_printf ("the program was ended by signal %d%s%s", WTERMSIG (status), colon,
                            line);
  if (WEXITSTATUS (status) != 0)
    return g_strdup_printf ("the program ended with status %d%s%s", WEXITSTATUS (status), colon,
                            line);
  if (!g_file_test (recording, G_FILE_TEST_EXISTS))
    return g_strdup ("the program left no recording of one process; leave -o to the sweep");
  return NULL;
}

/* With the lock @log. */
static gboolean
record (const char *program, const char *recording, int log, char **failure, GError **error)
{
  g_autofree char *part = beside (recording, ".part.gmt"), *failed = beside (recording, ".failed"),
                  *path = beside (recording, ".log");
  g_auto (GStrv) words = NULL;
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  int status;

  if (!g_shell_parse_argv (program, NULL, &words, error))
    return FALSE;
  g_ptr_array_add (argv, (char *) "gemem-dry-run");
  g_ptr_array_add (argv, (char *) "-o");
  g_ptr_array_add (argv, part);
  for (char **word = words; *word != NULL; word++)
    g_ptr_array_add (argv, *word);
  g_ptr_array_add (argv, NULL);
  unlink (part);
  if (ftruncate (log, 0) != 0)
    {
      gemem_error_set_errno (error, errno, path, NULL);
      return FALSE;
    }
  status = run_to_end ((const char *const *) argv->pdata, path, error);
  if (status < 0)
    return FALSE;
  if (is_interrupted ())
    return interrupted (error);
  *failure = failure_of (status, log, part);
  if (*failure != NULL)
    return gemem_write_file (failed, *failure, -1, error);
  if (rename (part, recording) == 0)
    return TRUE;
  gemem_error_set_errno (error, errno, recording, "choose another folder with --recordings");
  return FALSE;
}

gboolean
gemem_sweep_was_recorded (const char *recording, char **failure)
{
  g_autofree char *failed = beside (recording, ".failed");

  return g_file_test (recording, G_FILE_TEST_EXISTS)
         || g_file_get_contents (failed, failure, NULL, NULL);
}

gboolean
gemem_sweep_record (const char *program, const char *recording, char **failure, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (recording), *log = beside (recording, ".log");
  gboolean ok;
  int fd;

  if (gemem_sweep_was_recorded (recording, failure))
    return TRUE;
  if (!gemem_make_folder (folder, error) || (fd = lock_log (log, error)) < 0)
    return FALSE;
  ok = gemem_sweep_was_recorded (recording, failure) /* by who held the lock */
       || record (program, recording, fd, failure, error);
  close (fd);
  return ok;
}
