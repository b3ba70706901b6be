#!/bin/sh
# test-gpu-decisions.sh - on a GPU every allocator decides what it decides on the simulated device, block by block and call by call; 10 GiB must be free.
# The same on the stand-in driver: tests/conformance/test-cuda-decisions.sh.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
. "$GEMEM_SRCDIR/tests/util/decisions.sh"
gemem-sim replay "$GEMEM_SRCDIR/traces/recorded/vit-train.gmt" -a pytorch-caching -d cuda:0 >/dev/null 2>"$err"
[ $? -ne 77 ] || { echo "1..0 # SKIP $(head -n 1 "$err")"; exit 0; }
driver=
all_decisions cuda:gpu=0
done_testing
