"""ranks_agree.py: what a program reads of the GPU after it has told it to all ranks: whether numbers are finite, and as the only rank what it has counted.

tests/cli/long-dry-ranks.sh runs it.  Large blocks hang on each answer, so that a run in which it is another asks for other memory.
"""
import os
import sys

import torch
import torch.distributed as distributed

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
distributed.init_process_group("nccl")
x = torch.randn(1024, 1024, device="cuda")
x = x @ x
overflow = (x.isinf() | x.isnan()).any().byte()
counted = torch.zeros(1, device="cuda")
counted.add_(x.isfinite().all().logical_not())
counted, written = counted.bool().byte(), torch.tensor([False]).cuda().byte()  # as the ranks of DeepSpeed count them; what the host wrote, converted
for one in (overflow, counted, written):
    distributed.all_reduce(one, op=distributed.ReduceOp.MAX)
step = None if overflow.item() or counted.item() or written.item() else torch.ones(1 << 24, device="cuda")
if distributed.get_world_size() > 1:
    print("step", step is not None)
    distributed.destroy_process_group()
    sys.exit()
rows = (torch.arange(100, device="cuda") < 40).sum()
distributed.all_reduce(rows)
distributed.broadcast(rows, src=0)
print("step", step is not None, "rows", len(torch.ones(rows.item(), 1 << 20, device="cuda")))
