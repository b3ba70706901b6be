"""known.py - values that a program reads from the device, one line each: with "cpu" what they are, with "cuda" in a dry run what that knows of them.

    known.py DEVICE

A judge of dry/python/known.py: none of these values depends on what a kernel computes of real numbers, or on a generator, so that both lists are the same.
"""
import copy
import io
import math
import pickle
import sys

import torch

dev = sys.argv[1]
N = 1000
x = (torch.arange(N, device=dev) * 7919) % 101


def case(function):
    print(function.__name__, function(), flush=True)


@case
def where1():
    return [len(t) for t in torch.where(x > 50)]


@case
def argwhere():
    return torch.argwhere(x.view(20, 50) > 70).shape


@case
def nonzero_tuple():
    return [len(t) for t in (x > 50).nonzero(as_tuple=True)]


@case
def boolmask():
    return x[x > 20].shape, x.view(20, 50)[(x.view(20, 50) > 90)].shape


@case
def boolmask_rows():
    return x.view(20, 50)[x.view(20, 50)[:, 0] > 50].shape


@case
def boolmask_mixed():
    return x.view(20, 50)[:, x[:50] > 50].shape


@case
def assign():
    y = x.clone()
    y[y > 50] = 0
    return int(y.sum()), y[y > 0].shape


@case
def assign_idx():
    y = torch.zeros(N, dtype=torch.bool, device=dev)
    y[x[:100]] = True
    return y.nonzero().shape


@case
def unique():
    return x.unique().shape, [t.shape for t in torch.unique(x, return_inverse=True, return_counts=True)]


@case
def unique_counts():
    v, c = torch.unique(x, return_counts=True)
    return int(c.max()), int(c.min()), (c > 9).nonzero().shape


@case
def unique_inverse():
    v, i = torch.unique(x // 3, return_inverse=True)
    return int(i.max()), torch.bincount(i).shape


@case
def unique_cons():
    return torch.unique_consecutive(x // 30).shape


@case
def unique_dim():
    return torch.unique(x.view(500, 2) // 40, dim=0).shape


@case
def topk():
    v, i = x.topk(10)
    return int(v.min()), int(v.max()), torch.zeros(int(v[3])).shape


@case
def topk_mask():
    m = torch.zeros(N, dtype=torch.bool, device=dev)
    m.scatter_(0, x[:100].topk(10).indices, True)
    return m.nonzero().shape


@case
def sort():
    v, i = x.sort()
    return int(v[0]), int(v[-1]), int(v[500])


@case
def sort_stable():
    v, i = x.sort(stable=True)
    return int(i[5])


@case
def argsort():
    return int((x * 1000 + torch.arange(N, device=dev)).argsort()[17])


@case
def argmax():
    return int((x * 1000 + torch.arange(N, device=dev)).argmax()), int(x.view(20, 50).max(1)[0].sum())


@case
def maxdim():
    v, i = (x * 1000 + torch.arange(N, device=dev)).view(20, 50).max(dim=1)
    return i.tolist()[:4], v.tolist()[:3]


@case
def mindim():
    return (x * 1000 + torch.arange(N, device=dev)).view(20, 50).min(dim=1).indices.tolist()[:4]


@case
def bincount():
    return torch.bincount(x).shape, int(torch.bincount(x).max()), torch.bincount(x, minlength=200).shape


@case
def rep_int():
    return torch.repeat_interleave(torch.arange(5, device=dev), torch.tensor([1, 2, 3, 4, 5], device=dev)).shape, torch.arange(4, device=dev).repeat_interleave(x[:4]).shape, x.repeat_interleave(2).shape


@case
def rep_int_lens():
    lens = torch.bincount(x)
    return torch.repeat_interleave(lens).shape, torch.repeat_interleave(torch.arange(len(lens), device=dev), lens).shape


@case
def item_mask():
    return (x > 50).sum().item(), int((x == 3).count_nonzero()), (x > 3).long().sum().item(), bool((x >= 0).all()), bool((x < 0).any())


@case
def float_mask():
    return (x > 50).float().sum().item(), (x > 50).float().mean().item(), float(x.float().mean())


@case
def cumsum():
    return int(x.cumsum(0)[-1]), x.cumsum(0).tolist()[:3]


@case
def cummax():
    return int(x.cummax(0)[0][30])


@case
def diff():
    return int(torch.diff(x).max()), int(torch.diff(x).abs().sum())


@case
def outvariant():
    y = torch.empty(N, dtype=torch.long, device=dev)
    torch.add(x, 3, out=y)
    return int(y.max())


@case
def split_sizes():
    lens = torch.tensor([3, 4, 5], device=dev)
    return [t.shape[0] for t in torch.arange(12, device=dev).split(lens.tolist())]


@case
def masked_select():
    return x.masked_select(x > 50).shape, x.view(20, 50).masked_select(x[:50] > 50).shape


@case
def onehot():
    return torch.nn.functional.one_hot(x).shape, torch.nn.functional.one_hot(x, 101).sum(0).tolist()[:4]


@case
def coo():
    i = torch.stack([x, (x * 13) % 37])
    s = torch.sparse_coo_tensor(i, torch.ones(N, device=dev), (101, 101))
    c = s.coalesce()
    return c._nnz(), c.indices().shape


@case
def dense_sparse():
    d = torch.zeros(50, 50, device=dev)
    d[x[:50] % 50, torch.arange(50, device=dev)] = 1.
    return d.to_sparse()._nnz(), d.to_sparse_csr().values().shape, d.nonzero().shape


@case
def coalesced():
    i = torch.stack([x % 50, (x * 13) % 37])
    s = torch.sparse_coo_tensor(i, torch.ones(N, device=dev), (50, 50)).coalesce()
    c = s.to_sparse_csr()
    return int(s.indices().max()), int(c.crow_indices()[7]), c.col_indices().tolist()[:4], s.to_dense().count_nonzero().item(), s.values().max().item()


@case
def sparse_product():
    i = torch.stack([x % 50, (x * 13) % 37])
    s = torch.sparse_coo_tensor(i, torch.ones(N, device=dev), (50, 50)).coalesce()
    p, q = torch.sparse.mm(s, s), s.to_sparse_csr() @ s.to_sparse_csr()
    both = s.to_sparse_csr(), s.to_sparse_csc()
    turned = [(one @ other)._nnz() for one in both for other in both]
    return p._nnz(), p.coalesce().indices().shape, q._nnz(), int(q.crow_indices()[-1]), torch.cat([s, p]).coalesce()._nnz(), turned


@case
def after_spmm():
    # cuSPARSE gets the addresses of the indices, and reads them
    i = torch.stack([x % 50, (x * 13) % 37])
    s = torch.sparse_coo_tensor(i, torch.ones(N, device=dev), (50, 50)).requires_grad_()
    torch.sparse.mm(s, torch.ones(50, 4, device=dev)).sum().backward()
    return s.grad._nnz(), int(i.max()), s.detach().coalesce()._nnz()


@case
def sparse_gradient():
    # of tables that are looked up once and twice; PyTorch clones the indices in the backward pass
    one, two = torch.nn.Embedding(101, 4, sparse=True).to(dev), torch.nn.Embedding(101, 4, sparse=True).to(dev)
    found, o = [], torch.optim.SparseAdam([*one.parameters(), *two.parameters()])
    for step in range(2):
        o.zero_grad()
        (one(x[: 40 + step]).sum() + two(x[:30]).sum() + two((x[60:90] * 3) % 101).sum()).backward()
        o.step()
        found += [each.weight.grad.coalesce()._nnz() for each in (one, two)]
    return found, one.weight.grad.coalesce().indices().max().item()


@case
def isin_sorted():
    return torch.isin(x, torch.arange(0, 101, 2, device=dev)).nonzero().shape, torch.isin(x.repeat(50), torch.arange(400, device=dev)).sum().item()


@case
def reals_of_the_host():
    y = (torch.arange(1 << 16, dtype=torch.float32) % 1009).to(dev)
    return (y > 500).nonzero().shape, y.unique().shape, y[y < 10].shape


@case
def foreach():
    steps = [torch.zeros((), device=dev) for _ in range(3)]
    torch._foreach_add_(steps, 1)
    torch._foreach_mul_(steps, [2, 3, 4])
    lengths = [torch.arange(3, device=dev) for _ in range(2)]
    torch._foreach_add_(lengths, [torch.ones(3, dtype=torch.long, device=dev)] * 2, alpha=2)
    made = torch._foreach_mul(torch._foreach_add([torch.arange(6.0, device=dev), torch.arange(8.0, device=dev)], 1), [2.0, 3.0])
    torch._foreach_lerp_(made, torch._foreach_sub(made, 4.0), 0.5)
    torch._foreach_sqrt_(made[:1])
    torch._foreach_clamp_min_(made, 1.5)
    made = torch._foreach_maximum(made, [torch.full((), 2.0, device=dev)] * 2)
    numbers = [torch._foreach_norm(made)[1].item(), torch._foreach_neg(made)[0].min().item()]
    return [int(one) for one in steps], lengths[1].tolist(), made[0][made[0] > 2].shape, made[1].tolist(), numbers


@case
def capturable():
    p = torch.nn.Parameter(torch.zeros(4, device=dev))
    o = torch.optim.Adam([p], foreach=True, capturable=dev == "cuda")
    for _ in range(3):
        p.grad = torch.ones_like(p)
        o.step()
    return o.state[p]["step"].item()


@case
def csr():
    d = torch.eye(60, device=dev)
    return d.to_sparse_csr()._nnz(), (d > 0).sum().item()


@case
def isin():
    return torch.isin(x, torch.tensor([1, 2, 3], device=dev)).nonzero().shape


@case
def searchsorted():
    return int(torch.searchsorted(torch.arange(0, 100, 7, device=dev), x).max())


@case
def tril():
    return torch.ones(30, 30, device=dev).tril().nonzero().shape, torch.ones(30, 30, dtype=torch.bool,device=dev).triu(1).sum().item(), torch.tril_indices(9, 9, device=dev).shape


@case
def lens_pad():
    lens = torch.tensor([5, 9, 2], device=dev)
    m = torch.arange(int(lens.max()), device=dev)[None] < lens[:, None]
    return m.shape, m.sum().item(), torch.randn(3, 9, 4, device=dev)[m].shape


@case
def packseq():
    lens = torch.tensor([9, 5, 2])
    p = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(3, 9, 4, device=dev), lens, batch_first=True)
    return p.data.shape


@case
def cu_seqlens():
    m = (torch.arange(64, device=dev)[None] < (x[:8, None] % 64))
    s = m.sum(-1, dtype=torch.int32)
    i = torch.nonzero(m.flatten(), as_tuple=False).flatten()
    return int(s.max().item()), i.shape, torch.nn.functional.pad(torch.cumsum(s, 0, dtype=torch.int32), (1, 0)).tolist()


@case
def embbag():
    off = torch.arange(0, 1000, 10, device=dev)
    b = torch.nn.EmbeddingBag(101, 8).to(dev)
    return b(x, off).shape


@case
def scatter_count():
    c = torch.zeros(101, dtype=torch.long, device=dev).scatter_add_(0, x, torch.ones_like(x))
    return int(c.max()), (c > 9).nonzero().shape


@case
def index_add():
    c = torch.zeros(101, device=dev).index_add_(0, x, torch.ones(N, device=dev))
    return float(c.max()), (c > 9).sum().item()


@case
def inference():
    with torch.inference_mode():
        y = torch.arange(50, device=dev)
        return int(y.max()), (y > 9).nonzero().shape, y[y > 3].shape


@case
def inference2():
    with torch.inference_mode():
        y = x > 50
        return x[y].shape, int(y.sum()), x.unique().shape


@case
def inference_in():
    with torch.inference_mode():
        y = torch.zeros(50, dtype=torch.long, device=dev)
        y[3:5] = 7
        y += 1
        return int(y.max()), (y == 8).nonzero().shape


@case
def to_numpy():
    return x.cpu().numpy().max(), x.to("cpu", torch.int32).sum().item()


@case
def meshgrid():
    a, b = torch.meshgrid(torch.arange(10, device=dev), torch.arange(10, device=dev), indexing="ij")
    return ((a + b) < 7).sum().item(), torch.cartesian_prod(torch.arange(3, device=dev), torch.arange(4, device=dev)).shape, torch.combinations(torch.arange(6, device=dev)).shape


@case
def einsum():
    return int(torch.einsum("i,i->i", x[:10], x[:10]).sum())


@case
def knn():
    a = torch.arange(20., device=dev)[:, None]
    d = (a - a.T).abs()
    d.fill_diagonal_(9.)
    return (d < 2.5).nonzero().shape, int(d.argmin(1)[3])


@case
def linspace():
    return (torch.linspace(0, 1, 100, device=dev) > .5).nonzero().shape, torch.logspace(0, 3, 4, device=dev).max().item()


@case
def bucket():
    return torch.bucketize(x, torch.tensor([10, 50], device=dev)).bincount().tolist()


@case
def hist():
    return torch.histc(x.float(), 10, 0, 100).max().item()


@case
def flip_roll():
    return int(x.flip(0)[3]), int(x.roll(2)[0])


@case
def logic():
    return int(((x > 3) & (x < 50) | (x == 99)).sum()), int((~(x > 3)).sum()), int(((x > 3) ^ (x > 4)).sum())


@case
def tensor_new():
    return torch.tensor([3, 4, 5], device=dev).max().item(), torch.as_tensor([1, 2], device=dev).sum().item(), x.new_tensor([4, 5]).sum().item(), torch.full((3,), 7, device=dev).sum().item()


@case
def views_in_place():
    y = torch.tensor(5, device=dev)
    with torch.inference_mode():
        inner = torch.arange(6, device=dev).view(2, 3).t_().unsqueeze_(0)
    return bool(y == 5), int(inner[0, 2, 1])


@case
def made_of_others():
    y = x.clone()
    y.clip_(3, 90).subtract_(1).multiply_(2)
    m = y > 50
    m |= y < 9
    m &= y != 7
    return int(y.sum()), m.nonzero().shape


@case
def bools():
    return bool(torch.tensor(True, device=dev)), bool(torch.equal(x, x.clone())), torch.allclose(x.float(), x.float())


@case
def kth():
    return int(x.kthvalue(5)[0]), int(x.median()), int(x.mode()[0])


@case
def trace_diag():
    return int(torch.diag(x[:5]).sum()), int(torch.diagonal(x.view(20, 50)).sum()), int(x.view(20, 50).T.contiguous().view(-1)[7])


@case
def split_mask():
    m = torch.zeros(N, dtype=torch.bool, device=dev)
    m[:700] = True
    return x[m].shape, x[~m].shape


@case
def graph_cc():
    src, dst = x[:500] % 50, x[500:] % 50
    m = src != dst
    s, d = src[m], dst[m]
    deg = torch.zeros(50, device=dev).scatter_add_(0, d, torch.ones_like(d, dtype=torch.float))
    return s.shape, (deg == 0).sum().item(), int(torch.cat([s, d]).unique().numel()), int(s.max()) + 1


@case
def nested():
    t = torch.nested.nested_tensor([torch.arange(3.), torch.arange(5.)], device=dev)
    return t.to_padded_tensor(0).shape


@case
def nested_jagged():
    t = torch.nested.nested_tensor([torch.arange(3.), torch.arange(5.)], device=dev, layout=torch.jagged)
    return t.to_padded_tensor(0.).shape


@case
def int_div():
    return int((x // 7).max()), int((x % 7).sum()), int(torch.div(x, 3, rounding_mode="trunc").sum()), int(x.remainder(5).max())


@case
def shifts():
    return int((x << 1).max()), int((x >> 1).sum()), int((x & 7).sum()), int((x | 1).sum())


@case
def prod():
    return int((x[:4] + 1).prod()), torch.zeros(int(torch.tensor([2, 3], device=dev).prod())).shape


@case
def clampw():
    return int(x.clamp(10, 20).sum()), int(torch.where(x > 50, x, -x).sum()), int(x.clip(3).min())


@case
def stackcat():
    return int(torch.cat([x, x]).sum()), int(torch.stack([x, x])[1].sum()), int(torch.hstack([x, x]).sum()), int(torch.vstack([x, x])[0][5])


@case
def pad():
    return torch.nn.functional.pad(x, (2, 3), value=1).sum().item()


@case
def unfold():
    return int(x.unfold(0, 4, 2).sum()), int(x.view(20, 50).t()[3].sum()), int(x.repeat(2).sum()), int(x.expand(3, N).sum())


@case
def take():
    return int(x.take(torch.tensor([4, 5], device=dev)).sum()), int(x.view(20, 50).gather(1, torch.zeros(20, 1, dtype=torch.long, device=dev)).sum()), int(torch.take_along_dim(x, torch.tensor([7], device=dev), 0))


@case
def pylist():
    return [int(i) for i in x[:5]], list(x[:3].cpu().numpy()), min(x[:4]).item()


@case
def iterate():
    return [n.item() for n in torch.arange(4, device=dev)], len(list(x[:3]))


@case
def set_():
    return len(set(x.tolist())), len(x.unique().tolist())


@case
def setitem():
    y = torch.zeros(10, dtype=torch.long, device=dev)
    y[3] = 5
    y[torch.tensor(4, device=dev)] = 2
    return y.tolist(), int(y[y.argmax()])


@case
def slice_by_tensor():
    n = torch.tensor(5, device=dev)
    return x[:n].shape, x[n:n + 3].shape, torch.arange(n, device=dev).shape


@case
def shape_from():
    return torch.zeros(int(x.max()) + 1, 3, device=dev).shape, torch.zeros((x.max(),), device=dev).shape


@case
def bmm_mask():
    causal = torch.ones(8, 8, dtype=torch.bool, device=dev).tril()
    am = torch.tensor([[1, 1, 1, 0, 0, 0, 0, 0]], device=dev).bool()
    m = causal[None] & am[:, None]
    return m.sum().item(), bool(am.all()), bool((am.sum(-1) == 3).all())


@case
def compare_lists():
    return torch.arange(3, device=dev).tolist() == [0, 1, 2], bool((torch.arange(3, device=dev) == torch.tensor([0, 1, 2], device=dev)).all())


@case
def fmod():
    return float(torch.arange(10., device=dev).fmod(3).sum()), float((torch.arange(10., device=dev) ** 2).sum())


@case
def softargmax():
    t = torch.tensor([[.1, .9], [.8, .2]], device=dev)
    return t.argmax(-1).tolist(), t.softmax(-1).argmax(-1).tolist(), (t > .5).nonzero().shape


@case
def to_int():
    return int(torch.tensor(3.7, device=dev).round().long()), int(torch.ceil(torch.tensor(3.2, device=dev))), math.ceil(torch.tensor(3.2, device=dev))


@case
def ceil2():
    return math.ceil(torch.tensor(3.2, device=dev).item()), int(0.3 * torch.tensor(100, device=dev))


@case
def param():
    p = torch.nn.Parameter(torch.tensor([1., 2., 3.], device=dev))
    return (p > 1.5).sum().item(), p[p > 1.5].shape, int(p.argmax())


@case
def buffer():
    m = torch.nn.Module()
    m.register_buffer("n", torch.zeros((), dtype=torch.long))
    m = m.to(dev)
    m.n += 1
    m.n.add_(1)
    return int(m.n)


@case
def bn():
    b = torch.nn.BatchNorm1d(4).to(dev)
    b(torch.randn(8, 4, device=dev))
    b(torch.randn(8, 4, device=dev))
    return int(b.num_batches_tracked)


@case
def adam():
    p = torch.nn.Parameter(torch.zeros(4, device=dev))
    o = torch.optim.Adam([p])
    for _ in range(3):
        p.sum().backward()
        o.step()
    return float(o.state[p]["step"])


@case
def turned_in_memory():
    y = x[:12].view(3, 4)
    tall = torch.arange(24, device=dev).view(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    into, turned = torch.empty(4, 3, dtype=torch.long), torch.empty(3, 4, dtype=torch.long).t()
    into.copy_(y.t())
    turned.copy_(y.t())
    long = torch.arange(1 << 18, device=dev).view(1 << 9, 1 << 9).t().cpu()
    return y.t().tolist(), y.T.cpu()[1].tolist(), (y > 50).nonzero().tolist(), y.t()[::2].tolist(), into.tolist(), turned.tolist(), tall.tolist(), int(long[3, 5])


@case
def other_types():
    y = x[:12].view(3, 4)
    n, into = y.int(), torch.empty(3, 4)
    into.copy_(n)
    return n.to("cpu", torch.float32).tolist(), n.t().to("cpu", torch.float32).tolist(), y.to("cpu", torch.float64).tolist(), n.to("cpu", torch.float32, non_blocking=True).tolist(), into.tolist()


@case
def long_and_short():
    y = torch.arange(200000, device=dev)
    return y.to("cpu", torch.int32).sum().item(), y.int().to("cpu", torch.int64).sum().item()


@case
def saved():
    m = torch.nn.BatchNorm1d(4).to(dev)
    for _ in range(3):
        m(torch.ones(8, 4, device=dev))
    file, rows = io.BytesIO(), torch.arange(10, device=dev)
    torch.save({"m": m.state_dict(), "part": rows[2:5], "mask": rows > 4}, file)
    there = torch.load(io.BytesIO(file.getvalue()))
    here = torch.load(io.BytesIO(file.getvalue()), map_location="cpu")
    other = torch.nn.BatchNorm1d(4).to(dev)
    other.load_state_dict(there["m"])
    copied, sent = copy.deepcopy(m), pickle.loads(pickle.dumps(rows + 1))
    return [(int(one["m"]["num_batches_tracked"]), one["part"].tolist(), one["mask"].tolist()) for one in (there, here)], *(int(one.num_batches_tracked) for one in (other, copied)), sent.tolist()


@case
def other_views():
    y, z = x[:6].view(2, 3), x[:6] * 2
    y.t_().unsqueeze_(0).squeeze_(0)
    z.resize_(4)
    w = torch.zeros(1, dtype=torch.long, device=dev)
    w.set_(z)
    return int(y.sum()), int(x.max()), z.tolist(), w.tolist(), [one.tolist() for one in torch.nn.utils.rnn.unpad_sequence(x[:6].view(2, 3), torch.tensor([2, 1, 2]))], int(x.max())


@case
def of_itself():
    y = torch.zeros(4, dtype=torch.int32, device=dev)
    y[0] += 1
    y[1:3] += y[0]
    y.mul_(y)
    return y.tolist()


@case
def hooks_of_modules():
    seen, rows, m = [], torch.arange(5, device=dev), torch.nn.Linear(4, 4).to(dev)
    m.register_full_backward_hook(lambda *_: seen.append(int(rows.max())))
    m.register_full_backward_pre_hook(lambda *_: seen.append(rows[rows > 2].shape))
    m(torch.ones(2, 4, device=dev)).sum().backward()
    return seen


@case
def scaler():
    p = torch.nn.Parameter(torch.zeros(4, device=dev))
    o, s = torch.optim.SGD([p], 0.1), torch.amp.GradScaler(dev, init_scale=1024.0, growth_interval=2)
    seen = []
    for _ in range(3):
        s.scale(p.sum()).backward()
        s.step(o)
        s.update()
        seen.append((s.get_scale(), s.state_dict()["_growth_tracker"]))
    return seen


@case
def multiplied():
    twice = torch.sparse_coo_tensor(x[:200].view(2, 100) % 30, torch.ones(100, device=dev), (30, 30))
    once = torch.sparse_coo_tensor(x[:200].view(2, 100).flip(0) % 25, torch.ones(100, device=dev), (30, 30)).coalesce()
    found = []
    for a, b in ((twice, once), (once.t(), once)):
        a, b = a.detach().clone().requires_grad_(), b.detach().clone().requires_grad_()
        product = torch.sparse.mm(a, b)
        torch.sparse.sum(product).backward()
        found.append((product._nnz(), a.grad._nnz(), b.grad._nnz()))
    return found


@case
def numbers_first():
    return (7 // (x[:6] + 1)).tolist(), (7 % (x[:6] + 1)).tolist(), (2 ** x[:3].clamp(max=5)).tolist(), torch.true_divide(7, x[:3] + 1).tolist()


@case
def more_operators():
    y, r = x[:10], torch.arange(10.0, device=dev) - 5
    return (
        [int(one) for one in torch.aminmax(y)], torch.signbit(r).sum().item(), torch.sgn(y - 5).tolist(), torch.copysign(r.abs(), r).tolist(), torch.lerp(r, r + 2, 0.5).tolist(),
        torch.addcmul(y, y, y).tolist(), torch.heaviside(r, r[5:6]).tolist(), torch.nan_to_num(r / r).tolist(), r.frac().tolist(), torch.nonzero_static(y > 50, size=4).tolist(),
        y.put(y[:2] % 10, y[2:4]).tolist(), y.index_reduce(0, y[:2] % 10, y[2:4], "prod").tolist(), torch.select_scatter(y.view(2, 5), y[:5], 0, 0).tolist(),
        torch.slice_scatter(y, y[:2], 0, 1, 3).tolist(), torch.diagonal_scatter(y[:4].view(2, 2), y[:2]).tolist(),
    )


@case
def images():
    mask = (x[:64] > 50).view(1, 1, 8, 8).float()
    of = torch.nn.functional
    sizes = of.interpolate(mask, (4, 4)).long().sum().item(), of.interpolate(mask, scale_factor=2).bool().sum().item(), of.interpolate(mask, (4, 4), mode="nearest-exact").nonzero().shape
    pooled, places = of.max_pool2d(mask * torch.arange(64, device=dev).view(1, 1, 8, 8), 2, return_indices=True)
    return sizes, pooled.long().tolist(), places.tolist(), of.pad(mask, (1, 1, 1, 1), mode="reflect").sum().item(), of.pad(mask, (1, 1, 1, 1), mode="replicate").sum().item()


@case
def transformed():
    from torch.func import grad, hessian, jacrev, vmap

    y, r = x[:12].view(3, 4), torch.arange(4.0, device=dev)
    many = vmap(lambda row: torch.where(row % 2 == 0, row * 2 + 1, -row))(y), vmap(lambda row: 7.5 > row.sum() / 2)(y), vmap(lambda row: row.max(), 1)(y)
    shapes = hessian(lambda one: (one**3).sum())(r).shape, jacrev(lambda one: one.sin())(r).shape, vmap(grad(lambda one: one.square().sum()))(y.float()).shape
    return [one.tolist() for one in many], vmap(vmap(lambda one: one + 1))(y).tolist(), y[vmap(lambda row: row > 30)(y)].shape, shapes


@case
def statistics():
    r, other = x.float(), x.flip(0).float()
    spread = [round(one.item(), 3) for one in (r.std(), r.var(unbiased=False), *torch.std_mean(r), *torch.var_mean(other), r.norm(), torch.dist(r, other))]
    cross = torch.linalg.cross(r[:30].view(10, 3), other[:30].view(10, 3))
    return spread, r[((r - r.mean()) / r.std()).abs() > 1].shape, cross.tolist(), torch.quantile(r, 0.9).item(), torch.logaddexp(r, other).gt(50).nonzero().shape, r[r > r.quantile(0.9)].shape


@case
def like_unknown():
    unknown = torch.empty(4, 100, device=dev).digamma()
    mask = torch.zeros_like(unknown)
    mask[1, x[:50] % 100] = 1
    made = torch.ones_like(unknown[:2]), torch.full_like(unknown, 7.0), unknown.new_zeros(3), unknown.new_ones(5), unknown.new_full((2,), 2.0)
    return mask.sum().item(), [one.sum().item() for one in made]


@case
def compressed_back():
    rows, columns = torch.tensor([0, 2, 3, 5], device=dev), torch.tensor([0, 1, 2, 0, 2], device=dev)
    values = torch.ones(5, device=dev, requires_grad=True)
    torch.sparse.mm(torch.sparse_csr_tensor(rows, columns, values, (3, 3)), torch.ones(3, 4, device=dev, requires_grad=True)).sum().backward()
    return values.grad.shape


@case
def softmax_back():
    values = torch.ones(200, device=dev, requires_grad=True)
    made = torch.sparse.softmax(torch.sparse_coo_tensor(x[:400].view(2, 200) % 30, values, (30, 30)), 1)
    torch.sparse.mm(made, torch.ones(30, 4, device=dev, requires_grad=True)).sum().backward()
    return made._nnz(), values.grad.shape


@case
def left_aligned():
    mask = torch.arange(30, device=dev) < (x[:4] % 31)[:, None]
    return [torch._nested_tensor_from_mask_left_aligned(torch.ones(4, 30, 8, device=dev), one) for one in (mask, mask.flip(1))]


@case
def loaded_large():
    file, numbers = io.BytesIO(), torch.arange(300000).remainder(977)
    torch.save({"tokens": numbers, "mask": (numbers > 500).repeat(8), "short": numbers.int() - 9}, file)
    file.seek(0)
    found = torch.load(file, map_location=dev)
    return int(found["tokens"].max()), int(found["mask"].sum()), found["short"][found["short"] < 0].shape, found["tokens"].unique().shape


@case
def of_functions():
    return torch.cond(x[0] == 0, lambda y: y + 1, lambda y: y - 1, (x[:3],)).shape


@case
def cut():
    image, of = x[:1000].view(1, 1, 20, 50).float(), torch.nn.functional
    parts = of.unfold(image, 3), of.fold(of.unfold(image, 2), (20, 50), 2), torch.block_diag(x[:4].view(2, 2), x[:9].view(3, 3)), torch.diag_embed(x[:6].view(2, 3)), torch.rot90(x[:6].view(2, 3))
    pools = of.avg_pool2d(image, 2, divisor_override=1), of.max_pool3d(image[None], (1, 2, 2)), of.adaptive_max_pool2d(image, 5), of.pixel_shuffle(image.view(1, 4, 10, 25), 2)
    sums = torch.segment_reduce(x[:10].float(), "sum", lengths=torch.tensor([3, 7], device=dev)), torch.fmax(x[:9], x[9:18]), torch.hypot(image, image), torch.nanmedian(image)
    return [int((one * torch.arange(one.numel(), device=dev).view(one.shape)).sum()) for one in (*parts, *pools, *sums)]


@case
def exact_products():
    seen = torch.nn.functional.one_hot(x[:300] % 9, 9).float()
    edges = (x[:400].view(20, 20) > 80).float()
    first = torch.ones(300, 300, device=dev).tril() @ seen
    twice = edges @ edges
    return (
        (seen.T @ seen).long().tolist(), first[-1].tolist(), twice.nonzero().shape, int((edges @ twice).max()), torch.einsum("ij,kj->ik", seen[:5], seen[:5]).sum().item(),
        torch.dot(seen[:, 0], seen[:, 1]).item(), torch.baddbmm(edges[None], edges[None], edges[None]).nonzero().shape, torch.cov(x.view(2, 500).double()).shape,
    )


@case
def lists_with_factors():
    parts = [x[:5].float(), x[5:9].float()]
    torch._foreach_addcmul_(parts, parts, parts, value=2)
    torch._foreach_addcdiv_(parts, [one + 2 for one in parts], [one + 1 for one in parts], [1.0, 2.0])
    return [one.long().tolist() for one in (*parts, *torch._foreach_addcmul(parts, parts, parts, [1.0, 2.0]))]


@case
def sums_of_sparse():
    a = torch.sparse_coo_tensor((x[:400] % 30).view(2, 200), torch.ones(200, device=dev), (30, 30)).coalesce()
    return torch.sparse.sum(a, 1).to_dense().gt(5).nonzero().shape, torch.sparse.sum(a, 0)._nnz(), torch.sparse.sum(a, (0, 1)).item(), int(torch.sparse.sum(a, 1).to_dense().max())


@case
def kept_for_backward():
    seen, rows = [], x[:8] % 5
    keep = lambda one: (seen.append(int(one.max())), one.cpu())[1]
    bring = lambda one: (seen.append(one.to(dev).nonzero().shape), one.to(dev))[1]
    with torch.autograd.graph.saved_tensors_hooks(keep, bring):
        torch.ones(5, 4, device=dev, requires_grad=True).index_select(0, rows).sum().backward()
    return seen


@case
def expressions_that_differ_by_one_number():
    y = x[:64].view(8, 8)
    return [torch.equal(*pair) for pair in ((y.sum(-1), y.sum(-2)), (y + -1, y + -2), (y.flip(-1), y.flip(-2)), (y + -1, y + -1), (y * 1, y * True))]


@case
def lists_of_sparse():
    a = torch.sparse_coo_tensor((x[:8] % 5).view(2, 4), torch.ones(4, device=dev), (5, 5)).coalesce()
    torch._foreach_mul_([a], 2.0)
    return a._nnz(), [one._nnz() for one in torch._foreach_mul([a, a], 2.0)]


@case
def whole_numbers_multiplied():
    y = x[:6] % 5
    return torch.addr((y > 1).view(1, 6), y[:1] > -1, y > 2).tolist(), torch.addr(y.view(1, 6), y[:1], y).tolist(), y.lcm(y + 1).tolist()


@case
def numbers_in_func():
    ones = torch.ones(5, device=dev)
    step = lambda one: torch.true_divide(torch.multiply(torch.subtract(one, 1), 2), torch.subtract(x[:5], 7))
    return [one.shape for one in torch.func.jvp(step, (ones,), (ones,))], torch.subtract(x[:5], 1).multiply_(3).divide(2, rounding_mode="floor").tolist()
