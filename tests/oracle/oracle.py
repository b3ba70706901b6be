#!/usr/bin/env python3
"""oracle.py - gemem beside the real allocators: fetches, builds, compares, shrinks, measures.  See README.md.

usage: oracle.py check [WHAT...] [-s SCENARIO...] [-n OPERATIONS] [--seed N] [-j JOBS] [--trials N (to shrink)]     TAP
       oracle.py sharpness [WHAT...] [--count SEQUENCES]    TAP
       oracle.py advice [WHAT...] [--count SEQUENCES]       TAP: are the lines of gemem-sim advise accepted, and true?
       oracle.py all [...]                                  TAP of all three
       oracle.py bench [WHAT...] [-n OPERATIONS]            JSON rows
       oracle.py run SYSTEM-VERSION TRACE                   every decision, side by side
       oracle.py fetch|build|list [WHAT...]
WHAT is a SYSTEM or a SYSTEM-VERSION; without, all.

Environment: GEMEM_BUILDDIR (gemem-sim), GEMEM_ORACLE_CACHE, GEMEM_ORACLE_OFFLINE, GEMEM_ORACLE_WORK (for drivers
and what is found; BUILDDIR/tests/oracle), GEMEM_ORACLE_SYSTEMS (a folder of systems instead of this one), CXX, CC, CUDA_INCLUDE.
A sequence is named by system, scenario and seed, whatever the version.  Exit status: 0; 1 something differs; 2 usage.
"""
import argparse
import concurrent.futures
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import advice
import compare
import measure
import sequences
import shrink
import wheels

ENOUGH = 3   # differing sequences of a scenario are named
FEW = 20000  # operations, below which a known difference need not show


class Tap:
    def __init__(self, out=sys.stdout):
        self.out, self.count, self.failed = out, 0, 0

    def point(self, good, name, details='', skip=''):
        self.count += 1
        self.failed += not good
        print('%s %d - %s%s' % ('ok' if good else 'not ok', self.count, name, ' # SKIP ' + skip.replace('\n', ' ') if skip else ''), file=self.out)
        for line in str(details).splitlines():
            print('# ' + line, file=self.out)
        self.out.flush()

    def finish(self):
        print('1..%d' % self.count, file=self.out)
        return self.failed > 0


def work_folder():
    return tempfile.TemporaryDirectory(prefix='gemem-oracle-', dir='/dev/shm' if os.path.isdir('/dev/shm') and os.access('/dev/shm', os.W_OK) else None)


def sequence(system, scenario, seed, length, scenarios=None):
    """The case and its operations: a function of the names and the seed."""
    source = random.Random('%s/%s/%d' % (system.name, scenario, seed))
    case = (scenarios or system.scenarios)[scenario](source)
    return case, list(case.operations(source, length))


def chosen(names):
    """The versions that are named on the command line, in order: [(System, [Version])]."""
    found, known = [], wheels.systems()
    for name, folder in known.items():
        versions = [v for v in wheels.versions(folder) if not names or name in names or v.label in names]
        if versions:
            found.append((compare.System(folder), versions))
    labels = {v.label for _, versions in found for v in versions} | set(known)
    unknown = [name for name in names if name not in labels]
    if unknown:
        print('oracle.py: no system or version %s; there are %s' % (', '.join(unknown), ', '.join(v.label for f in known.values() for v in wheels.versions(f))), file=sys.stderr)
        sys.exit(2)
    return found


def made_ready(versions, tap):
    """Those that can be run here; a TAP point for each of the others."""
    ready = []
    for version in versions:
        try:
            wheels.fetch(version)
            wheels.build(version)
            ready.append(version)
        except wheels.Unavailable as why:
            tap.point(True, version.label, skip=str(why))
        except wheels.Failure as why:
            tap.point(False, version.label + ' can be built', why)
    return ready


def run_one(folder, labels, scenario, seed, length):
    """One sequence through all versions named, in a process of its own: [(label, counts, difference or None)]."""
    system, known, results = compare.System(folder), compare.Known(), []
    case, operations = sequence(system, scenario, seed, length)
    text, events = sequences.body(operations)
    with work_folder() as work:
        for version in wheels.versions(folder):
            if version.label not in labels or (case.versions and not case.versions(version.name)):
                continue
            pair = compare.Pair(system, version, work, known, scenario)
            difference = pair.run_text(case, text, events)
            results.append((version.label, (events, pair.failed, pair.refused, pair.device_calls), difference, known.used))
    return results


class Tally:
    """What the sequences of one scenario and version came to."""

    def __init__(self):
        self.sequences = self.events = self.failed = self.refused = self.calls = 0
        self.differences = []

    def add(self, seed, length, counts, difference):
        self.sequences += 1
        for name, value in zip(('events', 'failed', 'refused', 'calls'), counts):
            setattr(self, name, getattr(self, name) + value)
        if difference is not None:
            self.differences.append((seed, length, difference))

    def text(self):
        return '%d operations in %d sequences, %d requests failed, %d device calls%s' % (
            self.events, self.sequences, self.failed, self.calls, ', settings refused in %d' % self.refused if self.refused else '')


def report(system, version, scenario, tally, known, tap, trials, shown):
    """The TAP point of a scenario of a version; the first difference is shrunk, unless another version @shown had it."""
    name = '%s %s: %s' % (version.label, scenario, tally.text())
    if tally.refused == tally.sequences:
        return tap.point(False, name, 'every sequence was refused: nothing was compared')
    if not tally.differences:
        return tap.point(True, name)
    if known.excuses(system.name, version.name, scenario, 'decision'):
        return tap.point(True, '%s; %d differ as known' % (name, len(tally.differences)))
    details = ['%d of %d sequences differ' % (len(tally.differences), tally.sequences)]
    first = min(tally.differences, key=lambda d: d[1])
    other = shown.setdefault((scenario, first[0], str(first[2])), version.label)
    if other != version.label:
        return tap.point(False, name, '%s, the first as in %s' % (details[0], other))
    for seed, length, difference in tally.differences[:ENOUGH]:
        details.append('seed %d: %s' % (seed, difference))
    tap.point(False, name, '\n'.join(details + [smallest(system, version, scenario, *first, known, trials)]))


def smallest(system, version, scenario, seed, length, difference, known, trials):
    """The smallest case of a difference, as a trace that can be replayed."""
    case, operations = sequence(system, scenario, seed, length)
    with work_folder() as work:
        pair = compare.Pair(system, version, work, known, scenario)
        case, operations, difference = shrink.Shrinker(pair, case, operations, difference, trials).run()
    settings = dict(case.settings, **system.version_settings(version.name))
    text = sequences.head(case.allocator or system.allocator, settings, case.device) + sequences.body(operations)[0]
    folder = os.path.join(wheels.work_folder(), 'found')
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, '%s-%s-%d.txt' % (version.label, scenario, seed))
    with open(path, 'w') as f:
        f.write(text)
    return 'smallest case: %s\n%s%s\nto see both: tests/oracle/oracle.py run %s %s%s' % (
        path, text, difference, version.label, path, ''.join(' %s=%s' % item for item in case.driver.items()))


def scenarios_of(system, wanted):
    return [name for name in system.scenarios if not wanted or name in wanted]


def check(arguments, tap):
    for system, versions in chosen(arguments.what):
        ready = made_ready(versions, tap)
        names, known = scenarios_of(system, arguments.scenario), compare.Known()
        with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
            for scenario in names if ready else []:
                check_scenario(system, ready, scenario, arguments, known, pool, tap)
        for version in ready:
            for line in known.unused(system.name, version.name, names) if arguments.operations >= FEW else []:
                tap.point(False, 'known difference: ' + line, 'nothing differs so any more: remove the line')


def check_scenario(system, versions, scenario, arguments, known, pool, tap):
    labels, tallies, jobs, planned, seed = [v.label for v in versions], {v.label: Tally() for v in versions}, [], 0, arguments.seed
    wanted = min(arguments.operations, max(FEW, int(arguments.operations * system.short_share))) if scenario in system.short else arguments.operations
    while planned < wanted:
        length = min(system.short.get(scenario) or system.lengths[seed % len(system.lengths)], wanted - planned)
        jobs.append((seed, length, pool.submit(run_one, system.folder, labels, scenario, seed, length)))
        planned, seed = planned + length, seed + 1
    for seed, length, job in jobs:
        for label, counts, difference, used in job.result():
            tallies[label].add(seed, length, counts, difference)
            known.used |= used
    shown = {}
    for version in versions:
        if tallies[version.label].sequences:
            report(system, version, scenario, tallies[version.label], known, tap, arguments.trials, shown)


def sharpness(arguments, tap):
    """Settings that are one step off in gemem alone: how many sequences in which they matter notice."""
    for system, versions in chosen(arguments.what):
        ready = made_ready(versions, Tap() if arguments.command == 'all' else tap) if system.sharpness else []
        for scenario, what, change in system.sharpness if ready else []:
            for version in reversed(ready):
                noticed, tried = notice(system, version, scenario, change, arguments.count)
                if tried:  # the newest that has the scenario
                    break
            tap.point(noticed > 0, '%s %s: %s is noticed in %d of %d sequences' % (version.label, scenario, what, noticed, tried))


def notice(system, version, scenario, change, most):
    """How many of up to @most sequences that the change concerns differ."""
    noticed = tried = 0
    with work_folder() as work:
        for seed in range(5 * most):
            case, operations = sequence(system, scenario, seed, 6000)
            settings, device = dict(case.settings, **system.version_settings(version.name)), dict(case.device)
            if change(dict(settings), dict(device)) == (settings, device) or case.versions and not case.versions(version.name):
                continue
            tried += 1
            if tried > most:
                return noticed, most
            noticed += compare.Pair(system, version, work).run(case, operations, change) is not None
    return noticed, tried


def check_advice(arguments, tap):
    """The lines that advise prints, in the real binaries of those versions."""
    for system, versions in chosen(arguments.what):
        for version in made_ready(versions, Tap(open(os.devnull, 'w')) if arguments.command == 'all' else tap) if system.advice else []:
            for scenario in system.advice:
                tally = advice.Tally()
                with work_folder() as work:
                    pair = compare.Pair(system, version, work)
                    for seed in range(arguments.count):
                        case, operations = sequence(system, scenario, seed, advice.LENGTH, system.advice)
                        advice.check_sequence(pair, case, operations, tally)
                advice.report(version, scenario, tally, tap)


def bench(arguments, tap):
    """The newest version that can be run of each system."""
    for system, versions in chosen(arguments.what):
        for version in reversed(versions) if system.bench else ():
            if made_ready([version], tap):
                with work_folder() as work:
                    measure.bench(system, version, work, arguments.operations)
                break


def run(arguments):
    """Both logs of decisions of a trace, and where they differ."""
    label, path, *more = arguments.what
    ((system, (version,)),) = chosen([label])
    wheels.fetch(version)
    wheels.build(version)
    with work_folder() as work:
        pair = compare.Pair(system, version, work)
        profile = compare.free_profile(work)
        real = subprocess.run([pair.driver, *more, 'events=%s/r' % work, path], capture_output=True, text=True)
        if system.follows and real.returncode == 0:
            with open(path) as f, open(work + '/own.txt', 'w') as own:
                own.write(compare.with_addresses(f.read(), work + '/r'))
            path = work + '/own.txt'
        gemem = subprocess.run([*compare.sim(), 'replay', path, '-d', 'sim:profile=' + profile, '--events', work + '/g', '-o', os.devnull], capture_output=True, text=True)
        for who, result in (('real', real), ('gemem', gemem)):
            if result.returncode:
                print('%s: exit status %d: %s' % (who, result.returncode, result.stderr.strip()))
        if real.returncode or gemem.returncode:
            return 1
        logs = [compare.read(work + '/' + name) for name in 'rg']
        rows = [log.decode().splitlines() for log in (logs[0], compare.without_blocks(*logs))]
        for i in range(max(map(len, rows))):
            one, other = (side[i] if i < len(side) else '' for side in rows)
            print(one if one == other else '%s   <- real; gemem -> %s' % (one, other))
        return int(rows[0] != rows[1])


def stop(number, frame):
    """Ends this process and those that it started, each of which removes its gigabytes from memory."""
    for child in multiprocessing.active_children():
        child.terminate()
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('command', choices=['check', 'sharpness', 'advice', 'all', 'bench', 'run', 'fetch', 'build', 'list'])
    parser.add_argument('what', nargs='*')
    parser.add_argument('-s', '--scenario', action='append', default=[])
    parser.add_argument('-n', '--operations', type=int, default=100000)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--trials', type=int, default=1500)
    parser.add_argument('--count', type=int, default=12)
    parser.add_argument('-j', '--jobs', type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    tap = Tap(sys.stderr if arguments.command == 'bench' else sys.stdout)  # whose standard output has rows alone
    if arguments.command == 'run':
        return run(arguments)
    if arguments.command == 'list':
        for system, versions in chosen(arguments.what):
            for version in versions:
                print(version.label, 'cached' if version.is_fetched() else 'to be fetched', *scenarios_of(system, []))
        return 0
    if arguments.command in ('fetch', 'build'):
        for _, versions in chosen(arguments.what):
            for version in made_ready(versions, tap):
                tap.point(True, version.label)
    if arguments.command in ('check', 'all'):
        check(arguments, tap)
    if arguments.command in ('sharpness', 'all'):
        sharpness(arguments, tap)
    if arguments.command in ('advice', 'all'):
        check_advice(arguments, tap)
    if arguments.command == 'bench':
        bench(arguments, tap)
    return tap.finish() if arguments.command != 'bench' else tap.failed > 0


if __name__ == '__main__':
    sys.exit(main())
