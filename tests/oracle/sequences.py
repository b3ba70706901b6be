"""sequences.py - random sequences of operations, what the scenarios of all systems are made of.

Every generator is a function of (random, n): it draws from the random.Random it is given and from nothing else, so a seed names a
sequence, and yields about n operations (README.md, "A system").  No generator frees what is not live or reuses an id.
Sizes are what allocators decide by: log-uniform between bounds, and, in `mixed`, those around the edges that a system names.
"""
import math

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30


class Case:
    """One sequence to be: what is set, and what is done.  See README.md for the fields."""

    def __init__(self, operations, settings=None, device=None, driver=None, options=None, versions=None, unordered=(), allocator=None):
        self.operations, self.settings, self.device, self.allocator = operations, dict(settings or {}), dict(device or {}), allocator
        self.driver, self.options, self.versions = dict(driver or {}), list(options or []), versions
        self.unordered = set(unordered)


def log_size(random, least, most):
    return int(math.exp(random.uniform(math.log(least), math.log(most))))


def around(*sizes, step=512):
    """Each size, one byte and one step off."""
    return sorted({s + d for s in sizes for d in (-step - 1, -step, -step + 1, -1, 0, 1, step - 1, step, step + 1) if s + d > 0})


class Live:
    """The live blocks: new ids, and victims by age or at random."""

    def __init__(self):
        self.ids, self.last, self.bytes, self.size = [], 0, 0, {}

    def add(self, size):
        self.last += 1
        self.ids.append(self.last)
        self.size[self.last] = size
        self.bytes += size
        return self.last

    def take(self, index):
        self.ids[index], self.ids[-1] = self.ids[-1], self.ids[index]
        victim = self.ids.pop()
        self.bytes -= self.size.pop(victim)
        return victim

    def any(self, random):
        return self.take(random.randrange(len(self.ids)))

    def recent(self, random, mean=5):
        return self.take(len(self.ids) - 1 - min(int(random.expovariate(1 / mean)), len(self.ids) - 1))


def mixed(random, n, edges=(), edge=0.5, least=1, middle=MiB, most=256 * MiB, small=0.5, streams=1, record=0.0, sync=0.0, trim=0.001,
          clock=0, blocks=300, limit=None, recent=0.3):
    """Everything at once.  `edge`: share of sizes taken from `edges`; others are small or large by `small`.  `record`, `sync`, `trim`:
    how often; `clock`: most ns between two operations; `blocks`, `limit`: most live blocks and bytes; `recent`: frees of young blocks."""
    live, now, edges = Live(), 0, [e for e in edges if e <= most]
    chance = random.random
    for _ in range(n):
        if clock and chance() < 0.5:
            now += random.randrange(1, clock)
            yield ('t', now)
        if trim and chance() < trim:
            yield ('r',)
        elif sync and chance() < sync:
            yield ('s', random.randrange(streams))
        elif record and live.ids and chance() < record:
            yield ('u', random.choice(live.ids[-60:]), random.randrange(streams))
        elif live.ids and (chance() < 0.48 or len(live.ids) > blocks or (limit and live.bytes > limit)):
            yield ('f', live.recent(random) if chance() < recent else live.any(random))
        else:
            size = random.choice(edges) if edges and chance() < edge else log_size(random, least, middle) if chance() < small else log_size(random, middle, most)
            yield ('a', live.add(size), size, random.randrange(streams) if streams > 1 else 0)


def uniform(random, n, least=512, most=64 * MiB, blocks=400):
    return mixed(random, n, edge=0, least=least, middle=most, small=1, blocks=blocks, recent=0)


def pressure(random, n, limit=900 * MiB, most=128 * MiB):
    """Always near the capacity."""
    return mixed(random, n, edge=0, least=4 * KiB, middle=most, small=1, blocks=1 << 30, limit=limit, trim=0, recent=0)


def small_and_large(random, n, border=256 * KiB, large=4 * MiB, most=512 * MiB):
    """Many small blocks between few huge ones; the youngest die first."""
    live = Live()
    for _ in range(n):
        if live.ids and (random.random() < 0.5 or len(live.ids) > 900):
            yield ('f', live.recent(random, 20))
        else:
            size = log_size(random, 512, border) if random.random() < 0.85 else log_size(random, large, most)
            yield ('a', live.add(size), size)


def training(random, n):
    """Layers forward and backward: parameters stay, activations live from forward to backward, temporaries die at once."""
    live, done = Live(), 0
    layers, width = random.randrange(4, 24), random.choice([512, 768, 1024, 2048, 4096])
    for _ in range(layers):
        for factor in (2, 2, 1):
            size = width * width * factor
            done += 1
            yield ('a', live.add(size), size)
    while done < n:
        batch, kept = random.choice([256, 512, 512, 512, 1024, 1536]), []
        for _ in range(layers):
            passing = []
            for _ in range(random.randrange(3, 8)):
                size = batch * width * random.choice([1, 2, 2, 4, 8])
                done += 1
                block = live.add(size)
                yield ('a', block, size)
                (kept if random.random() < 0.5 else passing).append(block)
            random.shuffle(passing)
            for block in passing:
                done += 1
                yield ('f', block)
        gradients = []
        for block in reversed(kept):
            size = batch * width * random.choice([2, 4])
            gradient = live.add(size)
            done += 2
            yield ('a', gradient, size)
            yield ('f', block)
            if random.random() < 0.1:
                gradients.append(gradient)
            else:
                done += 1
                yield ('f', gradient)
        for block in gradients:
            done += 1
            yield ('f', block)


def shapes(random, n):
    """Every step has other sizes."""
    live, done, width = Live(), 0, random.choice([1024, 2048, 5120])
    while done < n:
        tokens, own = random.randrange(1, 4096), []
        for _ in range(random.randrange(8, 60)):
            size = tokens * width * random.choice([1, 2, 2, 4]) + random.choice([0, 0, 13, 512])
            own.append(live.add(size))
            done += 1
            yield ('a', own[-1], size)
            if len(own) > 5 and random.random() < 0.7:
                done += 1
                yield ('f', own.pop(random.randrange(len(own) - 1)))
        for block in own:
            done += 1
            yield ('f', block)
        if random.random() < 0.02:
            yield ('r',)


def inference(random, n):
    """Requests with caches that grow token by token, and temporaries."""
    live, done, requests = Live(), 0, []
    while done < n:
        if len(requests) < 24 and random.random() < 0.3:
            requests.append([random.randrange(5, 120), []])
        for request in requests:
            if random.random() < 0.4:
                size = 2 * MiB if random.random() < 0.8 else 640 * KiB
                request[1].append(live.add(size))
                done += 1
                yield ('a', request[1][-1], size)
            request[0] -= 1
        passing = []
        for _ in range(random.randrange(2, 9)):
            size = log_size(random, 2 * KiB, 48 * MiB)
            passing.append(live.add(size))
            yield ('a', passing[-1], size)
        for block in passing + [block for request in requests if request[0] <= 0 for block in request[1]]:
            done += 1
            yield ('f', block)
        requests = [request for request in requests if request[0] > 0]


PATTERNS = {'uniform': uniform, 'pressure': pressure, 'small-and-large': small_and_large, 'training': training, 'shapes': shapes, 'inference': inference}


def any_pattern(random, n):
    return random.choice(sorted(PATTERNS.items()))[1](random, n)


def one_of(*generators):
    return lambda random, n: random.choice(generators)(random, n)


def on_streams(generator, others=(1, 2, 4)):
    """The operations of a generator of one stream, spread over several, with uses on others before frees, a clock and waits."""

    def spread(random, n):
        now, streams = 0, 1 + random.choice(others)
        for op in generator(random, n):
            now += random.randrange(2000)
            if random.random() < 0.3:
                yield ('t', now)
            if op[0] == 'a':
                op = (*op[:3], 0 if random.random() < 0.7 else random.randrange(streams))
            if op[0] == 'f' and random.random() < 0.25:
                yield ('u', op[1], random.randrange(streams))
            yield op
            if op[0] == 'f' and random.random() < 0.01:
                yield ('s', random.randrange(streams))

    return spread


# ---- as text

def quoted(values):
    """KEY=VALUE,... as gemem reads it behind -a or -d."""
    words = []
    for key, value in values.items():
        value = str(value)
        if (any(sign in value for sign in ',[]') and not value.startswith('[')) or '"' in value:
            value = '"%s"' % value
        words.append('%s=%s' % (key, value))
    return ','.join(words)


def head(allocator, settings, device):
    """The head of the trace."""

    def string(text):
        return '"%s"' % text.replace('\\', '\\\\').replace('"', '\\"')

    lines = ['# gemem-trace: 1', '# allocator: ' + string(allocator)]
    if settings:
        lines.append('# settings: ' + string(quoted(settings)))
    if device:
        lines.append('# device: ' + string(quoted(device)))
    return '\n'.join(lines) + '\n'


def body(operations):
    """The events as text, and how many there are."""
    lines, time, events = [], '', 0
    add = lines.append
    for op in operations:
        kind = op[0]
        if kind == 't':
            time = ' t=%d' % op[1] if op[1] else ''
            continue
        if kind == 'o':
            add('## oracle ' + ' '.join(map(str, op[1:])))
            continue
        events += 1
        if kind == 'f':
            add('free %d%s' % (op[1], time))
        elif kind == 'a':
            place = ' stream=%d' % op[3] if len(op) > 3 and op[3] else ''
            if len(op) > 4 and op[4]:
                place += ' pool=%d' % op[4]
            add('alloc %d size=%d%s%s' % (op[1], op[2], place, time))
        elif kind == 'u':
            add('use-on-stream %d%s%s' % (op[1], ' stream=%d' % op[2] if op[2] else '', time))
        elif kind == 'l':
            add('stream-free %d%s%s' % (op[1], ' stream=%d' % op[2] if op[2] else '', time))
        elif kind == 's':
            add('stream-sync%s%s' % (' stream=%d' % op[1] if op[1] else '', time))
        elif kind == 'r':
            add('trim' + time)
        elif kind == 'B':
            add('pool-begin pool=%d%s%s' % (op[1], ' aux=1' if op[2] else '', time))
        elif kind == 'E':
            add('pool-end pool=%d%s' % (op[1], time))
        elif kind == 'p':
            add('pool-release pool=%d%s%s' % (op[1], ' aux=1' if op[2] else '', time))
        else:
            raise ValueError('unknown operation %r' % (op,))
    add('# end: %d\n' % events)
    return '\n'.join(lines), events
