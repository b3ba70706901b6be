#!/bin/sh
# test-once.sh - nothing is written twice: no run of more than ten lines of code is the same in two places.
#
# A line counts without its indentation; blank lines, comments and includes do not count, and a run of which nearly every line is a row
# of a table (it begins with a brace, a dot, a quote, or is a call of one line in a list) may repeat.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
cd "$GEMEM_SRCDIR" || exit 99

# shellcheck disable=SC2086 # a list
find $folders tests doc \( -path tests/data -o -path tests/oracle/built \) -prune -o -name '*.[ch]' \
  ! -name profiles-builtin.h ! -name '*-image.h' -type f -print | LC_ALL=C sort | xargs awk -v most=10 '
  function start () { n = 0; comment = 0; last = "" }
  FNR == 1 { start() }
  {
    text = $0
    if (comment) { if (!sub (/^.*\*\//, "", text)) next; comment = 0 }
    gsub (/\/\*([^*]|\*[^\/])*\*\//, "", text)
    if (sub (/\/\*.*$/, "", text)) comment = 1
    gsub (/^[ \t]+|[ \t]+$/, "", text)
    if (text == "" || text ~ /^#include/) next
    row[++n] = text; at[n] = FNR; total++
    table[n] = text ~ /^[{}.]|^"|^GEMEM_|^[a-z_]+ \([^;]*,?$|^case |^[A-Z_0-9]+,$/
    if (n <= most) next
    key = ""; rows = 0
    for (i = n - most; i <= n; i++) { key = key row[i] "\n"; rows += table[i] }
    if (rows >= most) next
    here = FILENAME ":" at[n - most]
    if (!(key in first)) { first[key] = here; continued = 0; next }
    if (last != FILENAME || !continued) print here ": as at " first[key]
    last = FILENAME; continued = 1
  }
  END { if (total < 50000) print "only " total + 0 " lines were seen" }' >"$GEMEM_TMP/twice"
[ ! -s "$GEMEM_TMP/twice" ]; ok $? 'no eleven lines of code stand in two places'
sed 's/^/# /' "$GEMEM_TMP/twice"

done_testing
