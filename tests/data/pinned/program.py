#!/usr/bin/env python3
"""program.py SEED BEFORE STEPS ENTRIES OUT - the program whose snapshots lie in this folder; run by make-samples.

Random requests of pinned host memory, blocks that a stream uses, and emptied caches; the last STEPS of them are recorded, at most
ENTRIES events, with those of the GPU unless ENTRIES is negative.  What a program's first call would do
(torch.cuda.memory._record_memory_history (record_pinned_host_memory=True)) is done without the wrapper, which gemem-dry-run replaces.
"""
import random, sys

import torch

seed, before, steps, entries = map(int, sys.argv[1:5])
choose, live, stream = random.Random(seed), [], torch.cuda.Stream()


def step():
    draw = choose.random()
    if draw < 0.5 or not live:
        size = choose.choice([choose.randint(1, 4000), choose.randint(1, 3 << 20), choose.randint(1, 40 << 20)])
        live.append(torch.empty(size, dtype=torch.uint8, pin_memory=True))
    elif draw < 0.9:
        live.pop(choose.randrange(len(live)))
    elif draw < 0.97:
        with torch.cuda.stream(stream):
            live[-1][:10].to("cuda", non_blocking=True)
    else:
        torch._C._host_emptyCache()


torch.zeros(4, device="cuda")
for _ in range(before):
    step()
torch._C._cuda_record_memory_history(None, "all", "python", 1, False, False, False, [], False, True)
torch._C._cuda_record_memory_history("all", "all", "python", abs(entries), True, False, False, [], True, entries > 0)
for _ in range(steps):
    step()
torch.cuda.memory._dump_snapshot(sys.argv[5])
