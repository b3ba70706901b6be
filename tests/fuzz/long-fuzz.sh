#!/bin/sh
# long-fuzz.sh - every target of tests/fuzz under libFuzzer, a minute each; GEMEM_FUZZ_SECONDS: longer.
"$GEMEM_SRCDIR/tests/fuzz/run-fuzz"
status=$?
[ $status -eq 77 ] && exit 0
exit $status
