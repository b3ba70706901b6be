"""graphs.py - a training step captured as a CUDA graph and replayed, and make_graphed_callables()."""
import torch
from torch import nn
from torch.nn import functional as F

model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Dropout(0.1), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.Adam(model.parameters(), capturable=True)
x = torch.randn(256, 1024, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = F.mse_loss(model(x), x)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = step()
for _ in range(5):
    graph.replay()
torch.cuda.synchronize()
layer = nn.Linear(1024, 1024).cuda()
graphed = torch.cuda.make_graphed_callables(layer, (x.clone().requires_grad_(True),))
graphed(x).sum().backward()
print("loss", loss.item())
