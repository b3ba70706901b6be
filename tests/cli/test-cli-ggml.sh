#!/bin/sh
# test-cli-ggml.sh - ggml-alloc as planner of graphs and of traces, and as allocator; what works in place; wrong settings.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v jq >/dev/null || { echo "1..0 # SKIP jq is not installed"; exit 0; }

# ---- graphs: in -> up -> TYPE -> down, of 1000000, 4000000, 4000000 and 1000000 bytes
graph () { # TYPE ATTRIBUTES
  cat <<END
{"format": "gemem-graph", "version": 1, "name": "chain", "nodes": [
  {"name": "in", "type": "Data", "outputs": [{"shape": [250000], "dtype": "float32"}]},
  {"name": "up", "type": "MatMul", "inputs": [["in", 0]], "outputs": [{"shape": [1000000], "dtype": "float32"}]},
  {"name": "act", "type": "$1", "inputs": [["up", 0]], "outputs": [{"shape": [1000000], "dtype": "float32"}], "attributes": {$2}},
  {"name": "down", "type": "MatMul", "inputs": [["act", 0]], "outputs": [{"shape": [250000], "dtype": "float32"}]},
  {"name": "out", "type": "NetOutput", "inputs": [["down", 0]]}]}
END
}
arena () { gemem-sim plan chain.json -p "ggml-alloc$1" -f json | jq '.plans[0].arena'; } # SETTINGS
is () { check "$1 is $2: $3" test "$1" = "$2"; }
graph Relu '"inplace_pairs": [0, 0]' >chain.json
is "$(arena '')" 5000064 'the result lies on the source'
graph Conv2D '"inplace_pairs": [0, 0]' >chain.json
is "$(arena '')" 9000064 'not an operator that ggml runs in place'
graph Relu '' >chain.json
is "$(arena '')" 9000064 'the graph does not allow it'
is "$(arena :max_chunk=3000000)" 9000064 'a buffer for each of the large tensors'
run 0 gemem-sim plan chain.json -p ggml-alloc:max_chunk=3000000 --plan=chain.plan.json
check 'buffers are segments' jq -e '[.segments[].size] == [1000064, 4000000, 4000000]' chain.plan.json
for bundled in "$GEMEM_SRCDIR"/graphs/bundled/*.json.gz; do run 0 gemem-sim plan "$bundled" -p ggml-alloc -p ggml-alloc:alignment=32,max_chunk=64MiB; done

# ---- traces: plan and allocator agree
gemem-sim generate transformer-train:iterations=2 -o step.gmt
for settings in '' :alignment=32 :max_chunk=64MiB; do
  planned=$(gemem-sim plan step.gmt -p "ggml-alloc$settings" -f json | jq '.plans[0].arena')
  run 0 gemem-sim replay step.gmt -a "ggml-alloc$settings" -f json
  check "ggml-alloc$settings holds what was planned" jq -e ".results[0] | .measures.peak_reserved == $planned and .stats.requests_outside == 0" "$out"
done
run 0 gemem-sim replay step.gmt -a ggml-alloc --repeat=3 -f json
check 'every epoch begins anew' jq -e '.results[0] | .measures.calls_malloc == 1 and .stats.requests_outside == 0' "$out"
run 0 gemem-sim replay step.gmt -a ggml-alloc -d sim:capacity=64MiB -f json
check 'nothing is served without the buffer' jq -e '.results[0] | .measures.ooms == .measures.allocs and .measures.peak_reserved == 0' "$out"

# ---- recorded decisions: chunks and offsets are no addresses
printf '%s\n' '# ggml-alloc alignment=32 max_chunk=640' 'a 1 100 -> 0:0 size=128 total=128' 'a 2 600 -> 1:0 size=608 total=736' 'f 1 -> free=2 total=736' >chunks.vec
run 0 gemem-sim replay chunks.vec -f json
check 'the allocator of the first line' jq -e '.results[0] | .measures.peak_reserved == 736 and .stats.buffer_chunks == 2' "$out"
for place in 0: :0 0:0x 0:0:0; do
  sed "s/ 0:0 / $place /" chunks.vec >wrong.vec
  run 3 gemem-sim replay -v wrong.vec
  says err "^gemem-sim: error: wrong.vec:2: '$place' is neither an address"
done

# ---- 257 holes
{ for i in $(seq 0 600); do echo "a $i 32"; done; for i in $(seq 0 2 512); do echo "f $i"; done; echo 'a 999 64'; } >holes.ops
run 0 gemem-sim replay -v holes.ops -a ggml-alloc
says out '^  NOT ALLOWED: event 856: a chunk gets more than 256 holes, at which the real program ends; '
run 3 gemem-sim plan holes.ops -p ggml-alloc
says err '^gemem-sim: error: holes.ops: ggml-alloc: a chunk gets more than 256 holes, at which the real program ends; give another alignment or max_chunk'

# ---- wrong settings
for setting in alignment=48 alignment=16 alignment= alignment=0.5 alignment=18446744073709551616 max_chunk=x max_chunk=12 max_chunk=-1 chunks=2; do
  run 2 gemem-sim plan step.gmt -p "ggml-alloc:$setting"
  run 2 gemem-sim replay step.gmt -a "ggml-alloc:$setting"
  says err '^gemem-sim: error: .*ggml-alloc: .+'
done
done_testing
