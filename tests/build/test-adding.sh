#!/bin/sh
# test-adding.sh - the list "Adding something" of CONTRIBUTING.md, word by word, in a copy of the tree: one file in a new folder, one line in allocators.def,
# `make`; beside it a new test and a renamed file.  Then all of it is taken back and made again.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

automake=$(sed -n "s/^AUTOMAKE = .* //p" "$GEMEM_BUILDDIR/Makefile" 2>/dev/null)
if [ "$GEMEM_SRCDIR" != "$GEMEM_BUILDDIR" ] || [ ! -w "$GEMEM_SRCDIR" ]; then echo '1..0 # SKIP not built in its source'; exit 0; fi
if ! command -v "$automake" >/dev/null; then echo "1..0 # SKIP no ${automake:-automake}"; exit 0; fi
unset MAKEFLAGS MFLAGS MAKELEVEL
(cd "$GEMEM_SRCDIR" && tar -cf - --exclude ./.git --exclude './tests/*/.libs' --exclude autom4te.cache .) | tar -xf - || exit 99
made () { run 0 make -s gemem-sim; run 0 ./gemem-sim list allocators --names; } # the copy's own one
known () { check "make has a rule for $1" make -n "$1"; }

check 'each program of make check-long has a log' sh -c 'for test in tests/*/long-*.c; do grep -q "^${test%.c}\.log:" Makefile || exit 1; done'

touch before
made; lacks out '^mine$'; says out '^direct$'
check 'where nothing changed, nothing is written' sh -c 'test -z "$(find sources.am Makefile.in Makefile -newer before)"'

mkdir allocators/mine
sed 's/gemem_direct_class/gemem_mine_class/; s/"direct"/"mine"/' allocators/direct.c >allocators/mine/mine.c
echo 'GEMEM_ALLOCATOR (gemem_mine_class)' >>allocators/allocators.def
cp tests/unit/test-direct.c tests/unit/test-mine.c
mv allocators/spec.c allocators/text.c
made; says out '^mine$'; says out '^direct$'
known tests/unit/test-mine
check 'no rule for what was renamed' sh -c '! grep -q allocators/spec\.lo Makefile'

sed -i '/gemem_mine_class/d' allocators/allocators.def
rm -r allocators/mine tests/unit/test-mine.c
mv allocators/text.c allocators/spec.c
run 0 make -s allocators/registry.lo allocators/spec.lo; run 0 make -n gemem-sim # the links would take as long again
lacks allocators/.libs/registry.o gemem_mine_class
check 'the lists are the old ones' cmp sources.am "$GEMEM_SRCDIR/sources.am"
done_testing
