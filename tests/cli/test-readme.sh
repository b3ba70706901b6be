#!/bin/sh
# test-readme.sh - what the README shows is what the program prints: each "$ COMMAND" of its transcripts is run in the source tree and compared.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

if [ -n "${GEMEM_QUICK:-}" ]; then
  skip 'the transcripts' 'GEMEM_QUICK: under sanitizers and full checks a recording through every allocator takes minutes'
  done_testing
fi
awk '/^```/ { inside = !inside; n += inside; next }
     inside && /^\$ / { print substr($0, 3) > ("command-" n); next }
     inside { print > ("expected-" n) }' "$GEMEM_SRCDIR/README.md"
check 'the README has transcripts' test -s command-1
for command in command-*; do
  n=${command#command-}
  (cd "$GEMEM_SRCDIR" && COLUMNS=120 sh "$GEMEM_TMP/$command") >"got-$n" 2>&1
  sed -e '$!b' -e '/^$/d' "got-$n" >"trimmed-$n"
  check "README: $(cat "$command")" diff "expected-$n" "trimmed-$n"
done
check 'the README names files that exist' sh -c 'grep -o "(doc/images/[a-z.]*)" "$GEMEM_SRCDIR/README.md" | tr -d "()" | while read -r f; do test -s "$GEMEM_SRCDIR/$f" || exit 1; done'
done_testing
