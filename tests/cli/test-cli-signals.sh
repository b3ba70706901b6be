#!/bin/sh
# test-cli-signals.sh - SIGINT and SIGTERM end a run within a second (and some, for the machine), wherever it is: waiting for a pipe, in one long
# step of one allocator or planner, while a trace is converted.  A second signal ends it at once.  Nothing half-written stays behind.
# shellcheck disable=SC2154,SC2016,SC2086 # err comes from tap.sh; scripts for sh -c; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

most=3000 # ms; a second, and the machine's load

gemem-sim generate random:events=2000,live=20 -o small.gmt
gemem-sim generate random:events=60000,live=20000 -o live.gmt
mkfifo pipe

ms () { echo $(($(date +%s%N) / 1000000)); }
# Waits until process $1 catches SIGTERM: on a busy machine it takes a while to begin.
heard () {
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    caught=$(sed -n 's/^SigCgt:[[:space:]]*[0-9a-f]*\(....\)$/\1/p' "/proc/$1/status" 2>/dev/null)
    [ $((0x${caught:-0} & 0x4000)) = 0 ] || return 0
    sleep 0.2
  done
}
# ended STATUSES NAME SIGNALS COMMAND...: sends the signals, 0.2 s apart, once the program runs; it ends in time, and the folder is as it was.
env --default-signal=INT true 2>/dev/null && hearing='env --default-signal=INT,TERM'
ended () {
  want=$1 name=$2 send=$3; shift 3
  ls >.before
  ${hearing:-} "$@" >int.out 2>int.err </dev/null & pid=$!
  [ "$want" != 130 ] || heard $pid
  sleep "${wait_s:-0.4}"
  begin=$(ms)
  for signal in $send; do kill "-$signal" $pid 2>/dev/null; sleep 0.2; done
  { sleep 20; kill -9 $pid; } 2>/dev/null & killer=$!
  wait $pid; got=$?
  spent=$(($(ms) - begin))
  kill $killer 2>/dev/null; wait $killer 2>/dev/null
  ls >.after; sed -i '/^int\./d' .before .after
  case " $want " in *" $got "*) ;; *) got="$got, not $want" ;; esac
  cmp -s .before .after || got="$got, files"
  check "$name: $send, $got, $spent ms" test "$got${spent:+}" -eq "$got" -a $spent -lt $most
  sed 's/^/# /' int.err
}
if [ -z "${hearing:-}" ]; then
  skip 'signals' 'env has no --default-signal, and a shell in the background ignores SIGINT'
  done_testing
fi

# 130: caught; 143 (and 130 of the shell): the signal's default, before anything began.
for command in 'info pipe' 'replay pipe -a direct' 'plan pipe' 'convert pipe o.txt'; do
  wait_s=0.2 ended '130 143' "open, $command" TERM gemem-sim $command
done
ended 130 'a worker opens a pipe to write' INT gemem-sim replay small.gmt -a direct --events pipe
ended 130 'a worker opens a pipe to write' TERM gemem-sim replay small.gmt -a ge --calls pipe
# The pipe has a writer that says nothing more, or half of a trace.
gemem-sim convert live.gmt live.txt
sleep 60 >pipe & holder=$!
ended '130 143' 'read, nothing comes' TERM gemem-sim replay pipe -a direct --events e.csv
kill $holder; wait $holder 2>/dev/null
{ head -c 300000 live.txt; sleep 60; } >pipe & holder=$!
ended '130 143' 'read, half of it came' TERM gemem-sim convert pipe o.gmt
kill $holder; wait $holder 2>/dev/null
{ head -c 300000 live.txt; sleep 60; } >pipe & holder=$!
ended '130 143' 'read, half of it came' INT gemem-sim replay pipe -a direct -a ge -j 2 --events e.csv
kill $holder; wait $holder 2>/dev/null
# Nobody reads what is written.
mkfifo sink
{ sleep 60; } <sink & holder=$!
ended '130 143' 'write, nobody reads' TERM gemem-sim convert live.gmt sink -f text
ended '130 143' 'write, nobody reads; twice' 'INT INT' gemem-sim convert live.gmt sink -f text
# A report has five seconds more; it is longer than a pipe holds.
awk 'BEGIN { print "# gemem-trace: 1"; for (i = 1; i <= 3000; i++) print "alloc " i " size=1024 stream=" i; print "# end: 3000" }' >streams.txt
most=9000 ended 130 'a report, nobody reads' TERM gemem-sim replay streams.txt -a ge-scalable -d sim:capacity=1TiB -f json -o sink
kill $holder; wait $holder 2>/dev/null
# One long step: a plan that takes minutes; a replay; a trace without end.
gemem-sim generate random:events=400000,live=2000 -o long.gmt
ended 130 'a long plan' TERM gemem-sim plan long.gmt -p ge-range-binary-block-descending-frfr -o p.csv
ended 130 'a long plan' INT gemem-sim plan long.gmt -p best-fit -o p.csv
ended 130 'a replay without end' 'TERM' gemem-sim replay long.gmt -a ge-expandable --repeat 100000 -o int.csv -f csv
ended 130 'a trace without end, twice' 'TERM TERM' gemem-sim generate random:events=4000000000,live=1000 -o g.gmt
done_testing
