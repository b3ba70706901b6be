#!/bin/sh
# collect.sh - everything that only a GPU can tell, in one go: for results/gpu, with the name of the GPU, driver, version of CUDA and date in every report.
#
#   tests/gpu/collect.sh [-d DEVICE] [-o FOLDER] [-t SECONDS] [-q] [STEP...]
#     -d DEVICE   cuda:0 by default; any settings of it but a profile
#     -o FOLDER   results/gpu by default
#     -t SECONDS  540 by default: a step gets what is left, and what finds none is named, to be run by another call with the same folder
#     -q          quick: one trace, two allocators; to try the script
#     STEP        calibrate compare paced tests live record sanitizer; all by default, in this order.  compare and paced need the profile of calibrate.
#
# Runs in a build, or what pack.sh made of one (GEMEM_BUILDDIR, by default here), of the source (GEMEM_SRCDIR, by default that of the script); needs no
# network.  live and record are left out where python3 (or PYTHON) has no PyTorch for the GPU.  Files:
#   NAME.ini             the calibrated profile; NAME is that of the GPU
#   compare.md csv json  the recorded traces through allocators: predicted and real time, the error, latencies with their histograms; compare.manifest.json
#   paced.md csv json    the same at the recorded pace with work on the streams, one trace
#   plots/NAME           pictures of both
#   tap/NAME.tap         what the GPU tests said; sanitizer.txt
#   live.md live/        PyTorch training and serving on our allocators and on its own: time and memory; the statistics of each run
#   recorded.md recorded/NAME.gmt   recordings of PyTorch's own allocator, and whether pytorch-caching decides the same; gemem-record beside it
#   README.md            on what all that was found, and how each step ended
# Exit status: 0 all steps went well, 1 some did not, 2 wrong use, 77 no GPU.  On the stand-in driver of the tests it says so everywhere, and refuses results/gpu.
# shellcheck disable=SC1007 disable=SC2317 # empty values; functions that are called by name
device=cuda:0 folder= limit=540 quick= began=$(date +%s)
here=$(cd "$(dirname "$0")/../.." && pwd)
fail () { echo "collect.sh: $2" >&2; exit "$1"; }
while getopts d:o:t:q option; do
  case $option in
    d) device=$OPTARG ;; o) folder=$OPTARG ;; t) limit=$OPTARG ;; q) quick=yes ;;
    *) fail 2 "see the head of $0" ;;
  esac
done
shift $((OPTIND - 1))
known='calibrate compare paced tests live record sanitizer'
steps=${*:-$known}
for step in $steps; do
  case " $known " in *" $step "*) ;; *) fail 2 "no step is called '$step'; there are $known" ;; esac
done
GEMEM_SRCDIR=${GEMEM_SRCDIR:-$here}
. "$GEMEM_SRCDIR/tests/util/env.sh"
folder=${folder:-$GEMEM_SRCDIR/results/gpu}
[ -z "$quick" ] || export GEMEM_QUICK=1
case $device in *:*=*) more=, ;; *) more=: ;; esac # before further settings

# ---- on what
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
gemem-sim generate random:events=10,live=5,size_max=1MiB -o "$work/small.gmt" || exit 1
if ! gemem-sim replay "$work/small.gmt" -a direct -d "$device" --manifest "$work/machine.json" >/dev/null 2>"$work/err"; then
  cat "$work/err" >&2
  exit 77
fi
of () { sed -n "s/^ *\"$1\": \"\\(.*\\)\",\\{0,1\\}\$/\\1/p" "$work/machine.json" | head -n 1; }
hardware=$(of hardware) driver=$(of gpu_driver)
case $hardware in
  *stand-in*)
    note="STAND-IN DRIVER, NOT A GPU: these figures mean nothing but that the script works."
    case $(realpath -m "$folder") in "$(realpath -m "$GEMEM_SRCDIR/results/gpu")"*) fail 2 "this is the stand-in driver; results/gpu is for GPUs, give -o a temporary folder" ;; esac ;;
  *) note= ;;
esac
name=$(echo "${hardware%%, CUDA*}" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')
mkdir -p "$folder/tap" "$folder/plots" "$folder/live" "$folder/recorded" "$folder/.steps" || exit 1
folder=$(cd "$folder" && pwd)
profile=$folder/$name.ini
provenance () {
  [ -z "$note" ] || printf '**%s**\n\n' "$note"
  printf '%s; %s; %s, %s; %s%s; %s UTC\n' "$hardware" "${driver:-no version of the kernel driver}" "$(of processor)" "$(of kernel)" \
    "$(gemem-sim version | head -n 1)" "$(git -C "$GEMEM_SRCDIR" log -1 --format=' at %h' 2>/dev/null || sed 's/^/ at /' "$GEMEM_BUILDDIR/commit" 2>/dev/null)" \
    "$(date -u '+%Y-%m-%d %H:%M')"
}

# ---- steps; each leaves its files, and fails if something is not as it should be
left () { echo $((limit - $(date +%s) + began)); }
bounded () {
  if [ "$(left)" -le 0 ]; then echo 'no time is left'; return 124; fi
  timeout -k 10 "$(left)" "$@"
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

# A test that is skipped says why in its output; only what failed is counted.
step_tests () {
  bad=0
  [ ! -e "$GEMEM_BUILDDIR/Makefile" ] || bounded make -s -C "$GEMEM_BUILDDIR" tests/gpu/test-gpu-device tests/programs/plugin-broken.la >/dev/null 2>&1
  for test in "$GEMEM_SRCDIR"/tests/gpu/test-*.sh "$GEMEM_SRCDIR"/tests/gpu/test-*.c; do
    tap=$folder/tap/$(basename "${test%.*}").tap run=$test
    case $test in *.c) run=$GEMEM_BUILDDIR/tests/gpu/$(basename "$test" .c) ;; esac
    { provenance | sed 's/^/# /'; if [ -x "$run" ]; then (cd "$work" && bounded "$run" 2>&1); else echo "1..0 # SKIP not built"; fi; } >"$tap"
    status=$?
    if [ $status -ne 0 ] || grep -q '^not ok' "$tap"; then bad=$((bad + 1)); echo "$(basename "$tap"): $(grep -c '^not ok' "$tap") points failed, exit status $status"; fi
  done
  [ $bad -eq 0 ]
}

# live and record.
. "$GEMEM_SRCDIR/tests/gpu/collect-torch.sh"

step_sanitizer () {
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  [ -n "$tool" ] || { echo 'compute-sanitizer is not there: left out'; return 0; }
  [ -z "$note" ] || { echo 'compute-sanitizer knows nothing of the stand-in driver: left out'; return 0; }
  : >"$folder/sanitizer.txt"
  gemem-sim generate random:events=3000,live=100,size_max=64KiB,streams=3 -o "$work/sound.gmt" || return 1
  provenance >>"$folder/sanitizer.txt"
  for check in memcheck racecheck initcheck synccheck; do
    for mode in malloc vmm async; do
      echo "== $check, mode=$mode" >>"$folder/sanitizer.txt"
      bounded "$tool" --target-processes all --tool "$check" --error-exitcode 9 "$GEMEM_BUILDDIR/gemem-sim" \
        replay "$work/sound.gmt" -a pytorch-caching -d "$device${more}mode=$mode" --touch -o "$work/report" >>"$folder/sanitizer.txt" 2>&1 ||
        { echo "compute-sanitizer, $check, mode=$mode: exit status $?, see sanitizer.txt"; return 1; }
    done
  done
}

# ---- the run
failed=0
for step in $steps; do
  started=$(date +%s)
  if [ "$(left)" -le 0 ]; then
    said='no time was left' state='not run'
    failed=1
  elif said=$("step_$step" 2>&1); then state=ok
  else
    state=failed failed=1
  fi
  printf '| %s | %s | %s s | %s | %s |\n' "$step" "$state" "$(($(date +%s) - started))" "$(date -u '+%Y-%m-%d %H:%M')" "$(printf '%s' "$said" | tr '\n|' '; ')" >"$folder/.steps/$step"
  echo "$step: $state${said:+ ($said)}"
done
{
  printf '# What only a GPU can tell\n\n'
  provenance
  printf '\nMade by `tests/gpu/collect.sh`, whose head says what each file is. Its last calls:\n\n| step | ended | took | at (UTC) | said |\n| --- | --- | ---: | --- | --- |\n'
  for step in $known; do cat "$folder/.steps/$step" 2>/dev/null || echo "| $step | not run | | | |"; done
} >"$folder/README.md"
exit $failed
