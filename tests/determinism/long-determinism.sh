#!/bin/sh
# long-determinism.sh - promise 6.1 across compilers: the tree is built with gcc and clang, at -O0 and -O3, without and with checks, and
# every byte that the programs write must be the same.  Each build takes a minute or two.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
# shellcheck source=tests/determinism/comma-locale.sh
. "$GEMEM_SRCDIR/tests/determinism/comma-locale.sh"
produce=$GEMEM_SRCDIR/tests/determinism/produce.sh
produce_plans=$GEMEM_SRCDIR/tests/determinism/produce-plans.sh

# shellcheck disable=SC2016 # a script for sh -c
# plans NAME PATH: the plans of the program in PATH, in ./NAME-out/plans, and they are the same with more threads and in another locale.
plans () {
  check "$1: plans are made" env PATH="$2" sh "$produce_plans" "$1-out/plans" 1
  check "$1: and no file is empty" sh -c 'test -n "$(ls "$1/plots")" && test -z "$(find "$1" -type f -size 0)"' sh "$1-out/plans"
  check "$1: plans are made by 8 threads" env PATH="$2" sh "$produce_plans" threads 8
  check "$1: 1 thread and 8 agree" diff -rq "$1-out/plans" threads
  if [ -n "$comma_locale" ]; then
    check "$1: plans are made in a locale with a decimal comma" in_comma_locale env PATH="$2" sh "$produce_plans" comma 2
    check "$1: the locales agree" diff -rq "$1-out/plans" comma
  else
    skip "$1: the locales agree" "no locale with a decimal comma is installed, and localedef cannot make one"
  fi
  rm -rf threads comma
}

# build NAME CONFIGURE-ARGUMENT...: a program in ./NAME; its outputs in ./NAME-out.
build () {
  build_name=$1; shift
  mkdir "$build_name"
  if (cd "$build_name" && ../tree/configure -q --disable-shared "$@" && make -s -j2 gemem-sim) >"$build_name.log" 2>&1; then
    check "$build_name: outputs are produced" env PATH="$GEMEM_TMP/$build_name:$PATH" sh "$produce" "$build_name-out" 2
    plans "$build_name" "$GEMEM_TMP/$build_name:$PATH"
  else
    ok 1 "$build_name: builds"; sed 's/^/# /' "$build_name.log" | tail -n 20
  fi
  rm -rf "${GEMEM_TMP:?}/$build_name"
}

# of a copy, because a source that is built in excludes a build beside it
copy () { # TO
  mkdir "$1"
  (cd "$GEMEM_SRCDIR" && if [ -e .git ]; then git ls-files -co --exclude-standard; else find . -type f; fi | tar -cf - -T -) | tar -xf - -C "$1"
}
check 'the tree can be copied' copy tree
check 'bootstrap' tree/bootstrap --no-install

reference=
for compiler in gcc clang; do
  for level in -O0 -O3; do
    name=$compiler$level
    if ! command -v $compiler >/dev/null; then
      skip "$name" "no $compiler"
      continue
    fi
    build "$name" CC=$compiler CFLAGS="$level"
    if [ -z "$reference" ]; then
      reference=$name
    else
      check "$name and $reference agree" diff -rq "$reference-out" "$name-out"
    fi
  done
done
build "checks-full" CC="${CC:-cc}" CFLAGS="-O2 -march=native" --enable-checks=full
check "checks-full and $reference agree" diff -rq "$reference-out" "checks-full-out"
done_testing
