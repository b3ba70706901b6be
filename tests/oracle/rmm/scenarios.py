"""scenarios.py - what is tried on RMM's memory resources and gemem's `rmm-*`.

Sizes lie around the quantum of 256 bytes, the 1 MiB of the arena, and the sizes of blocks and bins.  26.10 keeps parts of its resources in
librmm.so, whose own CUDA runtime does not start without a driver: its arena cannot be made here, and the bins of its binning resource see all
streams as one.
"""
from sequences import PATTERNS, GiB, MiB, Case, any_pattern, around, mixed, one_of, pressure

ALLOCATOR = 'rmm-pool'
CALLS = ('malloc', 'free', 'stream_sync', 'device_sync')
EDGES = sorted({1, 2, *around(256, 512, 64 << 10, MiB, 2 * MiB, step=256)})


def headers(version):
    """The versions whose resources are headers alone."""
    return version == '24.12'


def classes(version):
    return version == '24.12-classes'


def plain(version):
    return not classes(version)


def version_settings(version):
    return {'version': version.split('-')[0]}


def moving(operations, share=0.2):
    """The same with blocks that are freed on other streams."""
    def generator(random, n):
        for op in operations(random, n):
            if op[0] == 'f' and random.random() < share:
                yield ('l', op[1], random.randrange(5))
            yield op
    return generator


def anything(random, streams=None, edges=EDGES, most=64 * MiB, **more):
    streams = streams or random.choice([1, 2, 3, 5])
    operations = lambda random, n: mixed(random, n, edges=edges, streams=streams, most=most, trim=0, blocks=random.choice([20, 60, 300]), **more)
    return moving(operations) if streams > 1 else operations


def tight(random):
    return {'capacity': random.choice([100 * MiB, 300 * MiB + 12345, GiB, 4 * GiB])}


def pool(random):
    return Case(one_of(any_pattern, anything(random)), device={'capacity': 80 * GiB}, versions=plain)


def pool_settings(random):
    initial = random.choice([0, 256 * 1000, 16 * MiB, 64 * MiB])
    settings = {'initial_pool_size': initial}
    if random.random() < 0.6:
        settings['maximum_pool_size'] = max(initial, random.choice([16 * MiB, 96 * MiB, 256 * 999999]))
    return Case(anything(random), settings, tight(random), versions=plain)


def out_of_memory(random):
    return Case(one_of(anything(random), lambda random, n: pressure(random, n, 800 * MiB)), device=tight(random), versions=plain)


def fixed_size(random):
    size = random.choice([256, 1000, 65536, 100000, MiB])
    settings = {'block_size': size, 'blocks_to_preallocate': random.choice([1, 2, 7, 32])}
    return Case(anything(random, edges=sorted({1, size - 1, size, size + 1}), most=max(size, MiB) + 100, edge=0.8), settings, tight(random), versions=plain, allocator='rmm-fixed-size')


def binning(random, streams=None):
    least = random.choice([2, 8, 10, 14])
    settings = {'min_size_exponent': least, 'max_size_exponent': random.choice([least, least + 2, 16])}
    if random.random() < 0.5:
        settings['bins'] = '[%s]' % ','.join(str(random.choice([300, 1000, 4096, 70000, 100000])) for _ in range(random.choice([1, 2])))
    if random.random() < 0.5:
        settings['upstream'] = random.choice(['rmm-pool', '[rmm-pool:initial_pool_size=%d]' % (64 * MiB)])
    return Case(anything(random, streams, edges=sorted({*around(256, 1024, 1 << 14, 1 << 16, 70000, 100000, step=256)})), settings,
                {'capacity': random.choice([300 * MiB, GiB])}, versions=headers if streams is None else plain, allocator='rmm-binning')


def binning_one_stream(random):
    return binning(random, 1)


def limiting(random):
    settings = {'allocation_limit': random.choice([10 * MiB, 100 * MiB + 1, GiB]), 'alignment': random.choice([1, 16, 256, 4096])}
    settings['upstream'] = random.choice(['direct', 'rmm-pool', '[rmm-pool:initial_pool_size=%d]' % (16 * MiB)])
    return Case(anything(random), settings, tight(random), versions=plain, allocator='rmm-limiting')


def arena(random):
    settings = {'arena_size': random.choice([MiB, 2 * MiB + 256, 20 * MiB + 1000, 90 * MiB])} if random.random() < 0.7 else {}
    return Case(anything(random, most=random.choice([3 * MiB, 30 * MiB])), settings, tight(random), versions=headers, allocator='rmm-arena')


def arena_classes(random):
    case = arena(random)
    case.settings['use_size_classes'] = 'yes'
    case.versions = classes
    return case


def stacked(random):
    """Resources on resources."""
    pool, limit = '[rmm-pool:initial_pool_size=%d,upstream=%s]', '[rmm-limiting:allocation_limit=%d,upstream=%s]'
    name, settings = random.choice([
        ('rmm-pool', {'upstream': limit % (90 * MiB + 7, 'direct')}),
        ('rmm-pool', {'upstream': limit % (90 * MiB, pool % (0, 'direct')), 'maximum_pool_size': 64 * MiB}),
        ('rmm-limiting', {'allocation_limit': 50 * MiB, 'upstream': pool % (MiB, limit % (70 * MiB, 'direct'))}),
        ('rmm-fixed-size', {'block_size': 100000, 'blocks_to_preallocate': 5, 'upstream': pool % (MiB, 'direct')}),
    ])
    return Case(anything(random, most=20 * MiB), settings, tight(random), versions=plain, allocator=name)


def stacked_arena(random):
    """The arena beneath others, and over them."""
    name, settings = random.choice([
        ('rmm-pool', {'upstream': '[rmm-arena:arena_size=%d]' % (90 * MiB)}),
        ('rmm-limiting', {'allocation_limit': 50 * MiB + 3, 'alignment': 64, 'upstream': '[rmm-arena:arena_size=%d]' % (70 * MiB)}),
        ('rmm-binning', {'min_size_exponent': 8, 'max_size_exponent': 12, 'upstream': '[rmm-arena:arena_size=%d]' % (90 * MiB)}),
        ('rmm-arena', {'arena_size': 60 * MiB, 'upstream': '[rmm-pool:initial_pool_size=%d]' % (80 * MiB)}),
    ])
    return Case(anything(random, most=20 * MiB), settings, {'capacity': 100 * MiB}, versions=headers, allocator=name)


def layer(random, below, limit, kinds):
    """One resource over @below, which has at most @limit for what it takes when it is made: (kind, settings, its own limit)."""
    kind = random.choice(kinds)
    if kind == 'rmm-pool':
        initial = random.choice([size for size in (0, MiB, 8 * MiB + 256) if size <= limit])
        most = max(initial, random.choice([12 * MiB, 40 * MiB, 256 * 99999]))
        settings = {'initial_pool_size': initial, 'maximum_pool_size': most} if random.random() < 0.5 else {'initial_pool_size': initial}
        limit = min(limit, settings.get('maximum_pool_size', limit))
    elif kind == 'rmm-limiting':
        settings = {'allocation_limit': random.choice([9 * MiB, 30 * MiB + 7, 70 * MiB]), 'alignment': random.choice([1, 16, 256, 4096])}
        limit = min(limit, settings['allocation_limit'])
    elif kind == 'rmm-fixed-size':
        size, count = random.choice([pair for pair in ((256, 1), (4096, 8), (100000, 3), (MiB, 1), (MiB, 5)) if pair[0] * pair[1] <= limit])
        settings, limit = {'block_size': size, 'blocks_to_preallocate': count}, min(limit, size)
    else:
        settings = {'min_size_exponent': 8, 'max_size_exponent': random.choice([10, 16])}
    return kind, dict(settings, upstream=below), limit


def towers(random):
    """Three or four levels, several streams, a limit at each level.  Binning only with one stream, as 26.10 sees all as one."""
    below, limit, name, settings, streams = 'direct', 8 * MiB + 256, '', {}, random.choice([1, 1, 3, 5])
    kinds = ['rmm-pool', 'rmm-pool', 'rmm-limiting', 'rmm-limiting', 'rmm-fixed-size'] + (['rmm-binning'] if streams == 1 else [])
    for _ in range(random.choice([3, 3, 4])):
        name, settings, limit = layer(random, below, limit, [kind for kind in kinds if kind != 'rmm-binning' or limit >= 8 * MiB])
        below = '[%s:%s]' % (name, ','.join('%s=%s' % item for item in settings.items()))
    most = random.choice([100000, 2 * MiB, 20 * MiB])
    return Case(anything(random, streams, most=most, middle=min(MiB, most)), settings, {'capacity': random.choice([20 * MiB, 60 * MiB + 12345, 100 * MiB, GiB])}, versions=plain, allocator=name)


HUGE = sorted({*around(100_000_000, 200 * MiB, GiB, 2 * GiB, 4 * GiB, 1 << 40, 1 << 50, 1 << 60, 1 << 62, step=256), 2**63 - 1})


def huge(random):
    """Sizes at which 32 bits end, and beyond every device."""
    settings = random.choice([{}, {'initial_pool_size': GiB}, {'initial_pool_size': 256, 'maximum_pool_size': 3 * GiB}, {'maximum_pool_size': 1 << 50}])
    streams = random.choice([1, 3])
    operations = lambda random, n: mixed(random, n, edges=HUGE, edge=0.4, streams=streams, middle=200 * MiB, most=2**63 - 1, small=0.85, trim=0, blocks=random.choice([5, 40]))
    return Case(operations, settings, {'capacity': random.choice([2 * GiB, 4 * GiB + 1, 80 * GiB, 1 << 41])}, versions=plain)


def hundreds(random):
    """Hundreds of streams, whose lists are searched and merged in turn."""
    settings = random.choice([{}, {'initial_pool_size': 64 * MiB}, {'maximum_pool_size': 96 * MiB}])
    return Case(anything(random, streams=random.choice([50, 300]), most=random.choice([MiB, 16 * MiB])), settings, tight(random), versions=plain)


SCENARIOS = {'pool': pool, 'pool-settings': pool_settings, 'out-of-memory': out_of_memory, 'fixed-size': fixed_size, 'binning': binning,
             'binning-one-stream': binning_one_stream, 'limiting': limiting, 'arena': arena, 'arena-classes': arena_classes, 'stacked': stacked, 'stacked-arena': stacked_arena, 'towers': towers, 'huge': huge, 'hundreds': hundreds}


def off(key, step):
    def change(settings, device):
        return (dict(settings, **{key: settings[key] + step}) if key in settings else settings), device
    return change


SHARPNESS = [('pool-settings', 'initial_pool_size + 256', off('initial_pool_size', 256)), ('pool-settings', 'maximum_pool_size - 256', off('maximum_pool_size', -256)),
             ('fixed-size', 'block_size + 256', off('block_size', 256)), ('fixed-size', 'blocks_to_preallocate + 1', off('blocks_to_preallocate', 1)),
             ('binning', 'max_size_exponent + 1', off('max_size_exponent', 1)), ('limiting', 'alignment doubled', lambda settings, device: (dict(settings, alignment=settings['alignment'] * 2), device)),
             ('limiting', 'allocation_limit - 4096', off('allocation_limit', -4096)), ('arena', 'arena_size - 1 MiB', off('arena_size', -MiB))]

BENCH = {name: PATTERNS[name] for name in ('training', 'uniform')}
