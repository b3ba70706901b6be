#!/bin/sh
# test-cli-graph.sh - graphs in info, validate, convert and list: recognised by content, described, refused with the node and the field.
# shellcheck disable=SC2154,SC2016,SC2086 # out and err come from tap.sh; scripts for sh -c; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cat > g.json <<'END'
{"name": "small", "options": {"memory_priority": true, "input_reuse": [0, 1]}, "provenance": ["source: by hand"],
 "variables": [{"name": "w", "size": 4096, "persistable": true}, {"name": "left", "size": 1}],
 "nodes": [
  {"name": "a", "inputs": ["w", null], "workspaces": [700], "outputs": [{"size": 1000}, {"size": 50}], "attributes": {"reference": false}},
  {"name": "b", "stream": 1, "batch_label": "Batch_0", "inputs": [["a", 0]], "outputs": [{"size": 2048, "shape": [4, -1], "dtype": "float32"}]},
  {"name": "c", "stream": 1, "inputs": [["b", 0]], "controls": ["a"], "outputs": [{"size": 0}, {"size": 8, "shape": [9]}]}]}
END
printf '{"name": "zero", "nodes": [{"name": "z"}]}\n{"name": "one", "nodes": [{"name": "n", "outputs": [{"size": 7}]}]}\n' > two.jsonl
gzip -c two.jsonl > two.jsonl.gz

# ---- info
run 0 gemem-sim info g.json; silent err
says out '^  format +gemem-graph$'
says out '^  graph +small$'
says out '^  source: by hand$'
says out '^  settings +memory_priority=yes$'
says out '^ +input_reuse=0,1$'
says out '^  nodes +3, 4 inputs \(1 not connected\), 1 controls$'
says out '^  streams +2$'
says out '^    1: 2 nodes$'
says out '^    Batch_0: 1 nodes$'
says out '^  tensors .*\(3106 bytes\) in 5, 3 of them used by no node$'
says out '^  workspaces .*\(700 bytes\) in 1$'
says out '^  variables .*\(4097 bytes\) in 2, 4096 bytes of them persistable$'
says out '^  items +6 in [0-9]+ lifetimes$'
says out '^  peak live, lower bound .*\(3048 bytes\) at node 1, b$'
says out '^ +1 +2.977 KiB  #{50}$'
says out '^ +2.000 KiB  b:output 0 +nodes 1 to 2  float32\[4,-1\]$'
says out '^    reference: 1$'
gemem-sim info g.json -f json >of-info.json; check 'info --format=json is JSON with the same numbers' sh -c 'jq -en "input |
  .schema == \"gemem-graph-info\" and .name == \"small\" and .format == \"gemem-graph\" and .settings.input_reuse == \"0,1\" and .nodes == 3 and
  .tensor_bytes == 3106 and .unused_tensors == 3 and .peak_live == 3048 and .peak_live_node == 1 and (.live | max) == 3048 and
  (.streams | map(.nodes)) == [1, 2] and .largest[0].item == \"b:output 0\" and .largest[0].end == 3 and .attributes == {reference: 1}" <of-info.json'
run 0 gemem-sim info two.jsonl.gz#1; says out '^  graph +one$'; says out '^  peak live, lower bound .*\(7 bytes\) at node 0, n$'
run 0 gemem-sim info two.jsonl.gz; says out '^  graph +zero$'; says out '^  peak live, lower bound .*\(0 bytes\) at node 0, z$'
check 'a graph without tensors as JSON' sh -c 'gemem-sim info two.jsonl -f json | jq -en "input | .nodes == 1 and .live == [0]"'
run 3 gemem-sim info two.jsonl#2; says err 'two.jsonl: there is no graph #2; the file has 2, counted from 0$'
check 'standard input' sh -c 'gemem-sim info - < g.json | grep -q "^standard input$"'
run 0 gemem-sim info g.json --lower eager; says out 'events .*alloc'
check 'a hundred nodes in twenty rows' sh -c '
  awk "BEGIN { printf \"{\\\"nodes\\\":[\"; for (i = 0; i < 100; i++) printf \"%s{\\\"name\\\":\\\"n%d\\\",\\\"outputs\\\":[{\\\"size\\\":%d}]}\", i ? \",\" : \"\", i, i + 1; print \"]}\" }" > many.json
  test $(gemem-sim info many.json | grep -c "  #") = 20'

# ---- validate
run 0 gemem-sim validate g.json
says out "^g.json:node 'a': note: unused output: output 1 of 50 bytes is read by no node \(2 in all\)$"
says out "^g.json:node 'c': note: no size: output 0 has 0 bytes; it takes no memory$"
says out "^g.json:node 'c': note: no element type: output 1 has a shape, but no dtype$"
says out "^g.json:variable 'left': note: unused variable: no node reads or writes it$"
says out '^g.json: valid \(gemem-graph\)$'
check 'nothing else' sh -c "test \$(wc -l < $out) = 5"
echo '{"nodes": [{"name": "a", "outputs": [{"size": 8, "shape": [2, 2], "dtype": "int32"}]}]}' > short.json
run 0 gemem-sim validate short.json; says out "node 'a': note: short size: output 0 has 8 bytes, but its shape needs 16$"

refused () { # STATUS PATTERN COMMAND...: the status, and one line of the agreed form that matches
  want=$1 pattern=$2; shift 2
  run "$want" "$@"
  says err "^gemem-sim: error: $pattern"
  check 'one line' sh -c "test \$(wc -l < $err) = 1"
}
echo '{"nodes": [{"name": "a", "controls": ["b"]}, {"name": "b", "controls": ["a"]}]}' > cycle.json
echo '{"nodes": [{"name": "a", "inputs": [["b", 0]]}]}' > dangling.json
echo '{"nodes": [{"name": "a", "outputs": [{"shape": [1], "dtype": "float3"}]}]}' > dtype.json
echo '{"nodes": [{"name": "a", "strem": 1}]}' > field.json
head -c 300 g.json > cut.json
for command in 'info' 'validate' 'replay -a direct' 'convert -f gemem-graph x.json'; do
  set -- $command; name=$1; shift
  for case in "cycle: node 'a': is part of a cycle: 'a' -> 'b' -> 'a'" "dangling: node 'a': input 0: comes from 'b', which is no node" \
      "dtype: node 'a': outputs\[0\].dtype: 'float3' is no element type; there are float32, " \
      "field: node 'a': strem: not known here; did you mean 'stream'\?" 'cut:[0-9]+: the JSON text ends too early'; do
    refused 3 "${case%%:*}.json:${case#*:}" gemem-sim "$name" "${case%%:*}.json" "$@"
  done
done
check 'nothing was written' test ! -e x.json

# ---- convert
run 0 gemem-sim convert g.json again.json --note 'model=a b'
check 'the same graph' sh -c '
  gemem-sim info g.json -f json | jq "del(.path, .provenance)" > a; test -s a && gemem-sim info again.json -f json | jq "del(.path, .provenance)" | diff a -'
check 'it says where it comes from' sh -c 'gemem-sim info again.json -f json | jq -en "input | .provenance[0:2] == [\"source: by hand\", \"model: a b\"] and (.provenance[2] | test(\"converted: from g.json\"))"'
run 0 gemem-sim convert two.jsonl.gz#1 one.json; run 0 gemem-sim info one.json; says out '^  graph +one$'
check 'to standard output' sh -c 'gemem-sim convert g.json - -f gemem-graph | gemem-sim validate - | grep -q "^standard input: valid (gemem-graph)"'
check 'the same bytes every time' sh -c 'gemem-sim convert g.json b1.json; gemem-sim convert g.json b2.json; cmp b1.json b2.json'
run 0 gemem-sim convert g.json g.gmt; run 0 gemem-sim validate g.gmt
refused 1 'missing.json: No such file' gemem-sim convert missing.json x.json
: > empty.json
refused 3 'empty.json: the file is empty' gemem-sim convert empty.json x.json
refused 2 'g.json: OUTPUT would overwrite' gemem-sim convert g.json#0 g.json
refused 2 'x.json: g.gmt is a trace, and traces do not become graphs; end OUTPUT in .gmt or .txt' gemem-sim convert g.gmt x.json
refused 2 'x.json: g.json is a graph to be lowered to a trace' gemem-sim convert g.json x.json --lower eager
refused 2 'paddle-program: this format can only be read; name gemem-graph' gemem-sim convert g.json x.json -f paddle-program
refused 2 '--note=model: not KEY=VALUE' gemem-sim convert g.json x.json --note model

# ---- what is no graph: one without nodes, whatever the format, and what stands where a file should be
echo '{"nodes": []}' > none.json
echo '{"vars": {}, "ops": []}' > none-paddle.json
printf '\010\010\072\003\022\001y' > none.onnx
printf '\012\015\010\000\020\377\377\377\377\377\377\377\377\377\001' > none.pdmodel
printf 'graph { name: "g" attr { key: "a" value { i: 1 } } }\n' > none.pbtxt
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n' | tee pointer.onnx pointer.json pointer.txt pointer.csv > pointer.pickle
: > empty.bin
printf 'PK\003\004archive/data.pkl' > weights.pt
mkdir folder.onnx
cat > ge_onnx_00000000_graph_0_Build.pbtxt <<'END'
ir_version: 4
producer_name: "GE"
graph {
  node {
    output: "a:0"
    name: "a"
    op_type: "ge:Data"
  }
}
END
for command in 'info' 'info --lower=eager' 'validate' 'plan' 'replay -a direct' 'compare -a direct' 'convert -f gemem-graph x.json' 'convert x.txt'; do
  set -- $command; name=$1; shift
  for file in none.json none-paddle.json none.onnx none.pdmodel none.pbtxt; do
    refused 3 "$file: the graph has no nodes, so there is nothing to run or plan; check what wrote the file$" gemem-sim "$name" "$file" "$@"
  done
  for suffix in onnx json txt csv pickle; do
    refused 3 "pointer.$suffix: a Git LFS pointer stands here in place of the file; fetch that with git lfs pull$" gemem-sim "$name" pointer.$suffix "$@"
  done
  refused 3 'empty.bin: the file is empty; name a recorded trace or a graph$' gemem-sim "$name" empty.bin "$@"
  refused 3 'weights.pt: a zip archive' gemem-sim "$name" weights.pt "$@"
  refused 1 'folder.onnx: Is a directory; name a file in it$' gemem-sim "$name" folder.onnx "$@"
  refused 3 'ge_onnx_00000000_graph_0_Build.pbtxt:4: .*name the ge_proto_\*.txt of the same stage' \
    gemem-sim "$name" ge_onnx_00000000_graph_0_Build.pbtxt "$@"
done
check 'nothing was written' test ! -e x.json -a ! -e x.txt
mkdir ranks; refused 1 'ranks: Is a directory; name a file in it$' gemem-sim ranks
printf '\3757zXZ\0' > x.pickle; refused 3 'x.pickle: xz data; unpack it' gemem-sim x.pickle
printf 'BZh91AY&SY' > b.pickle; refused 3 'b.pickle: bzip2 data; unpack it' gemem-sim b.pickle
printf '(dp0\nVsegments\np1\n' > old.pickle; refused 3 'old.pickle: a snapshot as a pickle of protocol 0 or 1; pickle.dump.. it' gemem-sim old.pickle
printf '}q\0(X\010\0\0\0segmentsq\1' > old1.pickle; refused 3 'old1.pickle: a snapshot as a pickle of protocol' gemem-sim old1.pickle
printf '\177ELF' > program
refused 3 'program: a program or library, not a recording of one; gemem-record PROGRAM makes one' gemem-sim info program
printf '\177ELK\002\001' >unknown
refused 3 'unknown: not recognised as a trace or graph; .*--trace-format=NAME names it' gemem-sim info unknown
refused 2 'onxx: no such format of traces or graphs; did you mean onnx\? known formats: native, .*, gemem-graph, ' gemem-sim info program --trace-format onxx

# ---- the lists
run 0 gemem-sim list formats; says out 'gemem-graph'; says out 'paddle-program'; says out 'minimalloc-csv'
run 0 gemem-sim help gemem-graph; says out 'Origin: doc/graph-format.md'
printf 'id,lower,upper,size\n0,0,3,4\n1,3,9,4\n' > m.csv
run 0 gemem-sim info m.csv; says out 'format +minimalloc-csv'; says out 'peak live .*\(4 bytes\)'
run 0 gemem-sim validate m.csv; says out '^m.csv: valid \(minimalloc-csv\)$'
run 0 gemem-sim info g.json --trace-format gemem-graph; says out '^  graph +small$'
refused 3 'm.csv:1: ' gemem-sim info m.csv --trace-format gemem-graph

# ---- programs as PaddlePaddle saves them: the same as their JSON form, by every way
samples=$GEMEM_SRCDIR/tests/data/paddle
cp "$samples/mlp-train.pdmodel" "$samples/mlp-train.json" .
for lowering in eager gc no-gc paddle paddle:executor=parallel; do
  run 0 gemem-sim convert mlp-train.json of-json.txt --lower=$lowering
  run 0 gemem-sim convert mlp-train.pdmodel of-model.txt --lower=$lowering
  check "the trace of its JSON form: $lowering" sh -c 'grep -v "^#" of-json.txt > a && grep -v "^#" of-model.txt | diff a -'
done
check 'the plan of its JSON form' sh -c 'gemem-sim plan mlp-train.json -f csv | cut -d, -f 2- > a; test -s a && gemem-sim plan mlp-train.pdmodel -f csv | cut -d, -f 2- | diff a -'
run 0 gemem-sim info "$samples/__model__"; says out 'format +paddle-model'; says out 'tool: PaddlePaddle 1.8.5$'
for file in "$samples"/__model__ "$samples"/*.pdmodel; do
  run 0 gemem-sim validate "$file"
  run 0 gemem-sim replay -v "$file" -a direct --lower=paddle --check
  run 0 gemem-sim convert "$file" back.json
  check "the same graph when written and read again: ${file##*/}" sh -c '
    gemem-sim info "$1" -f json | jq "del(.path, .format, .provenance)" > a; test -s a && gemem-sim info back.json -f json | jq "del(.path, .format, .provenance)" | diff a -' sh "$file"
done
run 0 gemem-sim replay -v "$samples/mlp-train.pdmodel" -a direct --lower=paddle:executor=parallel,fuse_all_reduce_ops=yes # by its op_role_var
refused 3 '.*mlp.pdmodel: a file of this format holds one graph; leave out #1' gemem-sim info "$samples/mlp.pdmodel#1"

# ---- the vectors
if [ -d "$GEMEM_SHARED/vectors/ge-static" ]; then
  run 0 gemem-sim info "$GEMEM_SHARED/vectors/ge-static/batch-medium.jsonl.gz#3"; says out 'Batch_1: '; says out 'static_memory_policy=2'
  run 0 gemem-sim validate "$GEMEM_SHARED"/vectors/ge-static/*.jsonl.gz
  run 0 gemem-sim info "$GEMEM_SHARED"/vectors/paddle-memory-optimize/*.jsonl.gz; says out 'format +paddle-program'
else
  skip 'graphs of the vectors' "no vectors in $GEMEM_SHARED"
fi

done_testing
