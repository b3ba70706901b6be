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

echo '{"name": "io", "nodes": [{"name": "d", "type": "Data", "index": 0, "outputs": [{"size": 512}]}, {"name": "r", "type": "Relu", "inputs": [["d", 0]],
  "outputs": [{"size": 512}]}, {"name": "o", "type": "NetOutput", "inputs": [["r", 0]]}]}' > io.json

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

# ---- numbers and names that nothing in a graph has
for setting in 'input_reuse=[0,9]' 'output_reuse=[9]'; do
  run 0 gemem-sim plan io.json -p "ge-hybrid:$setting" -p "ge-max-block:$setting" --no-time
  what=${setting%%_*} list=${setting#*=}
  says err "^gemem-sim: note: ${setting%%=*}=\\[.*9\\]: no $what of io has the number 9, so that this changes nothing; what GE says to it is not known$"
  check 'which is said once' test "$(grep -c note: "$err")" = 1
done
run 0 gemem-sim plan io.json -p 'ge-hybrid:input_reuse=[0],output_reuse=0,op_no_reuse_mem=Relu' --no-time; silent err
run 0 gemem-sim plan io.json -p 'ge-hybrid:op_no_reuse_mem=nobody' --no-time
says err "^gemem-sim: note: op_no_reuse_mem: no node or type of node of io is called 'nobody', so that it changes nothing; what GE says to it is not known$"

# ---- the host's memory since 3.x is no buddy's
refused 'paddle-buddy: memory of the host is plain malloc since 3\.x; choose version=2\.6 or rules=documented, or paddle:version=3\.x,place=cpu' gemem-sim replay one.txt -a paddle-buddy:version=3.x,place=cpu
run 0 gemem-sim replay -v one.txt -a paddle:version=3.x,place=cpu; says out 'place=cpu \(direct\)'
run 0 gemem-sim replay -v one.txt -a paddle-buddy:version=2.6,place=cpu; run 0 gemem-sim replay -v one.txt -a paddle-buddy:version=3.x,place=cpu,rules=documented

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
