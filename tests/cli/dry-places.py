#!/usr/bin/env python3
"""dry-places.py CALLS.gmt-as-text ADDRESSES EVENTS CALLS - do a real allocator and gemem's, given the same requests, decide alike?

The real one ran dry: its device calls are those of the recording (gemem-sim convert), its placements are in ADDRESSES ("ID ADDRESS", of
tests/programs/dry/paddle_requests.py).  gemem's are in EVENTS and CALLS (gemem-sim replay --events, --calls).  Addresses of both are
those of the same simulated device.  Prints the first difference; exit status 1 if there is one.
"""
import csv
import re
import sys


def rows(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def real_calls(path):
    """("malloc", "free" or "create", address, size) in order; pages have no address."""
    found, blocks = [], {}
    with open(path) as f:
        for line in f:
            words = line.split()
            if words[:1] == ["alloc"]:
                fields = dict(re.findall(r"(\w+)=(\S+)", line))
                blocks[words[1]] = int(fields.get("addr", "0"), 0), int(fields["size"])
                found.append(("malloc" if "addr" in fields else "create", *blocks[words[1]]))
            elif words[:1] == ["free"]:
                found.append(("free", *blocks[words[1]]))
    return found


def own_calls(path, last):
    """The same of gemem's, without what happens after event @last."""
    return [(row["call"], 0 if row["call"] == "create" else int(row["address"], 0), int(row["size"])) for row in rows(path)
            if row["ok"] == "1" and row["call"] in ("malloc", "free", "create") and int(row["seq"]) <= last]


recording, addresses, events, calls = sys.argv[1:]
with open(addresses) as f:
    real = [(number, int(place, 0)) for number, place in map(str.split, f)]
ours = [(row["id"], int(row["address"] or "0", 0)) for row in rows(events) if row["kind"] == "alloc"]
ours_calls = own_calls(calls, int(rows(events)[-1]["seq"]))
for what, one, other in (("placement", real, ours), ("device call", real_calls(recording), ours_calls)):
    for number, pair in enumerate(zip(one, other)):
        if pair[0] != pair[1]:
            sys.exit(f"{what} {number}: real {pair[0]}, gemem {pair[1]}")
    if len(one) != len(other):
        sys.exit(f"{what}s: real {len(one)}, gemem {len(other)}")
    print(f"{what}s: {len(one)} alike")
