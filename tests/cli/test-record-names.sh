#!/bin/sh
# test-record-names.sh - every function about memory that CUDA's headers declare is one that gemem-record stands before (record/hooks.def), or one of
# which record/left-out.txt says why it does not.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
hooks=$GEMEM_SRCDIR/record/hooks.def left=$GEMEM_SRCDIR/record/left-out.txt
variable () { sed -n "s/^$1 = //p" "$GEMEM_BUILDDIR/Makefile"; }
printf '#include <cuda.h>\n#include <cuda_runtime_api.h>\n' >all.c
# shellcheck disable=SC2046
declared () { $(variable CC) $(variable CUDA_CFLAGS) "$@" -E -P all.c 2>/dev/null | grep -oE '\bcu(da)?[A-Z][A-Za-z0-9_]* *\(' | tr -d ' ('; }
if [ -z "$(variable CUDA_CFLAGS)" ] || ! declared >legacy; then
  skip "names" "built without the CUDA headers"
  done_testing
fi
declared -DCUDA_API_PER_THREAD_DEFAULT_STREAM >per-thread
# what gives memory, takes it back, or holds it; and the ends of all
sort -u legacy per-thread | grep -iE 'alloc|free|mem.*create|array.*(create|destroy)|mipmapped|release|map|register|import|ipc|mempool|reset|ctx.*destroy|addnode' |
  grep -iv 'semaphore\|mipmap\(filter\|level\)' >names
check "the headers declare more than 100 of them" test "$(wc -l <names)" -gt 100
sed -n 's/^HOOK (\([A-Za-z0-9_]*\),.*/\1/p' "$hooks" | sort >hooked
sort -u hooked | cmp - hooked; ok $? "no function is hooked twice"
grep -v -e '^#' -e '^$' "$left" | while read -r name reason; do
  [ -n "$reason" ] || echo "$name has no reason" >>unreasonable
  printf '^%s(_v[0-9]+)?(_pts[zd]|_ptds)?$\n' "$(printf %s "$name" | sed 's/\*/.*/g')"
done >patterns
check "every reason is given" test ! -e unreasonable
comm -23 names hooked | grep -vE -f patterns >forgotten
ok $((1 - $?)) "nothing is forgotten"
sed 's/^/# /' forgotten
grep -E -f patterns hooked >both
ok $((1 - $?)) "nothing that is hooked is in the list"
sed 's/^/# /' both
done_testing
