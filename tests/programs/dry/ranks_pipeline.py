"""ranks_pipeline.py - pipeline parallelism with stages of different size: torchrun --nproc-per-node N ranks_pipeline.py [--shapes]"""
import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

parser = argparse.ArgumentParser()
parser.add_argument("--shapes", action="store_true", help="tell the stages what they get, instead of letting them ask each other")
options = parser.parse_args()

rank, world, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
torch.cuda.set_device(local)
dist.init_process_group("nccl")
device = torch.device("cuda", local)
width, rows, parts = 1024, 256, 4
layers = [torch.nn.Linear(width, width) for _ in range(2 + 4 * rank)]  # uneven, on purpose
stage_module = torch.nn.Sequential(*layers).to(device)
received = torch.empty(rows // parts, width, device=device, requires_grad=rank > 0)
sent = torch.empty(rows // parts, width, device=device, requires_grad=True)
shapes = {"input_args": (received,), "output_args": (sent,)} if options.shapes else {}
stage = PipelineStage(stage_module, rank, world, device, **shapes)
schedule = Schedule1F1B(stage, parts, loss_fn=lambda y, t: (y - t).square().mean())
optimizer = torch.optim.AdamW(stage_module.parameters())
for step in range(3):
    if rank == 0:
        schedule.step(torch.randn(rows, width, device=device))
    elif rank == world - 1:
        schedule.step(target=torch.randn(rows, width, device=device), losses=[])
    else:
        schedule.step()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
