#!/bin/sh
# test-cli-initial.sh - recordings that begin in the middle: what was live before is there in every command, with the figures that the file itself
# tells, and --without-initial leaves it out everywhere.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

data=$GEMEM_SRCDIR/tests/data/kineto
file=$data/middle-2.15.0.json.gz # allocated: 93207552 before, at most 217211392; reserved: 125829120, at most 247463936

run 0 gemem-sim validate "$file"
says out ': valid \(kineto\)'
run 0 gemem-sim info "$file"
says out "before: device 0: 81203200 bytes .* one block 'before the recording'"
says out 'live at the start .*\(93207552 bytes\) in 3 blocks'
says out 'peak live .*\(217211392 bytes\)'
says out 'peak reserved, recorded .*\(247463936 bytes\)'
says out '^in short, device 0: .*, the streams \(one is assumed\)'
run 0 gemem-sim replay -v "$file"
says out 'peak reserved .* 247463936 bytes'
says out 'peak live .* 217211392 bytes'
# What was held at the beginning, 120 MiB, has to fit; with other settings, other addresses, or where it does not, only what was alive then counts.
run 0 gemem-sim replay -v "$file" --find-capacity; says out 'least capacity .* 232783872 bytes'
run 0 gemem-sim replay -v "$file" -d sim:capacity=100MiB; says out '^  starts from the blocks alive at the beginning alone: the 120.0 MiB reserved then do not fit$'
run 0 gemem-sim compare -v "$file" -a pytorch-caching -d 'sim:capacity=100MiB|1GiB'; says out 'capacity=100MiB\): starts from the blocks alive'
run 3 gemem-sim replay -v "$file" -d sim:capacity=100MiB,address=recorded; says err 'give a larger capacity'
run 0 gemem-sim replay -v "$file" -d sim:address=bump; says out 'peak reserved .* 234881024 bytes'
check 'other addresses are no fault' sh -c '! grep -q reproduces "$1"' sh "$out"
run 0 gemem-sim replay -v "$file" -a pytorch-caching:max_split_size_mb=32; says out '217211392'
check 'nor are other settings' sh -c '! grep -q reproduces "$1"' sh "$out"
run 0 gemem-sim compare "$file" --zoo -f json
says out '"peak_live": 217211392'
check 'live before in every allocator that serves all' jq -e '[.results[].measures | select (.ooms == 0) | .peak_live] | length > 20 and unique == [217211392]' "$out"
gemem-sim convert "$file" middle.txt
check 'the name is kept' grep -q "^alloc .* size=81203200 .*tag=.*before the recording" middle.txt
run 0 gemem-sim validate middle.txt

for command in 'replay -a direct' 'compare -a direct' info 'plan -p first-fit-by-size'; do
  # shellcheck disable=SC2086 # words on purpose
  run 0 gemem-sim $command --without-initial -f json "$file"
  says out 136008192
done
run 0 gemem-sim convert --without-initial "$file" without.txt
check 'no initial event, and no free of one' sh -c '! grep -q initial without.txt && test "$(grep -c ^free without.txt)" = 3'
run 3 gemem-sim validate --without-initial "$file"
says out 'error: missing start'
run 0 gemem-sim help replay
says out 'without-initial'

# A trace of the profiler without one event about memory is not valid, and says what to do.
for version in 2.6.0 2.11.0 2.15.0; do
  run 3 gemem-sim validate "$data/plain-$version.json.gz"
  says err 'none of its [0-9]* trace events is about memory; record again .*profile_memory=True'
done

# Pages of memory_viz: what is inside is read as the snapshot it is; what export_memory_timeline() writes is named.
for page in "$GEMEM_SRCDIR"/tests/data/memory-viz/profile-plot-*; do
  run 0 gemem-sim validate --trace-device=0 "$page"
  says out 'valid \(memory-viz\)'
done
run 3 gemem-sim info "$data/timeline-2.6.0.html.gz"
says err 'a page of export_memory_timeline\(\) holds only a picture; record '

# ---- a profiler's trace tells the state only by addresses and totals
kineto () { # ADDRESS BYTES ALLOCATED RESERVED, four words an event
  printf '{"schemaVersion": 1, "traceEvents": ['
  time=100
  while [ $# -ge 4 ]; do
    printf '%s{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": %s, "args": {"Device Type": 1, "Device Id": 0, "Addr": %s, "Bytes": %s, "Total Allocated": %s, "Total Reserved": %s}}' \
      "$([ $time -eq 100 ] || echo ,)" $time $((0x7f0000000000 + $1)) "$2" "$3" "$4"
    time=$((time + 1)); shift 4
  done
  printf ']}\n'
}
K=1024 M=1048576
# all that is reserved is one page: what was alive before lies in it, before the first request
kineto $((700 * K)) $((512 * K)) $((1212 * K)) $((2 * M)) $((1212 * K)) $K $((1213 * K)) $((2 * M)) $((1212 * K)) -$K $((1212 * K)) $((2 * M)) >page.json
run 0 gemem-sim replay -q page.json; says out 'peak reserved +2\.000 MiB'; says out 'reproduces the recording exactly: 2 of 2'
# no space left for it in the page: a segment more, as before
kineto $((512 * K)) $((512 * K)) $((1212 * K)) $((2 * M)) $((1024 * K)) $((512 * K)) $((1724 * K)) $((2 * M)) >full.json
run 0 gemem-sim replay -q full.json; lacks out 'exactly: 2 of 2'
# a request that ends up to 1 MiB before another begins is in a segment of its own; one that ends exactly there need not be
for first in 33 34; do
  kineto 0 $((first * M)) $(((first + 2) * M)) $((68 * M)) $((34 * M)) $((32 * M)) $(((first + 34) * M)) $((68 * M)) >two.json
  run 0 gemem-sim convert -q two.json "two-$first.txt"
done
check 'two segments' grep -q 'segment-alloc size=35651584 addr=0x7f0000000000' two-33.txt
check 'one, as far as the file tells' grep -q 'segment-alloc size=69206016 addr=0x7f0000000000' two-34.txt

done_testing
