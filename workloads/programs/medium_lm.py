#!/usr/bin/env python3
"""medium_lm.py - a transformer language model of 424 million parameters written by hand: inference or training.

24 layers of width 1024, 16 heads, a feed-forward of 4096, a vocabulary of 10 000, a batch of 4.  After five steps of
warming up, one more is what the recordings hold (PyTorch 2.11, a GPU whose cuBLAS workspace has 8 519 680 bytes):

    lm-inference-1024       medium_lm.py inference --context 1024
    lm-training-512         medium_lm.py train --context 512

    gemem-dry-run --gpu a100-40 medium_lm.py train

With --snapshot FILE the memory history of that last step is written as PyTorch writes it, for a run on a real GPU.
"""
import argparse

import torch
from torch import nn

VOCABULARY, LAYERS, WIDTH, HEADS, FEED_FORWARD = 10_000, 24, 1024, 16, 4096


class Linear(nn.Module):
    def __init__(self, width_in, width_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width_out, width_in))
        nn.init.trunc_normal_(self.weight, std=0.02)

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)


class Embedding(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, width))
        nn.init.trunc_normal_(self.weight, std=0.02)

    def forward(self, tokens):
        return self.weight[tokens]


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        rms = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        x = x * rms
        return self.weight * x


class Rotary(nn.Module):
    """Rotates pairs of neighbours by an angle that grows with the position; one table for all layers."""

    def __init__(self, width, context):
        super().__init__()
        angles = torch.arange(context)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)
        self.register_buffer("table", torch.stack((torch.cos(angles), torch.sin(angles))), persistent=False)

    def forward(self, x):
        even, odd = x.view(*x.shape[:-1], -1, 2).movedim(-1, 0)
        cos, sin = self.table[:, : x.shape[-2]]
        turned_even = cos * even - sin * odd
        turned_odd = sin * even + cos * odd
        pairs = torch.concat((turned_even.unsqueeze(-1), turned_odd.unsqueeze(-1)), dim=-1)
        return pairs.flatten(-2)


def softmax(x):
    x = x - torch.max(x, dim=-1, keepdim=True)[0]
    exponentials = torch.exp(x)
    return exponentials / torch.sum(exponentials, dim=-1, keepdim=True)


def attend(query, key, value, mask):
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / query.shape[-1] ** 0.5
    scores = torch.where(mask, scores, float("-inf"))
    shares = softmax(scores)
    return torch.einsum("bhqk,bhkd->bhqd", shares, value)


class Attention(nn.Module):
    """Causal attention with several heads and rotary positions."""

    def __init__(self, width, heads, rotary):
        super().__init__()
        self.heads = heads
        self.query = Linear(width, width)
        self.key = Linear(width, width)
        self.value = Linear(width, width)
        self.output = Linear(width, width)
        self.rotary = rotary

    def split(self, x):
        """batch x positions x width -> batch x heads x positions x width of a head, without a copy"""
        return x.view(*x.shape[:-1], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        query = self.query(x)
        key = self.key(x)
        value = self.value(x)
        query, key, value = self.split(query), self.split(key), self.split(value)
        query = self.rotary(query)
        key = self.rotary(key)
        positions = torch.arange(x.shape[1], device=x.device)
        mask = positions[:, None] >= positions[None, :]
        joined = attend(query, key, value, mask)
        joined = joined.transpose(1, 2).reshape(x.shape)
        return self.output(joined)


def silu(x):
    return x * torch.sigmoid(x)


class FeedForward(nn.Module):
    """SwiGLU: two projections up, one of them through SiLU, multiplied; one projection down."""

    def __init__(self, width, inner):
        super().__init__()
        self.gate = Linear(width, inner)
        self.down = Linear(inner, width)
        self.up = Linear(width, inner)

    def forward(self, x):
        return self.down(silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, width, heads, inner, rotary):
        super().__init__()
        self.attention = Attention(width, heads, rotary)
        self.feed_forward = FeedForward(width, inner)
        self.norm1 = RMSNorm(width)
        self.norm2 = RMSNorm(width)

    def forward(self, x):
        attended = self.attention(self.norm1(x))
        middle = x + attended
        transformed = self.feed_forward(self.norm2(middle))
        return middle + transformed


class LanguageModel(nn.Module):
    def __init__(self, context):
        super().__init__()
        self.embedding = Embedding(VOCABULARY, WIDTH)
        rotary = Rotary(WIDTH // HEADS, context)
        self.blocks = nn.ModuleList(Block(WIDTH, HEADS, FEED_FORWARD, rotary) for _ in range(LAYERS))
        self.norm = RMSNorm(WIDTH)
        self.head = Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        embedded = self.embedding(x)
        x = embedded
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x)


def log_softmax(x):
    largest = torch.max(x, dim=-1, keepdim=True)[0]
    x = x - largest
    return x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))


def cross_entropy(logits, targets):
    losses = -log_softmax(logits)
    return torch.gather(losses, -1, targets.unsqueeze(-1)).mean()


class AdamW(torch.optim.Optimizer):
    """AdamW by the book; the moments are made by the first step, and anew by each later one."""

    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})

    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                gradient = p.grad.data
                p.data -= group["lr"] * group["decay"] * p.data
                count = state.get("step", 1)
                mean = state.get("mean", torch.zeros_like(p))
                square = state.get("square", torch.zeros_like(p))
                state["mean"] = beta1 * mean + (1 - beta1) * gradient
                state["square"] = beta2 * square + (1 - beta2) * torch.square(gradient)
                rate = group["lr"] * (1 - beta2**count) ** 0.5 / (1 - beta1**count)
                p.data -= rate * state["mean"] / (torch.sqrt(state["square"]) + group["eps"])
                state["step"] = count + 1


class History:
    """The memory history of one step, written to a file; without a file nothing is done."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        if self.path:
            torch.cuda.memory._record_memory_history(max_entries=1_000_000)

    def __exit__(self, *_):
        if self.path:
            torch.cuda.memory._dump_snapshot(self.path)
            torch.cuda.memory._record_memory_history(enabled=None)


def batches(options):
    """The tokens of the steps that warm up, and of the one that is recorded."""
    shape = (options.batch, options.context)
    warm_up = torch.randint(0, VOCABULARY, (options.warm_up, *shape), device="cuda")
    return warm_up, torch.randint(0, VOCABULARY, shape, device="cuda")


def inference(model, options):
    """Forward passes without autograd."""
    warm_up, tokens = batches(options)
    with torch.no_grad():
        for batch in warm_up:
            model(batch)
        with History(options.snapshot):
            model(tokens)


def train_step(model, optimizer, tokens, targets):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = model(tokens)
        loss = cross_entropy(logits, targets)
    loss.backward()
    optimizer.step()


def train(model, options):
    """Training steps in bf16 mixed precision."""
    warm_up, tokens = batches(options)
    warm_up_targets, targets = batches(options)
    optimizer = AdamW(model.parameters())
    for batch, batch_targets in zip(warm_up, warm_up_targets):
        optimizer.zero_grad()
        train_step(model, optimizer, batch, batch_targets)
    optimizer.zero_grad()
    with History(options.snapshot):
        train_step(model, optimizer, tokens, targets)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("inference", "train"))
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--context", type=int, default=512, help="positions")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before the one that is recorded")
    parser.add_argument("--snapshot", metavar="FILE", help="where the history of the last step goes")
    options = parser.parse_args()

    model = LanguageModel(options.context).to("cuda")
    (inference if options.what == "inference" else train)(model, options)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
