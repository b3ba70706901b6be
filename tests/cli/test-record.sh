#!/bin/sh
# test-record.sh - gemem-record on programs that use the stand-in driver (tests/dry): every way to a function, every kind of memory, and every way to end.
. "$GEMEM_SRCDIR/tests/util/tap.sh"

util=$GEMEM_BUILDDIR/tests/programs
driver=$util/record-driver host=$util/record-host plugin=$util/.libs/record-runtime.so

# ---- without CUDA: no driver is needed
run 3 gemem-record -o none.gmt sh -c 'echo said; exit 3'; says out '^said$'; says err 'made no CUDA calls that are recorded; .*/none.gmt holds no events'
run 0 gemem-sim info none.gmt; says out 'ended: exit status 3'
run 0 gemem-sim validate none.gmt
run 127 gemem-record -o no.gmt ./no-such-program; says err 'no-such-program: No such file'
run 126 gemem-record -o no.gmt /
run 2 gemem-record; says err 'name a program to run'
run 2 gemem-record --stacks=0 true; says err '--stacks=0: how many frames, 1 to 128'
run 0 gemem-record --version; says out '^gemem-record [0-9]'
run 0 gemem-record --help; says out 'PROGRAM \[ARGUMENTS'
run 7 gemem-record -o no/folder/out.gmt sh -c 'exit 7'; says err '^gemem-record: no/folder/out.gmt: No such file or directory; sh runs without being recorded$'
run 0 gemem-record -o hyphens.gmt -- sh -c 'test "$1" = -o' sh -o
check "nothing is left behind" sh -c '! ls -d ./*.recording-* 2>/dev/null'
# A program that was never meant to see the recorder: GEMEM_JOURNALS names what cannot be written.
if [ -e "$GEMEM_BUILDDIR/.libs/libgemem-record.so" ]; then
  nm -D --defined-only "$GEMEM_BUILDDIR/.libs/libgemem-record.so" | awk '{ print $NF }' >shown
  check "the library shows CUDA's names and dlsym alone" sh -c "test \$(wc -l <shown) -gt 100 && ! grep -v -e '^cu' -e '^dlsym$' -e '^gemem_record_' shown"
fi

if [ ! -e "$GEMEM_BUILDDIR/tests/dry/.libs/libcuda.so.1" ] || [ ! -e "$plugin" ]; then
  skip "recordings" "the stand-in driver is not built"
  done_testing
fi
LD_LIBRARY_PATH=$GEMEM_BUILDDIR/tests/dry/.libs:$util/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
# Under sanitizers the program is instrumented and the recorder, which comes first, is not; its signals are its own.
ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0:handle_segv=0; export ASAN_OPTIONS

# events FILE: its events without times and addresses, one a line, joined by "; ".
events () {
  gemem-sim convert "$1" events.txt >/dev/null && sed -n -e 's/ addr=0x[0-9a-f]*//' -e 's/ t=[0-9]*$//; s/ t=[0-9]* / /' -e '/^[a-z]/p' events.txt | paste -s -d ';'
}

# records NAME EXPECTED COMMAND...: exit status 0, and these events in out.gmt.
records () {
  records_name=$1 records_expected=$2; shift 2
  rm -f out*.gmt
  run 0 gemem-record "$@"
  records_got=$(events out.gmt)
  [ "$records_got" = "$records_expected" ]; ok $? "$records_name"
  [ "$records_got" = "$records_expected" ] || echo "# $records_got"
}

# ---- every way to a function of the driver, every kind of memory
basic='alloc 1 size=3145728;alloc 2 size=102400;free 1;alloc 3 size=1048576 tag="managed";free 3;free 2'
order='alloc 1 size=1048576 stream=1;alloc 2 size=2097152;event-record 1 stream=1;event-wait 1 stream=2;use-on-stream 1 stream=2;free 1 stream=2;free 2;stream-sync stream=2;device-sync'
work='alloc 1 size=1048576;alloc 2 size=1048576 stream=1;work stream=1;work stream=2;alloc 3 size=1048576 stream=1;free 2 stream=1;work stream=1;event-record 1 stream=1'\
';event-wait 1 stream=2;work stream=2;stream-sync aux=1 stream=2;stream-sync stream=1;device-sync;work;stream-sync aux=1;work stream=1;work;stream-sync aux=1'\
';stream-sync aux=1 stream=1;free 1;free 3 stream=1'
blocking='alloc 1 size=1048576 stream=1;free 1 stream=1;event-record 1 stream=1;event-wait 1;alloc 2 size=2097152;work stream=2'\
';event-record 2;event-wait 2 stream=3;work stream=3;event-record 3 stream=3;event-wait 3;stream-sync aux=1;use-on-stream 2 stream=2;free 2 stream=2'
pools='alloc 1 size=1048576 pool=1;alloc 2 size=1048576;alloc 3 size=2097152 pool=1;free 1;free 2;free 3;device-sync;trim'
attributes='settings tag="release_threshold=67108864B";settings tag="release_threshold=67108864B,reuse_allow_opportunistic=no";alloc 1 size=1048576'\
';settings tag="release_threshold=67108864B,trim_to=33554432B,reuse_allow_opportunistic=no";trim'\
';settings tag="release_threshold=67108864B,trim_to=1152921504606846975B,reuse_allow_opportunistic=no";trim'\
';settings tag="release_threshold=unlimited,trim_to=1152921504606846975B,reuse_allow_opportunistic=no";free 1'
limit='settings tag="release_threshold=0B,max_size=67108864B";alloc 1 size=1048576 pool=1;free 1'
virtual='alloc 1 size=2097152 tag="physical";alloc 2 size=4194304 tag="physical";free 1;free 2'
pinned='alloc 1 size=100000 device=host;alloc 2 size=5000 device=host;free 1 device=host;free 2 device=host'
for how in link dlsym proc; do
  records "$how: allocations" "$basic" "$driver" $how basic
  records "$how: streams and events" "$order" "$driver" $how streams
  records "$how: work of streams, once where more of it changes nothing" "$work" "$driver" $how work
  records "$how: streams that block" "$blocking" "$driver" $how blocking
  records "$how: pools" "$pools" "$driver" $how pools
  records "$how: attributes of pools" "$attributes" "$driver" $how attributes
  records "$how: a pool with a limit" "$limit" "$driver" $how limit
  records "$how: virtual memory" "$virtual" "$driver" $how virtual
  records "$how: host memory" "$pinned" "$driver" $how host
  records "$how: waiting for events, registered memory" 'alloc 1 size=1048576 stream=1;event-record 1 stream=1;event-wait 1 stream=2;stream-sync stream=2;free 1 stream=1'\
';event-wait 1 stream=2;stream-sync aux=1 stream=2;alloc 2 size=8192 device=host tag="registered";free 2 device=host' "$driver" $how events
done

# ---- gemem in a folder whose name ends an item of $LD_PRELOAD
libraries=$GEMEM_BUILDDIR/.libs
mkdir 'a b:c'
cp "$libraries/gemem-record" "$libraries/libgemem-record.so" 'a b:c'
TMPDIR=$PWD LD_LIBRARY_PATH=$libraries:$LD_LIBRARY_PATH run 0 'a b:c/gemem-record' "$driver" link basic
silent err
check 'a folder with blanks and colons' test "$(events out.gmt)" = "$basic"
check 'no links are left' sh -c '! ls -d ./gemem-?????? 2>/dev/null'
LD_LIBRARY_PATH=$libraries:$LD_LIBRARY_PATH run 0 env TMPDIR="$PWD/a b:c" 'a b:c/gemem-record' "$driver" link basic
says err 'let .TMPDIR name a folder .*, without blanks and colons; .*/record-driver runs without being recorded$'
records "per-thread default streams" \
  'alloc 1 size=1048576 stream=1;free 1 stream=1;stream-sync stream=1;alloc 2 size=1048576 stream=2 tag="thread 1";free 2 stream=2;stream-sync stream=2' "$driver" thread own-streams
records "a reset frees what the device holds" 'alloc 1 size=1048576;alloc 2 size=2097152;free 1;free 2' "$driver" proc reset
records "the last release of a context, too" 'alloc 1 size=1048576;alloc 2 size=2097152;free 1;free 2' "$driver" dlsym release
records "memory of graphs is left out" 'alloc 1 size=1048576 stream=1;free 1 stream=1' "$driver" proc capture
run 0 gemem-sim info out.gmt; says out 'note: 2 allocations that graphs make when they run are not recorded'
lacks out 'frees of memory'
GEMEM_DRIVER_DEVICES=2; export GEMEM_DRIVER_DEVICES
records "two devices" 'alloc 1 size=1048576;alloc 2 size=2097152 device=1;free 1;free 2 device=1' "$driver" dlsym devices
unset GEMEM_DRIVER_DEVICES
records "refused requests, frees of nothing, of the unknown, twice" 'oom size=35184372088832 free=85899345920;alloc 1 size=1048576;free 1' "$driver" dlsym hostile
RECORD_EARLY=1; export RECORD_EARLY
records "before main() and after exit()" "$basic;alloc 4 size=100000 device=host;alloc 5 size=5000 device=host;free 4 device=host;free 5 device=host\
;alloc 6 size=100000 device=host;alloc 7 size=5000 device=host;free 6 device=host;free 7 device=host" "$driver" link host
unset RECORD_EARLY

# ---- the runtime, in a plugin's own scope; what it asks of the driver is not counted again
records "the runtime" 'alloc 1 size=3145728;alloc 2 size=2097152;event-record 1;event-wait 1 stream=1;alloc 3 size=1048576 stream=1;alloc 4 size=4096 device=host;alloc 5 size=1048576 tag="managed"'\
';event-record 2 stream=1;event-wait 2;free 2;free 1;use-on-stream 3;free 3;free 4 device=host;free 5;device-sync' "$host" "$plugin" all
records "streams of the runtime that block" 'alloc 1 size=1048576 stream=1;free 1 stream=1;alloc 2 size=1048576 stream=2;free 2 stream=2;alloc 3 size=1048576 stream=3;free 3 stream=3'\
';event-record 1 stream=1;event-wait 1;event-record 2 stream=3;event-wait 2;alloc 4 size=1048576;free 4' "$host" "$plugin" streams
records "cudaGetDriverEntryPoint" 'alloc 1 size=1048576;alloc 2 size=5242880;free 2;free 1' "$host" "$plugin" entry
records "cudaDeviceReset" 'alloc 1 size=1048576;free 1' "$host" "$plugin" reset
run 0 gemem-record "$host" "$plugin" next; says err 'made no CUDA calls'
run 0 "$host"
run 0 gemem-record "$host"

# ---- a plugin that defines the driver's functions itself and looks them up under these names
records "stubs of the driver's functions" 'alloc 1 size=1048576;alloc 2 size=2097152;free 1' timeout 20 "$host" "$util/.libs/record-stubs.so" all

# ---- calls that few programs make (tests/programs/record-rare.c), as CUDA's headers declare them
rare=$util/.libs/record-rare-calls.so
if [ -e "$rare" ]; then "$host" "$rare" arrays; rare_status=$?; else rare_status=77; fi
if [ $rare_status -eq 77 ]; then
  skip "calls that few programs make" "the CUDA headers are older than 12.3"
else
records "arrays, memory of three dimensions, registered memory" 'alloc 1 size=48000 tag="array";alloc 2 size=2048 tag="array";alloc 3 size=2368 tag="array";free 2;free 1;free 3'\
';oom size=527765581332480;alloc 4 size=30720;free 4;oom size=6442450944;alloc 5 size=32 device=host tag="registered";free 5 device=host' "$host" "$rare" arrays
run 0 gemem-sim info out.gmt; says out 'note: 1 arrays of compressed or video formats are left out'; says out 'note: 2 sparse arrays and mappings to them are left out'
run 0 gemem-record "$host" "$rare" graphs
run 0 gemem-sim info out.gmt; says out 'note: 3 allocations that graphs make when they run are not recorded'; says out 'events +0'
lacks out 'frees of memory'
run 0 gemem-record "$host" "$rare" foreign
run 0 gemem-sim info out.gmt; says out 'note: 2 pieces of memory of other processes are left out'
lacks out 'frees of memory'
# each of 82 calls gives a stream of its own work; then a copy to the host, one to the device, one to the host
records "every call that gives a stream work, with its arguments" "$(seq -f 'work stream=%.0f' -s ';' 82);stream-sync aux=1;work;stream-sync aux=1" "$host" "$rare" work
"$host" "$rare" batches
if [ $? -eq 77 ]; then skip "calls of CUDA 13 that give a stream work" "the CUDA headers are older"; else
  records "every call of CUDA 13 that gives a stream work, with its arguments" "$(seq -f 'work stream=%.0f' -s ';' 16)" "$host" "$rare" batches
fi
# eight calls on the legacy and on the thread's default stream, each followed by a copy to the host
records "fills and copies within the device are work of the default stream" "$(seq 8 | sed 's/.*/event-record 2 stream=1;event-wait 2;work;stream-sync aux=1;event-record 1;event-wait 1 stream=1;work stream=1;stream-sync aux=1 stream=1/; 1s/.*wait 2;//' | paste -s -d ';')" "$host" "$rare" now
run 0 gemem-record "$host" "$rare" pools
check "memory of a pool is where the pool is" test "$(events out.gmt | cut -d ';' -f 1)" = 'alloc 1 size=10 pool=1 device=3'
if [ "$(events out.gmt | tr ';' '\n' | wc -l)" -gt 1 ]; then
  [ "$(events out.gmt | cut -d ';' -f 2-)" = 'alloc 2 size=20;alloc 3 size=30 device=host;alloc 4 size=40;alloc 5 size=50 pool=2' ]; ok $? "pools by place, of CUDA 13"
fi

fi

# ---- facts, stacks, comparison
run 0 gemem-record -o facts.gmt --stacks=3 "$driver" link basic
run 0 gemem-sim info facts.gmt; says out 'gpu: 0: gemem stand-in 0, 85899345920 bytes'; says out 'driver: CUDA 13.0'; says out 'program: .*record-driver link basic'
says out 'recorded device +capacity=85899345920'
events facts.gmt | tr ';' '\n' >facts; check "blocks and frees have a stack" test "$(grep -c ' stack=[1-6]$' facts)" -eq 6
check "a managed block has its tag, too" grep -q 'tag="managed" stack=4' facts
check "three frames of each" grep -Eq '^# stack: 1 2 3$' events.txt

# ---- the line that allocated, in a program with debugging information; its function in one without
# frames PROGRAM: "NAME FILE LINE" of each frame of the allocation's stack, innermost first.
frames () {
  run 0 gemem-record -o "$1.gmt" --stacks "$util/$1"
  run 0 gemem-sim convert "$1.gmt" "$1.txt"
  awk '/^# frame:/ { n++; split($0, q, "\""); frame[n] = q[2] " " q[4] " " $NF }
       /^# stack:/ && !done { for (i = 3; i <= NF; i++) print frame[$i]; done = 1 }' "$1.txt" | sed 's# [^ ]*/# #' >"$1.frames"
}
line () { grep -n "$1" "$GEMEM_SRCDIR/tests/programs/record-stacks.c" | cut -d: -f1; }
frames record-lines
if grep -q '^#define HAVE_LIBDW' "$GEMEM_BUILDDIR/config.h"; then
  { echo "fetch record-stacks.c $(line 'the line that allocates')"; echo "shop::cart::fill() record-stacks.c $(line 'the line that fills')"
    echo "main record-stacks.c $(line 'the line that wants')"; } >lines
  head -n 3 record-lines.frames >got; check "function, file and line, inlined and demangled" cmp got lines
else
  skip "function, file and line" "built without libdw"
fi
frames record-names
printf '%s record-names 0\n' 'shop::cart::fill()' main >names
head -n 2 record-names.frames >got; check "functions by the symbol table" cmp got names
check "the recorder's own frames are left out" sh -c '! grep -q -e recorder_ -e libgemem record-lines.frames record-names.frames'
run 0 gemem-sim compare -v facts.gmt -a direct -a pytorch-caching; says out 'device 80.00 GiB'

# ---- every way to end
for end in 6 9 11 15 0; do
  status=$((end == 0 ? 5 : 128 + end))
  rm -f out.gmt
  (ulimit -c 0; exec gemem-record "$driver" dlsym end $end) >"$out" 2>"$err"; ok $(($? != status)) "status $status"
  check "ended by signal $end: everything is there" test "$(events out.gmt | tr ';' '\n' | wc -l)" -eq 3999
  run 0 gemem-sim validate out.gmt
done
run 0 gemem-sim info out.gmt; says out 'ended: exit status 5'

# ---- forks: children with recordings have files of their own, those without have none
rm -f out*.gmt
run 0 gemem-record "$driver" link forks
says err '/out\.[0-9]+\.gmt: recorded from process [0-9]+$'
check "two children" test "$(find . -name 'out.*.gmt' | wc -l)" -eq 2
[ "$(events out.gmt)" = "$basic" ]; ok $? "the parent's own"
for child in out.*.gmt; do events "$child"; done | sort >children
printf '%s\n' "$pinned" "$virtual" | sort >expected
check "the children's own" cmp children expected
# a shell in front of the program: the program's recording is the one asked for
rm -f out*.gmt
run 4 gemem-record sh -c "'$driver' dlsym basic; exit 4"
[ "$(events out.gmt)" = "$basic" ]; ok $? "through a shell"
run 0 gemem-record sh -c "exec '$driver' dlsym basic"
[ "$(events out.gmt)" = "$basic" ]; ok $? "a shell that becomes the program"

# ---- threads
run 0 gemem-record "$driver" proc threads 700
run 0 gemem-sim validate out.gmt; says out 'out.gmt: valid'
events out.gmt | tr ';' '\n' >threads
check "16 times 700 allocations" test "$(grep -c '^alloc' threads)" -eq 11200
check "and as many frees" test "$(grep -c '^free' threads)" -eq 11200
check "by 16 threads" test "$(sed -n 's/.*tag="\(thread [0-9]*\)".*/\1/p' threads | sort -u | wc -l)" -eq 15

# ---- what cannot be written
mkdir closed && chmod a-w closed
if [ ! -w closed ]; then
  run 0 gemem-record -o closed/out.gmt "$driver" dlsym basic; says err '^gemem-record: closed/out.gmt: Permission denied; .* runs without being recorded$'
else
  skip "a folder without permission" "this user may write everywhere"
fi
# Limits on the size of files: no journal at all, and one that ends early.
run 5 gemem-record sh -c "ulimit -f 60; exec '$driver' dlsym end 0"; says err 'File too large; process [0-9]+ runs without being recorded$'
run 5 gemem-record sh -c "ulimit -f 300; exec '$driver' dlsym end 0"
run 0 gemem-sim info out.gmt; says out 'calls could not be recorded'; says out 'events +[1-9]'
if [ -e "$GEMEM_BUILDDIR/.libs/libgemem-record.so" ]; then
  run 0 env GEMEM_JOURNALS="$GEMEM_TMP/not/there" LD_PRELOAD="$GEMEM_BUILDDIR/.libs/libgemem-record.so" "$driver" dlsym basic
  says err '^gemem-record: .*/not/there: No such file or directory; process [0-9]+ runs without being recorded$'
  check "one line" test "$(wc -l <"$err")" -eq 1
  mkdir journals
  run 0 env GEMEM_JOURNALS="$GEMEM_TMP/journals" LD_PRELOAD="$GEMEM_BUILDDIR/.libs/libgemem-record.so" "$driver" dlsym basic
  silent err
  cp journals/*.gmj alone.gmj; [ "$(events alone.gmj)" = "$basic" ]; ok $? "a journal alone is read as it is"
  run 0 gemem-sim validate alone.gmj
  head -c 100000 alone.gmj >short.gmj; run 0 gemem-sim info short.gmj; says out 'events +0'
fi
done_testing
