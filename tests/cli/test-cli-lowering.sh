#!/bin/sh
# test-cli-lowering.sh - graphs where traces are expected: recognised, lowered as --lower says, the same by every way.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cat > g.json <<'END'
{"name": "small", "variables": [{"name": "w", "size": 4096, "persistable": true}],
 "nodes": [
  {"name": "a", "type": "x", "inputs": ["w"], "workspaces": [700], "outputs": [{"size": 1000}]},
  {"name": "b", "type": "relu", "inputs": [["a", 0]], "outputs": [{"size": 1000}]},
  {"name": "c", "type": "x", "inputs": [["b", 0]], "outputs": [{"size": 300}]}]}
END
gemem-sim generate random:events=100,live=9 --seed 3 -o r.txt

run 0 gemem-sim convert g.json g.txt
cat > expected <<'END'
alloc 5 size=4096 tag="w"
step 1
alloc 1 size=1000 tag="a"
alloc 2 size=700 tag="a"
free 2
alloc 3 size=1000 t=10000 tag="b"
free 1 t=10000
alloc 4 size=300 t=20000 tag="c"
free 3 t=20000
free 4 t=20000
free 5 t=30000
END
check 'the trace of eager, event by event' sh -c 'grep -v "^#" g.txt | sed "s/ *$//" | diff expected -'
check 'it says where it comes from' grep -q 'provenance: "lowering: eager' g.txt

# Whatever reads traces reads graphs, and finds what is in the trace that convert wrote.
run 0 gemem-sim convert g.json g.gmt --lower=gc:threshold=1MiB,steps=3
run 0 gemem-sim compare g.json -a direct -a pytorch-caching -f csv --lower=gc:threshold=1MiB,steps=3
check 'lowered in memory or in a file: the same results' sh -c '
  gemem-sim compare g.gmt -a direct -a pytorch-caching -f csv | sed "s/^.*,0,\\(direct\\|py\\)/\\1/; 1d" > file
  test -s file && gemem-sim compare g.json -a direct -a pytorch-caching -f csv --lower=gc:threshold=1MiB,steps=3 | sed "s/^.*,0,\\(direct\\|py\\)/\\1/; 1d" | diff - file'
for lowering in eager no-gc gc inplace zero-clear paddle; do
  run 0 gemem-sim validate g.json --lower=$lowering:steps=2
  says out 'g.json: valid \(graph\)'
  check "nothing else is found: $lowering" sh -c "test \$(grep -vc '^in short, ' $out) = 1"
done
run 0 gemem-sim info g.json --lower inplace
says out 'peak live .*5796 bytes'
says out 'lowering: inplace'
run 0 gemem-sim info g.json --lower eager
says out 'peak live .*6096 bytes'
run 0 gemem-sim replay g.json -a direct --find-capacity --repeat 2 --check
says out '6096'
gzip -c g.json > g.json.gz
run 0 gemem-sim info g.json.gz
check 'from standard input' sh -c 'gemem-sim info - --lower eager < g.json | grep -q "lowering: eager"'
cat g.json g.json | tr -d '\n' | sed 's/}{/}\n{/' > two.jsonl
sed '1s/1000/2000/g' two.jsonl > three.jsonl
run 0 gemem-sim replay 'three.jsonl#1' -a direct -f json
says out '"peak_live": *6096'
check 'the hash is that of the file' sh -c "grep -q \"\$(sha256sum < three.jsonl | cut -c 1-64)\" $out"
run 0 gemem-sim info --trace-format gemem-graph g.json

run 0 gemem-sim list lowerings
says out '^ *no-gc '
run 0 gemem-sim help gc
says out 'threshold=SIZE'

# ---- several lowerings: a row each, in one table and one picture
run 0 gemem-sim compare g.json -a direct -a paddle-auto-growth -f csv --lower='paddle:eager_delete_tensor_gb=-1|0|1'
check 'a row for each lowering and allocator' sh -c "test \$(wc -l < $out) = 7"
says out '^g.json,[0-9a-f]+,0,direct,direct \(eager_delete_tensor_gb=-1\),'
says out '^g.json,[0-9a-f]+,0,paddle-auto-growth,paddle-auto-growth \(eager_delete_tensor_gb=1\),'
run 0 gemem-sim compare g.json -a direct --lower='paddle:executor=parallel,memory_fraction_of_eager_deletion=0|0.5|1' --plots pictures
check 'one diagram of what they reserve' test -s pictures/reserved-g.gp
check 'a line for each that differs' sh -c 'grep -q "reserved 1" pictures/reserved-g.gp && ! grep -q "reserved 2" pictures/reserved-g.gp && grep -q "=0.5|1" pictures/calls-g.dat'
run 0 gemem-sim compare g.json -a direct -f csv --lower='gc:steps=2,threshold=0|1B'
says out 'direct \(threshold=1B\),'
run 0 gemem-sim compare g.json -a direct -f csv --lower='*gc'
says out 'direct \(no-gc\)'
says out 'direct \(gc\)'
run 0 gemem-sim compare g.json -a direct -f csv --lower=gc
says out '^g.json \(gc\),[0-9a-f]+,0,direct,direct,'
check 'from standard input' sh -c 'test $(gemem-sim compare - -a direct -f csv --lower="gc:threshold=0|1B" < g.json | wc -l) = 3'
run 2 gemem-sim info g.json --lower='gc:threshold=0|1B'
says err 'stands for 2 of them; name one'
run 2 gemem-sim compare g.json -a direct --lower='gc:threshold=0|x'
run 2 gemem-sim compare g.json -a direct --lower='paddle:memory_fraction_of_eager_deletion=0.5'
says err 'memory_fraction_of_eager_deletion would have no effect: it is read by graph executors only; choose executor=parallel'

# ---- static and dynamic memory in one table
run 0 gemem-sim compare g.json -a plan -a direct -f csv --lower=eager:steps=4 --check
says out ',0,plan,plan,'
run 0 gemem-sim compare -v g.gmt -a plan:planner=ge-block --repeat 2
run 0 gemem-sim compare g.json -a plan --lower=no-gc
says out '^g.json \(no-gc\)'
run 3 gemem-sim compare g.json -a plan:planner=ge-hybrid --lower=no-gc
says err 'unsafe plan, .*; choose another --lower .*, or plan the trace itself with input=trace'
run 0 gemem-sim compare g.json -a plan:planner=ge-hybrid,input=trace --lower=no-gc
run 2 gemem-sim compare g.json -a plan:planner=nonesuch
says err "unknown planner 'nonesuch'"

# ---- what cannot be
run 2 gemem-sim info g.json --lower=egaer
says err "unknown lowering 'egaer'; did you mean 'eager'\?"
run 2 gemem-sim info g.json --lower=gc:treshold=1
says err "unknown parameter 'treshold'; did you mean 'threshold'\?"
run 2 gemem-sim info r.txt --lower=eager
says err 'lower=eager: r.txt is no graph; leave --lower out for traces'
run 1 gemem-sim info missing.json --lower=eager
says err 'missing.json: No such file'
run 3 gemem-sim info 'two.jsonl#2'
says err 'there is no graph #2'
run 3 gemem-sim info --trace-format gemem-graph r.txt
printf '{"nodes": [{"name": "a", "type": "x", "inputs": [["b", 0]]}]}' > bad.json
run 3 gemem-sim replay bad.json -a direct
says err "bad.json: node 'a': input 0: comes from 'b', which is no node"
done_testing
