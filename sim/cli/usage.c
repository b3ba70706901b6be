/* usage.c - the list of subcommands, and the options of one, for people. */
#include "config.h"

#include <string.h>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"

static void
append_entries (GString *out, const GOptionEntry *entries)
{
  for (; entries->long_name != NULL; entries++)
    {
      g_autofree char *left = NULL;
      const char *argument = entries->arg_description;
      const gboolean optional = (entries->flags & G_OPTION_FLAG_OPTIONAL_ARG) != 0;
      g_autofree char *value = argument == NULL ? g_strdup ("")
                                                : g_strconcat (optional ? "[=" : "=", argument,
                                                               optional ? "]" : NULL, NULL);
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
  g_string_append_printf (out, "Usage: " GEMEM_PROGRAM " %s [OPTION]...%s%s\n\n%s.\n",
                          command->name, *command->synopsis != '\0' ? " " : "", command->synopsis,
                          command->summary);
  if (command->description != NULL)
    g_string_append_printf (out, "\n%s\n", command->description);
  g_string_append (out, "\nOptions:\n");
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    append_entries (out, *list);
  append_entries (out, gemem_common_entries);
  if (command->examples != NULL)
    g_string_append_printf (out, "\nExamples:\n%s", command->examples);
  return g_string_free (out, FALSE);
}

char *
gemem_overview (const GememCommand *const *commands)
{
  GString *out = g_string_new ("Usage: " GEMEM_PROGRAM " FILE...\n"
                               "       " GEMEM_PROGRAM " COMMAND [OPTION]... [ARGUMENT]...\n\n"
                               "Replays memory workloads through device-memory allocators and "
                               "reports peak, fragmentation and latency.\n\n"
                               "Commands:\n");
  for (; *commands != NULL; commands++)
    g_string_append_printf (out, "  %-10s  %s\n", (*commands)->name, (*commands)->summary);
  g_string_append (out, "\n'" GEMEM_PROGRAM " help COMMAND' explains a command, '" GEMEM_PROGRAM
                        " help ALLOCATOR' its parameters.\n");
  return g_string_free (out, FALSE);
}
