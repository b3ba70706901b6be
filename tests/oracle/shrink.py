"""shrink.py - the smallest sequence that still shows a difference.

Delta debugging: everything behind the difference is cut off, then chunks of operations are removed, halves first and single ones last, as
long as the same kind of difference remains; then settings are left out, streams and times, and sizes become rounder.  What
begins and ends (pools, remarks) goes in pairs.  Bounded by a number of trials.
"""
import copy


def repaired(operations):
    """Without the operations on what is not allocated, and without pairs of remarks of which one half or all between is gone."""
    live, kept = set(), []
    for op in operations:
        if op[0] == 'a':
            live.add(op[1])
        elif op[0] in 'ful':
            if op[1] not in live:
                continue
            if op[0] == 'f':
                live.discard(op[1])
        kept.append(op)
    return balanced(kept)


def bracket(op):
    """(what, whether it begins) of pool-begin, pool-end, and remarks WORD-begin NUMBER and WORD-end NUMBER; None of others."""
    if op[0] in 'BE':
        return ('pool', op[1]), op[0] == 'B'
    if op[0] == 'o' and op[1].endswith(('-begin', '-end')):
        return (op[1].rsplit('-', 1)[0], *op[2:]), op[1].endswith('-begin')
    return None


def balanced(operations):
    """What begins and ends only in pairs with something between."""
    open_at, drop = {}, set()
    for i, op in enumerate(operations):
        if bracket(op) is None:
            continue
        key, begins = bracket(op)
        if begins:
            if key in open_at:
                drop.add(i)
            else:
                open_at[key] = i
        elif key not in open_at:
            drop.add(i)
        elif all(operations[k][0] in 'otBE' for k in range(open_at[key], i)):
            drop.update((open_at.pop(key), i))
        else:
            del open_at[key]
    drop.update(open_at.values())
    kept = [op for i, op in enumerate(operations) if i not in drop]
    return kept if len(kept) == len(operations) else balanced(kept)


class Shrinker:
    def __init__(self, pair, case, operations, difference, trials=1500, change=None):
        self.pair, self.case, self.difference, self.left, self.change = pair, copy.copy(case), difference, trials, change
        self.operations = operations

    def still(self, operations, case=None):
        """The difference of @operations, if it is the same one."""
        if self.left <= 0:
            return None
        self.left -= 1
        found = self.pair.run(case or self.case, operations, self.change)
        return found if self.difference.same_as(found) else None

    def keep(self, operations, case=None):
        found = self.still(operations, case)
        if found is None:
            return False
        self.operations, self.difference = operations, found
        if case is not None:
            self.case = case
        return True

    def cut(self):
        """Removes what follows the difference."""
        if self.difference.seq is None:
            return
        events = 0
        for i, op in enumerate(self.operations):
            events += op[0] not in 'ot'
            if events > self.difference.seq:
                self.keep(repaired(self.operations[:i + 1] + [o for o in self.operations[i + 1:] if bracket(o)]))
                return

    def remove(self):
        """TRUE if anything could be removed."""
        before, size = len(self.operations), max(1, len(self.operations) // 2)
        while True:
            at = 0
            while at < len(self.operations) and self.left > 0:
                fewer = repaired(self.operations[:at] + self.operations[at + size:])
                if len(fewer) >= len(self.operations) or not self.keep(fewer):
                    at += size
                else:
                    self.cut()
            if size == 1 or self.left <= 0:
                return len(self.operations) < before
            size //= 2

    def leave_out_settings(self):
        for part in ('settings', 'device', 'driver'):
            for key in list(getattr(self.case, part)):
                case = copy.copy(self.case)
                setattr(case, part, {k: v for k, v in getattr(case, part).items() if k != key})
                self.keep(self.operations, case)

    def simplify(self, i, alternatives):
        for op in alternatives:
            if op != self.operations[i] and self.keep(self.operations[:i] + [op] + self.operations[i + 1:]):
                return

    def simplify_all(self):
        for i in range(len(self.operations)):
            op = self.operations[i]
            if op[0] != 'a' or self.left <= 0:
                continue
            if len(op) > 3 and not any(op[4:]):
                self.simplify(i, [op[:3]])
            elif len(op) > 3:
                self.simplify(i, [op[:3] + (0,) + op[4:]])
            size = op[2]
            self.simplify(i, [self.operations[i][:2] + (s,) + self.operations[i][3:] for s in
                              sorted({size >> k << k for k in (24, 20, 16, 12, 9)} | {512, 1 << 20, 2 << 20}) if 0 < s < size])
        self.rename()

    def rename(self):
        names = {}
        for op in self.operations:
            if op[0] == 'a':
                names[op[1]] = len(names) + 1
        self.keep([(op[0], names[op[1]]) + op[2:] if op[0] in 'aful' else op for op in self.operations])

    def run(self):
        """Returns (case, operations, difference)."""
        self.cut()
        while self.remove() and self.left > 0:
            pass
        self.leave_out_settings()
        self.simplify_all()
        while self.remove() and self.left > 0:
            pass
        return self.case, self.operations, self.difference
