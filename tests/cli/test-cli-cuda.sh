#!/bin/sh
# test-cli-cuda.sh - gemem-sim on the CUDA device with the stand-in driver: exit statuses, messages, and nothing kept on any way out.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
trace=$GEMEM_SRCDIR/traces/recorded/vit-train.gmt
library=$GEMEM_BUILDDIR/tests/dry/.libs
if ! has_cuda; then
  run 77 gemem-sim replay "$trace" -a direct -d cuda:0; says err 'built without the CUDA Toolkit'
  done_testing
fi
report=$GEMEM_TMP/report
with () { env LD_LIBRARY_PATH="$library" GEMEM_DRIVER_REPORT="$report" "$@"; }
clean () { check "$1: nothing was kept" sh -c "grep -q '^end' report && ! grep -v '^call \|^end' report"; rm -f report; }

# ---- what the device is told
run 0 with gemem-sim replay -v "$trace" -a pytorch-caching -d cuda:0; says out 'on cuda:gpu=0,capacity=80GiB'; clean replay
run 0 with GEMEM_DRIVER_DEVICES=2 gemem-sim replay -v "$trace" -a ge-expandable -d cuda:1:mode=vmm,capacity=4GiB; says out 'on cuda:gpu=1,mode=vmm,capacity=4GiB'
clean 'the second GPU'

# ---- several devices: each goes to the GPU of its number, or is refused
printf '# gemem-trace: 2\nalloc 1 size=1048576\nalloc 2 size=4194304 device=1\n# end: 2\n' >two.txt
printf '# gemem-trace: 2\nalloc 2 size=4194304 device=1\n# end: 1\n' >one.txt
run 0 with GEMEM_DRIVER_DEVICES=2 gemem-sim replay two.txt -a ge -d cuda -f csv
says out '^two.txt,[0-9a-f]*,0,ge,ge,"cuda:gpu=0,'; says out '^two.txt,[0-9a-f]*,1,ge,ge,"cuda:gpu=1,'; clean 'a GPU for each device'
run 0 with GEMEM_DRIVER_DEVICES=2 gemem-sim replay one.txt -a ge -d cuda; says out 'device 1 through ge on cuda:gpu=1,'; clean 'device 1 on GPU 1'
refusal='device 1 of the trace is not GPU 0 of -d cuda:0; write -d cuda for the GPU that has the device.s number, or choose the device too: --trace-device=1'
run 2 with GEMEM_DRIVER_DEVICES=2 gemem-sim replay one.txt -a ge -d cuda:0; says err "one.txt: $refusal"
run 2 with GEMEM_DRIVER_DEVICES=2 gemem-sim compare two.txt -a ge -a direct -d cuda:0; says err "two.txt: $refusal"
run 2 with GEMEM_DRIVER_DEVICES=2 gemem-sim replay one.txt -a ge -d faulty:on=cuda,gpu=0,nth=9; says err 'device 1 of the trace is not GPU 0'
run 2 with GEMEM_DRIVER_DEVICES=2 gemem-sim replay two.txt -a ge -d cuda:1; says err 'device 0 of the trace is not GPU 1'
run 77 with gemem-sim replay one.txt -a ge -d cuda; says err 'device cuda:1: no such GPU, the driver finds 1'
run 0 with gemem-sim replay one.txt -a ge -d cuda:0 --trace-device=1; says out 'device 1 through ge on cuda:gpu=0,'; clean 'device 1 on GPU 0, as chosen'
run 0 with GEMEM_DRIVER_DEVICES=2 gemem-sim replay two.txt -a ge -d cuda --calls two.csv; clean 'calls on two GPUs'
check 'each call names its device' sh -c 'grep -q "^[0-9]*,malloc,0,2097152,0x[0-9a-f]*,1,0$" two.csv && grep -q "^[0-9]*,malloc,0,4194304,0x[0-9a-f]*,1,1$" two.csv'
run 0 gemem-sim replay two.txt -a ge -d sim:calls=two.csv --calls again.csv; check 'both devices decide the same without GPUs' cmp two.csv again.csv
run 0 with gemem-sim replay -v "$trace" -a pytorch-caching:capacity=2GiB -d cuda; says out 'on cuda:gpu=0,capacity=2GiB'; clean 'a setting of the allocator'
run 0 with gemem-sim replay -v "$trace" -a direct -d cuda:profile=h200; says out 'alloc p50 .*[1-9][0-9.]* us'; clean 'modelled costs'
run 0 with gemem-sim replay -v "$trace" -a pytorch-caching -d faulty:on=cuda,gpu=0,nth=3,call=malloc; clean 'a wrapper'
run 0 with gemem-sim compare "$trace" -a pytorch-caching -a ge-scalable -a direct -d cuda:0 --jobs 4; clean compare
gemem-sim generate random:events=2000,live=100 -o small.gmt # a replay for every capacity that is tried
run 0 with gemem-sim replay small.gmt -a pytorch-caching -d cuda:0 --find-capacity; says out 'least capacity'; clean 'least capacity'
run 2 gemem-sim replay "$trace" -a direct -d cuda:0:mod=vmm; says err "unknown parameter 'mod'; did you mean 'mode'"
run 2 gemem-sim replay "$trace" -a direct -d cuda:0:mode=managed; says err "mode='managed': not one of the choices; use malloc, vmm, async"
run 2 gemem-sim replay "$trace" -a direct -d cuda:one
run 2 with gemem-sim replay "$trace" -a direct -d cuda:profile=h2000; says err 'h2000'
run 2 gemem-sim compare "$trace" -a direct -d cuda:0 --calls c.csv
run 2 with gemem-sim replay "$trace" -a direct -a ge -d cuda:0 --calls c.csv; says err 'holds the device calls of one run, these are 2'

# ---- machines on which it cannot be
run 77 with GEMEM_DRIVER_DEVICES=0 gemem-sim replay "$trace" -a direct -d cuda:0; says err 'CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected'
run 77 with gemem-sim replay "$trace" -a direct -d cuda:5; says err 'no such GPU, the driver finds 1, counted from 0'
run 77 with GEMEM_DRIVER_VERSION=11000 gemem-sim replay "$trace" -a direct -d cuda:0; says err 'too old: it is for CUDA 11.0, and 11.3 is needed'
run 77 with GEMEM_DRIVER_VMM=0 gemem-sim replay "$trace" -a direct -d cuda:mode=vmm; says err 'no virtual memory'
run 77 with GEMEM_DRIVER_VMM=0 gemem-sim replay "$trace" -a paddle-vmm-auto-growth -d cuda:0; says err 'no virtual memory, which the allocator asks for'
rm -f report

# ---- full, failing, interrupted
run 4 with GEMEM_DRIVER=sim:capacity=1GiB gemem-sim replay "$trace" -a pytorch-caching -d cuda:0 --fail-on-oom; clean 'a trace larger than the GPU'
run 0 with gemem-sim replay -v "$trace" -a pytorch-caching -d cuda:0:capacity=1GiB; says out '429 frees of requests that had failed'; clean 'a trace larger than the capacity'
run 1 with GEMEM_DRIVER_FAIL=cuMemAlloc=20:CUDA_ERROR_ILLEGAL_ADDRESS gemem-sim replay "$trace" -a pytorch-caching -d cuda:0 --events e.csv --calls c.csv
says err 'vit-train.gmt:event [1-9][0-9]*: device cuda:0: cuMemAlloc: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered'
check 'no files are left of a run that failed' sh -c '! ls e.csv* c.csv* 2>/dev/null'; clean 'a driver that fails'
run 1 with GEMEM_DRIVER_FAIL=cuMemAlloc=1:CUDA_ERROR_UNKNOWN gemem-sim replay "$trace" -a paddle-best-fit -d cuda:0; clean 'a driver that fails at once'
run 1 with GEMEM_DRIVER_FAIL=cuCtxSynchronize=1:CUDA_ERROR_LAUNCH_FAILED gemem-sim replay "$trace" -a ge-rdma -d cuda:0; says err 'cuCtxSynchronize'
clean 'work that fails in the end'
env LD_LIBRARY_PATH="$library" GEMEM_DRIVER_REPORT="$report" gemem-sim replay "$trace" -a direct -d cuda:0 --repeat 100000 >"$out" 2>"$err" </dev/null & pid=$!
for i in $(seq 400); do # until it catches the signal
  caught=$(sed -n 's/^SigCgt:.*\(........\)$/\1/p' /proc/$pid/status 2>/dev/null)
  [ $((0x${caught:-0} & 2)) = 0 ] || break
  sleep 0.05
done
sleep 0.3; kill -INT $pid; wait $pid
ok $(($? != 130)) 'an interrupted run exits with 130'
says err 'interrupted before event'; clean interrupted

# ---- the log of calls
run 0 with gemem-sim replay -v "$trace" -a pytorch-caching -d cuda:0 --calls calls.csv; clean 'a log of calls'
check 'a row for each call' sh -c 'head -n 1 calls.csv | grep -qx "seq,call,stream,size,address,ok,device" && grep -Eq "^[0-9]+,malloc,[0-9]+,[0-9]+,0x[0-9a-f]+,1,0$" calls.csv'
run 0 gemem-sim replay "$trace" -a pytorch-caching -d sim:calls=calls.csv --calls again.csv; check 'the same on the simulated device' cmp calls.csv again.csv
run 2 gemem-sim replay "$trace" -a pytorch-caching -d sim:calls=calls.csv,address=bump; says err 'calls'
run 1 gemem-sim replay "$trace" -a pytorch-caching -d sim:calls=nothing.csv; says err 'calls=nothing.csv'
head -n 9 calls.csv | sed '5s/,1,0$/,yes,0/' >bad.csv
run 3 gemem-sim replay "$trace" -a pytorch-caching -d sim:calls=bad.csv; says err 'bad.csv:5: no row of seq,call'
head -c 100 calls.csv >cut.csv
run 3 gemem-sim replay "$trace" -a pytorch-caching -d sim:calls=cut.csv; says err 'cut.csv:1: is damaged, or its end is missing'
run 3 gemem-sim replay -v "$trace" -a pytorch-caching -d "sim:calls=$trace"; says err 'does not begin with seq,call'
done_testing
