"""lora.py - three training steps of low-rank adapters (rank 16) on frozen bf16 layers of width 4096."""
import torch
from torch import nn
from torch.nn import functional as F


class Adapted(nn.Module):
    def __init__(self, width, rank=16):
        super().__init__()
        self.frozen = nn.Linear(width, width, bias=False, dtype=torch.bfloat16).requires_grad_(False)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)

    def forward(self, x):
        return self.frozen(x) + self.up(self.down(x.float())).to(x.dtype)


model = nn.Sequential(*(layer for _ in range(8) for layer in (Adapted(4096), nn.GELU()))).cuda()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
x = torch.randn(4, 1024, 4096, device="cuda", dtype=torch.bfloat16)
for _ in range(3):
    F.mse_loss(model(x), x).backward()
    torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
