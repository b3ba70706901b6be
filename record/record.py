#!/usr/bin/env python3
"""record.py - records the memory events of a real PyTorch program, for `gemem-sim convert` and `gemem-sim replay`.

    record.py WORKLOAD OUTPUT [--steps N] [--batch N] [--length N] [--device cpu|cuda] [--seed N] [--memory BYTES] [--stacks]

On the CPU (the default) it records with torch.profiler (profile_memory=True) and OUTPUT is a Kineto trace (.json.gz) that holds the memory events
with the exact bytes requested.  On a GPU it records with torch.cuda.memory and OUTPUT is a snapshot (.pickle), which also knows the
segments.  The model is built inside the recording, so that the trace starts from an empty allocator.  --memory bounds what PyTorch may take of the
GPU, as torch.cuda.set_per_process_memory_fraction() does; a program that runs out of it is recorded up to there.  PYTORCH_CUDA_ALLOC_CONF is PyTorch's.
--stacks records who allocates: operators and lines of Python; OUTPUT is ten times as large then.

Needs PyTorch >= 2.1; nothing else.  gemem itself needs no Python.
"""
import argparse
import gzip
import json
import os
import tempfile

import torch
from torch.nn import functional as F

import models


def train(build, batches, loss):
    """Training steps with AdamW: zero_grad, forward, backward, step."""
    def run(options):
        model = build().to(options.device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for _ in range(options.steps):
            inputs, targets = (t.to(options.device) for t in batches(options))
            optimizer.zero_grad()
            loss(model(inputs), targets).backward()
            optimizer.step()
        return model
    return run


def train_prefetched(build, batches, loss):
    """The same with each batch copied ahead of time on a stream of its own; record_stream() says that the step uses it."""
    def run(options):
        side, model = torch.cuda.Stream(), build().to(options.device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

        def fetch():
            with torch.cuda.stream(side):
                return [t.to(options.device, non_blocking=True) for t in batches(options)]
        ahead = fetch()
        for _ in range(options.steps):
            torch.cuda.current_stream().wait_stream(side)
            inputs, targets = ahead
            for tensor in ahead:
                tensor.record_stream(torch.cuda.current_stream())
            ahead = fetch()
            optimizer.zero_grad()
            loss(model(inputs), targets).backward()
            optimizer.step()
        return model
    return run


def token_batches(vocabulary):
    def batches(options):
        tokens = torch.randint(vocabulary, (options.batch, options.length + 1))
        return tokens[:, :-1], tokens[:, 1:]
    return batches


def image_batches(options):
    return torch.randn(options.batch, 3, 224, 224), torch.randint(1000, (options.batch,))


def token_loss(output, targets):
    return F.cross_entropy(output[0].flatten(0, 1), targets.flatten())


@torch.no_grad()
def decode(options):
    """A serving loop: requests of varying prompt length, one after the other, each with its own growing key-value cache."""
    model = models.llama_style().to(options.device).eval()
    for _ in range(options.steps):
        prompt = int(torch.randint(16, options.length, ()))
        tokens, caches = torch.randint(32000, (options.batch, prompt), device=options.device), None
        for _ in range(int(torch.randint(8, 24, ()))):
            logits, caches = model(tokens, caches)
            tokens = logits[:, -1:].argmax(dim=-1)
    return model


WORKLOADS = {  # name: (run, batch, length, steps)
    "gpt2-train": (train(models.gpt2_small, token_batches(50257), token_loss), 2, 256, 3),
    "llama-train": (train(models.llama_style, token_batches(32000), token_loss), 1, 384, 3),
    "resnet50-train": (train(models.ResNet50, image_batches, F.cross_entropy), 8, 0, 3),
    "vit-train": (train(models.VisionTransformer, image_batches, F.cross_entropy), 4, 0, 3),
    "llama-decode": (decode, 1, 384, 4),
    "resnet50-prefetch": (train_prefetched(models.ResNet50, image_batches, F.cross_entropy), 8, 0, 6),  # on a GPU only
}


SPANS = ("cpu_op", "user_annotation", "python_function")


def keep_memory_events(source, target, facts, stacks):
    """Drops everything but the memory events and, if STACKS, what surrounds them; the rest of a trace is many times larger."""
    with open(source, encoding="utf-8") as stream:
        trace = json.load(stream)
    events = [e for e in trace["traceEvents"] if e.get("name") in ("[memory]", "[OutOfMemory]") or (stacks and e.get("cat") in SPANS)]
    for event in events:
        if event.get("cat") in SPANS:
            event["args"] = {k: v for k, v in event.get("args", {}).items() if k == "CallFrom"}
    head = {k: trace[k] for k in ("schemaVersion", "deviceProperties", "profile_memory") if k in trace}
    with open(target, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as stream:
        stream.write(json.dumps({**head, "gemem": facts, "traceEvents": events}).encode())
    return len(events)


def record_cpu(run, options, facts):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, with_stack=options.stacks,
                                acc_events=True) as profile:
        facts["parameters"] = models.parameters(run(options))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        return keep_memory_events(path, options.output, facts, options.stacks)


def record_cuda(run, options, facts):
    facts.update(gpu=torch.cuda.get_device_name(), cuda=torch.version.cuda, settings=os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""))
    if options.memory:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(options.memory / total)
        facts["memory_limit"] = int(options.memory / total * total)  # as PyTorch multiplies it out
    torch.cuda.memory._record_memory_history(max_entries=10_000_000, stacks="python", context="all" if options.stacks else None)
    try:
        facts["parameters"] = models.parameters(run(options))
    except torch.cuda.OutOfMemoryError as error:
        facts["out_of_memory"] = str(error).split(".")[0]
    torch.cuda.memory._dump_snapshot(options.output)
    torch.cuda.memory._record_memory_history(enabled=None)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="workloads: " + ", ".join(WORKLOADS))
    parser.add_argument("workload", choices=WORKLOADS, metavar="WORKLOAD")
    parser.add_argument("output", metavar="OUTPUT")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--stacks", action="store_true")
    for name in ("steps", "batch", "length"):
        parser.add_argument("--" + name, type=int)
    options = parser.parse_args()
    run, batch, length, steps = WORKLOADS[options.workload]
    options.batch, options.length, options.steps = options.batch or batch, options.length or length, options.steps or steps
    if options.workload == "resnet50-prefetch" and not options.device.startswith("cuda"):
        parser.error("resnet50-prefetch has streams: --device cuda")
    torch.manual_seed(options.seed)
    facts = {"workload": options.workload, "torch": torch.__version__, "device": options.device, "batch": options.batch,
             "length": options.length, "steps": options.steps, "seed": options.seed, "recorder": "record/record.py"}
    count = (record_cuda if options.device.startswith("cuda") else record_cpu)(run, options, facts)
    print(json.dumps({**facts, "events": count}))


if __name__ == "__main__":
    main()
