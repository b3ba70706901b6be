#!/bin/sh
# long-distcheck.sh - the tarball is complete: `make distcheck` from a copy of the source tree, out of its own configure.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

if [ ! -e "$GEMEM_SRCDIR/.git" ]; then
  skip 'distcheck' 'the source is a tarball already'
  done_testing
fi
check 'the tree can be copied' sh -c 'git -C "$GEMEM_SRCDIR" archive HEAD | tar -x'
check 'bootstrap' ./bootstrap --no-install
check 'configure' ./configure -q --with-shared="$GEMEM_SHARED"
check 'make distcheck' make -s -j2 distcheck
done_testing
