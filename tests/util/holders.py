#!/usr/bin/env python3
"""holders.py - who holds the memory at the peak of a PyTorch snapshot, computed from the pickle alone, for tests/cli/test-cli-holders.sh.

    holders.py SNAPSHOT.pickle[.gz] HOLDERS.json   HOLDERS.json: gemem-sim info --at=peak --by=stack --frames=FRAMES --format=json;
                                                   exit 1 with the first difference

The states before each event are found by undoing the events from the last one, which the reader of gemem does not do.
"""
import collections, gzip, json, pickle, sys


def states(snapshot, device):
    """Live blocks, address -> (bytes, frames), at the start; and the changes after it."""
    live = {}
    for segment in snapshot["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            at = block.get("address", address)
            address = at + block["size"]
            if segment["device"] == device and block["state"].startswith("active"):
                live[at] = (block["requested_size"], block.get("frames") or [])
    events = [e for e in snapshot["device_traces"][device] if e["action"] in ("alloc", "free_completed")]
    changes = []
    for e in reversed(events):
        if e["action"] == "alloc":
            del live[e["addr"]]
            changes.append((e["addr"], (e["size"], e.get("frames") or [])))
        else:
            live[e["addr"]] = (e["size"], None)  # its frames: those of the event that allocated it, if there is one
            changes.append((e["addr"], None))
    return live, changes[::-1]


def peak(snapshot, device):
    live, changes = states(snapshot, device)
    total = sum(size for size, _ in live.values())
    best, found = total, dict(live)
    for address, block in changes:
        if block is None:
            total -= live.pop(address)[0]
        else:
            live[address] = block
            total += block[0]
        if total > best:
            best, found = total, dict(live)
    return best, found


def key(frames, choice):
    frames = [(f["name"], f["filename"] or "??", f["line"]) for f in frames or []]
    python = [f for f in frames if f[1].endswith(".py") or f[1].startswith("<")]
    if choice == "all" or (choice == "auto" and not python):
        return tuple(frames)
    return tuple(python) if choice in ("auto", "python") else tuple(f for f in frames if f not in python)


def main(path, holders):
    snapshot = pickle.load(gzip.open(path) if path.endswith(".gz") else open(path, "rb"))
    said = json.load(open(holders))
    for device in said["devices"]:
        best, live = peak(snapshot, device["device"])
        expected = collections.Counter()
        for size, frames in live.values():
            expected[key(frames, said["frames"])] += size
        got = {tuple((f["name"], f["file"], f["line"]) for f in row["frames"]): row["bytes"] for row in device["rows"]}
        if best != device["bytes"] or sum(got.values()) != best:
            sys.exit(f"peak {best}, gemem says {device['bytes']}, its rows {sum(got.values())}")
        for stack in set(got) | set(expected):
            if got.get(stack, 0) != expected[stack]:
                sys.exit(f"{stack}: {expected[stack]}, gemem says {got.get(stack, 0)}")
        print(f"{len(expected)} stacks, {best} bytes")


main(*sys.argv[1:])
