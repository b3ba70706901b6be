#!/bin/sh
# collect-torch.sh - the steps of collect.sh with Python: our allocators in PyTorch (live), recordings of its own (record), other programs.  Sourced; live and
# record are left out, saying so, where PyTorch finds no GPU.
#
# Uses of collect.sh: $python, $folder, $work, $quick, $programs, provenance, bounded.  All are jobs: jobs_STEP prints them, gather_STEP makes a report of their
# rows.  The workloads are those of record/record.py.

pytorch () {
  "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1 && return 0
  echo "$python has no PyTorch that finds the GPU: left out" >&2
  return 1
}

# table ROWS FILE TITLE HEAD RULE: a report.
table () { { printf '# %s\n\n' "$3"; provenance; printf '\n%s\n%s\n' "$4" "$5"; cat "$1"; } >"$folder/$2"; }

# script WORD... FILE.py ARGUMENT...: a script of record after `env`.  Its last line is left in $work/last; what went wrong is printed.
script () {
  (cd "$GEMEM_SRCDIR/record" && bounded env PYTHONDONTWRITEBYTECODE=1 "$@") >"$work/printed" 2>"$work/err"
  ended=$?
  tail -n 1 "$work/printed" >"$work/last"
  [ $ended -eq 0 ] || echo "exit status $ended, $(grep -v '^gemem-record: ' "$work/err" | tail -n 1)"
  return $ended
}

# value NAME: out of the line of JSON that was said last.
value () { sed -n "s/.*\"$1\": \"\{0,1\}\([^,\"}]*\).*/\1/p" "$work/last"; }

# as_recorded FILE ALLOCATOR: how many of the decisions are the recorded ones.
as_recorded () { gemem-sim replay "$1" -a "$2" -d sim:address=recorded 2>&1 | sed -n 's/^reproduces the recording [a-z ]*: //p; s/^gemem-sim: error: //p' | tr '|' ';'; }

# ---- live

# The libraries of a pack that this machine lacks, for libgemem-torch.so within Python.
GEMEM_LENT=$work/lib
export GEMEM_LENT
mkdir -p "$GEMEM_LENT"
PATH=$PATH:/sbin:/usr/sbin ldconfig -p >"$work/own" 2>/dev/null
for library in "$GEMEM_BUILDDIR"/lib/*.so*; do
  [ ! -e "$library" ] || grep -q "[[:space:]]$(basename "$library") " "$work/own" || ln -sf "$library" "$GEMEM_LENT"
done

# live WORKLOAD [ALLOCATOR]: one row; PyTorch's own without ALLOCATOR.
live () {
  id=$1-${2:-own} own="PyTorch's own" replayed=
  if [ -n "${2:-}" ]; then
    set -- "$1" "$2" "GEMEM_ALLOCATOR=$2" "GEMEM_STATS=$folder/live/$id.json" "GEMEM_RECORD=$work/$id.gmt" "LD_LIBRARY_PATH=$GEMEM_LENT${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  else
    set -- "$1" "$own"
  fi
  workload=$1 allocator=$2; shift 2
  if ! why=$(script "$@" "$python" live.py "$workload" --steps 10 --library "$GEMEM_BUILDDIR/.libs/libgemem-torch.so"); then
    echo "$id: $why"
    return 1
  fi
  [ ! -e "$work/$id.gmt" ] || replayed=$(as_recorded "$work/$id.gmt" "$allocator")
  printf '| %s | %s | %s | %s | %s | %s |\n' "$workload" "$allocator" "$(value peak_live)" "$(value peak_allocated)" "$(value peak_reserved)" \
    "$replayed" >"$work/rows"
}

jobs_live () {
  pytorch || return
  workloads=vit-train others=pytorch-caching
  [ -n "$quick" ] || workloads='gpt2-train resnet50-train llama-decode' others='pytorch-caching paddle-auto-growth ge-expandable'
  for of in $workloads; do
    for other in '' $others; do echo live "$of" "$other"; done
  done
}

gather_live () {
  table "$1" live.md 'The same scripts on several allocators (doc/pytorch.md)' \
    '| workload | allocator | peak live | peak allocated | peak reserved, bytes | its recording, replayed |' '| --- | --- | ---: | ---: | ---: | --- |'
}

# ---- record

# recording NAME WORKLOAD SETTINGS [ARGUMENT...]: one row, and NAME.gmt.  SETTINGS: PYTORCH_CUDA_ALLOC_CONF, or none.
recording () {
  id=$1 workload=$2 settings=${3#none} file=$folder/recorded/$1.gmt; shift 3
  if ! why=$(script ${settings:+"PYTORCH_CUDA_ALLOC_CONF=$settings"} "$python" record.py "$workload" "$work/$id.pickle" --device cuda "$@"); then
    echo "$id: $why"
    return 1
  fi
  gemem-sim convert "$work/$id.pickle" "$file" 2>"$work/err" || { echo "$id: $(head -n 1 "$work/err")"; return 1; }
  most=$(value memory_limit)
  printf '| %s | %s | %s | %s |\n' "$id.gmt" "$(tr '|' ';' <"$work/last")" "$(gemem-sim info "$file" | sed -n 's/^  events  *\([0-9]*\)$/\1/p')" \
    "$(as_recorded "$file" "pytorch-caching${most:+:memory_limit=$most}")" >"$work/rows"
}

# places KIND FILE: address and size of each event of that kind.
places () { gemem-sim convert "$2" "$work/text.txt" && sed -n "s/^$1 .*size=\([0-9]*\).* addr=\(0x[0-9a-f]*\).*/\2 \1/p" "$work/text.txt" | sort; }

# The same program from outside: every segment that PyTorch says it has taken must be among what gemem-record has seen.
beside () {
  if ! why=$(script gemem-record -o "$work/outside.gmt" env "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}" "$python" record.py "$1" "$work/inside.pickle" \
    --device cuda --steps 1); then
    echo "gemem-record: $why"
    return 1
  fi
  places segment-alloc "$work/inside.pickle" >"$work/segments"
  places alloc "$work/outside.gmt" | comm -23 "$work/segments" - >"$work/missing"
  printf '\ngemem-record beside it, on %s: %s segments of PyTorch, %s of them not recorded.\n' "$1" "$(wc -l <"$work/segments")" "$(wc -l <"$work/missing")" >"$work/rows"
  if [ ! -s "$work/segments" ] || [ -s "$work/missing" ]; then
    echo "gemem-record has not all segments of PyTorch: $(head -n 1 "$work/missing")"
    return 1
  fi
}

# pooled WORKLOAD: PyTorch on CUDA's own pools, alone and with gemem-record beside it: what recording costs, and what cuda-async makes of the recording.
# Places are counted from the first block's.
pooled () {
  pools=PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync made=$folder/recorded/$1-pools.gmt
  if ! why=$(script "$pools" "$python" live.py "$1" --steps 5); then echo "$1-pools: $why"; return 1; fi
  alone=$(value seconds)
  if ! why=$(script gemem-record -o "$made" env "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}" "$pools" "$python" live.py "$1" --steps 5); then
    echo "$1-pools, recorded: $why"
    return 1
  fi
  gemem-sim convert "$made" "$work/text.txt" 2>"$work/err" && gemem-sim replay "$made" -a cuda-async --events "$work/log" -f json -o "$work/replayed.json" 2>"$work/err" ||
    { echo "$1-pools: $(head -n 1 "$work/err")"; return 1; }
  sed -n 's/^alloc .*addr=\(0x[0-9a-f]*\).*/\1/p' "$work/text.txt" >"$work/real"
  awk -F, '$2 == "alloc" { print $5 }' "$work/log" >"$work/model"
  same=$(paste "$work/real" "$work/model" | awk 'function number(hex, i, sum) { # doubles hold 2^53, addresses are below 2^48
      sum = 0; hex = tolower(substr(hex, 3)); for (i = 1; i <= length(hex); i++) sum = 16 * sum + index("0123456789abcdef", substr(hex, i, 1)) - 1; return sum }
    NR == 1 { real = number($1); model = number($2) }
    number($1) - real == number($2) - model { same++ }
    END { print same + 0, "of", NR }')
  printf '\nOn cudaMallocAsync, %s: %s s, recorded %s s; %s events, work %s; reserved %s bytes, cuda-async %s; %s blocks lie as recorded.\n' "$1" "$alone" "$(value seconds)" \
    "$(grep -c '^[a-z]' "$work/text.txt")" "$(grep -c '^work ' "$work/text.txt")" "$(value peak_reserved)" \
    "$(sed -n 's/^ *"peak_reserved": \([0-9]*\).*/\1/p' "$work/replayed.json" | head -n 1)" "$same" >"$work/rows"
}

jobs_record () {
  pytorch || return
  echo recording vit-train vit-train none
  if [ -z "$quick" ]; then
    for of in gpt2-train llama-train resnet50-train llama-decode resnet50-prefetch; do echo recording "$of" "$of" none; done
    echo recording gpt2-train-expandable gpt2-train expandable_segments:True
    echo recording llama-decode-expandable llama-decode expandable_segments:True
    echo recording resnet50-train-split resnet50-train max_split_size_mb:32
    echo recording llama-decode-roundup llama-decode roundup_power2_divisions:4
    echo recording llama-decode-collected llama-decode garbage_collection_threshold:0.6 --memory 1500000000
    echo recording gpt2-train-stacks gpt2-train none --stacks
    echo recording gpt2-train-short gpt2-train none --memory 3000000000
    echo recording gpt2-train-too-short gpt2-train none --memory 1500000000
  fi
  echo beside vit-train
  echo pooled vit-train
  [ -n "$quick" ] || echo pooled llama-decode
}

gather_record () {
  table "$1" recorded.md 'Recordings of PyTorch (record/record.py), and whether pytorch-caching decides the same' '| file | made by | events | as recorded |' \
    '| --- | --- | ---: | --- |'
}

# ---- programs

# FOLDER/truth.py is no program, but what programs import to tell their true memory.
jobs_programs () {
  "$python" -c '' 2>/dev/null || { echo "$python does not run: left out" >&2; return; }
  for of in $programs; do
    for file in "$of"/*.py; do [ ! -e "$file" ] || [ "$(basename "$file")" = truth.py ] || echo program "$file"; done
  done
}

# program FILE: one row, and what it printed; a package that is not there is no failure.
program () {
  id=$(basename "$1" .py)
  at=$(date +%s)
  (cd "$work" && bounded env PYTHONDONTWRITEBYTECODE=1 TRUTH_OUT="$folder/programs" "$python" "$1") >"$folder/programs/$id.txt" 2>"$work/err"
  ended=$?
  why=$(tail -n 1 "$work/err")
  [ $ended -eq 0 ] || case $why in ModuleNotFoundError:*) echo "$id: ${why#*: }: left out"; return 0 ;; esac
  figures=$(sed -n 's/^ "\(max_memory_allocated\|max_memory_reserved\|peak_requested\)": \([0-9]*\).*/\1=\2/p' "$folder/programs/$id.json" 2>/dev/null)
  figure () { echo "$figures" | sed -n "s/^$1=//p"; }
  printf '| %s | %s | %s | %s | %s | %s s |\n' "$id" "$ended" "$(figure peak_requested)" "$(figure max_memory_allocated)" "$(figure max_memory_reserved)" \
    "$(($(date +%s) - at))" >"$work/rows"
  [ $ended -eq 0 ] || echo "$id: exit status $ended, $why"
  return $ended
}

gather_programs () {
  table "$1" programs.md 'Programs and their memory, as PyTorch says it' '| program | exit status | peak requested | peak allocated | peak reserved, bytes | took beside others |' \
    '| --- | ---: | ---: | ---: | ---: | ---: |'
}
