/* main.c - gemem-sim: finds the subcommand, parses its options, runs it, and turns what happened
 * into a message and an exit status.
 *
 * Nothing is decided here: subcommands are in commands.def, options in their structs.  All printing
 * of errors is in this file and output.c.
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
#include "base/params.h"
#include "sim/cli/cli.h"

#define GEMEM_COMMAND(symbol) extern const GememCommand symbol;
#include "sim/cli/commands.def"
#undef GEMEM_COMMAND

static const GememCommand *const commands[] = {
#define GEMEM_COMMAND(symbol) &symbol,
#include "sim/cli/commands.def"
#undef GEMEM_COMMAND
  NULL
};

const GememCommand *const *
gemem_commands (void)
{
  return commands;
}

const GememCommand *
gemem_command_find (const char *name, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (gsize i = 0; commands[i] != NULL; i++)
    {
      if (gemem_name_equal (commands[i]->name, name))
        return commands[i];
      g_ptr_array_add (names, (gpointer) commands[i]->name);
    }
  g_ptr_array_add (names, NULL);
  const char *near = gemem_suggest (name, (const char *const *) names->pdata);
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown command '%s'; did you mean '%s'?",
                 name, near);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "unknown command '%s'; 'gemem-sim help' lists the commands", name);
  return NULL;
}

static void
append_entries (GString *out, const GOptionEntry *entries)
{
  for (; entries->long_name != NULL; entries++)
    {
      g_autofree char *left = NULL;
      const char *argument = entries->arg_description;
      g_autofree char *value = argument != NULL ? g_strconcat ("=", argument, NULL) : g_strdup ("");
      if (entries->short_name != 0)
        left = g_strdup_printf ("-%c, --%s%s", entries->short_name, entries->long_name, value);
      else
        left = g_strdup_printf ("    --%s%s", entries->long_name, value);
      if (strlen (left) <= 28)
        g_string_append_printf (out, "  %-28s  %s\n", left, entries->description);
      else
        g_string_append_printf (out, "  %s\n  %-28s  %s\n", left, "", entries->description);
    }
}

char *
gemem_command_usage (const GememCommand *command)
{
  GString *out = g_string_new (NULL);
  g_string_append_printf (out, "Usage: " GEMEM_PROGRAM " %s%s%s%s\n\n%s.\n", command->name,
                          command->options[0] != NULL ? " [OPTION]..." : "",
                          *command->synopsis != '\0' ? " " : "", command->synopsis,
                          command->summary);
  if (command->description != NULL)
    g_string_append_printf (out, "\n%s\n", command->description);
  if (command->options[0] != NULL)
    g_string_append (out, "\nOptions:\n");
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    append_entries (out, *list);
  if (command->examples != NULL)
    g_string_append_printf (out, "\nExamples:\n%s", command->examples);
  return g_string_free (out, FALSE);
}

char *
gemem_overview (void)
{
  GString *out = g_string_new ("Usage: " GEMEM_PROGRAM " COMMAND [OPTION]... [ARGUMENT]...\n\n"
                               "Replays memory workloads through device-memory allocators and "
                               "reports peak, fragmentation and latency.\n\n"
                               "Commands:\n");
  for (gsize i = 0; commands[i] != NULL; i++)
    g_string_append_printf (out, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
  g_string_append (out, "\n'" GEMEM_PROGRAM " help COMMAND' explains a command, '" GEMEM_PROGRAM
                        " help ALLOCATOR' its parameters.\n");
  return g_string_free (out, FALSE);
}

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

static int
dispatch (int argc, char **argv, GError **error)
{
  const char *name = argc > 1 ? argv[1] : NULL;
  if (name == NULL || strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0)
    {
      g_autofree char *text = gemem_overview ();
      if (name == NULL)
        {
          g_printerr ("%s", text);
          return 2;
        }
      return gemem_put (NULL, text, strlen (text), error) ? 0 : 1;
    }
  if (strcmp (name, "--version") == 0 || strcmp (name, "-V") == 0)
    name = "version";
  const GememCommand *command = gemem_command_find (name, error);
  if (command == NULL)
    return 2;
  const char *plugins = g_getenv ("GEMEM_PLUGIN_PATH");
  if (plugins != NULL && *plugins != '\0' && !gemem_allocator_load_plugins (plugins, error))
    return 2;
  return run_command (command, argc - 1, argv + 1, error);
}

/* A standard stream that is closed gets a descriptor that fails, or the next file opened would take
 * its place and its words. */
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
  signal (SIGXFSZ, SIG_IGN); /* a file size limit is then an error with the file's name */
  setlocale (LC_ALL, "");
  int status = dispatch (argc, argv, &error);
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
