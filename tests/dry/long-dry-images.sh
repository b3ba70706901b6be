#!/bin/sh
# long-dry-images.sh - what dry runs read of the kernels in real libraries is what NVIDIA's cuobjdump prints of them: registers, stack
# and shared memory of every kernel for every architecture.
# Skips without such libraries (in the folders of $GEMEM_DRY_LIBRARIES, with colons between them; else those of the torch that
# python3 has) and without cuobjdump in the PATH or as $CUOBJDUMP (it is in the package nvidia-cuda-cuobjdump of PyPI).
. "$GEMEM_SRCDIR/tests/util/tap.sh"
cuobjdump=$(command -v "${CUOBJDUMP:-cuobjdump}") || { echo '1..0 # SKIP there is no cuobjdump; set CUOBJDUMP'; exit 0; }
folders=${GEMEM_DRY_LIBRARIES:-$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0] + "/lib")' 2>/dev/null)}
[ -n "$folders" ] || { echo '1..0 # SKIP there is no torch with CUDA; set GEMEM_DRY_LIBRARIES'; exit 0; }

compare () { # LIBRARY
  # a function without parameters in constant memory is no kernel, it is called by kernels
  "$cuobjdump" --dump-resource-usage "$1" 2>/dev/null | awk '
    /^arch = / { arch = $3; sub (/[af]$/, "", arch) }
    / Function / { name = $2; sub (/:$/, "", name) }
    / REG:.* CONSTANT\[0\]/ { for (i = 1; i <= 3; i++) sub (/^[A-Z]*:/, "", $i); print arch, name, $1, $2, $3 }' | LC_ALL=C sort >judge
  "$GEMEM_BUILDDIR/tests/programs/dry-images" "$1" | LC_ALL=C sort >ours
  LC_ALL=C comm -23 judge ours >missed
  ok "$([ -s judge ] && [ ! -s missed ]; echo $?)" "$(wc -l <judge) kernels of $1 have the figures that cuobjdump prints"
  sed 's/^/# /' missed | head -n 5
}
IFS=:
for folder in $folders; do
  for library in "$folder"/*.so*; do
    ! readelf -SW "$library" 2>/dev/null | grep -q ' \.nv_fatbin ' || compare "$library"
  done
done
done_testing
