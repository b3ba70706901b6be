#!/bin/sh
# test-cli-messages.sh - gemem-sim explain: the messages that real programs print when memory runs out (tests/data/messages), in all their
# wordings, the cause as far as they tell, sums that do not add up, and texts that are no message.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
data=$GEMEM_SRCDIR/tests/data/messages

explains () { # STATUS FILE CAUSE FIGURES: as JSON; FIGURES: "name=bytes ..."
  run "$1" gemem-sim explain "$2" -f json; says out "\"cause\": \"$3\""
  for figure in $4; do says out "\"${figure%=*}\": ${figure#*=}[,}]"; done
}
G=1073741824 M=1048576

# ---- PyTorch, as the binaries of its releases print it
for version in 1.4.0 1.8.1 1.10.2; do
  explains 4 "$data/torch-$version.txt" too-little "asked_bytes=$((70 * G)) total_bytes=$((80 * G)) allocated_bytes=$((70 * G)) free_bytes=$((10 * G)) reserved_bytes=$((70 * G)) outside_bytes=0"
done
for version in 2.0.1 2.1.2; do explains 4 "$data/torch-$version.txt" too-little "asked_bytes=$((70 * G)) total_bytes=$((80 * G)) allocated_bytes=$((80 * G)) free_bytes=0 idle_bytes=0"; done
for version in 2.6.0 2.9.1 2.15.0; do
  for kind in plain expandable; do
    explains 4 "$data/torch-$version-$kind.txt" too-little "asked_bytes=$((700 * M)) total_bytes=$G allocated_bytes=$((700 * M)) free_bytes=$((324 * M)) idle_bytes=0"
  done
  explains 3 "$data/torch-$version-processes.txt" held-outside "process_bytes=$((756 * M)) other_processes_bytes=$((200 * M)) outside_bytes=$((256 * M)) beside_bytes=$((56 * M)) elsewhere_bytes=$((200 * M))"
  explains 3 "$data/torch-$version-fraction.txt" limit "asked_bytes=$((300 * M)) free_bytes=$((424 * M)) reserved_bytes=$((600 * M))"
done
for version in 1.8.1 1.10.2 2.0.1; do explains 3 "$data/torch-$version-fraction.txt" limit "allowed_bytes=$((56 * G)) free_bytes=$((30 * G))"; done
explains 3 "$data/torch-2.1.2-fraction.txt" enough-free '' # that release does not name its limit
explains 3 "$data/torch-2.3.1.txt" untold "asked_bytes=$((70 * G))"; lacks out total_bytes
run 3 gemem-sim "$data/torch-2.3.1.txt"; says out 'Not in it: how much the device has'
for version in 1.4.0 1.13.1 2.15.0; do
  explains 3 "$data/torch-$version-summary.txt" untold "allocated_bytes=$((14500 * M)) reserved_bytes=$((15100 * M)) idle_bytes=$((600 * M)) peak_allocated_bytes=$((15950 * M)) not_releasable_bytes=$((400 * M)) releasable_bytes=$((200 * M)) refusals=1 flushes=3"
done

# ---- the causes, in words
message () { # TEXT...
  printf '%s\n' "$@" >message.log
}
now='Of the allocated memory'
message "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 62.00 MiB. GPU 0 has a total capacity of 24.00 GiB of which 10.00 MiB is free. $now 14.50 GiB is allocated by PyTorch, with 1.00 GiB allocated in private pools (e.g., CUDA Graphs), and 615.00 MiB is reserved by PyTorch but unallocated."
run 3 gemem-sim message.log
says out '^message.log: PyTorch.s out-of-memory message$'; says out '^Fragmentation, or memory that other streams or pools keep or still use; the message does not say$'
says out '^  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True   # 615\.0 MiB \(reserved and idle\)$'; says out ' in use .pools 1\.000 GiB.\.$'
says out "_dump_snapshot\('snapshot\.pickle'\)"; silent err
check 'at most ten lines of 100 columns' sh -c "test \$(wc -l <'$out') -le 10 && ! grep -E '.{101}' '$out'"
run 3 sh -c 'gemem-sim - <message.log'; says out '^standard input: PyTorch'
run 3 sh -c 'gemem-sim explain - -f json <message.log'; says out '"private_pool_bytes": 1073741824'
# what others hold is worth more than what could be gained of its own
message "CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 187.81 MiB is free. Process 213877 has 21.59 GiB memory in use. Including non-PyTorch memory, this process has 1.20 GiB memory in use. $now 700.12 MiB is allocated by PyTorch, and 51.88 MiB is reserved by PyTorch but unallocated."
run 3 gemem-sim message.log; says out '^Other processes hold 21\.59 GiB of the device.s 23\.64 GiB: end those'
check 'at most ten lines here, too' sh -c "test \$(wc -l <'$out') -le 10 && ! grep -E '.{101}' '$out'"
message "CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 187.81 MiB is free. Process 213877 has 1.59 GiB memory in use. Including non-PyTorch memory, this process has 21.20 GiB memory in use. $now 20.00 GiB is allocated by PyTorch, and 751.88 MiB is reserved by PyTorch but unallocated."
run 3 gemem-sim message.log; says out '^Fragmentation'; lacks out 'Other processes'
# in a container PyTorch takes its own process for another one
message "CUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 14.38 MiB is free. Process 4021 has 23.61 GiB memory in use. $now 22.50 GiB is allocated by PyTorch, and 610.54 MiB is reserved by PyTorch but unallocated."
run 3 gemem-sim message.log; says out '^Fragmentation'; lacks out 'Other processes'
message "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 14.38 MiB is free. Process 4021 has 17.61 GiB memory in use. Process 4032 has 6.00 GiB memory in use. $now 16.90 GiB is allocated by PyTorch, and 210.54 MiB is reserved by PyTorch but unallocated."
run 3 gemem-sim message.log; says out '^Memory outside PyTorch is in the way: 6\.520 GiB of other processes, or of this one'
sed -i 's/17.61/11.61/; s/6.00 GiB/12.00 GiB/; s/16.90 GiB/10.90 GiB/; s/2.00 GiB/200.00 MiB/' message.log
run 3 gemem-sim message.log; says out '^Others than PyTorch hold 12\.52 GiB of the device.s 23\.64 GiB: end those that need not run\.'
# as logs, chats and mails carry it: coloured, quoted, framed, with commas for points; behind more than is looked at at once
whole="CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.05 GiB is free. Including non-PyTorch memory, this process has 22.07 GiB memory in use. $now 18.20 GiB is allocated by PyTorch, and 3.40 GiB is reserved by PyTorch but unallocated."
message "$whole"; gemem-sim message.log | tail -n +2 >plain
reads () { check "$1 is read like the plain text" sh -c 'gemem-sim message.log | tail -n +2 | cmp - plain'; }
esc=$(printf '\033'); message "$(printf '%s\n' "$whole" | sed "s/out of memory/$esc[01;31m$esc[K&$esc[m$esc[K/; s/[0-9]\.[0-9]*/$esc[1;36m&$esc[0m/g")"; reads colour
message "$(printf '%s\n' "$whole" | fold -s -w 60 | sed 's/^/> /')"; reads 'a mail'
message "$(printf '%s\n' "$whole" | fold -s -w 60 | sed 's/^/│ /; s/$/ │/')"; reads 'a frame'
message "$(printf '%s\n' "$whole" | sed 's/\([0-9]\)\.\([0-9]\)/\1,\2/g')"; reads 'commas for points'
{ yes '2026-11-30 02:14:00,123 INFO step 1234 loss 2.345 lr 0.0001' | head -c 16777100; printf '%s\n' "$whole"; } >message.log; reads 'the end of a long log'
{ yes '2026-11-30 02:14:00,123 INFO step 1234 loss 2.345 lr 0.0001' | head -c 34000000; printf '%s\n' "$whole"; } >message.log; reads 'the end of a longer log'
# a program in place of its recording
message 'import torch, sys' 'x = torch.empty (1 << 30)'
run 3 gemem-sim message.log; says err 'a Python program, not a recording of one; gemem-dry-run python PROGRAM makes one'
message '# Trains.' 'import sys' 'try: train ()' 'except torch.OutOfMemoryError: pass'
run 3 gemem-sim message.log; says out '^message.log: a program, and no recording of one$'; says out '^  gemem-dry-run -o run.gmt python PROGRAM'
# a text that only speaks of it
message 'To avoid running out of memory lower the batch size.' 'Training finished.'
run 3 gemem-sim message.log; says out '^message.log: a text that speaks of memory that runs out$'; says out 'nor whether anything was refused'; lacks out 'Memory was refused|CUDA call'
# memory that is free, but in less than a step of an expandable segment
message "CUDA out of memory. Tried to allocate 14.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 16.38 MiB is free. Including non-PyTorch memory, this process has 23.62 GiB memory in use. $now 23.00 GiB is allocated by PyTorch, and 160.54 MiB is reserved by PyTorch but unallocated."
explains 3 message.log full 'at_most_bytes=168338391'; run 3 gemem-sim message.log; says out '^Too little is left'
sed -i 's/23.00 GiB/20.00 GiB/; s/160.54 MiB/3.15 GiB/' message.log
run 3 gemem-sim message.log; says out 'With expandable segments PyTorch takes$'; says out '^  steps of 20\.00 MiB, which is more'
sed -i 's/16.38 MiB/21.38 MiB/' message.log
run 3 gemem-sim message.log; says out 'That is enough: a limit refused it, or$'; lacks out 'steps'
message 'RuntimeError: CUDA out of memory. Tried to allocate 30.00 GiB (GPU 0; 23.69 GiB total capacity; 1.00 GiB already allocated; 22.00 GiB free; 1.10 GiB reserved in total by PyTorch)'
run 4 gemem-sim message.log; says out '^It does not fit: one request of 30\.00 GiB is larger than the whole device of 23\.69 GiB\.'
message 'CUDA out of memory. Tried to allocate 6.00 GiB (GPU 0; 6.00 GiB total capacity; 1.00 GiB already allocated; 4.60 GiB free; 1.10 GiB reserved in total by PyTorch)'
run 4 gemem-sim message.log; says out 'Truly too little' # 6.00 may be less than 6.00: the message does not decide
message 'CUDA out of memory. Tried to allocate 1.39 GiB (GPU 0; 6.00 GiB total capacity; 4.04 GiB already allocated; 478.00 MiB free; 4.15 GiB reserved in total by PyTorch)'
run 3 gemem-sim message.log; says out 'Memory outside PyTorch is in the way: 1\.383 GiB of other processes, or of this one'; lacks out 'expandable' # that release does not know it
# what every process has beside PyTorch is not the cause, nor what rounding leaves for others; a setting that gains too little is not offered
message "CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 15.32 GiB of which 23.75 MiB is free. Including non-PyTorch memory, this process has 15.30 GiB memory in use. $now 15.14 GiB is allocated by PyTorch, and 30.78 MiB is reserved by PyTorch but unallocated."
explains 3 message.log full 'at_most_bytes=32275169'; run 3 gemem-sim message.log
says out '^Too little is left: PyTorch has 15\.14 GiB of the device.s 15\.32 GiB in use, 64\.00 MiB'; lacks out 'expandable|other processes'
check 'at most ten lines of a full device' sh -c "test \$(wc -l <'$out') -le 10"
message "CUDA out of memory. Tried to allocate 1.49 GiB. GPU 0 has a total capacity of 1.96 GiB of which 1.41 GiB is free. Including non-PyTorch memory, this process has 566.28 MiB memory in use. $now 402.40 MiB is allocated by PyTorch, and 35.61 MiB is reserved by PyTorch but unallocated."
explains 3 message.log full ''
message "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 16.49 GiB of which 9.75 MiB is free. Including non-PyTorch memory, this process has 16.48 GiB memory in use. $now 16.34 GiB is allocated by PyTorch, and 13.09 MiB is reserved by PyTorch but unallocated."
explains 3 message.log full ''; run 3 gemem-sim message.log; says out 'expandable_segments:True   # 13\.09 MiB'
message "CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 6.99 GiB memory in use. $now 2.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated."
explains 3 message.log held-outside ''; run 3 gemem-sim message.log; says out 'this process \(CUDA, other libraries\)\. 4'
# PyTorch 2.11 calls allocated what private pools keep idle (a dry run, where 1.5 of 1.62 GiB were): no 'truly too little'
message "CUDA out of memory. Tried to allocate 480.00 MiB. GPU 0 has a total capacity of 2.86 GiB of which 119.87 MiB is free. Including non-PyTorch memory, this process has 2.74 GiB memory in use. $now 2.66 GiB is allocated by PyTorch, with 1.62 GiB allocated in private pools (e.g., CUDA Graphs), and 17.54 MiB is reserved by PyTorch but unallocated."
explains 3 message.log private-pools ''; run 3 gemem-sim message.log; says out '^Private pools .CUDA graphs, MemPool. keep 1\.620 GiB'
check 'at most ten lines of pools' sh -c "test \$(wc -l <'$out') -le 10"
# a limit that the sum reaches as its figures are rounded, where the device has plenty
message "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 13.72 GiB of which 5.37 GiB is free. Including non-PyTorch memory, this process has 8.35 GiB memory in use. 8.23 GiB allowed; $now 8.21 GiB is allocated by PyTorch, and 8.47 MiB is reserved by PyTorch but unallocated."
explains 3 message.log limit ''; run 3 gemem-sim message.log; check 'at most ten lines of a limit' sh -c "test \$(wc -l <'$out') -le 10"
message 'HIP out of memory. Tried to allocate 8.54 GiB. GPU 0 has a total capacity of 15.92 GiB of which 0 bytes is free. Of the allocated memory 3.97 GiB is allocated by PyTorch, and 9.27 GiB is reserved by PyTorch but unallocated.'
explains 3 message.log fragmentation "free_bytes=0"
message 'RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 55.00 GiB already allocated; 55.10 GiB current active; 1.00 GiB free; 58.00 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.'
run 3 gemem-sim message.log; says out "torch_npu's"; says out 'export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True'
message "CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free. $now 3.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated."
run 3 gemem-sim message.log; says out '500\.0 MiB \(reserved and idle\), not enough for this request$'
explains 3 message.log held-outside 'at_most_bytes=524288000'; says out '"falls_short": true'
# what NVML does not know is no number
message "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is free. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. $now 5.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated."
explains 3 message.log held-outside ''; lacks out '"process_bytes"'
# a message that a terminal wrapped, within a log, twice
{ yes 'epoch 1 loss 0.3' | head -n 20000; sed 's/is free/is\n    free/' "$data/torch-2.6.0-plain.txt"; echo 'During handling of the above exception, another exception occurred:'; cat "$data/torch-2.6.0-processes.txt"; } >train.log
explains 4 train.log too-little "free_bytes=$((324 * M))"; says out '"times": 2'; lacks out '"process_bytes"'
run 4 gemem-sim train.log; says out 'the first of several'

# a terminal that breaks lines anywhere: a number that may be broken is none, not the rest of it; a time in the next line is no rest
message 'Out of memory error on GPU 0. Cannot allocate 1.204590GB memory on GPU 0, 22.563' '110GB memory has been allocated and available memory is only 1.126587GB.'
explains 3 message.log untold 'asked_bytes=1293418663 free_bytes=1209663580'; lacks out '"reserved_bytes"'
message "CUDA out of memory. Tried to allocate 3.06 GiB. GPU 0 has a total capacity of 23." '53 GiB of which 1.32 GiB is free.'
explains 3 message.log untold ''; lacks out '"total_bytes"'
message '[E:onnxruntime:, sequential_executor.cc:516] Failed to allocate memory for requested buffer of size 2147483648' '2025-07-01 10:11:12 [W] next'
explains 3 message.log untold 'asked_bytes=2147483648'
# a terminal that breaks lines within words, at any width: what is known is what the whole text tells, and is never another number
whole="2026-11-30 22:00:00.123 [E:onnxruntime:, sequential_executor.cc:516 ExecuteKernel] Non-zero status code returned while running Conv node. Name:'/model/conv1/Conv' Status Message: bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*, bool) Failed to allocate memory for requested buffer of size 2147483648"
figures () { gemem-sim explain message.log -f json 2>&1 | grep -o '"[a-z_]*_bytes": [0-9]*\|.*error.*' | grep -v 'not recognised' | sort; }
folds () { # WHAT TIMES: with each width from 60 to 130; known at least so often
  message "$whole"; figures >plain; : >folded; known=0
  for width in $(seq 60 130); do printf '%s\n' "$whole" | fold -w "$width" >message.log; figures >>folded; figures | grep -q . && known=$((known + 1)); done
  sort -u folded >found
  check "$1, broken: no other number" sh -c '! comm -23 found plain | grep .'
  check "$1, broken: mostly known" test "$known" -ge "$2"
}
folds "ONNX Runtime's" 60
whole="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.05 GiB is free. Including non-PyTorch memory, this process has 22.07 GiB memory in use. $now 18.20 GiB is allocated by PyTorch, and 3.40 GiB is reserved by PyTorch but unallocated."
folds "PyTorch's" 71
# a line broken within what a message is known by, and the blanks of a chat
message 'Status Message: bfc_arena.cc:376 Failed to allocate memory for requested' 'buffer of size 2147483648'; explains 3 message.log untold 'asked_bytes=2147483648'
sed 's/ /\xc2\xa0/g' "$data/torch-2.6.0-plain.txt" >message.log; explains 4 message.log too-little "asked_bytes=$((700 * M)) free_bytes=$((324 * M))"

# ---- sums that do not add up
message 'CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 6.00 GiB total capacity; 4.00 GiB already allocated; 3.00 GiB free; 4.15 GiB reserved in total by PyTorch)'
run 3 gemem-sim message.log; says out '^Its figures do not add up: 7\.150 GiB reserved and free are more than 6\.000 GiB'; lacks out 'could be gained'
message 'CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 6.00 GiB total capacity; 4.00 GiB already allocated; 0 bytes free; 3.15 GiB reserved in total by PyTorch)'
run 3 gemem-sim message.log; says out '^Its figures do not add up: 4\.000 GiB in use are more than 3\.150 GiB reserved'

# ---- other systems
explains 3 "$data/paddle-2.6.2.txt" untold "asked_bytes=$((2560 * M)) reserved_bytes=$((768 * M)) free_bytes=$((1280 * M))"
explains 3 "$data/paddle-2.6.2-limit.txt" limit "asked_bytes=$((2560 * M)) allowed_bytes=$((1500 * M))"; lacks out free_bytes
message '[  1234][08:00:00:000001][info  ] ----- RMM LOG BEGIN [PTDS DISABLED] -----' '[  1234][08:00:00:000002][error ] [A][Stream 0x1][Upstream 1048576B][FAILURE maximum pool size exceeded]'
explains 3 message.log untold "asked_bytes=$M"; run 3 gemem-sim message.log; says out 'rmm\.enable_logging'
message 'load_tensors:        CUDA0 model buffer size =  5000.00 MiB' 'load_tensors:   CPU_Mapped model buffer size =   100.00 MiB' 'load_tensors:        CUDA1 model buffer size =  1000.00 MiB' \
  'llama_kv_cache_unified:      CUDA0 KV buffer size =   512.00 MiB' 'llama_context:      CUDA0 compute buffer size =   560.00 MiB'
explains 3 message.log untold "model_bytes=$((6000 * M)) context_bytes=$((512 * M)) work_bytes=$((560 * M)) needed_bytes=$((7072 * M))"
run 3 gemem-sim message.log; says out 'a shorter context \(-c\)'
message '[ERROR] GE(1234,python):2026-04-09-21:56:40.384.600 [device_allocator.cc:72]4321 Alloc:ErrorNo: 4294967295(failed) Call rtMalloc fail, purpose: page caching, type = 2, size:3221291008, device_id:0'
explains 3 message.log untold 'asked_bytes=3221291008'
message 'EL0004: Failed to allocate memory.'; run 3 gemem-sim message.log; says out 'EL0004'
message 'BufferAssignment:' 'allocation 2: size 4096, preallocated-temp:' 'Total bytes used: 5136 (5.0KiB)'; explains 3 message.log untold 'needed_bytes=5136 work_bytes=4096'
message 'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.'; explains 3 message.log untold 'asked_bytes=17179869184'
message 'NVIDIA-SMI has failed because it couldn'\''t communicate with the NVIDIA driver.'; run 3 gemem-sim message.log; lacks out 'refused'
# the plan of JAX 0.10.2 has no total; however long, its allocations are all of it
{ echo BufferAssignment:; for i in $(seq 1000); do printf 'allocation %d: size 4000000, parameter %d, shape |f32[1000,1000]| at ShapeIndex {}:\n value: <3 a.1 @0> (size=4000000,offset=0): f32[1000,1000]{1,0}\n' "$i" "$i"; done; } >plan.txt
explains 3 plan.txt untold 'needed_bytes=4000000000'
message 'Memory Space: default (color=0)' 'Total bytes: 8004075 (7.63MiB)' '  cumulative_size;       size;       offset; used_by_n_values; shapes_list'; explains 3 message.log untold 'needed_bytes=8004075'
# CuPy 14.2, RMM 24.12 and 26.10, ONNX Runtime 1.32, JAX 0.10.2, TensorFlow, numba-cuda 0.30.4, PyTorch 2.11: as their wheels said it in dry runs or on the host
message 'cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 10,000,000,000 bytes (allocated so far: 1,000,000,000 bytes).'; explains 3 message.log untold 'asked_bytes=10000000000 reserved_bytes=1000000000'
message 'cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,500,000,256 bytes (allocated so far: 1,000,000,000 bytes, limit set to: 2,000,000,000 bytes).'; explains 3 message.log limit 'asked_bytes=1500000256 reserved_bytes=1000000000 allowed_bytes=2000000000'
message 'cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 10,000,000,000 bytes (allocated so far: 0 bytes, limit set to: 18,446,744,073,709,551,615 bytes).'; explains 3 message.log untold 'asked_bytes=10000000000'; lacks out allowed_bytes
short='Not enough r''oom to grow, current/max/try size = 1024.000000 MiB, 2.000000 GiB, 2.793968 GiB'
message "MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/__w/rmm/rmm/cpp/src/mr/detail/pool_memory_resource_impl.cpp:73: Maximum pool size exceeded (failed to allocate 2.793968 GiB): $short"; explains 3 message.log limit "reserved_bytes=$G allowed_bytes=$((2 * G))"
message "MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/__w/a.cpp:73: Maximum pool size exceeded (failed to allocate 9.313226 GiB): std::bad_alloc: out_of_memory: CUDA error (failed to allocate 10000000000 bytes) at: /__w/b.cpp:26: cudaErrorMemoryAllocation out of memory"
run 3 gemem-sim message.log; says out 'A request of 9\.313 GiB was refused; why cannot be told'; lacks out 'limit stops'
message "[ 13149][18:11:01:717414][error ] [A][Stream 0x1][Upstream 3000000000B][FAILURE maximum pool size exceeded: $short]"; explains 3 message.log limit "asked_bytes=3000000000 allowed_bytes=$((2 * G))"
message 'MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/__w/c.cpp:61: Exceeded memory limit 1000000; Allocated bytes 0; Requested bytes 10000000'; explains 3 message.log limit 'asked_bytes=10000000 allowed_bytes=1000000'
run 3 gemem-sim message.log; says out 'the limit of LimitingResourceAdaptor allows'
# MLX 0.32.4, LightGBM 4.7 (the texts in their wheels), PyTorch on Apple's GPU, llama.cpp with Metal
message 'RuntimeError: [metal::malloc] Attempting to allocate 34359738368 bytes which is greater than the maximum allowed buffer size of 22613000192 bytes.'
explains 3 message.log limit 'asked_bytes=34359738368 allowed_bytes=22613000192'; run 3 gemem-sim message.log; says out '^  print \(mlx\.core\.get_peak_memory'; lacks out 'gemem-sim'
message 'RuntimeError: [malloc] Unable to allocate 4294967296 bytes.'; explains 3 message.log untold "asked_bytes=$((4 * G))"
message 'load_tensors: Metal_Mapped model buffer size =  4685.30 MiB' 'llama_kv_cache_unified:      Metal KV buffer size =   512.00 MiB' 'error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)'
explains 3 message.log untold "context_bytes=$((512 * M))"; run 3 gemem-sim message.log; says out "^message.log: Metal's error"; says out 'a shorter context \(-c\)'
message 'RuntimeError: MPS backend out of memory (MPS allocated: 15.06 GB, other allocations: 2.33 GB, max allowed: 18.13 GB). Tried to allocate 1.00 GB on private pool.'
run 3 gemem-sim message.log; says out '2\.330 GiB are in use beside'
for text in '[LightGBM] [Fatal] [CUDA] out of memory /tmp/LightGBM/src/io/cuda/cuda_tree.cpp 37' 'lightgbm.basic.LightGBMError: Memory Object Allocation Failure'; do message "$text"; run 3 gemem-sim message.log; says out 'LightGBM'; says out '^Memory was refused'; done
# estimates are no recording: what they leave out is said
message '│   Memory Usage for loading `meta-llama/Llama-2-7b-hf`    │' '│float16│   125.0 MB  │ 6.74 GB  │         26.96 GB        │'
run 3 gemem-sim message.log; says out "^message.log: accelerate's estimate"; says out 'no activations'; says out '^  gemem-dry-run'; lacks out refused
message 'Estimated memory needed for params, optim states and gradients for a:' '  per CPU  |  per GPU |   Options' '    0.84GB |   0.06GB | offload_optimizer=none'
run 3 gemem-sim message.log; says out "^message.log: DeepSpeed's estimate"; says out 'no buffers of ZeRO'
# DeepSpeed 0.19.8, XGBoost 3.2 (dry runs), llama.cpp with Vulkan; PyTorch's error where only its name was kept
message 'MA 0.68 GB         Max_MA 0.98 GB         CA 0.95 GB         Max_CA 1 GB '
explains 3 message.log untold "allocated_bytes=730144440 peak_allocated_bytes=1052266987 reserved_bytes=1020054732 peak_reserved_bytes=$G"; run 3 gemem-sim message.log; lacks out refused; says out '_dump_snapshot'
message 'xgboost.core.XGBoostError: device_vector.cu:23: Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory' '- Free memory: 9.5MB' '- Requested memory: 15.2588MB'
explains 3 message.log untold 'asked_bytes=16000011 free_bytes=9961472'
message 'ggml_vulkan: Device memory allocation of size 2147483648 failed.' 'ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory'; explains 3 message.log untold 'asked_bytes=2147483648'
for text in 'torch.OutOfMemoryError: CUDA out of memory.' 'torch.OutOfMemoryError: Allocation on device '; do message "$text"; run 3 gemem-sim message.log; says out '^message.log: PyTorch.s out-of-memory error'; says out '_record_memory_history'; done
message "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running ConstantOfShape node. Name:'big' Status Message: bfc_arena.cc:360 AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Failed to allocate memory for requested buffer of size 17592186044416"; explains 3 message.log untold 'asked_bytes=17592186044416'
message 'bfc_arena.cc:360 AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Available memory of 67108864 is smaller than requested bytes of 1073741824'; explains 3 message.log limit "asked_bytes=$G"
message 'jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 17592186044416 bytes.'; explains 3 message.log untold 'asked_bytes=17592186044416'; run 3 gemem-sim message.log; says out 'as JAX passes it on'
message 'tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[1048576,8192] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:RandomStandardNormal]'
run 3 gemem-sim message.log; says out "^message.log: TensorFlow's error"; says out '2>run\.log'
for text in 'torch.AcceleratorError: CUDA error: out of memory' 'cudaErrorMemoryAllocation: out of memory' 'CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY'; do message "$text"; run 3 gemem-sim message.log; says out 'CUDA call that was refused memory'; done
# what a library asks for beside the allocator
message 'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`'; explains 3 message.log untold ''; says out '"early": "torch\.cuda\.current_blas_handle\(\)'
run 3 gemem-sim message.log
check 'cuBLAS and what to paste' diff - "$out" <<'EOF'
message.log: cuBLAS's error that it was refused memory
Memory was refused; how much was asked for is not in it. cuBLAS asks the driver, not the program's
  allocator: the device was full, or that allocator kept the rest, idle or not.
cuBLAS gets its memory while there is some with:
  torch.cuda.current_blas_handle()   # where the program begins
Next: record what the message does not say
  torch.cuda.memory._record_memory_history()            # where the program begins
  torch.cuda.memory._dump_snapshot('snapshot.pickle')   # when it fails
  gemem-sim snapshot.pickle
EOF
for text in 'cuDNN CUDNN_STATUS_ALLOC_FAILED' 'cuDNN CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED' 'cuBLAS cupy_backends.cuda.libs.cublas.CUBLASError: CUBLAS_STATUS_ALLOC_FAILED' 'cuSOLVER CUSOLVER_STATUS_ALLOC_FAILED' 'cuSPARSE CUSPARSE_STATUS_ALLOC_FAILED' 'cuRAND CURAND_STATUS_ALLOCATION_FAILED' 'cuFFT CUFFT_ALLOC_FAILED' "NCCL host:1:9 [0] NCCL WARN Cuda failure 2 'out of memory'"; do message "${text#* }"; run 3 gemem-sim message.log; says out "^message.log: ${text%% *}'s error that it was refused memory"; lacks out ' gets its memory '; done
message 'ncclUnhandledCudaError: Call to CUDA function failed.' 'Last error:' 'Failed to CUDA calloc async 608 bytes'; explains 3 message.log untold 'asked_bytes=608'; run 3 gemem-sim message.log; says out 'NCCL asks the driver'
message 'OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0' 'CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`'; run 3 gemem-sim message.log; says out "^message.log: PyTorch's out-of-memory"
# a library that could not begin: memory, or not
for text in 'cuSOLVER torch._C._LinAlgError: cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`. If you keep seeing this error' 'cuSOLVER jaxlib/gpu/solver_handle_pool.cc:37: operation gpusolverDnCreate(&handle) failed: cuSolver internal error' 'cuBLAS RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`'; do
  message "${text#* }"; explains 3 message.log untold ''; run 3 gemem-sim message.log; says out "^It may be memory: ${text%% *} asks the driver"; lacks out 'Memory was refused'; lacks out 'device was full'
done
message "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 1099511627776 bytes. Error code 12 (Cannot allocate memory)"; explains 3 message.log untold 'asked_bytes=1099511627776'; run 3 gemem-sim message.log; says out "host's memory ran out"
message "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.11 GiB. $now 11.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated."; run 3 gemem-sim message.log; lacks out ALLOC_CONF

message '| NVIDIA-SMI 550.54  Driver Version: 550.54  CUDA Version: 12.4 |' '| N/A   30C    P0   60W / 300W |   1552MiB / 16384MiB |  0%   Default |' '| N/A   30C    P0   60W / 300W |  15552MiB / 16384MiB |  0%   Default |'
explains 3 message.log untold "used_bytes=$((15552 * M)) total_bytes=$((16384 * M)) free_bytes=$((832 * M))"
# PyTorch 2.11 with backend:cudaMallocAsync, as a dry run prints it; servers of models
message 'torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)' 'Currently allocated     : 1024.00 MiB' 'Requested               : 100.00 GiB' 'Device limit            : 23.52 GiB' 'Free (according to CUDA): 22.52 GiB' 'PyTorch limit (set by user-supplied memory fraction)' '                        : 17179869184.00 GiB'
explains 4 message.log request-too-large "asked_bytes=$((100 * G)) allocated_bytes=$G"; lacks out '"allowed_bytes"'; lacks out '_record_memory_history' # it refuses that
message 'torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)' 'Currently allocated     : 2.29 GiB' 'Requested               : 161.62 MiB' 'Device limit            : 3.00 GiB' 'Free (according to CUDA): 440.66 MiB' 'PyTorch limit (set by user-supplied memory fraction)' '                        : 2.40 GiB'
explains 3 message.log limit ''
message 'torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)' 'Currently allocated     : 2.87 GiB' 'Requested               : 12.00 MiB' 'Device limit            : 3.00 GiB' 'Free (according to CUDA): 4.93 MiB' 'PyTorch limit (set by user-supplied memory fraction)' '                        : 17179869184.00 GiB'
explains 3 message.log full ''; run 3 gemem-sim message.log; says out '^Too little is left: PyTorch has 2\.870 GiB'
message "ValueError: To serve at least one request with the models's max seq len (32768), (4.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.00 GiB)."; explains 3 message.log limit "asked_bytes=$((4 * G)) allowed_bytes=$((3 * G))"
message 'ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.'; run 3 gemem-sim message.log; says out '^The model and what a step of it takes leave nothing'; lacks out 'was refused'
message 'ValueError: Free memory on device cuda:0 (3.25/23.5 GiB) on startup is less than desired GPU memory utilization (0.9, 21.15 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.'
explains 3 message.log held-outside "free_bytes=$((3328 * M)) total_bytes=$((24064 * M)) outside_bytes=$((20736 * M)) at_most_bytes=$((20736 * M))"; says out 'nvidia-smi >smi'
message 'XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 16.50G of 15.25G hbm. Exceeded hbm capacity by 1.25G.'; explains 4 message.log request-too-large "needed_bytes=$((16896 * M)) total_bytes=$((15616 * M))"
run 4 gemem-sim message.log; says out '^It does not fit: all buffers of the program take 16\.50 GiB, the device has 15\.25 GiB\.'
message 'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.'; run 3 gemem-sim message.log; says out "SGLang's message"
message 'ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4563402752'; explains 3 message.log untold 'asked_bytes=4563402752'

# what is not the GPU's memory, and what no memory would help: said so, and no setting is offered
says_of () { # TEXT... PATTERN: the screen of that text, ten lines at most
  text=$1; shift; message "$text"; run 3 gemem-sim message.log
  for pattern in "$@"; do says out "$pattern"; done; lacks out 'ALLOC_CONF'
  check "at most ten lines: $text" sh -c "test \$(wc -l <'$out') -le 10"
}
says_of 'RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.' '^The size asked for is none of a tensor'
says_of "RuntimeError: DataLoader worker (pid 4124) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory." '/dev/shm of the host, which is full'
says_of 'ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).' '/dev/shm of the host'
says_of 'RuntimeError: DataLoader worker (pid 4124) is killed by signal: Killed. ' '^It may be memory of the host'
says_of '[E] failed (exitcode: -9) local_rank: 0 (pid: 1234) of binary: /usr/bin/python' '^It may be memory of the host'
for text in '[1.2] Out of memory: Killed process 12345 (python) total-vm:123kB' 'Memory cgroup out of memory: Killed process 1 (python)' 'slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch.' 'Reason: OOMKilled  Exit Code: 137'; do says_of "$text" "^The kernel ended the process because the host's memory"; done
says_of 'numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,) and data type float64' "the host's memory ran out" '^A request of 7\.450 GiB'
says_of 'triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376.' "memory is not short"
says_of 'Error: model requires more system memory (5.6 GiB) than is available (3.4 GiB)' 'of 5\.600 GiB was refused: 3\.400 GiB were free\. The host.s memory ran out'
says_of "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 58982400000 bytes." 'A request of 54\.93 GiB was refused\. The host.s memory ran out'
says_of 'Out of memory error on GPU 0. Cannot allocate 1.562500GB memory on GPU 0, 30.929199GB memory has been allocated and available memory is only 818.500000MB.' '^A request of 1\.563 GiB was refused: 818\.5 MiB were free\. PaddlePaddle has 30\.93 GiB itself\.'
# others, as public threads and wheels show them
message 'RuntimeError: MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.02 GB, max allowed: 9.07 GB). Tried to allocate 256.00 MB on private pool.'; explains 3 message.log limit "asked_bytes=$((256 * M)) reserved_bytes=$((8 * G))"
message "The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (19264)."; run 3 gemem-sim message.log; says out 'lower max_model_len'; says out 'By vLLM.s own figures --max-model-len=19264 fits\.$'
message "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.19 GiB). Based on the available memory, the estimated maximum model length is 75264. Try increasing"; run 3 gemem-sim message.log; says out 'By vLLM.s own figures --max-model-len=75264 fits\.$'
explains 3 message.log limit 'longest_sequence=75264'
sed -i 's/is 75264/is 0/' message.log; run 3 gemem-sim message.log; lacks out 'max-model-len'
message 'ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.01. Raise --mem-fraction-static above 0.016 (minimum viable = 1 - available/pre = 0.0159).'; run 3 gemem-sim message.log; says out 'leaves too little of what --mem-fraction-static allows'
message '(EngineCore pid=26719) INFO 11-30 20:01:14 [kv_cache_utils.py:1700] GPU KV cache size: 51,072 tokens'; run 3 gemem-sim message.log; says out 'how many tokens the KV cache holds'; explains 3 message.log untold 'cached_tokens=51072'
message '[2026-11-30 20:01:14] max_total_num_tokens=414608, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048'; explains 3 message.log untold 'cached_tokens=414608'
printf '%s\n' 'GPU KV cache size: 51,072 tokens' 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.' >message.log; run 3 gemem-sim message.log; says out '2\.000 GiB' # what failed comes first
message 'RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests.'; run 3 gemem-sim message.log; says out 'lower gpu_memory_utilization or max_num_seqs'
message 'RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}'; run 3 gemem-sim message.log; says out 'stands above it in the log'
message 'Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM'; run 3 gemem-sim message.log; says out 'more than the GPUs had free'
message 'RESOURCE_EXHAUSTED: Failed to allocate request for 32.00GiB (34359738368B) on device ordinal 0'; explains 3 message.log untold 'asked_bytes=34359738368'
message 'cuda_driver.cc:1101] failed to allocate 7.43GiB (7980000000 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory'; explains 3 message.log untold 'asked_bytes=7980000000'
message 'Underlying backend ran out of memory trying to instantiate command buffer with 3 (total of 9 alive graphs in the process).'; run 3 gemem-sim message.log; says out 'XLA_PYTHON_CLIENT_MEM_FRACTION'
message "Error: 'err == cudaSuccess' failed: alloc fail type FlatData dev 0 space Device stream 0x55 size 10240000000 bytes (cudaMalloc error out of memory [2])"; explains 3 message.log untold 'asked_bytes=10240000000'
message '[E] Error Code 2: OutOfMemory (Requested size was 8589934592 bytes.)'; explains 3 message.log untold "asked_bytes=$((8 * G))"
message '[W] [TRT] Requested amount of GPU memory (8589934592 bytes) could not be allocated.'; explains 3 message.log untold "asked_bytes=$((8 * G))"
message "Cuda failure 'out of memory'"; run 3 gemem-sim message.log; says out 'NCCL asks the driver'
for text in 'RuntimeError: CUDA driver error: out of memory' 'CUDA runtime error in ::cudaMallocAsync(ptr, n): out of memory (b.h:1)'; do message "$text"; run 3 gemem-sim message.log; says out 'CUDA call that was refused memory'; done

# who holds the memory: the table, -q, and CSV with its columns in any order
message '| NVIDIA-SMI 550.54  Driver Version: 550.54  CUDA Version: 12.4 |' '| N/A   30C    P0   62W / 400W |  79012MiB /  81920MiB |  0%   Default |' \
  '|    0   N/A  N/A      2311      G   /usr/lib/xorg/Xorg                 18MiB |' '|    0   N/A  N/A    104233      C   /opt/bin/python -m vllm.entry     77980MiB |' '|    1   N/A  N/A    104290    C+G   steam                                N/A  |' \
  '|    1   N/A  N/A      7      C   small                        1MiB |' '|    1   N/A  N/A      8      C   other                        402MiB |'
explains 3 message.log untold "used_bytes=$((79012 * M)) total_bytes=$((81920 * M))"
says out "\"processes\": \[\{\"name\": \"python -m vllm.entry\", \"pid\": 104233, \"bytes\": $((77980 * M))\}, \{\"name\": \"other\", [^}]*\}, \{\"name\": \"Xorg\", [^}]*\}\]"
run 3 gemem-sim message.log; says out 'Who holds most: python -m vllm\.entry .process 104233. 76\.15 GiB, other'; says out 'No setting gains what other'
message 'index, name, memory.free [MiB], memory.total [MiB]' '0, NVIDIA H100, 300 MiB, 81559 MiB' '1, NVIDIA H100, 81000 MiB, 81559 MiB'; explains 3 message.log untold "used_bytes=$((81259 * M)) free_bytes=$((300 * M))"; lacks out '"processes"'
run 3 gemem-sim message.log; says out 'Which processes hold it is not in it'
message 'pid, process_name, used_gpu_memory [MiB]' '1234, /usr/bin/python3, 7012 MiB' '99, Xorg, [N/A]'; run 3 gemem-sim message.log; says out 'Who holds most: python3 .process 1234. 6\.848 GiB\. No'
message '    FB Memory Usage' '        Total      : 81559 MiB' '        Reserved   : 551 MiB' '        Used       : 70004 MiB' '        Free       : 11004 MiB' '    Processes' '        Process ID                        : 4242' '            Type                          : C' '            Name                          : python3 train.py' '            Used GPU Memory               : 69990 MiB'
explains 3 message.log untold "free_bytes=$((11004 * M)) total_bytes=$((81559 * M))"; says out '"name": "python3 train\.py", "pid": 4242'
message 'memory.used [MiB], memory.total [MiB]' "$(printf '9%.0s' $(seq 99)) MiB, 1 MiB"; run 3 gemem-sim message.log; lacks out 'fullest'
# what holds no memory at a time: what to bring instead
message '    Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg       CPU Mem  Self CPU Mem    # of Calls'; run 3 gemem-sim message.log; says out '^It sums for each operator'; says out 'export_chrome_trace'
printf '\n\306\001\020\001\022\016/host:metadata"' >vm.xplane.pb; run 3 gemem-sim vm.xplane.pb; says out 'save_device_memory_profile'
run 3 gemem-sim explain "$data/torch-1.13.1-summary.txt"; lacks out expandable; run 3 gemem-sim explain "$data/torch-2.15.0-summary.txt"; says out expandable # the older release has no such setting
# 2.0.1 refuses it, and its table and numbers look like those of later releases
run 3 gemem-sim explain "$data/torch-2.0.1-summary.txt"; says out '65\.66 MiB \(idle beside blocks in use\); from release 2\.1$'
# torch.cuda.memory_stats() as print(), pprint() and json.dump() write it says what the table says
for form in print pprint json; do
  explains 3 "$data/torch-2.0.1-stats-$form.txt" untold "allocated_bytes=117800960 reserved_bytes=186646528 peak_allocated_bytes=306549760 peak_reserved_bytes=392167424 not_releasable_bytes=68845568 refusals=1 flushes=1"
  run 3 gemem-sim "$data/torch-2.0.1-stats-$form.txt"; says out 'what torch\.cuda\.memory_stats\(\) returns$'; says out '; from release 2\.1$'
done
# what is no memory of the GPU that ran out, and tables whose numbers are read elsewhere
other () { # TITLE SAYS TEXT
  printf '%s\n' "$3" >other.txt; run 3 gemem-sim other.txt; says out "^other.txt: $1$"; says out "$2"; lacks out expandable
}
other "an error that NVIDIA's driver logs \\(Xid\\)" '^No sign that memory ran out' '[ 12.5] NVRM: Xid (PCI:0000:3b:00): 31, pid=12345, name=python, MMU Fault: ENGINE GRAPHICS'
other "a sign that the host's memory ran out, not the GPU's" 'fewer workers' 'ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.'
other 'a sign that a process was killed' 'memory of the host, not of the GPU' 'command terminated with exit code 137'
other 'a sign that a process was killed' 'memory of the host, not of the GPU' 'trainer-1 exited with code 137'
other 'a sign that a process was killed' 'memory of the host, not of the GPU' '  traceback : Signal 9 (SIGKILL) received by PID 4242'
other 'what nvitop prints' 'nvidia-smi >smi.txt' '| NVITOP 1.3.2       Driver Version: 535.104.05       CUDA Driver Version: 12.2 |'
other 'what torch\.cuda\.list_gpu_processes\(\) prints' 'nvidia-smi >smi.txt' 'process      12345 uses     2048.000 MB GPU memory'
other 'the error of a CUDA call that was refused memory' 'gemem-record' 'CUDA failure 2: out of memory ; GPU=0 ; hostname=box ; expr=cudaMalloc((void**)&p, size);'

# ---- no message, whatever the name; hostile ones
for extension in txt log csv json pickle; do
  message 'epoch 1 loss 0.3' 'epoch 2 loss 0.2'; mv message.log "any.$extension"
  run 3 gemem-sim "any.$extension"; says err "any.$extension: not recognised as a trace or graph"
  run 3 gemem-sim explain "any.$extension"; says err "any.$extension: not recognised as a message"
done
message 'CUDA out of memory. Tried to allocate 99999999999999999999.00 GiB (GPU 0; 6.00 GiB total capacity; 4.04 GiB already allocated)'
run 3 gemem-sim explain message.log; says err 'a number in it is no amount of memory'
message 'CUDA out of memory. Tried to allocate '; run 3 gemem-sim explain message.log; says out 'Memory was refused; how much'
: >empty.txt; run 3 gemem-sim explain empty.txt; says err 'not recognised'
head -c 10000000 /dev/urandom >random.bin; run 3 timeout 20 gemem-sim explain random.bin; says err 'not recognised'
{ echo 'CUDA out of memory. Tried to allocate '; head -c 10000000 /dev/zero | tr '\0' 7; } >digits.txt; timeout 20 gemem-sim explain digits.txt >/dev/null 2>&1; status=$?; check "a number of 10 MB ends (status $status)" test $status -eq 3
{ echo '|  PyTorch CUDA memory summary, device ID 0 |'; yes '| Allocated memory | | |' | head -n 400000; } >table.txt; timeout 20 gemem-sim explain table.txt >/dev/null 2>&1; status=$?; check "a table of 10 MB ends (status $status)" test $status -eq 3

done_testing
