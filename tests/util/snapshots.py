#!/usr/bin/env python3
"""snapshots.py - torch.cuda.memory snapshots in other clothes, and hostile ones, for tests/cli/test-cli-snapshots.sh.

    snapshots.py rewrite SNAPSHOT.pickle.gz DIR   the same recording: protocols 2 to 5, keys in other orders, nothing shared, everything shared,
                                                  by pickle's Python implementation, with keys of the future
    snapshots.py mixed FILE                       a state of its own: four streams, plain segments, private pools, empty devices between
    snapshots.py settings FILE                    settings that change between two requests, as gemem-dry-run has PyTorch annotate them
    snapshots.py refused FILE [FREE [SIZE]]       as an observer of the error dumps it: taken inside of the request that is refused, its last event (MiB)
    snapshots.py hostile DIR                      what must be refused or be harmless, and never hang
    snapshots.py big FILE EVENTS                  random events with call stacks of 40 to 99 frames, about 420 bytes an event
"""
import copy, gzip, os, pickle, pickletools, random, sys


def shuffled(value, r):
    """Every dict with its keys in another order."""
    if isinstance(value, dict):
        items = [(k, shuffled(v, r)) for k, v in value.items()]
        r.shuffle(items)
        return dict(items)
    return type(value)(shuffled(v, r) for v in value) if isinstance(value, (list, tuple)) else value


def shared(snapshot):
    """Equal frames are one object, equal stacks are."""
    frames, stacks = {}, {}

    def walk(value):
        if isinstance(value, dict):
            return {k: walk_frames(v) if k == "frames" else walk(v) for k, v in value.items()}
        return type(value)(walk(v) for v in value) if isinstance(value, (list, tuple)) else value

    def walk_frames(stack):
        one = [frames.setdefault(tuple(sorted((k, str(v)) for k, v in f.items())), f) for f in stack]
        return stacks.setdefault(tuple(map(id, one)), one)

    return walk(snapshot)


def rewrite(path, folder):
    snapshot = pickle.load(gzip.open(path))
    r = random.Random(5)

    def write(name, value, protocol=4, dump=pickle.dump):
        with open(os.path.join(folder, name + ".pickle"), "wb") as file:
            dump(value, file, protocol)

    for protocol in range(2, 6):
        write(f"protocol-{protocol}", snapshot, protocol)
    for i in range(4):
        write(f"order-{i}", shuffled(snapshot, r), 2 + i)
    write("unshared", copy.deepcopy(shuffled(snapshot, random.Random(0))))
    write("all-shared", shared(snapshot))
    write("python", snapshot, 4, lambda value, file, protocol: pickle._Pickler(file, protocol).dump(value))
    with open(os.path.join(folder, "optimised.pickle"), "wb") as file:
        file.write(pickletools.optimize(pickle.dumps(snapshot, 4)))
    future = copy.deepcopy(snapshot)
    future["a_new_list"] = [{"action": "alloc", "size": 1, "addr": 2}, [{"action": "x"}]] * 3
    future["a_new_number"] = 1 << 200
    for events in future["device_traces"]:
        for e in events:
            e["a_new_dict"] = {"name": "n", "size": -1, "frames": e.get("frames", []), "big": 1 << 70}
    write("future", future)


def mixed(path):
    base, mib = 0x7F0000000000, 1 << 20
    frames = [{"name": f"f{i}", "filename": "mixed.py", "line": 18446744073709551615 if i == 3 else i} for i in range(5)]
    stack = lambda i: [frames[i % 5], frames[(i + 1) % 5], frames[0]]
    streams, pools = [0, 94217843200, 94217850112, (1 << 63) + 16], [(0, 0), (0, 0), (0, 7), (3, 0)]
    segments, events = [], []
    for i in range(12):
        n, k = i % 4, i // 4
        address, size = base + i * 32 * mib, [2 * mib, 20 * mib, 24 * mib][k]
        used = [512 * (i + 1), 3 * mib, 24 * mib][k]
        blocks = [{"address": address, "size": used, "requested_size": used - 12, "state": ["active_allocated", "active_pending_free", "active_allocated"][k], "frames": stack(i)}]
        if used < size:
            blocks.append({"address": address + used, "size": size - used, "requested_size": 0, "state": "inactive", "frames": []})
        segments.append({"device": 2, "address": address, "total_size": size, "allocated_size": used if k != 1 else 0, "active_size": used, "requested_size": used - 12, "stream": streams[n],
                         "segment_type": "small" if k == 0 else "large", "segment_pool_id": pools[n], "is_expandable": False, "frames": stack(i), "blocks": blocks})
        if k == 0:
            common = {"stream": streams[n], "compile_context": "0/0" if n else "N/A", "user_metadata": f"step {n}", "pool_id": pools[n], "frames": stack(i)}
            events.append({"action": "segment_alloc", "addr": address, "size": size, "time_us": 1700000000000000 + i, **common})
            events.append({"action": "alloc", "addr": address, "size": used - 12, "time_us": 1700000000000000 + i, **common})
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False, "graph_capture_record_stream_reuse": False,
                "max_cached_size": -1, "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)}}
    snapshot = {"segments": segments, "device_traces": [[], [], events, []], "allocator_settings": settings, "external_annotations": [], "trace_overflow": True}
    pickle.dump(snapshot, open(path, "wb"), 4)


def settings(path):
    base, mib = 0x7F0000000000, 1 << 20
    start = lambda name, at: {"name": name, "stage": "START", "time_us": 1700000000000000 + at, "device": 0}
    told = [start("gemem: settings until here: garbage_collection_threshold:0.9,max_split_size_mb:99", 6), start("gemem: settings from here on: max_split_size_mb:20", 7), start("step", 0)]
    notes = sorted(told + [{**note, "stage": "END"} for note in told], key=lambda note: note["time_us"])
    steps = [("segment_alloc", 0, 20), ("alloc", 0, 8), ("free_requested", 0, 8), ("free_completed", 0, 8), ("segment_alloc", 1, 20), ("alloc", 1, 8)]
    events = [{"action": action, "addr": base + place * 64 * mib, "size": size * mib, "stream": 0, "time_us": 1700000000000000 + 2 * i, "frames": []} for i, (action, place, size) in enumerate(steps)]
    segments = []
    for place, used in enumerate((0, 8)):
        address = base + place * 64 * mib
        blocks = [{"address": address, "size": 8 * mib, "requested_size": 8 * mib, "state": "active_allocated", "frames": []}] if used else []
        blocks.append({"address": address + used * mib, "size": (20 - used) * mib, "requested_size": 0, "state": "inactive", "frames": []})
        segments.append({"device": 0, "address": address, "total_size": 20 * mib, "allocated_size": used * mib, "active_size": used * mib, "requested_size": used * mib, "stream": 0,
                         "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks})
    last = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:20", "max_split_size": 20 * mib, "garbage_collection_threshold": 0.0, "expandable_segments": False, "max_cached_size": -1}
    pickle.dump({"segments": segments, "device_traces": [events], "allocator_settings": last, "external_annotations": notes}, open(path, "wb"), 4)


def refused(path, free_then=424, asked=500):
    base, mib = 0x7F0000000000, 1 << 20
    frames = lambda line: [{"name": "forward", "filename": "train.py", "line": line}]
    segments, events = [], []
    for i in range(3):  # three blocks of 300 MiB in segments of their own, the second of which is free
        address, at = base + i * 512 * mib, {"size": 300 * mib, "stream": 0, "time_us": 1700000000000000 + i, "frames": frames(10 + i)}
        events += [{"action": "segment_alloc", "addr": address, **at}, {"action": "alloc", "addr": address, **at}]
        if i == 1:
            continue
        segments.append({"device": 0, "address": address, "total_size": 300 * mib, "allocated_size": 300 * mib, "active_size": 300 * mib, "requested_size": 300 * mib, "stream": 0,
                         "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": frames(10 + i),
                         "blocks": [{"address": address, "size": 300 * mib, "requested_size": 300 * mib, "state": "active_allocated", "frames": frames(10 + i)}]})
    free = {"addr": base + 512 * mib, "size": 300 * mib, "stream": 0, "time_us": 1700000000000010, "frames": frames(11)}
    events += [{"action": "free_requested", **free}, {"action": "free_completed", **free}, {"action": "segment_free", **free, "frames": frames(20)}]
    events.append({"action": "oom", "size": int(asked) * mib, "device_free": int(free_then) * mib, "stream": 0, "time_us": 1700000000000011, "frames": frames(20)})
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False, "max_cached_size": -1}
    pickle.dump({"segments": segments, "device_traces": [events], "allocator_settings": settings, "external_annotations": []}, open(path, "wb"), 4)


# A limit of 1000 MiB, so garbage is collected above 500: at the request of 50 MiB in vain, at the first of 260 MiB it gives
# back 250 and leaves 50.
def collected(path):
    base, mib = 0x7F0000000000, 1 << 20
    events = []

    def at(place):
        return {"addr": base + place * 512 * mib, "stream": 0, "time_us": 1700000000000000 + len(events), "frames": []}

    def take(place, size):
        for action in ("segment_alloc", "alloc"):
            events.append({"action": action, "size": size * mib, **at(place)})

    def act(place, size, *actions):
        for action in actions:
            events.append({"action": action, "size": size * mib, **at(place)})

    for place, size in enumerate((300, 250, 50)):
        take(place, size)
    act(1, 250, "free_requested", "free_completed")
    act(2, 50, "free_requested", "free_completed")
    act(1, 250, "segment_free")
    take(3, 260)
    act(2, 50, "alloc")
    take(4, 260)
    events.append({"action": "oom", "size": 500 * mib, "device_free": 70000 * mib, "stream": 0, "time_us": 1700000000000099, "frames": []})
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "garbage_collection_threshold:0.5", "max_split_size": -1, "garbage_collection_threshold": 0.5, "expandable_segments": False, "max_cached_size": -1}
    segments = []
    for place, size in ((0, 300), (2, 50), (3, 260), (4, 260)):
        held = size * mib
        block = {"address": base + place * 512 * mib, "size": held, "requested_size": held, "state": "active_allocated", "frames": []}
        segments.append({"device": 0, "address": base + place * 512 * mib, "total_size": held, "allocated_size": held, "active_size": held, "requested_size": held, "stream": 0,
                         "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [block]})
    with open(path, "wb") as file:
        pickle.dump({"segments": segments, "device_traces": [events], "allocator_settings": settings, "external_annotations": []}, file, 4)


def big(path, events):
    r = random.Random(7)
    frames = [{"name": f"function_{i}", "filename": f"/home/user/project/module{i % 300}.py" if i % 3 else "??", "line": i % 1000} for i in range(20000)]
    starts = [r.randrange(len(frames) - 100) for _ in range(20000)]
    stacks = [frames[start : start + r.randrange(40, 100)] for start in starts]
    trace, live, at = [], [], 0x7F0000000000
    for i in range(int(events)):
        common = {"stream": 0, "time_us": 1700000000000000 + i, "frames": list(r.choice(stacks))}
        if live and (len(live) > 2000 or r.random() < 0.5):
            address, size = live.pop(r.randrange(len(live)))
            trace.append({"action": "free_requested", "addr": address, "size": size, **common})
            trace.append({"action": "free_completed", "addr": address, "size": size, **common, "frames": []})
        else:
            at += 1 << 20
            live.append((at, r.randrange(1, 1 << 20)))
            trace.append({"action": "alloc", "addr": live[-1][0], "size": live[-1][1], **common})
    with open(path, "wb") as file:
        pickle.dump({"segments": [], "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}, file, 4)


def hostile(folder):
    def write(name, value):
        with open(os.path.join(folder, name + ".pickle"), "wb") as file:
            file.write(value if isinstance(value, bytes) else pickle.dumps(value, 4))

    frame = {"name": "f", "filename": "a.py", "line": 1}
    event = {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames": [frame]}
    empty = {"segments": [], "device_traces": []}
    cycle = [frame]
    cycle.append(cycle)
    write("fine-cycle", {**empty, "device_traces": [[{**event, "frames": cycle}]]})
    laugh = [frame] * 50
    for _ in range(40):
        laugh = [laugh] * 50
    write("fine-laughs", {**empty, "device_traces": [[{**event, "frames": laugh}]]})
    write("fine-same-stack", {**empty, "device_traces": [[{**event, "addr": 4096 * i, "frames": cycle} for i in range(1, 3000)]]})
    write("refused-same-event", {**empty, "device_traces": [[event, event]]})
    write("refused-same-list", {**empty, "device_traces": [[event]] * 2})
    events = [event]
    for _ in range(30):
        events = [events] * 1000
    write("refused-lists-of-lists", {**empty, "device_traces": events})
    deep = []
    for _ in range(400):
        deep = [0, deep]
    write("refused-deep", {**empty, "device_traces": [[{**event, "frames": deep}]]}) if sys.getrecursionlimit() > 900 else None
    own = {**event}
    own["frames"] = [own]
    write("fine-event-in-itself", {**empty, "device_traces": [[own]]})
    traces = []
    traces.append(traces)
    write("fine-traces-in-themselves", {**empty, "device_traces": traces})
    write("refused-code", b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    write("refused-size", {**empty, "device_traces": [[{**event, "size": 1 << 80}]]})
    write("fine-line", {**empty, "device_traces": [[{**event, "frames": [{**frame, "line": (1 << 64) - 1}, {**frame, "line": -(1 << 90)}]}]]})


if __name__ == "__main__":
    sys.setrecursionlimit(20000)
    {"rewrite": rewrite, "mixed": mixed, "settings": settings, "refused": refused, "collected": collected, "hostile": hostile, "big": big}[sys.argv[1]](*sys.argv[2:])
