#!/bin/sh
# test-dry-names.sh - a program that looks functions of the driver up by dlsym() finds every one in a dry run that CUDA's own stub
# library has: cuDNN and cuFFT look all of theirs up at once, and give up if one is missing.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

stub=${CUDA_HOME:-/usr/local/cuda}/lib64/stubs/libcuda.so
[ -e "$stub" ] || { skip 'names of the driver' "the CUDA toolkit's $stub is not installed"; done_testing; }
command -v nm >/dev/null || { skip 'names of the driver' 'no nm'; done_testing; }
names () { nm -D --defined-only "$1" | awk '$2 == "T" && $3 ~ /^cu[A-Z]/ { print $3 }' | sort; }
names "$stub" >stub
names "$GEMEM_BUILDDIR/.libs/libgemem-dry.so" >ours
comm -23 stub ours >missing
check 'the stub library has hundreds' test "$(wc -l <stub)" -gt 400
check "none is missing: $(head -c 200 missing | tr '\n' ' ')" test ! -s missing
done_testing
