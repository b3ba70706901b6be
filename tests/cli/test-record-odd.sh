#!/bin/sh
# test-record-odd.sh - a program under gemem-record runs as it would without: without disk, descriptors, memory, in children, name spaces, on several devices.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
odd=$GEMEM_BUILDDIR/tests/programs/record-odd
if [ ! -e "$GEMEM_BUILDDIR/tests/dry/.libs/libcuda.so.1" ] || [ ! -x "$odd" ]; then
  skip "recordings" "built without the CUDA headers, so without the stand-in driver"
  done_testing
fi
LD_LIBRARY_PATH=$GEMEM_BUILDDIR/tests/dry/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; export LD_LIBRARY_PATH
ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0; export ASAN_OPTIONS

# count FILE KIND: its events of that kind.
count () { gemem-sim convert "$1" count.txt >/dev/null && grep -c "^$2 " count.txt; }
# has FILE N: N allocations and as many frees, and it is valid.
has () {
  check "$1 has $2 allocations" test "$(count "$1" alloc)" -eq "$2"
  check "$1 has $2 frees" test "$(count "$1" free)" -eq "$2"
  check "$1 is valid" gemem-sim validate "$1"
}

# Sanitizers take all address space for themselves, and are in one name space only.
sanitized () { nm "$odd" | grep -q __asan; }

# ---- children and name spaces
rm -f out*.gmt; run 0 gemem-record "$odd" spawns; has out.gmt 2
check "four children" test "$(find . -name 'out.*.gmt' | wc -l)" -eq 4
for child in out.*.gmt; do has "$child" 2; done
if sanitized; then skip "name spaces" "built with sanitizers"; else
rm -f out*.gmt; run 0 env RECORD_ODD_DRIVER="$GEMEM_BUILDDIR/tests/programs/.libs/record-nothing.so" gemem-record "$odd" namespaces; has out.gmt 4
fi
rm -f out*.gmt; run 0 gemem-record "$odd" becomes 3; has out.gmt 4
check "the programs it was before" test "$(find . -name 'out.*.gmt' | wc -l)" -eq 3
rm -f out*.gmt; run 0 gemem-record "$odd" forks-late; has out.gmt 2
check "no file of the child" test "$(find . -name 'out.*.gmt' | wc -l)" -eq 0

# ---- two devices, two threads on each
rm -f out*.gmt; run 0 env GEMEM_DRIVER_DEVICES=2 gemem-record "$odd" devices; has out.gmt 2000
for device in 0 1; do
  gemem-sim info out.gmt --trace-device=$device >info; check "device $device has its half" grep -Eq 'events +2000, alloc 1000, free 1000$' info
done

# ---- what the program takes from itself
rm -f out*.gmt; run 0 gemem-record "$odd" closes 3000; has out.gmt 3000; silent err
run 0 gemem-record "$odd" descriptors 0; says err '^gemem-record: .*: Too many open files; process [0-9]+ runs without being recorded$'
run 0 gemem-record "$odd" descriptors 10
run 0 gemem-sim info out.gmt; says out 'calls could not be recorded'; says out 'events +[1-9]'
if sanitized; then skip "address space" "built with sanitizers"; else
run 0 gemem-record "$odd" memory 0
run 0 gemem-sim info out.gmt
fi

# ---- what the recorder asks the driver fails, and what the program asks fails with it
run 0 env GEMEM_DRIVER_FAIL=cuCtxGetDevice=1+:CUDA_ERROR_UNKNOWN,cuCtxGetCurrent=1+:CUDA_ERROR_UNKNOWN,cuDeviceTotalMem=1+:CUDA_ERROR_UNKNOWN \
  gemem-record "$odd" pairs 2
has out.gmt 2; silent err
run 9 env GEMEM_DRIVER_FAIL=cuMemAlloc=2,cuMemGetInfo=1+:CUDA_ERROR_UNKNOWN gemem-record "$odd" pairs 3; has out.gmt 1
check "the refusal, of how much was left nothing" grep -q '^oom size=1048576 t=[0-9]*$' count.txt
run 9 env GEMEM_DRIVER_FAIL=cuMemFree=2:CUDA_ERROR_UNKNOWN,cuCtxGetDevice=2+:CUDA_ERROR_UNKNOWN gemem-record "$odd" pairs 3
check "the free that failed is not recorded" test "$(count out.gmt alloc) $(count out.gmt free)" = "2 1"

# ---- where the recording is to go
run 0 env -i "LD_LIBRARY_PATH=$LD_LIBRARY_PATH" "ASAN_OPTIONS=$ASAN_OPTIONS" "$(command -v gemem-record)" "$odd" pairs 2; has out.gmt 2
# the launcher's own limit: its file is not written, the program's status is what counts
(ulimit -f 100; exec gemem-record -o limited.gmt sh -c "'$odd' pairs 1; exit 6") >"$out" 2>"$err"; ok $(($? != 6)) "the limit of files is the launcher's too"
run 6 sh -c "trap '' XFSZ; ulimit -f 1; exec gemem-record -o limited.gmt sh -c 'exit 6'"
run 6 sh -c "ulimit -f 0; exec gemem-record -o limited.gmt sh -c 'exit 6'"
run 0 gemem-record -o /dev/full/x.gmt "$odd" pairs 1; says err '^gemem-record: /dev/full/x.gmt: Not a directory; .* runs without being recorded$'
mkdir small
if mount -t tmpfs -o size=256k none small 2>/dev/null; then
  run 0 gemem-record -o small/out.gmt "$odd" pairs 9000
  says err 'small/out.gmt'
  rm -rf small/*
  dd if=/dev/zero of=small/full bs=1k count=250 2>/dev/null
  run 0 gemem-record -o small/out.gmt "$odd" pairs 1; says err 'No space left on device; process [0-9]+ runs without being recorded$'
  umount small
else
  skip "a full disk" "this user mounts nothing"
fi
done_testing
