"""dry-advice.py FIRST LAST - is an advice true when the real PyTorch takes it literally?

Runs under `gemem-dry-run --once env -u GEMEM_DRY_SNAPSHOTS PYTHON dry-advice.py FIRST LAST`.  Each seed from FIRST to LAST makes a program: a random mixture of sizes, lifetimes, streams, pools,
settings, requests that are refused and caught, and ways to record and dump.  It runs on the stand-in driver, and what gemem-sim says of its snapshot is compared with what the same program does
there on the same device with the line, and on devices of other sizes.  A program ends where the recording does.

  false green   it is said to fit, or to fit with a line, and a request is refused
  false red     it is said not to fit, or to need a larger device, and no request is refused

Counted are also lines that only may help: those of a recording that begins in the middle.  PyTorch is imported once; every run is a child of fork(), as the driver begins with the first call.
The last line is the counts as JSON.
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

import torch

MIB = 1 << 20
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "GEMEM_DR"))}  # gemem-sim itself does not run dry
CONFS = [""] * 6 + ["expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:4", "large_segment_size_mb:64", "max_split_size_mb:32,roundup_power2_divisions:8"]


def make(seed):
    """The program of a seed: its device, settings, how it is recorded, and its operations."""
    r = random.Random(seed)
    program = {
        "capacity": r.choice([256, 400, 512, 700, 1000, 1024, 2000]) * MIB + r.choice([0, 0, 0, 4096 * 17, MIB]),
        "conf": r.choice(CONFS),
        "history": r.choice([{}, {}, {"stacks": "all"}, {"context": None}, {"context": "alloc"}, {"context": "state"}]),
        "begins": r.choice([0, 0, 0, 20]),
        "dump": r.choice(["except", "observer", "freed"]),
        "part": r.choice([None] * 7 + [0.5]),
    }
    streams, pools, tries = r.choice([1, 1, 1, 2, 3]), r.choice([0, 0, 0, 1, 2]), r.random() < 0.2
    kind = r.choice(["grows", "mixed", "mixed", "small", "large", "steps"])
    operations, alive, number = [], [], 0

    def size():
        if kind == "small" or r.random() < 0.2:
            return r.randint(1, 2 * MIB)
        if kind == "large":
            return r.randint(5 * MIB, 120 * MIB)
        if kind == "grows":
            return int((5 + number * 0.7) * MIB) + r.randint(0, MIB)
        if kind == "steps":
            return r.choice([3, 7, 12, 25, 40, 64]) * MIB
        return r.choice([r.randint(1, MIB), r.randint(MIB, 10 * MIB), r.randint(10 * MIB, 60 * MIB), 20 * MIB, 2 * MIB])

    for _ in range(500):
        x = r.random()
        if x < 0.57 or not alive:
            stream, pool = r.randrange(streams), r.randrange(pools) + 1 if pools and r.random() < 0.3 else 0
            operations.append(("take", number, size(), stream, pool))
            if streams > 1 and r.random() < 0.15:
                operations.append(("use", number, r.randrange(streams)))
            alive.append(number)
            number += 1
        elif x < 0.95:
            operations.append(("drop", alive.pop(r.randrange(len(alive)) if r.random() < 0.5 else -1)))
        elif x < 0.96:
            operations.append(("empty",))
        elif tries and x < 0.98:
            operations.append(("try", r.randint(50 * MIB, 900 * MIB)))
        else:
            operations.append(("wait",))
    program["operations"] = operations
    return program


def run(program, capacity, conf, last, snapshot):
    """(whether a request was refused, the last operation)."""
    os.environ["GEMEM_DRIVER"] = f"sim:capacity={capacity}"
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = conf
    memory, alive, streams, pools = torch.cuda.memory, {}, {}, {}
    if program["part"]:
        torch.cuda.set_per_process_memory_fraction(program["part"])
    if snapshot and program["dump"] == "observer":
        torch.cuda.init()
        torch._C._cuda_attach_out_of_memory_observer(lambda *told: memory._dump_snapshot(snapshot))

    def stream(number):
        if number and number not in streams:
            streams[number] = torch.cuda.Stream()
        return streams[number] if number else torch.cuda.default_stream()

    def take(size, number=0, pool=0):
        with torch.cuda.stream(stream(number)):
            if not pool:
                return torch.empty(size, dtype=torch.uint8, device="cuda")
            if pool not in pools:
                pools[pool] = torch.cuda.MemPool()
            with torch.cuda.use_mem_pool(pools[pool]):
                return torch.empty(size, dtype=torch.uint8, device="cuda")

    refused, at = False, 0
    try:
        for at, (what, *words) in enumerate(program["operations"][: last + 1]):
            if snapshot and at == program["begins"]:
                memory._record_memory_history(**program["history"])
            if what == "take":
                alive[words[0]] = take(*words[1:])
            elif what == "use" and words[0] in alive:
                alive[words[0]].record_stream(stream(words[1]))
            elif what == "drop":
                alive.pop(words[0], None)
            elif what == "empty":
                torch.cuda.empty_cache()
            elif what == "wait":
                torch.cuda.synchronize()
            elif what == "try":
                try:
                    take(words[0])
                except torch.OutOfMemoryError:
                    refused = True
    except torch.OutOfMemoryError:
        refused = True
    if snapshot:
        if program["dump"] == "freed":
            alive.clear()
            torch.cuda.empty_cache()
        if program["dump"] != "observer" or not os.path.exists(snapshot):
            memory._dump_snapshot(snapshot)
    return refused, at


def child(*words):
    """What run() returns, by a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, json.dumps(run(*words)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        told = stream.read()
    os.waitpid(pid, 0)
    return json.loads(told)


def ask(snapshot, *words):
    told = subprocess.run(["gemem-sim", snapshot, "-f", "json", "-q", *words], env=PLAIN, capture_output=True, text=True)
    if told.returncode not in (0, 3, 4):
        raise RuntimeError(told.stderr)
    return json.loads(told.stdout)[0]


counts = collections.Counter()


def count(kind, seed, program, text):
    counts[kind] += 1
    if kind.startswith("false"):
        print(f"# seed {seed}: {kind}: {text}; {[program[key] for key in program if key != 'operations']}", flush=True)


def check(seed, snapshot):
    program = make(seed)
    capacity, conf = program["capacity"], program["conf"]
    refused, last = child(program, capacity, conf, len(program["operations"]), snapshot)
    said = ask(snapshot)
    # A recording that begins late, and an emptied cache that held nothing, which no snapshot tells of, leave open what other settings do.  So does the pool of a request that failed, or of
    # a segment that is gone, for whether it is refused on a larger device.
    done = program["operations"][: last + 1]
    whole, exact = program["begins"] == 0 and ("empty",) not in done, not any(words[0] == "take" and words[4] for words in done)

    def truth(size, conf):
        return child(program, size, conf, last, None)[0]

    def compare(said, size):
        if said["verdict"] == "fits":
            count("false green" if truth(size, conf) and whole else "green", seed, program, f"fits {size}")
        elif said["verdict"] == "does-not-fit":
            count("red" if truth(size, conf) or not (whole and exact) else "false red", seed, program, f"does not fit {size}")
        else:
            count("not told", seed, program, "")

    if said["verdict"] != "unknown":
        compare(said, capacity)
    counts["programs"] += 1
    counts["refused"] += refused
    if refused and said["verdict"] == "does-not-fit":
        for line in said["lines"]:
            pasted = line["paste"].split("=", 1)[1].strip("'")
            bad = truth(capacity, pasted)
            kind = "line" if not bad else "false green" if whole and not program["part"] else "line of a part that did not help"
            count(kind, seed, program, f"{line['paste']} on {capacity}")
    if program["part"] or not said["needed_bytes"]:
        return
    need = said["needed_bytes"]
    if truth(need, conf) and whole and (exact or program["history"].get("context", "") is not None):
        count("false green", seed, program, f"needs {need}")
    for size in (need - 2 * MIB, need, need + need // 50):
        compare(ask(snapshot, "-d", f"sim:capacity={size}"), size)


with tempfile.TemporaryDirectory() as folder:
    for seed in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
        check(seed, os.path.join(folder, f"{seed}.pickle"))
print(json.dumps(counts), flush=True)
