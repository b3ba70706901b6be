#!/bin/sh
# test-dry-pools.sh - gemem-dry-run on a package called cupy that has the memory hooks and the pool of CuPy (its public interface): requests with lines, streams and
# threads, what is left out, and that the program makes the same device calls with and without the recording.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v python3 >/dev/null || { echo '1..0 # SKIP there is no python3'; exit 0; }
if is_sanitized; then
  echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0
fi

mkdir -p site-packages/cupy
cat >site-packages/cupy/__init__.py <<'PY'
import ctypes, threading
from types import SimpleNamespace

__version__ = "14.0.1"
device = ctypes.CDLL(None)
_local = threading.local()
class MemoryHook:
    name = "MemoryHook"
    def __enter__(self): _hooks()[self.name] = self
    def __exit__(self, *_): del _hooks()[self.name]
    def alloc_preprocess(self, **_): pass
    alloc_postprocess = malloc_preprocess = malloc_postprocess = free_preprocess = free_postprocess = alloc_preprocess
def _hooks(): return _local.__dict__.setdefault("hooks", {})
def _tell(what, **facts):
    for hook in list(_hooks().values()): getattr(hook, what)(**facts)

class OutOfMemoryError(MemoryError): pass
class Block:
    def __init__(self, size, stream=0):
        self.size, self.place, self.whole = size, (stream, (size + 511) // 512 * 512), 0
        if size: _tell("malloc_preprocess", device_id=0, size=size, mem_size=self.place[1])
        free = pool.free.get(self.place)
        held = sum(sum(place[1] for _ in blocks) for place, blocks in pool.free.items()) + pool.used
        within = not pool.get_limit() or held + self.place[1] <= pool.get_limit()
        self.address = free.pop() if free else take(self.place[1]) if size and within else 0
        pool.used += self.place[1] if self.address else 0
        _tell("malloc_postprocess", device_id=0, size=size, mem_size=self.place[1], mem_ptr=self.address, pmem_id=id(self))
        if size and not self.address: raise OutOfMemoryError(size)
    def __del__(self):
        if self.address:
            facts = dict(device_id=0, mem_size=self.place[1], mem_ptr=self.address, pmem_id=id(self))
            pool.used -= self.place[1]; _tell("free_preprocess", **facts); pool.free.setdefault(self.place, []).append(self.address); _tell("free_postprocess", **facts)
def take(size):
    at = ctypes.c_void_p()
    return at.value if device.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(size)) == 0 else 0
class Pool:
    free, used = {}, 0
    def get_limit(self): return self.limit if hasattr(self, "limit") else 0
    def free_all_blocks(self):
        for blocks in self.free.values():
            while blocks: device.cudaFree(ctypes.c_void_p(blocks.pop()))
pool = Pool()
def get_default_memory_pool(): return pool
cuda = SimpleNamespace(MemoryHook=MemoryHook, get_current_stream=lambda: SimpleNamespace(ptr=getattr(_local, "stream", 0)))
def empty(size, stream=0):
    _local.stream = stream
    return Block(size, stream)
PY
cat >program.py <<'PY'
import os, sys, threading
sys.path.insert(0, "site-packages")
import cupy

def fill(): return [cupy.empty(n) for n in (100, 3000, 0, 100)]
def other(): kept.append(cupy.empty(700, 0x77))

a, kept = fill(), []
del a
b = cupy.empty(50)
thread = threading.Thread(target=other)
thread.start(); thread.join()
beside = cupy.take(1 << 20)              # without the pool
try: cupy.empty(1 << 50)
except cupy.OutOfMemoryError as error: print("refused", error)
cupy.pool.free_all_blocks()
c = cupy.empty(100)
if "limit" in sys.argv: cupy.pool.limit = 1 << 30
class Own(cupy.MemoryHook):
    def malloc_postprocess(self, **facts): print("hook", facts["size"])
with Own(): d = cupy.empty(9)
print(cupy._hooks().keys() - {"gemem-dry-run"})
if "fork" in sys.argv: del d
if "fork" in sys.argv and os.fork() == 0: cupy.empty(5); os._exit(0)
if "fork" in sys.argv: os.wait()
if "kill" in sys.argv: os.kill(os.getpid(), 9)
PY
dry () { run "$@"; gemem-sim convert out.gmt out.txt >/dev/null 2>&1; }
dry 0 gemem-dry-run --details -o out.gmt python3 program.py
says out '^refused 1125899906842624$'; says out '^hook 9$'; says out '^set\(\)$'
says err '^  requests of +CuPy 14\.0\.1 \('; says err '^  peak live +3\.125 KiB \(3200 bytes\), event 5, .*/program\.py:5 (fill|<listcomp>)$'
says err '^  out of memory +1 request was refused; of 1125899906842624 bytes, .*/program\.py:14 <module>'; says err "^  held in all +1\.005 MiB, with what others than CuPy's allocator asked for"
run 0 gemem-sim info out.gmt; says out 'recorded allocator +cupy-pool:version=14\.2,tie=recorded$'; says out '1 allocations of device memory beside this allocator are left out'
check "the requests, in order" test "$(sed -n 's/^alloc .* size=\([0-9]*\) block=\([0-9]*\).*/\1:\2/p' out.txt | tr '\n' ' ')" = '100:512 3000:3072 100:512 50:512 700:1024 100:512 9:512 '
check "the stream of a request, and of no other" test "$(grep -c '^alloc .* size=700 .* stream=1 ' out.txt)$(grep -c '^alloc .*stream=' out.txt)" = 11
check "each free, the program's release, and the refusal" test "$(grep -c '^free ' out.txt)$(grep -c '^trim' out.txt)$(grep -c '^oom ' out.txt)" = 711
run 0 gemem-sim compare -v out.gmt -a cupy-pool -a pytorch-caching -d sim:gpu=h100; says out '^pytorch-caching '; says out '^cupy-pool: reproduces the recording exactly: 7 of 7 decisions'

# a limit of the pool refuses what the device would have given, and the program goes on with less
cat >limited.py <<'PY'
import sys
sys.path.insert(0, "site-packages")
import cupy
cupy.pool.limit = 3 << 20
a = cupy.empty(2 << 20)
for size in (2 << 20, 1 << 20):
    try: b = cupy.empty(size); break
    except cupy.OutOfMemoryError: pass
PY
run 0 gemem-dry-run --gpu h100 -o limited.gmt python3 limited.py; says err '^  h100 +fits only if the following holds'; says err '^  out of memory +1 request was refused; of 2097152 bytes, .*limited\.py:7 <module>'
check "what was free is in the recording" sh -c 'gemem-sim convert limited.gmt - | gemem-sim convert - limited.txt; grep -Eq "^oom size=2097152 free=8[0-9]{10} " limited.txt'
run 4 gemem-sim limited.gmt; says out '^It does not fit with the settings it had: a request of 2\.000 MiB fails'; says out 'the program went on without'; says out 'of 3\.000 MiB \(the device had 7'
says out '^  cupy\.get_default_memory_pool\(\)\.set_limit\(size=0\)$'; says out '^      4\.000 MiB'
run 0 gemem-sim replay limited.gmt --fail-on-oom -a 'cupy.get_default_memory_pool().set_limit(size=0)'; says out '^every request was served'
run 0 gemem-sim replay limited.gmt -a 'export CUPY_GPU_MEMORY_LIMIT=100%'
run 2 gemem-sim replay limited.gmt -a 'cupy.get_default_memory_pool().set_limit(size=x)'

# the same device calls without the recording of requests: python -E does not read $PYTHONPATH
sed -n 's/^segment-\(alloc\|free\) .*\(addr=[^ ]*\).*/\1 \2/p' out.txt >with
dry 0 gemem-dry-run --details -o out.gmt python3 -E program.py; says err "^  requests of +CUDA's runtime and driver"
awk '/^alloc / { at[$2] = $4; if ($3 != "size=1048576") print "alloc", $4 } /^free / && at[$2] != "" { print "free", at[$2] }' out.txt >without
check "the program makes the same device calls" cmp with without

# ---- what every step keeps: it fits so far, and not for ever; where each step frees what it made, it fits
mkdir -p torch/optim; echo 'def step(make): return make(3 << 20)' >torch/optim/fake.py
cat >grow.py <<'PY'
import sys
sys.path[:0] = ["site-packages", "torch/optim"]
import cupy, fake

kept = []
for i in range(40):
    out = cupy.empty(1 << 20)
    fake.step(cupy.empty)
    if "keep" in sys.argv: kept.append(out)
PY
run 4 gemem-dry-run --fail-unless-fits --json grow.json -o grow.gmt python3 grow.py keep
says err '^  h100 +fits only if the following holds: '; says err '^ +- it ends before that: every step keeps 1\.000 MiB more, and the device is full after about [0-9]+ more steps$'
says err '^  growth +It grows: each of [1-4][0-9] steps keeps 1\.000 MiB.*, made by .*/grow\.py:7 <module>\.'
check "in JSON" grep -q '"growth": "It grows: each of ' grow.json
run 3 gemem-sim grow.gmt; says out '^It fits so far, and not for ever: every step keeps 1\.000 MiB more'
run 0 gemem-dry-run --fail-unless-fits -o steady.gmt python3 grow.py; says err '^  h100 +fits: '; lacks err '^  growth '
run 1 gemem-dry-run --context 0 --capacity 20MiB -o grow.gmt python3 grow.py keep; says err '^  h100 +DOES NOT FIT: '; says err '^  growth +It grows: each of (1[0-9]|[0-9]) steps'

dry 0 gemem-dry-run -o out.gmt python3 program.py limit; run 0 gemem-sim info out.gmt; says out 'cupy-pool:version=14\.2,tie=recorded,limit=1073741824$'
dry 137 gemem-dry-run -o out.gmt python3 program.py kill
check "what was recorded is there after kill -9" test "$(grep -c '^alloc ' out.txt)" -eq 7
PYTHONPATH=site-packages; export PYTHONPATH
run 0 gemem-dry-run -o out.gmt python3 program.py fork; run 0 gemem-sim info out.[0-9]*.gmt; says out '^  requests of: CuPy 14\.0\.1$'; says out ', alloc 1, free 1$'
run 0 gemem-dry-run -o out.gmt python3 -c 'import cupy; print(1)'; says err 'made no CUDA calls'
# a hook that fails is not the program's failure
dry 0 gemem-dry-run -o out.gmt python3 -c 'import cupy; cupy.cuda.get_current_stream = None; a = cupy.empty(5); print("went on")'; says out '^went on$'
sed -i 's/get_current_stream=lambda: .*/get_current_stream=lambda: 1 \/ 0)/' site-packages/cupy/__init__.py
dry 0 gemem-dry-run -o out.gmt python3 -c 'import cupy; a = cupy.empty(5); b = cupy.empty(6); print("went on")'; says out '^went on$'
check "a failure is said once" test "$(grep -c 'requests of CuPy are missing in the recording: division by zero' "$err")" -eq 1
sed -i 's/^__version__.*/__version__ = "unknown"/' site-packages/cupy/__init__.py
dry 0 gemem-dry-run -o out.gmt python3 -c 'import cupy; a = cupy.empty(5); print("went on")'; says out '^went on$'; says err '^gemem-dry-run: what is recorded of cupy: '

# ---- beside PyTorch, whose requests the recording has
sed -i 's/^__version__.*/__version__ = "14.0.1"/; s/get_current_stream=lambda: .*/get_current_stream=lambda: SimpleNamespace(ptr=0))/' site-packages/cupy/__init__.py
mkdir -p site-packages/torch; gzip -dc "$GEMEM_SRCDIR/tests/data/pytorch/expandable-2.6.pickle.gz" >snapshot.pickle
cat >site-packages/torch/__init__.py <<'PY'
__version__ = "2.6.0+cu124"
class version: cuda = "12.4"; hip = None
class memory:
    def _record_memory_history(enabled="all", **options): pass
    def memory_stats(device): return {}
    def _dump_snapshot(path): open(path, "wb").write(open("snapshot.pickle", "rb").read())
class cuda:
    memory = memory
    def device_count(): return 1
    def is_initialized(): return True
    def _lazy_call(function): function()
PY
run 0 gemem-dry-run --details -o out.gmt python3 -c 'import torch, cupy; a = cupy.empty(1 << 20)'
says err '^  requests of +PyTorch 2\.6\.0'; says err "^  note +process [0-9]+ made requests to CuPy 14\.0\.1, too; the recording has those to PyTorch alone"

# ---- RMM, if it is asked for: a resource that calls Python before those that the program sets
mkdir -p site-packages/rmm/_cuda
cat >site-packages/rmm/__init__.py <<'PY'
import ctypes
from . import mr, rmm
from .rmm import reinitialize
__version__ = "26.10.00"
PY
echo 'def getDevice(): return 0' >site-packages/rmm/_cuda/gpu.py; : >site-packages/rmm/_cuda/__init__.py
cat >site-packages/rmm/rmm.py <<'PY'
from . import mr
def reinitialize(pool_allocator=False, managed_memory=False, initial_pool_size=None, maximum_pool_size=None, devices=0):
    mr.set_one(devices, mr.PoolMemoryResource(mr.CudaMemoryResource()) if pool_allocator else mr.CudaMemoryResource())
PY
cat >site-packages/rmm/mr.py <<'PY'
import ctypes
device, current = ctypes.CDLL(None), {}
class Stream:
    def __cuda_stream__(self): return (0, 0x99)
class CudaMemoryResource:
    upstream_mr = None
    def allocate(self, size, stream):
        at = ctypes.c_void_p()
        if device.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(size)) != 0: raise MemoryError(size)
        return at.value
    def deallocate(self, address, size, stream): device.cudaFree(ctypes.c_void_p(address))
class PoolMemoryResource:
    def __init__(self, upstream, initial_pool_size=None, maximum_pool_size=None): self.upstream_mr, self.at, self.used = upstream, upstream.allocate(1 << 20, None), 0
    def pool_size(self): return 1 << 20
    def allocate(self, size, stream):
        if self.used + size > 1 << 20: raise MemoryError("Not enough r" "oom to grow, current/max/try size = 1.000000 MiB, 1.000000 MiB, 2.000000 MiB")
        self.used += (size + 255) // 256 * 256
        return self.at + self.used - (size + 255) // 256 * 256
    def deallocate(self, address, size, stream): pass
class LimitingResourceAdaptor: pass
class StatisticsResourceAdaptor:
    def __init__(self, upstream): self.upstream_mr, self.allocate, self.deallocate = upstream, upstream.allocate, upstream.deallocate
class CallbackMemoryResource:
    upstream_mr = None
    def __init__(self, allocate, deallocate): self.allocate, self.deallocate = allocate, deallocate
def set_one(number, mr): current[number] = mr
def set_per_device_resource(number, mr): set_one(number, mr)
def get_per_device_resource(number): return current.setdefault(number, CudaMemoryResource())
def set_current_device_resource(mr): set_one(0, mr)
def get_current_device_resource(): return get_per_device_resource(0)
PY
cat >rmm_program.py <<'PY'
import sys
sys.path.insert(0, "site-packages")
import rmm
stream = rmm.mr.Stream()
def request(size): return rmm.mr.current[0].allocate(size, stream)
rmm.reinitialize(pool_allocator=True)
print(type(rmm.mr.get_current_device_resource()).__name__, type(rmm.mr.current[0]).__name__)
rmm.mr.set_current_device_resource(rmm.mr.StatisticsResourceAdaptor(rmm.mr.get_per_device_resource(0)))
print(type(rmm.mr.get_current_device_resource()).__name__)
a, b = request(1000), request(300)
rmm.mr.current[0].deallocate(a, 1000, stream)
try: request(1 << 21)
except MemoryError as error: print("refused", error)
request(500)
PY
dry 0 gemem-dry-run --details -o out.gmt python3 rmm_program.py
says out '^PoolMemoryResource PoolMemoryResource$'; says err "^  requests of +CUDA's runtime and driver \(1 events\)$"
# a largest size of a pool makes it uncertain that nothing was refused: what it refuses, no device call tells
lacks err 'GEMEM_DRY_RMM'
sed 's/^rmm.reinitialize.*/rmm.mr.set_current_device_resource(rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), maximum_pool_size=1 << 20))/' rmm_program.py >largest.py
run 0 gemem-dry-run --gpu h100 -o largest.gmt python3 largest.py; says out '^refused Not enough'; says err '^  h100 +fits only if'; says err 'pools of RMM, maximum_pool_size=1048576: what they refuse is not seen; GEMEM_DRY_RMM=1 shows it$'
sed 's/^rmm.reinitialize.*/rmm.reinitialize(True, maximum_pool_size="1MiB")/' rmm_program.py >largest.py
run 0 gemem-dry-run --gpu h100 -o largest.gmt python3 largest.py; says err 'pools of RMM, maximum_pool_size=1MiB: '
GEMEM_DRY_RMM=1 dry 0 gemem-dry-run --details -o out.gmt python3 rmm_program.py
says out '^PoolMemoryResource CallbackMemoryResource$'; says out '^StatisticsResourceAdaptor$'; says out '^refused Not enough'
says err '^  requests of +RMM 26\.10\.00, initial_pool_size=1048576, maximum_pool_size=1048576 \('; says err '^  peak live +1\.270 KiB \(1300 bytes\), event 2, .*/rmm_program\.py:5 request$'
check "requests with their stream, in the pool's first block" test "$(sed -n '/^#/d; s/ t=.*//; s/ \(addr\|free\)=[^ ]*//; p' out.txt | tr '\n' ';')" = \
  'segment-alloc size=1048576;alloc 2 size=1000 stream=1;alloc 3 size=300 stream=1;free 2;oom size=2097152 stream=1;alloc 4 size=500 stream=1;'
says err "^ +- the program may do without what was refused .*: it went on, with 1 request after that$"
run 4 gemem-sim out.gmt; says out 'Why: the allocator.s limit of 1\.000 MiB'; says out 'the program went on'
run 0 gemem-sim info out.gmt; says out '1 request was refused by the program.s allocator \(its own limit\), not by the device'

done_testing
