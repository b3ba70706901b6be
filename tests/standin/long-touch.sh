#!/bin/sh
# long-touch.sh - --touch accuses no allocator of the registry over 100 000 events, however plain allocations are made on the stand-in driver.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
. "$GEMEM_SRCDIR/tests/util/touch-points.sh"

LD_LIBRARY_PATH=$GEMEM_BUILDDIR/tests/standin/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
gemem-sim generate random:events=500 -o small.gmt
if gemem-sim replay small.gmt -a direct -d cuda:0 --touch >"$out" 2>"$err"; [ $? -eq 77 ]; then
  skip '--touch on the stand-in driver' "$(sed 's/^gemem-sim: error: //' "$err")"
  done_testing
fi
for mode in malloc vmm async; do
  touch_finds_nothing "cuda:0:mode=$mode" 100000
done
run 0 gemem-sim replay "$GEMEM_SRCDIR/traces/recorded/gpt2-train.gmt" -a pytorch-caching -d cuda:0 --touch --repeat=2
done_testing
