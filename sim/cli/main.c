/* main.c - gemem-sim: finds the subcommand, parses its options, runs it, and turns what happened into a message and an exit status.
 *
 * Nothing is decided here: subcommands are in commands.def, options in their structs.  All printing of errors is in this file and output.c.
 */
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "allocators/allocator.h"
#include "sim/cli/cli.h"
#include "sim/core/params.h"

#define GEMEM_COMMAND(symbol, file) extern const GememCommand symbol;
#include "sim/cli/commands.def"
#undef GEMEM_COMMAND

static const GememCommand *const commands[] = {
#define GEMEM_COMMAND(symbol, file) &symbol,
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
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown command '%s'; did you mean '%s'?", name, near);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown command '%s'; 'gemem-sim help' lists the commands", name);
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
                          command->options[0] != NULL ? " [OPTION]..." : "", *command->synopsis != '\0' ? " " : "",
                          command->synopsis, command->summary);
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
                               "Replays memory workloads through device-memory allocators and reports peak, fragmentation and latency.\n\n"
                               "Commands:\n");
  for (gsize i = 0; commands[i] != NULL; i++)
    g_string_append_printf (out, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
  g_string_append (out, "\n'" GEMEM_PROGRAM " help COMMAND' explains a command, '" GEMEM_PROGRAM " help ALLOCATOR' its parameters.\n");
  return g_string_free (out, FALSE);
}

/* TRUE if @letter is a short option of @command that takes a value. */
static gboolean
takes_value (const GememCommand *command, char letter)
{
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
      if (entry->short_name == letter)
        return entry->arg != G_OPTION_ARG_NONE;
  return FALSE;
}

/* "-j4" becomes "-j" "4", which GOption understands.  The words belong to the caller (g_strfreev). */
static char **
separate_values (const GememCommand *command, int argc, char **argv)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  gboolean options = TRUE;
  for (int i = 0; i < argc; i++)
    {
      const char *word = argv[i];
      options = options && strcmp (word, "--") != 0;
      if (i > 0 && options && word[0] == '-' && word[1] != '-' && word[1] != '\0' && word[2] != '\0' && takes_value (command, word[1]))
        {
          g_ptr_array_add (words, g_strndup (word, 2));
          g_ptr_array_add (words, g_strdup (word + 2));
        }
      else
        g_ptr_array_add (words, g_strdup (word));
    }
  g_ptr_array_add (words, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&words), FALSE);
}

/* "Unknown option --foo" gets the nearest known one. */
static void
suggest_option (const GememCommand *command, GError *parse_error, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
      g_ptr_array_add (names, (gpointer) entry->long_name);
  g_ptr_array_add (names, NULL);

  g_auto (GStrv) opened = g_strsplit (parse_error->message, "\u201c", -1);
  g_autofree char *half = g_strjoinv ("'", opened);
  g_auto (GStrv) closed = g_strsplit (half, "\u201d", -1);
  g_autofree char *message = g_strjoinv ("'", closed);
  const char *dashes = strstr (message, "--");
  if (g_error_matches (parse_error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) && dashes != NULL)
    {
      g_autofree char *word = g_strndup (dashes + 2, strcspn (dashes + 2, "= "));
      const char *near = gemem_suggest (word, (const char *const *) names->pdata);
      if (near != NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: unknown option --%s; did you mean --%s?", command->name, word, near);
          return;
        }
    }
  message[0] = g_ascii_tolower (message[0]);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: %s; 'gemem-sim help %s' lists the options", command->name, message, command->name);
}

static gboolean show_help;
static const GOptionEntry help_entries[] = { { "help", 'h', 0, G_OPTION_ARG_NONE, &show_help, "Explain the command", NULL }, { NULL } };

/* Runs @command with argv[0] = its name. */
static int
run_command (const GememCommand *command, int argc, char **argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) parse_error = NULL;
  g_auto (GStrv) words = separate_values (command, argc, argv);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_add_main_entries (context, help_entries, NULL);
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    g_option_context_add_main_entries (context, *list, NULL);
  if (!g_option_context_parse_strv (context, &words, &parse_error))
    {
      suggest_option (command, parse_error, error);
      return 2;
    }
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

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
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
      gemem_error_set_errno (&full, errno, "standard output", "nothing after this point was written");
      gemem_print_error (full);
      status = 1;
    }
  return status;
}
