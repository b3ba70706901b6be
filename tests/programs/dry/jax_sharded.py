"""jax_sharded.py - JAX on all GPUs: steps on an array that is spread over them, and collectives; says what JAX's allocator of each GPU counted.

With arguments I N PORT it is process I of N, of which each has one GPU (jax.distributed).
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

if len(sys.argv) > 1:
    rank, processes, port = map(int, sys.argv[1:])
    jax.distributed.initialize(f"localhost:{port}", processes, rank, local_device_ids=[rank])
n = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("data",))


def array(spec, *shape):
    """Ones, of which each process makes its own part."""
    sharding = NamedSharding(mesh, spec)
    return jax.make_array_from_callback(shape, sharding, lambda index: np.ones(shape, np.float32)[index])


@jax.jit
def step(weights, batch):
    return weights - 0.1 * jax.grad(lambda w: jnp.mean((batch @ w) ** 2))(weights)


def over_devices(function):
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P("data"), out_specs=P("data")))


weights, batch = array(P(), 1024, 512), array(P("data"), 64 * n, 1024)
for _ in range(3):
    weights = step(weights, batch)
ring = [(i, (i + 1) % n) for i in range(n)]
results = [weights, over_devices(lambda x: jax.lax.ppermute(x, "data", ring))(batch), over_devices(lambda x: jax.lax.psum_scatter(x, "data", tiled=True))(batch)]
if len(sys.argv) == 1:
    results.append(jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(jnp.ones((n, 1000))))
    results.append(jax.device_put(jax.device_put(jnp.ones((256, 256)), jax.devices()[-1]), jax.devices()[0]))
jax.block_until_ready(results)
for device in jax.local_devices():
    print("peak_bytes_in_use", device.id, device.memory_stats()["peak_bytes_in_use"], flush=True)
