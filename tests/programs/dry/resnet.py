"""resnet.py - one training step of ResNet-50 with SGD: batch 32, 224 x 224, fp32, convolutions by cuDNN; with --channels-last and --amp as usual."""
import sys

import torch
from torch import nn
from torch.nn import functional as F


class Bottleneck(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels_in, channels, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.norm2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv3, self.norm3 = nn.Conv2d(channels, 4 * channels, 1, bias=False), nn.BatchNorm2d(4 * channels)
        self.short = None
        if stride != 1 or channels_in != 4 * channels:
            self.short = nn.Sequential(nn.Conv2d(channels_in, 4 * channels, 1, stride, bias=False), nn.BatchNorm2d(4 * channels))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = F.relu(self.norm2(self.conv2(y)), inplace=True)
        y = self.norm3(self.conv3(y))
        y += x if self.short is None else self.short(x)
        return F.relu(y, inplace=True)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        blocks, width = [], 64
        for channels, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                blocks.append(Bottleneck(width, channels, stride if i == 0 else 1))
                width = 4 * channels
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(width, 1000)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


layout = torch.channels_last if "--channels-last" in sys.argv else torch.contiguous_format
model = ResNet50().cuda().to(memory_format=layout)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images = torch.randn(32, 3, 224, 224, device="cuda").to(memory_format=layout)
labels = torch.randint(0, 1000, (32,), device="cuda")
with torch.autocast("cuda", dtype=torch.float16, enabled="--amp" in sys.argv):
    loss = F.cross_entropy(model(images), labels)
loss.backward()
optimizer.step()
print("loss", loss.item())
