/* main.c - gemem-sim: finds the subcommand, parses its options, runs it, and turns an error into a
 * message and an exit status.
 *
 * Subcommands are in commands.def, options in their structs.  All errors are printed by this file
 * and output.c.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocators/allocator.h"
#include "base/no-memory.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"

/* Runs @command with argv[0] = its name. */
static int
run_command (const GememCommand *command, int argc, char **argv, GError **error)
{
  gboolean show_help = FALSE;
  g_auto (GStrv) words = gemem_parse_options (command, argc, argv, &show_help, error);
  if (words == NULL)
    return 2;
  if (show_help)
    {
      g_autofree char *text = gemem_command_usage (command);
      return gemem_put (NULL, text, strlen (text), error) ? 0 : 1;
    }
  return command->run (words + (words[1] != NULL && strcmp (words[1], "--") == 0 ? 2 : 1), error);
}

/* For the completions of shells: status 1 if nothing can follow. */
static int
put_candidates (int n, char **words, GError **error)
{
  gboolean files = FALSE;
  g_autofree char *text = n > 0 ? gemem_complete ((const char *const *) words, &files)
                                : g_strdup ("");
  return gemem_put (NULL, text, strlen (text), error) && (*text != '\0' || files) ? 0 : 1;
}

/* TRUE if the words begin with a file, or options and a file, instead of a command: the answer about it
 * is asked for. */
static gboolean
names_a_file (int argc, char **argv)
{
  gboolean any = argc > 2 && strcmp (argv[1], "--") == 0;

  for (int i = 1; i < argc; i++)
    {
      const gboolean option = argv[i][0] == '-' && argv[i][1] != '\0';

      if (!option && g_file_test (argv[i], G_FILE_TEST_EXISTS))
        any = TRUE;
      else if (i == 1 && !option)
        return strpbrk (argv[i], "/.#") != NULL || strcmp (argv[i], "-") == 0;
    }
  return any;
}

/* The command among words that begin with an option: none may stand before it; NULL. */
static const GememCommand *
command_behind (int argc, char **argv)
{
  const GememCommand *command = NULL;

  for (int i = 2; argv[1][0] == '-' && i < argc && command == NULL; i++)
    if (!g_file_test (argv[i], G_FILE_TEST_EXISTS))
      command = gemem_command_find (argv[i], NULL);
  return command;
}

static int
dispatch (int argc, char **argv, GError **error)
{
  const char *name = argc > 1 ? argv[1] : NULL;
  int before = 1; /* words before the one that stands for the name of the command */
  if (name == NULL || strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0)
    {
      g_autofree char *text = gemem_overview (gemem_commands ());
      if (name == NULL)
        {
          g_printerr ("%s", text);
          return 2;
        }
      return gemem_put (NULL, text, strlen (text), error) ? 0 : 1;
    }
  if (strcmp (name, "--version") == 0 || strcmp (name, "-V") == 0)
    name = "version";
  const gboolean complete = strcmp (name, "--complete") == 0;
  const GememCommand *command = complete ? NULL : gemem_command_find (name, NULL);
  if (command == NULL && !complete && names_a_file (argc, argv))
    {
      const GememCommand *behind = command_behind (argc, argv);

      if (behind != NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "%s stands before the command; write gemem-sim %s %s ...", name,
                       behind->name, name);
          return 2;
        }
      command = gemem_command_find ("advise", NULL);
      before = 0;
    }
  if (command == NULL && !complete)
    {
      gemem_command_find (name, error);
      return 2;
    }
  g_auto (GStrv) skipped = gemem_allocator_load_plugins (g_getenv ("GEMEM_PLUGIN_PATH"));
  for (guint i = 0; skipped != NULL && skipped[i] != NULL; i++)
    gemem_warn ("%s; it is skipped", skipped[i]);
  return complete ? put_candidates (argc - 2, argv + 2, error)
                  : run_command (command, argc - before, argv + before, error);
}

/* Opens a failing descriptor for a closed standard stream: otherwise the next opened file would get
 * its number, and its output. */
static void
hold_standard_streams (void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl (fd, F_GETFD) == -1
        && open ("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
      _exit (1);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  hold_standard_streams ();
  signal (SIGXFSZ, SIG_IGN); /* a file size limit then is an error that names the file */
  setlocale (LC_ALL, "");
#if GLIB_CHECK_VERSION(2, 68, 0)
  g_log_writer_default_set_use_stderr (TRUE); /* G_MESSAGES_DEBUG must not write into a report */
#endif
  gemem_catch_no_memory ();
  int status = dispatch (argc, argv, &error);
  gemem_progress_end ();
  if (error != NULL)
    {
      gemem_print_error (error);
      status = gemem_error_exit_status (error);
    }
  if ((fflush (stdout) != 0 || ferror (stdout)) && status == 0)
    {
      g_autoptr (GError) full = NULL;
      gemem_error_set_errno (&full, errno, "standard output",
                             "nothing after this point was written");
      gemem_print_error (full);
      status = 1;
    }
  return status;
}
