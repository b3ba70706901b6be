"""ranks_spawn.py - ranks by torch.multiprocessing, without torchrun: ranks_spawn.py WORLD"""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29617")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 1024 * (rank + 1) if len(sys.argv) > 2 else 1024).cuda())
    for step in range(2):
        model(torch.randn(64, 1024, device="cuda")).sum().backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(int(sys.argv[1]),), nprocs=int(sys.argv[1]))
