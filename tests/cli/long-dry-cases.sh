#!/bin/sh
# long-dry-cases.sh - dry runs of the programs of ../shared/cases/threads: the part of a GPU that a program allows itself, pinned host memory, idle memory of streams.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
cases=$GEMEM_SHARED/cases/threads
shared cases/threads || { skip 'cases' "there are none in $GEMEM_SHARED"; done_testing; }
[ -n "${GEMEM_TORCH_2_11:-}" ] || { skip 'cases' 'no PyTorch: set GEMEM_TORCH_2_11 to a Python that has PyTorch 2.11'; done_testing; }

# F01: what the program says of itself is what the verdict says
export PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.3
run 0 gemem-dry-run --capacity 16GiB --once -o gc.gmt "$GEMEM_TORCH_2_11" "$cases/F01-fraction-verdict/gc.py" 0.99; cp "$err" gc.txt; says out '6520'; says err '6\.367 GiB'; lacks err '15\.9[0-9] GiB'
unset PYTORCH_CUDA_ALLOC_CONF
run 0 gemem-dry-run --capacity 24GiB --once "$GEMEM_TORCH_2_11" "$cases/F01-fraction-verdict/f.py"; says out '13107200000'; says err '12\.21 GiB'; lacks err '16\.1[0-9] GiB'
# F05: PyTorch rounds pinned memory up to powers of two
run 0 gemem-dry-run --details --gpu a100-40 --once -o pinned.gmt "$GEMEM_TORCH_2_11" "$cases/F05-pinned-host/pin2.py"; says err 'pinned.* 256\.0 MiB'
run 0 gemem-sim pinned.gmt; says out "^Not counted: the host's pinned memory, of which 1 event was recorded:"; says out '^It fits: it needs 2\.000 MiB of 39\.38 GiB'
run 3 gemem-sim pinned.gmt --trace-device=host; says out '^pinned\.gmt: native, pytorch-pinned'; says out "^It needs 256\.0 MiB of the host's memory"; lacks out '39\.38'
# F06: memory that 30 other streams keep
run 0 gemem-dry-run --gpu h100 --once -o streams.gmt "$GEMEM_TORCH_2_11" "$cases/F06-idle-memory-unexplained/s.py"
run 0 gemem-sim replay streams.gmt; says out '30\.00 GiB  free in the caches of 30 other streams'
done_testing
