#!/bin/sh
# long-threads.sh - what runs in several threads, under gcc's thread sanitizer: tests with threads, compare -j, the recorder, libgemem-torch, libgemem-dry.
#
# Runs by itself too: sh tests/build/long-threads.sh [BUILD]; BUILD is a folder that is built in, and found built the next time.
# To add a program: a function that runs it in the build folder and returns its status, and its name and what it is in `programs`.
#
# shellcheck disable=SC2154 # out comes from tap.sh
# Without tests/util/tsan.supp, which hides what GLib's locks order, where those locks are not used: there they are what is tested.
GEMEM_SRCDIR=${GEMEM_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${1:+$(mkdir -p "$1" && cd "$1" && pwd)}
# shellcheck source=tests/util/env.sh
. "$GEMEM_SRCDIR/tests/util/env.sh"
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
: "${build:=$GEMEM_TMP/build}"

programs='
unit           GE allocators in eight threads, the heap, the writer of journals
torch          libgemem-torch, loaded and driven by eight threads as PyTorch does, with every allocator
compare        compare -j8 with every allocator
record         the recorder in a program with eight threads
record_stacks  the same with call stacks
dry            libgemem-dry, from which sixteen threads allocate for a minute
'

# ---- is there a thread sanitizer that finds a race?
cat >race.c <<'END'
#include <pthread.h>
int shared;
static void *work (void *data) { for (int i = 0; i < 1000; i++) shared++; return data; }
int main (void) { pthread_t t; pthread_create (&t, 0, work, 0); work (0); return pthread_join (t, 0); }
END
if ! ${CC:-gcc} -g -fsanitize=thread race.c -o race -pthread 2>/dev/null; then
  skip 'threads' "${CC:-gcc} has no thread sanitizer here; install libtsan"
  done_testing
fi
if ./race >"$out" 2>&1 || ! grep -q 'data race' "$out"; then
  skip 'threads' "the thread sanitizer does not run here: $(head -n 1 "$out")"
  done_testing
fi

# ---- the build: in a copy of the tree, because a source that is built in excludes a build beside it
make_build () {
  mkdir -p "$build" && cd "$build" || return 1
  mkdir -p tree
  (cd "$GEMEM_SRCDIR" && if [ -e .git ]; then git ls-files -co --exclude-standard; else find . -type f; fi | tar -cf - -T - 2>/dev/null) | tar -xf - -C tree
  if [ ! -e Makefile ]; then
    tree/bootstrap --no-install && tree/configure -q CC="${CC:-gcc}" CFLAGS='-O1 -g' --enable-tsan --enable-checks=full || return 1
  fi
  make -s -j2 gemem-sim gemem-record libgemem-torch.la libgemem-dry.la tests/dry/libcuda.la tests/programs/record-driver || return 1
  # The recorder is not instrumented otherwise.  What answers dlsym() never is: the sanitizer asks it before it has begun.
  make -s record/libgemem_record_la-resolve.lo record/libgemem_record_la-hooks.lo || return 1
  # shellcheck disable=SC2016 # a variable of make
  make -s libgemem-record.la libgemem_record_la_CFLAGS='-std=gnu11 $(CODE_CFLAGS) -fsanitize=thread' LDFLAGS=-fsanitize=thread
}
(make_build) >build.log 2>&1
status=$?
[ $status -eq 0 ] || tail -n 30 build.log | sed 's/^/# /'
ok $status 'a build with the thread sanitizer'
[ $status -eq 0 ] || done_testing

GEMEM_BUILDDIR=$build PATH=$build:$PATH GEMEM_QUICK=1
LD_LIBRARY_PATH=$build/tests/dry/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export GEMEM_BUILDDIR PATH GEMEM_QUICK LD_LIBRARY_PATH
driver=$build/tests/programs/record-driver

# ---- the programs
unit_test () {
  (cd "$build" && make -s "tests/unit/test-$1" && TSAN_OPTIONS=halt_on_error=1 "tests/unit/test-$1")
}
unit () { unit_test ge-threads && unit_test heap && unit_test journal; }
torch () { unit_test torch; }

# Jobs are handed over and ended by GLib's locks.
compare () {
  gemem-sim generate random:events=600 -o random.gmt &&
    gemem-sim compare random.gmt "$GEMEM_SRCDIR/tests/data/pytorch/ring-2.11.pickle.gz" -a '*' -j8 -f json -o compare.json
}

record () {
  TSAN_OPTIONS=halt_on_error=1 gemem-record "$@" -o record.gmt "$driver" proc threads 200 &&
    gemem-sim info record.gmt | grep -q '^  events *6400'
}
record_stacks () { record --stacks=8; }

dry () {
  sh "$GEMEM_SRCDIR/tests/dry/long-dry-threads.sh" >dry.tap 2>&1
  cat dry.tap; grep -q '^ok 1 ' dry.tap && ! grep -q '^not ok\|# SKIP' dry.tap
}

echo "$programs" | sed '/^$/d' >list
while read -r name what; do
  "$name" >run.log 2>&1
  status=$?
  grep -q 'WARNING: ThreadSanitizer' run.log && status=66
  [ $status -eq 0 ] || sed 's/^/# /' run.log | grep -A40 -m1 'ThreadSanitizer\|not ok\|error' | head -n 60
  ok $status "$what"
done <list
done_testing
