"""scenarios.py - what is tried on TensorFlow's BFCAllocator and `tf-bfc`.

Sizes lie around the edges of the rules (peers.md 1b): quanta of 256 bytes, bins at powers of two times 256, the first region of 2 MiB,
requests of half a chunk, and a waste of 128 MiB, at which a chunk is split.
"""
import advice
from sequences import GiB, KiB, MiB, PATTERNS, Case, around, mixed, one_of

ALLOCATOR = 'tf-bfc'
CALLS = ('malloc', 'free')

EDGES = sorted({1, 2, *around(256, 512, 1024, 4096, 64 * KiB, 128 * KiB, MiB, 2 * MiB, 4 * MiB, 8 * MiB, 16 * MiB, 64 * MiB, 128 * MiB, 256 * MiB, step=256), 100 * MiB, 129 * MiB, 300 * MiB, 600 * MiB})


def anything(**more):
    """Sizes around edges, otherwise of any size."""
    return lambda random, n: mixed(random, n, edges=EDGES, **more)


def pattern(*names):
    return one_of(*(PATTERNS[name] for name in names))


TIGHT = ('pressure', 'uniform', 'small-and-large')


def default(random):
    return Case(one_of(pattern(*PATTERNS), anything(), anything(most=GiB)), device={'capacity': 80 * GiB})


def out_of_memory(random):
    """The device refuses, so that regions are asked for again, smaller."""
    return Case(one_of(pattern(*TIGHT), anything(), anything(most=64 * MiB)),
                device={'capacity': random.choice([200 * MiB, 777 * MiB + 12345, GiB, 2 * GiB, 3 * GiB + 1, 5000000000])})


def limit(random):
    total = random.choice([200 * MiB + 77, 777 * MiB, GiB, 2 * GiB, 3 * GiB + 255])
    return Case(one_of(pattern(*TIGHT), anything()), {'limit': total}, {'capacity': random.choice([total - 5 * MiB, 80 * GiB])})


def whole(random):
    """The whole limit at once, as on a GPU by default."""
    total = random.choice([GiB, 2 * GiB + 1, 4 * GiB, 15 * GiB])
    return Case(one_of(pattern(*PATTERNS), anything(), pattern(*TIGHT)), {'allow_growth': 'no', 'limit': total}, {'capacity': random.choice([total, 80 * GiB, total * 3 // 4])})


def few(random, total):
    """Few blocks, of which each may be most of the memory."""
    return anything(blocks=random.choice([3, 6, 12]), most=total // 2, middle=total // 16, edge=0.2)


def kept(random):
    """Without garbage collection, where idle regions would make room."""
    total = random.choice([100 * MiB, 300 * MiB, GiB])
    return Case(one_of(pattern(*TIGHT), few(random, total), few(random, total)), {'garbage_collection': 'no', 'allow_growth': random.choice(['yes', 'yes', 'no'])}, {'capacity': total})


def fragmentation(random):
    total = random.choice([GiB, 4 * GiB, 16 * GiB])
    return Case(one_of(pattern(*TIGHT), anything(most=512 * MiB)),
                {'fragmentation_fraction': random.choice(['0.0001', '0.001', '0.01', '0.05', '0.1', '0.3', '0.9', '1']), 'allow_growth': random.choice(['yes', 'no'])}, {'capacity': total})


def joined(random):
    """Regions that adjoin become one: multiples of the device's step follow one another."""
    return Case(one_of(pattern(*TIGHT), anything()), {'coalesce_regions': 'yes'}, {'capacity': random.choice([300 * MiB, GiB, 4 * GiB])})


def collected(random):
    """Idle regions often make room."""
    total = random.choice([100 * MiB, 300 * MiB, GiB])
    return Case(few(random, total), {'coalesce_regions': random.choice(['yes', 'no', 'no'])}, {'capacity': total})


def timestamps(random):
    """Frees wait for the safe frontier; requests on other streams than 0 only take what it has passed.  Without garbage collection:
    with it TensorFlow 2.21 itself crashes when it returns a region of which chunks wait."""
    uses = anything(streams=random.choice([1, 2, 3]), sync=random.choice([0, 0.003, 0.03, 0.2]), blocks=random.choice([10, 40, 300]), most=random.choice([4 * MiB, 64 * MiB, 256 * MiB]))
    return Case(uses, {'timestamped_allocator': 'yes', 'allow_growth': random.choice(['yes', 'no']), 'garbage_collection': 'no'},
                {'capacity': random.choice([100 * MiB, 700 * MiB, 4 * GiB])})


def of_pool(generator, share):
    """A share of the requests of a generator comes from a private pool, which has the upper end of the memory."""

    def spread(random, n):
        for op in generator(random, n):
            yield (*op[:3], 0, int(random.random() < share)) if op[0] == 'a' else op

    return spread


def partitioned(random):
    """From both ends.  The device has the whole limit: where it has less, TensorFlow 2.22 itself crashes with its second region."""
    total = random.choice([MiB, 100 * MiB, 300 * MiB + 77, GiB, 4 * GiB, 80 * GiB])
    uses = one_of(pattern(*PATTERNS), pattern(*TIGHT), anything(), few(random, total))
    return Case(of_pool(uses, random.choice([0.1, 0.5, 0.5, 0.9])), {'allow_growth': 'no', 'enable_spatial_partitioning': 'yes', 'limit': total,
                'garbage_collection': random.choice(['yes', 'no']), 'fragmentation_fraction': random.choice(['0', '0', '0.01'])}, {'capacity': total},
                versions=lambda version: not version.startswith('2.21'))


HUGE = sorted({*around(100_000_000, 200 * MiB, 1_000_000_000, GiB, 2 * GiB, 4 * GiB, 1 << 40, 1 << 50, 1 << 60, 1 << 62, step=256), 2**63 - 1, 2**63})


NO_LIMIT = (2**62, 2**63 - 256, 2**63 - 255, 2**63 - 1)


def huge(random):
    """Sizes at which 32 bits and the back-off's floats end.  Up to 2^63: above, TensorFlow's own sums overflow.

    TensorFlow itself never returns from a request once the size of its next region, which doubles with each, has reached 2^64, so there are
    few regions; nor does 2.21 where the device refuses 2304 bytes that the limit allows, as nine tenths of them are rounded up to them again.
    """
    total = random.choice([GiB - 1, 2 * GiB + 255, 4 * GiB, 4 * GiB + 256, 8 * GiB])  # a region costs the real arena 1/32 of it on the host
    limit = random.choice([total] * 10 + [total - GiB // 2, total + 256, total + GiB, *NO_LIMIT])
    settings = {'allow_growth': random.choice(['yes', 'yes', 'no']), 'garbage_collection': random.choice(['yes', 'no']), 'limit': limit}
    if random.random() < 0.5:
        settings['fragmentation_fraction'] = random.choice(['1e-9', '1e-7', '0.5', '1', '1.5', '-0.5', '1e9', '1e10', '1e30'])
    edges, most = HUGE, 2**63
    if limit in NO_LIMIT:
        settings.update(allow_growth='yes', garbage_collection='no')
        edges, most = [size for size in HUGE if size < 1 << 50], 1 << 50
    return Case(lambda random, n: mixed(random, min(n, 300) if settings['garbage_collection'] == 'yes' else n, edges=edges, edge=0.4, middle=200 * MiB, most=most, small=0.85,
                                        blocks=random.choice([5, 40])), settings, {'capacity': total}, versions=lambda version: limit <= total or not version.startswith('2.21'))


def tiny(random):
    """Little memory, so that every byte of a limit and every quantum counts."""
    total = random.choice([255, 256, 257, 1000, 4096, 65536 + 1, 1_000_000])
    return Case(lambda random, n: mixed(random, n, edges=[e for e in EDGES if e <= 65536], edge=0.5, middle=1024, most=max(total, 1025), blocks=random.choice([3, 30, 300])),
                {'allow_growth': random.choice(['yes', 'no']), 'garbage_collection': random.choice(['yes', 'no'])}, {'capacity': total, 'step': random.choice([256, 512, 4096])})


SCENARIOS = {'default': default, 'out-of-memory': out_of_memory, 'limit': limit, 'whole': whole, 'no-collection': kept, 'fragmentation': fragmentation, 'joined': joined, 'collected': collected, 'timestamps': timestamps, 'partitioned': partitioned, 'huge': huge, 'tiny': tiny}


def step(name, add=None, value=None, of='settings'):
    """A change of one setting, where it is set or has the default @value."""

    def change(settings, device):
        target = settings if of == 'settings' else device
        if add is not None and name in target:
            target[name] = add(target[name])
        elif value is not None:
            target[name] = value
        return settings, device

    return change


SHARPNESS = [
    ('default', 'growth, or not', step('allow_growth', value='no')),
    ('default', 'fragmentation_fraction 0.0001', step('fragmentation_fraction', value='0.0001')),
    ('limit', 'limit - 256', step('limit', add=lambda v: v - 256)),
    ('out-of-memory', 'capacity - 2 MiB', step('capacity', add=lambda v: v - 2 * MiB, of='device')),
    ('fragmentation', 'fragmentation_fraction + 1 %', step('fragmentation_fraction', add=lambda v: '%.6f' % min(1, float(v) * 1.01))),
    ('no-collection', 'collection, or not', step('garbage_collection', value='yes')),
    ('joined', 'regions that adjoin', step('coalesce_regions', value='no')),
    ('collected', 'collection, or not', step('garbage_collection', value='no')),
    ('partitioned', 'both ends, or one', step('enable_spatial_partitioning', value='no')),
    ('partitioned', 'limit - 256', step('limit', add=lambda v: v - 256)),
]

BENCH = {'training': PATTERNS['training'], 'uniform': PATTERNS['uniform']}


# ---- lines to paste

def pasted(line):
    """TensorFlow reads the variables when it makes the allocator of a GPU; TF_GPU_ALLOCATOR before that, where it looks for GPUs."""
    return None if 'TF_GPU_ALLOCATOR' in line else ({'gpu': 'yes'}, advice.assignments(line))


def at_once(random):
    """The whole limit, of which growth leaves what nothing asks for."""
    return Case(pattern(*PATTERNS), {'allow_growth': 'no', 'limit': random.choice([20, 40]) * GiB}, {'capacity': 80 * GiB})


def then_large(random, n):
    """Small blocks, then, when all are free, one that needs a region of its own."""
    for step in range(4):
        for ident in range(100 * step + 1, 100 * step + 99):
            yield ('a', ident, random.randrange(2 * MiB, 3 * MiB))
        for ident in range(100 * step + 1, 100 * step + 99):
            yield ('f', ident)
        yield ('a', 100 * step + 99, random.randrange(520 * MiB, 560 * MiB))
        yield ('f', 100 * step + 99)


def uncollected(random):
    """Too little where idle regions stay."""
    return Case(then_large, {'garbage_collection': 'no'}, {'capacity': random.choice([800, 900, 1000]) * MiB})


ADVICE = {'at-once': at_once, 'uncollected': uncollected}
