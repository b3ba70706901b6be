#!/bin/sh
# test-cli-ge.sh - `ge` on the command line: settings that GE's manual forbids or does not list, what is documented and what is built, runs that share
# memory and overlap, graphs in the wrong order, several devices in one trace.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# refused STATUS PATTERN COMMAND...: the status, exactly one line on stderr, of the agreed form, and it matches.
refused () {
  want=$1 pattern=$2; shift 2
  run "$want" "$@"
  says err "^gemem-sim: error: $pattern"
  check 'one line, and it says what to do' sh -c "test \$(wc -l < $err) = 1 && grep -q '; ' $err"
}

# trace LINE...: a text trace of these events
trace () { echo '# gemem-trace: 1'; printf '%s\n' "$@"; echo "# end: $#"; }

trace 'graph-load 1 size=3145728' 'graph-load 2 size=5242880' 'graph-run 1' 'alloc 9 size=1000' 'graph-run-end 1' 'graph-run 2' 'graph-run-end 2' \
  'free 9' 'graph-unload 1' 'graph-unload 2' > good.txt
trace 'graph-load 1 size=3145728' 'graph-load 2 size=5242880' 'graph-run 1' 'graph-run 2 stream=7' > overlap.txt

# ---- policies
for policy in 0 1 2 3 4; do run 0 gemem-sim replay -v good.txt -a "ge:static_memory_policy=$policy" -d sim:capacity=1GiB; done
for rules in as-built documented; do
  for policy in 5 02 '' two 2.5; do
    refused 2 "allocator ge: static_memory_policy='$policy': not one of 0, 1, 2, 3, 4" gemem-sim replay good.txt -a "ge:rules=$rules,static_memory_policy=$policy"
  done
done
# the variable: any other text counts as 0, as built; the manual does not list it
for policy in 5 02 '' two 2.5; do
  run 0 gemem-sim replay -v good.txt -a "ge:GE_USE_STATIC_MEMORY=$policy"
  says err "^gemem-sim: note: allocator ge: GE_USE_STATIC_MEMORY='$policy' counts as 0"
  check 'it is policy 0' sh -c "! grep -Eq '^  static_memory_policy +[0-9]' $out"
  run 0 env GE_USE_STATIC_MEMORY="$policy" gemem-sim replay -v good.txt -a ge --env
  says err "^gemem-sim: note: allocator ge: GE_USE_STATIC_MEMORY='$policy' counts as 0"
  refused 2 ".*allocator ge: GE_USE_STATIC_MEMORY='$policy': not one of 0, 1, 2, 3, 4" gemem-sim replay good.txt -a "ge:rules=documented,GE_USE_STATIC_MEMORY=$policy"
  refused 2 "with GE_USE_STATIC_MEMORY=$policy from the environment: allocator ge: .*not one of 0, 1, 2, 3, 4" \
    env GE_USE_STATIC_MEMORY="$policy" gemem-sim replay good.txt -a ge:rules=documented --env
done
for policy in 5 '' on; do run 0 gemem-sim replay -v good.txt -a "ge:as-built=yes,static_memory_policy=$policy"; done
refused 2 "allocator ge: rules='manual': not one of the choices" gemem-sim replay good.txt -a ge:rules=manual
refused 2 'allocator ge: rules=documented and as_built=yes contradict' gemem-sim replay good.txt -a ge:rules=documented,as_built=yes
run 0 gemem-sim replay -v good.txt -a ge:static_memory_policy=2,policy2=documented # its former name

# ---- both settings: a conflict by the manual, merged as built, said either way
for settings in GE_USE_STATIC_MEMORY=2,static_memory_policy=3 GE_USE_STATIC_MEMORY=2,static_memory_policy=2; do
  refused 2 'allocator ge: GE_USE_STATIC_MEMORY=2 and static_memory_policy=[23] conflict, the manual forbids both together; set static_memory_policy' \
    gemem-sim replay -v good.txt -a "ge:rules=documented,$settings"
  refused 2 'allocator ge: GE_USE_STATIC_MEMORY=2 and static_memory_policy=[23] conflict' gemem-sim replay good.txt -a "ge:strict=yes,$settings"
done
refused 2 'with GE_USE_STATIC_MEMORY=2 from the environment: allocator ge: .* conflict' \
  env GE_USE_STATIC_MEMORY=2 gemem-sim replay good.txt -a ge:static_memory_policy=3,rules=documented --env
run 0 gemem-sim replay -v good.txt -a ge:GE_USE_STATIC_MEMORY=2,static_memory_policy=3
says err '^gemem-sim: note: allocator ge: GE_USE_STATIC_MEMORY=2 and static_memory_policy=3 are merged to policy 4, '
says out '^  static_memory_policy +4'
# the variable is deprecated, wherever it comes from; the option is not
deprecated='^gemem-sim: note: allocator ge: GE_USE_STATIC_MEMORY is deprecated; use static_memory_policy'
run 0 gemem-sim replay -v good.txt -a ge:GE_USE_STATIC_MEMORY=1,rules=documented; says err "$deprecated"
run 0 env GE_USE_STATIC_MEMORY=2 gemem-sim compare -v good.txt -a 'ge:rules=*' --env; says err "$deprecated"
check 'said once' test "$(grep -c deprecated "$err")" = 1
run 0 gemem-sim replay -v good.txt -a ge:static_memory_policy=2; silent err
# planners answer as allocators do, and `plan` as an allocator for its planner
echo '{"nodes": [{"name": "A", "type": "Some", "outputs": [{"size": 512}]}]}' > one.json
of_planners='^gemem-sim: note: planners of GE: GE_USE_STATIC_MEMORY'
for planner in ge-hybrid ge-dynamic-batch ge-block ge-range-binary-block-ascending-frlr; do
  run 0 gemem-sim plan one.json -p "$planner:GE_USE_STATIC_MEMORY=2"; says err "$of_planners is deprecated; use static_memory_policy$"; lines 1
  run 0 gemem-sim plan one.json -p "$planner:GE_USE_STATIC_MEMORY=2,static_memory_policy=3"; says err "$of_planners=2 and static_memory_policy=3 are merged to policy 4,"
  for policy in 7 02 '' on; do
    run 0 env GE_USE_STATIC_MEMORY="$policy" gemem-sim plan one.json -p "$planner" --env; says err "$of_planners='$policy' counts as 0"
    refused 2 "planner $planner: GE_USE_STATIC_MEMORY='$policy': not one of" env GE_USE_STATIC_MEMORY="$policy" gemem-sim plan one.json -p "$planner:rules=documented" --env
    refused 2 "planner $planner: static_memory_policy='$policy': not one of 0, 1, 2, 3, 4" gemem-sim plan one.json -p "$planner:static_memory_policy=$policy"
  done
  for policy in 2 4; do
    refused 2 "planner $planner: GE_USE_STATIC_MEMORY=2 and static_memory_policy=$policy conflict" gemem-sim plan one.json -p "$planner:rules=documented,GE_USE_STATIC_MEMORY=2,static_memory_policy=$policy"
  done
done
run 0 gemem-sim plan one.json -p ge-dynamic-batch; silent err
run 0 gemem-sim replay -v one.json -a 'plan:planner="ge-hybrid:GE_USE_STATIC_MEMORY=2"'; says err "$of_planners is deprecated"
sed 's/^{/{"options": {"GE_USE_STATIC_MEMORY": 2}, /' one.json > set.json; run 0 gemem-sim plan set.json -p ge-hybrid; says err "$of_planners is deprecated"

# atomic_clean_policy is a matter of the compiler
refused 2 "allocator ge: atomic_clean_policy='2': not one of" gemem-sim replay good.txt -a ge:atomic_clean_policy=2
run 0 gemem-sim replay -v good.txt -a ge:atomic_clean_policy=0
says err '^gemem-sim: note: allocator ge: atomic_clean_policy has no effect here, .*; .*--lower=zero-clear:atomic_clean_policy='

# ---- graphs of 100, 300 and 200 MiB: the largest, or what is missing added; 38 and 50 pages of 8 MiB
trace 'graph-load 1 size=104857600' 'graph-load 2 size=314572800' 'graph-load 3 size=209715200' 'graph-run 1' 'graph-run-end 1' 'graph-run 2' \
  'graph-run-end 2' 'graph-run 3' 'graph-run-end 3' > three.txt
for allocator in ge:static_memory_policy= ge-active:policy=; do
  gemem-sim compare three.txt -a "${allocator}2|4,rules=documented|as-built" -f json --check |
    jq -r '.results[].measures.peak_reserved' | tr '\n' ' ' > three.out
  check "$allocator 300 MiB and 400, 304 and 400" grep -qx '314572800 419430400 318767104 419430400 ' three.out
done
run 0 gemem-sim compare -v three.txt -a ge:static_memory_policy=1 -a ge:static_memory_policy=2 # 1 is 2
says out '^ge:static_memory_policy=1\|2 '

run 0 gemem-sim replay -v good.txt -a ge:ge.exec.staticMemoryPolicy=2,atomic_clean_policy=1
run 0 env GE_USE_STATIC_MEMORY=4 gemem-sim replay -v good.txt -a ge # the environment is not read
check 'no policy from the environment' sh -c "! grep -Eq '^  static_memory_policy +[0-9]' $out"
run 0 gemem-sim replay -v good.txt -a ge:GE_USE_STATIC_MEMORY=4 -d sim:capacity=1GiB
says out '^  static_memory_policy +4'
# 1000 bytes were asked for, 64 KiB taken by the pool: 1.53 %, as the block of statistics says
run 0 gemem-sim replay -v good.txt -a ge --allocator-report report.txt -d sim:capacity=1GiB
says out '^  stream0.reach_theory_rate +1\.53 %$'
check 'the same rate in the block' grep -q 'theory_min:65536(64.00K) reach theory rate:1.53%' report.txt
run 0 gemem-sim compare -v good.txt -a 'ge:static_memory_policy=0|2|3|4' -d sim:capacity=1GiB
says out 'static_memory_policy=4'

# ---- help: a range that is open at one end
run 0 gemem-sim help ge
says out 'rdma_size=SIZE  .default: 1GiB; at least 512.'
says out 'variable_use_1g_huge_page=N  .default: 0; at most 2.'
says out 'page_idem_num=N  .default: 16; 16 to 26.'

# ---- runs that share memory: all of it counts (3 and 5 MiB), and the run is marked everywhere and never the best
run 0 gemem-sim replay -v overlap.txt -a ge:static_memory_policy=2
says out 'concurrent_runs +1'
says out '^  NOT ALLOWED: event 3: graph 2 is run on stream 7 while the run of graph 1 on stream 0 has not ended; they share memory under static memory policy 2'
policies="-a ge:static_memory_policy=0|2|4 -a ge:static_memory_policy=2|4,rules=documented -a ge-active:policy=2 -d sim:capacity=1GiB"
# shellcheck disable=SC2086 # options
{
  run 0 env COLUMNS=1000 gemem-sim compare -v overlap.txt $policies --check
  says out '^ge:static_memory_policy=0 +8\.000 MiB +8\.000 MiB +1\.000 +100\.0 %'
  says out '^ge:static_memory_policy=2,rules=documented +5\.000 MiB +8\.000 MiB +- +- .*  \(not allowed\)$'
  check 'five runs are marked, in both tables' test "$(grep -c '  (not allowed)$' "$out")" = 10
  says out '^ge:static_memory_policy=2, ge:static_memory_policy=2,rules=documented: not allowed: event 3: '
  says out '^ge:static_memory_policy=0 is the only real allocator allowed here: it needs 8\.000 MiB'
  run 0 gemem-sim compare -v overlap.txt $policies --find-capacity
  says out '^ge:static_memory_policy=0 is the only real allocator allowed here: it fits on '
  run 0 gemem-sim compare -v overlap.txt $policies -f markdown
  check 'in Markdown' test "$(grep -c '^| ge.* (not allowed) |' "$out")" = 10
  says out '^ge:static\\_memory\\_policy=0 is the only real allocator allowed here'
  run 0 gemem-sim compare overlap.txt $policies -f csv
  check 'in CSV' test "$(grep -c 'event 3: graph 2 is run on' "$out")" = 5
  run 0 gemem-sim compare overlap.txt $policies -f json
  check 'in JSON, with what is in use' jq -e '[.results[] | select (.not_allowed != null)] | length == 5 and all (.measures |
    .lower_bound == 8388608 and .peak_live == 8388608 and .peak_allocated == 8388608 and .overhead == null and .utilisation == null)' "$out"
  cp "$out" overlap.json
  run 0 gemem-sim plot overlap.json -o over
  check 'in pictures' grep -q 'set label t("not allowed") at screen' over/comparison-overlap.gp
}
# one after another, by the host or by an event, is allowed
trace 'graph-load 1 size=3145728' 'graph-load 2 size=5242880' 'graph-run 1' 'event-record 4' 'event-wait 4 stream=7' 'graph-run 2 stream=7' > ordered.txt
for allocator in ge:static_memory_policy=2 ge:static_memory_policy=4 ge-active:policy=2 ge-fixed-base; do
  run 0 gemem-sim replay ordered.txt -a "$allocator" -d sim:capacity=1GiB -f json
  check "$allocator: allowed, the larger graph" jq -e '.results[0] | .not_allowed == null and .measures.peak_live == 5242880' "$out"
done
refused 3 'overlap.txt:event 3: graph 2 is run on stream 7 while the run of graph 1 on stream 0 has not ended; .*policy 2' \
  gemem-sim replay -v overlap.txt -a ge:static_memory_policy=2,strict=yes
refused 3 'overlap.txt:event 3: .*policy 4' gemem-sim replay overlap.txt -a ge:static_memory_policy=4,strict=yes -d sim:capacity=1GiB
run 0 gemem-sim replay -v overlap.txt -a ge:static_memory_policy=3,strict=yes -d sim:capacity=1GiB
run 3 gemem-sim replay -v overlap.txt -a ge:static_memory_policy=2,strict=yes --allow-partial # partial: without the event
says out 'graphs loaded'

# ---- graphs in the wrong order
trace 'graph-run 1' > run.txt
trace 'graph-load 1 size=8' 'graph-unload 1' 'graph-unload 1' > twice.txt
trace 'graph-load 1 size=8 aux=2' 'graph-segment 1 size=6' 'graph-segment 1 addr=4 size=4' > over.txt
trace 'graph-load 1 size=8 aux=2' 'graph-segment 1 size=4' > lacks.txt
trace 'event-wait 3 stream=1' > wait.txt
refused 3 'run.txt:event 0: graph 1 is run but not loaded on device 0' gemem-sim replay run.txt -a ge
trace 'graph-load 1 size=8' 'graph-run 1 device=1' > elsewhere.txt
refused 3 'elsewhere.txt:event 1: graph 1 is run but not loaded on device 1' gemem-sim replay elsewhere.txt -a ge
refused 3 'twice.txt:event 2: graph 1 is unloaded but not loaded' gemem-sim replay twice.txt -a ge
refused 3 'over.txt:event 2: the segment of graph 1 at offset 4 overlaps' gemem-sim replay over.txt -a ge
refused 3 'lacks.txt:event 2: the load of graph 1 lacks 1 of its segments' gemem-sim replay lacks.txt -a ge
run 3 gemem-sim replay -v lacks.txt -a ge --allow-partial
refused 3 'wait.txt:event 0: .*never recorded' gemem-sim replay wait.txt -a ge

# ---- order of release: streams, then memory
trace 'graph-load 1 size=3145728' 'graph-load 2 size=5242880' 'graph-run 1 stream=3' 'graph-load 3 size=9242880' 'graph-unload 1' 'graph-unload 2' \
  'graph-unload 3' > release.txt
for policy in 0 2 2,rules=documented 3 4 4,rules=documented; do
  run 0 gemem-sim replay -v release.txt -a "ge:static_memory_policy=$policy" -d sim:capacity=1GiB,free_synchronises=no --check-release-order
done

# a load sets memory to zero on its stream, which the unload waits for
trace 'graph-load 1 size=3145728 stream=3' 'graph-unload 1' > unused.txt
run 0 gemem-sim replay unused.txt -a ge -d sim:capacity=1GiB,free_synchronises=no --check-release-order --calls calls.csv
check 'memset and wait are those of stream 3' test "$(grep -c -e ',memset,3,3145728,' -e '^1,stream_sync,3,' calls.csv)" = 2

# ---- several devices: each has its own pools, and what is on device 3 stays there
trace 'alloc 1 size=1000' 'alloc 2 size=50331648 device=3' 'graph-load 1 size=3145728 device=3' > devices.txt
for policy in 0 2 3 4; do
  run 0 gemem-sim replay devices.txt -a "ge:static_memory_policy=$policy" -d sim:capacity=1GiB -f csv
  check "policy $policy: one result for device 0, one for device 3" sh -c "test \$(wc -l < $out) = 3"
  run 0 gemem-sim replay -v devices.txt -a "ge:static_memory_policy=$policy" -d sim:capacity=1GiB --trace-device 0
  says out '^  peak live +1000 B'
  says out '^  peak reserved +[28]\.000 MiB'
  run 0 gemem-sim replay -v devices.txt -a "ge:static_memory_policy=$policy" -d sim:capacity=1GiB --trace-device 3
  says out '^  device_id +3'
  says out '^  peak live +51\.00 MiB|^  peak reserved +51\.00 MiB'
done
done_testing
