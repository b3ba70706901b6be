#!/bin/sh
# test-cli-values.sh - values that mean nothing are refused, or said to be without effect: settings of planners, lowerings, allocators and devices, and
# numbers of options.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

printf '# gemem-trace: 1\nalloc 1 size=1MiB\n# end: 1\n' > one.txt
echo '{"nodes": [{"name": "A", "type": "Some", "outputs": [{"size": 512}]}]}' > one.json

# refused PATTERN COMMAND...: exit status 2, and one line on stderr, which matches.
refused () {
  pattern=$1; shift
  run 2 "$@"; says err "^gemem-sim: error: $pattern"; lines 1
}

# ---- numbers
refused '--threads=0: out of range; give a number from 1 on$' gemem-sim plan one.json -p first-fit --threads 0
refused '--threads=-1: out of range' gemem-sim plan one.json -p first-fit --threads=-1
refused '--jobs=0: out of range' gemem-sim replay one.txt -a direct --jobs 0
for given in --threads=1 --threads=9; do run 0 gemem-sim plan one.json -p first-fit "$given"; done
refused "planner ge-hybrid: split_limit='0': too small; use at least 1$" gemem-sim plan one.json -p ge-hybrid:split_limit=0
refused "device sim: capacity='0': too small; use at least 1$" gemem-sim replay one.txt -a direct -d sim:capacity=0

# ---- texts
for a in ge ge-scalable ge-expandable ge-active ge-fixed-base ge-streams; do
  for value in hello -1 0 1.5; do
    run 0 gemem-sim replay -v one.txt -a "$a:memory_pool_threshold=$value"
    says err "^gemem-sim: note: memory_pool_threshold='$value' is ignored, as GE ignores it with a warning; give a whole number of GiB above 0$"
  done
  run 0 gemem-sim replay -v one.txt -a "$a:memory_pool_threshold=8"; silent err
done
refused ".*memory_optimize_debug: 'none' is no variable of one.json; write names of its variables" gemem-sim plan one.json -p paddle-inplace-pass:memory_optimize_debug=none
run 0 gemem-sim plan one.json -p paddle-inplace-pass:memory_optimize_debug=A:0

# ---- what fails says so once
refused 'batch_label=x: no node of one.json has this label; leave it out to run the largest$' gemem-sim replay one.json --lower zero-clear:batch_label=x -a direct
# ---- a colon with nothing behind it, and variables
run 0 env FLAGS_eager_delete_tensor_gb=0 gemem-sim replay -v one.json --lower paddle: -a direct --env
run 0 env GE_USE_STATIC_MEMORY=2 gemem-sim plan one.json -p ge-hybrid: --env -f csv; says out ',ge-hybrid:GE_USE_STATIC_MEMORY=2,'
# ---- info reads what the lowering reads
printf '%s' '{"nodes": [{"name": "a", "type": "x", "outputs": [{"size": 4096}]}, {"name": "b", "type": "x", "inputs": [["a", 0]], "outputs": [{"size": 4096}]},
  {"name": "c", "type": "x", "inputs": [["b", 0]], "outputs": [{"size": 4096}]}]}' > three.json
peak () { "$@" | jq '.devices[0].peak_live'; }
kept=$(peak env FLAGS_eager_delete_tensor_gb=-1 gemem-sim info three.json --lower paddle --env -f json)
gone=$(peak gemem-sim info three.json --lower paddle -f json)
check "all is kept: $kept bytes, $gone with garbage collection" test "$kept" -gt "$gone"
run 0 env FLAGS_eager_delete_tensor_gb=-1 gemem-sim info three.json --lower paddle; says err '^gemem-sim: note: FLAGS_eager_delete_tensor_gb is set in the environment and not used'
run 0 env FLAGS_eager_delete_tensor_gb=-1 gemem-sim info three.json --env; says err 'has no effect on what was chosen; it is read by --lower=paddle$'
done_testing
