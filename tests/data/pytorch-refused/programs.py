#!/usr/bin/env python3
"""programs.py PROGRAM [OUT [MIB]] - programs that run out of memory, each in a way that its snapshot alone does not tell in words.

make-samples writes the snapshots of this folder.  With MIB a program runs on a device of so many mebibytes and says whether it ended, which is how the figures of
tests/cli/test-cli-refused-programs.sh were found: what PyTorch 2.11 does on a device that large.
"""
import sys

import torch

M = torch.cuda.memory
MIB = 1 << 20


def take(mib):
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def record(**kind):
    if OUT:
        M._record_memory_history(**kind)


def pages():
    """Expandable segments: 44 MiB are free and 15 at the end of the range, and the request of 58 MiB takes three pages of 20."""
    record()
    kept = []
    for i in range(49):
        x = take(10 + i)
        del x
        kept.append(take((10 + i) * 0.6))


def part():
    """The program may take half of the device, as nothing in the snapshot says."""
    torch.cuda.set_per_process_memory_fraction(0.5)
    record()
    kept = []
    for i in range(60):
        x = take(10 + i)
        del x
        kept.append(take((10 + i) * 0.6))


def in_pool():
    """A request in a pool releases nothing of the default pool's cache."""
    record()
    x = take(200)
    del x
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        take(320)


def beside_pool():
    """A request in a pool gets nothing of the default pool's free 100 MiB."""
    record()
    x = take(400)
    del x
    y = take(300)
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        z = take(5)
        take(90)


def gone_pool():
    """What was freed in a pool served nothing outside; the pool went with the function, and the snapshot of 2.11 does not name it."""
    record()
    pool, kept = torch.cuda.MemPool(), []
    with torch.cuda.use_mem_pool(pool):
        kept += [take(10 + i) for i in range(8)]
    kept = kept[::2]
    for i in range(12):
        kept.append(take(9 + i))


def released():
    """Without call stacks: the cache of 280 MiB was released because the device refused 290, not by the program.  On a larger one it stays, and serves 100 but not 190."""
    record(context=None)
    x = take(280)
    del x
    y, z = take(290), take(100)
    take(190)


def full():
    """The device is full to the byte."""
    record()
    x = take(200)
    del x
    kept = [take(150), take(312)]
    take(64)


def middle():
    """History begins after 400 MiB were used and freed."""
    x = take(400)
    del x
    record()
    y = take(24)


def ring():
    """The history holds the last 30 entries: what the settings of then cost before is not in it."""
    record(max_entries=30, context=None)
    KEPT.append([])
    for i in range(100):
        x = [take(37) for _ in range(3)]
        KEPT[0].append(take(11))
        del x


KEPT = []  # until the snapshot is written
PROGRAM, OUT = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] != "-" else None
status = "ends"
try:
    globals()[PROGRAM]()
except torch.OutOfMemoryError:
    status = "out of memory"
if OUT:
    M._dump_snapshot(OUT)
print(PROGRAM, status, flush=True)
