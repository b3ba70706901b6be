#!/bin/sh
# test-dry-allocator.sh - which private pool an event of PyTorch's history is of, told by annotations (dry/python/allocator.py): segments that are gone at the end, parts of
# expandable ones, stretches within others, and what gemem makes of the snapshot.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v python3 >/dev/null || { skip "pools" "there is no python3"; done_testing; }

cat >pools.py <<'PY'
import pickle, runpy, sys, types
module = runpy.run_path(sys.argv[1])
MiB, at = 1 << 20, [0]
def event(action, address, size=2 * MiB, **more):
    at[0] += 10
    return dict({"action": action, "addr": address, "size": size, "stream": 0, "time_us": at[0], "frames": []}, **more)
notes = []
def note(text):
    at[0] += 10
    notes.extend({"name": text, "stage": stage, "device": 0, "time_us": at[0] + (stage == "END")} for stage in ("START", "END"))
A, B, C, D, E = (0x10000000 * i for i in range(1, 6))
events = [event("segment_alloc", A), event("alloc", A, 512)]
note("gemem: pool begins: 1 0")
events += [event("segment_alloc", B), event("alloc", B + 512, 512), event("alloc", A + 512, 512)]
note("gemem: pool begins: 2 0")
events += [event("segment_alloc", C), event("alloc", C, 512)]
note("gemem: pool ends: 2 7 1")
events += [event("segment_alloc", D), event("alloc", D, 512)]
note("gemem: pool ends: 1 0 3")
events += [event("free_requested", B + 512, 512), event("free_completed", B + 512, 512), event("segment_free", B), event("segment_alloc", B), event("alloc", B, 512), event("oom", 0)]
# expandable: mapped in the pool, unmapped in the middle, which is mapped again outside
note("gemem: pool begins: 3 0")
events += [event("segment_map", E, 6 * MiB)]
note("gemem: pool ends: 3 0 9")
events += [event("segment_unmap", E + 2 * MiB), event("segment_map", E + 2 * MiB), event("alloc", E + 2 * MiB, 512), event("alloc", E + 4 * MiB, 512)]
note("gemem: pool ends: 99 0 1")  # its begin is older than the history
note("gemem: pool begins: 4 1")   # of another device, and never ended
segments = [{"device": 0, "address": address, "total_size": 2 * MiB, "allocated_size": 512, "active_size": 512, "requested_size": 512, "stream": 0, "segment_type": "small", "segment_pool_id": pool,
             "is_expandable": False, "frames": [], "blocks": [{"address": address, "size": 512, "requested_size": 512, "state": "active_allocated", "frames": []},
             {"address": address + 512, "size": 2 * MiB - 512, "requested_size": 0, "state": "inactive", "frames": []}]} for address, pool in ((A, (0, 0)), (B, (0, 0)), (C, (7, 1)), (D, (0, 4)))]
snapshot = {"segments": segments, "device_traces": [events, []], "allocator_settings": {}, "external_annotations": notes + [{"name": "step", "stage": "START", "device": 0, "time_us": 5}]}
module["name_pools"](snapshot)
for one in events: print(one["action"], hex(one["addr"]), one.get("pool_id"))
print([one["name"] for one in snapshot["external_annotations"]])

# what is told while a program runs: of captures, of pools by both names that a function has, and nothing where nothing is recorded
told, active = [], [False]
class annotation:
    def __init__(self, text): told.append(text)
    def __enter__(self): pass
    def __exit__(self, *error): pass
class CUDAGraph:
    def capture_begin(self, pool=None): told.append("begin")
    def capture_end(self): told.append("end")
    def pool(self): return (0, 5)
def torch(version):
    name = lambda name: lambda device, pool: told.append(name)
    memory = types.SimpleNamespace(_cuda_beginAllocateToPool=name("b"), _cuda_endAllocateToPool=name("e"))
    binding = types.SimpleNamespace(_cuda_beginAllocateCurrentThreadToPool=name("B"), _cuda_endAllocateToPool=name("E"))
    return types.SimpleNamespace(__version__=version, _C=binding, cuda=types.SimpleNamespace(memory=memory, CUDAGraph=type("CUDAGraph", (CUDAGraph,), {}), current_device=lambda: 2),
                                 autograd=types.SimpleNamespace(profiler=types.SimpleNamespace(record_function=annotation)))
def use(one):
    graph = one.cuda.CUDAGraph(); graph.capture_begin(pool=None)
    one._C._cuda_beginAllocateCurrentThreadToPool(1, (3, 4)); one.cuda.memory._cuda_beginAllocateToPool(1, [3, 4])
    one.cuda.memory._cuda_endAllocateToPool(1, (3, 4)); one._C._cuda_endAllocateToPool(1, (3, 4)); one._C._cuda_endAllocateToPool(1, (3, 4))
    graph.capture_end(); print(*told, sep=", "); told.clear()
for version in "2.11.0+cu130", "2.12.0a0", "local":
    one = torch(version); watch = module["Watch"](one, lambda: active[0])
    active[0] = False; use(one); active[0] = True; use(one)
print(watch.write("here", lambda path: "as PyTorch " + path))
PY
cat >wanted <<'END'
segment_alloc 0x10000000 (0, 0)
alloc 0x10000000 (0, 0)
segment_alloc 0x20000000 (0, 3)
alloc 0x20000200 (0, 3)
alloc 0x10000200 (0, 0)
segment_alloc 0x30000000 (7, 1)
alloc 0x30000000 (7, 1)
segment_alloc 0x40000000 (0, 4)
alloc 0x40000000 (0, 4)
free_requested 0x20000200 (0, 3)
free_completed 0x20000200 (0, 3)
segment_free 0x20000000 (0, 3)
segment_alloc 0x20000000 (0, 0)
alloc 0x20000000 (0, 0)
oom 0x0 None
segment_map 0x50000000 (0, 9)
segment_unmap 0x50200000 (0, 9)
segment_map 0x50200000 (0, 0)
alloc 0x50200000 (0, 0)
alloc 0x50400000 (0, 9)
['step']
begin, B, b, e, E, E, end
begin, gemem: pool begins: 1 2, gemem: pool begins: 2 1, B, gemem: pool begins: 3 1, b, e, gemem: pool ends: 3 3 4, E, gemem: pool ends: 2 3 4, E, end, gemem: pool ends: 1 0 5
begin, B, b, e, E, E, end
begin, B, b, e, E, E, end
begin, B, b, e, E, E, end
begin, B, b, e, E, E, end
as PyTorch here
END
run 0 python3 pools.py "$GEMEM_SRCDIR/dry/python/allocator.py"
check "pools of events, and what is told" diff "$out" wanted
done_testing
