#!/bin/sh
# test-cli-attribution.sh - which line holds what has no line of its own: the backward pass, packages, generated code; and rows of one line whose call stacks
# differ.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
row () { says out "$1"; }

# ---- what has no stack, a gradient, a package, code that a compiler wrote; blocks from before give no line to others and get none
cat >t.txt <<'END'
# gemem-trace: 2
# frame: "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)" "??" 0
# frame: "step" "train.py" 38
# frame: "f" "/v/site-packages/x/y.py" 4
# frame: "g" "/tmp/torchinductor_u/ab/c.py" 9
# frame: "load" "start.py" 2
# stack: 5
alloc 1 size=1 flags=initial stack=1
alloc 2 size=2 flags=initial
alloc 3 size=4
# stack: 2
alloc 4 size=8 stack=2
alloc 5 size=16
# stack: 1
alloc 6 size=32 stack=3
# stack: 3
alloc 7 size=64 stack=4
# stack: 4
alloc 8 size=128 stack=5
alloc 9 size=256 device=1
# end: 9
END
run 0 gemem-sim info --by=line t.txt
row ' 1 B .* 1  start\.py:2 load$'
row ' 6 B .* 2  unknown$' # before the recording, and the first of it: nothing is known yet
row ' 8 B .* 1  train\.py:38 step$'
row ' 16 B .* 1  after train\.py:38 step$'
row ' 32 B .* 1  backward \(MmBackward0\), after train\.py:38 step$'
row ' 64 B .* 1  /v/site-packages/x/y\.py:4 f, after train\.py:38 step$'
row ' 128 B .* 1  /tmp/torchinductor_u/ab/c\.py:9 g, after train\.py:38 step$'
row ' 256 B .* 1  unknown$' # another device has lines of its own
run 0 gemem-sim info --by=line --format=json t.txt
check 'the same in JSON, in full' jq -e '[.devices[0].rows[] | .name] | contains(["backward (MmBackward0), after train.py:38 step", null])' "$out"
check 'and nothing is lost' jq -e '.devices | all(.bytes == ([.rows[].bytes] | add))' "$out"
run 0 gemem-sim info --by=line --frames=native t.txt; row 'unknown, or no native frame$'; lacks out 'after train' # frames as asked for, nothing else

# ---- the backward pass as PyTorch 2.11 and 2.15 record it: helpers of a gradient, and what the engine itself asks for; functions that are known by their offset
# in a library, which is no line of source
cat >engine.txt <<'END'
# gemem-trace: 2
# frame: "torch::unwind::unwind()" "/v/site-packages/torch/lib/libtorch_cpu.so" 108146796
# frame: "at::_ops::mm::call(at::Tensor const&)" "/v/site-packages/torch/lib/libtorch_cpu.so" 3
# frame: "torch::autograd::generated::details::mm_mat1_backward(at::Tensor const&)" "??" 0
# frame: "torch::autograd::generated::AddmmBackward0_apply_functional(std::vector<at::Tensor>&&)" "??" 0
# frame: "torch::autograd::Engine::evaluate_function(std::shared_ptr<GraphTask>&)" "/v/site-packages/torch/lib/libtorch_cpu.so" 4
# frame: "step" "train.py" 38
# frame: "at::_ops::ones_like::call(at::Tensor const&)" "??" 0
# frame: "f(int)" "/opt/libown.so.1" 5
# stack: 7 6
alloc 1 size=1MiB stack=1
# stack: 1 2 3 4 5
alloc 2 size=2MiB stack=2
# stack: 1 2 5
alloc 3 size=4MiB stack=3
# stack: 1 8
alloc 4 size=8MiB stack=4
alloc 5 size=1GiB stack=3
# end: 5
END
run 0 gemem-sim info --by=line engine.txt
row ' 2\.000 MiB .* 1  backward \(AddmmBackward0\), after train\.py:38 step$'
row ' 1\.004 GiB .* 2  backward, after train\.py:38 step$'
row ' 8\.000 MiB .* 1  libown\.so\.1 f, after train\.py:38 step$'; lacks out unwind
run 4 gemem-sim engine.txt --capacity 64MiB; tr -s '\n ' '  ' <"$out" >flat
check 'what the engine asked for, without the operator of the line before' grep -q 'by backward (mm), after train.py:38 step' flat

# ---- rows of one line: the first caller that differs, of the program if one does; else what the line called
cat >apart.txt <<'END'
# gemem-trace: 2
# frame: "forward" "loss.py" 31
# frame: "_call" "/v/site-packages/torch/module.py" 7
# frame: "train" "train.py" 12
# frame: "run" "eval.py" 4
# frame: "main" "main.py" 1
# frame: "relu" "/v/site-packages/torch/relu.py" 5
# frame: "mm" "/v/site-packages/torch/mm.py" 6
# frame: "other" "main.py" 9
# stack: 1 2 3 5
alloc 1 size=1 stack=1
# stack: 1 4 5
alloc 2 size=2 stack=2
# stack: 6 5
alloc 3 size=4 stack=3
# stack: 7 5
alloc 4 size=8 stack=4
# stack: 1 4 8
alloc 5 size=16 stack=5
# stack: 1
alloc 6 size=32 stack=6
# stack: 8
alloc 7 size=64 stack=7
# end: 7
END
run 0 gemem-sim info --by=stack apart.txt
row ' 1 B .* 1  loss\.py:31 forward, called from train\.py:12 train$'
row ' 2 B .* 1  loss\.py:31 forward, called from eval\.py:4 run, called from main\.py:1 main$'
row ' 16 B .* 1  loss\.py:31 forward, called from eval\.py:4 run, called from main\.py:9 other$'
row ' 32 B .* 1  loss\.py:31 forward$' # nothing called it
row ' 4 B .* 1  main\.py:1 main, in /v/site-packages/torch/relu\.py:5 relu$'
row ' 8 B .* 1  main\.py:1 main, in /v/site-packages/torch/mm\.py:6 mm$'
row ' 64 B .* 1  main\.py:9 other$'
run 0 gemem-sim info --by=stack --format=json apart.txt
check 'no two rows have one name' jq -e '[.devices[0].rows[].name] | length == 7 and (unique | length) == 7' "$out"
run 0 gemem-sim info --by=line apart.txt; row ' 51 B .* 4  loss\.py:31 forward$' # one line is one row

# ---- real recordings: the backward pass of an H100 recording is no longer unknown, and rows differ
recorded=$GEMEM_SRCDIR/traces/recorded/gpt2-train-stacks.gmt
run 0 gemem-sim info --by=line "$recorded"; row ' 506\.7 MiB .* 173  after record\.py:34 run$'; lacks out 'unknown'
run 0 gemem-sim info --by=stack --format=json "$recorded"
check 'the two moments of Adam are told apart' jq -e '[.devices[0].rows[].name // "unknown"] | length == (unique | length)' "$out"
done_testing
