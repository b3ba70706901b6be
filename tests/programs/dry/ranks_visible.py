"""ranks_visible.py - a step of DistributedDataParallel over ranks that are shown one GPU each, as launchers of clusters do it.

    torchrun --nproc-per-node 2 ranks_visible.py
"""
import os

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4096, 4096).cuda())
model(torch.randn(8, 4096, device="cuda")).sum().backward()
print("devices", torch.cuda.device_count())
dist.destroy_process_group()
