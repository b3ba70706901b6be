"""ranks_ddp.py - DistributedDataParallel: torchrun --nproc-per-node N ranks_ddp.py [--unused] [--object]"""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--unused", action="store_true", help="look for parameters without gradient")
parser.add_argument("--object", action="store_true", help="exchange Python objects, too")
options = parser.parse_args()

local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl")
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.BatchNorm1d(4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
model = DistributedDataParallel(model, device_ids=[local], find_unused_parameters=options.unused)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    model(torch.randn(64, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()

tokens = torch.tensor([5], device="cuda")
dist.all_reduce(tokens)
assert tokens.item() == 5 * dist.get_world_size(), tokens
gathered = [torch.zeros_like(tokens) for _ in range(dist.get_world_size())]
dist.all_gather(gathered, torch.tensor([7], device="cuda"))
assert [t.item() for t in gathered] == [7] * dist.get_world_size(), gathered
if options.object:
    objects = [{"rank": "any"}]
    dist.broadcast_object_list(objects, src=0)
    assert objects == [{"rank": "any"}]
    objects = [None] * dist.get_world_size()
    dist.all_gather_object(objects, {"step": 3})
    assert objects == [{"step": 3}] * dist.get_world_size(), objects
dist.barrier()
dist.destroy_process_group()
