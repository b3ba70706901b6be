"""scenarios.py - what is tried on CuPy's memory pool and `cupy-pool`.

Which of several free chunks of equal size CuPy takes follows from the addresses of its Python objects, which nobody knows beforehand
(peers.md 1i.1), so gemem follows it there (FOLLOWS, `tie=recorded`); everything else it decides itself.
"""
import advice
from sequences import GiB, KiB, MiB, PATTERNS, Case, around, mixed, one_of

ALLOCATOR = 'cupy-pool'
CALLS = ('malloc', 'free')
UNORDERED = ('free',)  # idle allocations go by ascending size, and among equals and streams as Python's objects lie
FOLLOWS = True

EDGES = sorted({1, 2, *around(512, 1024, 4096, 64 * KiB, MiB, 2 * MiB, 20 * MiB), 100 * MiB, 600 * MiB})
TIGHT = ('pressure', 'uniform', 'small-and-large')


def anything(**more):
    """Sizes around edges, otherwise of any size."""
    return lambda random, n: mixed(random, n, edges=EDGES, **more)


def pattern(*names):
    return one_of(*(PATTERNS[name] for name in names))


def uses(random):
    trim = random.choice([0, 0.001, 0.01, 0.1])
    streams = random.choice([1, 1, 2, 5])
    return one_of(pattern(*PATTERNS), anything(trim=trim, streams=streams), anything(most=GiB, trim=trim, streams=streams),
                  anything(blocks=random.choice([3, 12, 60]), most=64 * MiB, middle=MiB, trim=trim, streams=streams))


def default(random):
    return Case(uses(random), {'tie': 'recorded'}, {'capacity': 80 * GiB})


def streams(random):
    """Chunks stay with their stream, whatever stream is current when they are freed."""
    return Case(anything(streams=random.choice([2, 3, 8]), trim=random.choice([0.001, 0.02]), most=random.choice([MiB, 256 * MiB])), {'tie': 'recorded'}, {'capacity': random.choice([GiB, 80 * GiB])})


def brimful(random, total):
    """Any use, or few blocks of which each may be half of the memory, so that it is often full to the last unit."""
    return one_of(uses(random), anything(blocks=random.choice([3, 12, 60]), least=total // 64, middle=total // 16, most=total // 2, edge=0, trim=0.01))


def out_of_memory(random):
    total = random.choice([20 * KiB, 20 * KiB, 40 * KiB, 100 * KiB, 20 * MiB + 3, 200 * MiB, 777 * MiB + 12345, GiB, 3 * GiB + 1])
    return Case(brimful(random, total), {'tie': 'recorded'}, {'capacity': total})


def limit(random):
    total = random.choice([20 * KiB, 100 * KiB, 200 * MiB + 77, 777 * MiB, GiB, 3 * GiB + 511])
    return Case(brimful(random, total), {'tie': 'recorded', 'limit': total}, {'capacity': random.choice([max(total - 5 * MiB, MiB), 80 * GiB])})


def version_settings(version):
    return {'version': '.'.join(version.split('.')[:2])}


SCENARIOS = {'default': default, 'streams': streams, 'out-of-memory': out_of_memory, 'limit': limit}


def less(name, by, of='settings'):
    def apply(settings, device):
        target = settings if of == 'settings' else device
        if name in target:
            target[name] -= by
        return settings, device

    return apply


SHARPNESS = [
    ('default', 'the lowest of equal chunks', lambda settings, device: (dict(settings, tie='lowest_address'), device)),
    ('out-of-memory', 'capacity - 512', less('capacity', 512, of='device')),
    ('limit', 'limit - 512', less('limit', 512)),
    ('limit', 'another version', lambda settings, device: (dict(settings, version='13.6' if settings['version'] == '14.2' else '14.2'), device)),
]


# ---- lines to paste

def pasted(line):
    """CuPy reads the variable when a pool is made."""
    return {}, advice.assignments(line)


def growing(random, n):
    """Blocks of one size after the other, larger each time: chunks that were cached before serve none of them, and no two are equal, of
    which CuPy takes one that nobody knows beforehand."""
    ident = 0
    for step in range(6):
        first = ident + 1
        for _ in range(280 >> step):
            ident += 1
            yield ('a', ident, random.randrange(MiB << step, (MiB << step) + (MiB << step >> 1)))
        for block in range(first, ident + 1):
            yield ('f', block)


def cached(random):
    """Less than a GiB is in use at once, and more is held unless a limit empties the cache."""
    return Case(growing, device={'capacity': 80 * GiB})


ADVICE = {'cached': cached}
