#!/bin/sh
# test-gpu-torch.sh - PyTorch trains, captures graphs and uses several streams on memory of ours (torch-check.py); where python3 (or PYTHON) has a
# PyTorch that finds a GPU.  On machines without, the library is tested by programs that call it as PyTorch does: tests/unit/test-torch.c.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=${PYTHON:-python3} library=$GEMEM_BUILDDIR/.libs/libgemem-torch.so
[ -e "$library" ] || { echo '1..0 # SKIP built without shared libraries'; exit 0; }
"$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1 ||
  { echo "1..0 # SKIP $python has no PyTorch that finds a GPU"; exit 0; }
LD_LIBRARY_PATH=${GEMEM_LENT:-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PYTHONDONTWRITEBYTECODE=1 # GEMEM_LENT: collect.sh
export LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE
for allocator in pytorch-caching ge-expandable ge-scalable ge-bins paddle-auto-growth paddle-vmm-auto-growth paddle-best-fit:fraction_of_gpu_memory_to_use=0.1; do
  run 0 env GEMEM_ALLOCATOR=$allocator "$python" "$GEMEM_SRCDIR/tests/gpu/torch-check.py" "$library"
  sed 's/^/# /' "$out"
  says err '^libgemem-torch: .*out of memory: 64.00 TiB asked for'
  check "$allocator says nothing else" sh -c '! grep -v "out of memory: 64.00 TiB" "$1"' - "$err"
done
done_testing
