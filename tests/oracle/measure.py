"""measure.py - processor time per operation: the real allocator's loop beside `gemem-sim replay` of the same operations.

Both are run in turn, several rounds, and each round gives one ratio: what a noisy machine does to one it does to the other.  Of the real
allocator only the calls are timed, the trace is read before; of gemem the whole process, decoding its native trace included, less what
a replay of one request takes, which is the start of the process (`start_ns`, of the whole; some ms, as much as 50 000 operations).  The
ratio is the median of the rounds.  Rows are those of tests/bench (report.jq): {"bench": "real", ...}.
"""
import json
import os
import random
import resource
import statistics
import subprocess
import sys

import compare
import sequences


def own_cpu(command):
    """Processor time of a command, in ns."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode:
        raise SystemExit('measure.py: %s: %s' % (' '.join(command), result.stderr))
    return result.stdout, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9


def native(pair, name, settings, text):
    """A native trace of @text; the text is left beside it for the driver."""
    pair.write(name + '.txt', None, settings, {'capacity': 80 << 30}, text)
    subprocess.run([*compare.sim(), 'convert', pair.path(name + '.txt'), pair.path(name + '.gmt')], check=True, stdout=subprocess.DEVNULL)
    return [*compare.sim(), 'replay', pair.path(name + '.gmt'), '-o', os.devnull]


def bench(system, version, work, operations, rounds=7):
    for name, what in system.bench.items():
        generator, settings = what if isinstance(what, tuple) else (what, {})
        source = random.Random('%s/bench/%s' % (system.name, name))
        text, events = sequences.body(generator(source, operations))
        pair = compare.Pair(system, version, work)
        settings = dict(settings, **system.version_settings(version.name))
        start = native(pair, 'start', settings, sequences.body([('a', 1, 1024)])[0])
        replay = native(pair, 'trace', settings, text)
        real, gemem, starts = [], [], []
        for _ in range(rounds):
            out, _ = own_cpu([pair.driver, 'bench=1', pair.path('trace.txt')])
            real.append(int(dict(word.split('=') for word in out.split())['cpu_ns']) / events)
            starts.append(own_cpu(start)[1])
            gemem.append((own_cpu(replay)[1] - starts[-1]) / events)
        ratio = statistics.median(own / other for own, other in zip(gemem, real))
        print(json.dumps({'bench': 'real', 'workload': name, 'what': version.label, 'allocator': system.allocator, 'n': events, 'ns_per_op': round(statistics.median(gemem), 2),
                          'real_ns_per_op': round(statistics.median(real), 2), 'over_real': round(ratio, 4), 'start_ns': round(statistics.median(starts))}))
        sys.stdout.flush()
