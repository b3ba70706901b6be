#!/bin/sh
# long-determinism.sh - promise 6.1 across compilers: the tree is built with gcc and clang, at -O0 and -O3, without and with checks, and
# every byte that the programs write must be the same.  Each build takes a minute or two.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
produce=$GEMEM_SRCDIR/tests/determinism/produce.sh

# build NAME CONFIGURE-ARGUMENT...: a program in ./NAME; its outputs in ./NAME-out.
build () {
  build_name=$1; shift
  mkdir "$build_name"
  if (cd "$build_name" && "$GEMEM_SRCDIR/configure" -q --disable-shared "$@" && make -s -j2 gemem-sim) >"$build_name.log" 2>&1; then
    check "$build_name: outputs are produced" env PATH="$GEMEM_TMP/$build_name:$PATH" sh "$produce" "$build_name-out" 2
  else
    ok 1 "$build_name: builds"; sed 's/^/# /' "$build_name.log" | tail -n 20
  fi
  rm -rf "${GEMEM_TMP:?}/$build_name"
}

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
