#!/bin/sh
# test-cli-logs.sh - logs of GE's run time and of Paddle's allocators in the hands of a user: every command takes them as they are, piped too.
# shellcheck disable=SC2154,SC2086 # out and err come from tap.sh; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

ge=$GEMEM_SRCDIR/tests/data/ge/runtime-log.txt kernel=$GEMEM_SRCDIR/tests/data/ge/kernel-trace.txt paddle=$GEMEM_SRCDIR/tests/data/paddle/gpu-log.txt

for log in "$ge:ge-runtime-log:ge-scalable" "$kernel:ge-runtime-log:ge-scalable" "$paddle:paddle-log:paddle-auto-growth"; do
  file=${log%%:*} rest=${log#*:}; format=${rest%:*} allocator=${rest#*:}
  name=$(basename "$file" .txt)
  run 0 gemem-sim info "$file"
  says out "format  *$format"
  run 0 gemem-sim validate "$file"
  says out "valid .$format.\$"
  run 0 gemem-sim replay -v -a $allocator "$file"
  says out 'peak reserved'
  run 0 gemem-sim convert "$file" "$name.gmt"
  run 0 gemem-sim convert "$name.gmt" - -f text
  sed '/^#/d' "$out" > converted
  check 'there are events' test -s converted
  run 0 gemem-sim convert "$file" - -f text
  check 'the native file says the same' sh -c "sed '/^#/d' '$out' | cmp - converted"
  check 'a pipe is read like the file' sh -c "gzip -c '$file' | gemem-sim convert - - -f text | sed '/^#/d' | cmp - converted"
done

# ---- PaddlePaddle 2.6's standard error of a run that ran out of memory: glog's own warning comes first, lines of other files until far behind the head
{ echo 'WARNING: Logging before InitGoogleLogging() is written to STDERR'; for i in $(seq 100); do echo "I1130 20:51:26.024150 26709 common.cc:284] Call SPMDRuleMap::Insert number $i!"; done; cat "$paddle"
  echo 'ResourceExhaustedError: '; echo; echo 'Out of memory error on GPU 0. Cannot allocate 700.000000MB memory on GPU 0, 365.000000MB memory has been allocated and available memory is only 659.000000MB.'; } >stderr.log
run 0 gemem-sim info stderr.log; says out 'format  *paddle-log'; sed '/^ *format/d;s/stderr/kept/' "$out" >expected
# ... as containers, launchers and terminals keep it
for before in 'app-1  | ' '2025-07-01T10:11:12.123456789Z stderr F ' '[rank3]: ' '3: ' "$(printf '\033[31m')" '{"stream":"stderr","log":"'; do
  BEFORE=$before awk '{ print ENVIRON["BEFORE"] $0 }' stderr.log >kept.log; run 0 gemem-sim info kept.log; says out 'format  *paddle-log'
  sed '/^ *format/d' "$out" >found; check "behind '$before' it says the same" cmp -s expected found
done
{ echo '[W1130 20:50:39.169811 ProcessGroupNCCL.cpp:1250] Warning: destroy_process_group() was not called'; echo done; } >other.log; run 3 gemem-sim info other.log; says err 'not recognised'; lacks err Paddle
{ head -n 101 stderr.log; tail -n 3 stderr.log; } >message.log; run 3 gemem-sim message.log; says out "PaddlePaddle's out-of-memory message"

# What the log says of the device and the allocator is taken for the replay.
run 0 gemem-sim replay -v -a ge-scalable "$ge"
says out 'capacity=32GiB'
run 0 gemem-sim compare -v -a 'ge-scalable' -a paddle-auto-growth "$paddle"

# Where the first lines are others', the prefix tells.
{ yes '[INFO] HCCL(1,a): nothing to see' | head -n 200; cat "$ge"; } > late
run 0 gemem-sim info late;    says out 'ge-runtime-log'
{ yes 'I1121 10:00:00.000000 140 executor.cc:1] nothing to see' | head -n 200; cat "$paddle"; } > late
run 0 gemem-sim info late;    says out 'paddle-log'
# Without any prefix the format is named.
{ yes 'nothing to see' | head -n 400; cat "$ge"; } > late
run 3 gemem-sim info late;    says err '--trace-format=NAME names it'
run 0 gemem-sim info --trace-format=ge-runtime-log late
done_testing
