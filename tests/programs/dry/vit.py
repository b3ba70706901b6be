"""vit.py - one training step of ViT-B/16: batch 32, 224 x 224, AdamW, bf16 autocast, attention by nn.TransformerEncoderLayer."""
import torch
from torch import nn
from torch.nn import functional as F


class ViT(nn.Module):
    def __init__(self, width=768, layers=12, heads=12, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, stride=16)
        self.start = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, 197, width))
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.start.expand(len(x), -1, -1), x), dim=1) + self.positions
        return self.head(self.encoder(x)[:, 0])


model = ViT().cuda()
optimizer = torch.optim.AdamW(model.parameters())
images, labels = torch.randn(32, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (32,), device="cuda")
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = F.cross_entropy(model(images), labels)
loss.backward()
optimizer.step()
print("loss", loss.item())
