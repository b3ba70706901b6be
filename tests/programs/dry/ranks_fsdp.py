"""ranks_fsdp.py - FullyShardedDataParallel, or fully_shard() with --fully-shard: torchrun --nproc-per-node N ranks_fsdp.py"""
import argparse
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--fully-shard", action="store_true")
options = parser.parse_args()

local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl")


class Block(torch.nn.Module):
    def __init__(self, width=1024):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


model = torch.nn.Sequential(*[Block() for _ in range(6)])
if options.fully_shard:
    try:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    except ImportError:  # PyTorch before 2.6
        from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    for block in model:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
else:
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=local, mixed_precision=MixedPrecision(param_dtype=torch.bfloat16), sync_module_states=True)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    model(torch.randn(16, 1024, device="cuda")).float().square().mean().backward()
    if options.fully_shard:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    else:
        model.clip_grad_norm_(1.0)
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
