#!/bin/sh
# long-pinned.sh - `pytorch-pinned` beside PyTorch's own cache of pinned host memory, which runs without a GPU: random sequences, every block that is used again, and
# the statistics that both have.  $GEMEM_TORCH_2_6, $GEMEM_TORCH_2_11, $GEMEM_TORCH_2_15: a Python with that PyTorch, each in an environment
# of its own (python3 -m venv V; V/bin/pip install --no-deps torch==2.6.0, and what it imports): NVIDIA's packages are not needed.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cat >sequence.py <<'PY'
import random, sys
choose, live, last = random.Random(int(sys.argv[1])), [], 0
operations, events = [], ["# gemem-trace: 1"]
for _ in range(3000):
    draw = choose.random()
    if draw < 0.55 or not live:
        last += 1
        size = choose.choice([choose.randint(1, 4000), choose.randint(1, 3 << 20), choose.randint(1, 40 << 20)])
        operations.append("+%d:%d" % (last, size)); events.append("alloc %d size=%d device=host" % (last, size)); live.append(last)
    elif draw < 0.97:
        which = live.pop(choose.randrange(len(live)))
        operations.append("-%d" % which); events.append("free %d device=host" % which)
    else:
        operations.append("E"); events.append("trim device=host")
events.append("# end: %d" % (len(events) - 1))
open("operations", "w").write(" ".join(operations)); open("trace.txt", "w").write("\n".join(events) + "\n")
PY
cat >real.py <<'PY'
import torch
torch.zeros(1, device="cuda")
live = {}
for operation in open("operations").read().split():
    if operation[0] == "+":
        name, size = operation[1:].split(":")
        live[name] = torch.empty(int(size), dtype=torch.uint8, pin_memory=True)
        print(live[name].data_ptr())
    elif operation[0] == "-":
        del live[operation[1:]]
    else:
        torch._C._host_emptyCache()
if hasattr(torch.cuda, "host_memory_stats"):
    stats = torch.cuda.host_memory_stats()
    print(*("%s=%d" % (name, stats[name]) for name in ("allocated_bytes.current", "allocated_bytes.peak", "num_host_alloc", "num_host_free")))
PY
cat >same.py <<'PY'
# gemem's addresses are never used again by the device, so that one that comes again is a block of the cache: then PyTorch's must come again too.
import csv, json
lines = open("real").read().split("\n")
real = [line for line in lines if line.isdigit()]
ours = [row["address"] for row in csv.DictReader(open("events.csv")) if row["kind"] == "alloc"]
assert len(real) == len(ours) > 1000, (len(real), len(ours))
pairs, again = {}, 0
for number, (theirs, address) in enumerate(zip(real, ours)):
    if address in pairs:
        again += 1
        assert pairs[address] == theirs, "request %d: another block" % number
    pairs[address] = theirs
stats = json.load(open("r.json"))["results"][0]["stats"]
for line in lines:
    for name, value in (pair.split("=") for pair in line.split() if "=" in pair):
        assert stats[name] == int(value), (name, stats[name], value)
print("%d requests, %d blocks used again" % (len(real), again))
PY

# beside PYTHON SEED SETTINGS: the same sequence through both
beside () {
  python3 sequence.py "$2"
  # nothing of another environment: packages and libraries of mixed releases end a wheel by a signal
  PYTHONNOUSERSITE=1 PYTHONPATH='' LD_LIBRARY_PATH='' PYTORCH_CUDA_ALLOC_CONF=$(echo "$3" | tr = :) run 0 gemem-dry-run --once -o x.gmt "$1" real.py; cp "$out" real
  run 0 gemem-sim replay trace.txt --trace-device=host -a "pytorch-pinned${3:+:$3}" -d sim:capacity=64GiB,address=bump --events events.csv -o r.json
  check "seed $2 ${3:-by default}: the same blocks and statistics" python3 same.py
}
for torch in "${GEMEM_TORCH_2_6:-}" "${GEMEM_TORCH_2_11:-}" "${GEMEM_TORCH_2_15:-}"; do
  [ -n "$torch" ] || { skip "a PyTorch" "\$GEMEM_TORCH_2_6, \$GEMEM_TORCH_2_11 or \$GEMEM_TORCH_2_15 is not set"; continue; }
  for seed in 1 2; do beside "$torch" $seed ''; done
done
[ -z "${GEMEM_TORCH_2_11:-}" ] || beside "$GEMEM_TORCH_2_11" 3 pinned_reserve_segment_size_mb=64
if [ -n "${GEMEM_TORCH_2_15:-}" ]; then
  beside "$GEMEM_TORCH_2_15" 4 pinned_max_round_threshold_mb=1
  beside "$GEMEM_TORCH_2_15" 5 pinned_max_cached_size_mb=4,pinned_max_round_threshold_mb=2
fi
done_testing
