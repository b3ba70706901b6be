"""scenarios.py - a device call per request: whether both devices agree."""
from sequences import GiB, MiB, Case, any_pattern, mixed, on_streams, uniform

ALLOCATOR = 'direct'
CALLS = ('malloc', 'free', 'stream_sync')


def default(random):
    return Case(any_pattern, device={'capacity': 80 * GiB, 'base': 1 << 30, 'step': random.choice([512, MiB])})


def out_of_memory(random):
    return Case(lambda random, n: mixed(random, n, streams=3, sync=0.01), device={'capacity': random.choice([GiB, 2 * GiB + 1])})


def threads(random):
    return Case(on_streams(uniform), device={'capacity': 2 * GiB}, driver={'threads': 3}, options=['--host-threads', '3'])


SCENARIOS = {'default': default, 'out-of-memory': out_of_memory, 'threads': threads}


def smaller(settings, device):
    return settings, dict(device, capacity=device['capacity'] - MiB)


SHARPNESS = [('out-of-memory', 'capacity - 1 MiB', smaller)]
