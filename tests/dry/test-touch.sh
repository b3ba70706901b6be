#!/bin/sh
# test-touch.sh - --touch on the stand-in driver, whose memory has real bytes: planted faults are found and named, sound allocators are not accused, what
# cannot be touched says so, and nothing is left behind.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
. "$GEMEM_SRCDIR/tests/util/touch-points.sh"

check 'a trace is written' gemem-sim generate random:events=500,live=50,size_max=64KiB -o small.gmt
run 2 gemem-sim replay small.gmt -a direct --touch
says err 'device sim: it has no memory to touch; use -d cuda:0'

has_cuda || { skip 'the rest' 'built without the CUDA headers'; done_testing; }
LD_LIBRARY_PATH=$GEMEM_BUILDDIR/tests/dry/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
GEMEM_DRIVER_REPORT=$PWD/report
export LD_LIBRARY_PATH GEMEM_DRIVER_REPORT
if gemem-sim replay small.gmt -a direct -d cuda:0 --touch 2>&1 | grep -q 'built without kernels'; then
  run 77 gemem-sim replay small.gmt -a direct -d cuda:0 --touch
  skip 'the rest' 'built without nvcc'
  done_testing
fi

events=10000; [ -z "${GEMEM_QUICK:-}" ] || events=3000
touch_plugin
touch_finds_planted_faults cuda:0
rm -f report
for mode in malloc vmm async; do
  run 0 gemem-sim replay -v small.gmt -a pytorch-caching -d "cuda:0:mode=$mode" --touch
done
run 0 gemem-sim replay -v small.gmt -a direct -d cuda:0:mode=async --touch
run 0 gemem-sim replay -v small.gmt -a direct -d 'faulty:on=cuda,every=50' --touch
run 0 gemem-sim replay -v small.gmt -a paddle-auto-growth -d cuda:0 --touch --repeat=2
# Sets on other streams and frees in two halves.
cat >set.txt <<'END'
# gemem-trace: 1
alloc 1 size=5000000 stream=1
alloc 2 size=70001 stream=2
memset 1 size=4000000 stream=2
memset 2 size=100 stream=1
free-requested 1
alloc 3 size=5000000 stream=1
memset 3 size=5000000 stream=3
free-completed 1
free 2
free 3
# end: 10
END
for allocator in direct pytorch-caching paddle-auto-growth ge; do
  run 0 gemem-sim replay -v set.txt -a $allocator -d cuda:0 --touch
done
touch_finds_nothing cuda:0 "$events"
lacks report '^(leak|misuse|fault)'

# The kernels do not load, or do not start.
run 77 env GEMEM_DRIVER_FAIL=cuModuleLoadData=1:CUDA_ERROR_NO_BINARY_FOR_GPU gemem-sim replay small.gmt -a direct -d cuda:0 --touch
says err 'cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU'
run 1 env GEMEM_DRIVER_FAIL=cuLaunchKernel=7:CUDA_ERROR_LAUNCH_FAILED gemem-sim replay small.gmt -a direct -d cuda:0 --touch
says err 'cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED'
lacks report '^(leak|misuse)'
done_testing
