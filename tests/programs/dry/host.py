"""host.py - models that are built on the host: 1.6 GB of weights that only leave it, 1.6 GB that become bf16 there, and 400 MB that are read there."""
import resource

import torch
from torch import nn

nn.Linear(20000, 20000, bias=False).cuda()
nn.Linear(20000, 20000, bias=False).bfloat16().cuda()
read = torch.randn(100_000_000)
print("largest", read.max().item())
zeros = torch.zeros(1_000_000_000)
assert zeros[::1000].sum().item() == 0
assert torch.ones(2_000_000).zero_().sum().item() == 0
assert torch.ones(2_000_000).sum().item() == 2_000_000
print("resident MiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
