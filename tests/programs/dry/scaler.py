"""scaler.py - three fp16 training steps with GradScaler: whether a step is taken depends on a value (found_inf) that is read from the device."""
import torch
from torch import nn
from torch.nn import functional as F

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler("cuda")
x = torch.randn(512, 1024, device="cuda")
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.mse_loss(model(x), x)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
print("scale", scaler.get_scale())
