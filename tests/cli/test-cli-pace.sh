#!/bin/sh
# test-cli-pace.sh - --pace, --occupy and --warm-up, on the simulated device and on the stand-in driver; and what results say of the machine.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# A block that two streams used, freed at 200 ms, and a request that could have it.
cat >shared.txt <<'END'
# gemem-trace: 1
# flags: has-time
alloc 1 size=16777216 stream=1 t=0
use-on-stream 1 stream=2 t=100000000
free 1 t=200000000
alloc 2 size=16777216 stream=1 t=200050000
free 2 t=300000000
# end: 5
END
mallocs () { gemem-sim replay shared.txt -a pytorch-caching "$@" -f json | sed -n 's/.*"malloc": {"count": \([0-9]*\),.*/\1/p'; }
asked () { wanted=$1; shift; got=$(mallocs "$@"); check "$wanted segments: $*" test "$got" = "$wanted"; }

# ---- the simulated device
asked 1 -d sim
asked 2 -d sim --occupy
asked 1 -d sim:event_latency=20us
asked 2 -d sim:event_latency=20us --pace=asap
asked 1 -d sim:event_latency=20us --pace=recorded
run 0 gemem-sim replay -v shared.txt -a pytorch-caching --occupy; says out '^  occupy_ns +[1-9]'; says out '^  occupy_pieces +[1-9]'
run 0 gemem-sim replay -v shared.txt -a direct --warm-up=2 --repeat=3; says out '^  15 events, 6 allocations, 6 frees$'

# ---- mistakes
run 2 gemem-sim replay shared.txt -a direct --pace=fast; says err 'pace=fast: unknown pace; choose asap or recorded'
run 2 gemem-sim replay shared.txt -a direct --warm-up=-1; says err 'warm-up=-1: out of range'
run 2 gemem-sim replay shared.txt -a direct -d null --occupy; says err 'device null: it has no streams to occupy'
printf '# gemem-trace: 1\nalloc 1 size=1048576\nfree 1\n# end: 2\n' >untimed.txt
run 2 gemem-sim replay untimed.txt -a direct --pace=recorded; says err 'untimed.txt: the trace has no times, so that --pace=recorded'
run 2 gemem-sim replay untimed.txt -a direct --occupy; says err 'untimed.txt: the trace has no times, so that --occupy'
run 0 gemem-sim replay -v untimed.txt -a direct --pace=asap

# ---- a GPU
gemem_driver=$GEMEM_BUILDDIR/tests/dry/.libs
if ! has_cuda; then
  skip 'a GPU' 'built without the CUDA headers'
  done_testing
fi
LD_LIBRARY_PATH=$gemem_driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GEMEM_DRIVER_REPORT=$GEMEM_TMP/report
export LD_LIBRARY_PATH GEMEM_DRIVER_REPORT
ms () { echo $(($(date +%s%N) / 1000000)); }
began=$(ms)
run 0 gemem-sim replay -v shared.txt -a pytorch-caching -d cuda:0 --pace=recorded --manifest m.json
took=$(($(ms) - began))
says out '^  gemem stand-in 0, CUDA 13.0$'; says out '^  pace_waits +[34]$';
check "it takes as long as the recording: $took ms" test "$took" -ge 300
check 'the manifest says on what it ran' grep -q '"hardware": "gemem stand-in 0, CUDA 13.0"' m.json
for key in kernel machine processor gpu_driver; do check "and its $key" grep -q "\"$key\": " m.json; done
for _ in 1 2 3; do # the machine may be busy
  began=$(ms)
  gemem-sim replay -v shared.txt -a pytorch-caching -d cuda:0 >/dev/null
  took=$(($(ms) - began))
  [ $took -ge 300 ] || break
done
check "without it no time is lost: $took ms" test "$took" -lt 300
asked 1 -d cuda:0
if gemem-sim replay shared.txt -a direct -d cuda:0 --occupy 2>&1 | grep -q 'built without kernels'; then
  run 77 gemem-sim replay shared.txt -a direct -d cuda:0 --occupy
  skip 'work on streams' 'built without nvcc'
  done_testing
fi
asked 2 -d cuda:0 --occupy
# Memory that is freed on a stream comes back behind its work: at first the next stream cannot have it.
cat >ordered.txt <<'END'
# gemem-trace: 1
# flags: has-time
alloc 1 size=16777216 stream=1 t=0
free 1 t=100000000
alloc 2 size=16777216 stream=2 t=100001000
free 2 t=200000000
# end: 4
END
places () { gemem-sim replay ordered.txt -a direct -d cuda:0:mode=async --calls - "$@" -o /dev/null | grep ',malloc,' | cut -d, -f5 | sort -u | wc -l; }
check 'without work in front of it, memory freed on a stream is there for the next' test "$(places)" -eq 1
check 'with work it is not yet' test "$(places --occupy)" -eq 2
for mode in malloc vmm async; do run 0 gemem-sim replay -v shared.txt -a direct -d "cuda:0:mode=$mode" --occupy --warm-up=1; done
run 77 env GEMEM_DRIVER_FAIL=cuModuleLoadData=1:CUDA_ERROR_NO_BINARY_FOR_GPU gemem-sim replay shared.txt -a direct -d cuda:0 --occupy
says err 'does not take the kernels of --occupy'
run 1 env GEMEM_DRIVER_FAIL=cuLaunchKernel=2:CUDA_ERROR_LAUNCH_FAILED gemem-sim replay shared.txt -a direct -d cuda:0 --occupy
says err 'cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED'
lacks report '^(leak|misuse)'

done_testing
