#!/bin/sh
# test-collect.sh - tests/gpu/collect.sh from one end to the other on the stand-in driver: every file is there and says that this is no GPU.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
collect=$GEMEM_SRCDIR/tests/gpu/collect.sh

run 2 "$collect" -o x walk; says err "no step is called 'walk'"
run 2 "$collect" -z
has_cuda || { skip 'the rest' 'built without the CUDA headers'; done_testing; }
LD_LIBRARY_PATH=$GEMEM_BUILDDIR/tests/dry/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GEMEM_DRIVER=sim:capacity=4GiB
export LD_LIBRARY_PATH GEMEM_DRIVER
run 77 env GEMEM_DRIVER_DEVICES=0 "$collect" -o none; says err 'CUDA_ERROR_NO_DEVICE'; check 'and no folder is left' test ! -e none
run 2 "$collect" calibrate; says err 'this is the stand-in driver; results/gpu is for GPUs'
run 1 "$collect" -q -o early compare; says out 'compare: failed \(there is no .*gemem-stand-in-0.ini yet'
run 1 "$collect" -q -t 0 -o late calibrate; says out 'calibrate: not run \(no time was left\)'
check 'what was not run is named' grep -q '^| calibrate | not run | ' late/README.md
run 2 "$collect" -p nowhere; says err '-p nowhere: no such folder'

run 0 "$collect" -q -o all -a all.tar.gz attributes calibrate compare probe sanitizer
check 'the archive has it all' sh -c 'tar -tzf all.tar.gz | grep -qx all/README.md'
check 'what the driver says of the device' grep -qx 'device total_memory 4294967296' all/gemem-stand-in-0.attributes
check 'each of 150 attributes has its line' sh -c 'test $(grep -c "^attribute [0-9]* \(error \)\{0,1\}-\{0,1\}[0-9]*$" all/gemem-stand-in-0.attributes) = 150'
check 'every section of the probe has its driver' sh -c 'test $(grep -c "^[0-9]* @ " all/probe.log) -ge 15 && test $(grep -c "^[0-9]* @ " all/probe.log) = $(grep -c "^# gemem stand-in 0 driver-api" all/probe.log)'
check 'and none has died' sh -c '! grep "died of signal" all/probe.log'
check 'calls that are held were timed, hot and cold' sh -c 'test $(grep -c "^[0-9]* [1-9][0-9]* alloc=[0-9,]* free=[0-9,]*$" all/probe.log) = 13'
check 'the profile is one' gemem-sim replay "$GEMEM_SRCDIR/traces/recorded/vit-train.gmt" -a direct -d sim:profile=all/gemem-stand-in-0.ini
for file in README.md compare.md compare.csv gemem-stand-in-0.ini gemem-stand-in-0.attributes; do
  check "$file says that this is no GPU" grep -q 'STAND-IN DRIVER, NOT A GPU' "all/$file"
done
check 'the table has the error' grep -q '| modelled/measured | time error |' all/compare.md
check 'and the name, the version of CUDA and the date' grep -q 'gemem stand-in 0, CUDA 13.0; .* UTC$' all/compare.md
check 'the manifest has the machine' grep -q '"hardware": "gemem stand-in 0, CUDA 13.0"' all/compare.manifest.json
check 'the pictures are there' sh -c 'ls all/plots/compare/measured-*.gp all/plots/compare/latency-*.gp'
check 'every step has its line' sh -c 'test $(grep -c "^| [a-z]* | ok | " all/README.md) = 5 && test $(grep -c "^| [a-z]* | not run | " all/README.md) = 5'
run 1 env GEMEM_DRIVER=sim:capacity=64MiB "$collect" -q -t 60 -o short tests; says out '^tests: failed .*test-gpu-decisions.tap: ' # too little memory
for of in decisions device torch; do
  check "what test-gpu-$of says begins with where it ran" grep -q 'gemem stand-in 0, CUDA 13.0; .*, Linux .* UTC$' short/tap/test-gpu-$of.tap
done
run 0 env GEMEM_PART=20000 "$collect" -q -o all -a parts.tar.gz sanitizer
check 'an archive too large to be fetched is in parts' sh -c 'test ! -e parts.tar.gz -a -e parts.tar.gz.ab && cat parts.tar.gz.* | tar -tz | grep -qx all/README.md'
check 'a second call keeps what the first one found' sh -c 'test $(grep -c "^| [a-z]* | ok | " all/README.md) = 5'

# ---- PyTorch, and a pack without the build: a program that uses the driver as PyTorch would, by what record.py and live.py are called with
library=$GEMEM_BUILDDIR/.libs/libgemem-torch.so
[ -e "$library" ] || { skip 'a pack' 'built without shared libraries'; done_testing; }
if nm -D "$library" | grep -q '__[aut]b\{0,1\}san'; then skip 'a pack' 'built with sanitizers, which Python is not'; done_testing; fi
python=$(command -v python3) || { skip 'PyTorch' 'there is no python3'; done_testing; }
cat >torch <<END
#!$python
END
cat >>torch <<'END'
import ctypes, json, os, sys

if sys.argv[1] == "-c":
    sys.exit()
script, workload, steps = sys.argv[1], sys.argv[2], sys.argv
open(script).close()  # it is there
if workload == os.environ.get("BROKEN"):
    sys.exit("RuntimeError: broken")
if script == "live.py" and "cudaMallocAsync" in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""):
    says, driver, context, address, pool, keep = {"seconds": 2.5, "peak_reserved": 33}, ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_uint64(2**64 - 1)
    assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxSetCurrent(context) == 0
    assert driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0) == 0 and driver.cuMemPoolSetAttribute(pool, 4, ctypes.byref(keep)) == 0
    for size in (1, 2, 3):
        assert driver.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t(size << 20), None) == 0
        assert driver.cuMemsetD8Async(address, 0, ctypes.c_size_t(size << 20), None) == 0
elif script == "live.py":
    says = {"seconds": 1.5, "peak_allocated": 11, "peak_reserved": 22}
    if "GEMEM_ALLOCATOR" in os.environ:
        library = ctypes.CDLL(sys.argv[sys.argv.index("--library") + 1])
        library.gemem_torch_malloc.restype = ctypes.c_void_p
        library.gemem_torch_stat.argtypes = ctypes.c_int, ctypes.c_char_p
        blocks = [library.gemem_torch_malloc(ctypes.c_ssize_t(size << 20), 0, None) for size in range(1, 30)]
        for block in blocks:
            library.gemem_torch_free(ctypes.c_void_p(block), ctypes.c_ssize_t(0), 0, None)
        says["peak_reserved"] = library.gemem_torch_stat(0, b"peak_reserved")
else:
    says, driver, context, address = {"workload": workload, "memory_limit": 1 << 30}, ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
    assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxSetCurrent(context) == 0
    with open(sys.argv[3], "w") as out:
        out.write("# gemem-trace: 1\n# allocator: \"pytorch-caching\"\n")
        for number, size in enumerate((2 << 20, 20 << 20), 1):  # as pytorch-caching would for half a MiB and for 5
            assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
            out.write(f"segment-alloc size={size} addr=0x{address.value:x}\nalloc {number} size={size // 4} addr=0x{address.value:x}\n")
        out.write("# end: 4\n")
print(json.dumps(says))
END
chmod +x torch
run 0 env GEMEM_BUILDDIR="$GEMEM_BUILDDIR" "$GEMEM_SRCDIR/tests/gpu/pack.sh" pack
if shared gpu/programs; then check 'the programs are in it' test -e pack/python/programs/truth.py -a -e pack/python/cases/clusters.py; fi
run 2 "$GEMEM_SRCDIR/tests/gpu/pack.sh" pack; says err 'pack is there already'
env LD_LIBRARY_PATH="$PWD/pack/lib" ldd pack/.libs/* pack/tests/gpu/*.bin pack/tests/programs/.libs/* >needed
check 'it needs nothing but the C library from elsewhere' sh -c '! grep "not found\|=> /" needed | grep -v -E "pack/lib/|/(libc|libm|libdl|librt|libpthread|libgcc_s)\.so"'
run 0 env GEMEM_BUILDDIR="$PWD/pack" PYTHON="$PWD/torch" "$collect" -q -o far live record
says out '^live: ok$'; says out '^record: ok$'
check 'a run of PyTorch, and one of ours on its memory' sh -c 'test $(grep -c "^| vit-train | \(PyTorch.s own |  | 11 | 22\|pytorch-caching |  | 11 | [1-9][0-9]*\) |" far/live.md) = 2'
check 'whose recording replays to the same decisions' grep -q '| 29 of 29 decisions' far/live.md
check 'whose statistics are there' grep -q '"allocs": 29' far/live/vit-train-pytorch-caching.json
check 'a recording, and how it replays' grep -q '^| vit-train.gmt | .*"memory_limit": 1073741824} | 4 | 2 of 2 decisions' far/recorded.md
check 'it is kept' gemem-sim validate far/recorded/vit-train.gmt
check 'the jobs of two steps ran beside each other' sh -c 'grep -q "^| live | ok | [0-9]* s |" far/README.md && grep -q "^| record | ok | [0-9]* s |" far/README.md'
check 'PyTorch on pools of CUDA, alone and recorded, and replayed' grep -q '^On cudaMallocAsync, vit-train: 2.5 s, recorded 2.5 s; 5 events, work 1; reserved 33 bytes, cuda-async 33554432; [1-3] of 3 blocks' far/recorded.md
check 'the recording has how the pool is set' sh -c 'gemem-sim convert far/recorded/vit-train-pools.gmt - -f text | grep -q "^settings .*release_threshold=unlimited"'
check 'gemem-record has seen the same' grep -q ': 2 segments of PyTorch, 0 of them not recorded' far/recorded.md
run 1 env BROKEN=vit-train PYTHON="$PWD/torch" "$collect" -q -o far live record
says out '^live: failed \(vit-train-own: exit status 1, RuntimeError: broken$'; says out '^vit-train-pytorch-caching: exit status 1'
says out '^record: failed \(vit-train: exit status 1'; says out '^gemem-record: exit status 1, RuntimeError: broken'
check 'what went wrong is kept' grep -q 'RuntimeError: broken' far/failed/*.record.txt

# ---- the probe: blocks have the places that they asked for, and what a line is about stands behind its number
cat >asked.txt <<'END'
@ a range, and a pool
v 1 4m 2m
vf 1
vf 1
stream 0
pool 1 new
a 1 1 0 1m
f 1 0
ssync 0
destroy 1
@ nothing of the first is left
m 1 9g
END
run 0 "$GEMEM_BUILDDIR/tests/gpu/probe" asked.txt
says out '^1 @ a range, and a pool$'; says out '^2 [1-9a-f][0-9a-f]*$'; says out '^3 ok$'; says out '^4 skip$'
says out '^7 [1-9a-f][0-9a-f]* r1=[1-9][0-9]* u1=[1-9]'; says out '^8 ok'; says out '^10 ok$'; says out '^12 E2$'
printf '@ x\nwalk 1\n' >asked.txt; run 2 "$GEMEM_BUILDDIR/tests/gpu/probe" asked.txt; says err "line 2: no operation is called 'walk'"
run 2 "$GEMEM_BUILDDIR/tests/gpu/probe" nothing.txt
mkdir broken; echo >broken/libcuda.so.1
run 77 env LD_LIBRARY_PATH=broken "$GEMEM_BUILDDIR/tests/gpu/probe" "$GEMEM_SRCDIR/tests/gpu/probe.txt"

# ---- programs: their truth, one that lacks a package, one that never ends
mkdir mine
cat >mine/truth.py <<'END'
import json, os


def tell(**facts):
    with open(os.path.join(os.environ["TRUTH_OUT"], "small.json"), "w") as stream:
        json.dump(facts, stream, indent=1)
END
printf 'import truth\ntruth.tell(max_memory_allocated=512, max_memory_reserved=2097152, peak_requested=4)\nprint("told")\n' >mine/small.py
echo 'import no_such_package' >mine/lacking.py
run 0 env PYTHON="$python" "$collect" -q -p mine -o own programs; says out "^programs: ok \\(lacking: No module named 'no_such_package': left out"
check 'a program has its row' grep -q '^| small | 0 | 4 | 512 | 2097152 | [0-9]* s |$' own/programs.md
check 'and what it printed, and said of itself' sh -c 'grep -qx told own/programs/small.txt && test -e own/programs/small.json'
printf 'import time\ndef waits(): time.sleep(60)\nwaits()\n' >mine/endless.py
run 1 env PYTHON="$python" "$collect" -q -t 12 -p mine -o own programs; says out '^programs: failed \(endless: exit status 1[23][0-9]'
check 'where it was when its time was over' grep -q 'in waits$' own/failed/0001.programs.txt
check 'and the others have ended' grep -q '^| small | 0 | ' own/programs.md
mkdir eight
for n in 1 2 3 4 5 6 7 8; do
  printf 'import os, time\nf = os.open("%s/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)\nos.write(f, b"1\\n")\ntime.sleep(1)\nos.write(f, b"-1\\n")\n' "$PWD" >eight/p$n.py
done
run 0 env PYTHON="$python" "$collect" -q -p eight -o own programs
check 'eight programs, never more than six at once' sh -c 'awk "{ now += \$1; if (now > most) most = now } END { exit !(NR == 16 && now == 0 && most > 1 && most <= 6) }" log'
run 0 env PYTHON=false "$collect" -q -o far live record; says out '^live: ok \(false has no PyTorch that finds the GPU: left out\)'
done_testing
