/* commands.c - the table of subcommands, made from commands.def.
 *
 * The command help describes the table that contains it: this file and help.c depend on each other,
 * no other file on both.
 */
#include "config.h"

#include "sim/cli/commands.h"

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
                 *name == '-' ? "unknown option '%s'; 'gemem-sim help' lists the commands"
                              : "unknown command '%s', and no such file; 'gemem-sim help' lists "
                                "the commands",
                 name);
  return NULL;
}
