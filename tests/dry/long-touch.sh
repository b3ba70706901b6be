#!/bin/sh
# long-touch.sh - --touch accuses no allocator of the registry over 100 000 events, however plain allocations are made on the stand-in driver.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
. "$GEMEM_SRCDIR/tests/util/touch-points.sh"

LD_LIBRARY_PATH=$GEMEM_BUILDDIR/tests/dry/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
gemem-sim generate random:events=500 -o small.gmt
if gemem-sim replay small.gmt -a direct -d cuda:0 --touch >"$out" 2>"$err"; [ $? -eq 77 ]; then
  skip '--touch on the stand-in driver' "$(sed 's/^gemem-sim: error: //' "$err")"
  done_testing
fi
for mode in malloc vmm async; do
  touch_finds_nothing "cuda:0:mode=$mode" 100000
done
# Where memory is short, so that allocators give it back and take it again all the time.
check 'a trace is written' gemem-sim generate random:events=10000,live=60,size_max=1MiB,streams=3 -o short.gmt
run 0 gemem-sim compare -v short.gmt -a '*' -d cuda:0:mode=vmm,capacity=24MiB --touch
run 0 gemem-sim replay -v "$GEMEM_SRCDIR/traces/recorded/gpt2-train.gmt" -a pytorch-caching -d cuda:0 --touch --repeat=2
done_testing
