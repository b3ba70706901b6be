"""ranks_graph.py - collectives and messages between neighbours in CUDA graphs; each is run once before, as a capture needs it."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
x = torch.ones(1 << 20, device="cuda")
y = torch.zeros_like(x)
parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]


def work():
    y.copy_(x)
    for _ in range(5):
        dist.all_reduce(y)
    dist.all_gather(parts, y)
    if rank == 0:
        dist.send(y, 1)
    elif rank == 1:
        dist.recv(y, 0)
    return y * 2


work()
torch.cuda.synchronize()
graphs = []
for _ in range(3):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    graphs.append(graph)
for graph in graphs:
    graph.replay()
torch.cuda.synchronize()
graphs.clear()
dist.barrier()
dist.destroy_process_group()
