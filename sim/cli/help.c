/* help.c - `gemem-sim help`: a command, an allocator, a generator, a device or a format by name;
 * also the man page and the completion. */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/options.h"
#include "sim/cli/topics.h"

static gboolean want_manual, want_bash, want_zsh, want_fish;

static const GOptionEntry entries[] = {
  { "man", 0, 0, G_OPTION_ARG_NONE, &want_manual, "Write the whole manual as a man page", NULL },
  { "bash-completion", 0, 0, G_OPTION_ARG_NONE, &want_bash, "Write the completion for bash", NULL },
  { "zsh-completion", 0, 0, G_OPTION_ARG_NONE, &want_zsh, "Write the completion for zsh", NULL },
  { "fish-completion", 0, 0, G_OPTION_ARG_NONE, &want_fish, "Write the completion for fish", NULL },
  { NULL }
};

/* The help of every topic named @word, or NULL. */
static char *
help_on (const char *word, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GArray) topics = gemem_topics (NULL, NULL);
  for (const GememCommand *const *command = gemem_commands (); *command != NULL; command++)
    {
      if (gemem_name_equal ((*command)->name, word))
        return gemem_command_usage (*command);
      g_ptr_array_add (names, (gpointer) (*command)->name);
    }
  if (gemem_name_equal ("paddle-flags", word))
    return gemem_flags_help ();
  char *flag = g_ascii_strncasecmp (word, "FLAGS_", 6) == 0 ? gemem_flags_help_on (word) : NULL;
  if (flag != NULL)
    return flag;
  g_ptr_array_add (names, (gpointer) "paddle-flags");
  for (guint i = 0; i < topics->len; i++)
    {
      const GememTopic *topic = &g_array_index (topics, GememTopic, i);
      if (gemem_name_is (topic->name, topic->aliases, word))
        return gemem_topic_help (topic);
      g_ptr_array_add (names, (gpointer) topic->name);
    }
  g_ptr_array_add (names, NULL);
  const char *skipped = gemem_allocator_skipped (word);
  if (skipped != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "no help on '%s': its plugin was skipped: %s", word, skipped);
      return NULL;
    }
  const char *near = gemem_suggest (word, (const char *const *) names->pdata);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "no help on '%s'; %s%s%s", word,
               near != NULL ? "did you mean '" : "see 'gemem-sim help' and ",
               near != NULL ? near : "'gemem-sim list'", near != NULL ? "'?" : "");
  return NULL;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_help;
  g_autofree char *text = NULL;
  if (!gemem_want_arguments (&gemem_command_help, arguments, 0, 1, error))
    return 2;
  if (want_manual + want_bash + want_zsh + want_fish + (arguments[0] != NULL) > 1)
    {
      g_set_error_literal (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "help: --man, --bash-completion, --zsh-completion, --fish-completion and a name exclude "
          "each other; keep one of them");
      return 2;
    }
  if (want_manual)
    text = gemem_manual (gemem_commands ());
  else if (want_bash || want_zsh || want_fish)
    text = g_strdup (gemem_completion (want_bash ? "bash" : want_zsh ? "zsh" : "fish"));
  else if (arguments[0] == NULL)
    text = gemem_overview (gemem_commands ());
  else
    text = help_on (arguments[0], error);
  if (text == NULL)
    return 2;
  return gemem_put (NULL, text, strlen (text), error) ? 0 : 1;
}

const GememCommand gemem_command_help = {
  .name = "help",
  .synopsis = "[COMMAND|ALLOCATOR|GENERATOR|DEVICE|FORMAT|paddle-flags]",
  .summary = "Explain a command, an allocator and its parameters, or PaddlePaddle's flags",
  .options = { entries },
  .run = run,
};
