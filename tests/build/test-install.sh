#!/bin/sh
# test-install.sh - what a packager and an author of a plugin get: an installed gemem that runs from its place, headers that compile alone, a
# gemem.pc that works, a library that exports its own names only, an allocator built outside of the tree, and an uninstall that leaves nothing.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

if [ ! -e "$GEMEM_BUILDDIR/config.status" ]; then echo '1..0 # SKIP no build folder'; exit 0; fi
root=$GEMEM_TMP/root
unset MAKEFLAGS MFLAGS MAKELEVEL GEMEM_PROFILES
CC=$(sed -n 's/^CC = //p' "$GEMEM_BUILDDIR/Makefile")
sanitize=$(sed -n 's/^SANITIZE_CFLAGS = //p' "$GEMEM_BUILDDIR/Makefile")
warnings='-Wall -Wextra -Werror'
trace=$GEMEM_SRCDIR/traces/recorded/gpt2-train.gmt
replayed='^pytorch-caching +peak live 2.381 GiB, peak reserved 2.777 GiB, 0 failed$'
examples () { # compiles both examples against what pkg-config finds
  cflags=$(pkg-config --cflags gemem) libs=$(pkg-config --libs gemem)
  mkdir -p plugins
  check "the example of a program compiles ($1)" sh -c "$CC -std=gnu11 $sanitize -O1 $warnings -o replay '$GEMEM_SRCDIR/doc/example-replay.c' $cflags $libs"
  check "the example of a plugin compiles ($1)" sh -c \
    "$CC -std=gnu11 $sanitize -shared -fPIC -O1 $warnings -o plugins/power2.so '$GEMEM_SRCDIR/doc/example-plugin.c' $cflags $libs"
}

# ---- from the build folder, not installed
PKG_CONFIG_PATH=$GEMEM_BUILDDIR examples 'not installed'
run 0 ./replay "$trace"; says out "$replayed"; says out '^ge-scalable:total=64GiB .*0 failed$'
run 2 ./replay; says err '^usage: '
run 1 ./replay missing.gmt; says err 'missing.gmt: No such file or directory'
run 0 env GEMEM_PLUGIN_PATH="$PWD/plugins" "$GEMEM_BUILDDIR/gemem-sim" replay "$trace" -a power2 -f csv; says out ',power2,'
rm -r replay plugins
is_sanitized && { skip 'what is installed' 'a sanitizer has seen these programs where they were built'; done_testing; }

# ---- where it cannot be installed
for folder in "$PWD/with blank" "$PWD/with:colon"; do
  run 1 "$GEMEM_SRCDIR/configure" --prefix="$folder"; says err 'error: --prefix=.*/with.*: gemem runs from no folder whose name has blanks or colons; choose another one$'
done

run 0 make -s -C "$GEMEM_BUILDDIR" install "DESTDIR=$root"
bindir=$(dirname "$(find "$root" -name gemem-sim -path '*/bin/*')")
libdir=$(dirname "$(find "$root" -name libgemem.so)")
datadir=$(dirname "$(find "$root" -type d -name recorded)")
incdir=$(dirname "$(dirname "$(find "$root" -name allocator.h)")")
prefix=$(dirname "$bindir")
PATH=$bindir:$PATH LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH LD_LIBRARY_PATH

# ---- the program, from its place
check 'the installed program is the one that runs' sh -c "test \"\$(command -v gemem-sim)\" = $bindir/gemem-sim"
check 'its version is that of the build' sh -c "gemem-sim version | head -n 1 > a; $GEMEM_BUILDDIR/gemem-sim version | head -n 1 | cmp - a"
check 'there are recordings' sh -c "ls $datadir/recorded/*.gmt"
for profile in "$datadir"/profiles/*.ini; do
  run 0 gemem-sim replay "$datadir/recorded/gpt2-train.gmt" -a pytorch-caching -f csv -d "sim:profile=$(basename "$profile" .ini)"
done
check 'the manual is there' sh -c "grep -q 'gemem..sim' $prefix/share/man/man1/gemem-sim.1 && ls $prefix/share/man/man1/gemem-sim-compare.1 $prefix/share/man/man7/gemem-allocators.7"
check 'the completion is there, and is bash' sh -c "find $root -path '*bash-completion*' -name gemem-sim -exec bash -n {} + 2>&1 | cmp - /dev/null && find $root -path '*bash-completion*' -name gemem-sim | grep -q ."
check 'so are those of zsh and fish' sh -c "find $root -path '*zsh*' -name _gemem-sim | grep -q . && find $root -path '*fish*' -name gemem-sim.fish | grep -q ."
check 'no installed text knows where it was built' sh -c "! grep -rIl -e '$GEMEM_BUILDDIR' -e '$root' $root"

# ---- the library
if command -v nm >/dev/null && grep -q '^am__append_[0-9]* =.*version-script' "$GEMEM_BUILDDIR/Makefile"; then
  check 'it exports gemem_*, version GEMEM_0, and nothing else' sh -c \
    "nm -D --defined-only $libdir/libgemem.so | awk '{ print \$3 }' > names; test \$(wc -l < names) -gt 100 && ! grep -Ev '^gemem_[a-z0-9_]*@@GEMEM_0\$|^GEMEM_0\$' names"
else
  skip 'exported names' 'no nm, or no version script'
fi
mkdir pc
sed "s|^prefix=.*|prefix=$prefix|" "$libdir/pkgconfig/gemem.pc" > pc/gemem.pc
PKG_CONFIG_PATH=$GEMEM_TMP/pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
examples installed
check 'gemem.pc names the library and its headers' sh -c "echo '$cflags $libs' | grep -q -- '-I$incdir .*-L$libdir .*-lgemem'"
check 'every installed header compiles alone' sh -c "cd $incdir && for h in \$(find . -name '*.h'); do
    echo \"#include <\${h#./}>\" | $CC -std=c11 -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only $cflags -x c - || exit 1; done"

# ---- a plugin
run 0 ./replay "$trace"; says out "$replayed"
GEMEM_PLUGIN_PATH=$GEMEM_TMP/plugins; export GEMEM_PLUGIN_PATH
gemem-sim generate random:events=20000,live=300 --seed 5 -o r.gmt
run 0 gemem-sim list allocators --names;   says out '^power2$'
run 0 gemem-sim help power2;               says out 'min_block='
run 0 gemem-sim compare r.gmt -f csv;      says out ',power2,'; says out ',direct,'
run 0 gemem-sim replay -v r.gmt -a power2 -a power2:min_block=1MiB --check
run 0 gemem-sim replay -v r.gmt -a power2 --check -d sim:capacity=16MiB
run 0 gemem-sim compare r.gmt -a 'power2:min_block=*' -f csv; says out 'power2:min_block=4KiB'
check 'it never holds less than its blocks' sh -c \
  "gemem-sim compare r.gmt -a power2 -a power2:min_block=1MiB -f json | jq -en 'input | [.results[] | .peak_reserved >= .peak_allocated and .peak_allocated >= .peak_live] | all'"
run 2 gemem-sim replay r.gmt -a power2:min_bloc=1MiB; says err "did you mean 'min_block'"
: > plugins/empty.so
run 0 gemem-sim list allocators --names;   says out '^power2$'; says err 'warning: .*empty.so: cannot be loaded'
unset GEMEM_PLUGIN_PATH
run 2 gemem-sim replay r.gmt -a power2;    says err "unknown allocator 'power2'"

# ---- and away
run 0 make -s -C "$GEMEM_BUILDDIR" uninstall "DESTDIR=$root"
check 'uninstall leaves no file' sh -c "find $root ! -type d | cmp - /dev/null"

done_testing
