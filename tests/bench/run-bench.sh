#!/bin/sh
# run-bench.sh - runs the benches and says what they mean: `make bench`.
#
#   run-bench.sh [--baseline] [--rows FILE] PROGRAM...
#
# Each PROGRAM prints one JSON object per line.  All rows, with the environment and the date, go to results/bench.json; a table with the
# goals beside each figure to standard output.  Ratios (tests/bench/report.jq) are compared with tests/bench/baseline.json;
# --baseline writes that file instead.  --rows takes the rows from FILE instead of running anything.
# Exit status: 0; 1 a bench failed; 2 usage; 5 a ratio is worse than the baseline allows, or a goal with "must" is missed, each one named.
# VALGRIND names valgrind ("no": count no instructions); GEMEM_BENCH_QUICK=1 only tries whether everything runs.
set -eu
LC_ALL=C; export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
goals=$here/goals.json
baseline=${GEMEM_BENCH_BASELINE:-$here/baseline.json}
results=${GEMEM_BENCH_RESULTS:-results/bench.json}
valgrind=${VALGRIND:-$(command -v valgrind || echo no)}

say () { printf 'bench: %s\n' "$*" >&2; }
die () { status=$1; shift; printf 'bench: error: %s\n' "$*" >&2; exit "$status"; }

write_baseline=no given=
while [ $# -gt 0 ]; do
  case $1 in
    --baseline) write_baseline=yes ;;
    --rows) shift; given=${1:?} ;;
    -*) die 2 "unknown option $1; see the head of $0" ;;
    *) break ;;
  esac
  shift
done
command -v jq >/dev/null || die 1 "jq is needed to read the figures; ./bootstrap installs it, or apt-get install jq"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
rows=$work/rows
: >"$rows"
skipped=
environment=null

# What callgrind counts in counted(), per event; with $start, from where the program says so.  The C library's choice of copying loops is pinned, as it depends on the machine.
start=
count () { # PROGRAM ARGUMENT...
  # shellcheck disable=SC2086 # no word where $start is empty
  GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824 \
    "$valgrind" --quiet --tool=callgrind $start --callgrind-out-file="$work/callgrind" --toggle-collect=counted "$@" >"$work/out" 2>"$work/log" || {
    cat "$work/log" >&2; die 1 "$* failed under valgrind"; }
  total=$(sed -n 's/^totals: //p' "$work/callgrind")
  [ "${total:-0}" -gt 0 ] || die 1 "callgrind counted nothing in $*"
  jq -c --argjson total "$total" '{bench: "instructions", what: (.what // .bench), events, instructions_per_event: ($total / .events)}' "$work/out" >>"$rows"
}

count_all () { # PROGRAM with a list of what can be counted
  [ "$valgrind" != no ] || return 0
  say "counting instructions of ${1##*/}"
  "$1" list >"$work/list"
  while read -r arguments; do
    # shellcheck disable=SC2086 # words on purpose
    count "$1" $arguments </dev/null
  done <"$work/list"
}

execute () { # PROGRAM
  say "running ${1##*/}"
  "$1" >"$work/out" || die 1 "$1 failed with status $?"
  jq -c 'if type == "object" and has ("bench") then . else error ("a row without a bench") end' "$work/out" >>"$rows" \
    || die 1 "$1 printed something else than rows"
}

[ "$valgrind" != no ] || skipped="valgrind is not installed: no instructions were counted"
for program do
  case $program in
    *bench-instructions) environment=$("$program" environment); count_all "$program" ;;
    *bench-readers) execute "$program"; count_all "$program" ;;
    *bench-flatness) execute "$program"; start=--instr-atstart=no; count_all "$program"; start= ;;
    *) execute "$program" ;;
  esac
done
[ -z "$given" ] || cat "$given" >"$rows"
[ -s "$rows" ] || die 2 "no bench was named; use: make bench"

[ -e "$baseline" ] && old=$baseline || old=/dev/null
[ $write_baseline = no ] || old=/dev/null
jq -n -f "$here/report.jq" --slurpfile rows "$rows" --slurpfile goals "$goals" --slurpfile baseline "$old" \
  --argjson environment "$environment" >"$work/report"

mkdir -p "$(dirname "$results")"
jq -n --slurpfile rows "$rows" --slurpfile report "$work/report" --argjson environment "$environment" --arg skipped "$skipped" \
  --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --arg cpu "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)" \
  --arg load "$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || :)" \
  '{schema: 1, date: $date, cpu: $cpu, load: $load, environment: $environment, skipped: ($report[0].skipped + [$skipped | select (. != "")]),
    goals: $report[0].goals, regressions: $report[0].regressions, ratios: $report[0].ratios, rows: $rows}' >"$results.tmp"
mv "$results.tmp" "$results"

align () { # COLUMNS aligned to the left, like "1 2 6"; the others go to the right
  awk -F '\t' -v left=" $1 " '
    { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length ($i) > width[i]) width[i] = length ($i) } ; if (NF > columns) columns = NF }
    END { for (r = 1; r <= NR; r++) { line = ""
            for (i = 1; i <= columns; i++) line = line sprintf (index (left, " " i " ") ? "%-" width[i] "s  " : "%" width[i] "s  ", cell[r, i])
            sub (/ +$/, "", line); print line } }'
}
jq -r '.table[] | @tsv' "$work/report" | align "1 2 6"
jq -r 'if .live != [] then "" else empty end' "$work/report"
jq -r '.live[] | @tsv' "$work/report" | align 1
jq -r --arg file "$results" --arg skipped "$skipped" '
  "", "goals: \(.goals.met) met, \(.goals.missed) missed; \(.compared) ratios compared with the baseline, \(.regressions | length) worse; all figures: \($file)",
  (if .unknown == [] then empty else "without a baseline: \(.unknown | length), as \(.unknown[0]); make bench-baseline writes one" end),
  (.skipped[], ($skipped | select (. != "")) | "skipped: " + .), (.regressions[] | "regression: " + .)' "$work/report"

if [ $write_baseline = yes ]; then
  jq --argjson environment "$environment" '{environment: $environment, ratios: (.ratios | map_values (. * 1000 | round / 1000))}' "$work/report" >"$work/baseline"
  cat "$work/baseline" >"$baseline"
  say "wrote $baseline"
  exit 0
fi
[ "$(jq '.regressions | length' "$work/report")" = 0 ] || exit 5
