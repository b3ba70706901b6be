"""compiled_random.py [cpu|cuda] FIRST LAST - functions of 25 operators on integers, drawn by the seeds FIRST to LAST, and what a program reads of their results.

Why: with "cpu" PyTorch runs them as they are, with "cuda" its compiler makes kernels of them, and a dry run has to give the same (long-dry-known.sh).  What the compiler fuses
differs from seed to seed.

Invariants: a seed always gives the same function.  Results are integers and truth values that no rounding changes.
"""
import random
import sys

import torch
import torch.nn.functional as F

device, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
OPERATORS = [  # of two tensors, their numbers of rows and columns, and where the numbers of rows are
    lambda a, b, rows, columns, at: a + b,
    lambda a, b, rows, columns, at: a - b * 3,
    lambda a, b, rows, columns, at: (a % 97) * (b % 89),
    lambda a, b, rows, columns, at: torch.div(a, b.abs() + 1, rounding_mode="floor"),
    lambda a, b, rows, columns, at: torch.div(a, b.abs() + 2, rounding_mode="trunc"),
    lambda a, b, rows, columns, at: a % (b.abs() % 13 + 1),
    lambda a, b, rows, columns, at: a > b,
    lambda a, b, rows, columns, at: (a & b) ^ 5,
    lambda a, b, rows, columns, at: (a | 3) >> (b.abs() % 7),
    lambda a, b, rows, columns, at: torch.where(b.bool(), a, -b),
    lambda a, b, rows, columns, at: a - a.sum(-1, keepdim=True),
    lambda a, b, rows, columns, at: a.amax(0, keepdim=True).expand(rows, columns) - b,
    lambda a, b, rows, columns, at: a.argmax(-1, keepdim=True) + b,
    lambda a, b, rows, columns, at: a.argmin(0, keepdim=True) + b * 0,
    lambda a, b, rows, columns, at: a.cumsum(-1),
    lambda a, b, rows, columns, at: a.flip(-1).roll(1, 0),
    lambda a, b, rows, columns, at: a.sort(-1).values,
    lambda a, b, rows, columns, at: a.gather(-1, b.abs() % columns),
    lambda a, b, rows, columns, at: torch.zeros_like(a).scatter_add(0, b.abs() % rows, a),
    lambda a, b, rows, columns, at: a.to(torch.int32),
    lambda a, b, rows, columns, at: a.to(torch.int8),
    lambda a, b, rows, columns, at: b.bool().any(-1, keepdim=True) & (a > 2),
    lambda a, b, rows, columns, at: b.bool().all(0, keepdim=True).expand(rows, columns).long() + a.sign(),
    lambda a, b, rows, columns, at: a.clamp(-50, 50).abs(),
    lambda a, b, rows, columns, at: a.masked_fill(b.bool(), 7),
    lambda a, b, rows, columns, at: torch.cat([a[:, : columns // 2], b[:, columns // 2 :]], 1),
    lambda a, b, rows, columns, at: F.pad(a, (1, 0))[:, :columns],
    lambda a, b, rows, columns, at: torch.triu(a) + torch.tril(b),
    lambda a, b, rows, columns, at: (a % 1000).float().floor().mul(2).to(torch.int32),
    lambda a, b, rows, columns, at: a.float().isfinite() & b.bool().logical_not(),
    lambda a, b, rows, columns, at: a.index_put((at // 2 * 2 % rows, at % columns), b[:, 0] * 0 + 5),
    lambda a, b, rows, columns, at: (a % 31).cummax(-1).values,
    lambda a, b, rows, columns, at: (a == b).sum(-1, keepdim=True) + torch.arange(columns, device=at.device),
    lambda a, b, rows, columns, at: (a % 5).t().contiguous().reshape(rows, columns),
    lambda a, b, rows, columns, at: ((a % 8).half() * 0.5).int() + (b % 4).bfloat16().int(),
]


def draw(seed):
    """A function, and what it is given."""
    rows, columns = random.Random(seed).choice([(4, 8), (7, 33), (16, 100), (1, 50), (65, 3)])
    chosen = random.Random(seed)
    plan = [(chosen.choice(OPERATORS), chosen.random(), chosen.random()) for _ in range(25)]

    def function(*given):
        at, all_of_them = torch.arange(rows, device=given[0].device), list(given)
        for operator, one, other in plan:
            a, b = [all_of_them[int(where * len(all_of_them))].long() for where in (one, other)]
            all_of_them.append(operator(a, b, rows, columns, at))
        return all_of_them[len(given) :]

    numbers = torch.Generator().manual_seed(seed)
    given = [torch.randint(-100, 100, (rows, columns), generator=numbers), torch.randint(-9, 9, (rows, columns), generator=numbers).int()]
    return function, given + [torch.randint(0, 2, (rows, columns), generator=numbers).bool(), torch.arange(rows * columns).view(rows, columns)]


for seed in range(first, last + 1):
    torch._dynamo.reset()
    function, given = draw(seed)
    results = (torch.compile(function) if device == "cuda" else function)(*[one.to(device) for one in given])
    for at, result in enumerate(results):
        values = result.cpu().flatten()
        print(seed, at, list(result.shape), result.dtype, int((values.long() * (torch.arange(len(values)) + 1)).sum()), values[:5].tolist())
