#!/bin/sh
# long-host-faults.sh - test-host-faults.sh at every place: each byte of each output, each request for memory.
GEMEM_LONG=1; export GEMEM_LONG
exec sh "$GEMEM_SRCDIR/tests/cli/test-host-faults.sh"
