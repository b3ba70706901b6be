#!/bin/sh
# long-fuzz-reader.sh - libFuzzer over all readers, from the corpus, under the address and undefined-behaviour sanitizers.
# GEMEM_FUZZ_SECONDS (default 60) says for how long.  New findings are left in the build folder as crash-*, and named.
set -u
seconds=${GEMEM_FUZZ_SECONDS:-60}
clang=${GEMEM_FUZZ_CC:-clang}
source=${GEMEM_SRCDIR:-.} build=${GEMEM_BUILDDIR:-.}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

echo 1..1
if ! echo 'int LLVMFuzzerTestOneInput (const unsigned char *d, unsigned long n) { (void) d; return n > 9 ? 0 : 0; }' |
    "$clang" -x c -fsanitize=fuzzer,address,undefined - -o "$work/probe" 2>/dev/null; then
  echo "ok 1 # SKIP $clang with libFuzzer is not here"
  exit 0
fi
# shellcheck disable=SC2046
"$clang" -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -DG_LOG_DOMAIN='"gemem"' \
  -I"$source" -I"$build" $(pkg-config --cflags gio-2.0 gio-unix-2.0 libzstd libprotobuf-c) "$source"/tests/fuzz/fuzz-reader.c "$source"/traces/*.c \
  "$source"/base/*.c "$source"/base/io/*.c -o "$work/fuzz" $(pkg-config --libs gio-2.0 gio-unix-2.0 libzstd libprotobuf-c) -lm >"$work/log" 2>&1 ||
  { sed 's/^/# /' "$work/log"; echo "not ok 1 - the harness does not build"; exit 1; }
mkdir "$work/corpus"
if "$work/fuzz" -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/" "$work/corpus" \
    "$source/tests/fuzz/corpus" >"$work/log" 2>&1; then
  tail -2 "$work/log" | sed 's/^/# /'
  echo "ok 1 - $seconds s without a finding"
else
  tail -60 "$work/log" | sed 's/^/# /'
  echo "not ok 1 - run the harness on the crash-* file named above, add it to tests/fuzz/corpus when it is repaired"
  exit 1
fi
