#!/bin/sh
# long-dry-late.sh - PyTorch's blocks that several streams use, where the GPU is late: what is refused then, what is needed (../shared/cases/threads/F15).
#   GEMEM_TORCH_2_11   the Python of an environment that has PyTorch 2.11, a CUDA build
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
shared cases/threads || { skip 'late' "there are none in $GEMEM_SHARED"; done_testing; }
[ -n "${GEMEM_TORCH_2_11:-}" ] || { skip 'late' "\$GEMEM_TORCH_2_11 is not set"; done_testing; }
cases=$GEMEM_SHARED/cases/threads/F15-stream-latency-recordings

run 0 gemem-dry-run --capacity 9GiB "$GEMEM_TORCH_2_11" "$cases/pending.py"; says out '^served 0$'; says err '^  h100 +fits only if'
says err "^ +- the GPU is done with what other streams use .*: where it is done only when the host waits, a request of 6\.000 GiB is refused, .*pending\.py:8 "
run 3 gemem-sim out.gmt --capacity 15GiB; says out 'It cannot be told whether it fits'
run 0 gemem-dry-run --details --gpu a100-40 --gpus 8 --rank 0 --world 8 --json late.json "$GEMEM_TORCH_2_11" "$cases/f.py"
says err '^ +up to [0-9.]+ GiB \([0-9]+ bytes\) where the GPU is late'; says err '^  streams +.*libc10_cuda\.so'
check "the ends are more than 1 GiB apart" sh -c "python3 -c 'import json; v = json.load(open(\"late.json\")); assert v[\"needed_most\"] > v[\"needed\"] + (1 << 30)'"

# nobody asks: one stream, copies from pinned memory that the host waits for
cat >one.py <<'EOF'
import torch

x = torch.randn(64, 64).pin_memory().cuda(non_blocking=True)
for _ in range(3):
    (x @ x).sum().item()
EOF
run 0 gemem-dry-run "$GEMEM_TORCH_2_11" one.py; says err '^  h100 +fits: '; check "no further run" sh -c "! grep -q 'the GPU is late' $err"
done_testing
