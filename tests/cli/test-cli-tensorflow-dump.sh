#!/bin/sh
# test-cli-tensorflow-dump.sh - logs in which TensorFlow ran out of memory: info shows the state, a replay starts from it and fails as TensorFlow did.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

data=$GEMEM_SRCDIR/tests/data/tensorflow

run 0 gemem-sim info "$data/cpu-oom.log"
says out 'format  *tensorflow-dump'
says out 'bfc_cpu_allocator_for_gpu at line 7: 5 regions of 65011712 bytes, 6 chunks in use, 5 free'
says out 'live at the start .*\(37748992 bytes\) in 6 blocks'
says out 'peak reserved, recorded .*\(65011712 bytes\)'
says out '1 request ran out of memory'
run 4 gemem-sim "$data/cpu-oom.log"; lacks out 'pinned|PyTorch'; says out 'than the 48\.00 MiB in use at once\.$' # rounding of another system's
run 0 gemem-sim replay -v "$data/cpu-oom.log" -a tf-bfc
says out 'block 7 of 12.00 MiB .RandomStandardNormal. failed with 36.00 MiB live, 36.00 MiB allocated, 62.00 MiB reserved of 64.00 MiB'
says out 'avoidable: .* its largest piece; without block 2 .4.000 MiB. it would fit'
says out 'reproduces the recording exactly: 1 of 1 decisions$'

# The limit was recorded too: a larger device does not help, and the report says what stands in the way.
run 0 gemem-sim replay -v "$data/whole.log" -a tf-bfc -d sim:capacity=1GiB --find-capacity
says out 'device has 768.0 MiB free .* in its largest piece; without block 16 .26.35 MiB. it would fit'
says out '^  least capacity +none'; says out '^  .it fails on a device of any size: a limit of the allocator.s own, or '
run 0 gemem-sim replay -v "$data/whole.log" -a tf-bfc -d sim:capacity=1GiB --no-trace-settings
says out '^  failed +0$'
printf '# gemem-trace: 1\nalloc 1 size=12MiB\nalloc 2 size=100MiB\n# end: 2\n' > large.txt
run 0 gemem-sim replay -v large.txt -a tf-bfc:limit=64MiB -d sim:capacity=1GiB
says out 'largest piece; it is not memory that lacks: the allocator has a limit of its own, or takes more at a time$'

for name in cpu-oom timestamps whole two; do
  run 0 gemem-sim validate "$data/$name.log"
  says out 'valid .tensorflow-dump.'
  run 0 gemem-sim replay -v -a tf-bfc -a ort-bfc -a pytorch-caching "$data/$name.log"
  run 0 gemem-sim replay -v -a tf-bfc "$data/$name.log"
  says out 'reproduces the recording exactly: 1 of 1 decisions$'
  check 'every device fails as TensorFlow did' sh -c "! grep 'fidelity: 0' '$out'"
  run 0 gemem-sim convert "$data/$name.log" "$name.gmt"
  run 0 gemem-sim replay -v -a tf-bfc "$name.gmt"
  says out 'reproduces the recording exactly: 1 of 1 decisions$'
done

# As collectors of logs pass it on, nothing is lost: JSON of Docker and of clouds, colours, times in front.
wraps () { # NAME SED...
  name=$1; shift
  sed "$@" "$data/whole.log" >"$name"
  run 4 gemem-sim "$name"; says out '^  18\.76 MiB fails, event 17\. Why: fragmentation \(32\.94 MiB'; says out 'replayed exactly$'
}
tab=$(printf '\t'); escape=$(printf '\033')
wraps docker.log "s/\"/\\\\\"/g; s/$tab/\\\\t/g; s/.*/{\"log\":\"&\\\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-30T22:00:00.1Z\"}/"
wraps cloud.log "s/\"/\\\\\"/g; s/$tab/\\\\t/g; s/.*/{\"severity\": \"ERROR\", \"message\": \"&\", \"pid\": 7}/"
wraps colours.log "s/.*/$escape[31m&$escape[0m/"
wraps times.log 's/^/2026-11-30T22:00:00.123456789Z stderr F /'
check 'as Docker writes it' grep -q '^{"log":".*dump for GPU_0_bfc\\n","stream":' docker.log
check 'with its tabs' grep -q '^{"log":.*Bin (256): \\tTotal Chunks' docker.log

# A log of hours before the dump, compressed, as it comes.
{ head -n 1 "$data/whole.log"; yes '2026-01-01 10:00:00.000000: I tensorflow/core/x.cc:1] step' | head -n 20000; cat "$data/whole.log"; } | gzip > train.log.gz
run 0 gemem-sim info train.log.gz
says out 'earlier dumps of the same allocators are left out'

# The state goes on: 2 MiB more fit where a region is left under the limit, the next region has the recorded size.
gemem-sim convert "$data/cpu-oom.log" state.txt
{ sed '/^# end/d; /failed/d' state.txt; echo 'alloc 90 size=2097152 device=host'; echo 'free 90 device=host'; echo 'alloc 91 size=12582912 device=host'; echo '# end: 14'; } > more.txt
run 0 gemem-sim replay -v more.txt -a tf-bfc
says out 'regions  *5'
run 0 gemem-sim replay -v more.txt -a tf-bfc -d sim:capacity=1GiB --no-trace-settings
says out 'regions  *6'

run 3 gemem-sim info --trace-device=5 "$data/two.log"
says err 'two.log:1: the log has no dump of device 5; leave the choice of a device out'
head -c 5000 "$data/cpu-oom.log" > cut.log
run 3 gemem-sim info cut.log
says err 'cut.log:[0-9]*: in the dump of bfc_cpu_allocator_for_gpu .*: fetch it again'
head -c 8300 "$data/cpu-oom.log" > cut.log
run 3 gemem-sim info --allow-partial cut.log
says out 'the end is missing'
tac "$data/cpu-oom.log" > reversed.log
run 3 gemem-sim info reversed.log
says err 'reversed.log:[0-9]*: .*fetch it again'
grep -v 'InUse at 7' "$data/cpu-oom.log" > lines.log
run 3 gemem-sim replay -v -a tf-bfc lines.log
says err 'lines.log:[0-9]*: in the dump of bfc_cpu_allocator_for_gpu '
head -c 100000 /dev/urandom > noise.log
run 3 gemem-sim info --trace-format=tensorflow-dump noise.log
says err 'noise.log:[0-9]*: '
: > empty.log
run 3 gemem-sim info --trace-format=tensorflow-dump empty.log
says err 'empty.log'

# What only a recorded state can set, and wrong values of it.
run 2 gemem-sim replay more.txt -a tf-bfc:curr_region_allocation_bytes=x
says err 'curr_region_allocation_bytes'
run 2 gemem-sim replay more.txt -a tf-bfc:curr_region_allocation_bytes=18446744073709551616
says err 'curr_region_allocation_bytes'
run 2 gemem-sim replay more.txt -a tf-bfc:curr_region_allocation_bytes=
says err 'curr_region_allocation_bytes'
# a limit below what was held, on a device that is large enough
run 3 gemem-sim replay -v "$data/whole.log" -a tf-bfc:limit=1MiB -d sim:capacity=1GiB
says err "within the allocator's limit.* give a larger capacity or limit"
done_testing
