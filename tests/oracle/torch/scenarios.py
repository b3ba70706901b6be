"""scenarios.py - what is tried on PyTorch's CUDACachingAllocator and `pytorch-caching`.

Sizes lie around the edges of the rules (peers.md 1a.3, 1a.4): the quantum of 512 bytes, the small pool up to 1 MiB, segments of 2 MiB, of
20 MiB for requests below 10 MiB, of whole 2 MiB above; remainders of just 1 MiB; and around max_split_size.
Every device call that both sides make is compared; `info` is none of an allocator's decisions.
"""
import advice
import hostile
from sequences import GiB, MiB, PATTERNS, Case, any_pattern, around, mixed, on_streams, one_of, pressure

ALLOCATOR = 'pytorch-caching'
CALLS = ('malloc', 'free', 'reserve', 'release', 'create', 'destroy', 'map', 'unmap', 'event_record', 'event_query', 'event_sync', 'stream_sync', 'device_sync')
UNORDERED = ('event_record', 'event_query', 'event_sync')  # for every stream of a hash table

EDGES = sorted({1, 2, *around(512, 1024, MiB, 2 * MiB, 9 * MiB, 10 * MiB, 12 * MiB, 19 * MiB, 20 * MiB, 21 * MiB, 32 * MiB, 64 * MiB, 128 * MiB, 200 * MiB, 220 * MiB),
                30 * MiB, 40 * MiB, 63 * MiB, 100 * MiB, 199 * MiB, 240 * MiB, 256 * MiB})


def number(version):
    return tuple(int(part) for part in version.split('.'))


def since(first):
    return lambda version: number(version) >= number(first)


def version_settings(version):
    return {'version': version}


def anything(**more):
    """Sizes around edges, otherwise of any size."""
    return lambda random, n: mixed(random, n, edges=EDGES, **more)


def pattern(*names):
    return one_of(*(PATTERNS[name] for name in names))


TIGHT = ('pressure', 'uniform', 'small-and-large')


def default(random):
    return Case(one_of(any_pattern, anything(), anything(trim=0.01)), device={'capacity': 80 * GiB})


def out_of_memory(random):
    total = random.choice([200 * MiB, 777 * MiB + 12345, GiB, 2 * GiB, 3 * GiB + 1])
    return Case(one_of(pattern(*TIGHT), anything(), anything(most=64 * MiB), anything(limit=int(total * 0.8))), device={'capacity': total})


def split(random):
    settings = {'max_split_size_mb': random.choice([20, 21, 21, 32, 64, 100, 128, 200, 512])}
    if random.random() < 0.4:
        settings['max_non_split_rounding_mb'] = random.choice([20, 21, 50, 100, 1024])
    return Case(one_of(pattern(*TIGHT), anything()), settings, {'capacity': random.choice([600 * MiB, GiB, 2 * GiB, 4 * GiB, 16 * GiB])})


ROUNDINGS = ['[64:8,128:2,>:1]', '[1:4,4:8,256:16,>:2]', '[256:1,512:2,1024:4,>:8]', '[8:2]', '[2:16,16:8]', '[32:0,>:4]', '[1:1,2:2,4:4,8:8,16:16,32:32,64:64,128:1]', '[>:4]', '[64:8,>:4]']


def roundup(random):
    value = random.choice(ROUNDINGS) if random.random() < 0.5 else random.choice([1, 2, 4, 8, 16, 32, 64])
    return Case(one_of(any_pattern, anything(), anything(edge=0)), {'roundup_power2_divisions': value}, {'capacity': random.choice([GiB, 80 * GiB])})


def garbage_collection(random):
    total = random.choice([GiB, 2 * GiB, 4 * GiB, 8 * GiB])
    share = random.choice([0.25, 0.5, 0.6, 0.75, 0.9, 1 - 2**-20])
    near = int(total * share * random.choice([0.5, 0.7, 0.9]))
    return Case(one_of(pattern('shapes', *TIGHT), anything(limit=near), lambda random, n: pressure(random, n, near, 64 * MiB)),
                {'garbage_collection_threshold': random.choice(['0.1', '0.3', '0.5', '0.6', '0.7', '0.8', '0.9', '0.95', '0.99']), 'memory_limit': int(total * share)}, {'capacity': total})


def fraction(random):
    return Case(one_of(pattern(*TIGHT), anything()), {'per_process_memory_fraction': random.choice(['0.1', '0.3', '0.5', '0.6', '0.77777', '0.9', '0.999'])},
                {'capacity': random.choice([GiB, 2 * GiB, 4 * GiB, 5000000000, 7654321987])})


def large_segment(random):
    settings = {'large_segment_size_mb': random.choice([20, 21, 22, 24, 32, 64, 128, 256])}
    if random.random() < 0.3:
        settings['max_split_size_mb'] = settings['large_segment_size_mb'] + random.choice([0, 1, 40])
    return Case(one_of(any_pattern, anything()), settings, {'capacity': random.choice([GiB, 80 * GiB])}, versions=since('2.11'))


def streams(random):
    return Case(anything(streams=random.choice([2, 3, 8])), device={'capacity': random.choice([GiB, 4 * GiB, 80 * GiB])})


def events(random):
    """When events complete, and whether free waits for them."""
    return {'event_latency': random.choice([0, 1, 1000, 3000, 50000, 10**9]), 'free_synchronises': random.choice(['yes', 'no'])}


def record(random):
    """record_stream: frees that wait for events."""
    uses = anything(streams=random.choice([2, 3, 6]), record=random.choice([0.05, 0.2]), sync=random.choice([0, 0.005, 0.02]), clock=random.choice([0, 200, 5000]), trim=random.choice([0, 0.002]))
    return Case(one_of(uses, *(on_streams(PATTERNS[name]) for name in ('training', 'uniform', 'shapes'))), device={'capacity': random.choice([GiB, 4 * GiB, 80 * GiB]), **events(random)})


def empty_cache(random):
    """Trims often, so that what is released and what is not decides."""
    return Case(one_of(anything(trim=0.03), anything(trim=0.03, streams=3, record=0.1, clock=2000)), device={'capacity': random.choice([GiB, 8 * GiB]), **events(random)})


def stretches(random, n, captures=True, anywhere=False, **more):
    """Allocation to private pools for a while at a time, within captures (CUDA graphs) or without (MemPool); frees at any time.  Waits,
    trims and uses on other streams only outside, or `anywhere`; then also requests to no pool inside, and pools that are released."""
    inside = left = 0
    first = 7  # of three pools; released ones never come again
    for op in mixed(random, n, edges=EDGES, streams=random.choice([1, 1, 2, 3]), record=random.choice([0, 0.08]), sync=0.003, clock=random.choice([0, 3000]),
                    most=random.choice([32 * MiB, 256 * MiB]), **more):
        if inside and left <= 0:
            yield ('E', inside)
            inside = 0
        if not inside and random.random() < 0.01:
            if anywhere and random.random() < 0.1:
                yield from (('p', first + k, False) for k in range(3))
                first += 3
            inside, left = first + random.randrange(3), random.randrange(1, 60)
            yield ('B', inside, captures)
        left -= 1
        if inside and op[0] in 'rsu' and not anywhere:
            continue
        yield (*op, inside) if inside and op[0] == 'a' and not (anywhere and random.random() < 0.1) else op
    if inside:
        yield ('E', inside)


def pool_case(random, captures, anywhere=False):
    settings, total = {}, random.choice([700 * MiB, GiB, 4 * GiB, 80 * GiB])
    if random.random() < 0.4:
        settings['max_split_size_mb'] = random.choice([32, 128, 200])
    if random.random() < 0.3:
        settings['memory_limit'] = int(total * 0.75)
        if random.random() < 0.7:
            settings['garbage_collection_threshold'] = random.choice(['0.5', '0.8'])
    return Case(lambda random, n: stretches(random, n, captures, anywhere, trim=0.003), settings, {'capacity': total, **events(random)},
                unordered=('free',) if anywhere else ())  # pools that were released go in the order of a hash table


def captures(random):
    return pool_case(random, True)


def private_pools(random):
    return pool_case(random, False)


def inside_captures(random):
    return pool_case(random, True, True)


def inside_pools(random):
    return pool_case(random, False, True)


def expandable(random):
    total = random.choice([200 * MiB, GiB, 2 * GiB, 16 * GiB, 80 * GiB])
    settings = {'expandable_segments': 'yes'}
    if random.random() < 0.3:
        settings['max_split_size_mb'] = random.choice([32, 128, 200])
    if random.random() < 0.3:
        settings['roundup_power2_divisions'] = random.choice([2, 4, 8])
    if random.random() < 0.3:
        settings['memory_limit'] = int(total * 0.75)
        if random.random() < 0.7:
            settings['garbage_collection_threshold'] = random.choice(['0.5', '0.8'])
    return Case(one_of(any_pattern, anything(trim=0.003), anything(streams=3, record=0.05, clock=2000)), settings, {'capacity': total, **events(random)})


def everything(random):
    """Several settings, streams, uses, and a capacity that is not always enough."""
    total, settings = random.choice([700 * MiB, GiB, 3 * GiB]), {}
    if random.random() < 0.6:
        settings['max_split_size_mb'] = random.choice([32, 128, 200])
    if random.random() < 0.5:
        settings['roundup_power2_divisions'] = random.choice([2, 4, 8])
    if random.random() < 0.7:
        settings['memory_limit'] = int(total * 0.75)
        if random.random() < 0.8:
            settings['garbage_collection_threshold'] = random.choice(['0.5', '0.8'])
    if random.random() < 0.2:
        settings['expandable_segments'] = 'yes'
    uses = anything(streams=random.choice([1, 2, 4]), record=random.choice([0, 0.1]), sync=0.003, clock=random.choice([0, 2000]))
    return Case(one_of(uses, on_streams(PATTERNS['training']), on_streams(PATTERNS['small-and-large'])), settings, {'capacity': total, **events(random)})


HUGE = sorted({0, 200_000_000, 1_000_000_000, *around(200 * MiB, GiB, 2 * GiB, 4 * GiB, 8 * GiB, 1 << 40), *(s + d for s in (1 << 59, 1 << 60, 1 << 62, 1 << 63) for d in (-512, -1, 0, 1, 512)), 2**64 - 1, 2**64 - 513})


def maybe_expandable(random):
    return {'expandable_segments': 'yes'} if random.random() < 0.4 else {}


def huge(random):
    """Sizes at which 32 bits, a device, or the allocator's own bound end."""
    settings = maybe_expandable(random)
    if random.random() < 0.5:
        settings['roundup_power2_divisions'] = random.choice([2, 8, 64, 1 << 20, '[>:4]', '[1024:4,>:16]'])
    if random.random() < 0.3:
        settings['max_split_size_mb'] = random.choice([200, 1024, 2048, 4096, 1 << 20])
    paged = 'expandable_segments' in settings  # of which each failure maps and unmaps all there is
    return Case(lambda random, n: mixed(random, n, edges=HUGE, edge=0.1 if paged else 0.4, middle=200 * MiB, most=2**64 - 1, small=0.95 if paged else 0.8, blocks=40, trim=0.01), settings,
                {'capacity': random.choice([2 * GiB, 4 * GiB + 1] if paged else [2 * GiB, 4 * GiB + 1, 10 * GiB, 80 * GiB, 1 << 41])})


def ordered(version):
    """Whether uses by several streams end in an order that can be known: see known-differences."""
    return version != '2.12.1'


def hundreds(random):
    """Hundreds of streams, each with a little, used by others."""
    settings, used = maybe_expandable(random), random.choice([0, 0.1, 0.4])
    return Case(anything(streams=random.choice([50, 200, 400]), record=used, sync=0.01, clock=random.choice([0, 300]), most=random.choice([2 * MiB, 64 * MiB]), blocks=random.choice([60, 1500])),
                settings, {'capacity': random.choice([2 * GiB, 80 * GiB]), **events(random)}, versions=ordered if used else None)


def emptied(operations):
    """The same with pools that are empty when they are released.  Else PyTorch fails with an internal error where a mapping of an
    expandable segment comes back in more parts than there were mappings (peers.md 1a.10)."""

    def generator(random, n):
        pools, gone = {}, set()  # of live blocks
        for op in operations(random, n):
            if op[0] in 'ful' and op[1] in gone:
                continue
            if op[0] == 'a':
                pools[op[1]] = op[4] if len(op) > 4 else 0
            elif op[0] == 'f':
                del pools[op[1]]
            elif op[0] == 'p':
                left = [block for block, pool in pools.items() if pool == op[1]]
                gone.update(left)
                for block in left:
                    del pools[block]
                    yield ('f', block)
            yield op

    return generator


def pools_case(random, operations):
    settings, total = maybe_expandable(random), random.choice([300 * MiB, GiB, 4 * GiB, 80 * GiB])
    if random.random() < 0.3:
        settings['max_split_size_mb'] = random.choice([32, 128, 200])
    if random.random() < 0.2:
        settings['roundup_power2_divisions'] = random.choice([2, 8])
    if random.random() < 0.3:
        settings['memory_limit'] = int(total * 0.75)
        settings['garbage_collection_threshold'] = random.choice(['0.5', '0.8'])
    return Case(emptied(operations), settings, {'capacity': total, **events(random)}, unordered=('free', 'unmap', 'destroy', 'release', 'stream_sync'))


def expandable_pools(random):
    """Private pools, within captures or not, of expandable segments."""
    case = pools_case(random, lambda random, n: stretches(random, n, random.random() < 0.5, random.random() < 0.5, trim=0.003))
    case.settings['expandable_segments'] = 'yes'
    return case


def in_parts(random, n, used):
    """One private pool at a time, released while blocks of it live: what was mapped at once may come back in more parts, an internal
    error of PyTorch's, which ends the trim.  Each pool is gone before the next is released, as they go in the order of a hash table."""
    pool, inside, left, members, gone = 6, False, 0, set(), set()
    for op in mixed(random, n, edges=EDGES, streams=random.choice([1, 1, 3]), record=used, clock=random.choice([0, 3000]), blocks=random.choice([8, 30, 100]),
                    most=random.choice([32 * MiB, 256 * MiB]), trim=random.choice([0, 0.03])):
        left -= 1
        if left < 0 and inside:
            inside, left = False, random.randrange(1, 60)
            yield from (('E', pool), ('p', pool, False))
        elif left < 0:
            yield from (('f', block) for block in sorted(members))
            yield from (('r',) for _ in range(60))
            gone, members = gone | members, set()
            pool, inside, left = pool + 1, True, random.randrange(20, 200)
            yield ('B', pool, False)
        if op[0] in 'fu' and op[1] in gone:
            continue
        if op[0] == 'a' and inside and random.random() < 0.9:
            op = (*op, pool)
            members.add(op[1])
        elif op[0] == 'f':
            members.discard(op[1])
        yield op
    if inside:
        yield ('E', pool)


def nested(random, n, captures, used, trim=0.005, edges=EDGES):
    """Several pools at once, of which some capture a graph; requests go to any of them, or to none; pools are released with blocks live."""
    inside, first = [], 7
    for op in mixed(random, n, edges=edges, streams=random.choice([1, 3]), record=used, sync=0.003, clock=random.choice([0, 3000]), most=random.choice([32 * MiB, 256 * MiB]), trim=trim):
        if random.random() < 0.02 and len(inside) < 4:
            fresh = [pool for pool in range(first, first + 6) if pool not in inside]
            inside.append(random.choice(fresh))
            yield ('B', inside[-1], random.choice(captures))
        elif inside and random.random() < 0.02:
            yield ('E', inside.pop(random.choice([-1, random.randrange(len(inside))])))
        elif not inside and random.random() < 0.003:
            yield from (('p', first + k, False) for k in range(6))
            first += 6
        yield (*op, random.choice(inside)) if inside and op[0] == 'a' and random.random() < 0.8 else op
    yield from (('E', pool) for pool in inside)


def returned_in_parts(random):
    settings, used = {'expandable_segments': 'yes'}, random.choice([0, 0.05])
    total = random.choice([300 * MiB, GiB, 4 * GiB])
    if random.random() < 0.3:
        settings['memory_limit'] = int(total * 0.75)
    return Case(lambda random, n: in_parts(random, n, used), settings, {'capacity': total, **events(random)}, versions=ordered if used else None)


def odd_pages(random):
    """Expandable segments of pages that no device has, an odd number of MiB, and of some that it has."""
    settings = {'expandable_segments': 'yes', 'large_segment_size_mb': random.choice([21, 21, 23, 25, 33, 101, 20, 22, 32, 64, 128, 600])}
    if random.random() < 0.3:
        settings['max_split_size_mb'] = random.choice([settings['large_segment_size_mb'], 600, 700])
    if random.random() < 0.2:
        settings['throw_on_cudamalloc_oom'] = 'yes'
    total = random.choice([300 * MiB, GiB, 80 * GiB])
    if random.random() < 0.3:
        settings['per_process_memory_fraction'] = random.choice(['0.1', '0.5', '0.9'])
    return Case(one_of(any_pattern, anything(trim=0.003), anything(streams=3, clock=2000)), settings, {'capacity': total, **events(random)}, versions=since('2.11'))


def nested_pools(random):
    captures, used = random.choice([(True,), (False,), (True, False)]), random.choice([0, 0.08])
    case = pools_case(random, lambda random, n: nested(random, n, captures, used))
    case.versions = ordered if used else None
    return case


def trimmed_captures(random):
    """The cache is emptied often, also amid captures, while several pools are alive."""
    captures = random.choice([(True,), (True, False)])
    return pools_case(random, lambda random, n: nested(random, n, captures, 0, trim=0.08))


def thresholds(random):
    """Sizes a few bytes, or a quantum, off what pools, segments and splits are decided by; partly in pools."""
    segment = random.choice([20, 20, 24, 40, 130]) * MiB
    edges = around(512, MiB - 512, MiB, 2 * MiB, 10 * MiB - 512, 10 * MiB, segment - MiB, segment - 512, segment, segment + MiB, 2 * segment)
    case = Case(one_of(lambda random, n: mixed(random, n, edges=edges, edge=0.95, streams=random.choice([1, 2]), most=3 * segment, blocks=random.choice([10, 100])),
                       lambda random, n: emptied(lambda random, n: nested(random, n, (True, False), 0, edges=edges))(random, n)),
                maybe_expandable(random), {'capacity': random.choice([300 * MiB, GiB, 80 * GiB])}, unordered=('free', 'unmap', 'destroy', 'release', 'stream_sync'))
    if segment != 20 * MiB:
        case.settings['large_segment_size_mb'], case.versions = segment // MiB, since('2.11')
    if random.random() < 0.4:
        case.settings['max_split_size_mb'] = max(segment // MiB, 32)
    return case


def unmarked(random):
    """Requests to pools, where nothing says when a pool is in use."""
    used = random.choice([0, 0.1])
    uses = anything(streams=random.choice([1, 3]), record=used, sync=0.003, clock=random.choice([0, 3000]), trim=0.003)
    case = pools_case(random, lambda random, n: ((*op, random.choice([0, 3, 4])) if op[0] == 'a' else op for op in uses(random, n)))
    case.versions = ordered if used else None
    return case


def rejections(random):
    """throw_on_cudamalloc_oom: refused before anything is tried."""
    case = pools_case(random, random.choice([lambda random, n: stretches(random, n, random.random() < 0.5, random.random() < 0.5, trim=0.003), one_of(pattern(*TIGHT), anything())]))
    case.settings['throw_on_cudamalloc_oom'] = 'yes'
    if random.random() < 0.3 and 'memory_limit' not in case.settings:
        case.settings['per_process_memory_fraction'] = random.choice(['0.5', '0.9', '1'])
    if random.random() < 0.3:
        case.device['total'] = case.device['capacity'] + random.choice([-100 * MiB, 100 * MiB, GiB])
    case.versions = since('2.12.1')
    return case


def reserve(random):
    """Short ranges of expandable segments."""
    settings = {'expandable_segments': 'yes', 'expandable_segments_reserve': random.choice(['0.001', '0.01', '0.1', '0.3', '1', '1.1', '2', '0.01G', '0.1G', '0.5G', '1G', '3G', '100G'])}
    if random.random() < 0.3:
        settings['roundup_power2_divisions'] = random.choice([2, 4, 8])
    return Case(one_of(any_pattern, anything(trim=0.003), anything(streams=3, record=0.05, clock=2000)), settings, {'capacity': random.choice([GiB, 4 * GiB, 80 * GiB]), **events(random)}, versions=since('2.15'))


def others(random):
    """Other programs hold a part of the device."""
    case = everything(random)
    case.device['total'] = case.device['capacity'] + random.choice([1, 20 * MiB, GiB, 7 * GiB])
    if 'memory_limit' in case.settings:
        case.settings.pop('memory_limit')
        case.settings['per_process_memory_fraction'] = random.choice(['0.1', '0.5', '0.77777', '0.9'])
    return case


def snapshots(random):
    """Statistics in the midst of it: sequences that end early."""
    return random.choice([everything, captures, private_pools, inside_captures, expandable, garbage_collection, nested_pools, hundreds])(random)


NUMBERS = ('0', '1', '2', '19', '-1', '64.5', '64MB', '', 'x')
ROUNDINGS_ODD = ('3', '4096', '', '[]', '[>:4,64:8]', '[64:8,>:4,128:2]', '[64:8,64:4]', '[131072:8]', '[2:3]', '[3:2]', '[64:8', '64:8')
STRINGS = {  # key: values that most versions accept, odd ones
    'max_split_size_mb': (('21', '22', '32', '33', '40', '64', '128', '1000'), ('20', *NUMBERS)),
    'large_segment_size_mb': (('20', '22', '32', '64'), ('21', '3', '1000', *NUMBERS)),
    'max_non_split_rounding_mb': (('21', '32', '64', '1000'), ('20', *NUMBERS)),
    'garbage_collection_threshold': (('0.3', '0.5', '0.9'), ('0', '0.0', '1', '1.0', '1.5', '-0.1', '', 'x')),
    'per_process_memory_fraction': (('0.2', '0.5', '0.9', '1.0'), ('0', '0.0', '1', '1.5', '-1', '')),
    'roundup_power2_divisions': (('1', '2', '4', '8', '64', '[>:4]', '[64:8,>:4]', '[1:8]', '[256:1,64:8]', '[ 64 : 8 , > : 4 ]'), ('0', '1024', '[65536:8,>:2]', *ROUNDINGS_ODD)),
    'expandable_segments': (('True', 'False'), ('true', '0', '1', '')),
    'release_lock_on_cudamalloc': (('True', 'False'), ('x',)),
    'throw_on_cudamalloc_oom': (('True', 'False'), ()),
    'graph_capture_record_stream_reuse': (('True', 'False'), ()),
    'unknown_key': ((), ('1',)),
}


def strings(random):
    """Whole settings strings: accepted when that version accepts them, and then the same decisions.  No list without its end for 2.6, which
    reads on behind the string and may crash."""
    words = []
    for key in random.choices(sorted(STRINGS), k=random.choice([1, 2, 2, 3])):
        good, odd = STRINGS[key]
        value = random.choice(good if good and (not odd or random.random() < 0.9) else odd)
        colon = ':' if random.random() < 0.97 else random.choice(['=', ' : ', ': ', '', '::'])
        words.append(key + colon + value)
    text = (',' if random.random() < 0.95 else random.choice([',,', ' , ', ';'])).join(words)
    if random.random() < 0.05:
        text = random.choice([',', ' ']) + text if random.random() < 0.5 else text + random.choice([',', ' '])
    total = random.choice([GiB, 6 * GiB])
    return Case(anything(limit=int(total * 0.8)), {'conf': text}, {'capacity': total}, versions=since('2.10') if text.count('[') > text.count(']') else None)


def hostile_strings(random):
    """Settings strings as nobody should write them; short, for it is the strings that count.  Not in 2.6, which crashes at some."""
    return Case(anything(limit=GiB), {'conf': hostile.string(random)}, {'capacity': random.choice([GiB, 6 * GiB])}, versions=since('2.10'))


def threads(random):
    """The events in turn on several host threads: the allocator has no state of its own for a thread."""
    case = record(random)
    case.driver, case.options = {'threads': 3}, ['--host-threads', '3']
    return case


SCENARIOS = {'default': default, 'out-of-memory': out_of_memory, 'split': split, 'roundup': roundup, 'garbage-collection': garbage_collection, 'fraction': fraction,
             'large-segment': large_segment, 'streams': streams, 'record-stream': record, 'empty-cache': empty_cache, 'captures': captures, 'private-pools': private_pools, 'inside-captures': inside_captures,
             'inside-pools': inside_pools,
             'expandable': expandable, 'everything': everything, 'strings': strings, 'threads': threads,
             'huge': huge, 'hundreds': hundreds, 'expandable-pools': expandable_pools, 'nested-pools': nested_pools, 'trimmed-captures': trimmed_captures, 'thresholds': thresholds, 'returned-in-parts': returned_in_parts, 'odd-pages': odd_pages, 'unmarked': unmarked, 'rejections': rejections, 'reserve': reserve,
             'others': others, 'snapshots': snapshots, 'hostile-strings': hostile_strings}
SHORT = {'strings': 400, 'snapshots': 80, 'hostile-strings': 40}


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
    ('default', 'roundup_power2_divisions 0 -> 2', step('roundup_power2_divisions', value=2)),
    ('default', 'large_segment_size_mb 20 -> 21', step('large_segment_size_mb', value=21)),
    ('default', 'expandable segments', step('expandable_segments', value='yes')),
    ('large-segment', 'large_segment_size_mb + 1', step('large_segment_size_mb', add=lambda v: v + 1)),
    ('split', 'max_split_size_mb + 1', step('max_split_size_mb', add=lambda v: v + 1)),
    ('split', 'max_non_split_rounding_mb + 1', step('max_non_split_rounding_mb', add=lambda v: v + 1)),
    ('roundup', 'divisions doubled, or none', step('roundup_power2_divisions', add=lambda v: v * 2 if isinstance(v, int) else 0)),
    ('garbage-collection', 'garbage_collection_threshold + 0.02', step('garbage_collection_threshold', add=lambda v: '%.3f' % min(0.995, float(v) + 0.02))),
    ('garbage-collection', 'memory_limit - 2 MiB', step('memory_limit', add=lambda v: v - 2 * MiB)),
    ('fraction', 'per_process_memory_fraction - 0.002', step('per_process_memory_fraction', add=lambda v: '%.5f' % (float(v) - 0.002))),
    ('out-of-memory', 'capacity - 2 MiB', step('capacity', add=lambda v: v - 2 * MiB, of='device')),
    ('expandable', 'capacity - 2 MiB', step('capacity', add=lambda v: v - 2 * MiB, of='device')),
    ('record-stream', 'events complete 1 ns later', step('event_latency', add=lambda v: v + 1, of='device')),
    ('everything', 'free waits for the device, or not', step('free_synchronises', add=lambda v: 'no' if v == 'yes' else 'yes', of='device')),
    ('record-stream', 'events are never found complete', step('event_latency', value=10**12, of='device')),
]

BENCH = {'training': PATTERNS['training'], 'uniform': PATTERNS['uniform'],
         'training-expandable': (PATTERNS['training'], {'expandable_segments': 'yes'}), 'uniform-expandable': (PATTERNS['uniform'], {'expandable_segments': 'yes'})}


# ---- lines to paste

def pasted(line):
    """The driver passes `conf` on as it is, to the parser that reads the variable."""
    variables = advice.assignments(line)
    return {'conf': variables.pop('PYTORCH_CUDA_ALLOC_CONF'), **variables}, {}


def plenty(random):
    return Case(one_of(any_pattern, anything()), device={'capacity': 80 * GiB})


def scarce(random):
    """Often too little with the defaults, and enough with some setting."""
    return Case(pattern(*TIGHT), device={'capacity': random.choice([900, 950, 1000, 1100, 1300]) * MiB})


def recorded(random):
    """What a program on an H100 asked for."""
    path = random.choice(list(advice.recorded().values()))
    return Case(lambda random, n: advice.requests(path), device={'capacity': 80 * GiB})


ADVICE = {'plenty': plenty, 'scarce': scarce, 'recorded': recorded}
