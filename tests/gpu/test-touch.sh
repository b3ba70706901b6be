#!/bin/sh
# test-touch.sh - --touch on a real GPU; without a driver it is skipped.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
. "$GEMEM_SRCDIR/tests/util/touch-points.sh"

check 'a trace is written' gemem-sim generate random:events=500,live=50,size_max=64KiB -o small.gmt
if gemem-sim replay small.gmt -a direct -d cuda:0 --touch >"$out" 2>"$err"; [ $? -eq 77 ]; then
  skip '--touch on a GPU' "$(sed 's/^gemem-sim: error: //' "$err")"
  done_testing
fi
touch_plugin
touch_finds_planted_faults cuda:0
events=100000; [ -z "${GEMEM_QUICK:-}" ] || events=20000
touch_finds_nothing cuda:0 "$events"
done_testing
