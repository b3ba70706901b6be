"""dry-advice-programs.py - programs as people have them, out of memory: does the line that gemem-sim gives help the real PyTorch?

Runs under `gemem-dry-run --once env -u GEMEM_DRY_SNAPSHOTS PYTHON dry-advice-programs.py`, as dry-advice.py does, whose programs are random.  Each program runs first with plenty, which tells what it needs;
then on a device of nine tenths of that, and on one between what is in use at most and what is reserved.  Where it is refused memory there, each line of the answer is pasted, and the program run again.

  false fits   it is said to fit, and a request was refused
  false line   with a line, replayed exactly from the beginning, the program comes no further

The last line is the counts as JSON.
"""
import collections
import json
import os
import subprocess
import tempfile

import torch
from torch import nn
from torch.nn import functional

MIB = 1 << 20
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "GEMEM_DR"))}


class Layer(nn.Module):
    def __init__(self, width, heads=8):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.mix, self.out, self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.mix(self.norms[0](x)).split(width, 2))
        weights = functional.softmax(q @ k.transpose(-1, -2), -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class Model(nn.Module):
    def __init__(self, width=512, layers=6, words=8000, saves=False):
        super().__init__()
        self.first, self.layers, self.last, self.saves = nn.Embedding(words, width), nn.ModuleList(Layer(width) for _ in range(layers)), nn.Linear(width, words, bias=False), saves
        self.to("cuda")

    def forward(self, words):
        x = self.first(words)
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False) if self.saves else layer(x)
        return self.last(x)


def words(batch, length):
    return torch.zeros(batch, length, dtype=torch.long, device="cuda")


def loss(model, x):
    return functional.cross_entropy(model(x).flatten(0, 1), x.flatten())


def train(shapes, make=torch.optim.AdamW, every=1, **model):
    model = Model(**model)
    optimizer = make(model.parameters(), lr=0.1)
    for step, shape in enumerate(shapes):
        (loss(model, words(*shape)) / every).backward()
        if step % every == every - 1:
            optimizer.step()
            optimizer.zero_grad()


def two_models():
    teacher, model = Model(768, 8), Model()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        x = words(8, 200)
        with torch.no_grad():
            y = teacher(x)
        functional.kl_div(functional.log_softmax(model(x), -1), functional.softmax(y, -1), reduction="batchmean").backward()
        optimizer.step()
        optimizer.zero_grad()


def cache_of_keys():
    caches = [torch.zeros(16, 8, 1, 64, device="cuda") for _ in range(8)]
    for _ in range(200):
        caches = [torch.cat([cache, torch.zeros(16, 8, 1, 64, device="cuda")], 2) for cache in caches]


def in_streams():
    model, streams = nn.Linear(2048, 2048).to("cuda"), [torch.cuda.Stream() for _ in range(4)]
    for step in range(12):
        with torch.cuda.stream(streams[step % 4]), torch.no_grad():
            y = model(torch.zeros(4096 + 512 * step, 2048, device="cuda"))
            y.record_stream(torch.cuda.default_stream())
        (y * 2).sum(0)


def outputs_kept():
    model, kept = Model(), []
    for _ in range(8):
        kept.append(model(words(4, 256)))


PROGRAMS = {
    "training": lambda: train([(8, 256)] * 4),
    "lengths": lambda: train([(8, length) for length in (64, 128, 96, 200, 160, 256, 224, 320, 300, 384)], torch.optim.SGD),
    "accumulation": lambda: train([(4, 128 + 16 * (step % 5)) for step in range(12)], every=4),
    "checkpoints": lambda: train([(16, 256)] * 3, layers=12, saves=True),
    "first step": lambda: train([(1, 32)], width=1024, layers=8),
    "two models": two_models,
    "cache of keys": cache_of_keys,
    "streams": in_streams,
    "outputs kept": outputs_kept,
}


def run(name, capacity, conf, snapshot):
    os.environ["GEMEM_DRIVER"], os.environ["PYTORCH_CUDA_ALLOC_CONF"] = f"sim:capacity={capacity}", conf
    refused = False
    if snapshot:
        torch.cuda.memory._record_memory_history()
    try:
        PROGRAMS[name]()
    except torch.OutOfMemoryError:
        refused = True
    told, (free, total) = torch.cuda.memory_stats(), torch.cuda.mem_get_info()
    if snapshot:
        torch.cuda.memory._dump_snapshot(snapshot)
    return {"refused": refused, "reached": told["allocation.all.allocated"], "live": told["allocated_bytes.all.peak"], "reserved": told["reserved_bytes.all.peak"],
            "others": total - free - told["reserved_bytes.all.current"]}


def child(*what):
    """What run() returns, by a process of its own; None: another error ended it, as cuBLAS without memory."""
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            os.write(write, json.dumps(run(*what)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        told = stream.read()
    os.wait()
    return json.loads(told) if told else None


counts = collections.Counter()
with tempfile.TemporaryDirectory() as folder:
    snapshot = os.path.join(folder, "snapshot.pickle")
    for name in PROGRAMS:
        whole = child(name, 64 << 30, "", None)
        for part in (whole["live"] * 9 // 10, (whole["live"] + whole["reserved"]) // 2):
            capacity = (part + whole["others"]) >> 16 << 16
            first = child(name, capacity, "", snapshot)
            if first is None:
                continue
            answer = json.loads(subprocess.run(["gemem-sim", snapshot, "-f", "json", "-q"], env=PLAIN, capture_output=True, text=True).stdout)[0]
            counts["programs"] += 1
            counts["refused"] += first["refused"]
            counts["false fits"] += first["refused"] and answer["verdict"] == "fits"
            for line in answer["lines"] if first["refused"] else []:
                again = child(name, capacity, line["paste"].split("=", 1)[1].strip("'"), None)
                helped = again is not None and (not again["refused"] or again["reached"] > first["reached"])
                counts["ended by another error" if again is None else "line" if helped else "false line"] += 1
                if again is not None and not helped:
                    print(f"# {name} on {capacity}: {line['paste']}", flush=True)
print(json.dumps(counts), flush=True)
