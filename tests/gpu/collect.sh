#!/bin/sh
# collect.sh - everything that only a GPU can tell, in one go: for results/gpu, with the name of the GPU, driver, version of CUDA and date in every report.
#
#   tests/gpu/collect.sh [-d DEVICE] [-o FOLDER] [-a ARCHIVE] [-p FOLDER]... [-t SECONDS] [-q] [STEP...]
#     -d DEVICE   cuda:0 by default; any settings of it but a profile
#     -o FOLDER   results/gpu by default
#     -a ARCHIVE  a .tar.gz of FOLDER, made at the end; one of more than 15 MiB, which is too large to be fetched, in parts of that size: ARCHIVE.aa, .ab ...; join with cat
#     -p FOLDER   Python programs of the step programs; by default those in a pack, else gpu/programs and gpu/cases of the shared data (GEMEM_SHARED)
#     -t SECONDS  540 by default: a step gets what is left, and what finds none is named, to be run by another call with the same folder
#     -q          quick: one trace, two allocators; to try the script
#     STEP        see `known` below; all by default, in this order.  compare and paced need the profile of calibrate.
#
# Runs in a build, or what pack.sh made of one (GEMEM_BUILDDIR, by default here), of the source (GEMEM_SRCDIR, by default that of the script); needs no
# network.  Steps that measure time run alone.  The others are cut into jobs, of which six run at once, never beside a measurement; a job that runs out of
# its own limit takes no other with it.  What needs PyTorch (live, record) is left out where python3 (or PYTHON) has none for the GPU.  Files:
#   NAME.attributes      what driver, runtime and NVML say of the GPU (attributes.c has the form); NAME is that of the GPU
#   NAME.ini             the calibrated profile
#   compare.md csv json  the recorded traces through allocators: predicted and real time, the error, latencies with their histograms; compare.manifest.json
#   paced.md csv json    the same at the recorded pace with work on the streams, one trace
#   plots/NAME           pictures of both
#   probe.log            what the driver answered to probe.txt (probe.c has the form): pools and addresses that specifications leave open
#   tap/NAME.tap         what the GPU tests said; sanitizer.txt
#   live.md live/        PyTorch training and serving on our allocators and on its own: memory; the statistics of each run
#   recorded.md recorded/NAME.gmt   recordings of PyTorch's own allocator, and whether pytorch-caching decides the same; gemem-record beside it, and on CUDA's own
#                        pools (NAME-pools.gmt), whether cuda-async decides as they did
#   programs.md programs/NAME.txt NAME.json NAME.pickle.gz   what each program printed; of those that import truth.py, their true memory and the snapshot
#   failed/NUMBER.STEP.txt   the last errors of jobs that failed; of a Python program that ran out of time, where it was
#   README.md            on what all that was found, and how each step ended
# Exit status: 0 all steps went well, 1 some did not, 2 wrong use, 77 no GPU.  On the stand-in driver of the tests it says so everywhere, and refuses results/gpu.
# shellcheck disable=SC1007 disable=SC2317 disable=SC3045 # empty values; functions that are called by name; ulimit -c, which all shells have
device=cuda:0 folder= archive= programs= limit=540 quick= began=$(date +%s)
here=$(cd "$(dirname "$0")/../.." && pwd)
fail () { echo "collect.sh: $2" >&2; exit "$1"; }
while getopts d:o:a:p:t:q option; do
  case $option in
    d) device=$OPTARG ;; o) folder=$OPTARG ;; a) archive=$OPTARG ;; t) limit=$OPTARG ;; q) quick=yes ;;
    p) [ -d "$OPTARG" ] || fail 2 "-p $OPTARG: no such folder"; programs="$programs $(cd "$OPTARG" && pwd)" ;;
    *) fail 2 "see the head of $0" ;;
  esac
done
shift $((OPTIND - 1))
# Step, and how many seconds it may take, or each job of it: the most valuable first; jobs stand together, between what measures time.
known='attributes:30 calibrate:90 compare:150 probe:60 record:75 programs:100 live:60 tests:100 sanitizer:60 paced:90'
jobs=' record programs live tests sanitizer '
names=$(echo "$known" | sed 's/:[0-9]*//g')
steps=${*:-$names}
for step in $steps; do
  case " $names " in *" $step "*) ;; *) fail 2 "no step is called '$step'; there are $names" ;; esac
done
GEMEM_SRCDIR=${GEMEM_SRCDIR:-$here}
. "$GEMEM_SRCDIR/tests/util/env.sh"
folder=${folder:-$GEMEM_SRCDIR/results/gpu} python=${PYTHON:-python3}
[ -d "$GEMEM_BUILDDIR/python" ] && packed=$GEMEM_BUILDDIR/python || packed=$GEMEM_SHARED/gpu
programs=${programs:-$packed/programs $packed/cases}
[ -z "$quick" ] || export GEMEM_QUICK=1
case $device in *:*=*) more=, ;; *) more=: ;; esac # before further settings

# ---- on what
work=$(mktemp -d) || exit 99
top=$work # a job has a $work of its own
trap 'rm -rf "$top"' EXIT
gemem-sim generate random:events=10,live=5,size_max=1MiB -o "$work/small.gmt" || exit 1
if ! gemem-sim replay "$work/small.gmt" -a direct -d "$device" --manifest "$top/machine.json" >/dev/null 2>"$work/err"; then
  cat "$work/err" >&2
  exit 77
fi
of () { sed -n "s/^ *\"$1\": \"\\(.*\\)\",\\{0,1\\}\$/\\1/p" "$top/machine.json" | head -n 1; }
hardware=$(of hardware) driver=$(of gpu_driver)
case $hardware in
  *stand-in*)
    note="STAND-IN DRIVER, NOT A GPU: these figures mean nothing but that the script works."
    case $(realpath -m "$folder") in "$(realpath -m "$GEMEM_SRCDIR/results/gpu")"*) fail 2 "this is the stand-in driver; results/gpu is for GPUs, give -o a temporary folder" ;; esac ;;
  *) note= ;;
esac
name=$(echo "${hardware%%, CUDA*}" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')
mkdir -p "$folder/tap" "$folder/plots" "$folder/live" "$folder/recorded" "$folder/programs" "$folder/failed" "$folder/.steps" || exit 1
folder=$(cd "$folder" && pwd)
profile=$folder/$name.ini
provenance () {
  [ -z "$note" ] || printf '**%s**\n\n' "$note"
  printf '%s; %s; %s, %s; %s%s; %s UTC\n' "$hardware" "${driver:-no version of the kernel driver}" "$(of processor)" "$(of kernel)" \
    "$(gemem-sim version | head -n 1)" "$(git -C "$GEMEM_SRCDIR" log -1 --format=' at %h' 2>/dev/null || sed 's/^/ at /' "$GEMEM_BUILDDIR/commit" 2>/dev/null)" \
    "$(date -u '+%Y-%m-%d %H:%M')"
}

# ---- steps; each leaves its files, and fails if something is not as it should be
end=$((began + limit)) until=$((began + limit))
left () { echo $((until - $(date +%s))); }
# A Python program that runs out of time says where it was: SIGABRT has its stacks printed.
export PYTHONFAULTHANDLER=1; ulimit -c 0
# within STEP: what begins now may take the time of that step.
within () {
  until=$(($(date +%s) + $(echo "$known" | sed "s/.*$1:\([0-9]*\).*/\1/")))
  [ $until -le $end ] || until=$end
}
bounded () {
  if [ "$(left)" -le 0 ]; then echo 'no time is left'; return 124; fi
  timeout -s ABRT -k 5 "$(left)" "$@"
}

# built NAME: the program of tests/gpu, which may not be built where there are no CUDA headers.
built () {
  program=$GEMEM_BUILDDIR/tests/gpu/$1
  [ -x "$program" ] || make -s -C "$GEMEM_BUILDDIR" "tests/gpu/$1" >/dev/null 2>&1 || { echo "$1 is not built"; return 1; }
  ordinal=$(echo "$device" | sed -n 's/^cuda:\([0-9][0-9]*\).*/\1/p')
}

# The runtime is the one that PyTorch came with, if there is one.
step_attributes () {
  built attributes || return 1
  runtime=$(bounded "$python" -c 'import glob, nvidia
print(*[f for p in nvidia.__path__ for f in glob.glob(p + "/**/libcudart.so.*", recursive=True)][:1])' 2>/dev/null)
  bounded "$program" ${runtime:+-r "$runtime"} "${ordinal:-0}" >"$work/attributes" || return 1
  { provenance | sed 's/^/# /'; cat "$work/attributes"; } >"$folder/$name.attributes"
}

step_probe () {
  built probe || return 1
  { provenance | sed 's/^/# /'; bounded "$program" "$GEMEM_SRCDIR/tests/gpu/probe.txt" "${ordinal:-0}"; } >"$folder/probe.log"
}

step_calibrate () {
  bounded gemem-sim calibrate -d "$device" --repeats "$([ -n "$quick" ] && echo 5 || echo 50)" -o "$work/new.ini" || return 1
  { [ -z "$note" ] || echo "# $note"; cat "$work/new.ini"; } >"$profile"
}

# report NAME TITLE ARGUMENT...: one comparison as Markdown, CSV and JSON, with pictures in plots/NAME.
report () {
  report=$1 title=$2; shift 2
  [ -e "$profile" ] || { echo "there is no $profile yet: run the step calibrate first"; return 1; }
  (cd "$GEMEM_SRCDIR" && bounded gemem-sim compare "$@" -d "$device${more}profile=$profile" --measure -f json -o "$folder/$report.json" \
    --manifest "$folder/$report.manifest.json" --plots "$folder/plots/$report") || return 1
  { printf '# %s\n\n' "$title"; provenance; echo; gemem-sim plot -v "$folder/$report.json" -f markdown; } >"$folder/$report.md"
  { provenance | sed 's/^/# /'; gemem-sim plot "$folder/$report.json" -f csv; } >"$folder/$report.csv"
}

allocators='-a direct -a pytorch-caching'
[ -n "$quick" ] || allocators="$allocators -a paddle-auto-growth -a paddle-vmm-auto-growth -a paddle-best-fit -a ge-scalable -a ge-expandable -a ge-bins"
traces=traces/recorded/vit-train.gmt # as the source names them: reports are read elsewhere
[ -n "$quick" ] || traces='traces/recorded/vit-train.gmt traces/recorded/resnet50-train.gmt traces/recorded/gpt2-train.gmt traces/recorded/llama-train.gmt traces/recorded/llama-decode.gmt'

step_compare () {
  # shellcheck disable=SC2086 # words
  report compare 'Predicted and real time in the allocator: each trace once, from an empty cache' $traces $allocators
}

# Takes as long as the recording, twice for each allocator.
step_paced () {
  few='-a pytorch-caching'
  [ -n "$quick" ] || few="$few -a paddle-auto-growth -a ge-expandable"
  # shellcheck disable=SC2086 # words
  report paced 'Latencies at the recorded pace, streams busy as recorded, after a warm-up' traces/recorded/vit-train.gmt $few \
    --pace recorded --occupy --warm-up 1
}

# live, record and programs.
. "$GEMEM_SRCDIR/tests/gpu/collect-torch.sh"

# A test that is skipped says why in its output; only what failed is counted.
jobs_tests () {
  [ ! -e "$GEMEM_BUILDDIR/Makefile" ] || make -s -C "$GEMEM_BUILDDIR" tests/gpu/test-gpu-device tests/programs/plugin-broken.la >/dev/null 2>&1
  for test in "$GEMEM_SRCDIR"/tests/gpu/test-*.sh "$GEMEM_SRCDIR"/tests/gpu/test-*.c; do echo one_test "$(basename "$test")"; done
}

one_test () { # FILE
  tap=$folder/tap/${1%.*}.tap run=$GEMEM_SRCDIR/tests/gpu/$1
  case $1 in *.c) run=$GEMEM_BUILDDIR/tests/gpu/${1%.c} ;; esac
  { provenance | sed 's/^/# /'; if [ -x "$run" ]; then (cd "$work" && bounded "$run" 2>&1); else echo "1..0 # SKIP not built"; fi; } >"$tap"
  status=$?
  [ "$status" -ne 0 ] || ! grep -q '^not ok' "$tap" || status=1
  [ "$status" -eq 0 ] || echo "${1%.*}.tap: $(grep -c '^not ok' "$tap") points failed, exit status $status"
  return "$status"
}

jobs_sanitizer () {
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  [ -n "$tool" ] || { echo 'compute-sanitizer is not there: left out' >&2; return; }
  [ -z "$note" ] || { echo 'compute-sanitizer knows nothing of the stand-in driver: left out' >&2; return; }
  gemem-sim generate random:events=3000,live=100,size_max=64KiB,streams=3 -o "$top/sound.gmt"
  for check in memcheck racecheck initcheck synccheck; do
    for mode in malloc vmm async; do echo sanitize "$tool" "$check" "$mode"; done
  done
}

sanitize () { # TOOL CHECK MODE
  echo "== $2, mode=$3" >"$work/rows"
  bounded "$1" --target-processes all --tool "$2" --error-exitcode 9 "$GEMEM_BUILDDIR/gemem-sim" replay "$top/sound.gmt" \
    -a pytorch-caching -d "$device${more}mode=$3" --touch -o "$work/report" >>"$work/rows" 2>&1 && return
  echo "compute-sanitizer, $2, mode=$3: exit status $?, see sanitizer.txt"
  return 1
}

gather_sanitizer () { { provenance; cat "$1"; } >"$folder/sanitizer.txt"; }

# ---- jobs of several steps, six at a time.  Each has a folder, called after its number and step, that is its $work; there it leaves what it said, the rows
# that it adds to its step's report, and `ended`: when it began and ended, and its exit status.
together () { # STEP...
  mkdir "$top/jobs" || return 1
  for step; do "jobs_$step" 2>"$top/jobs/left-out.$step" | sed "s/^/$step /"; done | nl -n rz -w 4 -s ' ' >"$top/jobs/list"
  for _ in 1 2 3 4 5 6; do work_off & done
  wait
}

work_off () {
  while read -r number step job; do
    work=$top/jobs/$number.$step
    mkdir "$work" 2>/dev/null || continue # another slot has it
    within "$step"
    started=$(date +%s)
    # shellcheck disable=SC2086 # words
    if [ "$(left)" -gt 0 ]; then $job >"$work/said" 2>&1 </dev/null; else echo "no time was left for $job" >"$work/said"; false; fi
    status=$?
    [ $status -eq 0 ] || [ ! -s "$work/err" ] || tail -n 60 "$work/err" >"$folder/failed/$number.$step.txt"
    echo "$status $started $(date +%s)" >"$work/ended"
  done <"$top/jobs/list"
}

gathered () { # STEP: what is known of its jobs, as step_NAME would tell
  set -- "$1" "$top/jobs/rows.$1"
  cat "$top"/jobs/*."$1"/rows >"$2" 2>/dev/null
  if [ -s "$2" ] && command -v "gather_$1" >/dev/null; then "gather_$1" "$2"; fi
  cat "$top/jobs/left-out.$1" "$top"/jobs/*."$1"/said 2>/dev/null
  ! cat "$top"/jobs/*."$1"/ended 2>/dev/null | grep -q '^[^0]'
}

# ---- the run
failed=0
note_step () { # STEP STATE SECONDS SAID
  [ "$2" = ok ] || failed=1
  printf '| %s | %s | %s s | %s | %s |\n' "$1" "$2" "$3" "$(date -u '+%Y-%m-%d %H:%M')" "$(printf '%s' "$4" | tr '\n|' '; ')" >"$folder/.steps/$1"
  echo "$1: $2${4:+ ($4)}"
}

one_step () { # STEP
  within "$1"
  started=$(date +%s)
  if [ "$(left)" -le 0 ]; then
    note_step "$1" 'not run' 0 'no time was left'
  elif said=$("step_$1" 2>&1); then note_step "$1" ok $(($(date +%s) - started)) "$said"
  else
    note_step "$1" failed $(($(date +%s) - started)) "$said"
  fi
}

all_jobs () { # STEP...
  until=$end
  [ "$(left)" -gt 0 ] || { for step; do note_step "$step" 'not run' 0 'no time was left'; done; return; }
  together "$@"
  for step; do
    took=$(cat "$top"/jobs/*."$step"/ended 2>/dev/null | awk '{ if (!n++ || $2 < first) first = $2; if ($3 > last) last = $3 } END { print last - first }')
    if said=$(gathered "$step"); then note_step "$step" ok "$took" "$said"; else note_step "$step" failed "$took" "$said"; fi
  done
}

beside=
for step in $steps; do case $jobs in *" $step "*) beside="$beside $step" ;; esac; done
for step in $steps; do
  case $jobs in
    *" $step "*)
      # shellcheck disable=SC2086 # words
      [ -z "$beside" ] || all_jobs $beside
      beside= ;;
    *) one_step "$step" ;;
  esac
done
{
  printf '# What only a GPU can tell\n\n'
  provenance
  printf '\nMade by `tests/gpu/collect.sh`, whose head says what each file is. Its last calls:\n\n| step | ended | took | at (UTC) | said |\n| --- | --- | ---: | --- | --- |\n'
  for step in $names; do cat "$folder/.steps/$step" 2>/dev/null || echo "| $step | not run | | | |"; done
} >"$folder/README.md"
most=${GEMEM_PART:-15728640}
if [ -n "$archive" ]; then
  tar -czf "$archive" -C "$(dirname "$folder")" "$(basename "$folder")" || failed=1
  [ "$(wc -c <"$archive")" -le "$most" ] || { split -b "$most" "$archive" "$archive." && rm "$archive"; } || failed=1
fi
exit $failed
