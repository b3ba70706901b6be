/* child.c - runs another program to its end; see child.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/child.h"
#include "base/io/spool.h"
#include "base/text.h"

#define LOOK_MS 50 /* how often `stop` is looked at */

enum
{
  TEXT,
  MESSAGES,
  N_OUTPUTS
};

static gboolean
is_stopped (const GememChild *child)
{
  return child->stop != NULL && g_atomic_int_get (child->stop) != 0;
}

/* A file with the child's input, since a child that ends early does not read, and writing into its
 * pipe would end this program; -1 with @error. */
static int
open_input (const GememChild *child, GError **error)
{
  const int in = gemem_spool_new (error);

  if (in < 0 || child->input == NULL
      || gemem_spool_write (in, child->input, strlen (child->input), 0))
    return in;
  gemem_error_set_errno (error, errno, g_get_tmp_dir (), "free some space, or set TMPDIR");
  close (in);
  return -1;
}

/* fds[] become the ends of the child's outputs that are read here. */
static gboolean
start (const GememChild *child, GPid *pid, int *fds, GError **error)
{
  int pipes[N_OUTPUTS][2] = { { -1, -1 }, { -1, -1 } };
  const int in = open_input (child, error);
  const gboolean started = in >= 0 && g_unix_open_pipe (pipes[TEXT], FD_CLOEXEC, error)
                           && g_unix_open_pipe (pipes[MESSAGES], FD_CLOEXEC, error)
                           && g_spawn_async_with_fds (child->folder, (char **) child->argv,
                                                      child->environment, G_SPAWN_DO_NOT_REAP_CHILD,
                                                      NULL, NULL, pid, in, pipes[TEXT][1],
                                                      pipes[MESSAGES][1], error);

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

/* Reads fds[] to their ends, or until the child is to stop, and closes them. */
static void
read_outputs (const GememChild *child, const int *fds, GString **outputs)
{
  struct pollfd polls[N_OUTPUTS] = { { fds[TEXT], POLLIN, 0 }, { fds[MESSAGES], POLLIN, 0 } };
  char bytes[4096];

  while ((polls[TEXT].fd >= 0 || polls[MESSAGES].fd >= 0) && !is_stopped (child))
    if (poll (polls, N_OUTPUTS, child->stop != NULL ? LOOK_MS : -1) > 0)
      for (guint i = 0; i < N_OUTPUTS; i++)
        if (polls[i].fd >= 0 && polls[i].revents != 0)
          {
            const gssize n = read (polls[i].fd, bytes, sizeof bytes);
            if (n > 0)
              g_string_append_len (outputs[i], bytes, n);
            else if (n == 0 || errno != EINTR)
              polls[i].fd = -1; /* poll() passes over it */
          }
  for (guint i = 0; i < N_OUTPUTS; i++)
    close (fds[i]);
}

static void
tell (const GememChild *child, GPid pid)
{
  if (child->running != NULL)
    g_atomic_int_set (child->running, pid);
}

int
gemem_child_run (const GememChild *child, GString *text, GString *messages, GError **error)
{
  GPid pid;
  int fds[N_OUTPUTS], status = -1;

  if (!start (child, &pid, fds, error))
    return -1;
  tell (child, pid);
  read_outputs (child, fds, (GString *[]){ text, messages });
  if (is_stopped (child))
    kill (pid, SIGKILL);
  tell (child, 0); /* before its number may become another process's */
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

char *
gemem_shell_word (const char *word)
{
  const gboolean plain = *word != '\0'
                         && strspn (word, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-+=:,./@%")
                                == strlen (word);
  g_autofree char *shown = gemem_text_line (word);
  if (plain)
    return g_strdup (word);
  if (strcmp (shown, word) == 0)
    return g_shell_quote (word);
  GString *quoted = g_string_new ("$'"); /* as bash and zsh read it */
  for (; *word != '\0'; word++)
    if (g_ascii_isprint (*word) && strchr ("'\\", *word) == NULL)
      g_string_append_c (quoted, *word);
    else
      g_string_append_printf (quoted, "\\%03o", (guint) (guchar) *word);
  g_string_append_c (quoted, '\'');
  return g_string_free (quoted, FALSE);
}
