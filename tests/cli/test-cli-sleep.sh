#!/bin/sh
# test-cli-sleep.sh - traces of memory that sleeps: both formats and their versions, what allocators do with it, programs that take turns.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# The example of peers.md 1j: weights of 20 + 20 MiB, a cache of 1 GiB, 64 MiB unused; then 1000 MiB are free for the cache, then 1024.
cat >engine.txt <<'END'
# gemem-trace: 3
region-begin pool=1 tag="weights"
alloc 1 size=20MiB pool=1
alloc 2 size=20MiB pool=1
region-end pool=1 aux=1
region-begin pool=2 tag="kv_cache"
alloc 3 size=1GiB pool=2
region-end pool=2 aux=1
alloc 4 size=64MiB
free 4
sleep tag="weights"
wake tag="weights"
alloc 5 size=88MiB
wake tag="kv_cache"
free 5
trim
wake
# end: 16
END
MiB=1048576
held () { awk -F, -v seq="$1" '$1 == seq { print $7 }' events.csv; } # after event number SEQ
is () { check "after event $1 the device holds $2 MiB" test "$(held "$1")" = $(($2 * MiB)); }
run 0 gemem-sim replay engine.txt -a pytorch-caching -d sim:capacity=1128MiB --check --events events.csv -o r.json
is 8 1128; is 9 0; is 10 40; is 11 128; is 12 128; is 14 40; is 15 1064
check 'host copies, the failed wake, what PyTorch says is reserved' python3 -c 'import json
r = json.load(open("r.json"))["results"][0]
MiB = 1 << 20
assert r["measures"]["peak_host_backup"] == 40 * MiB and r["values"]["end_host_backup"] == 0, r["measures"]
assert r["values"]["sleeps"] == 1 and r["values"]["ooms"] == 1 and r["values"]["failed_allocs"] == 0
oom = r["oom"][0]
assert oom["wake"] and oom["seq"] == 12 and oom["requested"] == 1024 * MiB and oom["device_free"] == 1000 * MiB, oom
assert r["stats"]["reserved_bytes.all.current"] == 1064 * MiB and r["stats"]["sleep.host_bytes.peak"] == 40 * MiB'
run 0 gemem-sim replay -v engine.txt -a pytorch-caching -d sim:capacity=1128MiB
says out '^  1 time memory was put to sleep'; says out '^  host copies +40.00 MiB  41943040 bytes'
says out '^  event 12: waking 1.000 GiB \[kv_cache\] failed with 128.0 MiB live, 128.0 MiB allocated, 128.0 MiB reserved of 1.102 GiB'
run 4 gemem-sim replay -v engine.txt -a pytorch-caching -d sim:capacity=1128MiB --fail-on-oom
run 0 gemem-sim replay engine.txt -a pytorch-caching --find-capacity -o r.json
check 'the least capacity is what is needed at once' grep -q '"least_capacity": 1207959552' r.json
run 0 gemem-sim compare engine.txt -a pytorch-caching -f csv; says out ',peak_host_backup,histories_least,'; says out ',41943040,,,$'
run 0 gemem-sim plot r.json -f csv --columns peak_host_backup; says out ',41943040$'
# ---- level 2 keeps only what the program says; pausing copies what the pool asks for
sed 's/^sleep.*/sleep size=1000/' engine.txt >two.txt
run 0 gemem-sim replay -v two.txt -a pytorch-caching --check; says out '^  host copies .* 1000 bytes'
sed 's/^sleep.*/pause tag="kv_cache"/; /^wake tag="weights"/d; s/16$/15/; s/^region-begin pool=2/& aux=1/' engine.txt >pause.txt
run 0 gemem-sim replay -v pause.txt -a pytorch-caching --check; says out '^  host copies +1.000 GiB'
sed 's/^sleep.*/pause/; s/^wake tag="weights"/pause/' engine.txt >twice.txt
run 3 gemem-sim replay -v twice.txt -a pytorch-caching; says err "twice.txt:event 10: memory of 'weights' is paused that sleeps already, .*; wake it first"
# ---- a block of memory that sleeps
printf '# gemem-trace: 3\nregion-begin pool=1 tag="x"\nalloc 1 size=20MiB pool=1\nfree 1\nsleep\nalloc 2 size=20MiB pool=1\nfree 2\n# end: 6\n' >fault.txt
run 0 gemem-sim replay -v fault.txt -a pytorch-caching --check
says out 'NOT ALLOWED: event 4: block 2 is allocated in memory that sleeps; using it faults'; says out '^  1 block allocated in memory that sleeps'
# ---- allocators whose memory does not sleep say so
run 0 gemem-sim compare -v engine.txt -a tf-bfc -a direct -a pytorch-caching --check
says out '^tf-bfc, direct: memory does not sleep here; 4 sleep, pause and wake events were passed over|^direct, tf-bfc: memory'
run 0 gemem-sim replay -v engine.txt -a direct; says out "^  4 sleep, pause and wake events passed over: this allocator's memory does not sleep"

# ---- formats
run 0 gemem-sim convert engine.txt engine.gmt; run 0 gemem-sim convert engine.gmt again.txt
run 0 gemem-sim convert again.txt again.gmt; check 'native and text hold the same' sh -c 'gemem-sim convert again.gmt - -f text | grep -v "^#" >a; gemem-sim convert engine.gmt - -f text | grep -v "^#" >b; test -s a && cmp a b'
check 'the text is version 3' test "$(head -n 1 again.txt)" = '# gemem-trace: 3'
check 'the native file is version 3' test "$(od -An -tu1 -j8 -N1 engine.gmt | tr -d ' ')" = 3
printf '# gemem-trace: 1\nalloc 1 size=1MiB\nfree 1\n# end: 2\n' >plain.txt
run 0 gemem-sim convert plain.txt plain.gmt; check 'what does not sleep stays version 1' test "$(od -An -tu1 -j8 -N1 plain.gmt | tr -d ' ')" = 1
sed '1s/3/2/' engine.txt >old.txt; run 3 gemem-sim info old.txt; says err "old.txt:2: 'region-begin' is an event of version 3; let the first line be '# gemem-trace: 3'"
run 0 gemem-sim info engine.gmt; says out 'region-begin 2, region-end 2, sleep 1, wake 3'; says out 'memory that sleeps counts as live here'
run 0 gemem-sim validate engine.gmt
sed 's/region-end pool=2 aux=1/region-end pool=5/' engine.txt >bad.txt; run 3 gemem-sim validate bad.txt; says out 'pool 5 ends but has not begun'
sed 's/wake tag="weights"/wake tag="wights"/' engine.txt >bad.txt; run 3 gemem-sim validate bad.txt; says out "wake names 'wights', which no pool is called"
sed 's/region-begin pool=1/region-begin/' engine.txt >bad.txt; run 3 gemem-sim validate bad.txt; says out 'region-begin names no private pool'
run 3 gemem-sim replay -v bad.txt -a pytorch-caching; says err 'event 0: the default pool is to sleep, which only a private pool can'
sed 's/tag="weights"/tag="alice-weights"/; s/^sleep.*/sleep tag="alice-weights,kv_cache"/' engine.txt >named.txt
run 0 gemem-sim convert --anonymous=names named.txt - -f text
says out '^region-begin pool=1 tag="tag1"'; says out '^sleep tag="tag1,tag2"'; says out '^wake tag="tag2"'
run 0 gemem-sim help region-begin; run 0 gemem-sim help wake_up

# ---- rollouts and training take turns: asleep, the rollouts leave training their memory
for part in rollout training; do run 0 gemem-sim generate "rlhf:part=$part,level=1" -o $part.gmt; run 0 gemem-sim generate "rlhf:part=$part,level=0" -o awake-$part.gmt; run 0 gemem-sim validate $part.gmt; done
run 0 gemem-sim replay -v --share-device rollout.gmt training.gmt -a pytorch-caching -d sim:capacity=15GiB --check --fail-on-oom
says out '^  host copies +2.031 GiB'
run 4 gemem-sim replay -v --share-device awake-rollout.gmt awake-training.gmt -a pytorch-caching -d sim:capacity=15GiB --fail-on-oom
run 0 gemem-sim generate rlhf:level=2,steps=2 -o both.gmt; run 0 gemem-sim replay -v both.gmt -a pytorch-caching --check; says out '^  host copies +16.00 MiB'
run 0 gemem-sim replay -v both.gmt -a pytorch-caching --repeat=2 --check
run 2 gemem-sim generate rlhf:level=3; says err 'level'
# ---- a wake that the device refuses: what was woken before it sleeps again, without its copy
cat >refused.txt <<'END'
# gemem-trace: 3
region-begin pool=1 tag="weights"
alloc 1 size=10GiB pool=1
alloc 2 size=10GiB pool=1
alloc 3 size=10GiB pool=1
region-end pool=1 aux=1
sleep tag="weights"
alloc 20 size=15GiB
wake tag="weights"
# end: 8
END
run 0 gemem-sim replay refused.txt -a pytorch-caching -d sim:capacity=32GiB --check -f json
says out '"sleep\.host_bytes\.current": 21474836480'; says out '"sleep\.host_bytes\.peak": 32212254720'; says out '"ooms": 1'

# ---- pools of the program's own with expandable segments, as releases of PyTorch have them; a layer that switches the setting off for its pools
for version in 2.10 2.15; do
  run 0 gemem-sim replay engine.txt -a pytorch-caching:expandable_segments=yes,version=$version; says out 'host copies +40\.00 MiB'; lacks out APPROXIMATION
done
run 0 gemem-sim replay engine.txt -a pytorch-caching:expandable_segments=yes,version=2.6,sleep_pools_expandable=yes; says out 'host copies +0 B'; lacks out APPROXIMATION
run 0 gemem-sim replay engine.txt -a pytorch-caching:expandable_segments=yes,version=2.6; says out 'host copies +40\.00 MiB'; says out 'APPROXIMATION: vLLM .*; if it does not, sleep_pools_expandable=yes$'
run 0 gemem-sim replay engine.txt -a pytorch-caching:version=2.6,sleep_pools_expandable=yes; says out 'host copies +40\.00 MiB'; lacks out APPROXIMATION
run 3 gemem-sim replay engine.txt -a pytorch-caching:expandable_segments=yes,version=2.8,sleep_pools_expandable=yes; says err 'event 0: PyTorch 2\.8 refuses such a pool with expandable_segments'
done_testing
