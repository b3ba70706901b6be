#!/bin/sh
# long-dry-run.sh - gemem-dry-run under real PyTorch wheels: a product and its workspace, values that are read, every way to end, out of memory, time and
# memory of the host.
#   GEMEM_TORCH   the Pythons, separated by blanks, of environments with a CUDA build of PyTorch; its packages of NVIDIA are not needed
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
GEMEM_DRY_STAND_INS=1; export GEMEM_DRY_STAND_INS # the figures here are those without NVIDIA's packages
GEMEM_DRY_ZEROS=1; export GEMEM_DRY_ZEROS # and those of values that are not known: long-dry-known.sh has the others
[ -n "${GEMEM_TORCH:-}" ] || { skip "PyTorch" "\$GEMEM_TORCH names no Python"; done_testing; }
cat >product.py <<'PY'
import torch
x = torch.randn(1024, 1024, device="cuda")
print((x @ x).sum())
PY
cat >sizes.py <<'PY'
import torch
x = torch.randn(1000, device="cuda")
def count(): return int((x > 0).sum().item())
for i in range(3): n = count()
print(len(torch.zeros(n + 1, device="cuda")))
PY
cat >masks.py <<'PY'
import torch
x = torch.randn(1000, device="cuda", requires_grad=True)
x[x > 0].sum().backward()
print(len(x[x > 0]), "of", len(x))
PY
# An error of Python that ends a function inside of an operator: what is recorded must not hide it.
cat >checkpoint.py <<'PY'
import torch
from torch.utils.checkpoint import checkpoint
def layer(x, a, b): return x @ a + x @ b
x, a, b = (torch.randn(64, 64, device="cuda", requires_grad=True) for _ in range(3))
checkpoint(layer, x, a, b, use_reentrant=False).sum().backward()
PY
cat >many.py <<'PY'
import torch
x = torch.empty(1 << 18, device="cuda")
for i in range(20): y = torch.empty(1 << 18, device="cuda"); del y
PY
# A growing batch, of which a part stays: the rest of its segment serves no larger one. By hand, in MiB: reserved are 10n + ... + 19n; with expandable segments
# six tenths of all but the last, and that.
cat >growing.py <<'PY'
import sys, torch
kept = []
for step in range(10):
    size = int(sys.argv[1]) * (1 << 20) * (10 + step)
    x = torch.empty(size, dtype=torch.uint8, device="cuda"); del x
    kept.append(torch.empty(size // 10 * 6, dtype=torch.uint8, device="cuda"))
print("noise")
PY
# What waits for a value; and generate() of the package transformers, of which this has what matters: criteria, and a loop that asks the device.
cat >wait.py <<'PY'
import torch
x, rounds = torch.ones(1, device="cuda"), 0
while not bool(x[0] > 0): rounds += 1
print(rounds)
PY
mkdir -p transformers/generation && touch transformers/__init__.py transformers/generation/__init__.py
cat >transformers/generation/stopping_criteria.py <<'PY'
import torch
class MaxLengthCriteria:
    def __init__(self, max_length): self.max_length = max_length
    def __call__(self, input_ids, scores): return torch.full((input_ids.shape[0],), input_ids.shape[-1] >= self.max_length, device=input_ids.device)
class StoppingCriteriaList(list):
    def __call__(self, input_ids, scores): return torch.stack([one(input_ids, scores) for one in self]).any(dim=0)
PY
cat >transformers/generation/utils.py <<'PY'
import torch
from .stopping_criteria import MaxLengthCriteria, StoppingCriteriaList
def generate(ids, length):
    done, criteria = False, StoppingCriteriaList([MaxLengthCriteria(length)])
    while not done:
        ids = torch.cat([ids, ids[:, -1:]], dim=1)
        done = bool(criteria(ids, None).all())
    return ids
class GenerationMixin:
    def _beam_search_has_unfinished_sequences(self, done): return (done.float().digamma() > 0).all()
    def _beam_search(self, ids, length):
        done, criteria, steps = False, StoppingCriteriaList([MaxLengthCriteria(length)]), 0
        while not done:
            ids, steps = torch.cat([ids, ids[:, -1:]], dim=1), steps + 1
            done = not self._beam_search_has_unfinished_sequences(criteria(ids, None))
        return ids[:, : (ids.float().digamma() > 0).sum(dim=1).max()], steps
PY
cat >generation.py <<'PY'
import torch, transformers.generation.utils as utils
print(*utils.generate(torch.ones(2, 3, device="cuda", dtype=torch.long), 12).shape)
ids, steps = utils.GenerationMixin()._beam_search(torch.ones(2, 3, device="cuda", dtype=torch.long), 9)
print("beams", steps, *ids.shape)
PY
cat >end.py <<'PY'
import os, signal, sys, torch
x = torch.empty(1 << 20, device="cuda")
torch.cuda.memory._record_memory_history()
torch.cuda.memory._record_memory_history(enabled=None)
y = torch.empty(1 << 20, device="cuda")
if sys.argv[1] == "full":
    z = torch.empty(1 << 40, device="cuda")
if sys.argv[1] == "mine":
    torch.cuda.memory._dump_snapshot("mine.pickle")
elif sys.argv[1] == "exit":
    os._exit(5)
else:
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    signal.pause()
PY
# What a run costs the host: processor time, which other load changes little, and the largest resident memory of a process, both several times below what
# would be noticed (doc/dry-run-programs.md has what was measured).
cat >cost.py <<'PY'
import os, subprocess, sys, time
begin = time.monotonic()
with open("cost.err", "w") as errors:
    child = subprocess.Popen(sys.argv[3:], stdout=errors, stderr=errors)
    _, status, used = os.wait4(child.pid, 0)
seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
print(f"exit status {os.waitstatus_to_exitcode(status)}, {time.monotonic() - begin:.2f} s, of the processor {seconds:.2f} s, {memory / 1e6:.0f} MB")
sys.exit(status != 0 or seconds > float(sys.argv[1]) or memory > float(sys.argv[2]) * 1e6)
PY
# costs NAME SECONDS MEGABYTES [--capacity SIZE] PYTHON PROGRAM...: no more than that
costs () {
  name=$1 seconds=$2 megabytes=$3; shift 3
  check "$name: less than $seconds s, $megabytes MB" python3 cost.py "$seconds" "$megabytes" gemem-dry-run --gpu a100-80 "$@"
  echo "# $name: $(cat "$GEMEM_TMP/.check")"
}
programs=$GEMEM_SRCDIR/tests/programs/dry
# The workspace of cuBLAS, by handle and stream: another on Hopper than before.
workspace () { check "a workspace of $1 bytes" sh -c "gemem-sim convert -q out.gmt out.txt && grep -q '^alloc .*size=$1 ' out.txt"; }

# What is read: real numbers and truth values; integers, alone and in lists, which index a list of ten.
cat >kinds.py <<'PY'
import torch
x, k = torch.randn(64, 10, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
loss = x.mean(); print(loss.item(), loss.half().item(), loss.double().tolist(), bool((k > 3).any()), x[0].tolist()[0])
ten = list(range(10))
print(ten[k[0].item()], ten[int(k.max())], ten[x[0].argmax()], ten[k.int().cpu()[0]], sum(k.tolist()), k[:3].short().tolist())
print(k)
PY

for python in $GEMEM_TORCH; do
  run 0 gemem-dry-run --gpu h100 "$python" product.py; says out '^tensor\(0\., device='; workspace 33554432
  run 0 gemem-dry-run --gpu a100-40 "$python" product.py; workspace 8519680
  check "nothing failed" sh -c "! grep -q 'not written' $err"
  run 0 gemem-dry-run --details "$python" sizes.py; says out '^1$'; says err '^  numbers +3 integers were read .*sizes\.py:3 count 3'; says err '^  h100 +fits only if'
  run 0 gemem-dry-run --value 'sizes.py:3 count=7' "$python" sizes.py; says out '^8$'
  run 0 gemem-dry-run --details "$python" kinds.py; says out '^0\.0 0\.0 0\.0 False 0\.0$'; says out '^0 0 0 0 0 \[0, 0, 0\]$'; says err '^  numbers +6 integers were read .*kinds\.py:5 <module> 6$'
  says err '^ +when they read 1, in a second run, the program asked for the same memory$'; check "real numbers are none" grep -Eq '^  values +[0-9]+ values .*kinds\.py:3 <module> 3' "$err"
  says err '^  truths +1 truth values were read .*kinds\.py:3 <module>$'; says err '^ +when they read true, in a second run, the program asked for no more memory$'
  run 0 gemem-dry-run --details --value 'kinds.py:5 =7' "$python" kinds.py; says out '^7 7 7 7 448 \[7, 7, 7\]$'; check "what was chosen is not tried" sh -c "! grep -q '^  numbers' $err"
  run 0 gemem-dry-run --details "$python" masks.py; says out '^0 of 1000'
  says err '^  h100 +fits only if'; says err '^ +- tensors are no larger whose sizes'; says err '^  sizes .*masks\.py:3 <module> \(nonzero\)'; says err 'a thread without Python \(nonzero\)'
  check "no error of ours" sh -c "! grep -q Traceback $err"
  run 0 gemem-dry-run --value 'masks\.py|without Python=500' "$python" masks.py; says out '^500 of 1000'
  run 0 gemem-dry-run "$python" checkpoint.py
  run 0 gemem-dry-run --capacity 6GiB --context 512MiB --fit 'N=30..64' --json fit.json -- "$python" growing.py N
  says err '^gemem-dry-run: N=38 is the largest of 30 to 64 that fits h100$'; says err '^gemem-dry-run: N=[0-9]* fits with export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True$'; lacks err noise
  check "what fits with the setting was run with it, and one more does not" jq -e '.largest_with_setting as $best | ($best.N | tonumber) as $n | $n > 50 and $best.fits and $best.trace == "'"$PWD"'/out.setting.N-\($n).gmt"
    and any(.runs[]; .N == "\($n + 1)" and (.trace | contains(".setting.")) and .fits == false)' fit.json
  run 0 gemem-dry-run --once --capacity 6GiB --context 512MiB --fit 'N=37..40' -- "$python" growing.py N; lacks err 'fits with'
  run 0 gemem-dry-run --value 'wait.py:3 =0*2500,1' "$python" wait.py; says out '^2500$'
  # A shell's background jobs ignore SIGINT, and so would what they start.
  run 124 env --default-signal=INT timeout -k 60 -s INT 30 gemem-dry-run "$python" wait.py; says err 'wait\.py:3 <module> has read 2000 values .* if it waits for another'
  run 0 gemem-dry-run "$python" generation.py; says out '^2 12$'; says out '^beams 6 2 9$'; says err '^  note +generate\(\) of transformers stops at its length'
  # private pools that are gone at the end, which PyTorch's history does not name before 2.12
  for name in deleted shared pool nested; do
    run 0 gemem-dry-run --json pools.json "$python" "$programs/private_pools.py" $name
    check "$name: every decision as PyTorch's" jq -e --argjson reserved "$(cat "$out")" '.processes[0] | .compared > 4 and .equal == .compared and .peak_reserved == $reserved' pools.json
  done
  # settings that change on the way: gemem decides as this PyTorch does, with what it has them at each request
  for kinds in split round both expand; do
    run 0 gemem-dry-run --json settings.json "$python" "$programs/settings.py" 1 $kinds
    check "$kinds: every decision as PyTorch's" jq -e --argjson reserved "$(cat "$out")" '.processes[0] | .compared > 300 and .equal == .compared and .peak_reserved == $reserved' settings.json
  done
  run 0 env GEMEM_DRY_HISTORY=10 gemem-dry-run "$python" many.py; says err '^  peak live +2\.000 MiB'; says err '^  note .*holds the last requests alone'
  for how in exit:5 mine:0 SIGTERM:143 full:1 SIGKILL:137; do
    run "${how#*:}" gemem-dry-run --details --json end.json "$python" end.py "${how%:*}"
    if [ "${how%:*}" = SIGKILL ]; then says err "requests of +CUDA's runtime and driver"; else says err '^  peak live +8\.000 MiB .*end\.py:5'; fi
    if [ "${how%:*}" = full ]; then says err 'DOES NOT FIT'; says err '^  out of memory +1 request was refused; of 4398046511104 bytes.*end\.py:7'; fi
  done
  run 0 gemem-sim info mine.pickle
  costs 'GPT-2 small' 15 500 "$python" "$programs/gpt2.py"
  costs '3.4 B parameters' 15 500 "$python" "$programs/llama.py" --layers 26 --width 3072 --inner 8192
  costs '8.0 B, made on the host in bf16' 15 500 "$python" "$programs/llama.py"
  costs '72 B, made on the device' 30 500 --capacity 700GiB "$python" "$programs/llama.py" --layers 80 --width 8192 --inner 28672 --where device
done
done_testing
