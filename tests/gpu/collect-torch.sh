#!/bin/sh
# collect-torch.sh - the steps of collect.sh with PyTorch: our allocators in it (live), recordings of its own (record).  Sourced; each is left out, saying so,
# where PyTorch finds no GPU.
#
# Uses of collect.sh: $folder, $work, $quick, provenance, bounded.  The workloads are those of record/record.py.
python=${PYTHON:-python3}

pytorch () {
  "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1 && return 0
  echo "$python has no PyTorch that finds the GPU: left out"
  return 1
}

# script WORD... FILE.py ARGUMENT...: a script of record after `env`.  Its last line is left in $work/said; what went wrong is printed.
script () {
  (cd "$GEMEM_SRCDIR/record" && bounded env PYTHONDONTWRITEBYTECODE=1 "$@") >"$work/printed" 2>"$work/err"
  ended=$?
  tail -n 1 "$work/printed" >"$work/said"
  [ $ended -eq 0 ] || echo "exit status $ended, $(grep -v '^gemem-record: ' "$work/err" | tail -n 1)"
  return $ended
}

# value NAME: out of the line of JSON that was said last.
value () { sed -n "s/.*\"$1\": \"\{0,1\}\([^,\"}]*\).*/\1/p" "$work/said"; }

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
  printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$workload" "$allocator" "$(value seconds)" "$(value peak_live)" "$(value peak_allocated)" \
    "$(value peak_reserved)" "$replayed" >>"$folder/live.md"
}

step_live () {
  pytorch || return 0
  workloads=vit-train others=pytorch-caching bad=0
  [ -n "$quick" ] || workloads='gpt2-train resnet50-train llama-decode' others='pytorch-caching paddle-auto-growth ge-expandable'
  printf '# The same scripts on several allocators (doc/pytorch.md)\n\n' >"$folder/live.md"
  { provenance; echo; echo '| workload | allocator | seconds for 10 steps | peak live | peak allocated | peak reserved, bytes | its recording, replayed |'
    echo '| --- | --- | ---: | ---: | ---: | ---: | --- |'; } >>"$folder/live.md"
  for of in $workloads; do
    live "$of" || bad=1
    for other in $others; do live "$of" "$other" || bad=1; done
  done
  [ $bad -eq 0 ]
}

# ---- record

# recording NAME WORKLOAD SETTINGS [ARGUMENT...]: one row, and NAME.gmt.
recording () {
  id=$1 workload=$2 settings=$3 file=$folder/recorded/$1.gmt; shift 3
  if ! why=$(script ${settings:+"PYTORCH_CUDA_ALLOC_CONF=$settings"} "$python" record.py "$workload" "$work/$id.pickle" --device cuda "$@"); then
    echo "$id: $why"
    return 1
  fi
  gemem-sim convert "$work/$id.pickle" "$file" 2>"$work/err" || { echo "$id: $(head -n 1 "$work/err")"; return 1; }
  limit=$(value memory_limit)
  printf '| %s | %s | %s | %s |\n' "$id.gmt" "$(tr '|' ';' <"$work/said")" "$(gemem-sim info "$file" | sed -n 's/^  events  *\([0-9]*\)$/\1/p')" \
    "$(as_recorded "$file" "pytorch-caching${limit:+:memory_limit=$limit}")" >>"$folder/recorded.md"
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
  printf '\ngemem-record beside it, on %s: %s segments of PyTorch, %s of them not recorded.\n' "$1" "$(wc -l <"$work/segments")" "$(wc -l <"$work/missing")" >>"$folder/recorded.md"
  if [ ! -s "$work/segments" ] || [ -s "$work/missing" ]; then
    echo "gemem-record has not all segments of PyTorch: $(head -n 1 "$work/missing")"
    return 1
  fi
}

step_record () {
  pytorch || return 0
  bad=0
  printf '# Recordings of PyTorch (record/record.py), and whether pytorch-caching decides the same\n\n' >"$folder/recorded.md"
  { provenance; echo; echo '| file | made by | events | as recorded |'; echo '| --- | --- | ---: | --- |'; } >>"$folder/recorded.md"
  recording vit-train vit-train '' || bad=1
  if [ -z "$quick" ]; then
    for of in gpt2-train llama-train resnet50-train llama-decode resnet50-prefetch; do recording "$of" "$of" '' || bad=1; done
    recording gpt2-train-expandable gpt2-train expandable_segments:True || bad=1
    recording llama-decode-expandable llama-decode expandable_segments:True || bad=1
    recording resnet50-train-split resnet50-train max_split_size_mb:32 || bad=1
    recording llama-decode-roundup llama-decode roundup_power2_divisions:4 || bad=1
    recording llama-decode-collected llama-decode garbage_collection_threshold:0.6 --memory 1500000000 || bad=1
    recording gpt2-train-short gpt2-train '' --memory 3000000000 || bad=1
    recording gpt2-train-too-short gpt2-train '' --memory 1500000000 || bad=1
  fi
  beside vit-train || bad=1
  [ $bad -eq 0 ]
}
