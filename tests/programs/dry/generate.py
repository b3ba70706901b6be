"""generate.py - inference with a cache of keys and values that grows by torch.cat, then one of fixed size: 64 tokens for a batch of 4, greedy and sampled."""
import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, VOCABULARY = 1024, 16, 8, 32000


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, cache):
        q, k, v = (t.view(*x.shape[:2], HEADS, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        k, v = cache(k, v)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1).transpose(1, 2).reshape(x.shape))
        return x + self.mlp(x)


class Growing:
    def __init__(self):
        self.k = self.v = None

    def __call__(self, k, v):
        self.k = k if self.k is None else torch.cat((self.k, k), dim=2)
        self.v = v if self.v is None else torch.cat((self.v, v), dim=2)
        return self.k, self.v


class Fixed:
    def __init__(self, length):
        self.k, self.v = (torch.zeros(4, HEADS, length, WIDTH // HEADS, device="cuda", dtype=torch.float16) for _ in range(2))
        self.used = 0

    def __call__(self, k, v):
        end = self.used + k.shape[2]
        self.k[:, :, self.used : end], self.v[:, :, self.used : end] = k, v
        self.used = end
        return self.k[:, :, :end], self.v[:, :, :end]


embedding = nn.Embedding(VOCABULARY, WIDTH).cuda().half()
layers = nn.ModuleList(Layer() for _ in range(LAYERS)).cuda().half()
for sample, make in ((False, Growing), (True, lambda: Fixed(128))):
    caches = [make() for _ in layers]
    tokens = torch.randint(0, VOCABULARY, (4, 64), device="cuda")
    with torch.inference_mode():
        for _ in range(64):
            x = embedding(tokens)
            for layer, cache in zip(layers, caches):
                x = layer(x, cache)
            logits = x[:, -1] @ embedding.weight.T
            tokens = torch.multinomial(logits.float().softmax(-1), 1) if sample else logits.argmax(-1, keepdim=True)
            if (tokens == 2).all().item():
                break
torch.cuda.synchronize()
