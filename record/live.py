#!/usr/bin/env python3
"""live.py - runs one of record.py's workloads on a GPU with any allocator of gemem at work, or with PyTorch's own.

    GEMEM_ALLOCATOR=ge-expandable live.py WORKLOAD [--library libgemem-torch.so] [--steps N] [--batch N] [--length N] [--seed N]

Without GEMEM_ALLOCATOR PyTorch keeps its own allocator.  Prints one line of JSON: time of all steps (after one run for warming up), and memory in bytes.
GEMEM_STATS=FILE.json and GEMEM_RECORD=FILE.gmt say more (doc/pytorch.md).  Needs PyTorch >= 2.1 and a GPU.
"""
import argparse
import ctypes
import json
import os
import time

import torch

from record import WORKLOADS

HOOKS = {  # setter of PyTorch (those that this version has are used): function of the library
    "set_init_fn": "gemem_torch_init",
    "set_reset_fn": "gemem_torch_reset",
    "set_memory_fraction_fn": "gemem_torch_set_memory_fraction",
    "set_base_alloc_fn": "gemem_torch_base_alloc",
    "set_record_stream_fn": "gemem_torch_record_stream",
    "set_begin_allocate_to_pool": "gemem_torch_begin_allocate_to_pool",
    "set_end_allocate_to_pool_fn": "gemem_torch_end_allocate_to_pool",
    "set_release_pool": "gemem_torch_release_pool",
}


def use_gemem(path):
    """Makes gemem the allocator of this process; before anything else is done with the GPU."""
    library = ctypes.CDLL(path)
    library.gemem_torch_stat.restype = ctypes.c_uint64
    library.gemem_torch_stat.argtypes = ctypes.c_int, ctypes.c_char_p
    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "gemem_torch_malloc", "gemem_torch_free")
    for setter, function in HOOKS.items():
        if hasattr(allocator.allocator(), setter):
            getattr(allocator.allocator(), setter)(ctypes.cast(getattr(library, function), ctypes.c_void_p).value)
    torch.cuda.memory.change_current_allocator(allocator)
    return library


def memory(library):
    if library is None:
        return {"peak_allocated": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved()}
    return {name: library.gemem_torch_stat(0, name.encode()) for name in ("peak_live", "peak_allocated", "peak_reserved", "allocs", "failed")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="workloads: " + ", ".join(WORKLOADS))
    parser.add_argument("workload", choices=WORKLOADS, metavar="WORKLOAD")
    parser.add_argument("--library", default="libgemem-torch.so")
    parser.add_argument("--seed", type=int, default=0)
    for name in ("steps", "batch", "length"):
        parser.add_argument("--" + name, type=int)
    options = parser.parse_args()
    run, batch, length, steps = WORKLOADS[options.workload]
    options.batch, options.length, options.steps = options.batch or batch, options.length or length, options.steps or steps
    options.device = "cuda"
    library = use_gemem(options.library) if os.environ.get("GEMEM_ALLOCATOR") else None
    torch.manual_seed(options.seed)
    steps, options.steps = options.steps, 1
    run(options)  # what is loaded and chosen at the first step counts for no step
    torch.cuda.synchronize()
    options.steps = steps
    start = time.perf_counter()
    run(options)
    torch.cuda.synchronize()
    print(json.dumps({"workload": options.workload, "allocator": os.environ.get("GEMEM_ALLOCATOR", "PyTorch's own"), "steps": steps,
                      "seconds": time.perf_counter() - start, **memory(library), "torch": torch.__version__,
                      "gpu": torch.cuda.get_device_name()}))


if __name__ == "__main__":
    main()
