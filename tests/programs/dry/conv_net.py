"""conv_net.py - two training steps of a small residual network, and linear algebra, whose workspaces NVIDIA's libraries compute."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inner, outer, stride=1):
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)])
        self.side = nn.Conv2d(inner, outer, 1, stride, bias=False) if stride > 1 or inner != outer else nn.Identity()

    def forward(self, x):
        return (self.norms[1](self.second(self.norms[0](self.first(x)).relu())) + self.side(x)).relu()


net = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Block(64, 64), Block(64, 128, 2),
                    Block(128, 256, 2), Block(256, 512, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
for step in range(2):
    images, labels = torch.randn(32, 3, 224, 224, device="cuda"), torch.zeros(32, dtype=torch.long, device="cuda")
    nn.functional.cross_entropy(net(images), labels).backward()
    optimizer.step()
    optimizer.zero_grad()
print("reserved", torch.cuda.max_memory_reserved())
before = torch.cuda.memory_allocated()
torch.cuda.reset_peak_memory_stats()
torch.linalg.cholesky(torch.zeros(512, 512, device="cuda"))
print("cholesky", torch.cuda.max_memory_allocated() - before)
