"""scenarios.py - the lines that `advise` prints for programs with RMM, run by RMM's Python package; decisions are those of ../rmm.

The pool of the driver (CudaAsyncMemoryResource) is a stand-in here: its line has to be accepted, and its figure proves nothing.
"""
from sequences import GiB, Case, any_pattern

ALLOCATOR, CALLS, SCENARIOS = 'rmm-pool', (), {}


def version_settings(version):
    return {'version': version}


def pasted(line):
    return {'line': line}, {}


def tells(line):
    return 'CudaAsync' not in line


def pool(random):
    return Case(any_pattern, {'initial_pool_size': 0}, {'capacity': 16 * GiB})


ADVICE = {'pool': pool}
