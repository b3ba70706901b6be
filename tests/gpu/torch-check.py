#!/usr/bin/env python3
"""torch-check.py LIBRARY - PyTorch on a GPU with the allocator that GEMEM_ALLOCATOR names: what it computes is right whatever lies in which memory, and
the optional hooks do what doc/pytorch.md says.  Prints a line for each point, exits with 1 if one fails.  Run by test-gpu-torch.sh."""
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "traces", "record"))
from live import use_gemem  # noqa: E402

failed = []


def point(name, good):
    print("fine" if good else "WRONG", name, flush=True)
    if not good:
        failed.append(name)


def training():
    """The same losses as on the CPU, more or less, and the same twice."""
    def losses(device):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
        inputs, targets = torch.randn(32, 64), torch.randint(8, (32,))
        model, inputs, targets = model.to(device), inputs.to(device), targets.to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        found = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return torch.tensor(found)
    point("training as on the CPU", torch.allclose(losses("cuda"), losses("cpu"), rtol=1e-2, atol=1e-2))


def streams():
    """A block that another stream still reads is given to nobody."""
    side, source, sums = torch.cuda.Stream(), torch.ones(1 << 20, device="cuda"), []
    for _ in range(50):
        block = source.clone()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(200000)
            sums.append(block.sum())
        block.record_stream(side)
        del block
        torch.full((1 << 20,), 7.0, device="cuda")
    torch.cuda.synchronize()
    point("record_stream is obeyed", all(one.item() == 1 << 20 for one in sums))


def graph():
    """What a CUDA graph computes is not disturbed by what is allocated between its launches."""
    weight, inputs = torch.randn(512, 512, device="cuda"), torch.randn(64, 512, device="cuda")

    def step():
        return torch.relu(inputs @ weight) @ weight
    wanted, captured = step(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(captured):
        got = step()
    good = True
    for _ in range(5):
        spoiled = [torch.full((64, 512), float("nan"), device="cuda") for _ in range(40)]
        del spoiled
        captured.replay()
        torch.cuda.synchronize()
        good = good and torch.allclose(got, wanted, rtol=1e-2, atol=1e-2)
    point("a CUDA graph keeps its memory", good)


def pool():
    try:
        mine = torch.cuda.MemPool()
    except (AttributeError, RuntimeError) as error:
        print("note: no MemPool:", str(error).split("\n", maxsplit=1)[0])
        return
    with torch.cuda.use_mem_pool(mine):
        inside = torch.full((1 << 20,), 3.0, device="cuda")
    outside = [torch.zeros(1 << 20, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()
    point("a MemPool", inside.sum().item() == 3 << 20 and all(one.sum().item() == 0 for one in outside))


def memory(library):
    count = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    live = library.gemem_torch_stat(0, b"live")
    del count
    before = library.gemem_torch_stat(0, b"reserved")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    point("live memory is counted", live >= 64 << 20)
    point("empty_cache takes nothing more", library.gemem_torch_stat(0, b"reserved") <= before)


def too_much():
    caught = ""
    try:
        torch.empty(1 << 46, dtype=torch.uint8, device="cuda")
    except (MemoryError, RuntimeError) as error:
        caught = type(error).__name__
    point("out of memory can be caught: " + caught, caught != "")
    point("it goes on after that", torch.ones(10, device="cuda").sum().item() == 10)


def main():
    library = use_gemem(sys.argv[1])
    for check in (training, streams, graph, pool):
        check()
    memory(library)
    too_much()
    print(torch.__version__, torch.cuda.get_device_name(), "%d failed" % len(failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
