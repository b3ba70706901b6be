#!/bin/sh
# test-bench.sh - every bench runs (with tiny sizes), and `make bench` tells a regression from a change that is none.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
bench=$GEMEM_SRCDIR/tests/bench/run-bench.sh
programs=$GEMEM_BUILDDIR/tests/bench
GEMEM_BENCH_QUICK=1 GEMEM_BENCH_RESULTS=bench.json GEMEM_BENCH_BASELINE=baseline.json VALGRIND=no
export GEMEM_BENCH_QUICK GEMEM_BENCH_RESULTS GEMEM_BENCH_BASELINE VALGRIND
command -v jq >/dev/null || { echo "1..0 # SKIP jq is not installed"; exit 0; }

holds () { check "bench.json: $1" jq -e "$1" bench.json; } # FILTER

# ---- every bench runs and is understood
if [ -n "${GEMEM_QUICK:-}" ]; then
  skip 'every bench runs' 'GEMEM_QUICK: a bench under sanitizers and full checks takes minutes and measures nothing'
else
  for source in "$GEMEM_SRCDIR"/tests/bench/bench-*.c; do
    program=$programs/$(basename "$source" .c)
    [ "$program" != "$programs/bench-instructions" ] || continue
    rm -f bench.json
    run 0 "$bench" "$program"
    holds '.rows | length > 0 and all(.bench | type == "string")'
  done
  run 0 "$programs/bench-readers" list
  says out '^8 rmm-csv$'
  run 0 "$programs/bench-instructions" list
  says out '^replay direct 100000$'
  says out '^read native 100000$'
  cp "$out" list
  while read -r what name events; do
    run 0 "$programs/bench-instructions" "$what" "$name" "$events"
  done <list
fi
if [ -z "${GEMEM_QUICK:-}" ] && sh "$GEMEM_SRCDIR/tests/bench/bench-page.sh" >rows && [ -s rows ]; then
  run 0 "$bench" --rows rows
  holds '[.rows[] | select (.bench == "page-paint" or .bench == "page-zoom") | .ms > 0] | length == 2 and all'
else skip 'a page is timed' 'no browser, no python3, no d3, or GEMEM_QUICK'; fi
run 0 "$programs/bench-flatness" ge-bins any 1000
says out '^\{"what":"flatness ge-bins any 1000","events":[0-9]+\}$'
run 2 "$programs/bench-flatness" ge-bins all 1000
run 2 "$programs/bench-instructions" replay nothing 2000
run 2 "$programs/bench-instructions"
run 2 "$programs/bench-readers" 8 nothing

# ---- the verdicts; the figures are made up
row () { printf '{"bench":"replay","trace":"training","allocator":"%s","ns_per_event":%s,"events_per_s":%s}\n' "$1" "$2" "$3"; }
count () { printf '{"bench":"instructions","what":"replay direct","instructions_per_event":%s}\n' "$1"; }
{ row direct 40 20000000; row ge-scalable 80 4999999; count 500; } >rows
run 0 "$bench" --rows rows
says out ': 1 met, 1 missed; 0 ratios compared'
says out ' training direct .* >= 20 M/s  PASS$'
says out ' training ge-scalable .* >= 5 M/s  MISS$'
holds '.rows | length == 3'
holds '.goals == {met: 1, missed: 1}'
run 0 "$bench" --baseline --rows rows
check "the baseline holds the ratios" \
  jq -e '.ratios == {"time: replay training ge-scalable over direct": 2, "instructions: replay direct": 500}' baseline.json

# ---- flatness: 90 ns more are worth three visits to memory, of 30 ns more each; instructions may grow by a half
flatness () { # INSTRUCTIONS at 10000 live blocks, where 1000 take 100
  for live in 1000 10000; do
    printf '{"bench":"flatness","allocator":"direct","workload":"any","live":%s,"ns_per_event":%s,"ns_per_touch":%s}\n' \
      $live $((live / 100)) $((live / 300))
  done
  printf '{"bench":"instructions","what":"flatness direct any %s","instructions_per_event":%s}\n' 1000 100 10000 "$1"
}
flatness 149 >rows
run 0 "$bench" --rows rows
says out '^live blocks +1000 +10000 +growth +a visit +growth in visits$'
says out '^direct +any +10 ns +100 ns +10 x +33 ns +3$'
says out '^flatness-instructions +any direct +149 instr +1.49 x +< 1.5 x +PASS$'
check 'time is judged for recent blocks alone' sh -c '! grep -q flatness-time "$1"' x "$out"
flatness 149 | sed 's/"any"/"recent"/' >rows
run 0 "$bench" --rows rows
says out '^flatness-time +recent direct +100 ns +10 x +< 1.5 x +MISS$'
flatness 151 >rows
run 5 "$bench" --rows rows
says out '^regression: flatness-instructions any direct: 1.51, and the goal is < 1.5 x$'

# All twice as slow, and a tenth more instructions: no regression.
{ row direct 80 12500000; row ge-scalable 160 2499999; count 550; } >rows
run 0 "$bench" --rows rows
says out ' 2 ratios compared with the baseline, 0 worse'
check 'every ratio has a baseline' sh -c '! grep -q "^without a baseline" "$1"' x "$out"
# An allocator that came later.
{ row direct 40 25000000; row ge-scalable 80 5000000; row tf-bfc 90 4000000; count 500; } >rows
run 0 "$bench" --rows rows
says out '^without a baseline: 1, as time: replay training tf-bfc over direct; make bench-baseline writes one$'
# More than a tenth.
{ row direct 40 25000000; row ge-scalable 80 5000000; count 550.6; } >rows
run 5 "$bench" --rows rows
says out '^regression: instructions: replay direct: 550.6 now, 500 in the baseline \(10 % more\)$'
holds '.regressions | length == 1'
# Half as slow again beside direct.
{ row direct 40 25000000; row ge-scalable 121 8200000; count 500; } >rows
run 5 "$bench" --rows rows
says out '^regression: time: replay training ge-scalable over direct: 3.025 now, 2 in the baseline \(51 % more\)$'
# Another compiler's counts are not compared, and what is missing is said.
{ row direct 40 25000000; count 900; } >rows
jq '.environment = {compiler: "other"}' baseline.json >other && mv other baseline.json
run 0 "$bench" --rows rows
says out '^skipped: instruction counts are not compared: the baseline was made by \{"compiler":"other"\}'
says out '^skipped: time: replay training ge-scalable over direct: in the baseline, but not measured in this run$'
says out ' 0 ratios compared '

# ---- failures
printf '#!/bin/sh\necho oops\n' >bench-broken; chmod +x bench-broken
run 1 "$bench" ./bench-broken
says err 'bench-broken printed something else than rows$'
printf '#!/bin/sh\nexit 3\n' >bench-broken
run 1 "$bench" ./bench-broken
says err 'bench-broken failed with status 3$'
run 2 "$bench"
run 2 "$bench" --fast
done_testing
