#!/bin/sh
# test-live-recordings.sh - what libgemem-torch records of itself is replayed with every decision and every call of the device, wherever the driver placed
# ranges of addresses: GE's allocator reserves further ones, as long as one block, which lie in holes of CUDA's address space.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

python=${PYTHON:-python3}
library=$GEMEM_BUILDDIR/.libs/libgemem-torch.so
"$python" -c 'import ctypes' 2>/dev/null || { skip 'live recordings' 'there is no Python'; done_testing; }
[ -e "$library" ] || { skip 'live recordings' 'built without shared libraries'; done_testing; }
if nm -D "$library" | grep -q '__[aut]b\{0,1\}san'; then skip 'live recordings' 'built with sanitizers, which Python is not'; done_testing; fi
cat >requests.py <<'END'
"""The requests and frees of a trace as text, made of libgemem-torch.so."""
import ctypes, sys

library = ctypes.CDLL(sys.argv[1])
library.gemem_torch_malloc.restype = ctypes.c_void_p
library.gemem_torch_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
library.gemem_torch_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
library.gemem_torch_init(1)
live = {}
for line in open(sys.argv[2]):
    kind, *words = line.split()
    if kind == "alloc":
        size = int(next(word[5:] for word in words if word.startswith("size=")))
        live[words[0]] = library.gemem_torch_malloc(size, 0, None), size
    elif kind in ("free", "free-requested") and words[0] in live:
        library.gemem_torch_free(*live.pop(words[0]), 0, None)
END

# exactly RECORDING ALLOCATOR ADDRESS: its requests, made of that allocator where addresses are chosen so.
exactly () {
  test -f "$1.txt" || gemem-sim convert "$GEMEM_SRCDIR/traces/recorded/$1.gmt" "$1.txt"
  rm -f live.gmt
  env GEMEM_DEVICE="sim:address=$3" GEMEM_ALLOCATOR="$2" GEMEM_RECORD=live.gmt \
    "$python" requests.py "$library" "$1.txt" 2>live.err
  gemem-sim replay live.gmt -d sim:address=recorded >replayed 2>&1
  check "$1 through $2, address=$3: $(grep '^reproduces' replayed)" grep -q '^reproduces the recording exactly' replayed
}

exactly resnet50-train ge-expandable cuda              # one further range, in the hole of the first arena
exactly resnet50-train ge-expandable bump
exactly gpt2-train ge-expandable cuda                  # fifteen, some in the rest of another one's last 32 MiB
exactly gpt2-train ge-expandable random,capacity=20GiB
exactly resnet50-train paddle-vmm-auto-growth cuda
exactly resnet50-train pytorch-caching:expandable_segments=yes cuda
done_testing
