"""compiled_values.py [cpu|cuda] - what a program reads of what PyTorch's compiler makes: masks, sums, sorts, tables, conversions, indices.

Why: with "cpu" PyTorch runs the functions as they are, with "cuda" the compiler makes kernels of them, and a dry run has to give the same (long-dry-known.sh).

Invariants: results are integers and truth values that no rounding between fused operators changes.
"""
import sys

import torch
import torch.nn.functional as F

device = sys.argv[1]
FUNCTIONS = [
    lambda x, r, b: (x % 7 < 3) & (r > 0),
    lambda x, r, b: x.cumsum(0),
    lambda x, r, b: torch.sort(x % 100)[0],
    lambda x, r, b: torch.topk(x % 1000, 5)[0],
    lambda x, r, b: F.one_hot(x % 8, 8).sum(0),
    lambda x, r, b: torch.zeros(8, dtype=torch.int64, device=x.device).index_add(0, x % 8, x),
    lambda x, r, b: torch.zeros(8, dtype=torch.int64, device=x.device).scatter_reduce(0, x % 8, x, "amax"),
    lambda x, r, b: x.view(-1, 10).sum(1) - x.view(-1, 10).amax(1),
    lambda x, r, b: r.view(-1, 10).argmax(1),
    lambda x, r, b: (r * 3.7).to(torch.int32) + (b * 2).to(torch.int32),
    lambda x, r, b: (r.half() + r.half() * 2 > 0.5).sum(),
    lambda x, r, b: torch.where(r > 0, x // 3, -x).prod(0, dtype=torch.int64),
    lambda x, r, b: (x ^ (x << 3) ^ (x >> 2)) & 255,
    lambda x, r, b: torch.stack([(r > 0).all(), (r > 9).any(), r.isnan().any(), (x == 5).any()]),
    lambda x, r, b: torch.cat([x[3:50], x.flip(0)[:20], x[x % 50]]),
    lambda x, r, b: (torch.floor(r * 4) + torch.round(r) - torch.trunc(r * 2)).long(),
    lambda x, r, b: torch.bucketize(r, torch.linspace(-2, 2, 9, device=x.device)),
    lambda x, r, b: torch.triu(torch.ones(30, 30, dtype=torch.int64, device=x.device)).sum(1),
    lambda x, r, b: (b > b.roll(1)).long().cumsum(0),
    lambda x, r, b: torch.clamp(x - 300, -5, 7).unique_consecutive(),
    lambda x, r, b: torch.remainder(-x, 17) * torch.sign(r).long(),
    lambda x, r, b: F.pad(x, (3, 4), value=7).view(-1, 1007).sum(0) + torch.arange(1007, device=x.device) // 2,
    lambda x, r, b: x.clone().add_(5).view(10, 100).t().contiguous(),
    lambda x, r, b: x[r > 0] * 2,
]
x = torch.arange(1000) * 37 % 1009
r = (torch.arange(1000) * 7919 % 2003 - 1001).float() / 250
x, r = x.to(device), r.to(device)
b = r.bfloat16()
for at, function in enumerate(FUNCTIONS):
    torch._dynamo.reset()
    result = (function if device == "cpu" else torch.compile(function))(x, r, b)
    values = result.cpu().flatten()
    print(at, list(result.shape), values[:6].tolist(), int((values.long() * (torch.arange(len(values)) + 1)).sum()))

# one function for many sizes; what compiled code made goes into eager code and back
double = lambda y: (y * 2, y % 3 == 0)
double = double if device == "cpu" else torch.compile(double, dynamic=True)
y = torch.arange(10, device=device)
for _ in range(5):
    y, mask = double(torch.cat([y, y[mask] if _ else y]))
    print("size", len(y), int(mask.sum()), int(y.max()))
