#!/bin/sh
# long-conformance.sh - what every allocator promises, under every variant of its settings: make check has time for some of them only.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

GEMEM_LONG=1
export GEMEM_LONG
for test in conformance/test-conformance conformance/test-random-sequences fault/test-device-faults; do
  check "$test with every variant" "$GEMEM_BUILDDIR/tests/$test"
done
done_testing
