"""compare.py - one sequence through a real allocator and through gemem, and what differs.

Both read the same trace and write the same rows (README.md), so equality is that of bytes; only what differs is taken apart.
Order of blame: a run that failed, settings that one side refuses, a decision, a device call, a statistic.  The first difference counts,
because all that follows may follow from it.
"""
import fnmatch
import importlib.util
import itertools
import json
import os
import resource
import subprocess

import sequences
import wheels


class Difference:
    """kind: failed, refusal, decision, reserved, call, stat; seq: the event, or None; name: of the call or statistic."""

    def __init__(self, kind, seq, real, gemem, name=''):
        self.kind, self.seq, self.real, self.gemem, self.name = kind, seq, real, gemem, name

    def __str__(self):
        where = '' if self.seq is None else ' at event %d' % self.seq
        return '%s%s%s\n  real:  %s\n  gemem: %s' % (self.kind, where, ' ' + self.name if self.name else '', self.real, self.gemem)

    def same_as(self, other):
        """Whether it may be the same difference in a smaller sequence."""
        return other is not None and self.kind == other.kind and self.name == other.name


class System:
    """The scenarios of a system, with the defaults of what a scenarios.py may leave out."""

    def __init__(self, folder):
        self.name, self.folder = os.path.basename(folder), folder
        specification = importlib.util.spec_from_file_location('scenarios_' + self.name, os.path.join(folder, 'scenarios.py'))
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        self.allocator, self.calls, self.scenarios = module.ALLOCATOR, set(module.CALLS), module.SCENARIOS
        self.unordered = set(getattr(module, 'UNORDERED', ()))
        self.short, self.short_share = getattr(module, 'SHORT', {}), 0.1
        self.lengths = getattr(module, 'LENGTHS', [2000, 5000, 10000, 23000])
        self.sharpness, self.bench = getattr(module, 'SHARPNESS', []), getattr(module, 'BENCH', {})
        self.version_settings = getattr(module, 'version_settings', lambda version: {})
        self.follows = getattr(module, 'FOLLOWS', False)
        self.advice, self.pasted = getattr(module, 'ADVICE', {}), getattr(module, 'pasted', None)
        self.tells = getattr(module, 'tells', lambda line: True)


class Known:
    """The lines of known-differences, and which were needed."""

    def __init__(self, path=None):
        self.lines, self.used = [], set()
        path = path or os.path.join(os.environ.get('GEMEM_ORACLE_SYSTEMS') or wheels.COMMON, 'known-differences')
        if os.path.exists(path):
            with open(path) as f:
                for number, text in enumerate(f, 1):
                    line = text.split('#')[0].split(None, 4)
                    if line and len(line) < 5:
                        raise wheels.Failure('%s:%d: not SYSTEM VERSION SCENARIO WHAT REASON' % (path, number))
                    if line:
                        self.lines.append(line)

    def excuses(self, system, version, scenario, what):
        """Whether a line is about this (WHAT with a name: stat:NAME)."""
        for number, line in enumerate(self.lines):
            if line[0] == system and line[1] in ('*', version) and fnmatch.fnmatchcase(scenario, line[2]) and fnmatch.fnmatchcase(what, line[3]):
                self.used.add(number)
                return True
        return False

    def unused(self, system, version, scenarios):
        """The lines that these runs could have needed and did not."""
        return [' '.join(line) for number, line in enumerate(self.lines)
                if number not in self.used and line[0] == system and line[1] == version and any(fnmatch.fnmatchcase(s, line[2]) for s in scenarios)]


def sim():
    """The command of gemem-sim: that of the build folder without libtool's script, which takes longer to start than most sequences."""
    folder = os.environ.get('GEMEM_BUILDDIR', '.')
    libraries = os.path.abspath(os.path.join(folder, '.libs'))
    if 'GEMEM_SIM' in os.environ:
        return [os.environ['GEMEM_SIM']]
    if os.path.exists(os.path.join(libraries, 'gemem-sim')):
        return ['env', 'LD_LIBRARY_PATH=%s:%s' % (libraries, os.environ.get('LD_LIBRARY_PATH', '')), os.path.join(libraries, 'gemem-sim')]
    return [os.path.join(folder, 'gemem-sim')]


def free_profile(folder):
    """A device profile in which no call takes time: generic.ini with every cost zero."""
    path = os.path.join(folder, 'no-costs.ini')
    source = os.path.join(os.environ.get('GEMEM_PROFILES') or os.path.join(wheels.COMMON, '..', '..', 'devices', 'profiles'), 'generic.ini')
    with open(source) as f, open(path, 'w') as out:
        for line in f:
            key, equals, _ = line.partition('=')
            out.write(key + '=0\n' if equals and key.endswith('_ns') else line)
    return path


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def with_addresses(text, path):
    """The trace @text with the addresses that the real allocator chose, by its rows in @path."""
    lines, seq = text.splitlines(), -1
    with open(path) as f:
        rows = (row.split(',') for row in f)
        chosen = {row[0]: row[4] for row in rows if row[1] == 'alloc' and row[4]}
    for number, line in enumerate(lines):
        if line and not line.startswith('#'):
            seq += 1
            if str(seq) in chosen:
                lines[number] = '%s addr=%s' % (line, chosen[str(seq)])
    return '\n'.join(lines) + '\n'


def bounded():
    """In the driver's process: an allocator that never ends fails instead of filling the memory with its calls."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))


class Pair:
    """A real allocator and gemem, in a folder for their files."""

    def __init__(self, system, version, folder, known=None, scenario=''):
        self.system, self.version, self.folder, self.known, self.scenario = system, version, folder, known, scenario
        self.profile = free_profile(folder)
        self.driver = os.path.abspath(version.driver)
        self.refused = self.failed = self.device_calls = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, allocator, settings, device, text):
        with open(self.path(name), 'w') as f:
            f.write(sequences.head(allocator or self.system.allocator, settings, device))
            f.write(text)

    def run(self, case, operations, change=None):
        """The first difference, or None.  `change` makes gemem's settings and device other ones."""
        text, events = sequences.body(operations)
        return self.run_text(case, text, events, change)

    def run_text(self, case, text, events, change=None):
        settings = dict(case.settings, **self.system.version_settings(self.version.name))
        self.write('trace.txt', case.allocator, settings, case.device, text)
        for name in ('real.events', 'real.calls', 'real.stats', 'gemem.events', 'gemem.calls', 'gemem.json'):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        real = subprocess.Popen([self.driver, *['%s=%s' % item for item in case.driver.items()], 'events=' + self.path('real.events'), 'calls=' + self.path('real.calls'),
                                 'stats=' + self.path('real.stats'), self.path('trace.txt')], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                preexec_fn=bounded)
        if self.system.follows:
            errors = real.communicate()[1]
            text = with_addresses(text, self.path('real.events')) if real.returncode == 0 else text
        own = 'trace.txt'
        if change is not None or self.system.follows:
            own = 'own.txt'
            self.write(own, case.allocator, *(change or (lambda *both: both))(dict(settings), dict(case.device)), text)
        gemem = subprocess.run([*sim(), 'replay', self.path(own), '-d', 'sim:profile=' + self.profile, '--events', self.path('gemem.events'), '--calls', self.path('gemem.calls'),
                                '-o', self.path('gemem.json'), *case.options], capture_output=True, text=True, errors='replace')
        if not self.system.follows:
            errors = real.communicate()[1]
        if real.returncode not in (0, 2) or gemem.returncode not in (0, 2) or real.returncode != gemem.returncode:
            kind = 'refusal' if {real.returncode, gemem.returncode} == {0, 2} else 'failed'
            return Difference(kind, None, 'exit status %d %s' % (real.returncode, errors.strip()[:500]), 'exit status %d %s' % (gemem.returncode, gemem.stderr.strip()[:500]),
                              'with %d and %d' % (real.returncode, gemem.returncode))
        if real.returncode == 2:
            self.refused += 1
            return None
        return self.compare(events, case.unordered)

    def compare(self, events, unordered):
        real, gemem = read(self.path('real.events')), read(self.path('gemem.events'))
        self.failed += real.count(b',,,') - real.count(b',trim,')
        gemem = without_blocks(real, gemem)
        if real != gemem:
            return first_row(real, gemem)
        return self.compare_calls(events, unordered) or self.compare_stats()

    def compare_calls(self, events, unordered):
        real, gemem = read(self.path('real.calls')), read(self.path('gemem.calls'))
        end = gemem.find(b'\n%d,' % events)
        gemem = gemem[:end + 1] if end >= 0 else gemem
        self.device_calls += real.count(b'\n') - 1
        if real == gemem:
            return None
        rows = [in_order(self.system.unordered, unordered, (row for row in log.decode().splitlines()[1:] if row.split(',', 2)[1] in self.system.calls)) for log in (real, gemem)]
        if rows[0] != rows[1]:
            rows = [[row for row in side if not self.is_known('call:' + row.split(',', 2)[1])] for side in rows]
        for one, other in zip(*rows):
            if one != other:
                return Difference('call', int(one.split(',')[0]), one, other, one.split(',')[1])
        if len(rows[0]) != len(rows[1]):
            k = min(map(len, rows))
            more = max(rows, key=len)[k]
            return Difference('call', int(more.split(',')[0]), *[side[k] if k < len(side) else 'no further call' for side in rows], more.split(',')[1])
        return None

    def compare_stats(self):
        with open(self.path('gemem.json')) as f:
            own = json.load(f)['results'][0].get('stats') or {}
        with open(self.path('real.stats')) as f:
            for line in f:
                name, value = line.split()
                if name in own and int(own[name]) != int(value) and not self.is_known('stat:' + name):
                    return Difference('stat', None, value, own[name], name)
        return None

    def is_known(self, what):
        return self.known is not None and self.known.excuses(self.system.name, self.version.name, self.scenario, what)


def without_blocks(real, gemem):
    """gemem's log of decisions without the sizes of blocks that the real allocator does not tell."""
    if b',-,' not in real:
        return gemem
    sides = [[row.split(b',') for row in log.split(b'\n')] for log in (real, gemem)]
    for one, other in zip(*sides):
        if one[5:6] == [b'-'] and other[5:6] > [b'']:
            other[5] = b'-'
    return b'\n'.join(b','.join(row) for row in sides[1])


def first_row(real, gemem):
    """Of two logs of decisions that differ: the first difference."""
    for one, other in zip(real.decode().splitlines(), gemem.decode().splitlines()):
        if one != other:
            a, b = one.split(','), other.split(',')
            return Difference('reserved' if a[:6] == b[:6] else 'decision', min(int(a[0]), int(b[0])), one, other, a[1])
    more = max(real, gemem, key=len).decode().splitlines()[min(real.count(b'\n'), gemem.count(b'\n'))]
    pair = ('no row', more) if len(gemem) > len(real) else (more, 'no row')
    return Difference('decision', int(more.split(',')[0]), *pair, more.split(',')[1])


def in_order(unordered, mixed, rows):
    """The rows with the calls that are @unordered sorted within their event: those that a system makes in the order of a hash table.
    Those of @mixed are sorted together, so that a whole series of different ones may be made in any order."""

    def key(row):
        seq, call, _ = row.split(',', 2)
        return (seq, '') if call in mixed else (seq, call) if call in unordered else row

    return [row for _, group in itertools.groupby(rows, key) for row in sorted(group)]
