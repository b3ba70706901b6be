"""allocator.py - what a snapshot of PyTorch does not say of its allocator: settings that the program changes while it runs, the part of the GPU that it may take, and, before PyTorch
2.12, of which private pool a segment is that is gone at the end.

They are told by annotations, which the history keeps by its own clock: one where settings or the part change, which gemem's reader of snapshots makes an event of (traces/pytorch/snapshot-private.h), and one
where the program begins and ends to allocate in a pool.  From these every event gets the `pool_id` that PyTorch 2.12 gives it: a segment made in between is the pool's, and so is what lies in it;
what a final segment says of its pool counts more.  A segment that another thread needs in between, for the default pool, is taken for the pool's: nothing tells them apart.
"""
import bisect
import os
import pickle
import re
import sys

UNTIL_HERE, FROM_HERE = "gemem: settings until here: ", "gemem: settings from here on: "
PART = "gemem: part of device from here on: "
BEGINS, ENDS = "gemem: pool begins: ", "gemem: pool ends: "
DEFAULT = (0, 0)


class Watch(object):
    """Of one process; `active()` says whether its history is recorded."""

    def __init__(self, torch, active):
        self.torch, self.active = torch, active
        self.memory, self.binding = torch.cuda.memory, getattr(torch, "_C", None)
        self.begin()
        for name in ("_accelerator_setAllocatorSettings", "_cuda_cudaCachingAllocator_set_allocator_settings"):
            self.replace(self.binding, name, self.telling_settings)
        self.parts = []
        self.replace(self.binding, "_cuda_setMemoryFraction", self.telling_part)
        version = re.match(r"(\d+)\.(\d+)", torch.__version__)
        if version and (int(version.group(1)), int(version.group(2))) < (2, 12):
            for where in (self.binding, self.memory):
                for name in ("_cuda_beginAllocateToPool", "_cuda_beginAllocateCurrentThreadToPool", "_cuda_beginAllocateCurrentStreamToPool"):
                    self.replace(where, name, self.telling_begin)
                for name in ("_cuda_endAllocateToPool", "_cuda_endAllocateCurrentStreamToPool"):
                    self.replace(where, name, self.telling_end)
            graph = getattr(torch.cuda, "CUDAGraph", None)
            self.replace(graph, "capture_begin", self.telling_capture)
            self.replace(graph, "capture_end", self.telling_captured)

    def begin(self):
        """A process that was forked begins its own history."""
        self.told_settings, self.windows, self.open_pools = False, 0, {}

    @staticmethod
    def replace(where, name, tell):
        if hasattr(where, name):
            setattr(where, name, tell(getattr(where, name)))

    def annotate(self, text):
        with self.torch.autograd.profiler.record_function(text):
            pass

    # ---- settings

    def telling_settings(self, function):
        def set_settings(text):
            if not self.active():
                return function(text)  # before CUDA begins: those that count from the first request on
            if not self.told_settings:
                self.annotate(UNTIL_HERE + self.settings())
            function(text)
            self.annotate(FROM_HERE + text)
            self.told_settings = True

        return set_settings

    def settings(self):
        """The allocator's settings, as the program or its environment gave them."""
        if hasattr(self.binding, "_accelerator_getAllocatorSettings"):
            return self.binding._accelerator_getAllocatorSettings()
        told = self.memory._snapshot()["allocator_settings"]
        return told.get("PYTORCH_CUDA_ALLOC_CONF") or told.get("PYTORCH_ALLOC_CONF") or ""

    def telling_part(self, function):
        def set_part(part, device):
            function(part, device)
            if self.active():
                self.annotate("%s%d %r" % (PART, device, float(part)))
            frame = sys._getframe(1)
            while frame.f_back is not None and "/torch/" in frame.f_code.co_filename:
                frame = frame.f_back
            self.parts.append("%g (%s:%d)" % (part, os.path.basename(frame.f_code.co_filename), frame.f_lineno))

        return set_part

    def tell_parts(self, tell):
        if self.parts:
            tell("the program lets PyTorch take %s of the GPU" % ", then ".join(self.parts[:4]))

    # ---- pools

    def open(self, device):
        self.windows += 1
        self.annotate("%s%d %d" % (BEGINS, self.windows, device))
        return self.windows

    def close(self, window, pool):
        if window is not None:
            self.annotate("%s%d %d %d" % ((ENDS, window) + tuple(pool)))

    def telling_begin(self, function):
        def begin(device, pool):
            if self.active():
                self.open_pools.setdefault((device, tuple(pool)), []).append(self.open(device))
            return function(device, pool)

        return begin

    def telling_end(self, function):
        def end(device, pool):
            function(device, pool)
            opened = self.open_pools.get((device, tuple(pool)))
            if self.active() and opened:
                self.close(opened.pop(), pool)

        return end

    def telling_capture(self, function):
        def capture_begin(graph, *arguments, **options):
            function(graph, *arguments, **options)  # it asks for memory itself, before the pool is used
            graph._gemem_window = self.open(self.torch.cuda.current_device()) if self.active() else None

        return capture_begin

    def telling_captured(self, function):
        def capture_end(graph, *arguments, **options):
            function(graph, *arguments, **options)
            if self.active():
                self.close(getattr(graph, "_gemem_window", None), graph.pool())

        return capture_end

    # ---- the snapshot

    def write(self, path, write):
        """Writes the snapshot by WRITE, PyTorch's own function, or with pools."""
        if self.windows == 0:
            return write(path)
        snapshot = self.memory._snapshot()
        name_pools(snapshot)
        with open(path, "wb") as stream:
            pickle.dump(snapshot, stream)


def read_windows(annotations):
    """(begin, end, device, pool) of each stretch in a pool, by their begin."""
    opened, windows = {}, []
    for note in annotations:
        if note["stage"] != "START":
            continue
        if note["name"].startswith(BEGINS):
            number, device = map(int, note["name"][len(BEGINS) :].split())
            opened[number] = note["time_us"], device
        elif note["name"].startswith(ENDS):
            number, first, second = map(int, note["name"][len(ENDS) :].split())
            if number in opened:  # else its begin was before what the history holds
                windows.append((opened[number][0], note["time_us"], opened[number][1], (first, second)))
    return sorted(windows)


class _Ranges(object):
    """Which segment an address lies in: [start, end, segment], apart from each other, sorted."""

    def __init__(self):
        self.starts, self.ranges = [], []

    def find(self, address):
        at = bisect.bisect_right(self.starts, address) - 1
        return at if at >= 0 and address < self.ranges[at][1] else None

    def add(self, start, size, segment):
        at = bisect.bisect_left(self.starts, start)
        self.starts.insert(at, start)
        self.ranges.insert(at, [start, start + size, segment])

    def cut(self, start, size):
        """Takes out what lies in so many bytes."""
        end, at = start + size, max(bisect.bisect_right(self.starts, start) - 1, 0)
        while at < len(self.ranges) and self.ranges[at][0] < end:
            first, last, segment = self.ranges[at]
            if last <= start:
                at += 1
                continue
            del self.starts[at], self.ranges[at]
            if first < start:
                self.add(first, start - first, segment)
                at += 1
            if last > end:
                self.add(end, last - end, segment)


def name_pools(snapshot):
    """Gives the events of SNAPSHOT the pools that follow from its annotations, which it drops."""
    windows = read_windows(snapshot["external_annotations"])
    snapshot["external_annotations"] = [note for note in snapshot["external_annotations"] if not note["name"].startswith((BEGINS, ENDS))]
    for device, events in enumerate(snapshot["device_traces"]):
        name_pools_of(device, events, snapshot["segments"], [window for window in windows if window[2] == device])


def name_pools_of(device, events, segments, windows):
    begins, ranges, places = [window[0] for window in windows], _Ranges(), []

    def pool_at(time):
        """Of the stretch that began last of those that have not ended."""
        for begin, end, _, pool in reversed(windows[: bisect.bisect_right(begins, time)]):
            if time <= end:
                return pool
        return DEFAULT

    for event in events:
        address, action = event.get("addr", 0), event["action"]
        if action in ("segment_alloc", "segment_map"):
            ranges.cut(address, event["size"])
            ranges.add(address, event["size"], [pool_at(event["time_us"])])
        at = ranges.find(address)
        places.append(ranges.ranges[at][2] if at is not None else None)
        if action in ("segment_free", "segment_unmap"):
            ranges.cut(address, event["size"])
    for segment in segments:
        if segment["device"] == device:
            start, end = segment["address"], segment["address"] + segment["total_size"]
            for first, _, named in ranges.ranges[bisect.bisect_left(ranges.starts, start) : bisect.bisect_left(ranges.starts, end)]:
                named[0] = tuple(segment["segment_pool_id"])
    for event, named in zip(events, places):
        if named is not None:
            event["pool_id"] = named[0]
