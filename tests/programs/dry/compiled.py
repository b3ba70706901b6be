"""compiled.py [BACKEND] - a training step under torch.compile: inductor (the default; makes kernels by Triton), aot_eager (traced, but not compiled), eager."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.LayerNorm(2048), nn.Linear(2048, 512)).cuda()
compiled = torch.compile(model, backend=sys.argv[1] if len(sys.argv) > 1 else "inductor")
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(256, 512, device="cuda")
for _ in range(2):
    F.mse_loss(compiled(x), x).backward()
    optimizer.step()
    optimizer.zero_grad()
print("done", torch.cuda.max_memory_allocated())
