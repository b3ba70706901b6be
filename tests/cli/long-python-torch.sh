#!/bin/sh
# long-python-torch.sh - gemem.record() around the steps of a real PyTorch, without a GPU (gemem-dry-run), and what is asked of the recording.
#   GEMEM_TORCH_2_11   the Python of an environment that has PyTorch 2.11, a CUDA build
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
[ -n "${GEMEM_TORCH_2_11:-}" ] || { skip 'gemem.record()' "\$GEMEM_TORCH_2_11 names no Python"; done_testing; exit; }
PYTHONPATH=$GEMEM_SRCDIR/python PYTHONDONTWRITEBYTECODE=1; export PYTHONPATH PYTHONDONTWRITEBYTECODE
cat >steps.py <<'END'
import gemem, torch
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.Adam(model.parameters())
with gemem.record("steps.gmt") as recording:
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(256, 1024, device="cuda")).sum().backward()
        optimizer.step()
    snapshot = torch.cuda.memory._snapshot()
facts = gemem.info(recording)[0]
assert facts["events"] > 100 and facts["peak_live"] > 64 << 20, facts
assert gemem.info(snapshot)[0]["peak_live"] == facts["peak_live"]
assert gemem.advise(recording, capacity="40GiB").verdict == "fits"
assert gemem.compare(recording, allocator="pytorch-caching")[0]["peak_reserved"] == facts["peak_reserved_recorded"]
print("peak reserved", facts["peak_reserved_recorded"])
END
run 0 gemem-dry-run --gpu h100 "$GEMEM_TORCH_2_11" steps.py
says out '^peak reserved [0-9]+$'
done_testing
