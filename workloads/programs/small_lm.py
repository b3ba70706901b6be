#!/usr/bin/env python3
"""small_lm.py - a small transformer language model written by hand: three forward passes or three training steps.

Four layers of width 512, 16 heads, a feed-forward of 1344, a vocabulary of 10 000.  With a batch of 10 these are the
programs of three recordings (PyTorch 2.6, an L40S-class GPU before Hopper):

    lm-forward-a            small_lm.py forward
    lm-forward-backward-a   small_lm.py train
    lm-forward-backward-b   small_lm.py train --context 200 --autocast

    gemem-dry-run --gpu a100-80 small_lm.py train

Constants that the model needs (rotation tables, the causal mask) are kept on the host and copied at each use, as
beginners' programs do; the copies are requests of their own in the recording.
"""
import argparse
import contextlib

import torch
from torch import nn

VOCABULARY, LAYERS, WIDTH, HEADS, FEED_FORWARD = 10_000, 4, 512, 16, 1344


def weights(*shape, device):
    """A parameter of the given shape with small random values."""
    values = torch.empty(shape, device=device)
    nn.init.trunc_normal_(values, std=0.02)
    return nn.Parameter(values)


class Linear(nn.Module):
    def __init__(self, width_in, width_out, device):
        super().__init__()
        self.weight = weights(width_out, width_in, device=device)

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)


class Embedding(nn.Module):
    def __init__(self, count, width, device):
        super().__init__()
        self.weight = weights(count, width, device=device)

    def forward(self, tokens):
        return self.weight[tokens]


class RMSNorm(nn.Module):
    def __init__(self, width, device):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width, device=device))

    def forward(self, x):
        rms = torch.sqrt((x**2).mean(dim=-1, keepdim=True) + 1e-5)
        return x / rms * self.gain


class Rotary(nn.Module):
    """Rotates pairs of neighbours by an angle that grows with the position.  The tables stay on the host."""

    def __init__(self, width, context):
        super().__init__()
        angles = torch.arange(context)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)
        self.sin, self.cos = torch.sin(angles), torch.cos(angles)

    def forward(self, x, positions):
        sin = self.sin[positions].to(x.device)
        cos = self.cos[positions].to(x.device)
        even = x[..., 0::2] * cos - x[..., 1::2] * sin
        odd = x[..., 0::2] * sin + x[..., 1::2] * cos
        return torch.cat((even, odd), dim=-1)


class Softmax(nn.Module):
    def forward(self, x):
        largest = x.max(dim=-1, keepdim=True).values
        return torch.exp(x - largest) / torch.exp(x - largest).sum(dim=-1, keepdim=True)


class Attention(nn.Module):
    """Causal attention with several heads and rotary positions."""

    def __init__(self, width, heads, context, device):
        super().__init__()
        self.heads = heads
        self.query = Linear(width, width, device)
        self.key = Linear(width, width, device)
        self.value = Linear(width, width, device)
        self.output = Linear(width, width, device)
        self.rotary = Rotary(width // heads, context)
        self.softmax = Softmax()

    def split(self, x):
        """batch x positions x width -> batch x heads x positions x width of a head, without a copy"""
        return x.view(*x.shape[:-1], self.heads, -1).transpose(1, 2)

    def attend(self, query, key, value, mask):
        mask = mask.to(query.device)
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key)
        scaled = scores / torch.sqrt(torch.tensor(query.shape[-1], device=query.device))
        scaled.masked_fill_(~mask.bool(), float("-inf"))
        shares = self.softmax(scaled)
        return torch.einsum("bhqk,bhkd->bhqd", shares, value)

    def forward(self, x, positions):
        query = self.query(x)
        key = self.key(x)
        value = self.value(x)
        query = self.split(query)
        key = self.split(key)
        value = self.split(value)
        query = self.rotary(query, positions)
        key = self.rotary(key, positions)
        mask = torch.tril(torch.ones(x.shape[1], x.shape[1]))
        joined = self.attend(query, key, value, mask)
        joined = joined.transpose(1, 2).reshape(x.shape)
        return self.output(joined)


class FeedForward(nn.Module):
    """SwiGLU: two projections up, one of them through SiLU, multiplied; one projection down."""

    def __init__(self, width, inner, device):
        super().__init__()
        self.gate = Linear(width, inner, device)
        self.down = Linear(inner, width, device)
        self.up = Linear(width, inner, device)

    def forward(self, x):
        gate = self.gate(x)
        gate = gate * torch.sigmoid(gate)
        up = self.up(x)
        product = gate * up
        return self.down(product)


class Block(nn.Module):
    def __init__(self, width, heads, inner, context, device):
        super().__init__()
        self.norm1 = RMSNorm(width, device)
        self.norm2 = RMSNorm(width, device)
        self.attention = Attention(width, heads, context, device)
        self.feed_forward = FeedForward(width, inner, device)

    def forward(self, x, positions):
        normal = self.norm1(x)
        attended = self.attention(normal, positions)
        x = x + attended
        normal2 = self.norm2(x)
        transformed = self.feed_forward(normal2)
        return x + transformed


class LanguageModel(nn.Module):
    def __init__(self, context, device):
        super().__init__()
        self.embedding = Embedding(VOCABULARY, WIDTH, device)
        self.blocks = nn.ModuleList(Block(WIDTH, HEADS, FEED_FORWARD, context, device) for _ in range(LAYERS))
        self.norm = RMSNorm(WIDTH, device)
        self.head = Linear(WIDTH, VOCABULARY, device)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1])
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, positions)
        x = self.norm(x)
        return self.head(x)


class CrossEntropy(nn.Module):
    def forward(self, logits, targets):
        largest = logits.max(dim=-1, keepdim=True).values
        logs = logits - largest - torch.log(torch.exp(logits - largest).sum(dim=-1, keepdim=True))
        one_hot = torch.zeros_like(logs)
        one_hot.scatter_(-1, targets.unsqueeze(-1), 1)
        return -(one_hot * logs).sum() / logits.shape[0]


class AdamW(torch.optim.Optimizer):
    """AdamW by the book: no operation works in place, so each step makes every tensor anew."""

    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["step"] = 0
                self.state[p]["mean"] = torch.zeros_like(p.data)
                self.state[p]["square"] = torch.zeros_like(p.data)

    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                gradient = p.grad.data
                state["step"] += 1
                mean = state["mean"]
                state["mean"] = beta1 * mean + (1 - beta1) * gradient
                square = state["square"]
                state["square"] = beta2 * square + (1 - beta2) * gradient**2
                rate = group["lr"] * (1 - beta2 ** state["step"]) ** 0.5 / (1 - beta1 ** state["step"])
                p.data = p.data - rate * (state["mean"] / (torch.sqrt(state["square"]) + group["eps"]))
                p.data = p.data - group["lr"] * group["decay"] * p.data


def forward(options):
    """Three forward passes; the graph that each builds for a backward pass is dropped with its result."""
    model = LanguageModel(options.context, "cuda")
    tokens = torch.randint(0, VOCABULARY, (options.batch, options.context)).to("cuda")
    for _ in range(3):
        model(tokens)


def train(options):
    """Three training steps that predict the token after the last position.

    The mixed precision is left only after the last step.  PyTorch's manual advises against that: the bf16 copies of the
    weights are made in the first step, live to the end, and the later steps use them although the weights have changed.
    The recorded program did so, and its recording shows it: no copy is made after the first step.
    """
    model = LanguageModel(options.context, "cuda")
    optimizer = AdamW(model.parameters())
    loss_of = CrossEntropy()
    tokens = torch.randint(0, VOCABULARY, (options.batch, options.context)).to("cuda")
    targets = torch.randint(0, VOCABULARY, (options.batch,)).to("cuda")
    precision = torch.autocast("cuda", dtype=torch.bfloat16) if options.autocast else contextlib.nullcontext()
    with precision:
        for _ in range(3):
            optimizer.zero_grad()
            logits = model(tokens)
            last = logits[:, -1, :]
            loss = loss_of(last, targets)
            loss.backward()
            optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("forward", "train"))
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--context", type=int, default=100, help="positions")
    parser.add_argument("--autocast", action="store_true", help="bf16 mixed precision")
    options = parser.parse_args()
    (forward if options.what == "forward" else train)(options)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
