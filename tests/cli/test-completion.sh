#!/bin/sh
# test-completion.sh - completion of commands, options, names, parameters and values: what the program answers, and what the functions of
# bash, zsh and fish make of it, in these shells where they are installed.
# shellcheck disable=SC2154,SC2016,SC2034 # out and err come from tap.sh; scripts for other shells
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

for shell in bash zsh fish; do run 0 gemem-sim help --$shell-completion; cp "$out" "completion.$shell"; done
: > step.gmt

# offers WORDS = CANDIDATES...: the first column of the answer; "files" if it is the name of a file.
offers () {
  words='' want=''
  while [ "$1" != = ]; do words="$words '$1'"; shift; done
  shift; want=$*
  eval "gemem-sim --complete $words" > answer 2>&1; code=$?
  got=$(cut -f 1 answer | tr '\n' ' ' | sed 's/ $//')
  [ $code -ne 0 ] || [ -n "$got" ] || got=files
  [ "$got" = "$want" ]; ok $? "after$words: $want"
  [ "$got" = "$want" ] || echo "# got $got"
}
offers co = compare convert conformance
offers compare --plot = --plots= --plot-terminal= --plot-style= --plot-format= --plot-size= --plot-axis=
offers compare -a pytorch-c = pytorch-caching
offers compare -a pytorch-caching = pytorch-caching pytorch-caching:
offers compare -a pytorch-caching:max_s = pytorch-caching:max_split_size_mb=
offers compare -apytorch:max-S = -apytorch:max-Split_size_mb=
offers compare '--allocator=ge:strict=yes,rules=' = --allocator=ge:strict=yes,rules=as-built --allocator=ge:strict=yes,rules=documented
offers compare -a ge:static_memory_policy= = ge:static_memory_policy=2 ge:static_memory_policy=3 ge:static_memory_policy=4 ge:static_memory_policy=0 ge:static_memory_policy=unset
offers compare -a 'pytorch:max_split_size_mb=64|12' = 'pytorch:max_split_size_mb=64|128'
offers compare -a paddle:FLAGS_auto = paddle:FLAGS_auto_growth_chunk_size_in_mb=
offers compare -a paddle:preset=P1 = paddle:preset=P13 paddle:preset=P14 paddle:preset=P16
offers compare -d sim:capacity=8GiB,addr = sim:capacity=8GiB,address=
offers compare -d sim:address= = sim:address=bump sim:address=first-fit sim:address=recorded sim:address=descending sim:address=random sim:address=cuda
offers compare -d cuda:0:mod = cuda:0:mode=
offers plan -p ge-h = ge-hybrid
offers plan -p first-fit:order=a = first-fit:order=allocation first-fit:order=area
offers info --lower=inp = --lower=inplace
offers generate random:ev = random:events=
offers compare --pace= = --pace=asap --pace=recorded
offers compare -f '' = table json csv markdown
offers list -f '' = table json
offers convert a.gmt b -f nat = native
offers list plan = planners
offers help compl =
offers help paddle-f = paddle-flags
offers compare '' = files
offers compare --plots= = files
offers compare --jobs= =
offers version '' =
offers compare --qu = --quiet
run 1 gemem-sim --complete

# ---- every parameter and every fixed value of the registries is offered
gemem-sim list --format=json > all.json
check 'every parameter of every allocator, device, planner and generator' sh -c '
  jq -r ".[] | select(.kind != \"format\") | . as \$t | .parameters[] | [\$t.kind, \$t.name, .name] | join(\" \")" all.json > parameters
  test $(wc -l < parameters) -gt 100
  for kind in allocator device planner generator; do
    case $kind in allocator) before="compare -a" ;; device) before="compare -d" ;; planner) before="plan -p" ;; *) before=generate ;; esac
    for name in $(awk -v k=$kind "\$1 == k { print \$2 }" parameters | sort -u); do
      gemem-sim --complete $before $name: | cut -f 1 | sort > offered
      awk -v k=$kind -v n=$name "\$1 == k && \$2 == n { print n \":\" \$3 \"=\" }" parameters | sort | diff - offered || exit 1
    done
  done'

# ---- bash, whose words end at : and = unless quoted
if command -v bash >/dev/null; then
  check 'it is valid bash' bash -n completion.bash
  # in_bash LINE WANT PIECES...: the pieces as bash makes them of the line
  in_bash () {
    line=$1 want=$2; shift 2
    got=$(bash -c '. ./completion.bash; COMP_LINE=$1 COMP_POINT=${#1}; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _gemem_sim; echo "${COMPREPLY[*]}"' bash "$line" "$@")
    [ "$got" = "$want" ]; ok $? "bash: $line"
    [ "$got" = "$want" ] || echo "# got $got"
  }
  in_bash 'gemem-sim comp' compare gemem-sim comp
  in_bash 'gemem-sim compare -a pytorch-caching:max_s' max_split_size_mb= gemem-sim compare -a pytorch-caching : max_s
  in_bash 'gemem-sim compare -a ge:rules=' 'as-built documented' gemem-sim compare -a ge : rules =
  in_bash 'gemem-sim compare -d sim:capacity=8GiB,address=f' first-fit gemem-sim compare -d sim : capacity = 8GiB,address = f
  in_bash 'gemem-sim compare --device=sim:addr' address= gemem-sim compare --device = sim : addr
  in_bash "gemem-sim compare -a 'pytorch:max_split_size_mb=64|12" 'pytorch:max_split_size_mb=64|128' gemem-sim compare -a "'pytorch:max_split_size_mb=64|12"
  in_bash 'gemem-sim compare st' step.gmt gemem-sim compare st
  in_bash 'gemem-sim version ' '' gemem-sim version ''
else skip 'bash' 'it is not installed'; fi

# ---- zsh, in a terminal of its own
if command -v zsh >/dev/null && zsh -f -c 'zmodload zsh/zpty' 2>/dev/null; then
  check 'it is valid zsh' zsh -n completion.zsh
  cat > terminal.zsh <<'END'
zmodload zsh/zpty
zpty z 'TERM=xterm PS1= HOME=$PWD zsh -f -i'
zpty -w z "stty cols 300; autoload -Uz compinit; compinit -u -D; source ./completion.zsh; bindkey '^I' complete-word; echo re''ady"
expect () {
  local all= chunk n=0
  while (( n++ < 200 )); do
    if zpty -rt z chunk; then all+=$chunk; [[ $all == *$1* ]] && return 0; else sleep 0.05; fi
  done
  print -r -- "no $1 in ${(q)all}"
  return 1
}
expect ready || exit 1
zpty -w -n z $'\x15'"$1"$'\t'
expect $2
END
  in_zsh () { check "zsh: $1" zsh -f terminal.zsh "$1" "$2"; }
  in_zsh 'gemem-sim compare -a pytorch-caching:max_s' 'max_split_size_mb='
  in_zsh 'gemem-sim compare -a ge:rules=a' as-built
  in_zsh 'gemem-sim compare --device=sim:addr' sim:address=
  in_zsh "gemem-sim compare -a 'pytorch:max_split_size_mb=64|12" '64|128'
  in_zsh 'gemem-sim info st' step.gmt
else skip 'zsh' 'it is not installed'; fi

# ---- fish
if command -v fish >/dev/null; then
  check 'it is valid fish' fish -n completion.fish
  in_fish () { check "fish: $1" env HOME="$PWD" fish -c 'source completion.fish; complete -C $argv[1] | string replace -r "\t.*" "" | string match -- $argv[2]' "$1" "$2"; }
  in_fish 'gemem-sim compare -a pytorch-caching:max_s' pytorch-caching:max_split_size_mb=
  in_fish 'gemem-sim compare -a ge:rules=' ge:rules=as-built
  in_fish 'gemem-sim compare --device=sim:addr' --device=sim:address=
  in_fish "gemem-sim compare -a 'pytorch:max_split_size_mb=64|12" 'pytorch:max_split_size_mb=64|128'
  in_fish 'gemem-sim info st' step.gmt
else skip 'fish' 'it is not installed'; fi

done_testing
