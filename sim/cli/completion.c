/* completion.c - the completions of bash, zsh and fish.
 *
 * Each is as little as its shell allows: it hands the words up to the cursor to `gemem-sim
 * --complete` and shows what comes back (complete.c), a candidate a line, with a tab before what it
 * means.  So nothing here names a command, an option or an allocator, and plugins complete too.
 * Exit status 0 with no line means the name of a file.
 */
#include "config.h"

#include "sim/cli/commands.h"

/* bash breaks words at '=' and ':' unless they are quoted, and replaces only the last piece: the
 * pieces are joined again, and what stands before the last one is cut off the candidates. */
static const char bash[] =
    "# bash completion for gemem-sim; written by 'gemem-sim help --bash-completion'\n\n"
    "_gemem_sim ()\n{\n"
    "  local line=${COMP_LINE:0:COMP_POINT} piece word before i lines\n"
    "  local -a words=()\n"
    "  COMPREPLY=()\n"
    "  for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "    piece=${COMP_WORDS[i]}\n"
    "    case $line in\n"
    "      [[:space:]]*) line=${line#\"${line%%[![:space:]]*}\"}; words+=('') ;;\n"
    "      *) [ \"$i\" -gt 0 ] || words+=('') ;;\n"
    "    esac\n"
    "    [ \"$i\" -lt \"$COMP_CWORD\" ] || piece=$line\n"
    "    words[${#words[@]}-1]+=$piece\n"
    "    line=${line#\"$piece\"}\n"
    "  done\n"
    "  word=${words[${#words[@]}-1]} before=\n"
    "  case $word in\n"
    "    [\\'\\\"]*) word=${word:1} ;;\n"
    "    *) case $word in *[=:]*) before=${word%\"${word##*[=:]}\"} ;; esac ;;\n"
    "  esac\n"
    "  words[${#words[@]}-1]=$word\n"
    "  if ! lines=$(\"${words[0]}\" --complete \"${words[@]:1}\" 2>/dev/null); then return; fi\n"
    "  if [ -z \"$lines\" ]; then\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"${word#\"$before\"}\")\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    return\n"
    "  fi\n"
    "  while IFS=$'\\t' read -r word _; do\n"
    "    COMPREPLY+=(\"${word#\"$before\"}\")\n"
    "  done <<< \"$lines\"\n"
    "  case ${COMPREPLY[0]} in *[=:]) compopt -o nospace 2>/dev/null ;; esac\n"
    "}\n\ncomplete -F _gemem_sim gemem-sim\n";

static const char zsh[] =
    "#compdef gemem-sim\n"
    "# zsh completion for gemem-sim; written by 'gemem-sim help --zsh-completion'\n\n"
    "_gemem_sim ()\n{\n"
    "  local lines line word\n"
    "  local -a open open_about whole whole_about\n"
    "  lines=$(\"${(Q)words[1]}\" --complete \"${(@Q)words[2,CURRENT-1]}\" \"${(Q)PREFIX}\" "
    "2>/dev/null) || return 1\n"
    "  if [[ -z $lines ]]; then\n"
    "    [[ $PREFIX != --*=* ]] || compset -P '*='\n"
    "    _files\n"
    "    return\n"
    "  fi\n"
    "  for line in \"${(@f)lines}\"; do\n"
    "    word=${line%%$'\\t'*}\n"
    "    case $word in\n"
    "      *[=:]) open+=(\"$word\") open_about+=(\"${line/$'\\t'/  -- }\") ;;\n"
    "      *) whole+=(\"$word\") whole_about+=(\"${line/$'\\t'/  -- }\") ;;\n"
    "    esac\n"
    "  done\n"
    "  (( ! $#open )) || compadd -S '' -l -d open_about -a open\n"
    "  (( ! $#whole )) || compadd -l -d whole_about -a whole\n"
    "}\n\n"
    "if [[ $funcstack[1] = _gemem_sim || $funcstack[1] = _gemem-sim ]]; then\n"
    "  _gemem_sim \"$@\"\n"
    "else\n"
    "  compdef _gemem_sim gemem-sim\n"
    "fi\n";

/* fish leaves out the space behind '=' and ':' by itself. */
static const char fish[] =
    "# fish completion for gemem-sim; written by 'gemem-sim help --fish-completion'\n\n"
    "function __gemem_sim_complete\n"
    "  set -l words (commandline -opc)\n"
    "  set -l current (commandline -ct)\n"
    "  set -l lines ($words[1] --complete $words[2..-1] (string trim -l -c \"'\\\"\" -- "
    "\"$current\") 2>/dev/null)\n"
    "  or return\n"
    "  if test (count $lines) -gt 0\n"
    "    printf '%s\\n' $lines\n"
    "  else\n"
    "    __fish_complete_path (string replace -r -- '^--[^=]*=' '' \"$current\")\n"
    "  end\n"
    "end\n\n"
    "complete -c gemem-sim -f -a '(__gemem_sim_complete)'\n";

const char *
gemem_completion (const char *shell)
{
  return *shell == 'b' ? bash : *shell == 'z' ? zsh : fish;
}
