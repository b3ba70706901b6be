"""models.py - the architectures that record.py and graph.py record, randomly initialised, in plain PyTorch.

Why here and not from a model library: the recordings must be repeatable from this folder alone.  Shapes are those of the published
architectures (named in each docstring); only batch and sequence length are chosen so that a laptop can record them.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Causal or full self-attention; grouped keys and values when kv_heads < heads; rotary positions when rope."""

    def __init__(self, width, heads, kv_heads=None, bias=True, rope=False, causal=True):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads or heads, width // heads
        self.rope, self.causal = rope, causal
        self.q = nn.Linear(width, heads * self.size, bias=bias)
        self.kv = nn.Linear(width, 2 * self.kv_heads * self.size, bias=bias)
        self.out = nn.Linear(heads * self.size, width, bias=bias)

    def rotate(self, x, offset):
        half = self.size // 2
        angle = torch.arange(offset, offset + x.shape[-2], device=x.device)[:, None] / 10000 ** (
            torch.arange(half, device=x.device)[None, :] / half)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

    def forward(self, x, cache=None):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, self.kv_heads, self.size).permute(2, 0, 3, 1, 4)
        offset = 0 if cache is None else cache[0].shape[-2]
        if self.rope:
            q, k = self.rotate(q, offset), self.rotate(k, offset)
        if cache is not None:
            k, v = torch.cat((cache[0], k), dim=-2), torch.cat((cache[1], v), dim=-2)
        cache = (k, v)
        if self.kv_heads != self.heads:
            k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal and length > 1)
        return self.out(y.transpose(1, 2).reshape(batch, length, -1)), cache


class Block(nn.Module):
    """Pre-norm transformer block; llama=True: RMSNorm and SwiGLU, otherwise LayerNorm and GELU."""

    def __init__(self, width, heads, hidden, llama=False, kv_heads=None, causal=True):
        super().__init__()
        norm = nn.RMSNorm if llama else nn.LayerNorm
        self.llama, self.norm1, self.norm2 = llama, norm(width), norm(width)
        self.attention = Attention(width, heads, kv_heads, bias=not llama, rope=llama, causal=causal)
        self.up = nn.Linear(width, hidden * (2 if llama else 1), bias=not llama)
        self.down = nn.Linear(hidden, width, bias=not llama)

    def forward(self, x, cache=None):
        y, cache = self.attention(self.norm1(x), cache)
        x = x + y
        y = self.up(self.norm2(x))
        if self.llama:
            gate, y = y.chunk(2, dim=-1)
            y = F.silu(gate) * y
        else:
            y = F.gelu(y)
        return x + self.down(y), cache


class Language(nn.Module):
    """Decoder-only language model."""

    def __init__(self, layers, width, heads, hidden, vocabulary, context, llama=False, kv_heads=None):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.position = None if llama else nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden, llama, kv_heads) for _ in range(layers))
        self.norm = (nn.RMSNorm if llama else nn.LayerNorm)(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens, caches=None):
        x = self.embed(tokens)
        if self.position is not None:
            start = 0 if caches is None or caches[0] is None else caches[0][0].shape[-2]
            x = x + self.position(torch.arange(start, start + tokens.shape[1], device=tokens.device))
        new = []
        for i, block in enumerate(self.blocks):
            x, cache = block(x, None if caches is None else caches[i])
            new.append(cache)
        return self.head(self.norm(x)), new


def gpt2_small():
    """GPT-2 small (Radford et al. 2019): 12 layers, width 768, 12 heads, vocabulary 50257, 124 M parameters."""
    return Language(12, 768, 12, 3072, 50257, 1024)


def llama_style():
    """Llama-style decoder (Touvron et al. 2023; GQA as in Llama 2): RMSNorm, SwiGLU, rotary positions; 16 layers, width 1024, 16 heads, 4 KV heads."""
    return Language(16, 1024, 16, 2816, 32000, 2048, llama=True, kv_heads=4)


class VisionTransformer(nn.Module):
    """ViT-B/16 (Dosovitskiy et al. 2021): 12 layers, width 768, 12 heads, 224x224 pixels in patches of 16."""

    def __init__(self, layers=12, width=768, heads=12, hidden=3072, classes=1000, pixels=224, patch=16):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, (pixels // patch) ** 2 + 1, width))
        self.blocks = nn.ModuleList(Block(width, heads, hidden, causal=False) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(len(x), -1, -1), x), dim=1) + self.position
        for block in self.blocks:
            x, _ = block(x)
        return self.head(self.norm(x[:, 0]))


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions with a shortcut."""

    def __init__(self, inputs, planes, stride):
        super().__init__()
        def unit(a, b, size, step=1):
            return nn.Sequential(nn.Conv2d(a, b, size, step, size // 2, bias=False), nn.BatchNorm2d(b))
        self.a, self.b, self.c = unit(inputs, planes, 1), unit(planes, planes, 3, stride), unit(planes, 4 * planes, 1)
        self.short = unit(inputs, 4 * planes, 1, stride) if stride != 1 or inputs != 4 * planes else nn.Identity()

    def forward(self, x):
        return F.relu(self.c(F.relu(self.b(F.relu(self.a(x))))) + self.short(x))


class ResNet50(nn.Module):
    """ResNet-50 (He et al. 2016), 25.6 M parameters."""

    def __init__(self, classes=1000):
        super().__init__()
        layers, inputs = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
        for planes, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                layers.append(Bottleneck(inputs, planes, stride if i == 0 else 1))
                inputs = 4 * planes
        self.body, self.head = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1)), nn.Linear(inputs, classes)

    def forward(self, images):
        return self.head(self.body(images).flatten(1))


class PostNormBlock(nn.Module):
    """Transformer block that normalises after each residual sum."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention, self.norm1 = Attention(width, heads, causal=False), nn.LayerNorm(width, eps=1e-12)
        self.up, self.down, self.norm2 = nn.Linear(width, hidden), nn.Linear(hidden, width), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x):
        x = self.norm1(x + self.attention(x)[0])
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Encoder(nn.Module):
    """Encoder with a masked-word head: word, position and segment embeddings, post-norm blocks."""

    def __init__(self, layers, width, heads, hidden, vocabulary, context):
        super().__init__()
        self.word, self.position, self.segment = nn.Embedding(vocabulary, width), nn.Embedding(context, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.blocks = nn.ModuleList(PostNormBlock(width, heads, hidden) for _ in range(layers))
        self.transform, self.head_norm = nn.Linear(width, width), nn.LayerNorm(width, eps=1e-12)
        self.head = nn.Linear(width, vocabulary)
        self.head.weight = self.word.weight

    def forward(self, tokens, segments):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.word(tokens) + self.position(positions) + self.segment(segments))
        for block in self.blocks:
            x = block(x)
        return self.head(self.head_norm(F.gelu(self.transform(x))))


def bert_base():
    """BERT-base (Devlin et al. 2019): 12 layers, width 768, 12 heads, vocabulary 30522, 110 M parameters; without dropout."""
    return Encoder(12, 768, 12, 3072, 30522, 512)


class MixtureOfExperts(nn.Module):
    """Block whose feed-forward part is a choice of experts (GShard, Lepikhin et al. 2020; Switch, Fedus et al. 2021).

    Each token goes to its `top` best experts; an expert takes at most `capacity` tokens (the others pass by), so all shapes are static.
    """

    def __init__(self, width=1024, heads=16, hidden=4096, experts=8, top=2, slack=1.25):
        super().__init__()
        self.experts, self.top, self.slack = experts, top, slack
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, heads, bias=False, rope=True)
        self.gate = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.empty(experts, width, hidden))
        self.down = nn.Parameter(torch.empty(experts, hidden, width))

    def route(self, x):
        """x (tokens, width): per choice its slot in the experts' buffers (the last one: none) and its weight."""
        tokens = x.shape[0]
        capacity = math.ceil(tokens * self.top * self.slack / self.experts)
        weight, expert = F.softmax(self.gate(x), dim=-1).topk(self.top, dim=-1)
        chosen = F.one_hot(expert.flatten(), self.experts)
        place = (chosen.cumsum(0) * chosen).sum(-1) - 1
        slot = torch.where(place < capacity, expert.flatten() * capacity + place, self.experts * capacity)
        return capacity, slot, weight.flatten()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))[0]
        y = self.norm2(x).flatten(0, 1)
        capacity, slot, weight = self.route(y)
        width, choices = y.shape[-1], y.repeat_interleave(self.top, dim=0)
        buffers = y.new_zeros(self.experts * capacity + 1, width).index_copy(0, slot, choices)
        z = buffers[:-1].view(self.experts, capacity, width)
        z = torch.bmm(F.gelu(torch.bmm(z, self.up)), self.down).flatten(0, 1)
        z = torch.cat((z, z.new_zeros(1, width))).index_select(0, slot) * weight[:, None]
        return x + z.view(-1, self.top, width).sum(1).view_as(x)


def moe_block():
    """Two mixture-of-experts blocks of width 1024 with 8 experts, the 2 best of which take each token."""
    return nn.Sequential(MixtureOfExperts(), MixtureOfExperts())


def parameters(model):
    return sum(math.prod(p.shape) for p in model.parameters())
