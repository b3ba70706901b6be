"""jax_conv.py - a training step of a small convolutional network in JAX, whose convolutions are cuDNN's; says what JAX's allocator counted."""
import jax
import jax.numpy as jnp

BATCH, SIDE, CHANNELS = 16, 64, (3, 32, 64, 128)


def make(key):
    return [0.05 * jax.random.normal(key, (3, 3, before, after)) for before, after in zip(CHANNELS, CHANNELS[1:])]


def loss_of(weights, images):
    for weight in weights:
        images = jax.lax.conv_general_dilated(images, weight, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        images = jax.nn.relu(images)
    return jnp.mean(images * images)


@jax.jit
def step(weights, images):
    gradients = jax.grad(loss_of)(weights, images)
    return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)]


weights = make(jax.random.PRNGKey(0))
images = jnp.ones((BATCH, SIDE, SIDE, CHANNELS[0]))
for _ in range(3):
    weights = step(weights, images)
jax.block_until_ready(weights)
print("peak_bytes_in_use", jax.local_devices()[0].memory_stats()["peak_bytes_in_use"])
