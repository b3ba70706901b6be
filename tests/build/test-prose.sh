#!/bin/sh
# test-prose.sh - a tired engineer reads it once: no sentence of the pages and of the help texts has more than 40 words, and no line of a page more
# than 100 characters.
#
# A sentence ends at . ! or ? before a blank, and with its paragraph, list item or cell of a table; not in "e.g.", "i.e." and "vs.", nor at "..." in
# its midst.  A word has a letter or a digit; `code`, a link's target, a web address and a number with its unit's sign are one or none.  Left out are
# fenced and indented code, the length of a table's lines and of web addresses, and doc/conformance.md, which gemem-sim writes.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# prose FILE...: prints the sentences and the lines of Markdown that are too long, each as FILE:LINE: WHAT.
prose () {
  LC_ALL=C.UTF-8 awk '
    function say (sentence,   n, i, word, words) {
      n = split (sentence, word, " ")
      for (i = 1; i <= n; i++) words += word[i] ~ /[[:alnum:]]/
      if (words > 40) print at ": " words " words: " sentence
    }
    function finish () { # the paragraph
      gsub (/`[^`]*`/, "code", text); gsub (/\]\([^)]*\)/, "", text); gsub (/https?:[^ )>]*/, "address", text)
      gsub (/\.\.\.[])"*_]* [^A-Z]/, "_ ", text); gsub (/e\.g\./, "eg", text); gsub (/i\.e\./, "ie", text); gsub (/vs\./, "vs", text)
      while (match (text, /[.!?][])"*_\047]* /)) { say(substr (text, 1, RSTART)); text = substr (text, RSTART + RLENGTH) }
      say(text); text = ""
    }
    function add (line) { if (text == "") at = FILENAME ":" FNR; sub (/^ +/, "", line); text = text (text == "" ? "" : " ") line }
    FNR == 1 { finish(); fenced = 0; code = 1 }
    /^ *```/ { finish(); fenced = !fenced; next }
    fenced { next }
    /^ *$/ { finish(); code = 1; next }
    /^    / && code { next }
    { code = 0 }
    /^ *\|/ { finish(); n = split ($0, cell, "|"); for (i = 2; i < n; i++) { add(cell[i]); finish() }; next }
    /^#/ || /^ *([-*+]|[0-9]+\.) / { finish() }
    { add($0); gsub (/https?:[^ )>]*/, "") }
    length ($0) > 100 { print FILENAME ":" FNR ": " length ($0) " characters" }
    END { finish() }' "$@"
}

# A manual page in roff as paragraphs, without its macros, fonts, examples and the names of options; and a help text, whose indented lines are paragraphs.
manual () {
  sed -n '/^\.\\"\|^\.TH/d; /^\.\(nf\|EX\)/,/^\.\(fi\|EE\)/d; /^\.TP/{N;s/.*//p;d}; s/^\.\(S[HS]\|PP\|IP\|R[SE]\).*//; s/^\.[A-Z]* //
    s/\\f[A-Z]//g; s/\\(aq/'"'"'/g; s/\\[&e|]//g; s/\\-/-/g; s/^[ |#]*//; p'
}
help () { sed 's/^  *\(-.*   *\)\{0,1\}[|#]*\(.*\)/\2\n/'; }

# ---- pages
cd "$GEMEM_SRCDIR" || exit 99
find . \( -path ./.git -o -path ./doc/reference -o -path ./doc/conformance.md \) -prune -o \( -name README.md -o -path './doc/*.md' \) -print |
  sed 's|^\./||' | sort | xargs awk 'FNR == 1 { print FILENAME }' NEWS.md CONTRIBUTING.md >"$GEMEM_TMP/pages"
# shellcheck disable=SC2046 # a list
prose $(cat "$GEMEM_TMP/pages") >"$GEMEM_TMP/long"
! grep ': [0-9]* words: ' "$GEMEM_TMP/long" >"$GEMEM_TMP/found"; ok $? 'pages: no sentence has more than 40 words'
sed 's/^/# /' "$GEMEM_TMP/found"
! grep ': [0-9]* characters$' "$GEMEM_TMP/long" >"$GEMEM_TMP/found"; ok $? 'pages: no line has more than 100 characters'
sed 's/^/# /' "$GEMEM_TMP/found"
check 'and the pages are there' sh -c 'test $(wc -l <"$0") -gt 60' "$GEMEM_TMP/pages"

# ---- help texts
mkdir "$GEMEM_TMP/help"; cd "$GEMEM_TMP/help" || exit 99
gemem-sim help --man | manual >'gemem-sim help --man'
for name in $(gemem-sim list --names) $(gemem-sim help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do gemem-sim help "$name" | help >"gemem-sim help $name"; done
for program in gemem-dry-run gemem-record; do
  "$program" --help | help >"$program --help"
  manual <"$GEMEM_SRCDIR/man/$program.1" >"man $program"
done
prose ./* | grep ': [0-9]* words: ' >../found
[ ! -s ../found ]; ok $? 'help texts: no sentence has more than 40 words'
sed 's/^/# /' ../found
check 'and the help texts are there' sh -c 'test $(cat * | wc -l) -gt 3000'
# ---- what counts
cat >text.md <<'END'
x
END
done_testing
