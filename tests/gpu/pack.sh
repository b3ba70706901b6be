#!/bin/sh
# pack.sh - what a build has, in one folder that runs on another machine: where a GPU is, but nothing can be built or fetched.
#
#   tests/gpu/pack.sh FOLDER                                       here, in a build (GEMEM_BUILDDIR, by default here), after make
#   GEMEM_BUILDDIR=FOLDER tests/gpu/collect.sh -o /tmp/found -a /tmp/found.tar.gz   there, in the source; then bring the archive back
#
# FOLDER looks like a build, as far as tests/gpu looks into one: gemem-sim and gemem-record (each a script before the program), .libs, tests; in lib
# are the shared libraries that they need, but for those of the C library, which must be as new there as here, as must be the kind of processor.
# python has the programs of the step programs.  It has no path in it, and about 10 MiB.  Pictures are drawn where gnuplot is: gemem-sim plot FOUND/compare.json -o FOUND/plots/compare.
set -eu
pack=${1:?name the folder to be made}
build=$(cd "${GEMEM_BUILDDIR:-.}" && pwd) source=$(cd "$(dirname "$0")/../.." && pwd)
shared=${GEMEM_SHARED:-$source/../shared}
[ -e "$build/.libs/gemem-sim" ] || { echo "pack.sh: $build is no build with shared libraries; run make there" >&2; exit 2; }
[ ! -e "$pack" ] || { echo "pack.sh: $pack is there already" >&2; exit 2; }
make -s -C "$build" tests/gpu/test-gpu-device tests/gpu/attributes tests/gpu/probe tests/programs/plugin-broken.la >/dev/null

mkdir -p "$pack/.libs" "$pack/lib" "$pack/tests/gpu" "$pack/tests/programs/.libs"
cp "$build"/.libs/gemem-sim "$build"/.libs/gemem-record "$build"/.libs/libgemem-record.so "$build"/.libs/libgemem-torch.so "$pack/.libs"
cp "$build"/.libs/libgemem.so.? "$pack/lib"
cp "$build"/tests/programs/.libs/plugin-broken.so "$pack/tests/programs/.libs"
cp "$build"/tests/gpu/test-gpu-device "$pack/tests/gpu/test-gpu-device.bin"
cp "$build"/tests/gpu/attributes "$build"/tests/gpu/probe "$pack/tests/gpu"
LD_LIBRARY_PATH=$build/.libs ldd "$pack"/.libs/* "$pack"/tests/gpu/*.bin | sed -n 's/.* => \(\/.*\) (0x.*/\1/p' | sort -u |
  grep -v -E '/(libgemem|libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libgcc_s|libstdc\+\+)\.so' | xargs cp -L -t "$pack/lib"
for of in programs cases; do # of the shared data, which may not be there
  [ ! -d "$shared/gpu/$of" ] || { mkdir -p "$pack/python/$of" && cp "$shared/gpu/$of"/*.py "$pack/python/$of"; }
done
strip --strip-unneeded "$pack"/.libs/* "$pack"/lib/* "$pack"/tests/gpu/*.bin 2>/dev/null || :
git -C "$source" log -1 --format=%h >"$pack/commit" 2>/dev/null || :

# What gemem-record runs finds them, too, unless that begins with env LD_LIBRARY_PATH=...
script () { # FILE UP PROGRAM
  { echo '#!/bin/sh'; echo "here=\$(cd \"\$(dirname \"\$0\")$2\" && pwd)"
    echo "LD_LIBRARY_PATH=\$here/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec \"\$here/$3\" \"\$@\""; } >"$pack/$1"
  chmod +x "$pack/$1"
}
script gemem-sim '' .libs/gemem-sim
script gemem-record '' .libs/gemem-record
script tests/gpu/test-gpu-device /../.. tests/gpu/test-gpu-device.bin
