/* completion.c - the bash completion, written from the command structs and the registries.
 *
 * Static parts (commands, options) are written out; names of allocators, parameters and so on are
 * queried from the program at completion time, so that plugins complete too.
 */
#include "config.h"

#include "sim/cli/commands.h"
#include "sim/cli/topics.h"

static void
append_options (GString *out, const GememCommand *command)
{
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
      g_string_append_printf (out, "--%s%s ", entry->long_name,
                              entry->arg == G_OPTION_ARG_NONE ? "" : "=");
  g_string_append (out, "--help");
}

char *
gemem_completion (const GememCommand *const *commands)
{
  GString *out = g_string_new (
      "# bash completion for gemem-sim; written by 'gemem-sim help --bash-completion'\n\n"
      "_gemem_sim_options ()\n{\n  case $1 in\n");
  for (const GememCommand *const *command = commands; *command != NULL; command++)
    {
      g_string_append_printf (out, "    %s) echo '", (*command)->name);
      append_options (out, *command);
      g_string_append (out, "' ;;\n");
    }
  g_string_append (
      out, "  esac\n}\n\n_gemem_sim ()\n{\n"
           "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} "
           "program=${COMP_WORDS[0]} words=\n"
           "  COMPREPLY=()\n"
           "  if [ \"$current\" = '=' ]; then current=; previous=${COMP_WORDS[COMP_CWORD-1]}; fi\n"
           "  if [ \"$previous\" = '=' ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
           "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words='");
  for (const GememCommand *const *command = commands; *command != NULL; command++)
    g_string_append_printf (out, "%s%s", command == commands ? "" : " ", (*command)->name);
  g_string_append (
      out, "'\n"
           "  else\n"
           "    case $previous in\n"
           "      -a | --allocator) words=$(for kind in allocators shorthands; do \"$program\" "
           "list $kind --names 2>/dev/null; done) ;;\n"
           "      -p | --planner) words=$(\"$program\" list planners --names 2>/dev/null) ;;\n"
           "      --trace-format) words=$(\"$program\" list formats --names 2>/dev/null) ;;\n"
           "      -d | --device) words=$(\"$program\" list devices --names 2>/dev/null) ;;\n"
           "      -f | --format) words='table json csv markdown' ;;\n"
           "      --anonymous) words='paths names' ;;\n"
           "      --plot-terminal) words='comparison timeline fragmentation' ;;\n"
           "      help) words=\"$(\"$program\" list --names 2>/dev/null) ${COMP_WORDS[1]}\" ;;\n"
           "      generate) words=$(\"$program\" list generators --names 2>/dev/null) ;;\n"
           "      list) words='");
  for (const char *const *kind = gemem_topic_kinds; *kind != NULL; kind++)
    g_string_append_printf (out, "%s%ss", kind == gemem_topic_kinds ? "" : " ", *kind);
  g_string_append (
      out,
      "' ;;\n"
      "      *) case $current in -*) words=$(_gemem_sim_options \"${COMP_WORDS[1]}\") ;; esac ;;\n"
      "    esac\n"
      "  fi\n"
      "  if [ -n \"$words\" ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "    case ${COMPREPLY[0]-} in *=) compopt -o nospace ;; esac\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "    compopt -o filenames\n"
      "  fi\n"
      "}\n\ncomplete -F _gemem_sim gemem-sim\n");
  return g_string_free (out, FALSE);
}
