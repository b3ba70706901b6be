"""hostile.py - settings strings of PyTorch as nobody should write them: what a parser accepts by accident, and what it refuses.

string(random) draws one of the keys below with values that mostly belong to them: numbers with signs, units and blanks, huge ones, lists
that are not closed or closed twice, empty parts, keys twice, other separators; some are damaged afterwards.  No `backend`, which decides
before a string is read; nothing that the head of a trace cannot hold (quotes, line ends).
"""
SIZES = ('max_split_size_mb', 'max_non_split_rounding_mb', 'large_segment_size_mb', 'pinned_num_register_threads', 'pinned_reserve_segment_size_mb', 'pinned_max_round_threshold_mb', 'pinned_max_cached_size_mb')
PARTS = ('garbage_collection_threshold', 'per_process_memory_fraction')
FLAGS = ('expandable_segments', 'pinned_use_background_threads', 'release_lock_on_cudamalloc', 'pinned_use_cuda_host_register', 'graph_capture_record_stream_reuse', 'throw_on_cudamalloc_oom', 'pinned_free_catch_all')
ODD = ('unknown', 'max_split_size', 'MAX_SPLIT_SIZE_MB', '', '0', 'True', ']', '>', 'use_on_oom', 'max_split_size_mbx')


def number(random):
    text = str(random.choice([random.randrange(5000), random.randrange(20), 20, 64, 200, 2**random.choice([5, 10, 31, 32, 44, 63, 64, 80]) + random.choice([-1, 0, 1])]))
    if random.random() < 0.2:
        text = random.choice(['-', '+', '--', '0', '0x', ' ', '\t', '.', 'e']) + text
    if random.random() < 0.2:
        text += random.choice(['MB', ' MiB', '.5', 'e3', 'G', 'k', '%', '-', ' 5', '\v', '\f', '.'])
    return text


def part(random):
    return random.choice(['0.5', '.5', '5e-1', '0.', '1', '0', '1e-400', '1e400', 'nan', 'inf', '-0', '0x1p-1', '1.5', '-0.1', '50%', '0.5.5', '.', '+', '%.6g' % random.random(), ' 0.7', '0.7f'])


def entry(random):
    key = '>' if random.random() < 0.2 else str(2**random.randrange(18)) if random.random() < 0.8 else number(random)
    return key + (':' if random.random() < 0.95 else random.choice(['', '::', ',', '='])) + (str(2**random.randrange(9)) if random.random() < 0.8 else number(random))


def listed(random, one):
    text = (',' if random.random() < 0.95 else random.choice([',,', ';', ':'])).join(one(random) for _ in range(random.choice([0, 1, 1, 2, 3, 6])))
    return ('[' if random.random() < 0.95 else random.choice(['', '[[', '('])) + text + random.choice([']'] * 12 + [',]', ']]', ']5'])


def value(random, key):
    if key in SIZES:
        return number(random)
    if key in PARTS:
        return part(random)
    if key in FLAGS:
        return random.choice(['True', 'True', 'False', 'False', 'true', '1', 'T rue', ''])
    if key == 'roundup_power2_divisions':
        return listed(random, entry) if random.random() < 0.7 else str(2**random.randrange(12))
    if key == 'expandable_segments_reserve':
        return random.choice([part, number])(random) + random.choice(['', 'G', 'g', 'GB'])
    if key == 'expandable_segments_reserve_by_class':
        return listed(random, lambda random: random.choice(['a', 'kv', '', '>']) + random.choice([':', ':', '=']) + part(random))
    return random.choice([number, part])(random)


def string(random):
    keys = (*SIZES, *PARTS, *FLAGS, 'roundup_power2_divisions', 'roundup_power2_divisions', 'expandable_segments_reserve', 'expandable_segments_reserve_by_class')
    text = ''
    for i in range(random.choice([1, 1, 1, 2, 2, 3, 5])):
        key = random.choice(keys) if random.random() < 0.95 else random.choice(ODD)
        text += ('' if i == 0 else ',' if random.random() < 0.96 else random.choice([',,', ' , ', ';', ':', '['])) + key
        text += (':' if random.random() < 0.96 else random.choice(['=', ' : ', '', '::', ','])) + value(random, key)
    if random.random() < 0.1:
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice(list(',:[]>= 0x\t\v')) + text[at + random.choice([0, 1]):]
    return text
