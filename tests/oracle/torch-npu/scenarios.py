"""scenarios.py - what is tried on torch_npu's NPUCachingAllocator and `torch-npu`.

What is not of torch_npu alone is tried as on PyTorch's allocator (../torch/scenarios.py); sizes lie 32 bytes below its edges, too, since
that much is added to them.
"""
import importlib.util
import os

import sequences
from sequences import GiB, MiB, PATTERNS, Case, log_size, one_of

ALLOCATOR = 'torch-npu'
CALLS = ('malloc', 'free', 'reserve', 'release', 'create', 'destroy', 'map', 'unmap', 'event_record', 'event_query', 'event_sync', 'stream_sync', 'device_sync')
UNORDERED = ('event_record', 'event_query', 'event_sync')  # for every stream of a hash table

_spec = importlib.util.spec_from_file_location('torch_scenarios', os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'torch', 'scenarios.py'))
torch = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(torch)

EDGES = sorted({size - less for size in torch.EDGES for less in (0, 32) if size > less})
torch.EDGES = EDGES
anything, step = torch.anything, torch.step


RELEASES = ('2.1.0.post10', '2.5.1.post1', '2.1.0.post17', '2.6.0.post5', '2.7.1.post2', '2.7.1.post11', '2.9.0.post9', '2.14')  # the oldest first
SINCE = {'workspace_pool': '2.5.1.post1', 'page_size': '2.5.1.post1', 'roundup_power2_divisions': '2.6.0.post5', 'segment_size_mb': '2.6.0.post5', 'max_non_split_rounding_mb': '2.7.1.post11',
         'multi_stream_lazy_reclaim': '2.7.1.post11', 'large_segment_size_mb': '2.14', 'per_process_memory_fraction': '2.14', 'throw_on_npumalloc_oom': '2.14'}


WORKSPACES = sequences.around(*(n * MiB - less for n in (2, 4, 20, 100) for less in (0, 32)), step=32)


def version_settings(version):
    return {'version': version}


def where_known(make, since=RELEASES[0]):
    """The cases of @make, for releases that have all their settings."""
    def made(random):
        case = make(random)
        first = max(RELEASES.index(SINCE.get(key, since)) for key in ('', *case.settings))
        case.versions = lambda version: RELEASES.index(version) >= first
        return case

    return made


def aligned(random):
    """Expandable segments with blocks that begin at multiples, and pages of other sizes."""
    case = torch.expandable(random)
    case.settings.pop('max_split_size_mb', None)
    case.settings.pop('garbage_collection_threshold', None)
    more = random.choice([{}, {'base_addr_aligned_kb': random.choice([0, 1, 3, 4, 15, 16])}, {'segment_size_mb': random.choice([20, 32, 100, 512])}, {'large_segment_size_mb': random.choice([20, 32, 64])}])
    case.settings.update(more)
    return case


def lazy(random):
    """Events are looked at when nothing fits, or when there are many."""
    case = torch.record(random)
    case.settings['multi_stream_lazy_reclaim'] = 'yes'
    case.device['capacity'] = random.choice([400 * MiB, GiB, 4 * GiB])
    return case


def erased(random):
    """Uses that are taken back, as collective operations do."""
    case = torch.record(random)
    operations = case.operations

    def more(random, n):
        for op in operations(random, n):
            yield op
            if op[0] == 'u' and random.random() < 0.5:
                yield ('l', op[1], op[2] if random.random() < 0.8 else random.randrange(6))

    case.operations = more
    return case


def rejected(random):
    """Requests above the limit, which fail at once."""
    total = random.choice([GiB, 4 * GiB])
    settings = {'throw_on_npumalloc_oom': 'yes', 'per_process_memory_fraction': random.choice(['1.0', '1.0', '0.7'])}
    if random.random() < 0.3:
        settings['expandable_segments'] = 'yes'
    if random.random() < 0.5:
        settings['memory_limit'] = int(total * random.choice([0.5, 0.8]))
    return Case(one_of(anything(), anything(limit=total), PATTERNS['uniform']), settings, {'capacity': total})


def workspaces(random):
    """Operators' workspaces between tensors: each stream has one at a time, and none while memory is released."""
    total, streams = random.choice([GiB, 4 * GiB]), random.choice([1, 3])
    around = anything(streams=streams, limit=int(total * random.choice([0.4, 0.9])), trim=0.002)
    most = random.choice([8, 64, 512]) * MiB

    def operations(random, n):
        last = 1 << 30
        for op in around(random, n // 2):
            yield op
            if op[0] == 'a' and random.random() < 0.9:
                last += 1
                size = random.choice(WORKSPACES) if random.random() < 0.3 else log_size(random, 1, most)
                yield ('a', last, size, random.randrange(streams), 7)
                yield ('f', last)

    settings = {'workspace_pool': 7}
    if random.random() < 0.3:
        settings['expandable_segments'] = 'yes'
    return Case(operations, settings, {'capacity': total}, unordered={'free'})  # of streams, by a hash table


def huge_pages(random):
    """Pages of 1 GiB."""
    return Case(one_of(anything(trim=0.003), anything(streams=2, most=2 * GiB)), {'page_size': '1g', 'expandable_segments': random.choice(['yes', 'no'])},
                {'capacity': random.choice([4 * GiB, 64 * GiB])})


STRINGS = {  # key: values that are accepted, odd ones
    'max_split_size_mb': (('21', '32', '128', '64.5', '64MB', '+32', '-1'), ('20', '19', '0', '-0', '-2', '-2147483649', '-18446744073709551595', '2147483648', '18446744073709551616', '0x20', '', 'x')),
    'garbage_collection_threshold': (('0.3', '0.9', '0.5x'), ('0', '1', '1.0', '1.5', '-0.1', '', 'x')),
    'expandable_segments': (('True', 'False'), ('true', '0', '1', '')),
    'base_addr_aligned_kb': (('0', '1', '7', '16'), ('17', '-1', '2.5', '04', '+4', '', 'x')),
    'segment_size_mb': (('20', '32', '512', '032'), ('19', '513', '0', '-1', '32x', '', 'x')),
    'large_segment_size_mb': (('20', '32', '512', '32x'), ('9', '10', '11', '21', '0', '-1', '', 'x')),
    'max_non_split_rounding_mb': (('21', '64', '1000'), ('19', '20', '0', '-1', '', 'x')),
    'roundup_power2_divisions': (('1', '2', '4', '8', '[64:8,>:4]', '[256:1,64:8]'), ('0', '3', '1024', '8x', '-4', '[]', '[>:4]', '[64x:8x]', '[64,8]', '[64:8,]', '[64:8', '[', '[2:3]')),
    'multi_stream_lazy_reclaim': (('True', 'False'), ('true', '1', '')),
    'per_process_memory_fraction': (('0.5', '1.0', '0.5x'), ('0', '0.0', '1', '1.5', '-1', '')),
    'throw_on_npumalloc_oom': (('True', 'False'), ('x',)),
    'pin_memory_expandable_segments': (('True', 'False'), ('x',)),
    'pinned_mem_register': (('True', 'False'), ('x',)),
    'release_lock_on_npumalloc': (('True', 'False'), ('x',)),
    'pinned_reserve_segment_size_mb': (('0', '32'), ('x',)),
    'pinned_use_background_threads': (('True', 'False'), ('x',)),
    'pinned_max_round_threshold_mb': (('32', '0'), ('x',)),
    'pinned_max_cached_size_mb': (('32', '0'), ('x',)),
    'unknown_key': ((), ('1',)),
}


def strings(random):
    """Whole settings strings, with torch_npu's keys."""
    ours, torch.STRINGS = torch.STRINGS, STRINGS
    try:
        return torch.strings(random)
    finally:
        torch.STRINGS = ours


SCENARIOS = {'default': torch.default, 'out-of-memory': torch.out_of_memory, 'split': torch.split, 'roundup': torch.roundup, 'garbage-collection': torch.garbage_collection,
             'fraction': torch.fraction, 'streams': torch.streams, 'record-stream': torch.record, 'erase-stream': erased, 'lazy-reclaim': lazy, 'empty-cache': torch.empty_cache,
             'expandable': aligned, 'rejected': rejected, 'huge-pages': huge_pages, 'workspaces': workspaces, 'captures': torch.captures, 'private-pools': torch.private_pools,
             'inside-captures': torch.inside_captures, 'inside-pools': torch.inside_pools, 'strings': strings}
POOLS = ('captures', 'private-pools', 'inside-captures', 'inside-pools')
SCENARIOS = {name: where_known(make, '2.5.1.post1' if name in POOLS else RELEASES[0]) for name, make in SCENARIOS.items()}
SHORT = {'strings': 400}

SHARPNESS = [
    ('default', 'no padding', step('pad', value=0)),
    ('expandable', 'base_addr_aligned_kb 16 -> 8', step('base_addr_aligned_kb', value=8)),
    ('out-of-memory', 'capacity - 2 MiB', step('capacity', add=lambda v: v - 2 * MiB, of='device')),
    ('lazy-reclaim', 'events are looked at', step('multi_stream_lazy_reclaim', value='no')),
]
