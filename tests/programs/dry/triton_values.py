"""triton_values.py [cpu|cuda] - kernels of Triton that copy, count, look up, sort, loop and compute, and what a program reads of what they wrote.

Why: with "cpu" Triton's own interpreter runs them, with "cuda" a dry run has to give the same (long-dry-known.sh).

Invariants: none depends on the order in which programs of a grid run.  Real numbers are printed with two digits.
"""
import os
import sys

device = sys.argv[1]
if device == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton
import triton.language as tl


@triton.jit
def copies(a, to, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(to + i, tl.load(a + i, mask=i < n), mask=i < n)


@triton.jit
def lengths(starts, ends, out, total, most):
    at = tl.program_id(0)
    n = tl.load(ends + at) - tl.load(starts + at)
    tl.store(out + at, n)
    tl.atomic_add(total, n)
    tl.atomic_max(most, n)


@triton.jit
def table(indptr, lens, pages, out, B: tl.constexpr):
    at = tl.program_id(0)
    first, n = tl.load(indptr + at), tl.load(lens + at)
    j = n * 0
    while j < n:
        i = j + tl.arange(0, B)
        tl.store(out + first + i, tl.load(pages + at * 64 + i, mask=i < n), mask=i < n)
        j += B


@triton.jit
def odd(x, out, R: tl.constexpr, C: tl.constexpr):
    rows, columns = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + rows[:, None] * C + columns[None, :])
    s = tl.sort(v, 1)
    best = tl.argmax(v, 1)
    c = tl.cumsum(v.to(tl.int32), 1, reverse=True)
    tl.store(out + rows[:, None] * C + columns[None, :], c + s + best[:, None] + (v // 3) * (v % 3) + (v.to(tl.uint32, bitcast=True) >> 1).to(tl.int32))
    t = tl.trans(v)
    tl.store(out + R * C + columns[:, None] * R + rows[None, :], t ^ 5)
    tl.store(out + 2 * R * C + columns, tl.sum(tl.where(v > 0, v, 0), 0))


@triton.jit
def floats(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=float("-inf"))
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    e = e / tl.sum(e, 0)
    e = tl.sqrt(e) * tl.rsqrt(e + 1) + tl.log2(e + 2) - tl.sin(v) * tl.cos(v) + tl.abs(v)
    tl.store(out + i, e.to(tl.float16), mask=i < n)


@triton.jit
def bits(a, b, out, wide, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y = tl.load(a + i, mask=i < n, other=1), tl.load(b + i, mask=i < n, other=1)
    up, low = x.to(tl.uint32, bitcast=True), y.to(tl.uint32, bitcast=True) | 1
    tl.store(out + i, (up // low).to(tl.int32) + (up % low).to(tl.int32) + tl.maximum(x, y) - tl.minimum(x, y), mask=i < n)
    tl.store(out + n + i, tl.where(up < low, x << 2, y >> 3) + (x & y) + (x | y) + (x.to(tl.int8).to(tl.int32)), mask=i < n)
    tl.store(wide + i, x.to(tl.int64) * y + up.to(tl.int64) + (x == y).to(tl.int64), mask=i < n)
    tl.store(wide + n + i, (x.to(tl.float32) / 3).to(tl.int64) + tl.umulhi(up, low).to(tl.int64), mask=i < n)


@triton.jit
def while_(x, out, limit):
    n = tl.load(x + tl.program_id(0))
    k = n * 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        k += 1
    tl.store(out + tl.program_id(0), tl.minimum(k, limit))


a = torch.arange(50, dtype=torch.int32, device=device) * 3 - 20
to = torch.empty_like(a)
copies[lambda meta: (triton.cdiv(50, meta["B"]),)](a, to, 50, B=16)
print("copies", to.tolist())
s, e = torch.tensor([3, 5, 9], device=device), torch.tensor([10, 6, 29], device=device)
out, total, most = (torch.zeros(n, dtype=torch.int64, device=device) for n in (3, 1, 1))
lengths[(3,)](s, e, out, total, most)
print("lengths", out.tolist(), total.item(), most.item())
indptr = torch.zeros(4, dtype=torch.int64, device=device)
indptr[1:] = out.cumsum(0)
pages = torch.arange(3 * 64, device=device).view(3, 64)
tb = torch.empty(int(indptr[-1]), dtype=torch.int64, device=device)
table[(3,)](indptr, out, pages, tb, 4)
print("table", tb.tolist())
x = (torch.arange(32, dtype=torch.int32, device=device) * 7 % 13 - 4).view(4, 8)
o = torch.empty(72, dtype=torch.int32, device=device)
odd[(1,)](x, o, 4, 8)
print("odd", o.tolist())
f = torch.arange(10, device=device) / 4
g = torch.empty(10, dtype=torch.float16, device=device)
floats[(1,)](f, g, 10, 16)
print("floats", [round(v, 2) for v in g.tolist()])
b = a.flip(0).contiguous() * 1234567
narrow, wide = torch.zeros(100, dtype=torch.int32, device=device), torch.zeros(100, dtype=torch.int64, device=device)
bits[(1,)](a, b, narrow, wide, 50, 64)
print("bits", narrow.tolist(), wide.tolist())
w = torch.arange(1, 20, device=device)
v = torch.empty_like(w)
while_[(19,)](w, v, 17)
print("while", v.tolist())
v[v > 5] = 1
print("after", v.sum().item(), v[v == 1].shape)
