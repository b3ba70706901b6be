"""private_pools.py deleted|shared|pool|nested: private pools of CUDA graphs and torch.cuda.MemPool, of which nothing is left at the end; prints what was reserved at most."""
import sys

import torch

MiB = 1 << 20


def block(size):
    return torch.empty(size * MiB, dtype=torch.uint8, device='cuda')


def deleted():
    for i in range(3):
        graph, x = torch.cuda.CUDAGraph(), torch.randn(MiB, device='cuda')
        with torch.cuda.graph(graph):
            y = (x * 2).sum() + x.relu().mean()
            z = block(12)
        graph.replay()
        del graph, y, z
        block(28)
        if i:
            torch.cuda.empty_cache()


def shared():
    handle, graphs = torch.cuda.graph_pool_handle(), []
    for n in (32, 16, 8):
        x, graph = torch.randn(n, 1024, device='cuda'), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=handle):
            y = (x @ x.t()).softmax(-1) @ x
        graphs.append((graph, x, y))
    for graph, _, _ in graphs:
        graph.replay()
    del graph, x, y, graphs
    torch.cuda.empty_cache()
    block(20)


def pool():
    one, kept = torch.cuda.MemPool(), []
    with torch.cuda.use_mem_pool(one):
        kept.append(block(20))
        block(36)
    a = block(36)
    kept.clear()
    del one
    b = block(20)
    torch.cuda.empty_cache()
    two = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(two):
        c, d = block(1), block(160)
    del d
    return a, b, c, block(160)


def nested():
    one, two = torch.cuda.MemPool(), torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(one):
        a = block(30)
        with torch.cuda.use_mem_pool(two):
            b = block(30)
        del a, b
        c = block(30)
    d = block(30)
    del c, d, one, two
    torch.cuda.empty_cache()
    return block(30)


kept = globals()[sys.argv[1]]()
print(torch.cuda.max_memory_reserved())
