#!/bin/sh
# test-cli-environment.sh - the variables of PyTorch and GE: taken with --env by replay, compare and plan, noted once without it.  Which of PyTorch's
# three counts is what real binaries do (peers.md 1a.11).  Paddle's flags: test-cli-paddle.sh.
# shellcheck disable=SC2154,SC2317 # out and err come from tap.sh; run calls functions
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

printf 'a 1 104857600\nf 1\na 2 31457280\nf 2\n' > small.ops # 30 MiB in the cached 100 MiB, unless blocks above max_split_size are not split
gzip -cd "$GEMEM_SRCDIR/graphs/bundled/resnet50-multibatch.json.gz" > graph.json
lines () { check "$1 lines on stderr" sh -c "test \$(wc -l < $err) = $1"; }
caching () { gemem-sim replay -v small.ops -a pytorch-caching "$@"; }
with () { settings=$1; shift; gemem-sim replay -v small.ops -a "pytorch-caching:$settings" "$@"; }
reserved () { says out "peak reserved +$1"; }

# ---- PyTorch
run 0 caching; reserved '100\.0 MiB'; silent err
for name in PYTORCH_CUDA_ALLOC_CONF PYTORCH_HIP_ALLOC_CONF PYTORCH_ALLOC_CONF; do
  run 0 env $name=max_split_size_mb:64 gemem-sim replay -v small.ops -a pytorch-caching --env
  reserved '130\.0 MiB'; silent err; says out "^  $name +max_split_size_mb:64"
  run 0 env $name=max_split_size_mb:64 gemem-sim replay -v small.ops -a pytorch-caching
  reserved '100\.0 MiB'; lines 1; says err "note: $name is set in the environment and not used; --env takes it from there"
done
run 0 env PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 PYTORCH_ALLOC_CONF=max_split_size_mb:200 PYTORCH_HIP_ALLOC_CONF=garbage_collection_threshold:0.5 \
  gemem-sim replay -v small.ops -a pytorch-caching --env
reserved '130\.0 MiB'; lines 2; says err 'PYTORCH_ALLOC_CONF is left out for pytorch-caching: PYTORCH_CUDA_ALLOC_CONF counts more'
run 0 env PYTORCH_ALLOC_CONF=max_split_size_mb:200 PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:64 gemem-sim replay -v small.ops -a pytorch-caching --env
reserved '130\.0 MiB'; says err 'PYTORCH_ALLOC_CONF is left out for pytorch-caching: PYTORCH_HIP_ALLOC_CONF counts more'
run 0 env PYTORCH_CUDA_ALLOC_CONF= PYTORCH_ALLOC_CONF=max_split_size_mb:64 gemem-sim replay -v small.ops -a pytorch-caching --env
reserved '100\.0 MiB'
run 0 env PYTORCH_ALLOC_CONF=max_split_size_mb:64 gemem-sim replay -v small.ops -a pytorch-caching:version=2.9 --env # which does not read it
reserved '100\.0 MiB'; lines 1; says err 'PYTORCH_ALLOC_CONF is left out for .*: it is read since version=2.10; use PYTORCH_CUDA_ALLOC_CONF'
run 0 env PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 gemem-sim replay -v small.ops -a pytorch-caching:max_split_size_mb=200 --env
reserved '100\.0 MiB'; says err 'PYTORCH_CUDA_ALLOC_CONF is left out for pytorch-caching:max_split_size_mb=200: what was given counts more'
run 2 env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True gemem-sim replay small.ops -d sim:virtual_memory=no -a pytorch-caching --env
says err 'with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True from the environment: allocator pytorch-caching: expandable_segments'
# whole strings are read as the version reads them, to the letter
run 0 env PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64MB gemem-sim replay -v small.ops -a pytorch-caching --env; reserved '130\.0 MiB'
run 0 env PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb,64 gemem-sim replay -v small.ops -a pytorch-caching --env; reserved '130\.0 MiB'
run 2 env PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb,64 gemem-sim replay small.ops -a pytorch-caching:version=2.9 --env
lines 1; says err "PyTorch 2.9 refuses it: ',' stands where ':' should"
run 2 env PYTORCH_CUDA_ALLOC_CONF=large_segment_size_mb:32 gemem-sim replay small.ops -a pytorch-caching:version=2.10 --env
lines 1; says err 'PyTorch 2.10 refuses it: it does not have large_segment_size_mb, which came with 2.11; leave it out'
# the other backend is CUDA's pool
run 0 env PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync gemem-sim replay -v small.ops -a pytorch-caching --env
reserved '128\.0 MiB'; silent err; says out 'through pytorch-caching'
run 0 env PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync,max_split_size_mb:1 gemem-sim replay -v small.ops -a pytorch-caching --env
reserved '128\.0 MiB'; lines 1; says err 'conf: nothing else is read with backend:cudaMallocAsync; leave the rest out'
run 0 with backend=cudaMallocAsync,max_split_size_mb=64; reserved '128\.0 MiB'
lines 1; says err 'max_split_size_mb: without effect with backend=cudaMallocAsync, which leaves memory to CUDA; leave it out'
run 2 with backend=cuda; lines 1; says err 'backend'
run 2 with backend=cudaMallocAsync -d sim:virtual_memory=no; lines 1; says err 'a device without virtual memory'
run 0 env PYTORCH_NO_CUDA_MEMORY_CACHING=1 gemem-sim replay -v small.ops -a pytorch-caching --env
lines 1; says err 'PYTORCH_NO_CUDA_MEMORY_CACHING is left out: with it PyTorch caches nothing; -a direct does that'
run 0 env PYTORCH_NO_CUDA_MEMORY_CACHING=0 gemem-sim replay -v small.ops -a pytorch-caching --env; silent err
run 2 env PYTORCH_CUDA_ALLOC_CONF=max_split:64 gemem-sim replay small.ops -a pytorch-caching --env
says err 'PyTorch 2.15 refuses it: unknown key max_split; did you mean'
run 0 env PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 gemem-sim compare small.ops -a pytorch-caching -a direct -a ge --env -f json; silent err
check 'results say who took it' sh -c \
  "jq -e '[.results[] | .variables.PYTORCH_CUDA_ALLOC_CONF] == [\"max_split_size_mb:64\", null, null]' $out"

# ---- CuPy: a size, or a part of the device
run 0 env CUPY_GPU_MEMORY_LIMIT=50% gemem-sim replay -v small.ops -a cupy-pool --env; silent err; says out '^  CUPY_GPU_MEMORY_LIMIT +50%'
run 0 env CUPY_GPU_MEMORY_LIMIT=1% gemem-sim replay -v small.ops -a cupy-pool --env -d sim:capacity=1GiB; says out '^  failed +[1-9]'
run 2 env CUPY_GPU_MEMORY_LIMIT=x% gemem-sim replay small.ops -a cupy-pool --env; lines 1; says err "CUPY_GPU_MEMORY_LIMIT='x%': not a number"
run 2 env FLAGS_gpu_memory_limit_mb=50% gemem-sim replay small.ops -a paddle --env; lines 1

# ---- torch_npu: two variables, of which one may be set (peers.md 1g.8)
npu () { gemem-sim replay -v small.ops -a torch-npu "$@"; }
run 0 npu; reserved '102\.0 MiB'; silent err # 32 bytes of padding make it 102 MiB
for name in PYTORCH_NPU_ALLOC_CONF PYTORCH_ALLOC_CONF; do
  run 0 env $name=max_split_size_mb:64 gemem-sim replay -v small.ops -a torch-npu --env
  reserved '134\.0 MiB'; silent err; says out "^  $name +max_split_size_mb:64"
done
run 2 env PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:64 PYTORCH_ALLOC_CONF=max_split_size_mb:64 gemem-sim replay small.ops -a torch-npu --env
lines 1; says err "'PYTORCH_NPU_ALLOC_CONF' and 'PYTORCH_ALLOC_CONF' exclude each other; keep one of them"
run 0 env PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 gemem-sim replay -v small.ops -a torch-npu --env; reserved '102\.0 MiB'
run 2 env PYTORCH_NPU_ALLOC_CONF=page_size:2g gemem-sim replay small.ops -a torch-npu --env
lines 1; says err 'page_size is 1g, not .2g.'
run 2 env PYTORCH_NPU_ALLOC_CONF=backend:native gemem-sim replay small.ops -a torch-npu --env
lines 1; says err 'unknown key backend'

# ---- the note: once, about all that would have counted, and nothing else
run 0 env PYTORCH_ALLOC_CONF=x GE_USE_STATIC_MEMORY=2 FLAGS_free_idle_chunk=1 FLAGS_check_nan_inf=1 OTHER=1 gemem-sim compare small.ops -f csv
lines 1; says err 'note: FLAGS_free_idle_chunk, GE_USE_STATIC_MEMORY, PYTORCH_ALLOC_CONF are set in the environment and not used; --env takes them from there$'
run 0 env PYTORCH_ALLOC_CONF=x GE_USE_STATIC_MEMORY=2 gemem-sim compare -v small.ops -a direct -a 'paddle-*'; silent err
run 0 env FLAGS_allocator_strategy=naive_best_fit gemem-sim compare -v small.ops -a paddle; says err 'FLAGS_allocator_strategy is set'
run 0 env FLAGS_allocator_strategy=naive_best_fit gemem-sim compare -v small.ops -a paddle-auto-growth; silent err
run 0 env FLAGS_eager_delete_tensor_gb=-1 gemem-sim compare graph.json -a direct; silent err
run 0 env FLAGS_eager_delete_tensor_gb=-1 gemem-sim compare graph.json -a direct --lower=paddle; says err 'FLAGS_eager_delete_tensor_gb is set'

# ---- plan
plan () { gemem-sim plan graph.json -f csv "$@"; }
run 0 plan -p ge-hybrid; cp "$out" without.csv
run 0 plan -p ge-hybrid:static_memory_policy=2,split_limit=1MiB; cut -d , -f 4 "$out" > wanted.csv
run 0 env GE_USE_STATIC_MEMORY=2 gemem-sim plan graph.json -f csv -p ge-hybrid; lines 1; says err 'GE_USE_STATIC_MEMORY is set in the environment and not used'
check 'and not used' cmp without.csv "$out"
run 0 env GE_USE_STATIC_MEMORY=2 gemem-sim plan graph.json -f csv -p ge-hybrid:split_limit=1MiB -p first-fit --env
lines 1; says err 'note: planners of GE: GE_USE_STATIC_MEMORY is deprecated; use static_memory_policy$'
says out '^graph.json,ge-hybrid,"?ge-hybrid:split_limit=1MiB,GE_USE_STATIC_MEMORY=2"?,'; says out '^graph.json,first-fit,first-fit,'
run 0 env GE_USE_STATIC_MEMORY=2 gemem-sim plan graph.json -p ge-hybrid:split_limit=1MiB --env --plan with.json
run 0 plan -p ge-hybrid:split_limit=1MiB,static_memory_policy=2 --plan given.json
run 0 plan -p ge-hybrid:split_limit=1MiB --plan none.json
run 0 env GE_USE_STATIC_MEMORY=2 gemem-sim plan graph.json -p ge-hybrid:split_limit=1MiB,static_memory_policy=3 --env --plan both.json
# The variable and the option are OR-ed (ge-runtime.md 7.1); the plans differ in nothing but what chose them.
for file in with given none both; do jq -S 'del (.planner)' $file.json > $file.sorted; done
check 'the variable does what the option does' cmp with.sorted given.sorted
check 'whatever the option says' cmp both.sorted given.sorted
check 'and it does something' sh -c '! cmp -s with.sorted none.sorted'
run 2 env GE_USE_STATIC_MEMORY=on gemem-sim plan graph.json -p ge-hybrid:rules=documented --env; says err "GE_USE_STATIC_MEMORY='on'"
run 0 env GE_USE_STATIC_MEMORY=2 gemem-sim plan graph.json -p first-fit --env; says err 'GE_USE_STATIC_MEMORY has no effect on what was chosen; it is read by ge'
run 0 env GE_USE_STATIC_MEMORY=2 gemem-sim plan graph.json -p ge-hybrid:GE_USE_STATIC_MEMORY=0 --env; says err 'left out for ge-hybrid:GE_USE_STATIC_MEMORY=0'
run 0 env FLAGS_eager_delete_tensor_gb=-1 gemem-sim plan graph.json -p first-fit --lower=paddle --env -f csv; silent err
run 2 env GE_USE_STATIC_MEMORY=2 gemem-sim plan --check with.json graph.json --env; says err 'leave out .*--env'

done_testing
