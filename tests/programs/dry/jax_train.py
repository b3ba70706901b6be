"""jax_train.py - training steps of a small transformer in JAX, Adam by hand; says what XLA computed for the step, and what JAX's allocator counted.

    python jax_train.py [--layers N] [--width N] [--batch N] [--steps N]
"""
import argparse

import jax
import jax.numpy as jnp

TOKENS, HEADS, WORDS = 128, 8, 4096


def make(key, layers, width):
    """Sizes alone matter."""

    def one(*shape):
        return 0.02 * jax.random.normal(key, shape)

    blocks = [{"qkv": one(width, 3 * width), "out": one(width, width), "up": one(width, 4 * width), "down": one(4 * width, width)} for _ in range(layers)]
    return {"words": one(WORDS, width), "blocks": blocks}


def normal(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def attend(x, block):
    batch, tokens, width = x.shape
    q, k, v = jnp.split((normal(x) @ block["qkv"]).reshape(batch, tokens, HEADS, 3 * width // HEADS), 3, -1)
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / (width // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -1e9)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v).reshape(x.shape) @ block["out"]


def loss_of(weights, text):
    x = weights["words"][text[:, :-1]]
    for block in weights["blocks"]:
        x = x + attend(x, block)
        x = x + jax.nn.gelu(normal(x) @ block["up"]) @ block["down"]
    chances = jax.nn.log_softmax(normal(x) @ weights["words"].T)
    return -jnp.mean(jnp.take_along_axis(chances, text[:, 1:, None], -1))


def step(weights, means, squares, text):
    loss, gradients = jax.value_and_grad(loss_of)(weights, text)
    means = jax.tree.map(lambda mean, one: 0.9 * mean + 0.1 * one, means, gradients)
    squares = jax.tree.map(lambda square, one: 0.99 * square + 0.01 * one * one, squares, gradients)
    weights = jax.tree.map(lambda weight, mean, square: weight - 1e-3 * mean / (jnp.sqrt(square) + 1e-8), weights, means, squares)
    return weights, means, squares, loss


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("--layers", 4), ("--width", 512), ("--batch", 8), ("--steps", 3)):
        parser.add_argument(name, type=int, default=value)
    options = parser.parse_args()
    weights = jax.jit(make, static_argnums=(1, 2))(jax.random.PRNGKey(0), options.layers, options.width)
    means, squares = jax.tree.map(jnp.zeros_like, weights), jax.tree.map(jnp.zeros_like, weights)
    text = jnp.ones((options.batch, TOKENS + 1), jnp.int32)
    run = jax.jit(step).lower(weights, means, squares, text).compile()
    sizes = run.memory_analysis()
    print("xla", sizes.argument_size_in_bytes, sizes.output_size_in_bytes, sizes.temp_size_in_bytes)
    loss = None
    for _ in range(options.steps):
        weights, means, squares, loss = run(weights, means, squares, text)
    print("loss", float(loss))
    print("peak_bytes_in_use", jax.local_devices()[0].memory_stats()["peak_bytes_in_use"])


main()
