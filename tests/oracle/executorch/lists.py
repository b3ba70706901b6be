#!/usr/bin/env python3
"""lists.py - asks the greedy memory planner of an installed ExecuTorch, and prints what it said.

  lists.py             the lists in tests/unit/test-planners-systems.c, as they stand there
  lists.py FILE...     for each instance in MiniMalloc's format: arena, alignment 1

A list is "ALIGNMENT: SIZE FIRST LAST OFFSET, ..." in the order in which the tensors were added; both moments
belong to the life.  Made with executorch 1.5.1, PyTorch 2.11.
"""
import csv
import random
import sys

import torch
from executorch.exir.memory_planning import greedy
from executorch.exir.tensor import TensorSpec
from torch.export.graph_signature import ExportGraphSignature


def plan(items, alignment):
    """Offsets of (SIZE, FIRST, LAST), and the arena."""
    specs = []
    for size, first, last in items:
        spec = TensorSpec(torch.uint8, torch.Size([size]))
        spec.lifetime = [first, last]
        spec.mem_id = 1
        spec.realign(alignment)
        specs.append(spec)
    module = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
    # a set has no order: dict keys are what keeps that of the list
    result = greedy(alignment, dict.fromkeys(specs), module, ExportGraphSignature([], []), 0)
    return [result.spec_dict[spec].mem_offset for spec in specs], result.bufsizes[1]


def main():
    for path in sys.argv[1:]:
        rows = list(csv.DictReader(open(path, encoding="utf-8")))
        items = [(int(r["size"]), int(r["lower"]), int(r["upper"]) - 1) for r in rows]
        print(path, plan(items, 1)[1])
    for seed in range(0 if len(sys.argv) > 1 else 24):
        draw = random.Random(seed)
        alignment = draw.choice([1, 7, 16, 512])
        sizes = draw.choice([5, 4 * alignment, 1000])
        items = []
        for _ in range(draw.randint(6, 12)):
            first = draw.randint(0, 8)
            items.append((draw.randint(1, sizes), first, draw.randint(first, 9)))
        offsets, _ = plan(items, alignment)
        print(f'"{alignment}: ' + ", ".join("%d %d %d %d" % (*i, o) for i, o in zip(items, offsets)) + '",')


main()
