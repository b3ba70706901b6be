"""experts.py - one training step of a mixture of experts, top 2 of 8, in two ways: tokens gathered by nonzero(), whose sizes follow from values, and by a capacity."""
import torch
from torch import nn
from torch.nn import functional as F


class Experts(nn.Module):
    def __init__(self, width=512, inner=2048, count=8):
        super().__init__()
        self.router = nn.Linear(width, count)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width)) for _ in range(count))

    def by_values(self, x):
        """Each expert gets the tokens that chose it: nonzero() asks the device how many these are."""
        shares, chosen = self.router(x).softmax(-1).topk(2)
        result = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, ranks = (chosen == i).nonzero(as_tuple=True)
            result.index_add_(0, rows, expert(x[rows]) * shares[rows, ranks, None])
        return result

    def by_capacity(self, x, capacity=1024):
        """Each expert gets as many tokens as there is room for: sizes are fixed."""
        shares = self.router(x).softmax(-1)
        result = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            weights, rows = shares[:, i].topk(capacity)
            result.index_add_(0, rows, expert(x[rows]) * weights[:, None])
        return result


model = Experts().cuda()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(4096, 512, device="cuda")
for forward in (model.by_values, model.by_capacity):
    F.mse_loss(forward(x), x).backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
