#!/bin/sh
# long-deb.sh - `make deb`: the package is built from a copy of the source tree, installs in a fresh Debian, runs there and leaves nothing when it is removed.
# shellcheck disable=SC2154 # out comes from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
for need in dh dpkg-buildpackage debootstrap chroot; do
  command -v $need >/dev/null || { skip 'a package' "there is no $need: apt-get install debhelper debootstrap"; done_testing; }
done
[ -e "$GEMEM_SRCDIR/.git" ] || { skip 'a package' 'the source is a tarball already'; done_testing; }
[ "$(id -u)" = 0 ] || { skip 'a package' 'a chroot needs root'; done_testing; }

check 'the tree can be copied' sh -c 'mkdir tree && git -C "$GEMEM_SRCDIR" archive HEAD | tar -xC tree'
cd tree || exit 99
check 'bootstrap' ./bootstrap --no-install
check 'configure' ./configure -q --without-cuda
check 'make deb' make -s -j2 deb GEMEM_CONFIGURE=--without-cuda
deb=$(ls gemem_*.deb)
[ -s "$deb" ] || { ok 1 'there is a package'; done_testing; }
run 0 dpkg-deb --contents "$deb"; says out ' \./usr/bin/gemem-sim$'; says out '/libgemem\.so'; says out '/man1/gemem-sim\.1'; says out '/bash-completion/'; lacks out '/usr/local/'

root=$GEMEM_TMP/root release=$(. /etc/os-release && echo "$VERSION_CODENAME")
debootstrap --variant=minbase "$release" "$root" >boot.log 2>&1 || { skip 'installed in a fresh Debian' 'debootstrap found no archive'; done_testing; }
cp "$deb" "$root/tmp/gemem.deb"
here () { chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
run 0 here apt-get install -y --no-install-recommends /tmp/gemem.deb
run 0 here gemem-sim version; says out '^gemem'
run 0 here gemem-sim generate mixture-of-experts -o /tmp/one.gmt
run 0 here gemem-sim replay /tmp/one.gmt -a pytorch-caching; says out 'every request was served'
run 0 here dpkg --remove gemem
check 'nothing is left' sh -c '! find "$1/usr" "$1/etc" -name "*gemem*" | grep .' sh "$root"
done_testing
