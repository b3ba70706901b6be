#!/bin/sh
# build.sh - builds the stub CUDA libraries for one real library: build.sh FOLDER LIBRARY...
#
# FOLDER gets libcudart.so.N (N: what the LIBRARY needs), libcuda.so.1 and libnvidia-ml.so.1; link a driver with
#   -LFOLDER -l:libcudart.so.N -Wl,--no-as-needed -l:libcuda.so.1 -l:libnvidia-ml.so.1 -Wl,-rpath,FOLDER
# and without device.cpp, which is in there.  Every function that a LIBRARY imports or looks up by name and that cudart.cpp lacks is
# added as one that is not supported.  Prints N.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1; shift
LC_ALL=C; export LC_ALL
mkdir -p "$folder"

version=$(readelf -d "$@" | sed -n 's/.*\[libcudart\.so\.\([0-9]*\)\].*/\1/p' | sort -u | head -n 1)
: "${version:=12}"
${CXX:-c++} -std=c++17 -O2 -fPIC -c -o "$folder/cudart.o" "$here/cudart.cpp"
${CXX:-c++} -std=c++17 -O2 -fPIC -c -o "$folder/device.o" "$here/../device.cpp"
nm --defined-only "$folder/cudart.o" | awk '{ print $NF }' | sort -u >"$folder/defined"
{ nm -D --undefined-only "$@" | awk '{ print $NF }' | sed 's/@.*//' | grep -E '^cu(da)?[A-Z]' || :
  strings "$@" | grep -E '^(cu[A-Z]|nvml[A-Z])[A-Za-z0-9]*(_v[0-9])?$' || :; } | sort -u | comm -23 - "$folder/defined" \
  | sed 's/.*/int & (void) { return 801; }/' >"$folder/others.c"
${CC:-cc} -O2 -fPIC -w -c -o "$folder/others.o" "$folder/others.c"
echo "libcudart.so.$version { global: cu*; nvml*; oracle_*; local: *; };" >"$folder/map"
${CXX:-c++} -shared -o "$folder/libcudart.so.$version" -Wl,-soname,"libcudart.so.$version" -Wl,--version-script="$folder/map" \
  "$folder/cudart.o" "$folder/device.o" "$folder/others.o" -ldl
for name in libcuda.so.1 libnvidia-ml.so.1; do
  ${CC:-cc} -shared -o "$folder/$name" -Wl,-soname,"$name" -Wl,--no-as-needed -L"$folder" -l:"libcudart.so.$version" -Wl,-rpath,"\$ORIGIN"
done
echo "$version"
