#!/bin/sh
# long-cli-terms.sh - the help of every term, and every command that it tells to try: each runs as it stands, in the source tree.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cd "$GEMEM_SRCDIR" || exit 99
gemem-sim help terms | sed 's/  .*//' | grep -v '^terms$' | sort -u >"$GEMEM_TMP/index"
while read -r word; do
  gemem-sim help "$word" >>"$GEMEM_TMP/helps" 2>"$GEMEM_TMP/error" || ok 1 "help $word: $(cat "$GEMEM_TMP/error")"
done <"$GEMEM_TMP/index"
check 'every term has a help' sh -c "test \$(wc -l <'$GEMEM_TMP/index') -gt 900 && test -s '$GEMEM_TMP/helps'"
sed -n '/train\.out\| FILE\| -d cuda/d; s/^ *Try: //p' "$GEMEM_TMP/helps" | sort -u >"$GEMEM_TMP/try"
while read -r line; do
  sh -c "$line" >/dev/null 2>"$GEMEM_TMP/error" </dev/null; status=$?
  if [ $status -ne 0 ] || grep -q 'error:' "$GEMEM_TMP/error"; then ok 1 "$line: $(tail -n 1 "$GEMEM_TMP/error")"; fi
done <"$GEMEM_TMP/try"
check 'there are commands to try' sh -c "test \$(wc -l <'$GEMEM_TMP/try') -gt 400"
done_testing
