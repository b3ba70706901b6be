"""ranks_mesh.py - a mesh of 2 x 2 ranks: fully_shard() with copies, and DistributedDataParallel in one dimension; groups are split from the first one: torchrun --nproc-per-node 4 ranks_mesh.py"""
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl", device_id=torch.device("cuda", local))
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("copies", "shards"))
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.Linear(4096, 1024)).cuda()
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(2):
    model(torch.randn(8, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
other = DistributedDataParallel(torch.nn.Linear(64, 64).cuda(), process_group=mesh.get_group("copies"))
other(torch.randn(8, 64, device="cuda")).sum().backward()
dist.destroy_process_group()
