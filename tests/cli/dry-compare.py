"""dry-compare.py RECORDING PREDICTION... - do dry runs give what was recorded on a GPU?

RECORDING and PREDICTIONs are traces in any format that gemem-sim reads.  A recording may hold a part of the program only, such
as the step after those that warm up: that part is looked for in the prediction, from its end.

Compared are the requests in order (kind, size, and which block is freed), the peak of what is live, to the byte, and the peak of
what is reserved.  The last may differ by the addresses that the driver chose, as they decide ties between free blocks: with
several PREDICTIONs, made in different orders of addresses, or with --orders=FILE, the verdict of gemem-dry-run --json, it must
lie in their range.

A line of TAP for each; --permuted=N tolerates that at most N frees come in another order inside runs of frees without an
allocation between them: some are those of a hash table over host addresses, which no run repeats.
"""
import argparse
import json
import subprocess
import sys


class Trace:
    """Requests as (kind, size, block), the level of live and reserved bytes after each, and what was there at the start."""

    def __init__(self, path):
        text = subprocess.run(["gemem-sim", "convert", "-q", "-f", "text", path, "-"], check=True, capture_output=True, text=True).stdout
        self.requests, self.live, self.reserved = [], [], []
        self.first_live = self.first_reserved = 0
        sizes, live, reserved = {}, 0, 0
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            kind, *words = line.split()
            block = words[0] if words and "=" not in words[0] else None
            values = dict(word.split("=", 1) for word in words if "=" in word)
            size, initial = int(values.get("size", 0)), "initial" in values.get("flags", "")
            if kind in ("segment-alloc", "segment-map"):
                reserved += size
            elif kind in ("segment-free", "segment-unmap"):
                reserved -= size
            elif kind == "alloc":
                sizes[block] = size
                live += size
            elif kind == "free-completed" or (kind == "free" and block in sizes):
                live -= sizes[block]
            if initial:
                self.first_live, self.first_reserved = live, reserved
            elif kind in ("alloc", "free-completed", "free"):
                self.requests.append(("alloc" if kind == "alloc" else "free", sizes[block], block))
                self.live.append(live)
                self.reserved.append(reserved)
            elif self.reserved:
                self.reserved[-1] = max(self.reserved[-1], reserved)
            else:
                self.first_reserved = max(self.first_reserved, reserved)


def compare(recorded, predicted, start, permuted):
    """How many requests are equal from predicted[start] on, and how many of these are frees that come in another order.

    A block has another name in the other trace, but always the same one.
    """
    names, moved, i = {}, 0, 0
    while i < len(recorded) and start + i < len(predicted):
        kind, size, block = recorded[i]
        if kind == "alloc":
            if (kind, size) != predicted[start + i][:2]:
                break
            names[block] = predicted[start + i][2]
            i += 1
            continue
        j = i  # a run of frees
        while j < len(recorded) and start + j < len(predicted) and recorded[j][0] == predicted[start + j][0] == "free":
            j += 1
        here, there = recorded[i:j], predicted[start + i : start + j]
        same = [a[1] == b[1] and names.setdefault(a[2], b[2]) == b[2] for a, b in zip(here, there)]
        others = same.count(False)
        if others and (sorted(names[r[2]] for r in here) != sorted(r[2] for r in there) or moved + others > permuted):
            return i + same.index(False), moved
        moved += others
        if i == j:
            break
        i = j
    return i, moved


def find(recorded, predicted, permuted):
    """Where the recorded part begins in the prediction: (start, equal requests, frees moved)."""
    best = (0, -1, 0)
    head = [r[:2] for r in recorded[:64]]
    for start in range(max(0, len(predicted) - len(recorded)), -1, -1):
        if start == 0 or [r[:2] for r in predicted[start : start + len(head)]] == head:
            equal, moved = compare(recorded, predicted, start, permuted)
            if equal > best[1]:
                best = (start, equal, moved)
            if equal == len(recorded):
                break
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--permuted", type=int, default=0)
    parser.add_argument("--orders", metavar="FILE")
    parser.add_argument("recording")
    parser.add_argument("predictions", nargs="+")
    options = parser.parse_args()

    recorded = Trace(options.recording)
    peak_live = max(recorded.live + [recorded.first_live])
    peak_reserved = max(recorded.reserved + [recorded.first_reserved])
    reserved, failed = [], 0

    def point(ok, text):
        nonlocal failed
        failed += not ok
        print(("ok" if ok else "not ok") + " - " + text)

    for path in options.predictions:
        predicted = Trace(path)
        start, equal, moved = find(recorded.requests, predicted.requests, options.permuted)
        end = start + len(recorded.requests)
        point(equal == len(recorded.requests), f"{equal} of {len(recorded.requests)} requests in order" + (f", {moved} frees of a run in another order" if moved else ""))
        if equal < len(recorded.requests):
            for name, trace, at in (("recorded", recorded, equal), ("predicted", predicted, start + equal)):
                for request in trace.requests[max(0, at - 2) : at + 3]:
                    print(f"#   {name} {request[0]} {request[1]}")
        level = max(predicted.live[start:end] + ([predicted.live[start - 1]] if start else []))
        point(level == peak_live, f"peak live {level}, recorded {peak_live}")
        reserved.append(max(predicted.reserved[start:end] + ([predicted.reserved[start - 1]] if start else [predicted.first_reserved])))
    if options.orders:
        with open(options.orders) as stream:
            reserved += [order["peak_reserved"] for process in json.load(stream)["processes"] for order in process["orders"]]
    low, high = min(reserved), max(reserved)
    span = f"{low}" if low == high else f"{low} to {high}"
    point(low <= peak_reserved <= high, f"peak reserved {span}, recorded {peak_reserved}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
