"""host.py - models that are built on the host: 1.6 GB of weights that only leave it, 1.6 GB that become bf16 there, and 400 MB that are read there; images and
weights that change the order of their elements on the way."""
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

channels_last = torch.channels_last
images = torch.randn(16, 3, 224, 224)
for one in (
    images.to("cuda", memory_format=channels_last),
    images.to(torch.float16, memory_format=channels_last),
    torch.zeros(16, 3, 224, 224).to(torch.float16, memory_format=channels_last),
    nn.Conv2d(256, 256, 3).to(torch.bfloat16, memory_format=channels_last).weight,
):
    assert one.is_contiguous(memory_format=channels_last) and not one.is_contiguous()
print("resident MiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
