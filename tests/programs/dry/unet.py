"""unet.py - one training step of a diffusion U-Net: group norm, SiLU, transposed convolutions, attention at the lowest level; batch 8, 128 x 128."""
import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    def __init__(self, channels_in, channels):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, channels_in), nn.Conv2d(channels_in, channels, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(32, channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.short = nn.Conv2d(channels_in, channels, 1) if channels_in != channels else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.short(x) + self.conv2(F.silu(self.norm2(y)))


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        self.first = nn.Conv2d(3, widths[0], 3, padding=1)
        self.down = nn.ModuleList(Residual(widths[max(0, i - 1)], w) for i, w in enumerate(widths))
        self.attention = nn.MultiheadAttention(widths[-1], 8, batch_first=True)
        self.middle = Residual(widths[-1], widths[-1])
        pairs = list(zip(widths[:0:-1], widths[-2::-1]))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in pairs)
        self.up = nn.ModuleList(Residual(2 * b, b) for _, b in pairs)
        self.last = nn.Conv2d(widths[0], 3, 3, padding=1)

    def forward(self, x):
        x, kept = self.first(x), []
        for i, block in enumerate(self.down):
            x = block(x)
            if i < len(self.down) - 1:
                kept.append(x)
                x = F.avg_pool2d(x, 2)
        flat = x.flatten(2).transpose(1, 2)
        x = self.middle(x + self.attention(flat, flat, flat, need_weights=False)[0].transpose(1, 2).view(x.shape))
        for rise, block in zip(self.rise, self.up):
            x = block(torch.cat((rise(x), kept.pop()), dim=1))
        return self.last(x)


model = UNet().cuda()
optimizer = torch.optim.Adam(model.parameters())
images = torch.randn(8, 3, 128, 128, device="cuda")
loss = F.mse_loss(model(images), torch.randn_like(images))
loss.backward()
optimizer.step()
print("loss", loss.item())
