#!/bin/sh
# long-bombs.sh - test-bombs.sh with ten times as much: 10 GB of zeros, a million streams, pools and names, names of 100 MB.
GEMEM_BOMBS=10; export GEMEM_BOMBS
exec sh "$GEMEM_SRCDIR/tests/fuzz/test-bombs.sh"
