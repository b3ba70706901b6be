"""llama.py [--layers 32] [--width 4096] [--inner 14336] [--where host|device] [--states adamw|8bit|none] [--checkpoint] - one step of a Llama-style model in bf16.

The default has 8 billion parameters.  Grouped keys and values, rotary positions, RMSNorm, SwiGLU; batch 1, 2048 positions.
"""
import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

VOCABULARY, HEADS, KV_HEADS = 128256, 32, 8


class Block(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.size = width // HEADS
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = nn.Linear(width, KV_HEADS * self.size, bias=False), nn.Linear(width, KV_HEADS * self.size, bias=False)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def rotate(self, x, angles):
        a, b = x.float().chunk(2, dim=-1)
        return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1).to(x.dtype)

    def forward(self, x, angles):
        y = self.norm1(x)
        q, k, v = (layer(y).view(*x.shape[:2], -1, self.size).transpose(1, 2) for layer in (self.q, self.k, self.v))
        q, k = self.rotate(q, angles), self.rotate(k, angles)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(attended.transpose(1, 2).reshape(x.shape))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, width, inner):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(Block(width, inner) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens, save):
        x = self.embedding(tokens)
        size = x.shape[-1] // HEADS
        angles = torch.arange(x.shape[1], device=x.device)[:, None] / 500000 ** (torch.arange(size // 2, device=x.device) * 2 / size)
        for block in self.blocks:
            x = checkpoint(block, x, angles, use_reentrant=False) if save else block(x, angles)
        return self.head(self.norm(x))


parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=32)
parser.add_argument("--width", type=int, default=4096)
parser.add_argument("--inner", type=int, default=14336)
parser.add_argument("--where", default="host")
parser.add_argument("--states", default="adamw")
parser.add_argument("--checkpoint", action="store_true")
options = parser.parse_args()

torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda" if options.where == "device" else "cpu"):
    model = Llama(options.layers, options.width, options.inner)
model.cuda()
print(f"{sum(p.numel() for p in model.parameters()) / 1e9:.2f} billion parameters")
tokens = torch.randint(0, VOCABULARY, (1, 2049), device="cuda")
if options.states == "none":
    with torch.no_grad():
        model(tokens, False)
else:
    if options.states == "8bit":
        import bitsandbytes

        optimizer = bitsandbytes.optim.AdamW8bit(model.parameters())
    else:
        optimizer = torch.optim.AdamW(model.parameters())
    logits = model(tokens[:, :-1], options.checkpoint)
    F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
    optimizer.step()
torch.cuda.synchronize()
