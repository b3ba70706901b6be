#!/bin/sh
# test-attributes.sh - what a dry run's devices say of themselves, in the form in which tests/gpu/attributes says it of a GPU; and where a GPU's file is in
# results/gpu, that both say the same.
# shellcheck disable=SC2154 # out and err come from tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
program=$GEMEM_BUILDDIR/tests/gpu/attributes
XDG_CACHE_HOME=$GEMEM_TMP/.cache; export XDG_CACHE_HOME
if is_sanitized; then
  echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0
fi

# dry_said GPU: what its device of a dry run says, in the file of that name.  Above 147 the reference manual has no attributes (cuda.h of CUDA 13.0).
dry_said () { gemem-dry-run --gpu "$1" -o dry.gmt "$program" 2>/dev/null | grep -v '^#' >"$1"; }

# must_agree GPU FILE: prints the lines in which they differ.  What is not the device's but the machine's is left out: the version of the driver, what a context
# takes, the place on the bus (attributes 33, 34, 50).
must_agree () {
  dry_said "$1"
  for of in "$1" "$2"; do grep -E '^(device|attribute) ' "$of" | grep -v -E '^attribute (33|34|50) ' >"${of##*/}.device"; done
  [ -s "$1.device" ] && diff "$1.device" "${2##*/}.device"
}

run 2 "$program" -x
mkdir broken; echo >broken/libcuda.so.1
run 77 env LD_LIBRARY_PATH=broken "$program"; says err '^attributes: .*libcuda.so.1: '
dry_said h100
check 'one line for each attribute' sh -c 'test $(grep -c "^attribute [0-9]* " h100) = 150'
for line in 'device name NVIDIA H100 80GB HBM3' 'device total_memory 85017493504' 'attribute 16 132' 'attribute 75 9' 'attribute 97 232448' 'attribute 149 error 1'; do
  check "h100 says: $line" grep -qx "$line" h100
done
check 'granularities of multicast' sh -c 'test $(grep -c "^multicast [12] [a-z]* [1-9][0-9]*$" h100) = 4'
check 'the kernel driver, of NVML' grep -q '^driver kernel [0-9.]*$' h100
for when in context module launch; do check "memory after $when" grep -q "^memory $when free [0-9]*$" h100; done
check 'memory of NVML, before there is a context' grep -q '^memory start nvml-free [0-9]*$' h100

# A file that a GPU would give, that says the same; and one that differs.
{ echo '# gemem-attributes: 1'; cat h100; } >same.attributes
sed -e 's/^attribute 16 132/attribute 16 130/' -e 's/^attribute 33 .*/attribute 33 99/' same.attributes >other.attributes
run 0 must_agree h100 same.attributes
run 1 must_agree h100 other.attributes; says out '^> attribute 16 130$'; lacks out 'attribute 33'

for file in "$GEMEM_SRCDIR"/results/gpu/*.attributes; do
  [ -e "$file" ] || continue
  model=$(sed -n 's/^device name //p' "$file")
  gpu=$(sed -n "s/^GEMEM_GPU (\"\\([^\"]*\\)\", \"$model\".*/\\1/p" "$GEMEM_SRCDIR/devices/gpus.def")
  run 0 must_agree "${gpu:-none}" "$file"; sed 's/^/# /' "$out"
done
done_testing
