#!/bin/sh
# test-public.sh - every function of a public header is described: a comment precedes it (or the group of lines that it stands in), or
# follows it on its line; and where there is Doxygen, the reference is made without a warning.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

headers=$(sed -n '/^public_headers = /,/[^\\]$/p' "$GEMEM_SRCDIR/sources.am" | sed '1d; s/[ \\]//g')
cd "$GEMEM_SRCDIR" || exit 99
# shellcheck disable=SC2086 # a list
awk 'FNR == 1 { described = comment = body = 0; text = "" }
  comment { if (/\*\//) { comment = 0; described = 1 } next }
  /^ *\/\*/ { if (/\*\//) described = 1; else comment = 1; text = ""; next }
  /^$/ || /^#/ || /^GEMEM_(BEGIN|END)/ { described = 0; next }
  /^G_/ { next }
  (/^(typedef|struct|enum|union)/ && !/\(/) || /^\{/ { body = 1 }
  body { if (/^}|;$/ && !/^  /) body = 0; described = 0; next }
  { if (text == "") { line = FNR; had = described } text = text $0 }
  /\)[^;]*;/ { n++; if (text ~ /^[A-Za-z].*gemem_[a-z0-9_]+ \(/ && text !~ /^typedef/ && !had && !/\/\*/) print FILENAME ":" line ": " text; text = "" ; next }
  /[;{}]/ { text = "" }
  END { if (n < 150) print "only " n + 0 " functions were seen" }' $headers >"$GEMEM_TMP/bare"
[ ! -s "$GEMEM_TMP/bare" ]; ok $? 'every public function is described'
sed 's/^/# /' "$GEMEM_TMP/bare"

if command -v doxygen >/dev/null && [ -e "$GEMEM_BUILDDIR/Makefile" ]; then
  unset MAKEFLAGS MFLAGS MAKELEVEL
  run 0 make -s -C "$GEMEM_BUILDDIR" html-local
  check 'the reference has pages' test -e "$GEMEM_BUILDDIR/doc/reference/replay_8h.html"
else
  skip 'make html' 'no doxygen (./bootstrap html installs it)'
fi

done_testing
