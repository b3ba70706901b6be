#!/bin/sh
# test-public.sh - every function of a public header is described: a comment precedes it (or the group of lines that it stands in), or
# follows it on its line; where there is Doxygen, the reference is made without a warning; and every function that any header declares
# is used outside of the file that defines it, otherwise it is static there, or nobody needs it.
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

# A name with a capital (cuInit, nvmlInit) is one of another library, which programs ask for; what dry/dry.map lists, Python asks for.
# shellcheck disable=SC2086 # a list
find $folders include tests doc \( -name '*.[ch]' -o -name '*.def' -o -name '*.cpp' -o -name '*.map' \) -type f -print | LC_ALL=C sort | xargs awk '
  FNR == 1 { comment = 0; header = FILENAME ~ /\.h$/ }
  {
    text = $0
    if (comment) { if (!sub (/^.*\*\//, "", text)) next; comment = 0 }
    gsub (/\/\*([^*]|\*[^\/])*\*\//, "", text); gsub (/"([^"\\]|\\.)*"/, "", text)
    if (sub (/\/\*.*$/, "", text)) comment = 1
    name = text; sub (/ \(.*/, "", name)
    if (text ~ /^[a-z_0-9]+ \(/) defined[name, FILENAME] = 1
    else if (header && text ~ /^[A-Za-z].*[a-z0-9_] \(/ && text !~ /^(typedef|static|return|G_DEF)/ && sub (/^.*[ *]/, "", name) \
             && name ~ /^[a-z][a-z0-9_]*$/ && !(name in declared)) { declared[name] = FILENAME; n++ }
    while (match (text, /[A-Za-z_][A-Za-z0-9_]*/)) {
      word = substr (text, RSTART, RLENGTH); text = substr (text, RSTART + RLENGTH)
      if (!times[word, FILENAME]++) users[word] = users[word] " " FILENAME
    }
  }
  END {
    for (name in declared) {
      used = 0; last = split (users[name], file, " ")
      for (i = 1; i <= last && !used; i++)
        used = !((name, file[i]) in defined) && (file[i] != declared[name] || times[name, file[i]] > 1)
      if (!used) print declared[name] ": " name "() is used by no other file"
    }
    if (n < 1500) print "only " n + 0 " declarations were seen"
  }' >"$GEMEM_TMP/own"
[ ! -s "$GEMEM_TMP/own" ]; ok $? 'every declared function is used outside of its file'
sed 's/^/# /' "$GEMEM_TMP/own"

done_testing
