#!/usr/bin/env python3
"""programs.py PROGRAM OUT [STACKS [CONTEXT]] - the programs whose snapshots lie in this folder; run by make-samples.

Each records itself and writes what torch.cuda.memory._snapshot() gives (or, `written-by-cpp`, what PyTorch's C++ writes).
PROGRAM is a function below, or random:SEED:STEPS.  STACKS: python, all.  CONTEXT: None, state, alloc, all.
"""
import ctypes, gc, glob, os, pickle, random, struct, sys

import torch

MIB = 1 << 20
GPU = torch.device("cuda", 0)
PROGRAM, OUT, STACKS, CONTEXT = (sys.argv[1:] + ["python", "all"])[:4] if len(sys.argv) == 3 else (sys.argv[1:] + ["all"])[:4]


def record(entries=10**6):
    torch.cuda.memory._record_memory_history(context=None if CONTEXT == "None" else CONTEXT, stacks=STACKS, max_entries=entries)


def take(size, device=GPU):
    return torch.empty(size, dtype=torch.uint8, device=device)


def fill(size):
    """All of the device, in pieces of `size`."""
    pieces = []
    try:
        while True:
            pieces.append(take(size))
    except torch.cuda.OutOfMemoryError:
        return pieces


def train(steps, batch=256, width=64):
    model = torch.nn.Sequential(*[m for _ in range(3) for m in (torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))]).to(GPU)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        if hasattr(torch.cuda.memory, "_set_memory_metadata"):
            torch.cuda.memory._set_memory_metadata(f"step {step}")
        with torch.profiler.record_function(f"## step {step} ##"):
            model(torch.randn(batch, width, device=GPU)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    return model


def empty_cache():
    record()
    train(2)
    torch.cuda.empty_cache()
    kept = train(1, 512)
    torch.cuda.empty_cache()
    train(1)


def empty_cache_without_its_name():
    record()
    train(2)
    torch._C._cuda_emptyCache()
    train(1, 512)


def from_the_middle():
    model = train(2)
    record()
    train(1)
    torch.cuda.empty_cache()
    train(2, 700)


def refused():
    """The device is full; half goes, larger pieces come: refused, given back, served.  And one that is never served."""
    record()
    pieces = fill(24 * MIB)
    count = len(pieces)
    del pieces[::2]
    del pieces[: count // 4]
    large = [take(50 * MIB) for _ in range(3)]
    small = [take(MIB // 2) for _ in range(9)]
    del large[1]
    more = [take(180 * MIB), take(5 * MIB)]
    try:
        take(100 << 30)
    except torch.cuda.OutOfMemoryError:
        pass
    rest = [take(3 * MIB) for _ in range(4)]


def streams():
    record()
    all_streams = [torch.cuda.Stream() for _ in range(3)]
    blocks = []
    for i in range(40):
        with torch.cuda.stream(all_streams[i % 3]):
            block = take((i * 7919 % 97 + 1) * 40000)
        blocks.append(block)
        if i % 4 == 1:
            block.record_stream(all_streams[(i + 1) % 3])
        if i % 3 == 2:
            del blocks[0]
        del block
    torch.cuda.empty_cache()
    blocks.append(take(12 * MIB))


def graph():
    record()
    first = take(3 * MIB)
    captured = torch.cuda.CUDAGraph()
    source = torch.zeros(1000, 1000, device=GPU)
    stream = torch.cuda.Stream()
    with torch.cuda.graph(captured, stream=stream):
        a = source + 1
        b = a * 2
        del a
        c = b + source
    between = take(30 * MIB)
    del b, c, captured
    gc.collect()
    torch.cuda.empty_cache()
    last = take(9 * MIB)


def mem_pool():
    record()
    first = take(3 * MIB)
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        a, b, c = take(5 * MIB), take(40 * MIB), take(1000)
        del b
        b = take(30 * MIB)
    cached = take(64 * MIB)
    del cached, a, b
    torch.cuda.empty_cache()
    again = take(40 * MIB)
    del c, pool
    gc.collect()
    last = [take(2 * MIB), take(5 * MIB)]


def expandable():
    record()
    train(2)
    blocks = [take(30 * MIB), take(7 * MIB)]
    del blocks[0]
    torch.cuda.empty_cache()
    blocks.append(take(90 * MIB))


def ring():
    record(500)
    train(4)
    torch.cuda.empty_cache()
    train(2)


def no_history():
    kept = train(2)
    globals()["kept"] = kept


def written_by_cpp():
    record()
    blocks = [torch.randn(1000, 1000, device=GPU) for _ in range(5)]
    del blocks[::2]
    torch.cuda.empty_cache()
    blocks.append(blocks[0] * 2)
    name = "_ZN5torch4cuda24_memory_snapshot_pickled"
    library = ctypes.CDLL(glob.glob(os.path.dirname(torch.__file__) + "/lib/libtorch_cuda.so")[0])
    new = hasattr(library, name + "B5cxx11Ev")
    function = getattr(library, name + ("B5cxx11Ev" if new else "Ev"))
    text = ctypes.create_string_buffer(64)
    function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_void_p
    function(ctypes.addressof(text))
    address, size = struct.unpack("QQ", text.raw[:16])
    if not new:
        size = struct.unpack("Q", ctypes.string_at(address - 24, 8))[0]
    open(OUT, "wb").write(ctypes.string_at(address, size))
    return True


def random_program(seed, steps):
    """Blocks of all sizes on several streams, record_stream, frees in any order, empty_cache, a device that is too small."""
    r = random.Random(seed)
    globals()["blocks"] = blocks = [take(r.randrange(1, 9 * MIB)) for _ in range(r.randrange(30))] if r.random() < 0.5 else []
    del blocks[::3]
    if "FRACTION" in os.environ:
        torch.cuda.set_per_process_memory_fraction(float(os.environ["FRACTION"]))
    record()
    lines = "\n".join(f"def line_{i}(n): return take(n)" for i in range(60))  # so that requests have stacks of their own
    exec(compile(lines, "lines.py", "exec"), globals())
    all_streams = [torch.cuda.default_stream()] + [torch.cuda.Stream() for _ in range(r.choice([0, 1, 3]))]

    def size():
        k = r.random()
        low, high = next(b for p, b in ((0.3, (1, 5000)), (0.5, (1, MIB)), (0.7, (MIB, 10 * MIB)), (0.95, (10 * MIB, 60 * MIB)), (1, (60 * MIB, 300 * MIB))) if k < p)
        return r.randrange(low, high)

    for _ in range(steps):
        k = r.random()
        if k < 0.55 or not blocks:
            n = size()
            try:
                with torch.cuda.stream(r.choice(all_streams)):
                    blocks.append(globals()[f"line_{n.bit_length() * 2 + (n & 1)}"](n))
            except torch.cuda.OutOfMemoryError:
                del blocks[::2]
        elif k < 0.62:
            r.choice(blocks).record_stream(r.choice(all_streams))
        elif k < 0.625:
            torch.cuda.empty_cache()
        else:
            del blocks[r.randrange(len(blocks))]


if PROGRAM.startswith("random:"):
    written = random_program(*map(int, PROGRAM.split(":")[1:]))
else:
    written = globals()[PROGRAM.replace("-", "_")]()
if not written:
    with open(OUT, "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file, protocol=int(os.environ.get("PROTOCOL", 4)))
