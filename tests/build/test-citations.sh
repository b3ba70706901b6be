#!/bin/sh
# test-citations.sh - what the sources cite exists: "paddle.md 8.1" is a heading of doc/systems/paddle.md, "paddle.md E19" an example in it, and
# every document that is named is a file of the tree.  Lists ("peers.md 1a.3 (rounding), 1a.11", "1.1-1.4") and comments that go on in the next line count too.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
cd "$GEMEM_SRCDIR" || exit 99
known=$GEMEM_TMP/known failures=$GEMEM_TMP/failures

# The name of every document; under doc also the name with "#", and with the number of each heading ("8.1", "appendix A") and example ("E19").
{ find . -path ./.git -prune -o -name '*.md' -print | sed 's|.*/||'
  find doc -name '*.md' -exec awk 'FNR == 1 { name = FILENAME; sub (/.*\//, "", name); print name, "#" }
    /^#+ / || /^\*\*[A-Z][0-9]/ { gsub (/[*#]/, " "); key = tolower ($1) == "appendix" ? "appendix " $2 : $1; sub (/[.:]+$/, "", key); print name, key }
    ' {} +; } > "$known"

set --
for folder in $folders tests doc; do [ ! -d $folder ] || set -- "$@" $folder; done
# Scripts under tests/gpu and tests/dry name the reports that they write, not documents.
find "$@" \( -path tests/data -o -path tests/gpu -o -path tests/dry \) -prune -o -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' \
  -o -name '*.py' -o -name '*.md' -o -name '*.am' \) -exec awk -v known="$known" '
  function look (text, after,    n, name, list, item) { # the citations that begin in text; after: the next line
    gsub (/https?:[^ )>]*/, "", text)
    sub (/^[ \t]*[*#\/]*[ \t]*/, "", after)
    n = length (text)
    for (text = text " " after; match (text, /[$]?[A-Za-z0-9_][A-Za-z0-9_-]*\.md/) && RSTART <= n; ) {
      name = substr (text, RSTART, RLENGTH)
      text = substr (text, RSTART + RLENGTH)
      n -= RSTART + RLENGTH - 1
      if (name ~ /^[$]/ || text ~ /^[A-Za-z0-9_]/) continue
      if (!(name in is)) print file ":" line ": " name
      for (list = text; (name " #") in is && match (list, separator "([Aa]ppendix [A-Z]|[0-9]+[a-z]?(\\.[0-9]+)*|[A-Z][0-9]+)"); sub (/^ \([^()]*\)/, "", list)) {
        item = substr (list, 1, RLENGTH)
        list = substr (list, RLENGTH + 1)
        sub (separator, "", item); sub (/^A/, "a", item)
        if (!((name " " item) in is)) print file ":" line ": " name " " item
      }
    }
  }
  BEGIN { separator = "^( +|, and |, | and | to |-)((section|example)s? )?"; while ((getline entry < known) > 0) is[entry] = 1 }
  { if (held ~ /\.md/) look (held, FNR > 1 ? $0 : ""); held = $0; file = FILENAME; line = FNR }
  END { if (held ~ /\.md/) look (held, "") }' {} + > "$failures"
[ ! -s "$failures" ]; ok $? 'what is cited exists'
sed 's/^/# /' "$failures"
check 'and is found' grep -q '^peers.md 1a.3$' "$known"

# ---- the functions and files that CONTRIBUTING.md and doc/library.md walk past
# shellcheck disable=SC2086 # a list
grep -rhoE --include='*.[ch]' '[A-Za-z_0-9]+ \(' $folders | tr -d ' (' | LC_ALL=C sort -u >"$GEMEM_TMP/functions"
grep -ohE '`[a-z_0-9]+ ?\(\)`' CONTRIBUTING.md doc/library.md | tr -d '\140() ' | LC_ALL=C sort -u >"$GEMEM_TMP/named"
LC_ALL=C comm -13 "$GEMEM_TMP/functions" "$GEMEM_TMP/named" >"$GEMEM_TMP/gone"
grep -ohE '`[a-z]+/[A-Za-z0-9_/-]+\.(c|h|def|sh|md|txt)`' CONTRIBUTING.md doc/library.md | tr -d '\140' | sort -u | grep -v FOLDER | while read -r file; do
  [ -e "$file" ] || echo "$file"; done >>"$GEMEM_TMP/gone"
check 'the walks name functions' test "$(wc -l <"$GEMEM_TMP/named")" -gt 30
[ ! -s "$GEMEM_TMP/gone" ]; ok $? 'the walk passes functions and files that exist'
sed 's/^/# /' "$GEMEM_TMP/gone"

done_testing
