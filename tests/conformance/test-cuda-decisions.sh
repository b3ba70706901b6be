#!/bin/sh
# test-cuda-decisions.sh - on the CUDA device every allocator decides what it decides on the simulated device, block by block and call by call; on the
# stand-in driver, whose addresses are unlike the simulated device's own, and with too little memory for some.  On a GPU: tests/gpu/test-gpu-decisions.sh.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
. "$GEMEM_SRCDIR/tests/util/decisions.sh"
library=$GEMEM_BUILDDIR/tests/dry/.libs
has_cuda || { echo '1..0 # SKIP built without the CUDA headers'; exit 0; }
driver="env LD_LIBRARY_PATH=$library GEMEM_DRIVER_REPORT=$GEMEM_TMP/report \
GEMEM_DRIVER=sim:address=first-fit,base=0x7f0000000000,va=first-fit,va_base=0x300000000000,va_step=2MiB"

all_decisions cuda:gpu=0
check 'the addresses were the driver'\''s' grep -qE ',0x(7f00|3000)' real.csv
check 'nothing was kept, nothing was misused' sh -c 'test -s report && ! grep -v "^call \|^end" report'
done_testing
