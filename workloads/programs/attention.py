#!/usr/bin/env python3
"""attention.py - one attention layer written out by hand, forward and backward, in fp32.

Three tensors of 2 MiB make six score matrices of 512 MiB: the peak is 3.0 GiB, and which line holds it is the question
that a recording answers.  With batch 8, 4096 positions and width 16 this is the program of the recording lm-small
(PyTorch 2.6, a GPU before Hopper).

    gemem-dry-run --gpu a100-80 attention.py
"""
import argparse

import torch


def softmax(x):
    """Softmax over the last dimension; the largest value is subtracted first, so that exp() cannot overflow."""
    largest = x.max(dim=-1, keepdim=True)
    exponentials = torch.exp(x - largest.values)
    total = torch.sum(exponentials, dim=-1, keepdim=True)
    return exponentials / total


def attention(query, key, value):
    """Attention of every position to every position: batch x positions x width in and out."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores / query.shape[-1] ** 0.5
    weights = softmax(scores)
    return torch.einsum("bqk,bkd->bqd", weights, value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--context", type=int, default=4096, help="positions")
    parser.add_argument("--width", type=int, default=16)
    options = parser.parse_args()

    shape = (options.batch, options.context, options.width)
    query = torch.randn(shape, device="cuda", requires_grad=True)
    key = torch.randn(shape, device="cuda", requires_grad=True)
    value = torch.randn(shape, device="cuda", requires_grad=True)
    output = attention(query, key, value)
    loss = output.sum()
    loss.backward()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
