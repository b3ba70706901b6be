#!/bin/sh
# test-words.sh - the tree speaks the field's language: the words in words.txt, which were ours alone, stay out of it.  What the program
# prints (string literals) is not looked at.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
cd "$GEMEM_SRCDIR" || exit 99

pattern=$(sed -n '/^#/!s/	.*//p' tests/build/words.txt | paste -sd '|')
# shellcheck disable=SC2086 # a list
find README.md CONTRIBUTING.md NEWS.md configure.ac bootstrap build-aux/[a-z]* $folders include doc tests man/*.am \
  \( -path tests/data -o -path tests/build/words.txt -o -path doc/reference -o -path tests/fuzz/corpus -o -path doc/images \) -prune -o -type f \
  \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.py' -o -name '*.cpp' -o -name '*.md' -o -name '*.am' -o -name '*.in' -o -path build-aux/demo \) \
  -exec grep -niwE "$pattern" {} + | sed 's/"\([^"\\]\|\\.\)*"//g' | \
  grep -iE "^[^:]*:[0-9]+:(.*[^A-Za-z0-9_])?($pattern)([^A-Za-z0-9_]|\$)" >"$GEMEM_TMP/found"
[ ! -s "$GEMEM_TMP/found" ]; ok $? "none of: $pattern"
sed 's/^/# /' "$GEMEM_TMP/found"
check 'and the files are there' sh -c 'test "$(find base traces sim -name "*.c" | wc -l)" -gt 150'

done_testing
