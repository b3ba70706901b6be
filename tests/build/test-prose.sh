#!/bin/sh
# test-prose.sh - a tired engineer reads it once: no sentence of the pages and of the help texts has more than 40 words, and no line of a page more
# than 100 characters.
#
# A sentence ends at . ! or ? before a blank, and with its paragraph, list item or cell of a table; not at "e.g.", "i.e.", "vs." and "...", nor in
# 3.10 or file.c.  A word has a letter or a digit; `some code` is one, and a link is its text.  Left out are fenced and indented code, the length
# of a table's lines and of web addresses, and doc/conformance.md, which gemem-sim writes.
# shellcheck disable=SC2016 # scripts for sh -c
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
      gsub (/\.\.\.[])"]* /, "_ ", text); gsub (/e\.g\./, "eg", text); gsub (/i\.e\./, "ie", text); gsub (/vs\./, "vs", text)
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

# A manual page in roff as paragraphs, without its macros, fonts, examples and the names of options.
manual () {
  sed -n '/^\.\\"\|^\.TH/d; /^\.\(nf\|EX\)/,/^\.\(fi\|EE\)/d; /^\.TP/{N;s/.*//p;d}; s/^\.\(S[HS]\|PP\|IP\|R[SE]\).*//; s/^\.[A-Z]* //
    s/\\f[A-Z]//g; s/\\(aq/"/g; s/\\[&e|]//g; s/\\-/-/g; s/^[ |#]*//; p'
}

# A help text as paragraphs: an indented line is one.  Lists of names are none.
help () { sed "/^  *\(Also\|Also written\|Worth trying ('\*')\): /d; s/^  *\(-.*   *\)\{0,1\}[|#]*\(.*\)/\2\n/"; }

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
mkdir pages; gemem-sim help --man-pages pages; for page in pages/*; do manual <"$page" >"man $(basename "$page")"; done; rm -r pages
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
cd "$GEMEM_TMP" || exit 99
ten='one - `two two` 3.10 [four](http://a.b/c.d) e.g. six, i.e. eight vs. ten...'
long=$(printf '%0101d' 0)
cat >text <<END
$ten $long
$ten
$ten
$ten (and)
the 44th.) Ended.

* $ten
  $ten
  $ten
  $ten Next!
* $ten
* $ten
  http://address/$long

    $long
\`\`\`
$long
\`\`\`
| $long | $ten $ten | $ten $ten |
END
prose text | sed 's/words: .*/words/' >found
printf 'text:%s\n' '1: 163 characters' '1: 44 words' '7: 41 words' >wanted
check 'what counts, and what does not' diff wanted found
done_testing
