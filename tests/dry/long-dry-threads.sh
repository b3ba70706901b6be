#!/bin/sh
# long-dry-threads.sh - 16 threads allocate and free in libgemem-dry for a minute, from the device and from its pool, until memory is refused; in a build
# with the thread sanitizer (./configure --enable-tsan) also without a race.
#   GEMEM_DRY_SECONDS   how long (60)
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
libraries=$GEMEM_BUILDDIR/.libs sanitizer=
grep -q '^SANITIZE_CFLAGS = .*-fsanitize=thread' "$GEMEM_BUILDDIR/Makefile" && sanitizer=-fsanitize=thread
# shellcheck disable=SC2086 # no word, or one
if ! ${CC:-cc} -O1 -g $sanitizer -o threads "$GEMEM_SRCDIR/tests/programs/dry-threads.c" "$libraries/libgemem-dry.so" -Wl,-rpath,"$libraries" -pthread 2>cc.err; then
  skip "threads" "$(head -n 1 cc.err)"; done_testing
fi
run 0 env GEMEM_DRY=1 GEMEM_DRIVER=sim:capacity=4GiB ./threads "${GEMEM_DRY_SECONDS:-60}" 16; says out '^0 calls failed$'
check "no race" sh -c "! grep -q 'data race' $err"
done_testing
