#!/bin/sh
# test-dry-jax.sh - what JAX needs of gemem-dry-run, without JAX: the device nodes, and a module called jax whose requests are as those of its allocator cuda_async.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
XDG_CACHE_HOME=$GEMEM_TMP/.cache; export XDG_CACHE_HOME
if is_sanitized; then
  echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0
fi
if ! command -v python3 >/dev/null; then
  echo "1..0 # SKIP there is no python3"; exit 0
fi

# ---- the nodes of the devices of the run, and no others; every other file is as it is
cat >nodes.py <<'PY'
import os, stat
for name in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia01", "/dev/nvidia", "/dev/nvidia0x", "/no/such/file"):
    there = [os.path.exists(name), os.path.lexists(name), os.access(name, os.R_OK | os.W_OK), os.access(name, os.R_OK, effective_ids=True)]
    print(name, *(there if len(set(there)) > 1 else there[:1]))
node = os.stat("/dev/nvidia1")
print("node", stat.S_ISCHR(node.st_mode), os.major(node.st_rdev), os.minor(node.st_rdev), os.access("/dev/nvidia1", os.X_OK))
own, null = os.stat("nodes.py"), os.stat("/dev/null")
print("others", own.st_size > 500, os.stat("nodes.py", dir_fd=os.open(".", os.O_RDONLY)) == own, os.major(null.st_rdev), os.access("/", os.W_OK) == (os.getuid() == 0))
try:
    os.stat("/no/such/file")
except FileNotFoundError as error:
    print("errno", error.errno)
PY
run 0 gemem-dry-run --gpus 2 python3 nodes.py
says out '^/dev/nvidiactl True$'; says out '^/dev/nvidia0 True$'; says out '^/dev/nvidia1 True$'; says out '^/dev/nvidia2 False$'; says out '^/dev/nvidia01 False$'
says out '^/dev/nvidia False$'; says out '^/dev/nvidia0x False$'; says out '^/no/such/file False$'
says out '^node True 195 1 False$'; says out '^others True True 1 True$'; says out '^errno 2$'
# shellcheck disable=SC2016 # the inner shell expands
run 0 gemem-dry-run sh -c '[ -c /dev/nvidia0 ] && [ -r /dev/nvidiactl ] && [ ! -e /dev/nvidia1 ] && echo found'; says out '^found$'
if [ ! -e /dev/nvidiactl ]; then run 1 test -e /dev/nvidiactl; fi

# ---- a module called jax: all that its allocator may take, freed at once, then the requests of the program
mkdir -p fake/jax
cat >fake/jax/__init__.py <<'PY'
import ctypes, os
__version__ = "0.0.1"
cuda = ctypes.CDLL("libcuda.so.1")

def check(result):
    assert result == 0, result

def single(text):
    return ctypes.c_float(float(text)).value

def begin():
    """Returns what allocates and what frees; to be called when the program has said what it wants."""
    context, pool = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0)); check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)); check(cuda.cuCtxSetCurrent(context))
    total, free = ctypes.c_size_t(), ctypes.c_size_t()
    check(cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    def allocate(size):
        address = ctypes.c_uint64()
        result = cuda.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t(size), None)
        return address if result == 0 else None
    def release(address):
        check(cuda.cuMemFreeAsync(address, None))
    print("allocator", os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"], os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"], os.environ["JAX_ENABLE_COMPILATION_CACHE"])
    whole = allocate(int(total.value * single(os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.75"))))
    if whole is not None:
        release(whole)
    return allocate, release
PY
cat >steps.py <<'PY'
import os, sys, jax
if len(sys.argv) > 2:
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = sys.argv[2] # after the import, as programs do
allocate, release = jax.begin()
blocks = [allocate(int(size)) for size in sys.argv[1].split(",")]
if "BESIDE" in os.environ: # as NCCL and XLA take memory beside the allocator: mapped, and plain
    jax.check(jax.cuda.cuCtxSynchronize()) # after it the pool keeps nothing unused
    memory, plain = jax.ctypes.c_uint64(), jax.ctypes.c_uint64()
    location = (jax.ctypes.c_int * 8)(1, 0, 1, 0) # pinned, no handle, on device 0
    jax.check(jax.cuda.cuMemCreate(jax.ctypes.byref(memory), jax.ctypes.c_size_t(int(os.environ["BESIDE"])), location, jax.ctypes.c_uint64(0)))
    jax.check(jax.cuda.cuMemAlloc_v2(jax.ctypes.byref(plain), jax.ctypes.c_size_t(2 << 20)))
    jax.check(jax.cuda.cuMemFree_v2(plain))
for block in blocks[::2]:
    release(block)
PY
jax () { run 0 env PYTHONPATH="$PWD/fake" gemem-dry-run --details "$@"; }
MiB=1048576
jax --capacity 4GiB -o a.gmt python3 steps.py $((100 * MiB)),1000,$((200 * MiB)); says out '^allocator cuda_async true false$'
says err '^  h100 +fits: 300\.0 MiB of 3\.000 GiB \(314573824 of 3221225472 bytes\)$' # 100 MiB, 1 KiB for 1000 bytes, 200 MiB
says err "^ +JAX's allocator takes the 3\.000 GiB at its start: 0\.75 of the GPU's memory"; says err '^  peak live +300\.0 MiB \(314573800 bytes\), event 2'; says err '^  requests of +JAX 0\.0\.1 \(5 events\)$'
check "pools and what they keep are of no interest" sh -c "! grep -qE 'unknown|held in all' $err"
jax --capacity 400MiB python3 steps.py $((310 * MiB)); says err '^  h100 +DOES NOT FIT: .* of 300\.0 MiB .*, and more was asked for'
# which a program may catch, and go on with less
jax --capacity 400MiB -o a.gmt python3 steps.py $((310 * MiB)),$((150 * MiB)),$((160 * MiB)),$((140 * MiB)); says err '^  h100 +fits only if .*: 300\.0 MiB of 300\.0 MiB'
says err '^ +- the program may do without what was refused .*: it went on, with 1 request'; says err '^  out of memory +2 requests were refused; the first, of 325058560 bytes'
jax --capacity 400MiB python3 steps.py $((310 * MiB)) 0.8; says err '^  h100 +fits only if .*: 310\.0 MiB of 320\.0 MiB'; says err "take no more than the 80\.00 MiB that are left"
jax --capacity 400MiB --context 10MiB python3 steps.py $((310 * MiB)) 0.8; says err '^  h100 +fits: 310\.0 MiB of 320\.0 MiB'
# 320 MiB are not left: it tries 0.9 of them, 288 MiB
jax --capacity 400MiB --context 85MiB -o a.gmt python3 steps.py $((310 * MiB)) 0.8; says err "^  h100 +DOES NOT FIT: 310\.0 MiB of 315\.0 MiB .*, but not as its allocator gets them"
jax --capacity 400MiB python3 steps.py $((410 * MiB)); says err '^  h100 +DOES NOT FIT: .*, and more was asked for'; says err '^  out of memory +1 request was refused; of 429916160 bytes'
if command -v jq >/dev/null; then
  jax --capacity 4GiB --json verdict.json python3 steps.py $((100 * MiB)); run 0 jq -e '.fits and .processes[0].allocator_limit == 3221225472 and .processes[0].needed == 104857600' verdict.json
fi
# what is taken beside the allocator is no request to it, and has to have a place beside what it takes
export BESIDE=$((64 * MiB))
jax --capacity 400MiB -o a.gmt python3 steps.py $((100 * MiB)); says err '^  h100 +fits only if .*: 100\.0 MiB of 300\.0 MiB'; says err '^  peak live +100\.0 MiB \(104857600 bytes\)'
says err '^ +beside that the process holds up to 66\.00 MiB \(69206016 bytes\)'; says err 'take no more than the 34\.00 MiB that are left'
run 0 gemem-sim info a.gmt; says out '^  peak live +100\.0 MiB'
jax --capacity 400MiB --context 34MiB python3 steps.py $((100 * MiB)); says err '^  h100 +fits: 100\.0 MiB of 300\.0 MiB'
jax --capacity 400MiB --context 35MiB python3 steps.py $((100 * MiB)); says err '^  h100 +DOES NOT FIT: 100\.0 MiB of 300\.0 MiB'
export XLA_PYTHON_CLIENT_PREALLOCATE=false # then it leaves what it does not need
jax --capacity 400MiB --context 200MiB python3 steps.py $((100 * MiB)); says err '^  h100 +fits: 100\.0 MiB of 200\.0 MiB'
unset BESIDE XLA_PYTHON_CLIENT_PREALLOCATE
# growing: regions of 2, 4, ... MiB as needed, no more than the part
export XLA_PYTHON_CLIENT_PREALLOCATE=false
jax --capacity 4GiB python3 steps.py $((100 * MiB)); says err "JAX's allocator takes the 3\.000 GiB as it needs them"; says out '^allocator cuda_async true'
unset XLA_PYTHON_CLIENT_PREALLOCATE
# a process that another one starts is one of JAX's as well
cat >parent.py <<'PY'
import subprocess, sys, jax
allocate, release = jax.begin()
subprocess.check_call([sys.executable, "steps.py", "104857600"])
PY
jax --capacity 4GiB --json verdict.json python3 parent.py; says err '^  h100 +fits: 100\.0 MiB of 3\.000 GiB'
# a program that chose an allocator gets it, and the verdict is that of the driver's calls
export XLA_PYTHON_CLIENT_ALLOCATOR=platform XLA_PYTHON_CLIENT_PREALLOCATE=false
jax --capacity 4GiB python3 steps.py 1000; says out '^allocator platform false false$'; says err "^  requests of +CUDA's runtime and driver"; says err '^  peak live +3\.000 GiB'
done_testing
