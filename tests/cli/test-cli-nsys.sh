#!/bin/sh
# test-cli-nsys.sh - exports of Nsight Systems (tests/util/nsys.py writes them as NVIDIA documents their schema): CUDA's memory events are read; what is no such export, or
# has none, is refused by name with what to record; damaged and hostile databases.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

printf 'SQLite format 3\0\020\0' >short.sqlite
if ! grep -q '^#define HAVE_SQLITE 1' "$GEMEM_BUILDDIR/config.h"; then
  run 3 gemem-sim info short.sqlite; says err 'built without SQLite'
  done_testing; exit
fi
run 3 gemem-sim info short.sqlite; says err 'short.sqlite: SQLite: .*; the database is damaged or not whole, export it again$'
command -v python3 >/dev/null && python3 -c 'import sqlite3' || { skip 'exports' "python3 with sqlite3 writes them"; done_testing; exit; }
make () { python3 "$GEMEM_SRCDIR/tests/util/nsys.py" "$1.sqlite" "$1"; }
for kind in plain pools waits order bad-wait bad-work host old none foreign view bad-size bad-text bad-column view-waits long; do make $kind; done

# ---- the GPUs' memory, by time
run 0 gemem-sim info plain.sqlite
says out 'format +nsys$'; says out 'recorded allocator +direct$'; says out 'recorded device +capacity=85899345920$'
says out 'note: calls of CUDA: of PyTorch and others with a cache these are its segments'; says out 'note: 1 frees of memory that was not seen'
says out 'note: 1 blocks were still live'; says out 'note: 1 events of a kind that is not known'; says out 'note: 2 processes, whose memory'
says out '^device 1$'; lacks out '^host memory'
run 0 gemem-sim convert plain.sqlite plain.txt
grep -v '^#' plain.txt >events
cat >expected <<'END'
alloc 1 size=20971520 addr=0x302000000
alloc 2 size=2097152 addr=0x304000000 t=1000
alloc 3 size=3145728 addr=0x306000000 t=2000 tag="managed"
alloc 4 size=4096 addr=0x308000000 t=3000 tag="table"
alloc 5 size=8388608 addr=0x302000000 device=1 t=4000
free 1 t=5000
alloc 6 size=41943040 addr=0x302000000 t=6000
free 2 t=8000
alloc 7 size=5242880 addr=0x304000000 t=8000
END
check 'the events' diff expected events
run 0 gemem-sim info old.sqlite; says out 'peak live +48.00 MiB'; says out '^device 1$'
run 0 gemem-sim info --trace-device=host plain.sqlite; says out '^host memory'; says out 'peak live +17.00 MiB'; lacks out '^device'
run 0 gemem-sim info host.sqlite; says out '^host memory'; says out 'peak live +17.00 MiB'
run 0 gemem-sim info --trace-device=1 plain.sqlite; says out 'peak live +8.000 MiB'; lacks out '^device 0'
run 3 gemem-sim plain.sqlite; says out '^It cannot be told whether it fits: the recording begins in the middle'; says out 'No setting of direct can be tried'; lacks out export

# ---- pools
run 0 gemem-sim info pools.sqlite
says out 'recorded allocator +cuda-async$'; says out 'a memory pool held 67108864 bytes at most'
run 0 gemem-sim convert pools.sqlite pools.txt
check 'streams and pools' grep -q 'size=31457280 .*stream=.*14.*pool=1\|size=31457280.*pool=1.*stream=' pools.txt
check 'the second pool' grep -q 'size=1048576 .*pool=2' pools.txt
run 0 gemem-sim replay pools.sqlite -a cuda-async --trace-device=0
run 0 gemem-sim replay pools.sqlite -a direct --trace-device=0

run 0 gemem-sim convert waits.sqlite waits.txt
check 'frees in the order of their stream, and waits of the host' sh -c 'sed -n "/pool=1/,\$ p" waits.txt | sed "s/ t=[0-9]*//" | grep -v "^#" >got; printf "%s\n" "alloc 8 size=10485760 addr=0x342000000 stream=13 pool=1" "free 8 stream=14" "stream-sync stream=13" "stream-sync stream=14" device-sync | diff - got'
check 'the order of streams is told' grep -q '^# flags: .*has-order' waits.txt
run 0 gemem-sim replay waits.sqlite -a cuda-async --trace-device=0; lacks out 'does not say on which'
run 3 gemem-sim info bad-wait.sqlite; says err 'streamId is -4, which cannot be'

# work from its call to its end, though another process has calls of the same number; events and who waits for them, but for one that was never recorded
run 0 gemem-sim convert order.sqlite order.txt; check 'nothing is missing' sh -c '! grep "not in the export" order.txt'
sed -n '/pool=1/,$ p' order.txt | sed 's/ addr=[0-9a-fx]*//' | grep -v '^#' >got
cat >expected <<'END'
alloc 8 size=10485760 stream=13 pool=1 t=13000
work 4 stream=13 t=14000
free 8 stream=13 t=15000
event-record 4294967305 stream=13 t=18000
event-wait 4294967305 stream=14 t=19000
alloc 9 size=10485760 stream=14 pool=1 t=21000
work 5 stream=14 t=22000
work-done 5 t=23500
work 7 stream=14 t=23600
work-done 7 t=23700
event-wait 4294967305 stream=0x10000000000 t=25001
stream-sync stream=0x10000000000 t=25001
stream-sync stream=14 t=27001
work-done 4 t=28500
END
check 'the order of streams' diff expected got
run 3 gemem-sim validate order.sqlite; lacks out 'work'; run 0 gemem-sim replay order.sqlite -a cuda-async --trace-device=0 --check
run 0 gemem-sim info waits.sqlite; says out 'note: the work of the device is not in the export'; says out 'note: events of streams are not in the export'
run 0 gemem-sim info bad-work.sqlite # a row without times is passed over

# ---- from a pipe, packed
gemem-sim info plain.sqlite | sed 1d >whole
check 'from a pipe' sh -c 'cat plain.sqlite | gemem-sim info - | sed 1d | diff whole -'
gzip -k plain.sqlite; run 3 gemem-sim info plain.sqlite.gz; says err 'a packed SQLite database; unpack it'

# ---- refused by name
run 3 gemem-sim none.sqlite; says err 'an export of nsys without CUDA_GPU_MEMORY_USAGE_EVENTS; record with nsys profile --cuda-memory-usage=true, or with gemem-record$'
run 3 gemem-sim foreign.sqlite; says err 'an SQLite database that nsys did not write'
run 3 gemem-sim info view.sqlite; says err 'an export of nsys without CUDA_GPU_MEMORY_USAGE_EVENTS'
if make virtual 2>/dev/null; then run 3 gemem-sim info virtual.sqlite; says err 'without CUDA_GPU_MEMORY_USAGE_EVENTS'; fi
run 3 gemem-sim info bad-column.sqlite; says err 'has no column memKind, so this version of nsys is not known'
run 3 gemem-sim info bad-size.sqlite; says err 'row 14 by time: bytes is -5, which cannot be'
run 3 gemem-sim info bad-text.sqlite; says err 'address is no whole number'
run 0 gemem-sim info view-waits.sqlite; says out 'note: events of streams are not in the export'
run 0 gemem-sim convert long.sqlite long.txt; check 'a long name is cut' grep -q 'tag="x\{1000\}"' long.txt
is_sanitized || check 'rows are sorted without their long texts' python3 -c 'import resource, subprocess
assert subprocess.run(["gemem-sim", "info", "long.sqlite"], stdout=subprocess.DEVNULL).returncode == 0
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(used, "KiB")
assert used < 32768'
run 3 gemem-sim info --allow-partial bad-size.sqlite; says out 'partial: .*bytes is -5'
head -c 9000 plain.sqlite >cut.sqlite; run 3 gemem-sim info cut.sqlite; says err 'SQLite: '
done_testing
