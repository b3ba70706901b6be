#!/bin/sh
# test-cli-devices.sh - traces of several devices: every report, row and call says which device it is of; host threads that serve a run.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
mkdir tmp; TMPDIR=$PWD/tmp; export TMPDIR # not those of other programs

trace () { echo '# gemem-trace: 2'; printf '%s\n' "$@"; echo "# end: $#"; }
trace 'alloc 1 size=1000' 'alloc 2 size=4194304 device=1' 'free 2 device=1' 'free 1' >two.txt
trace 'alloc 2 size=4194304 device=1' >one.txt
trace 'alloc 1 size=1000' 'alloc 2 size=4194304' 'free 2' 'free 1' >zero.txt

# ---- names
run 0 gemem-sim replay -v two.txt -a ge; says out '^two.txt, device 0 through ge'; says out '^two.txt, device 1 through ge'
run 0 gemem-sim compare -v two.txt -a ge -a direct; says out '^two.txt, device 0$'; says out '^two.txt, device 1$'
run 0 gemem-sim compare -v two.txt -a ge -f markdown; says out 'device 0'; says out 'device 1'
run 0 gemem-sim replay -v one.txt -a ge; says out '^one.txt, device 1 through ge'
run 0 gemem-sim replay -v zero.txt -a ge; says out '^zero.txt through ge'
run 0 gemem-sim replay -v two.txt -a ge --trace-device=0; says out '^two.txt, device 0 through ge'
run 0 gemem-sim replay two.txt -a ge --map map.txt -o /dev/null
check 'maps name their device' sh -c 'grep -q "device 0" map.txt && grep -q "device 1" map.txt'
gemem-sim replay two.txt -a ge -f json >two.json
check 'JSON rows name their device' sh -c 'test "$(grep -c "\"device_ordinal\": [01]," two.json)" = 2'
run 0 gemem-sim plot two.json -f table; says out '^two.txt, device 0$'
run 0 gemem-sim replay two.txt -a ge --plots plots -o /dev/null
check 'plots of device 0 and device 1' sh -c 'ls plots | grep -q device0 && ls plots | grep -q device1'

run 0 gemem-sim replay two.txt -a ge --allocator-report - -o /dev/null; says out '^# two.txt, device 0, ge$'; says out '^# two.txt, device 1, ge$'

# ---- one log for all devices, in the order of the trace
run 0 gemem-sim replay two.txt -a direct --calls calls.csv --events events.csv
cat >expected-events.csv <<'END'
seq,kind,id,size,address,block,reserved,device
0,alloc,1,1000,0x100000000000,1000,1000,0
1,alloc,2,4194304,0x100000000000,4194304,4194304,1
2,free,2,4194304,0x100000000000,4194304,0,1
3,free,1,1000,0x100000000000,1000,0,0
END
cat >expected-calls.csv <<'END'
seq,call,stream,size,address,ok,device
0,malloc,0,1000,0x100000000000,1,0
1,malloc,0,4194304,0x100000000000,1,1
2,free,0,4194304,0x100000000000,1,1
3,free,0,1000,0x100000000000,1,0
4,device_sync,0,0,0x0,1,0
4,close,0,0,0x0,1,0
4,device_sync,0,0,0x0,1,1
4,close,0,0,0x0,1,1
END
check 'decisions' diff expected-events.csv events.csv
check 'device calls' diff expected-calls.csv calls.csv
run 0 gemem-sim replay two.txt -a direct -d sim:calls=calls.csv --calls again.csv; check 'each device takes its own calls back' diff calls.csv again.csv
run 0 gemem-sim replay -v two.txt -a direct --trace-device=1 --calls -; says out '^0,malloc,0,4194304,0x100000000000,1,1$'
check 'of device 1 alone' sh -c "! grep -q ',0\$' '$out'"
gemem-sim replay zero.txt -a direct --calls zero.csv >/dev/null
run 3 gemem-sim replay one.txt -a direct -d sim:calls=zero.csv; says err 'zero.csv: no call of device 1; give the log of a run on that device'
run 2 gemem-sim replay two.txt -a direct -a ge --calls c.csv; says err 'one file holds the device calls of one run, these are 4'
run 1 gemem-sim replay two.txt -a direct --calls nodir/c.csv
run 1 gemem-sim replay two.txt -a direct --calls /dev/full
trace 'alloc 1 size=10' 'alloc 2 size=20 device=1' 'free 3 device=1' >bad.txt
run 3 gemem-sim replay bad.txt -a direct --calls bad.csv; check 'no log of a run that failed' test ! -e bad.csv
check 'nothing is left in the folder for temporary files' sh -c 'test -d tmp && ! ls -A tmp | grep .'

# ---- threads
for allocator in ge ge-scalable ge-scalable:stack=rts,single_thread=yes pytorch-caching; do
  run 0 gemem-sim replay zero.txt -a "$allocator" -f csv; cp "$out" one.csv
  run 0 gemem-sim replay zero.txt -a "$allocator" -f csv --host-threads=3; check "$allocator: three threads in turn, as one" cmp "$out" one.csv
done
refusal='a second thread calls a pool that belongs to one \(single_thread=yes\).*; make all calls from one thread, or give single_thread=no, or leave such events out'
for allocator in ge ge-scalable ge-expandable ge-streams ge-active ge-fixed-base; do
  run 0 gemem-sim replay -v zero.txt -a "$allocator:single_thread=yes"
  run 3 gemem-sim replay -v zero.txt -a "$allocator:single_thread=yes" --host-threads=2; says err "zero.txt:event 1: $refusal"
done
trace 'alloc 1 size=1000' 'step 1' 'step 2' 'free 1' >free.txt
run 3 gemem-sim replay -v free.txt -a ge:single_thread=yes --host-threads=2; says err "free.txt:event 3: $refusal"
run 3 gemem-sim replay -v zero.txt -a ge:single_thread=yes --host-threads=2 --allow-partial; says out 'inconsistent events left out'
trace 'graph-load 1 size=3145728' 'graph-run 1' 'graph-run-end 1' 'graph-unload 1' >static.txt
run 0 gemem-sim replay -v static.txt -a ge-active:single_thread=yes --host-threads=2
for wrong in single_thread=2 single_thread= single_thread=maybe single_thread=0.5; do
  run 2 gemem-sim replay zero.txt -a "ge:$wrong"; says err 'single_thread'
done
for wrong in 0 -1 257; do run 2 gemem-sim replay zero.txt -a ge --host-threads=$wrong; says err "host-threads=$wrong: out of range"; done
run 2 gemem-sim replay zero.txt -a ge --host-threads=two
done_testing
