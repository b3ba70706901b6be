"""own_requests.py cupy pool|none, own_requests.py rmm pool|none|log: a thousand requests and some frees, alike in all of them.

pool: the library's pool; none: every request goes to the device, and a dry run records them all; log: the pool, with RMM's own log in
own_requests.dev0.csv.
"""
import random
import sys

library, how = sys.argv[1:]
if library == 'cupy':
    import cupy

    if how == 'none':
        cupy.cuda.set_allocator(None)
else:
    import rmm

    log = {'logging': True, 'log_file_name': 'own_requests.csv'} if how == 'log' else {}
    pool = {} if how == 'none' else {'initial_pool_size': 0}
    rmm.reinitialize(pool_allocator=how != 'none', **pool, **log)


def request(size):
    return cupy.empty(size, dtype=cupy.uint8) if library == 'cupy' else rmm.DeviceBuffer(size=size)


random.seed(4)
live = []
for _ in range(1000):
    live.append(request(random.randrange(1, 1 << random.randrange(1, 26))))
    if random.random() < 0.45:
        live.pop(random.randrange(len(live)))
