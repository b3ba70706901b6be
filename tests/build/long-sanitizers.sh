#!/bin/sh
# long-sanitizers.sh - the whole `make check` with full checks under address and undefined-behaviour sanitizers, by gcc; .ci/run does the same
# with clang.  long-threads.sh has the thread sanitizer.  Also a build without any checks at -O3, whose decisions must be the same.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

if [ ! -e "$GEMEM_SRCDIR/.git" ]; then
  skip 'sanitizers' 'not a git checkout; the copy this test builds is made of what is committed'
  done_testing
fi

build () { # DIR CONFIGURE-ARGUMENT...
  mkdir "$1" && cd "$1" || return 1
  dir=$1; shift
  ../src/configure -q --enable-werror --with-shared="$GEMEM_SHARED" "$@" && make -s -j2 && make -s -j2 check
  status=$?
  cd ..
  [ $status -eq 0 ] || grep -hE '^(not ok|Bail out)|ERROR: |runtime error' "$dir"/tests/*/*.log | head -n 20
  return $status
}

mkdir src
check 'the tree can be copied' sh -c 'git -C "$GEMEM_SRCDIR" archive HEAD | tar -x -C src'
check 'bootstrap' src/bootstrap --no-install
check 'address and undefined-behaviour sanitizers, full checks' build asan CFLAGS='-O1 -g' --enable-asan --enable-ubsan --enable-checks=full
check 'no checks, -O3' build fast CFLAGS=-O3 --enable-checks=no
done_testing
