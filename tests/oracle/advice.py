"""advice.py - the lines that `gemem-sim advise` prints, read by the real allocators that they are for.

Every line must be accepted by the real binary of that version, and the most that it then holds of the device must be what the advice
said, to the byte.  Without a line, too: the advice compares with that.
"""
import json
import os
import shlex
import subprocess

import compare
import sequences
import wheels

LENGTH = 3000  # operations of a sequence
ENOUGH = 3     # differences that are shown


class Tally:
    """What came of the sequences of one scenario."""

    def __init__(self):
        self.sequences = self.lines = 0
        self.texts, self.wrong = set(), []


def assignments(line):
    """The variables that a line for a shell sets: export NAME=VALUE..."""
    words = shlex.split(line)
    if words[0] != 'export' or not all('=' in word for word in words[1:]):
        raise ValueError('not a line that sets variables: ' + line)
    return dict(word.split('=', 1) for word in words[1:])


def recorded():
    """The paths of the bundled recordings, by name."""
    folder = os.path.join(wheels.COMMON, '..', '..', 'traces', 'recorded')
    return {name[:-4]: os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith('.gmt')}


def requests(path):
    """The requests and frees of the recording @path, on one stream."""
    text = subprocess.run([*compare.sim(), 'convert', path, '-', '-q'], capture_output=True, text=True, check=True).stdout
    for words in (line.split() for line in text.splitlines() if line and not line.startswith('#')):
        if words[0] == 'alloc' and 'flags=failed' not in words:
            yield 'a', int(words[1]), int(next(word for word in words if word.startswith('size='))[5:])
        elif words[0] in ('free', 'free-requested'):
            yield 'f', int(words[1])


def advise(path):
    """The advice about the trace @path."""
    result = subprocess.run([*compare.sim(), 'advise', path, '--format=json', '-q'], capture_output=True, text=True)
    if result.returncode not in (0, 3, 4):
        raise RuntimeError('gemem-sim advise: exit status %d %s' % (result.returncode, result.stderr.strip()))
    return json.loads(result.stdout)[0]


def held(pair, path, arguments, variables):
    """The most that the real allocator holds over the trace, and how many requests it refuses; a text instead: why there is no answer."""
    events = pair.path('real.events')
    if os.path.exists(events):
        os.unlink(events)
    real = subprocess.run([pair.driver, *['%s=%s' % item for item in arguments.items()], 'events=' + events, path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, env=dict(os.environ, **variables), preexec_fn=compare.bounded)
    if real.returncode:
        return 'exit status %d %s' % (real.returncode, real.stderr.strip()[:300])
    with open(events) as f:
        rows = [row.split(',') for row in f][1:]
    return max(int(row[6]) for row in rows), sum(row[1] == 'alloc' and not row[4] for row in rows)


def compare_run(pair, path, line, said, arguments, variables, tally):
    """@said: bytes and refused requests; bytes None: not said."""
    real = held(pair, path, arguments, variables)
    if isinstance(real, str) or (said[0] is not None and real[0] != said[0]) or real[1] != said[1]:
        tally.wrong.append('%s\n  gemem: holds %s, %d refused\n  real:  %s' % (line, *said, real if isinstance(real, str) else 'holds %d, %d refused' % real))


def check_sequence(pair, case, operations, tally):
    """All lines of one sequence, and the settings that it has."""
    system, path = pair.system, pair.path('trace.txt')
    text, _ = sequences.body(operations)
    pair.write('trace.txt', case.allocator, dict(case.settings, **system.version_settings(pair.version.name)), case.device, text)
    advice = advise(path)
    tally.sequences += 1
    compare_run(pair, path, 'without a line', (None if advice['failed'] else advice['needed_bytes'], advice['failed']), {}, {}, tally)
    for line in advice['lines']:
        if system.pasted(line['paste']) is None:  # read by a part of the program that is not there
            continue
        tally.lines += 1
        tally.texts.add(line['paste'])
        said = line['needed_bytes'] if system.tells(line['paste']) else None
        compare_run(pair, path, line['paste'], (said, 0), *system.pasted(line['paste']), tally)


def report(version, scenario, tally, tap):
    name = '%s %s: %d lines, %d different, in %d sequences are accepted and need what was said' % (version.label, scenario, tally.lines, len(tally.texts), tally.sequences)
    details = '\n'.join(tally.wrong[:ENOUGH] or sorted(tally.texts))
    tap.point(tally.lines > 0 and not tally.wrong, name, details if tally.lines else 'no line was offered, so nothing is shown')
