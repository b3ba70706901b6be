"""scenarios.py - what is tried on ONNX Runtime's BFCArena and `ort-bfc`.

Sizes lie around the edges of the rules (peers.md 1h): quanta of 256 bytes, bins at powers of two times 256, regions that double from
1 MiB to 1 GiB, requests of half a chunk, and a waste of 128 MiB, at which a chunk is split.
"""
from sequences import GiB, KiB, MiB, PATTERNS, Case, around, mixed, one_of

ALLOCATOR = 'ort-bfc'
CALLS = ('malloc', 'free')

EDGES = sorted({1, 2, *around(256, 512, 1024, 4096, 8192, 64 * KiB, 128 * KiB, MiB, 2 * MiB, 4 * MiB, 8 * MiB, 16 * MiB, 64 * MiB, 128 * MiB, 256 * MiB, GiB, step=256), 100 * MiB, 129 * MiB, 300 * MiB, 600 * MiB})


def anything(**more):
    """Sizes around edges, otherwise of any size."""
    return lambda random, n: mixed(random, n, edges=EDGES, **more)


def pattern(*names):
    return one_of(*(PATTERNS[name] for name in names))


TIGHT = ('pressure', 'uniform', 'small-and-large')


def uses(random):
    """Any use, of the whole memory of a device or of little, with few or with many returns of idle regions."""
    trim = random.choice([0, 0.001, 0.01, 0.1])
    return one_of(pattern(*PATTERNS), anything(trim=trim), anything(most=GiB, trim=trim), anything(blocks=random.choice([3, 12, 60]), most=64 * MiB, middle=MiB, trim=trim))


def default(random):
    return Case(uses(random), device={'capacity': 80 * GiB})


def out_of_memory(random):
    """The device refuses, so that regions are asked for again, smaller."""
    return Case(uses(random), {'arena_extend_strategy': random.choice(['kNextPowerOfTwo', 'kNextPowerOfTwo', 'kSameAsRequested'])},
                {'capacity': random.choice([20 * MiB + 3, 200 * MiB, 777 * MiB + 12345, GiB, 2 * GiB, 3 * GiB + 1, 5000000000])})


def limit(random):
    total = random.choice([100 * KiB, 200 * MiB + 77, 777 * MiB, GiB, 2 * GiB, 3 * GiB + 255])
    return Case(uses(random), {'max_mem': total}, {'capacity': random.choice([max(total - 5 * MiB, MiB), 80 * GiB])})


def same_as_requested(random):
    return Case(uses(random), {'arena_extend_strategy': 'kSameAsRequested', 'max_dead_bytes_per_chunk': random.choice([MiB, 128 * MiB])}, {'capacity': random.choice([GiB, 80 * GiB])})


def first_region(random):
    return Case(uses(random), {'initial_chunk_size_bytes': random.choice([1, 255, 256, 257, 1000, 64 * KiB, 3 * MiB + 1, 100 * MiB, 2 * GiB - 1, 2 * GiB])}, {'capacity': random.choice([2 * GiB, 80 * GiB])})


def waste(random):
    return Case(uses(random), {'max_dead_bytes_per_chunk': random.choice([1, 255, 256, 257, 10000, MiB, 10 * MiB + 256, GiB])}, {'capacity': random.choice([2 * GiB, 80 * GiB])})


def capped(random):
    return Case(uses(random), {'max_power_of_two_extend_bytes': random.choice([256, 768, 64 * KiB, MiB, 4 * MiB, 5 * MiB + 256, 100 * MiB])}, {'capacity': random.choice([2 * GiB, 80 * GiB])})


def shrunk(random):
    """Idle regions go often; then regions begin small again."""
    return Case(anything(trim=random.choice([0.01, 0.05, 0.3]), blocks=random.choice([3, 12, 60, 300]), most=random.choice([4 * MiB, 64 * MiB, GiB])),
                {'initial_growth_chunk_size_bytes': random.choice([256, 64 * KiB, 2 * MiB, 3 * MiB + 256, 64 * MiB]), 'arena_extend_strategy': random.choice(['kNextPowerOfTwo', 'kNextPowerOfTwo', 'kSameAsRequested'])},
                {'capacity': random.choice([300 * MiB, 80 * GiB])})


def everything(random):
    settings = {}
    for one in (limit, same_as_requested, first_region, waste, capped, shrunk):
        if random.random() < 0.5:
            settings.update(one(random).settings)
    return Case(uses(random), settings, {'capacity': random.choice([300 * MiB + 17, GiB, 4 * GiB, 80 * GiB])})


WHOLE = (-1, 256, 512, 768, 65536, MiB, 3 * MiB + 256, 2**31 - 256, 2**31, 2**32 - 256, 2**32 + 256, 2**40 + 4096, 2**63 + 256, 2**64 - 256, 2**64 - 1)
NUMBERS = (*WHOLE, 2**32 - 1, 1, 2, 255, 257, 1000, 3 * MiB + 1, 2**31 - 1, 2**32 + 1, 2**62 + 1, 2**63 - 1)
HOSTILE = {'max_mem': (0, 2**32, 2**62 + 1, *WHOLE), 'initial_chunk_size_bytes': NUMBERS, 'max_dead_bytes_per_chunk': NUMBERS, 'initial_growth_chunk_size_bytes': WHOLE,
           'max_power_of_two_extend_bytes': (2**62 + 1, 2**63 - 1, 2**63, *WHOLE), 'arena_extend_strategy': (0, 1, -1, 'kSameAsRequested', 'kNextPowerOfTwo', 2, 3)}


def hostile(random):
    """Values as nobody should give them; short, for it is the values that count.  Not those with which ONNX Runtime itself never ends or
    crashes: zero, but for max_mem; and where the sizes after shrinking, of the largest region, or of the rest of max_mem are no multiples
    of 256."""
    settings = {key: random.choice(HOSTILE[key]) for key in random.sample(sorted(HOSTILE), random.choice([1, 1, 2, 3, 6]))}
    return Case(anything(blocks=12, trim=0.05, most=64 * MiB), settings, {'capacity': random.choice([300 * MiB, 4 * GiB])})


def threads(random):
    return Case(uses(random), device={'capacity': 2 * GiB}, driver={'threads': 3}, options=['--host-threads', '3'])


HUGE = sorted({*around(100_000_000, 200 * MiB, 1_000_000_000, GiB, 2 * GiB, 4 * GiB, 1 << 40, 1 << 50, 1 << 60, step=256), 1 << 61})


def huge(random):
    """Sizes at which 32 bits and the back-off's floats end.  Up to 2^61: from 2^63 on, ONNX Runtime itself never ends."""
    total = random.choice([GiB - 1, 2 * GiB + 255, 4 * GiB, 4 * GiB + 256, 8 * GiB])  # a region costs the real arena 1/32 of it on the host
    settings = {'arena_extend_strategy': random.choice(['kNextPowerOfTwo', 'kSameAsRequested'])}
    if random.random() < 0.4:
        settings['max_mem'] = total + random.choice([-GiB // 2, 256, GiB])
    return Case(lambda random, n: mixed(random, n, edges=HUGE, edge=0.4, middle=200 * MiB, most=1 << 61, small=0.85, blocks=random.choice([5, 40]), trim=random.choice([0, 0.02])), settings, {'capacity': total})


def tiny(random):
    """Little memory, so that every byte of a limit and every quantum counts."""
    total = random.choice([4096, 8191, 8192, 8193, 65536 + 1, 1_000_000, 3 * MiB])
    settings = {'max_mem': total - random.choice([0, 1, 256])} if random.random() < 0.5 else {}
    return Case(lambda random, n: mixed(random, n, edges=[e for e in EDGES if e <= 65536], edge=0.5, middle=1024, most=max(total, 1025), blocks=random.choice([3, 30, 300]), trim=random.choice([0, 0.02])),
                settings, {'capacity': total, 'step': random.choice([256, 512, 4096])})


SCENARIOS = {'default': default, 'out-of-memory': out_of_memory, 'limit': limit, 'same-as-requested': same_as_requested, 'first-region': first_region, 'waste': waste, 'capped': capped, 'shrunk': shrunk, 'everything': everything, 'threads': threads, 'huge': huge, 'tiny': tiny, 'hostile': hostile}
SHORT = {'hostile': 60, 'huge': 2000, 'tiny': 2000}  # of which each failure asks the device hundreds of times


def step(name, change, of='settings'):
    """A change of one setting, where it is set."""

    def apply(settings, device):
        target = settings if of == 'settings' else device
        if name in target:
            target[name] = change(target[name])
        return settings, device

    return apply


def default_made(name, value):
    return lambda settings, device: (dict(settings, **{name: value}), device)


def up(value):
    return value + 256


SHARPNESS = [
    ('default', 'max_dead_bytes_per_chunk 128 MiB + 256', default_made('max_dead_bytes_per_chunk', 128 * MiB + 256)),
    ('default', 'initial_chunk_size_bytes 1 MiB + 256', default_made('initial_chunk_size_bytes', MiB + 256)),
    ('default', 'initial_growth_chunk_size_bytes 2 MiB + 256', default_made('initial_growth_chunk_size_bytes', 2 * MiB + 256)),
    ('default', 'max_power_of_two_extend_bytes 1 GiB - 256', default_made('max_power_of_two_extend_bytes', GiB - 256)),
    ('default', 'arena_extend_strategy', default_made('arena_extend_strategy', 'kSameAsRequested')),
    ('out-of-memory', 'capacity - 2 MiB', step('capacity', lambda v: v - 2 * MiB, of='device')),
    ('limit', 'max_mem - 256', step('max_mem', lambda v: v - 256)),
    ('first-region', 'initial_chunk_size_bytes + 256', step('initial_chunk_size_bytes', up)),
    ('waste', 'max_dead_bytes_per_chunk + 256', step('max_dead_bytes_per_chunk', up)),
    ('capped', 'max_power_of_two_extend_bytes + 256', step('max_power_of_two_extend_bytes', up)),
    ('shrunk', 'initial_growth_chunk_size_bytes + 256', step('initial_growth_chunk_size_bytes', up)),
]

BENCH = {'training': PATTERNS['training'], 'uniform': PATTERNS['uniform']}
