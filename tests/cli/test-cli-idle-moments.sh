#!/bin/sh
# test-cli-idle-moments.sh - `info --idle`: who holds the idle memory at the peak, at a failure, after any event; the rows add up, and are those of replay.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

idle () { run 0 gemem-sim info "$@"; }
# adds_up: in the last JSON output, the bytes of each answer's rows are what is reserved and not in use.
adds_up () { check "the rows add up${1:+ ($1)}" jq -e 'length > 0 and all(([.idle[].bytes] | add // 0) == .reserved_bytes - .live_bytes)' "$out"; }

# ---- figures that can be computed by hand
cat >small.txt <<'END'
# gemem-trace: 4
# allocator: "pytorch-caching"
# device: "capacity=64MiB"
alloc 1 size=30MiB stream=7
free 1
alloc 2 size=20MiB
free 2
alloc 3 size=40MiB
# end: 5
END
idle small.txt --idle
says out '^small\.txt: pytorch-caching, device 0 of the recording$'
says out '^idle at the reserved peak, event 2, an event of stream 0x0: 30\.00 MiB of 50\.00 MiB held$'
says out '^ +30\.00 MiB  free in the cache of another stream, 0x7$'
idle small.txt --idle=3; says out '^idle after event 3, an event of stream 0x0: 50\.00 MiB of 50\.00 MiB held$'
says out '^ +20\.00 MiB  free in 1 whole segment, returned by emptying the cache$'
idle small.txt --idle=0; says out '^nothing is idle after event 0: 30\.00 MiB held$'
idle small.txt --idle=1 --format=json; adds_up
check 'in JSON' jq -e '.[0] | .at == "1" and .event == 1 and .reserved_bytes == 31457280 and .live_bytes == 0 and .idle[0].cause == "streams"' "$out"
idle small.txt --idle=4 -a direct; says out '^nothing is idle after event 4: 40\.00 MiB held$'
run 3 gemem-sim info small.txt --idle=failure; says err 'small\.txt: no request fails; use --idle=peak, or a smaller device'
idle small.txt --idle=failure -d sim:capacity=36MiB; says out '^nothing is idle at the first failure, event 4: 0 B held$' # all was returned before it failed

# ---- moments that are none
run 3 gemem-sim info small.txt --idle=5; says err 'small\.txt: there is no event 5; write --idle=N with N from 0 to 4, or peak, failure$'
run 2 gemem-sim info small.txt --idle=peek; says err 'did you mean peak\? write peak, failure or the number of an event'
run 2 gemem-sim info small.txt --idle=-1; says err 'write peak, failure or the number of an event'
run 2 gemem-sim info small.txt --idle --by=line; says err 'give one'
run 2 gemem-sim info small.txt --idle -a 'pytorch-caching:max_split_size_mb=20|40'; says err 'one allocator'

# ---- an event of another device: the state of each device then; before its first event it holds nothing
cat >two.txt <<'END'
# gemem-trace: 4
# allocator: "pytorch-caching"
alloc 1 size=30MiB
free 1
alloc 2 size=20MiB device=1
free 2 device=1
# end: 4
END
idle two.txt --idle=1 --format=json; adds_up
check 'device 0 has cached, device 1 holds nothing yet' jq -e '[.[] | [.device, .event, .reserved_bytes]] == [[0, 1, 31457280], [1, 1, 0]]' "$out"
idle two.txt --idle=3 --format=json; adds_up
check 'device 0 stands as after its last event' jq -e '[.[] | .reserved_bytes] == [31457280, 20971520]' "$out"

# ---- real recordings: as replay has it, and exact at every moment that is tried
recorded=$GEMEM_SRCDIR/traces/recorded
idle "$recorded/gpt2-train-too-short.gmt" --idle=failure --format=json; adds_up; cp "$out" failure.json
run 0 gemem-sim replay "$recorded/gpt2-train-too-short.gmt" --format json
check 'at the failure as replay has it' jq -e --slurpfile info failure.json '.results[0].idle_at_failure == $info[0][0].idle and .results[0].oom[0].seq == $info[0][0].event' "$out"
for name in gpt2-train-expandable gpt2-train-stacks llama-decode resnet50-train-split; do
  idle "$recorded/$name.gmt" --idle --format=json; adds_up "$name"; cp "$out" peak.json
  run 0 gemem-sim replay "$recorded/$name.gmt" --format json
  check 'at the peak as replay has it' jq -e --slurpfile info peak.json '.results[0] as $r | $info[0][0] | .idle == $r.idle and .reserved_bytes == $r.values.idle_reserved and .event == $r.values.peak_reserved_seq' "$out"
  for event in 0 1 777 2000; do idle "$recorded/$name.gmt" --idle=$event --format=json; adds_up "$name, $event"; done
done
peak=$(jq '.[0].event' peak.json)
idle "$recorded/resnet50-train-split.gmt" --idle="$peak" --format=json
check 'the peak by its number' jq -e --slurpfile info peak.json '.[0].idle == $info[0][0].idle' "$out"
done_testing
