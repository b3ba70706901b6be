#!/bin/sh
# test-cli-refused-programs.sh - snapshots of small programs that run out of memory (tests/data/pytorch-refused): what is said that they need is what PyTorch 2.11 needed when the
# program was run on devices of other sizes, and no line is offered with which it did not end.  long-dry-refused.sh runs them again.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
data=$GEMEM_SRCDIR/tests/data/pytorch-refused

# least NAME MIB: it is said to need a device of so much, on which the program ends and below which it does not.
least () { run 4 gemem-sim "$data/$1.pickle.gz" -q -f json; check "$1 needs $2 MiB" jq -e ".[0].needed_bytes == $2 * 1048576" "$out"; }
# fit MIB: each line offered fits the device that it had.
fit () { check "no line needs more than $1 MiB" jq -e "[.[0].lines[].needed_bytes] | all(. <= $1 * 1048576)" "$out"; }
# reason REGEX
reason () { check "why: $1" jq -e ".[0].failure.reason | test(\"$1\")" "$out"; }

least pages 1040; fit 1024; reason '^fragmentation' # 44 MiB of the device were free, which the refusal hid
least in_pool 520; reason '^kept in pools: 200.0 MiB free in the default pool'; check 'no line is offered' jq -e '.[0].lines == []' "$out"
least beside_pool 510; fit 480
least released 760
least full 576; fit 512; check 'the device is known' jq -e '.[0].capacity_bytes == 512 * 1048576' "$out"

# ---- half of the device was the program's, which no line takes for the whole
run 4 gemem-sim "$data/part.pickle.gz" -q -f json; fit 512
reason '^a limit of the program .the device had 530.0 MiB free.; 204.2 MiB of the 494.0 MiB held are not in use$'
check 'half of a device of 1056 MiB would do' jq -e '.[0].needed_of_limit and .[0].needed_bytes == 528 * 1048576' "$out"
run 0 gemem-sim info "$data/part.pickle.gz"; says out 'device: what the program held at most, as a limit of its own refused more'

# ---- a program of dry-advice.py, which ran out of memory with each of two lines, as its blocks lay elsewhere: none is offered that hangs on addresses
run 4 gemem-sim "$data/orders.gmt" -q -f json; check 'no line that hangs on addresses' jq -e '.[0].lines == []' "$out"
run 0 gemem-sim replay "$data/orders.gmt" -a pytorch-caching:conf=roundup_power2_divisions:8 -q; says out '^every request was served'
run 0 gemem-sim replay "$data/orders.gmt" -a pytorch-caching:conf=roundup_power2_divisions:8 -q -d sim:capacity=2098200576,address=bump; says out '^does not fit: 1 of'

# 10 MiB are free for a request of 5 MiB, for which the allocator takes 20: no limit
printf '# gemem-trace: 4\n# allocator: "pytorch-caching"\nalloc 1 size=90MiB\nalloc 2 size=5MiB\n# end: 2\n' >takes.txt
run 4 gemem-sim takes.txt -d 100MiB -f json; reason '^what the allocator takes at a time is more than the request .the device had 10.00 MiB free.$'
# 1 MiB is left of 100: nothing that a setting gains is the answer, and what is offered has little more
printf '# gemem-trace: 4\n# allocator: "pytorch-caching"\nalloc 1 size=66MiB\nalloc 2 size=33MiB\nalloc 3 size=1MiB\n# end: 3\n' >full.txt
run 4 gemem-sim full.txt -d 100MiB -f json; reason '^too little is left .99.00 MiB of the 100.0 MiB held are in use.$'
printf '# gemem-trace: 4\n# allocator: "pytorch-caching"\nalloc 1 size=660MiB\nalloc 2 size=331MiB\nalloc 3 size=512KiB\noom size=2MiB\n# end: 4\n' >tight.txt
run 4 gemem-sim tight.txt -d 1006MiB; says out '^That request, and perhaps no more, fits with, '
# ... the same said by its environment: the device is whole, and the part is counted once
run 4 gemem-sim "$data/part_conf.pickle.gz" -q -f json; reason "^the program's limit, per_process_memory_fraction=0.5 .the device had 512.0 MiB free."
check 'the device is 1024 MiB, and each decision is replayed' jq -e '.[0] | .capacity_bytes == 1024 * 1048576 and .decisions_compared == .decisions_equal' "$out"

# a part of the device that the program allowed itself, as a recording of it says
printf '# gemem-trace: 4\n# allocator: "pytorch-caching"\n# settings: "per_process_memory_fraction=0.5,version=2.11"\nalloc 1 size=40MiB\nalloc 2 size=30MiB\n# end: 2\n' >half.txt
run 4 gemem-sim half.txt -d 100MiB -f json; reason "^the program's limit, per_process_memory_fraction=0.5 .the device had 60.00 MiB free.$"

# ---- what came before the recording
run 3 gemem-sim "$data/middle.pickle.gz" --capacity 300MiB; says out '^It cannot be told whether it fits: the recording begins in the middle, where the program held more$'
run 0 gemem-sim "$data/middle.pickle.gz" --capacity 600MiB; says out '^It fits, from where the recording begins: it needs 400.0 MiB of 600.0 MiB'
says out '; from what was alive at its beginning none needs$' # not what was held before, which the replays of other settings do not begin with
# ... nor how many calls the settings that it had made until then: of the whole program 18 more are needed, 94 where the replay begins with nothing
run 4 gemem-sim "$data/ring.pickle.gz"; says out '^It may fit with, as replays from what was alive at its beginning do:$'; says out '^      960\.0 MiB, 66\.00 MiB \(6\.4 %\) less$'
run 4 gemem-sim "$data/ring.pickle.gz" -f json; check 'JSON: as little' jq -e '.[0].lines[0] | has("device_calls_more") and .device_calls_more == null' "$out"
# ... and in a table a setting that changes nothing is not 94 % less, as it does not start from the cache of then
run 0 gemem-sim compare "$data/middle.pickle.gz"; says out '^27 other settings were tried, which need no less'; lacks out 'max_split_size_mb'
run 0 gemem-sim compare "$data/middle.pickle.gz" -a pytorch-caching -a pytorch-caching:max_split_size_mb=20; says out 'max_split_size_mb=20 .* 24\.00 MiB +- '; says out '^pytorch-caching alone starts from the 400\.0 MiB reserved when the recording begins'
lacks out '94\.0 %'
run 0 gemem-sim compare "$data/middle.pickle.gz" -a pytorch-caching -a direct -a pytorch-caching:expandable_segments=yes; lacks out '90\.0 %'
# the replay serves what the program was refused, as the snapshot does not name the pool that was gone: with the best of its lines PyTorch was refused the same
run 3 gemem-sim "$data/gone_pool.pickle.gz"; says out 'in which a request was$'; says out '^  refused that it serves\.'; says out 'none is offered by such a replay'; lacks out 'export|As far as it goes'
done_testing
