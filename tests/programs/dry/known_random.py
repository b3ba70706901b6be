"""known_random.py FIRST LAST: random programs of whole numbers on the host and on the GPU of a dry run, of views, writes in place and sizes that are
read.  Says each tensor that is other than on the host where a dry run knows it, and how many were the same; tests/cli/long-dry-known.sh runs it."""
import gc
import random
import sys

import torch
from torch.nn import functional

torch.zeros(1, device="cuda")
known = [one for one in gc.get_objects() if type(one).__name__ == "Known" and hasattr(one, "nodes")][0]


def part(x, r):
    dim = r.randrange(x.dim())
    first = r.randrange(x.shape[dim])
    return x.narrow(dim, first, r.randint(1, x.shape[dim] - first))


def index(x):
    return x.long().abs() % x.shape[0]




VIEWS = (
    part,
    lambda x, r: x.t(),
    lambda x, r: x.reshape(-1),
    lambda x, r: x.unsqueeze(0),
    lambda x, r: x[::2],
    lambda x, r: x.swapaxes(0, -1),
    lambda x, r: x.unfold(0, 2, 1),
    lambda x, r: x.diagonal(),
    lambda x, r: x.expand(2, *x.shape),
    lambda x, r: x.view(torch.int32),
    lambda x, r: x.detach(),
    lambda x, r: x.data,
    lambda x, r: x.unbind(0)[0],
    lambda x, r: torch.empty_like(x).set_(x),
)
WRITES = (
    lambda x, r: part(x, r).fill_(r.randint(0, 5)),
    lambda x, r: part(x.data, r).fill_(2),
    lambda x, r: part(x, r).copy_(x.flatten()[0].clone()),
    lambda x, r: x.masked_fill_(x > r.randint(0, 4), 1),
    lambda x, r: x.index_put_((torch.tensor([0, -1], device=x.device),), torch.tensor(3, device=x.device, dtype=x.dtype)),
    lambda x, r: x.zero_(),
    lambda x, r: x.clamp_(0, 5),
    lambda x, r: x.add_(1),
    lambda x, r: torch.add(x, 1, out=x) if x.is_contiguous() else None,
    lambda x, r: torch._foreach_add_([x], 1),
    lambda x, r: torch._foreach_zero_([part(x, r)]),
    lambda x, r: x.scatter_(0, index(x), 3),
    lambda x, r: setattr(x, "data", x.flip(0)),
)
RESULTS = (
    lambda x, r: x * 2,
    lambda x, r: x > 2,
    lambda x, r: x.long(),
    lambda x, r: x.clone(),
    lambda x, r: x.nonzero(),
    lambda x, r: x[x > 1],
    lambda x, r: x[index(x)],
    lambda x, r: x.gather(0, index(x)),
    lambda x, r: torch.where(x > 2, x, -x),
    lambda x, r: torch.cat([x, x]),
    lambda x, r: torch.stack([x, x])[0],
    lambda x, r: x.sum(0, keepdim=True),
    lambda x, r: x.cumsum(0),
    lambda x, r: x.unique(),
    lambda x, r: torch.unique(x, return_inverse=True, return_counts=True)[r.randint(0, 2)],
    lambda x, r: x.sort(dim=-1, stable=True)[r.randint(0, 1)],
    lambda x, r: index(x).flatten().bincount(),
    lambda x, r: x.flatten().repeat_interleave(index(x).flatten() % 3),
    lambda x, r: functional.one_hot(index(x)),
    lambda x, r: functional.pad(x, (1, 1)),
    lambda x, r: torch.cumsum(x, 0, out=torch.empty(x.shape, dtype=torch.int64, device=x.device)),
)


def run(seed):
    """How many tensors were compared, or what is other."""
    r, same = random.Random(seed), 0
    torch.manual_seed(seed)
    with r.choice([torch.no_grad, torch.inference_mode, torch.enable_grad])():
        hosts = [torch.randint(-3, 9, shape) for shape in ((6,), (4, 5), (3, 4, 2))]
        pairs = [(one, one.clone().cuda()) for one in hosts]
        for step in range(40):
            do, place, chosen = r.choice(r.choice([VIEWS, WRITES, RESULTS])), r.randrange(len(pairs)), r.random()
            try:
                host = do(pairs[place][0], random.Random(chosen))
            except (IndexError, RuntimeError, ValueError):
                return same  # what it had written is not known
            gpu = do(pairs[place][1], random.Random(chosen))
            if isinstance(host, torch.Tensor) and host.numel():
                pairs.append((host, gpu))
            if len(pairs) > 12:
                pairs.pop(r.randrange(len(pairs)))
            for host, gpu in pairs:
                if host.shape != gpu.shape:
                    return same  # a size was not known
                try:
                    value, assumed = known.value(gpu)
                except Exception:  # it is not known
                    continue
                if not assumed and not torch.equal(host, value):
                    return "seed %d, step %d: %s on the host, %s on the GPU" % (seed, step, host.tolist(), value.tolist())
                same += 1
    return same


found = [run(seed) for seed in range(int(sys.argv[1]), int(sys.argv[2]) + 1)]
print("\n".join(one for one in found if isinstance(one, str)))
print("same", sum(one for one in found if isinstance(one, int)), "other", sum(isinstance(one, str) for one in found))
