/* help.c - `gemem-sim help`: everything that has a name, here or in a real system (terms.c); also
 * the man page and the completion. */
#include "config.h"

#include <string.h>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"

static gboolean want_manual, want_bash, want_zsh, want_fish;
static char *folder;

static const GOptionEntry entries[] = {
  { "man", 0, 0, G_OPTION_ARG_NONE, &want_manual,
    "Write the man page of gemem-sim, or that of NAME: a command, or one of the kinds of list",
    NULL },
  { "man-pages", 0, 0, G_OPTION_ARG_FILENAME, &folder, "Write all man pages into FOLDER",
    "FOLDER" },
  { "bash-completion", 0, 0, G_OPTION_ARG_NONE, &want_bash, "Write the completion for bash", NULL },
  { "zsh-completion", 0, 0, G_OPTION_ARG_NONE, &want_zsh, "Write the completion for zsh", NULL },
  { "fish-completion", 0, 0, G_OPTION_ARG_NONE, &want_fish, "Write the completion for fish", NULL },
  { NULL }
};

static char *
find_manual (const char *name, GError **error)
{
  char *text = gemem_manual (gemem_commands (), name);

  if (text == NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "help: '%s' has no man page of its own; 'gemem-sim help %s' explains it", name,
                 name);
  return text;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_help;
  g_autofree char *text = NULL;
  g_autofree char *name = g_strjoinv (" ", arguments); /* of several words: "external waste" */
  if (!gemem_want_arguments (&gemem_command_help, arguments, 0, G_MAXUINT, error))
    return 2;
  if ((folder != NULL) + want_manual + want_bash + want_zsh + want_fish > 1
      || (arguments[0] != NULL && !want_manual
          && ((folder != NULL) + want_bash + want_zsh + want_fish) > 0))
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                           "help: --man, --man-pages, --bash-completion, --zsh-completion and "
                           "--fish-completion exclude "
                           "each other, and all but --man a name; keep one of them");
      return 2;
    }
  if (folder != NULL)
    return gemem_manual_write (gemem_commands (), folder, error) ? 0 : 1;
  if (want_manual)
    text = find_manual (arguments[0], error);
  else if (want_bash || want_zsh || want_fish)
    text = g_strdup (gemem_completion (want_bash ? "bash" : want_zsh ? "zsh" : "fish"));
  else if (arguments[0] == NULL)
    text = gemem_overview (gemem_commands ());
  else
    text = gemem_terms_help (gemem_commands (), name, error);
  if (text == NULL)
    return 2;
  return gemem_put (NULL, text, strlen (text), error) ? 0 : 1;
}

const GememCommand gemem_command_help = {
  .name = "help",
  .synopsis = "[NAME|terms|paddle-flags]",
  .summary = "Explain a command, an allocator, a parameter, a flag, or any name of a real system",
  .description = "NAME is a command or an option, an allocator, planner, lowering, generator,\n"
                 "device or format, a parameter, environment variable or value, a measure, an\n"
                 "event, or an attribute of graphs. It may also be what one of these is called\n"
                 "in PyTorch, PaddlePaddle or the Ascend Graph Engine (empty_cache,\n"
                 "ScalableAllocator). All places that have the name are shown, with commands\n"
                 "to try. 'terms' is the index of all names, 'paddle-flags' the table of\n"
                 "PaddlePaddle's flags.",
  .examples = "  gemem-sim help max_split_size_mb\n  gemem-sim help GE_USE_STATIC_MEMORY\n"
              "  gemem-sim help empty_cache\n",
  .options = { entries },
  .run = run,
};
