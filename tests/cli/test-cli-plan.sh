#!/bin/sh
# test-cli-plan.sh - `gemem-sim plan`: tables and files, plans made here and elsewhere, pictures, and what is answered to mistakes.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# refused STATUS PATTERN COMMAND...: the status, one line on stderr, of the agreed form, and it matches.
refused () {
  want=$1 pattern=$2; shift 2
  run "$want" "$@"
  says err "^gemem-sim: error: $pattern"
  check 'one line, and it says what to do' sh -c "test \$(wc -l < $err) = 1 && grep -q '; ' $err"
}

cat > graph.json <<'END'
{"name": "diamond", "options": {}, "nodes": [
 {"id": 0, "name": "in", "type": "Add", "engine": "", "stream": 0, "inputs": [], "outputs": [{"size": 4096, "consumers": [["left", 0], ["right", 0]]}], "workspaces": []},
 {"id": 1, "name": "left", "type": "Add", "engine": "", "stream": 0, "inputs": [["in", 0]], "outputs": [{"size": 8192, "consumers": [["join", 0]]}], "workspaces": [1024]},
 {"id": 2, "name": "right", "type": "Add", "engine": "", "stream": 0, "inputs": [["in", 0]], "outputs": [{"size": 8192, "consumers": [["join", 1]]}], "workspaces": []},
 {"id": 3, "name": "join", "type": "Add", "engine": "", "stream": 0, "inputs": [["left", 0], ["right", 0]], "outputs": [{"size": 4096, "consumers": [["out", 0]]}], "workspaces": []},
 {"id": 4, "name": "out", "type": "Add", "engine": "", "stream": 0, "inputs": [["join", 0]], "outputs": [{"size": 512, "consumers": []}], "workspaces": []}]}
END
gemem-sim generate random:events=2000,live=50 --seed 4 -o trace.gmt

# ---- tables
run 0 gemem-sim plan graph.json
silent err
says out '^graph.json$'
says out '^planner  +arena  +lower bound  +overhead .*planning time'
says out '^ge-max-block +[0-9.]+ KiB +20.00 KiB +[0-9.]+'
run 0 gemem-sim plan graph.json --no-time
check 'without times nothing differs between two runs' sh -c "gemem-sim plan graph.json --no-time | cmp - $out"
check 'nor with another number of threads' sh -c "gemem-sim plan graph.json --no-time --threads=1 | cmp - $out"
run 0 gemem-sim plan graph.json trace.gmt -p ge-binary-block -p ge-max-block --no-time
check 'a group per input, and one of means' sh -c "test \$(grep -c '^ge-' $out) = 6 && test \$(grep -c '^planner' $out) = 3"
run 0 env COLUMNS=48 gemem-sim plan graph.json -p ge-max-block
check 'a narrow terminal takes columns, never a broken line' sh -c "test \$(wc -L < $out) -le 48 && grep -q overhead $out"

# ---- files
run 0 gemem-sim plan graph.json -p 'ge-*-block' -f json
check 'JSON that says what it is' jq -e '.schema == "gemem-plans" and .version == 1 and (.plans | length) >= 2' "$out"
check 'arena, bound and overhead agree' jq -e 'all(.plans[]; (.arena / .lower_bound - .overhead) | fabs < 0.000001)' "$out"
check 'no times unless asked for' jq -e 'all(.plans[]; has("measured") | not)' "$out"
run 0 gemem-sim plan graph.json -p ge-max-block -f json --measure
check 'times apart, when asked for' jq -e '.plans[0].measured.planning_ns > 0' "$out"
run 0 gemem-sim plan graph.json -p ge-max-block -f csv -o table.csv
check 'CSV: a header and a row' sh -c 'head -n 1 table.csv | grep -q "^input,planner,label,arena,lower_bound,overhead,winner,zero_copy,reused,items,batch_parts,memsets,least,alignment,stopped$" && test $(wc -l < table.csv) = 2'
run 0 gemem-sim plan graph.json -p ge-max-block -f markdown
says out '^\| ge-max-block \|'

# ---- the plan itself, and checking it
run 0 gemem-sim plan graph.json -p 'ge-*' --plan plan.json
says err 'note: plan.json holds the plan of ge-[a-z-]+ for graph.json, the smallest of [0-9]+'
check 'offsets of every node' jq -e '.schema == "gemem-plan" and (.outputs | keys | length) == 5 and (.workspaces.left | length) == 1 and .arena >= .lower_bound' plan.json
run 0 gemem-sim plan --check plan.json graph.json
says out '^plan.json: safe: [0-9]+ items in'
refused 3 'plan.json: outputs: the plan of a graph' gemem-sim plan --check plan.json
refused 3 'plan.json: ' gemem-sim plan --check plan.json trace.gmt
jq -c '.outputs.right = .outputs.left' plan.json > bad.json
run 3 gemem-sim plan --check bad.json graph.json
says out '^overlap: .*left.*right'
says err 'error: bad.json: not safe: [0-9]+ violation'
for name in best.csv best.json; do
  run 0 gemem-sim plan trace.gmt -p ge-binary-block --plan $name
  run 0 gemem-sim plan --check $name trace.gmt
  run 0 gemem-sim plan --check $name
done
run 0 gemem-sim plan graph.json -p ge-binary-block --plan graph.csv
run 0 gemem-sim plan --check graph.csv graph.json
printf 'id,lower,upper,size,offset\nb1,0,3,4,0\nb2,2,5,4,4\nb3,3,6,4,0\n' > other.csv
run 0 gemem-sim plan --check other.csv --map -
says out '^other.csv: safe: 3 items in 8 B, lower bound 8 B'
says out '^  A  1: 4 B, steps 0 to 3'
printf 'offset,id,size,upper,lower\n0,b1,4,3,0\n2,b2,4,5,2\n' > other.csv
run 3 gemem-sim plan --check other.csv
says out '^overlap: .*1.*2'
refused 3 'graph.json' gemem-sim plan --check graph.json graph.json

# The expectations of the vectors are plans as they stand; every planner's plan of such a graph reads back safe.
if shared vectors/ge-static && command -v jq > /dev/null; then
  bad=''
  for file in "$GEMEM_SHARED"/vectors/ge-static/*.jsonl.gz; do
    gzip -cd "$file" > vectors.jsonl
    for n in 0 5; do
      sed -n "$((n + 1))p" vectors.jsonl | jq -c .expect > expect.json
      gemem-sim plan --check expect.json "vectors.jsonl#$n" > /dev/null 2>&1 || bad="$bad $(basename "$file")#$n"
    done
  done
  check "expectations of the vectors are safe plans:$bad" test -z "$bad"
  bad=''
  run 0 gemem-sim list planners --names; says out '^ge-hybrid$'
  for planner in $(cat "$out"); do
    for plan in p.json p.csv; do
      gemem-sim plan 'vectors.jsonl#7' -p "$planner" --plan $plan > /dev/null 2>&1 && gemem-sim plan --check $plan 'vectors.jsonl#7' > /dev/null 2>&1 \
        || bad="$bad $planner:$plan"
    done
  done
  check "every planner's plan reads back safe:$bad" test -z "$bad"
else
  skip 'plans of the vectors' "no vectors in $GEMEM_SHARED, or no jq"
fi

# A program whose operators write over what they read: every planner keeps such a variable in its place.
cat > program.json << 'EOF'
{"name": "over", "vars": {"w": {"shape": [64], "dtype": "float32", "persistable": true}, "a": {"shape": [64], "dtype": "float32", "persistable": false},
  "b": {"shape": [64], "dtype": "float32", "persistable": false}, "c": {"shape": [64], "dtype": "float32", "persistable": false}},
 "ops": [{"type": "mul", "inputs": ["w"], "outputs": ["a"]}, {"type": "scale", "inputs": ["a"], "outputs": ["a"]}, {"type": "relu", "inputs": ["a"], "outputs": ["b"]},
  {"type": "sum", "inputs": ["b", "a"], "outputs": ["b"]}, {"type": "mean", "inputs": ["b"], "outputs": ["c"]}]}
EOF
run 0 gemem-sim plan program.json -p '*'

# ---- pictures
run 0 gemem-sim plan graph.json trace.gmt -p ge-max-block --plots plots
check 'a picture of each' test -s plots/graph-ge-max-block.svg -a -s plots/trace-ge-max-block.svg -a -s plots/trace-ge-max-block.gp
check 'the same bytes again' sh -c 'gemem-sim plan graph.json -p ge-max-block --plots again > /dev/null && cmp again/graph-ge-max-block.svg plots/graph-ge-max-block.svg'
run 0 gemem-sim plan graph.json --map map.svg
says err 'note: map.svg holds the plan of'
check 'an SVG' grep -q '^</svg>$' map.svg
run 0 env COLUMNS=80 gemem-sim plan trace.gmt -p ge-max-block --no-time --map map.txt
check 'a map that fits the terminal' sh -c 'test $(wc -L < map.txt) -le 80 -o $(head -n 1 map.txt | wc -L) -gt 80 && grep -q "# full" map.txt'

# ---- mistakes
refused 2 'plan: GRAPH.TRACE... is missing' gemem-sim plan
refused 1 'missing.json: No such file or directory' gemem-sim plan missing.json
refused 2 "unknown planner 'ge-hybird'; did you mean 'ge-hybrid'" gemem-sim plan graph.json -p ge-hybird
refused 2 "planner 'zz-\*': matches nothing; .gemem-sim list planners." gemem-sim plan graph.json -p 'zz-*'
refused 2 "planner ge-hybrid: unknown parameter 'memory_prioritty'; did you mean" gemem-sim plan graph.json -p ge-hybrid:memory_prioritty=yes
refused 2 "unknown report format 'yaml'; choose" gemem-sim plan graph.json -f yaml
refused 2 '--threads=-1: out of range' gemem-sim plan graph.json --threads=-1
refused 2 'plan: --measure and --no-time exclude each other' gemem-sim plan graph.json --measure --no-time
refused 2 '--check=plan.json: nothing is planned' gemem-sim plan --check plan.json graph.json -p ge-hybrid
refused 2 '--plan=two.json: one file holds one plan' gemem-sim plan graph.json trace.gmt --plan two.json
refused 2 'graph.json: --plan would overwrite' gemem-sim plan graph.json --plan graph.json
refused 2 '--print-log: standard output is taken by --format=json' gemem-sim plan graph.json --print-log -f json
refused 1 'missing.json: No such file' gemem-sim plan --check missing.json
check 'nothing was written' test ! -e two.json
if [ -w /dev/full ]; then
  refused 1 'standard output: No space left on device' sh -c 'gemem-sim plan graph.json > /dev/full'
  run 1 gemem-sim plan graph.json -p ge-hybrid --plan /dev/full
  says err 'error: /dev/full: No space left'
fi
printf '{"name": "g", "nodes": [{"id": 0, "name": "a", "type": "t", "inputs": [["b", 0]], "outputs": [{"size": 1}]}]}' > dangling.json
run 3 gemem-sim plan dangling.json
says err "dangling.json: node 'a'"

printf '{"options": {"static_memory_policy": 77}, "nodes": [{"name": "a", "outputs": [{"size": 1}]}]}' > setting.json
refused 3 'setting.json: ge-hybrid: settings of the graph: planner ge-hybrid: static_memory_policy=.77.: not one of 0, 1, 2, 3, 4' gemem-sim plan setting.json -p ge-hybrid
echo '{"nodes": []}' > nothing.json
refused 3 'nothing.json: the graph has no nodes, so there is nothing to run or plan' gemem-sim plan nothing.json

# A signal ends the work after the plan in progress: what was planned is shown, and that others are missing is said.
gemem-sim generate random:events=100000,live=200 -o long.gmt
gemem-sim plan long.gmt > int.out 2> int.err & pid=$!
for i in $(seq 200); do
  caught=$(sed -n 's/^SigCgt:.*\(........\)$/\1/p' /proc/$pid/status 2>/dev/null)
  [ $((0x${caught:-0} & 0x4000)) = 0 ] || break
  sleep 0.02
done
sleep 0.2; kill -TERM $pid 2>/dev/null; wait $pid; got=$? # as in test-cli-input.sh
ok $((got != 130)) "SIGTERM gives 130 (got $got)"
check 'it says how far it came' grep -q '^gemem-sim: error: plan: interrupted after [0-9]* of [0-9]* plans; ' int.err

# ---- --print-log is print_log=yes where it is not said, and says when there is nothing
bundled=$GEMEM_SRCDIR/graphs/bundled/resnet50-train.json.gz
gemem-sim plan "$bundled" -p paddle-memory-optimize:print_log=yes --no-time > told.log
run 0 gemem-sim plan "$bundled" -p paddle-memory-optimize --print-log --no-time
check 'the option prints what the parameter prints' sh -c "grep '^!!!' told.log | diff - '$out' | grep -c '^<' | grep -qx 0 && test \$(grep -c '^!!!' '$out') -gt 300"
silent err
run 0 gemem-sim plan "$bundled" -p paddle-memory-optimize:print_log=no --print-log --no-time
check 'what the planner was told counts more' sh -c "! grep -q '^!!!' '$out'"
says err 'note: --print-log: nothing to print: '

# ---- a policy of clearing, and nothing to clear
run 0 gemem-sim plan "$bundled" -p 'ge-hybrid:atomic_clean_policy=0|1' -p ge-block:atomic_clean_policy=1 --no-time
check 'one note' sh -c "test \$(grep -c 'note: .*no node has memory to be set to zero .* atomic_clean_policy of the planners changes nothing' '$err') = 1 && test \$(wc -l < '$err') = 1"
run 0 gemem-sim plan "$bundled" -p ge-hybrid --no-time; silent err
run 0 gemem-sim compare -v "$bundled" '--lower=zero-clear:atomic_clean_policy=0|1' -a direct
check 'one note for a lowering' sh -c "test \$(grep -c 'atomic_clean_policy of zero-clear changes nothing' '$err') = 1 && test \$(wc -l < '$err') = 1"
run 0 gemem-sim replay -v "$bundled" --lower=eager -a direct; silent err
echo '{"nodes": [{"name": "a", "type": "x", "outputs": [{"size": 64}], "attributes": {"is_atomic_node": true, "atomic_output_index": [0]}}]}' > cleared.json
run 0 gemem-sim replay cleared.json --lower=zero-clear:atomic_clean_policy=1 -a direct; silent err
run 0 gemem-sim plan cleared.json -p ge-hybrid:atomic_clean_policy=1; silent err

# ---- known everywhere
run 0 gemem-sim help plan;        says out '--print-log'
run 0 gemem-sim help ge-hybrid;   says out '^ge-hybrid \(planner\)'
run 0 gemem-sim help --man planners; says out '^\.SH PLANNERS'
run 0 gemem-sim --complete plan --pla;  says out '^--planner='
run 0 gemem-sim --complete plan -p ge-h; says out '^ge-hybrid'

# ---- the program as a planner rewrites it (paddle.md E18): at mul(d,w2)->e the dead a is taken
cat > e18.json <<'END'
{"vars": {"x": {"shape": [1, 100], "dtype": "float32"}, "w0": {"shape": [100, 100], "dtype": "float32", "persistable": true},
 "w1": {"shape": [100, 200], "dtype": "float32", "persistable": true}, "w2": {"shape": [200, 100], "dtype": "float32", "persistable": true},
 "a": {"shape": [1, 100], "dtype": "float32"}, "b": {"shape": [1, 100], "dtype": "float32"}, "c": {"shape": [1, 200], "dtype": "float32"},
 "d": {"shape": [1, 200], "dtype": "float32"}, "e": {"shape": [1, 100], "dtype": "float32"}, "f": {"shape": [1], "dtype": "float32"}},
 "ops": [{"type": "mul", "inputs": ["x", "w0"], "outputs": ["a"]}, {"type": "relu", "inputs": ["a"], "outputs": ["b"]},
 {"type": "mul", "inputs": ["b", "w1"], "outputs": ["c"]}, {"type": "relu", "inputs": ["c"], "outputs": ["d"]},
 {"type": "mul", "inputs": ["d", "w2"], "outputs": ["e"]}, {"type": "mean", "inputs": ["e"], "outputs": ["f"]}]}
END
run 0 gemem-sim plan e18.json -p paddle-memory-optimize --rewrite e18-rewritten.json
run 0 gemem-sim info e18-rewritten.json
run 0 gemem-sim convert e18.json e18.txt --lower=paddle:preset=P14,variables=no
run 0 gemem-sim convert e18-rewritten.json e18-rewritten.txt --lower=paddle:preset=P14,variables=no
check 'one allocation less: e lies in a' sh -c 'test $(grep -c ^alloc e18.txt) -eq $(($(grep -c ^alloc e18-rewritten.txt) + 1))'
run 2 gemem-sim plan e18.json -p ge-hybrid --rewrite no.json
run 2 gemem-sim plan e18.json e18.json -p paddle-memory-optimize --rewrite no.json
says err 'rewrite=no.json: one file holds one plan'
# ---- what lies outside of the arena: no offset there, and the address where it is known; all that is read again
printf '{"nodes": [%s]}\n' "$(for type in Variable Constant Const FileConstant ConstPlaceHolder; do
  echo "{\"name\": \"$type\", \"type\": \"$type\", \"outputs\": [{\"size\": 1000}]},"; done
  echo '{"name": "A", "type": "Some", "inputs": [["Const", 0]], "outputs": [{"size": 512}]}')" > constants.json
run 0 gemem-sim plan constants.json -p ge-hybrid --plan constants-plan.json
check 'null: no memory; the rest is an address' jq -e '[.outputs[][0]] == [null, null, null, null, null, 0] and .addresses == {"Variable": [34359738368],
  "Constant": [34359740416], "FileConstant": [34359742464], "ConstPlaceHolder": [34359744512]}' constants-plan.json
run 0 gemem-sim plan --check constants-plan.json constants.json
run 0 gemem-sim plan constants.json -p ge-hybrid --plan constants.csv
run 0 gemem-sim plan constants.json -p ge-hybrid --print-log; says out 'name.Const. output.0. lies in the buffer of weights'
check 'an address for each of the others' test "$(grep -c 'AssignVarMem' "$out")" = 4

gemem-sim generate random:events=10 -o r10.txt
run 2 gemem-sim plan r10.txt -p first-fit --rewrite no.json
says err 'is no graph'
done_testing
