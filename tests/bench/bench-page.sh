#!/bin/sh
# bench-page.sh - how long the page of `gemem-sim report` takes: to be made, until it is seen, and for one step of zoom (page-times.py).
# No rows where there is no browser or no python3.  GEMEM_BENCH_QUICK=1: the small recording alone.
set -eu
times=$GEMEM_SRCDIR/tests/bench/page-times.py
{ command -v python3 && python3 "$times"; } >/dev/null || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

page () { # NAME ITERATIONS
  # as PyTorch's allocator would have recorded it, so that the rows are what its users can set
  { gemem-sim generate -q "transformer-train:iterations=$2" -o "$work/made.gmt" &&
      gemem-sim replay -q "$work/made.gmt" -a pytorch-caching --record="$work/page.gmt"; } >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  began=$(date +%s.%N)
  gemem-sim report "$work/page.gmt" -o "$work/page.html" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  ended=$(date +%s.%N)
  if grep -q 'built without d3' "$work/log"; then exit 0; fi
  echo "$began $ended" | awk -v name="$1" '{ printf "{\"bench\":\"page-made\",\"workload\":\"%s\",\"seconds\":%.3f}\n", name, $2 - $1 }'
  python3 "$times" "$work/page.html" "$1"
}

page '24 000 events' 26
[ -n "${GEMEM_BENCH_QUICK:-}" ] || page '10 million events' 10711
