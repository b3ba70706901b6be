"""scenarios.py - what is tried on PaddlePaddle's allocators: the strategies auto_growth, with and without virtual memory, naive_best_fit and
thread_local of one thread, and every request by itself.

Flags are gemem's settings of the same name.  Retries are off: gemem waits on a clock of its own.  PaddlePaddle's Python has no call that
tells an allocator of a use on another stream, so there is one stream.
"""
import advice
from sequences import GiB, KiB, MiB, PATTERNS, Case, any_pattern, around, mixed, one_of

ALLOCATOR = 'paddle-auto-growth'
CALLS = ('malloc', 'free', 'create')
LENGTHS = [5000, 20000, 50000, 125000]  # PaddlePaddle takes seconds to start

EDGES = sorted({1, 2, *around(256, 512, 1024, 4096, 64 * KiB, MiB, 2 * MiB, 4 * MiB, 8 * MiB, 32 * MiB, step=256), 100 * MiB})
VMM, BUDDY = {'allocator': 'paddle-vmm-auto-growth'}, {'allocator': 'paddle-buddy'}
NO_RETRY = {'gpu_allocator_retry_time': 0}


def anything(**more):
    """Sizes around edges, otherwise of any size."""
    return lambda random, n: mixed(random, n, edges=EDGES, **more)


def uses(random):
    trim = random.choice([0, 0.001, 0.01, 0.1])
    return one_of(*PATTERNS.values(), anything(trim=trim), anything(most=GiB, trim=trim), anything(blocks=random.choice([3, 12, 60]), most=64 * MiB, trim=trim))


def brimful(random, total):
    """Any use, or few blocks of which each may be half of the memory, so that it is often full to the last unit."""
    return one_of(uses(random), anything(blocks=random.choice([3, 12, 60]), least=total // 64, middle=total // 16, most=total // 2, edge=0, trim=0.01))


def capacity(random):
    return random.choice([20 * MiB, 20 * MiB + 3, 200 * MiB, 777 * MiB + 12345, GiB, 3 * GiB + 1])


def default(random):
    return Case(uses(random), NO_RETRY, {'capacity': 80 * GiB})


def flags(random):
    settings = {'auto_growth_chunk_size_in_mb': random.choice([0, 1, 8, 32, 200]), 'free_idle_chunk': random.choice(['no', 'no', 'yes']),
                'free_when_no_cache_hit': random.choice(['no', 'no', 'yes']), 'use_stream_safe_cuda_allocator': random.choice(['yes', 'no'])}
    return Case(uses(random), dict(NO_RETRY, **settings), {'capacity': random.choice([GiB, 80 * GiB])})


def out_of_memory(random):
    total = capacity(random)
    return Case(brimful(random, total), NO_RETRY, {'capacity': total})


def limit(random):
    mib = random.choice([20, 200, 777, 1024])
    return Case(brimful(random, mib * MiB), dict(NO_RETRY, gpu_memory_limit_mb=mib), {'capacity': random.choice([(mib - 5) * MiB, 80 * GiB])})


def virtual(random):
    total = random.choice([capacity(random), 80 * GiB])
    return Case(brimful(random, min(total, 3 * GiB)), NO_RETRY, {'capacity': total}, **VMM)


def buddy(random):
    total = random.choice([capacity(random), 80 * GiB])
    settings = dict(NO_RETRY, **random.choice([{}, {'fraction_of_gpu_memory_to_use': random.choice([0.02, 0.1, 0.5])}]))
    return Case(brimful(random, min(total, 3 * GiB)), settings, {'capacity': total}, **BUDDY)


def buddy_sizes(random):
    total = random.choice([GiB, 3 * GiB + 1, 80 * GiB])
    settings = {'initial_gpu_memory_in_mb': random.choice([1, 64, 500]), 'reallocate_gpu_memory_in_mb': random.choice([0, 1, 32, 100])}
    return Case(brimful(random, min(total, 3 * GiB)), dict(NO_RETRY, **settings), {'capacity': total}, **BUDDY)


def thread(random):
    total = random.choice([capacity(random), 80 * GiB])
    return Case(brimful(random, min(total, 3 * GiB)), NO_RETRY, {'capacity': total}, allocator='paddle-thread-local')


def system(random):
    total = random.choice([capacity(random), 80 * GiB])
    return Case(brimful(random, min(total, 3 * GiB)), {'use_system_allocator': 'yes'}, {'capacity': total}, allocator='paddle')


def version_settings(version):
    return {'version': '.'.join(version.split('.')[:2])}


SCENARIOS = {'default': default, 'flags': flags, 'out-of-memory': out_of_memory, 'limit': limit, 'virtual-memory': virtual, 'naive-best-fit': buddy,
             'naive-best-fit-sizes': buddy_sizes, 'thread-local': thread, 'system': system}


def other(name, value):
    """The setting is another one, where it is set."""
    return lambda settings, device: (dict(settings, **({name: value} if name in settings else {})), device)


def less(by):
    return lambda settings, device: (settings, dict(device, capacity=device['capacity'] - by))


SHARPNESS = [
    ('default', 'version 2.2', other('version', '2.2')),
    ('flags', 'chunks of 2 MiB', other('auto_growth_chunk_size_in_mb', 2)),
    ('flags', 'free_when_no_cache_hit', other('free_when_no_cache_hit', 'no')),
    ('flags', 'free_idle_chunk', other('free_idle_chunk', 'no')),
    ('out-of-memory', 'capacity - 1 MiB', less(MiB)),
    ('out-of-memory', 'a retry', other('gpu_allocator_retry_time', 1)),
    ('limit', 'gpu_memory_limit_mb + 1', lambda settings, device: (dict(settings, gpu_memory_limit_mb=settings['gpu_memory_limit_mb'] + 1), device)),
    ('virtual-memory', 'capacity - 2 MiB', less(2 * MiB)),
    ('naive-best-fit', 'fraction 0.3', other('fraction_of_gpu_memory_to_use', 0.3)),
    ('naive-best-fit-sizes', 'reallocate_gpu_memory_in_mb=64', other('reallocate_gpu_memory_in_mb', 64)),
]


# ---- lines to paste

def pasted(line):
    """PaddlePaddle reads the variables when it is imported."""
    return {}, advice.assignments(line)


def automatic(random):
    return Case(any_pattern, NO_RETRY, {'capacity': 16 * GiB})


def from_buddy(random):
    return Case(any_pattern, NO_RETRY, {'capacity': 16 * GiB}, **BUDDY)


def from_virtual(random):
    """Without emptied caches, at which the driver does nothing with this allocator."""
    return Case(one_of(PATTERNS['pressure'], PATTERNS['training'], PATTERNS['inference']), NO_RETRY, {'capacity': 16 * GiB}, **VMM)


ADVICE = {'automatic': automatic, 'from-buddy': from_buddy, 'from-virtual': from_virtual}
