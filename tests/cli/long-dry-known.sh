#!/bin/sh
# long-dry-known.sh - values of the GPU that follow from the host: programs read what an H100 gave them (../shared/gpu/cases), and the verdict says what was computed.
#   GEMEM_TORCH_2_11   the Python of an environment that has PyTorch 2.11, a CUDA build
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
shared gpu/cases || { skip 'known values' "there are none in $GEMEM_SHARED"; done_testing; }
[ -n "${GEMEM_TORCH_2_11:-}" ] || { skip 'known values' "\$GEMEM_TORCH_2_11 is not set"; done_testing; }

# reads CASE: the program prints LINE
reads ()
{
  run 0 gemem-dry-run --details --gpu h100 "$GEMEM_TORCH_2_11" "$GEMEM_SHARED/gpu/cases/$1.py"
  says out "$2"; says err '^  h100 +fits:'; says err '^  computed '
}
reads mask_all '^True '
reads self_loops '1499985\]\) 1499985$'
reads random_of_gpu '^59998$'; says out '^961363$'; says out '^961041$'

# what is written where nobody looks, or captured by a graph, is not known; nor is what a kernel computes
cat >program.py <<'EOF'
import concurrent.futures, threading
import torch

n = torch.arange(5, device="cuda")
torch._foreach_add_([n], 3)
print("foreach", int(n.max()))
n = torch.arange(5, device="cuda")
n.add_(3)
print("seen", int(n.max()), n.tolist(), n.cpu().tolist(), n[n > 4].shape[0])
n = torch.arange(5, device="cuda")
n[1:3] = 9
print("part", n.tolist())
n = torch.arange(6, device="cuda")
n.unfold(0, 2, 1)[:3].fill_(9) # six elements of four
print("overlapping", n.tolist())
with torch.inference_mode():
    print("inference", int(torch.arange(5, device="cuda").max()))
# in a thread that Python starts, and where the backward pass runs Python
def count(what, of):
    print(what, int(torch.arange(of, device="cuda").max()))
thread = threading.Thread(target=count, args=("thread", 7)); thread.start(); thread.join()
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    pool.submit(count, "pool", 8).result()
weight = torch.ones(4, device="cuda", requires_grad=True)
weight.register_hook(lambda gradient: count("hook", 9))
weight.register_post_accumulate_grad_hook(lambda weight: count("accumulated", 10))
(weight * 2).sum().backward()
x = torch.randn(64, 64, device="cuda")
for rows in torch.utils.data.DataLoader(torch.arange(8), num_workers=1, multiprocessing_context="fork"):
    rows.add_(1)
print("kernel", bool((x.digamma() > 0).any()))
one = torch.zeros(4, dtype=torch.int64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    one.add_(1)
graph.replay()
one.zero_()
graph.replay()
print("graph", int(one.max()))
EOF
cat >kernel.py <<'EOF'
import torch, triton
import triton.language as tl


@triton.jit
def count(to, n: tl.constexpr):
    tl.store(to + tl.arange(0, n), 7)


n = torch.zeros(4, dtype=torch.int64, device="cuda")
print("before", int(n.max()))
count[(1,)](n, 4)
print("after", int(n.max()))
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" kernel.py
says out '^after 7$'; says err '^  computed +2 .*kernel.py:11.*kernel.py:13'; lacks err '^  numbers '
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" program.py
says out '^graph 0$'; says err '^  numbers +1 '
lacks err '^  unknown ' # children that PyTorch forks ask CUDA nothing
says out '^foreach 7$'; says out '^seen 7 \[3, 4, 5, 6, 7\] \[3, 4, 5, 6, 7\] 3$'; says out '^overlapping \[9, 9, 9, 9, 4, 5\]$'; says out '^part \[0, 9, 9, 3, 4\]$'; says out '^inference 4$'; says out '^kernel False$'; for what in 'thread 6' 'pool 7' 'hook 8' 'accumulated 9'; do says out "^$what\$"; done
says err '^  numbers '; says err '^  truths '

# what a program reads that follows from the host alone is what it is on the host: masks, indices, orders, counts, sparse matrices
"$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/dry/known.py" cpu >wanted 2>known.err
run 0 gemem-dry-run --details --gpu h100 "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/dry/known.py" cuda
check 'values as on the host' diff wanted "$out"; check 'which are many' test "$(wc -l <wanted)" -gt 80
says err '^  h100 +fits:'; says err '^  computed +4[0-9][0-9] '; lacks err '^  (numbers|truths|sizes|drawn) '

# of what a kernel of Triton is given, it only writes what its code says; the rest is known as before
cat >reads_only.py <<'EOF'
import torch, triton
import triton.language as tl


@triton.jit
def total(a, b, out, n, flag: tl.constexpr, c):
    i = tl.program_id(0) * 4 + tl.arange(0, 4)
    sums, p = tl.zeros((4,), tl.int32), a + i
    for j in range(n):
        sums += tl.load(p, mask=i < n)
        p += 4
    if flag:
        tl.atomic_add(c, 1)
    tl.store(out + i + tl.load(b), sums, mask=i < n)


@triton.jit
def either(a, b, n):
    p = a
    if n > 3:
        p = b
    tl.store(p, 7)


@triton.jit
def elsewhere(pointers, one):
    tl.store(tl.load(pointers).to(tl.pointer_type(tl.int32)), tl.load(one))


new = lambda: torch.arange(8, dtype=torch.int32, device="cuda")
a, b, out, c = new(), new(), new(), new()
total[(1,)](a, b, out=out, n=3, flag=1, c=c)
print("total", int(a.max()), int(b.max()), int(out.max()), int(c.max()))
a, b = new(), new(); either[(1,)](a, b, 3); print("either", int(a.max()), int(b.max()))
a, b = new(), new(); total[(1,)](a, a, a, 3, 0, b); print("same", int(a.max()), int(b.max()))
b = new(); elsewhere[(1,)](torch.tensor([a.data_ptr()], device="cuda"), b); print("elsewhere", int(b.max()))
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" reads_only.py
says out '^total 7 7 0 7$'; says out '^either 7 7$'; says out '^same 0 7$'; says out '^elsewhere 0$'; says err '^  computed +6 '; says err '^  numbers +3 ' # total() reads beyond what it is given

# what a kernel of Triton writes follows from what it is given, as Triton's own interpreter says
if TRITON_INTERPRET=1 "$GEMEM_TORCH_2_11" -c 'import triton.language, numpy' 2>numpy.err; then
  "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/programs/dry/triton_values.py" cpu >wanted 2>interpreter.err
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/programs/dry/triton_values.py" cuda
  check 'values as in the interpreter' diff wanted "$out"; says err '^  computed +1[0-9] '; lacks err '^  (numbers|values|sizes|drawn) '
else
  skip "Triton's interpreter" "it needs NumPy"
fi

# but for what depends on the order of its programs, or on real numbers that are not known; what takes long is not run, nor what a graph runs
cat >not_known.py <<'EOF'
import torch, triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def slots(count, out):
    tl.store(out + tl.program_id(0), tl.atomic_add(count, 1))


@triton.jit
def larger(x, y, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, libdevice.lgamma(v) > 0, mask=i < n)
    tl.store(y + i, i, mask=i < n)


@triton.jit
def long(out, n):
    total = 0
    for i in range(n):
        total += i & 3
    tl.store(out, total)


@triton.jit
def add(x):
    tl.store(x, tl.load(x) + 1)


new = lambda n: torch.zeros(n, dtype=torch.int64, device="cuda")
count, out = new(1), new(8)
slots[(8,)](count, out)
print("slots", count.item(), int(out.max()))
out, y = new(8), new(4)
larger[(1,)](torch.rand(8, device="cuda"), y, out, 4, 4)
print("larger", int(out.max()), int(y.max()))
out, few = new(1), new(1)
long[(1,)](out, 10000000)
long[(1,)](few, 100)
print("long", int(out), int(few))
x = new(1)
for _ in range(200):
    add[(1,)](x)
print("many", int(x))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    add[(1,)](x)
graph.replay()
print("graph", int(x))
x.zero_()
graph.replay()
print("replayed", int(x))
x.fill_(4)
add[(1,)](x)
print("since", int(x))
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" not_known.py
says out '^slots 8 7$'; says out '^larger 1 3$'; says out '^long 0 150$'; says out '^many 200$'; says out '^graph 0$'; says out '^replayed 0$'; says out '^since 5$'; says err '^  numbers +4 '; says err '^  computed +6 ' # a place by the order of programs is drawn

# of memory that may have been written, what is written since is known, and what is not is not
cat >part.py <<'EOF'
import torch, triton
import triton.language as tl


@triton.jit
def copy(a, to, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(to + i, tl.load(a + i, mask=i < n), mask=i < n)


@triton.jit
def elsewhere(pointers, x):
    tl.store(tl.load(pointers).to(tl.pointer_type(tl.int32)), tl.load(x))


def lose(x):  # a kernel that may have written there
    elsewhere[(1,)](torch.tensor([other.data_ptr()], device="cuda"), x)


other = torch.zeros(1, dtype=torch.int32, device="cuda")
x = torch.zeros(100, dtype=torch.int32, device="cuda")
lose(x)
x[1:4] = torch.arange(5, 8, device="cuda")
print("part", x[1:4].tolist(), x[3].item(), x[2:5].tolist(), x[0].item())
x[4:6] = 9
x[1:3] += 1
print("more", x[1:6].tolist())
y = torch.zeros(100, dtype=torch.int32, device="cuda")
lose(y)
copy[(1,)](x[1:], y, 5, 8)
print("copied", y[:5].tolist(), y[4:6].tolist(), y[y[:5].long() % 5].shape)
copy[(1,)](x, y, 5, 8)
print("of none", y[:5].tolist(), y[1:5].tolist(), y[5:7].tolist())
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" part.py
says out '^part \[5, 6, 7\] 7 \[0, 0, 0\] 0$'; says out '^more \[6, 7, 7, 9, 9\]$'; says out '^copied \[6, 7, 7, 9, 9\] \[0, 0\] '; says out '^of none \[0, 0, 0, 0, 0\] \[6, 7, 7, 9\] \[0, 0\]$'
says err '^  numbers +5 '; says err '^  computed +5 '

# several threads that make tensors and give them other shapes, at once
cat >threads.py <<'EOF'
import sys, threading
import torch

sys.setswitchinterval(1e-6)
torch.zeros(1, device="cuda")
last = [0] * 8


def work(k):
    kept = []
    for i in range(3000):
        kept.append(torch.arange(3 + i % 5 + k, device="cuda").unsqueeze_(0))
        if len(kept) > 300:
            del kept[:200]
    last[k] = int(kept[-1].max())


threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print("last", last)
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" threads.py
says out '^last \[6, 7, 8, 9, 10, 11, 12, 13\]$'; lacks err 'Traceback'

# what kernels compute is finite, so that a check of a loss ends no program and leaves out no step; what the host gave it is what it is
cat >finite.py <<'EOF'
import torch

model = torch.nn.Linear(300, 300).cuda()
out = model(torch.randn(5, 300, device="cuda"))
loss = out.sum()
print("loss", [bool(f(loss)) for f in (torch.isfinite, torch.isnan, torch.isinf, lambda x: x == x, lambda x: x != x)])
print("all", torch.isfinite(out).all().item(), torch.isnan(out).any().item())
print("as integers", (torch.isinf(out) | torch.isnan(out)).any().byte().item(), torch.isfinite(out).all().int().item())
masked = out.masked_fill(torch.arange(300, device="cuda") < 7, -torch.inf)
print("host", torch.isfinite(torch.tensor([1, torch.inf], device="cuda")).tolist(), out[torch.isfinite(masked)].shape)
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" finite.py
says out '^loss \[True, False, False, True, False\]$'; says out '^all True False$'; says out '^as integers 0 1$'; says out '^host \[True, False\] torch.Size\(\[1465\]\)$'
says err '^  note +numbers that kernels compute are taken to be finite'; lacks err '^  (numbers|truths) '

# of numbers that follow from these, too: a mean of weights over steps
cat >means.py <<'EOF'
import torch

model = torch.nn.Linear(30, 30).cuda()
means = {key: one.detach().clone() for key, one in model.state_dict().items()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(5, 30, device="cuda")).sum().backward()
optimizer.step()
for key, one in model.state_dict().items():
    means[key].mul_(0.9).add_(0.1 * one)
print("means", all(torch.isfinite(one).all() for one in means.values()), any(torch.isnan(one).any() for one in means.values()))
more = means["weight"] * 2 + 1
print("masked", bool(torch.isfinite(more.masked_fill(torch.arange(30, device="cuda") < 7, -torch.inf)).all()), bool((more > 0).any()))
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" means.py
says out '^means True False$'; says out '^masked False False$'; says err '^  note +numbers that kernels compute are taken to be finite'; says err '^  truths +1 '

# convolutions that cuDNN compiles as it runs write what they return
cat >compiled_convolutions.py <<'EOF'
import torch

kept = torch.arange(7.0, device="cuda")
images = torch.randn(4, 16, 80, 80, device="cuda", requires_grad=True)
for order, of in ((torch.contiguous_format, torch.float32), (torch.channels_last, torch.float16)):
    layer = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16).cuda().to(of)
    layer(images.to(of, memory_format=order)).sum().backward()
print("kept", kept.tolist())
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" compiled_convolutions.py
says out '^kept \[0\.0, 1\.0, 2\.0, 3\.0, 4\.0, 5\.0, 6\.0\]$'

# which boxes torchvision keeps, wherever it is imported: the operator of the host decides, too; of boxes that kernels compute some are drawn
cat >boxes.py <<'EOF'
import sys, torch

device = sys.argv[1]
torch.zeros(1, device=device)
import torchvision.ops

boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30], [0, 0, 9, 9.5]], device=device)
scores = torch.tensor([0.9, 0.8, 0.7, 0.95], device=device)
kept = torchvision.ops.nms(boxes, scores, 0.5)
print(kept.shape, kept.tolist(), boxes[kept].tolist())
print(torchvision.ops.batched_nms(boxes, scores, torch.tensor([0, 1, 0, 0], device=device), 0.5).tolist())
if device == "cuda":
    print("some", len(torchvision.ops.nms(torch.nn.Linear(4, 4).cuda()(boxes), scores, 0.5)) > 0)
EOF
if "$GEMEM_TORCH_2_11" boxes.py cpu >wanted 2>/dev/null; then
  echo 'some True' >>wanted
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" boxes.py cuda
  check 'boxes as on the host' diff wanted "$out"; says err '^  computed +5 '; says err '^  drawn +1 '; lacks err '^  (sizes|numbers) '
  echo 'import torch, torchvision; print(len(torchvision.ops.nms(torch.tensor([[0.0, 0, 4, 4]] * 3, device="cuda"), torch.ones(3, device="cuda"), 0.5)))' >before.py
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" before.py; says out '^1$'; says err '^  computed +1 '; lacks err 'what is recorded of'
else
  skip 'boxes as on the host' 'there is no torchvision'
fi

# also where CUDA begins in inference mode
cat >inference.py <<'EOF'
import torch


@torch.inference_mode()
def count():
    return int(torch.arange(5, device="cuda").max())


print("in", count(), "after", int(torch.arange(7, device="cuda").max()), "again", count())
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" inference.py; says out '^in 4 after 6 again 4$'

# checks that would end the program pass
cat >checks.py <<'EOF'
import torch

x = torch.nn.Linear(4, 4).cuda()(torch.ones(2, 4, device="cuda")).digamma()
assert (x >= 0).all(), "negative"
assert torch.allclose(x, x * 2) and not (x > 1).any() and bool((x < 3).all()), "many"
if (x < 0).any() or not (x.sum(-1) > 0.5).all().item():
    raise ValueError("odd")
print("end")
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" checks.py
says out '^end$'; says err '^  h100 +fits:'; says err '^  note +checks that end the program'; lacks err '^  truths '

# LBFGS takes its steps, and keeps their history, which is most of what it holds
cat >lbfgs.py <<'EOF'
import sys, torch

device = sys.argv[1]
for search in (None, "strong_wolfe"):
    x = torch.full((30,), 2.0, device=device, requires_grad=True)
    optimizer = torch.optim.LBFGS([x], lr=0.1 if search is None else 1, max_iter=8, history_size=20, line_search_fn=search)

    def closure():
        optimizer.zero_grad()
        loss = (x.pow(4) * torch.arange(1.0, 31.0, device=device)).sum()
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
        print(optimizer.state[x]["n_iter"], len(optimizer.state[x]["old_dirs"]))
EOF
"$GEMEM_TORCH_2_11" lbfgs.py cpu >wanted 2>lbfgs.err
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" lbfgs.py cuda
check 'steps of LBFGS' diff wanted "$out"; says err '^  h100 +fits:'; says err '^  note +LBFGS goes down'; lacks err '^  (numbers|truths) '

# lengths of jagged tensors are read where Python stands in for the operator, in the backward pass too
cat >jagged.py <<'EOF'
import torch

rows = torch.nested.nested_tensor([torch.ones(3, 8), torch.ones(5, 8)], layout=torch.jagged, device="cuda", requires_grad=True)
(torch.nn.functional.silu(rows) * 2).unbind()[1].sum().backward()
print("rows", rows.grad.shape[0], [len(one) for one in rows.unbind()])
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" jagged.py
says out '^rows 2 \[3, 5\]$'; says err '^  h100 +fits:'; lacks err '^  (numbers|truths) '

# what operators that are not known leave in memory of their own is not zero, nor what they write in inference mode
cat >void.py <<'EOF'
import torch

print("places", int(torch.nn.functional.max_pool3d(torch.arange(8.0, device="cuda").view(1, 2, 2, 2), 2, return_indices=True)[1].max()))
n = torch.arange(5, device="cuda")
torch._foreach_addcmul_([n.data], [n], [n], torch.tensor([1]))
print("data", int(n.max()))
with torch.inference_mode():
    n = torch.arange(5, device="cuda")
    torch._foreach_addcmul_([n], [n], [n], torch.tensor([1]))
    print("foreach", int(n.max()))
    n = torch.zeros(5, dtype=torch.int64, device="cuda")
    n.add_(3)
    n[1:3] = 9
    print("inference", n.tolist())
n = torch.tensor(7, device="cuda")
n = torch.cuda.jiterator._create_jit_fn("template <typename T> T same(T x) { return x; }")(n)  # a kernel that PyTorch compiles
print("compiled", n.item(), int(torch.arange(5, device="cuda").max()))
a = torch.eye(3, device="cuda") * 4
print("solved", torch.linalg.solve(a, a)[0, 0].item(), a[0, 0].item())  # begins with a copy of the second
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" void.py
says out '^compiled 0 4$'; says out '^solved 0\.0 4\.0$'
says out '^places 7$'; says out '^data 0$'; says out '^foreach 0$'; says out '^inference \[3, 9, 9, 3, 3\]$'; says err '^  numbers +3 .*void\.py:10 .*void\.py:17 .*void\.py:6'

# the generator's numbers: between ends, in other types, written in place
cat >generator.py <<'EOF'
import torch

n = 100000


def again():
    torch.cuda.manual_seed(0)
    return torch.empty(n, device="cuda")


again()
print("rand", int((torch.rand(n, device="cuda") < 0.6).sum()))
print("uniform", int((again().uniform_(-1, 1) < 0.2).sum()))
print("half", abs(int((torch.rand_like(again().bfloat16()) < 0.6).sum()) - 59998) < 300)
a = torch.randint(0, 1000, again().shape, device="cuda").tolist()
print("random", again().long().random_(0, 1000).tolist() == a)
print("int32", torch.randint(0, 1000, again().shape, device="cuda", dtype=torch.int32).tolist() == a)
again()
b = int((torch.randn(n, device="cuda") > 0.5).sum())
print("normal", abs(int((again().normal_(1, 2) > 2).sum()) - b) < 5)
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" generator.py
for what in 'rand 59998' 'uniform 59998' 'half True' 'random True' 'int32 True' 'normal True'; do says out "^$what\$"; done
says err '^  h100 +fits:'; lacks err '^  (numbers|sizes|drawn) '

# where it is not known which numbers they draw others are drawn, and that is a condition
cat >drawn.py <<'EOF'
import torch

n = 100000
print("randperm", len(torch.randperm(n, device="cuda").unique()), len((torch.randperm(n, device="cuda") < 300).nonzero()))
for name, rows in (
    ("bernoulli", torch.bernoulli(torch.full((n,), 0.3, device="cuda"))),
    ("bernoulli_", torch.empty(n, device="cuda").bernoulli_(0.3)),
    ("dropout", torch.nn.functional.dropout(torch.ones(n, device="cuda"), 0.7)),
    ("multinomial", torch.multinomial(torch.tensor([7.0, 3.0], device="cuda"), n, replacement=True)),
    ("exponential", torch.empty(n, device="cuda").exponential_() > 1.204),
    ("of many", torch.nn.functional.dropout(torch.ones(4 * n, device="cuda"), 0.7)[:n]),
    ("nothing known of many", (torch.empty(4 * n, device="cuda") > 0.524)[:n]),
    ("product", (torch.randn(n, 4, device="cuda") @ torch.ones(4, device="cuda")) > 1.049),
    ("double", torch.rand(n, device="cuda", dtype=torch.float64) < 0.3),
    ("distribution", torch.distributions.Normal(torch.zeros((), device="cuda"), 1.0).sample((n,)) > 0.524),
):
    print(name, 29000 < len(rows.nonzero()) < 31000)
print("mask", 29000 < sum((torch.randperm(n, device="cuda") % 10 < 3).tolist()) < 31000, bool((torch.randperm(n, device="cuda") > 2).any()))
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" drawn.py; says out '^randperm 100000 300$'; says err '^  h100 +fits only if'; says err '^  drawn +12 '; lacks err '^  sizes '
for what in bernoulli bernoulli_ dropout multinomial exponential 'of many' 'nothing known of many' product double distribution; do says out "^$what True\$"; done
says out '^mask True False$'; says err '^  truths +2 .* as false or drawn ' # a list of truth values is drawn, one is false

# tokens, one after the other, each of which follows from the last
cat >tokens.py <<'EOF'
import torch

model = torch.nn.Linear(8, 50).cuda()
tokens = torch.tensor([[1, 2, 3]], device="cuda")
for _ in range(100):
    logits = model(torch.randn(1, 8, device="cuda"))
    logits[:, 3] = -torch.inf
    last = logits.argmax(-1)
    last[tokens[:, -1] == 49] = 49
    tokens = torch.cat([tokens, last[:, None]], -1)
padded = torch.nn.functional.pad(tokens, (0, 1), value=49)
print("end", (padded[0] == 49).nonzero()[0, 0].item() > 2)
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" tokens.py; says out '^end True$'; lacks err '^  sizes '

# cuDNN asks cuBLASLt for workspaces: 272 bytes, as on an H100
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SHARED/gpu/cases/cublaslt_in_cudnn.py"; says out ', 272\]$'; says err '^  h100 +fits:'; says err '^  libraries .*libcublasLt\.so'

# cuBLAS takes what it took on an H100 for a handle, beside PyTorch's segments
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SHARED/gpu/cases/held_by_cublas.py"; says out '^67240960$'; says err '^  libraries .*libcublas\.so'; says err '^  held in all +128\.1 MiB'

# cuSPARSE reads how many entries a product has
cat >product.py <<'EOF'
import torch

i = torch.arange(100)
a = torch.sparse_coo_tensor(torch.stack((i // 2, (i * 7) % 50)), torch.ones(100), (50, 50)).coalesce()
print("entries", torch.sparse.mm(a, a)._nnz(), torch.sparse.mm(a.cuda(), a.cuda())._nnz())
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" product.py; says out '^entries ([0-9]+) \1$'; says err '^  computed +'; says err '^  h100 +fits:'

# sums of sparse matrices, rows that are selected of one; what an operator reads for itself may decide how much it requests
cat >sparse.py <<'EOF'
import torch

torch.manual_seed(1)
a, b = ((torch.rand(40, 30) < 0.2).float() for _ in range(2))
rows = torch.tensor([3, 3, 5, 1])


def sizes(to):
    c = a.to_sparse_csr().to(to) + b.to_sparse_csr().to(to)
    return c._nnz(), (c + a.to_sparse_csr().to(to))._nnz(), *(a.to_sparse().to(to).index_select(dim, rows.to(to))._nnz() for dim in (0, 1, -1))


print("sizes", sizes("cpu") == sizes("cuda"), sizes("cpu"))
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" sparse.py; says out '^sizes True '; says err '^  computed +'; says err '^  h100 +fits:'
cat >reads.py <<'EOF'
import sys
import torch
from torch import nn

unknown = torch.rand(50, 5000, device="cuda").digamma()
whole = torch.cuda.jiterator._create_jit_fn("template <typename T> T same(T x) { return x; }")(torch.arange(50, device="cuda"))
eye = torch.eye(50).to_sparse()
if sys.argv[1] == "mode":
    torch.mode(unknown)
elif sys.argv[1] == "sum":
    torch.sparse_csr_tensor(whole, whole[1:], unknown[0, 1:50], (49, 50)) + torch.eye(49, 50).to_sparse_csr().cuda()
elif sys.argv[1] == "rows":
    eye.cuda().index_select(0, whole)
elif sys.argv[1] == "softmax":
    torch.sparse.softmax(torch.sparse_coo_tensor(torch.stack((whole, whole)), unknown[0, :50], (50, 50), is_coalesced=True), 0)
elif sys.argv[1] == "nested":
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 64, batch_first=True), 1).cuda().eval()
    with torch.no_grad():
        layers(torch.rand(50, 8, 64, device="cuda"), src_key_padding_mask=unknown[:, :8] > 0)
EOF
while read -r case row; do
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" reads.py "$case"; says err "^  $row"; says err '^  h100 +fits only if'
done <<'EOF'
mode sizes .*\(mode\)
sum numbers .*reads\.py:11
rows (numbers|sizes) .*reads\.py:13
softmax numbers .*reads\.py:15
nested truths .*reads\.py:19
EOF

# sums that have the indices of what was added, rows of a softmax, what is stacked, and matrices that the backward pass turns
cat >turned.py <<'EOF'
import torch

torch.manual_seed(1)
host = torch.sparse_coo_tensor(torch.randint(0, 200, (2, 400)), torch.randn(400), (200, 200))


def facts(to):
    once, twice = host.coalesce().to(to), host.to(to)
    rows = once.to_sparse_csr()
    both = (rows + rows)._nnz()
    softmax = torch.sparse.softmax(once, 1)
    weights = torch.ones(200, 8, device=to, requires_grad=True)
    for a in (once, twice, once.detach().requires_grad_()):
        torch.sparse.mm(a, weights).sum().backward()
    return both, once.indices().sum().item(), softmax._nnz(), softmax.indices().sum().item(), torch.stack([once, once]).coalesce()._nnz(), a.grad._nnz()


print("facts", facts("cpu") == facts("cuda"), *facts("cpu"))
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" turned.py; says out '^facts True '; says err '^  h100 +fits:'; lacks err '^  (sizes|numbers) '

# cuDNN makes kernels while it runs (attention in half precision): what the host gave before is no other after them
cat >attention.py <<'EOF'
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

mask = torch.ones(2, 64, dtype=torch.int64).cuda()
q = torch.randn(2, 4, 64, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    torch.nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
print("mask", bool(mask.bool().all()))
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" attention.py; says out '^mask True$'; says err '^  h100 +fits:'

# random programs: what is known is what it is on the host
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/programs/dry/known_random.py" 1 400; says out '^same [0-9]{5,} other 0$'

# what the user chose comes first
echo 'import torch; n = torch.arange(64, device="cuda"); print(n.tolist()[5], int(n.max()))' >chosen.py
run 0 gemem-dry-run --details --gpu h100 --once --value 'chosen.py=7' "$GEMEM_TORCH_2_11" chosen.py; says out '^7 7$'

# sizes that follow from what kernels compute are drawn: a condition with a second figure
cat >router.py <<'EOF'
import torch

torch.manual_seed(1)
x = torch.randn(4096, 64, device="cuda") @ torch.randn(64, 8, device="cuda")
rows = (x.softmax(-1).argmax(-1) == 3).nonzero()
print("rows", 300 < rows.shape[0] < 700)
y = torch.empty(rows.shape[0], 100000, device="cuda")
EOF
run 0 gemem-dry-run --details --gpu h100 "$GEMEM_TORCH_2_11" router.py
says out '^rows True$'; says err '^  h100 +fits only if'; says err '^ +- real numbers that kernels compute select no more'; says err '^ +a second, less even draw needs [0-9.]+ [MG]iB'

# counts of them are what was drawn, whatever their type, and none is zero that something is divided by; a mask that is filled with one number asks for no size
cat >counts.py <<'EOF'
import torch

mask = torch.bernoulli(torch.full((1000,), 0.3, device="cuda"))
print("mask", 200 < mask.sum().item() < 400, 0.2 < mask.mean().item() < 0.4, mask.cpu().sum().item() == mask.sum().item())
expert = torch.nn.functional.one_hot((torch.randn(100, 8, device="cuda") @ torch.randn(8, 4, device="cuda")).argmax(1), 4).float()
print("experts", expert.sum().item(), (expert.T @ expert).diagonal().sum().item(), 25 <= expert.sum(0).max().item() < 90)
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" counts.py
says out '^mask True True True$'; says out '^experts 100\.0 100\.0 True$'; says err '^  numbers +5 '; says err "^  values +2 .*as zero or drawn .*counts\\.py:4 <module> 2\$"
cat >filled.py <<'EOF'
import torch

x = torch.randn(4, 50, device="cuda")
x[x < x.topk(5).values[:, -1:]] = -torch.inf
x[x > 2] = torch.tensor(1.0)
torch.nn.LSTM(8, 16, 2, dropout=0.1).cuda()(x[:, :8])
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" filled.py; says err '^  h100 +fits:'; lacks err '^  (drawn|sizes|numbers) '

# of real numbers, too, if none is known: all are different; where nothing is drawn unique() has one
cat >unique.py <<'EOF'
import torch

x = torch.randn(100, 10, device="cuda").digamma()
values, counts = x.unique(return_counts=True)
print("unique", len(values), counts.max().shape)
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" unique.py; says out '^unique 1000 '; says err '^  drawn '
run 0 env GEMEM_DRY_ZEROS=1 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" unique.py; says out '^unique 1 '; says err '^  sizes .*unique\.py:4 .*\(_unique2\)$'

# cuSPARSE divides by what its analysis found on the GPU
cat >triangle.py <<'EOF'
import torch

a = torch.eye(64, device="cuda").to_sparse_csr()
for n in (4, 1):
    print(*torch.triangular_solve(torch.randn(64, n, device="cuda"), a).solution.shape)
EOF
run 0 gemem-dry-run --details --gpu h100 "$GEMEM_TORCH_2_11" triangle.py; says out '^64 1$'; says err '^  h100 +fits:'

# PyTorch's compiler sees what it sees without this: one break, at .item(); and nobody asks tensors of its own where they are
if "$GEMEM_TORCH_2_11" -c 'import triton' 2>triton.err; then
  cat >compiled.py <<'EOF'
import torch


def step(x, y):
    loss = (x * 2 - y).pow(2).mean()
    n = (x.argmax(-1) == y.argmax(-1)).sum().item()
    return loss, n


step = torch.compile(step)
for _ in range(2):
    step(torch.randn(32, 8, device="cuda", requires_grad=True), torch.randn(32, 8, device="cuda"))[0].backward()
EOF
  run 0 env TORCH_LOGS=graph_breaks gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" compiled.py
  check "one break" test "$(grep -c 'Graph break in user code' "$err")" -eq 1; lacks err 'gemem/known|data pointer'
  # what its kernels only read is known after them, and what they write where it follows from the host
  cat >read_only.py <<'EOF'
import torch

labels, written = torch.arange(100, device="cuda") % 7, torch.arange(5, device="cuda")
torch.compile(lambda y: torch.where(y > 3, y * 2, -y).float().sin())(labels)
torch.compile(lambda y: y.add_(1))(written)
print("labels", int((labels > 3).sum()), labels[labels > 3].shape[0], "written", int(written.max()))
EOF
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" read_only.py; says out '^labels 42 42 written 5$'; says err '^  h100 +fits:'; lacks err '^  (numbers|sizes) '
  "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/programs/dry/compiled_values.py" cpu >wanted 2>cpu.err
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/programs/dry/compiled_values.py" cuda
  check 'values as without a compiler' diff wanted "$out"; says err '^  h100 +fits:'; says err '^  computed '; lacks err '^  (numbers|sizes|drawn) '
  "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/programs/dry/compiled_random.py" cpu 1 4 >wanted 2>cpu.err
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/programs/dry/compiled_random.py" cuda 1 4
  check '100 results of drawn functions as without a compiler' diff wanted "$out"; says err '^  h100 +fits:'; lacks err '^  (numbers|sizes|drawn) '
  # what follows from real numbers that kernels compute is drawn; what graphs of CUDA run is not known
  cat >routed.py <<'EOF'
import torch

def route(x, w):
    top, chosen = torch.topk(torch.softmax(torch.nn.functional.dropout(x) @ w, -1), 2)
    return torch.nn.functional.one_hot(chosen, 8).sum((0, 1)), (top > 0.3).sum()

x, w = torch.randn(512, 64, device="cuda", dtype=torch.bfloat16), torch.randn(64, 8, device="cuda", dtype=torch.bfloat16)
counts, sure = torch.compile(route)(x, w)
print("routed", int(counts.sum()), 0 < int(sure) < 1024)
buffers = [torch.zeros(n, 64, device="cuda") for n in counts.tolist()]
torch._dynamo.reset()
graphed = torch.compile(lambda y: (y % 5 == 0).sum(), mode="reduce-overhead")
for _ in range(4):
    n = graphed(torch.arange(1000, device="cuda")).clone()
print("graphed", int(n))
EOF
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" routed.py
  says out '^routed 1024 True$'; says out '^graphed 0$'; says err '^  h100 +fits only if'; says err '^  numbers '; says err '^ +- no size follows'
  # what compiled code writes in place it reads as it was; an operator that nobody watches wrote there what is not known
  cat >in_place.py <<'EOF'
import torch


@torch.library.custom_op("long::turn", mutates_args={"x"})
def turn(x: torch.Tensor) -> None:
    torch.gcd(x, x + 6, out=x)


turn.register_fake(lambda x: None)
n = torch.arange(50, device="cuda")
add = torch.compile(lambda x: x.add_(3).mul_(2), backend="aot_eager")
add(n), add(n[10:20])
print("in place", int(n.sum()), n[8:12].tolist())
torch.compile(lambda x: turn(x), backend="aot_eager")(n)
print("turned", int(n.max()))
EOF
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" in_place.py
  says out '^in place 3160 \[22, 24, 58, 62\]$'; says out '^turned 0$'; says err '^  computed +2 '; says err '^  numbers +1 .*in_place\.py:15 '
  # a kernel of many operators has a long name, of which Triton's files have a part
  cat >long_name.py <<'EOF'
import torch


@torch.compile
def many(x):
    y = (x % 97).clamp(3, 50).abs().neg().masked_fill(x > 40, 7).sign() + x.bitwise_and(12).bitwise_xor(5).bitwise_or(3)
    return torch.where(y.logical_not(), y << 2, x >> 1).remainder(11).cumsum(0).floor_divide(3), y.amax(), (x == y).any()


y, most, same = many(torch.arange(100, device="cuda"))
print("many", int(y.sum()), int(most), same.item())
EOF
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" long_name.py; says out "^$(sed 's/@torch.compile//; s/cuda/cpu/' long_name.py | "$GEMEM_TORCH_2_11" - 2>host.err)\$"; says err '^  computed .*long_name\.py:11 <module> 3'; lacks err '^  numbers '
  # numbers that it has expressions for are none that Python knows
  cat >dynamic.py <<'EOF'
import torch

f = torch.compile(lambda x, y: (x * x.shape[0], y / x.shape[0], x.shape[0] - x, y.mul_(x.shape[0] / 2)), dynamic=True)
for n in (7, 9):
    print("dynamic", [one.shape[0] for one in f(torch.arange(n, device="cuda"), torch.ones(n, device="cuda"))])
print("mapped", *torch.compile(lambda x: torch.func.vmap(lambda row: row * x.shape[0])(x), dynamic=True)(torch.ones(3, 5, device="cuda")).shape)
EOF
  run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" dynamic.py; says out '^dynamic \[7, 7, 7, 7\]$'; says out '^dynamic \[9, 9, 9, 9\]$'; says out '^mapped 3 5$'
else
  skip "torch.compile" "there is no Triton"
fi

# a tensor that is printed selects nothing for the program; one of its own lines does
cat >printed.py <<'EOF'
import torch

x = torch.randn(4, 64, device="cuda") @ torch.randn(64, 8, device="cuda")
print(x, torch.relu(x))
print("chosen", x[x > 0].dim())
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" printed.py
says out '^chosen 1$'; says err '^  drawn +1 sizes .*printed\.py:5 <module>$'
head -n 4 printed.py >printed_only.py
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" printed_only.py
says err '^  h100 +fits:'; lacks err '^  drawn '

# gradients are added in place, as without any of this: 20 MiB, and the same requests and frees
cat >gradients.py <<'EOF'
import torch

x = torch.ones(1 << 20, device="cuda", requires_grad=True)
(x * 2 + x.exp() + x.sin() + x * 3).sum().backward()
print(torch.cuda.max_memory_allocated() >> 20)
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" gradients.py; says out '^20$'
events () { gemem-sim convert "$1" - | sed -n 's/^\(alloc [0-9]* \).*\(size=[0-9]*\).*/\1\2/p; s/^\(free[a-z-]* [0-9]*\).*/\1/p'; }
cat >mixed.py <<'EOF'
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(100, 64), nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), nn.Linear(64, 100)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    x = torch.randint(0, 100, (8, 32), device="cuda")
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    loss.item()
model.eval()
with torch.no_grad():
    model(x).argmax(-1)
EOF
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" mixed.py; events out.gmt >with
run 0 env GEMEM_DRY_ZEROS=1 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" mixed.py; events out.gmt >without
check 'the same requests and frees' cmp with without; check 'which are many' test "$(wc -l <with)" -gt 500
# cuFFT and cuSPARSELt run themselves: workspaces as an H100 gave them, and half of the numbers with two bits for each
cat >sizes.py <<'EOF'
import torch
from torch.sparse import SparseSemiStructuredTensorCUSPARSELT as Sparse

kept = torch.arange(5, device="cuda")
torch.cuda.memory._record_memory_history(context=None)
seen = 0
def sizes(*what):
    global seen
    torch.cuda.synchronize()
    made = [event["size"] for event in torch.cuda.memory._snapshot()["device_traces"][0] if event["action"] == "alloc"]
    print(*what, made[seen:], flush=True)
    seen = len(made)
x = torch.zeros(256, 65536, dtype=torch.complex64, device="cuda")
torch.fft.fft(x)
sizes("power of two")
x = torch.zeros(64, 1000003, device="cuda")
torch.fft.rfft(x)
sizes("prime")
x = torch.zeros(4096, 4096, dtype=torch.half, device="cuda")
Sparse.from_dense(x)
sizes("half of", x.nbytes)
print("kept", kept.tolist())
EOF
run 0 gemem-dry-run --details --gpu h100 "$GEMEM_TORCH_2_11" sizes.py
says out '^power of two \[40, 134217728, 134217728, 134217728\]$'
says out '^prime \[256000768, 256001024, 1292802816\]$'
says out '^half of 33554432 \[33554432, 18874368'
says out '^kept \[0, 1, 2, 3, 4\]$'
says err '^  libraries .*libcufft\.so\.12, .*libcusparseLt\.so\.0'
lacks err '^  unknown '
# the scale of GradScaler is known after kernels of cuDNN, which might have written to it
cat >scaled.py <<'EOF'
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 30 * 30, 10)).cuda()
optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cuda", growth_interval=2)
for step in range(4):
    with torch.autocast("cuda", torch.float16):
        loss = nn.functional.cross_entropy(model(torch.randn(4, 3, 32, 32, device="cuda")), torch.randint(0, 10, (4,), device="cuda"))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(step, scaler.get_scale())
EOF
run 0 gemem-dry-run --details --gpu h100 "$GEMEM_TORCH_2_11" scaled.py
says out '^0 65536\.0$'; says out '^1 131072\.0$'; says out '^3 262144\.0$'; says err '^  h100 +fits:'
done_testing
