#!/bin/sh
# test-cli-device-words.sh - the device that a file was recorded on, and what people type for devices and settings: sizes, GPUs, lines that
# they would paste into a shell.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
for folder in traces workloads tests; do ln -s "$GEMEM_SRCDIR/$folder" . ; done
samples=tests/data/pytorch session=workloads/sessions/dynamic-shapes.gmt

# ---- the device of the file
# profile NAME BYTES-OF-THE-REQUEST PROPERTIES...: a profiler trace of one request on device 0, with these deviceProperties.
profile () {
  name=$1 bytes=$2; shift 2
  cat >"$name" <<END
{"schemaVersion": 1, "deviceProperties": [$*], "traceEvents": [
{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "args": {"Device Type": 1, "Device Id": 0,
 "Addr": 139637976727552, "Bytes": $bytes, "Total Allocated": $bytes, "Total Reserved": $bytes}},
{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 2, "args": {"Device Type": 1, "Device Id": 0,
 "Addr": 139637976727552, "Bytes": -$bytes, "Total Allocated": 0, "Total Reserved": $bytes}}]}
END
}
mi300x='{"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 206141652992, "computeMajor": 9}'
rtx3090='{"id": 0, "name": "NVIDIA GeForce RTX 3090", "totalGlobalMem": 25438126080}'
profile large.json 107374182400 "$mi300x"
profile small.json 21474836480 "$rtx3090"
run 0 gemem-sim large.json; says out '^It fits: it needs 100\.0 GiB of 192\.0 GiB \(the recorded device\)'
run 0 gemem-sim replay large.json; says out '^  device as recorded: 192\.0 GiB, AMD Instinct MI300X$'; says out 'peak reserved +100\.0 GiB'
run 0 gemem-sim compare large.json -a pytorch-caching -a tf-bfc; says out '^device as recorded: 192\.0 GiB, AMD'
run 0 gemem-sim replay small.json; says out '^  device as recorded: 23\.69 GiB, NVIDIA GeForce RTX 3090$'
run 0 gemem-sim replay small.json -f json; says out '"device_from": "device as recorded: 23\.69 GiB, NVIDIA'
run 0 gemem-sim replay small.json -d 40GiB; lacks out 'device as recorded'; says out 'on sim:capacity=40GiB'
run 0 gemem-sim convert small.json small.gmt; run 0 gemem-sim replay small.gmt; says out '^  device as recorded: 23\.69 GiB, NVIDIA'
profile second.json 107374182400 '{"id": 1, "name": "Other", "totalGlobalMem": 206141652992}'
run 3 gemem-sim second.json; says out 'How large its device is was not recorded'
run 0 gemem-sim replay second.json --fail-on-oom; says out '^  device assumed: 139\.8 GiB, the file does not say; '
profile odd.json 107374182400 '{"id": 0, "name": 7, "totalGlobalMem": "much"}, 7, {"id": -1, "name": {"a": [1]}}'
run 0 gemem-sim replay odd.json; says out '^  device assumed: 139\.8 GiB'
profile contradicts.json 107374182400 "$rtx3090"
run 0 gemem-sim replay contradicts.json; says out '^  device assumed: 139\.8 GiB'
profile cut.json 1048576 "$mi300x"; head -c 60 cut.json >cut2.json
run 3 gemem-sim replay cut2.json
# reserved and free where it ran out: the samples were made on devices of these sizes
for sample in refused-2.6:2.000 refused-2.15:2.000; do
  run 0 gemem-sim replay $samples/${sample%:*}.pickle.gz
  says out "^  device as recorded: ${sample#*:} GiB, what the program had and what was free when it ran out\$"
done
run 0 gemem-sim replay $samples/collected-2.11.pickle.gz # a limit of the program, from which garbage was collected, was in force
says out '^  device as recorded: 862\.0 MiB, what the program held at most, as a limit of its own refused more$'
run 4 gemem-sim $samples/refused-2.11.pickle.gz; says out '^It does not fit on the device it was recorded on \(2\.000 GiB\)'
run 0 gemem-sim replay $samples/middle-2.15.pickle.gz; says out '^  device assumed: 80\.00 GiB'
run 3 gemem-sim $samples/middle-2.15.pickle.gz -d sim:address=bump; says out 'How large its device is was not recorded'
if shared cases/recordings; then
  over=$GEMEM_SHARED/cases/recordings/05-snapshot-over-80GiB.pickle
  run 0 gemem-sim replay "$over" -d sim:address=recorded --fail-on-oom; says out '^  device assumed: 139\.8 GiB'; says out 'reproduces the recording exactly'
  run 3 gemem-sim "$over"; says out '^It needs 100\.0 GiB'
else
  skip 'a snapshot of more than 80 GiB' "no cases in $GEMEM_SHARED"
fi

# ---- the device that would do
# what others hold of the recorded device, as a dry run's context, is counted once, and in no saving
cat >others.txt <<'END'
# gemem-trace: 1
# allocator: "pytorch-caching"
# device: "capacity=104857600,reserved_by_others=31457280"
alloc 1 size=40MiB
alloc 2 size=40MiB
# end: 2
END
run 4 gemem-sim others.txt; says out ' It needs a device of 110\.0 MiB\.$'
run 4 gemem-sim others.txt --capacity 60MiB; says out '^  of 110\.0 MiB\.$'
run 4 gemem-sim others.txt -f json; check 'JSON: what the program itself needs' jq -e '.[0].needed_bytes == 80 * 1048576' "$out"
# a smaller device may do where a larger one does not: there the cache is emptied before block 3 splits it
cat >smaller.txt <<'END'
# gemem-trace: 1
# allocator: "pytorch-caching"
alloc 1 size=30MiB
free 1
alloc 2 size=40MiB
alloc 3 size=5MiB
free 2
alloc 4 size=45MiB
# end: 6
END
run 0 gemem-sim smaller.txt --capacity 69MiB; says out '^It fits: it needs 66\.00 MiB of 69\.00 MiB'
for size in 72 75; do run 4 gemem-sim smaller.txt --capacity ${size}MiB; says out 'needs a device of 76\.00 MiB\.$'; done
sed 's/45MiB/48MiB/' smaller.txt >gaps.txt; run 4 gemem-sim gaps.txt --capacity 40MiB; says out '^  of 78\.00 MiB\.$' # 68 MiB would do, and 70 MiB fail
run 4 gemem-sim gaps.txt --capacity 70MiB; lacks out 'larger'
sed 's/30MiB/60MiB/; s/40MiB/62MiB/; s/45MiB/68MiB/' smaller.txt >far.txt; run 4 gemem-sim far.txt --capacity 70MiB; says out ' a device of 88\.00$'; says out '^  MiB, and some larger ones fail\.$'
run 0 gemem-sim replay smaller.txt -d sim:capacity=72MiB --find-capacity; says out '^  least capacity +66\.00 MiB'; says out '^  \(some larger capacities fail'

# ---- sizes and GPUs
# same WORDS -- WORDS: both replay the same on the same device.
same () { # DEVICE-OPTIONS PLAIN-SPEC
  # shellcheck disable=SC2086 # options are words
  run 0 gemem-sim replay $session -a pytorch-caching $1; cp "$out" words
  run 0 gemem-sim replay $session -a pytorch-caching -d "$2"; check "$1 is $2" cmp -s words "$out"
}
same '-d 16GiB' sim:capacity=16GiB
same '--capacity 16GiB' sim:capacity=16GiB
same '-d 16GiB:address=first-fit' sim:capacity=16GiB,address=first-fit
same '-d sim:address=first-fit --capacity=16GiB' sim:address=first-fit,capacity=16GiB
same '-d h100' sim:gpu=h100
same '-d h100:address=first-fit' sim:gpu=h100,address=first-fit
for gpu in rtx4090 RTX_4090 rtx-4090 4090; do same "-d $gpu" sim:gpu=rtx4090; done
same '-d A100-SXM4-80GB' sim:gpu=a100-80; same '-d a100-80gb' sim:gpu=a100-80
run 0 gemem-sim advise $session -d 'NVIDIA GeForce RTX 4090'; says out '^It fits: it needs 3\.305 GiB of 23\.52 GiB'

# ---- the driver's context is no request: what leaves it too little of a card is not called fitting
printf '# gemem-trace: 1\n# allocator: "pytorch-caching"\nalloc 1 size=23.4GiB\nfree 1\n# end: 2\n' >nearly.txt
run 3 gemem-sim nearly.txt -d rtx4090; says out "context and kernels, commonly some hundreds of MiB,$"; says out 'and only 119\.0 MiB are left'
run 0 gemem-sim nearly.txt -d 24GiB; says out '^It fits: .*; the other 614\.0 MiB have to do$'
run 0 gemem-sim nearly.txt -d sim:gpu=rtx4090,reserved_by_others=100MiB; says out '^It fits: it needs 23\.40 GiB of 23\.52 GiB with the settings it had\.$'
run 0 gemem-sim nearly.txt -d a40; says out '^It fits: it needs 23\.40 GiB of 44\.35 GiB with the settings it had\.$'
run 4 gemem-sim $session -d 2.7GiB; lacks out driver
# nor what leaves cuBLAS no handle, on a device of any size: 24.30 MiB beside 2.777 GiB
gpt2=$GEMEM_SRCDIR/traces/recorded/gpt2-train.gmt
run 3 gemem-sim "$gpt2" --capacity 2868MiB; says out '^It cannot be told whether it fits: only 24\.00 MiB are left beside its allocator, and cuBLAS alone$'; says out '^  takes 64\.13 MiB of an H100'
run 0 gemem-sim "$gpt2" --capacity 2909MiB; says out '^It fits: it needs 2\.777 GiB of 2\.841 GiB with the settings it had\.$'
run 0 gemem-sim "$gpt2" -d sim:capacity=2868MiB,reserved_by_others=1MiB; says out '^It fits: '
run 4 gemem-sim "$gpt2" --capacity 2490MiB; says out '^It may fit with'; says out '; leaves cuBLAS 6\.000 MiB$'
run 0 gemem-sim $session -d 2.78GiB; lacks out cuBLAS # which allocator made it is not known
run 0 gemem-sim compare $session -a pytorch-caching -d '16GiB|24GiB' -f csv; says out 'capacity=16GiB'; says out 'capacity=24GiB'
run 2 gemem-sim replay $session -d a100; says err "'a100' is made in several sizes: a100-40 \(39\.38 GiB\), a100-80 \(79\.15 GiB\); choose one"
run 2 gemem-sim advise $session -d v100; says err 'v100-16 \(15\.77 GiB\), v100-32'
run 2 gemem-sim replay $session -d rtx4091; says err "nearest: rtx4090"
run 2 gemem-sim replay $session -d 16GiX; says err "unknown unit 'GiX'"
run 2 gemem-sim replay $session -d 16; says err 'write 16GiB'
run 2 gemem-sim replay $session -d warehouse; says err "'warehouse': no such device; .* a size \(16GiB\) or a GPU"
run 2 gemem-sim replay $session -a pytorch-caching -d h100 --capacity 16GiB; says err 'gpu.*capacity|capacity.*gpu'

# ---- a recording that does not name its allocator
printf 'a 1 104857600\nf 1\n' >plain.ops
run 0 gemem-sim replay plain.ops; says out '^plain\.ops through pytorch-caching '
says err '^gemem-sim: note: plain\.ops does not say which allocator recorded it: pytorch-caching is assumed; -a NAME chooses another$'
run 0 gemem-sim replay plain.ops -a tf-bfc; silent err
run 0 gemem-sim replay $samples/middle-2.15.pickle.gz; silent err
printf '# gemem-trace: 2\n# allocator: "warehouse"\nalloc 1 size=1000\nfree 1\n# end: 2\n' >strange.txt
run 2 gemem-sim replay strange.txt; says err "strange\.txt was recorded with 'warehouse', which is not among the allocators here; choose one with -a NAME"
run 2 gemem-sim advise strange.txt; says err "recorded with 'warehouse'"
run 0 gemem-sim advise strange.txt --for pytorch --capacity 1GiB; says out '^It fits'

# ---- lines that people paste
# means LINE ALLOCATOR: both need the same.
need () { sed -n 's/^  peak reserved *//p; s/^  device calls.*//p' "$out"; }
means () {
  run 0 gemem-sim replay $session -a "$1"; says out 'peak reserved'; need >pasted
  run 0 gemem-sim replay $session -a "$2"; need >plain; check "$1 means $2" cmp -s pasted plain
}
expandable=pytorch-caching:expandable_segments=yes
means 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True' $expandable
means 'export PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True";' $expandable
means "PYTORCH_ALLOC_CONF='expandable_segments:True' python train.py --lr=3" $expandable
means 'set PYTORCH_HIP_ALLOC_CONF=expandable_segments:True' $expandable
means 'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"' $expandable
means "torch.cuda.memory._set_allocator_settings('expandable_segments:True')" $expandable
means 'export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,garbage_collection_threshold:0.6' pytorch-caching:max_split_size_mb=64,garbage_collection_threshold=0.6
means PYTORCH_CUDA_ALLOC_CONF= pytorch-caching
means PYTORCH_NPU_ALLOC_CONF=expandable_segments:True torch-npu:expandable_segments=yes
means 'FLAGS_allocator_strategy=auto_growth FLAGS_auto_growth_chunk_size_in_mb=64' paddle-auto-growth:auto_growth_chunk_size_in_mb=64
means FLAGS_use_virtual_memory_auto_growth=1 paddle-vmm-auto-growth
means 'export FLAGS_allocator_strategy=naive_best_fit FLAGS_fraction_of_gpu_memory_to_use=0.5' paddle-buddy:fraction_of_gpu_memory_to_use=0.5
means TF_GPU_ALLOCATOR=cuda_malloc_async cuda-async
means TF_FORCE_GPU_ALLOW_GROWTH=false tf-bfc:allow_growth=no
means XLA_PYTHON_CLIENT_PREALLOCATE=false tf-bfc:allow_growth=yes,limit=75%
means 'export XLA_PYTHON_CLIENT_MEM_FRACTION=.9' tf-bfc:allow_growth=no,limit=90%
means 'XLA_PYTHON_CLIENT_PREALLOCATE=false XLA_PYTHON_CLIENT_MEM_FRACTION=0.5 python x.py' tf-bfc:allow_growth=yes,limit=50%
means XLA_PYTHON_CLIENT_ALLOCATOR=platform direct
means ge.exec.staticMemoryPolicy=2 ge:static_memory_policy=2
means 'rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=1073741824))' rmm-pool:initial_pool_size=1GiB
run 2 gemem-sim replay $session -a 'rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource()))' # RMM then takes half of what is free
says err 'its initial_pool_size by default is not known here; add it'
# every line of advise is what it says (tests/unit/test-advise: every line of every form)
gemem-sim advise $session --capacity 2.7GiB --details >advice; grep '^  export' advice | sed 's/^  //' >lines
check 'advise offers lines' test -s lines
while read -r line; do
  run 0 gemem-sim replay $session -d 2.7GiB -a "$line" --fail-on-oom </dev/null
  needs=$(sed -n 's/^  peak reserved *\([0-9.]* [KMG]iB\).*/\1/p' "$out")
  check "$line: $needs" sh -c "grep -A1 -F -- \"\$1\" advice | grep -q '^      $needs,'" sh "$line"
done <lines
run 0 gemem-sim compare $session -a 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True' -a pytorch-caching; says out '^PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True +2\.467 GiB'
run 0 gemem-sim replay $samples/refused-2.15.pickle.gz -a 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'; silent err
# wrong ones say what is wrong
wrong () { run 2 gemem-sim replay $session -a "$1"; says err "$2"; lacks err 'environment'; }
run 2 gemem-sim replay $session -a PYTORCH_CUDA_ALLOC_CONF=expandable_segment:True; says err 'unknown key expandable_segment; did you mean'
wrong FLAGS_fraction_of_gpu_memory_to_use=0.5 'add FLAGS_allocator_strategy=naive_best_fit'
wrong FOO=bar "'FOO=bar': no allocator reads this line"
wrong XLA_PYTHON_CLIENT_MEM_FRACTION=7 'XLA_PYTHON_CLIENT_MEM_FRACTION: of JAX are known'
wrong 'TF_GPU_ALLOCATOR=cuda_malloc_async TF_FORCE_GPU_ALLOW_GROWTH=true' 'a part of it has no effect here'
wrong 'rmm.reinitialize(pool_allocator=True)' 'no allocator reads this line'
wrong "export 'PYTORCH_CUDA_ALLOC_CONF=x" 'no allocator reads this line'

# ---- the values of '*' are not refused
for key in large_segment_size_mb max_split_size_mb max_non_split_rounding_mb roundup_power2_divisions expandable_segments; do
  run 0 gemem-sim compare plain.ops -a "pytorch-caching:$key=*"; silent err
done
run 0 gemem-sim compare plain.ops -a 'pytorch-caching:garbage_collection_threshold=*'
check "one note, that it has no effect alone" sh -c 'test $(wc -l <"$1") -eq 1 && grep -q "note: .* has no effect without a limit" "$1"' sh "$err"

done_testing
