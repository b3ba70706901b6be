"""ranks_tensor.py - tensor parallelism by parallelize_module() and DTensor: torchrun --nproc-per-node N ranks_tensor.py"""
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))


class Block(torch.nn.Module):
    def __init__(self, width=1024):
        super().__init__()
        self.up, self.down, self.dropout = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width), torch.nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(x + self.down(torch.nn.functional.gelu(self.up(x))))


model = torch.nn.Sequential(*[Block() for _ in range(4)]).cuda()
for block in model:
    parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
whole = distribute_tensor(torch.randn(4096, 1024), mesh, [Shard(0)])
assert whole.to_local().shape[0] == 4096 // mesh.size()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    model(torch.randn(64, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
