#!/bin/sh
# test-conformance.sh - every documented sentence gives the figures of its row, and doc/conformance.md is what the command prints.
# shellcheck disable=SC2154,SC2086 # out and err come from tap.sh; $few may be nothing
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cd "$GEMEM_SRCDIR" || exit 99 # for the bundled graphs

# ---- the rows, one test each
gemem-sim conformance >"$GEMEM_TMP/rows.txt" 2>"$GEMEM_TMP/rows.err"
status=$?
sed -n 's/^  \(equal\|differs\|not observable\|changed\)  *\([^ ]*\) .*/\1|\2/p' "$GEMEM_TMP/rows.txt" >"$GEMEM_TMP/verdicts"
while IFS='|' read -r verdict name; do
  check "$name: $verdict" test "$verdict" != changed
done <"$GEMEM_TMP/verdicts"
[ $status = 0 ] || sed 's/^/# /' "$GEMEM_TMP/rows.txt" "$GEMEM_TMP/rows.err"
check 'all figures are those of the table' test $status = 0
check 'names are unique' sh -c "cut -d '|' -f 2 '$GEMEM_TMP/verdicts' | sort | uniq -d | (! grep .)"

# ---- the page; all rows again in another form show a sanitizer nothing new
few=; is_sanitized && few=memory_optimize
run 0 gemem-sim conformance $few -f csv
[ -n "$few" ] || check 'every row is a line of the table' test "$(wc -l <"$GEMEM_TMP/verdicts")" = "$(($(wc -l <"$out") - 1))"
[ -n "$few" ] || check 'doc/conformance.md is what is printed (make transcripts writes it anew)' sh -c "gemem-sim conformance -f markdown | diff doc/conformance.md -"

# ---- what is chosen
run 0 gemem-sim conformance memory_optimize
says out '^PaddlePaddle: memory_optimize \(memory-optimize\)$'
run 0 gemem-sim conformance $few --differs
check 'no sentence that holds' sh -c "! grep -q '^  \(equal\|not observable\) ' '$out'"
run 0 gemem-sim conformance memory_optimize.level.2
says out '^gemem-sim plan - '
run 0 gemem-sim conformance $few -f json
check 'JSON' python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert len(d["rows"]) == d["sentences"] == d["equal"] + d["differs"] + d["not_observable"] and d["changed"] == 0
assert all(r["as_built"]["figure"] == r["as_built"]["expected"] for r in d["rows"] if "as_built" in r)' "$out"

# ---- wrong words
run 2 gemem-sim conformance paddel
says err "no documented sentence 'paddel'; name a system \(ge, paddle, memory_optimize\), a manual \(.*\) or a sentence"
run 2 gemem-sim conformance ''
run 2 gemem-sim conformance -f xml
run 0 gemem-sim conformance memory-optimize memory_optimize # named twice, shown once
run 1 gemem-sim conformance memory_optimize -o /dev/full
done_testing
