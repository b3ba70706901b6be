#!/bin/sh
# test-cli-idle.sh - who holds the idle memory, by cause: figures that can be computed by hand, rows that add up, text and JSON alike, replay and advise.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# trace FILE LINE...: a trace as text.
trace () {
  file=$1; shift
  { echo '# gemem-trace: 4'; case " $* " in *sleep*) echo '# flags: has-sleep' ;; esac; printf '%s\n' "$@"; echo "# end: $#"; } >"$file"
}
# of_lines FILE: the same from the lines of a file.
of_lines () { file=$1; set --; while read -r line; do set -- "$@" "$line"; done <lines; trace "$file" "$@"; }
torch () { file=$1; shift; run 0 gemem-sim replay -v "$file" -d sim:capacity=80GiB "$@"; }
# rows ARRAY RESERVED LIVE: the bytes of its rows in the last JSON output add up to the difference of the two numbers.
rows () { check "$1 adds up to reserved - live" jq -e ".results[0] | ([.$1[].bytes] | add // 0) == ($2) - ($3) and (.$1 | all(.bytes > 0))" "$out"; }
json () { run 0 gemem-sim replay "$@" --format json; }

# ---- free in the cache of another stream: of 32 GiB 30 are idle in 30 streams
for stream in $(seq 0 31); do echo "alloc $((stream + 1)) size=1GiB stream=$stream"; [ "$stream" -gt 29 ] || echo "free $((stream + 1))"; done >lines
of_lines streams.txt
torch streams.txt -a pytorch-caching
says out '^idle at the reserved peak, an event of stream 0x1f: 30\.00 GiB of 32\.00 GiB held$'
says out '^ +30\.00 GiB  free in the caches of 30 other streams \(stream 0x0: 1\.000 GiB\)$'
trace two.txt 'alloc 1 size=30MiB stream=7' 'free 1' 'alloc 2 size=20MiB'
torch two.txt -a pytorch-caching; says out '^idle at the reserved peak, an event of stream 0x0: 30\.00 MiB of 50\.00 MiB held$'
says out '^ +30\.00 MiB  free in the cache of another stream, 0x7$'
json two.txt -a pytorch-caching; rows idle '.values.idle_reserved' '.values.idle_live'
check 'the same in JSON' jq -e '.results[0] | .idle == [.idle[0]] and (.idle[0] | .cause == "streams" and .bytes == 31457280 and .count == 1 and .stream == "0x7") and .values.idle_stream == "0x0"' "$out"

# ---- in a private pool: the name, and whose hands it is in (issue 36, F06)
trace pool.txt 'pool-begin pool=1' 'alloc 1 size=60GiB pool=1' 'free 1' 'alloc 2 size=70GiB pool=1' 'free 2' 'pool-end pool=1' 'alloc 3 size=70GiB'
torch pool.txt -a pytorch-caching; says out '^idle at the first failure: 60\.00 GiB of 60\.00 GiB held$'
says out '^ +60\.00 GiB  free in private pool 1 \(the program allocates there now\)$'
lacks out '^idle at the reserved peak' # nothing was: the block was in use
trace pool-ended.txt 'pool-begin pool=1' 'alloc 1 size=60GiB pool=1' 'free 1' 'pool-end pool=1' 'alloc 3 size=70GiB'
torch pool-ended.txt -a pytorch-caching; says out '^ +60\.00 GiB  free in private pool 1 \(not released by the program\)$'
json pool-ended.txt -a pytorch-caching -d sim:capacity=80GiB; rows idle_at_failure '.oom[0].reserved' '.oom[0].live'
trace pools.txt 'alloc 1 size=30MiB pool=1' 'alloc 2 size=40MiB pool=2' 'free 1' 'free 2' 'pool-release pool=2' 'alloc 3 size=20MiB'
torch pools.txt -a pytorch-caching; says out '^ +70\.00 MiB  free in 2 pools, 40\.00 MiB of it in private pool 2 \(released by the program\)$'

# ---- whole segments: emptying the cache returns exactly as much
trace whole.txt 'alloc 1 size=30MiB' 'free 1' 'alloc 2 size=40MiB'
torch whole.txt -a pytorch-caching; says out '^ +30\.00 MiB  free in 1 whole segment, returned by emptying the cache$'
trace emptied.txt 'alloc 1 size=30MiB' 'free 1' 'alloc 2 size=40MiB' 'trim'
json emptied.txt -a pytorch-caching; check 'and so it does' jq -e '.results[0] | .values.peak_reserved - .values.end_reserved == .idle[0].bytes and .idle[0].cause == "returnable"' "$out"
json emptied.txt -a pytorch-caching:expandable_segments=yes; rows idle '.values.idle_reserved' '.values.idle_live'

# ---- the rest of a segment, and the block that keeps it
trace pinned.txt 'alloc 1 size=4MiB' 'alloc 2 size=6MiB' 'free 2' 'alloc 3 size=30MiB' # 1 and 2 share a segment of 20 MiB
torch pinned.txt -a pytorch-caching; says out '^idle at the reserved peak: 16\.00 MiB of 50\.00 MiB held$'; says out '^ +16\.00 MiB  free rest of the segment of block 1 \(4\.000 MiB\)$'
trace several.txt 'alloc 1 size=4MiB' 'alloc 2 size=6MiB' 'alloc 3 size=2MiB' 'free 1' 'alloc 4 size=30MiB'
torch several.txt -a pytorch-caching; says out '^ +12\.00 MiB  free rest of the segment of block 2 \(6\.000 MiB\) and 1 more in use$'
for i in 1 2 3 4 5; do printf 'alloc %s size=9MiB\nalloc 9%s size=11MiB\n' "$i" "$i"; done >lines; printf 'free 9%s\n' 1 2 3 4 5 >>lines; echo 'alloc 7 size=300MiB' >>lines
of_lines many.txt
torch many.txt -a pytorch-caching; check 'three segments by name' test "$(grep -c 'free rest of the segment of block [1-5] (9\.000 MiB)$' "$out")" -eq 3
says out '^ +22\.00 MiB  free rest of 2 segments that blocks keep$'
json many.txt -a pytorch-caching; rows idle '.values.idle_reserved' '.values.idle_live'

# ---- blocks that max_split_size keeps whole: free, and in use for less than they are
trace oversize.txt 'alloc 1 size=50MiB' 'free 1' 'alloc 2 size=10MiB'
torch oversize.txt -a pytorch-caching:max_split_size_mb=20; says out '^ +50\.00 MiB  in 1 large block that max_split_size keeps whole$'
trace unsplit.txt 'alloc 1 size=50MiB' 'free 1' 'alloc 2 size=40MiB' 'alloc 3 size=60MiB'
torch unsplit.txt -a pytorch-caching:max_split_size_mb=20; says out '^ +10\.00 MiB  in 1 large block that max_split_size keeps whole$'
torch unsplit.txt -a pytorch-caching; lacks out 'max_split_size keeps'

# ---- waiting for streams: asking again would do, so no block is in the way
trace waiting.txt 'pool-begin pool=1 aux=1' 'alloc 1 size=30MiB pool=1' 'use-on-stream 1 stream=7' 'free 1' 'alloc 2 size=40MiB pool=1'
torch waiting.txt -a pytorch-caching; says out '^ +30\.00 MiB  in 1 freed block that streams may still use$'
trace held.txt 'pool-begin pool=1 aux=1' 'alloc 1 size=30MiB pool=1' 'alloc 2 size=30MiB pool=1' 'use-on-stream 1 stream=7' 'free 1' 'alloc 3 size=30MiB pool=1'
run 0 gemem-sim replay held.txt -a pytorch-caching -d sim:capacity=64MiB; says out 'avoidable: .*'
check 'no block is in the way' sh -c 'tr "\n" " " <"$1" | sed "s/  */ /g" >flat && grep -q "what is freed and waits for its streams would do, so the same request fits when they are done" flat && ! grep -q "without block" flat' sh "$out"
says out '^ +30\.00 MiB  in 1 freed block that streams may still use$'
json held.txt -a pytorch-caching -d sim:capacity=64MiB; check 'the same in JSON' jq -e '.results[0].oom[0] | .waiting and .blocking_id == 0' "$out"; rows idle_at_failure '.oom[0].reserved' '.oom[0].live'

trace completed.txt 'alloc 1 size=30MiB' 'free-requested 1' 'alloc 2 size=40MiB' 'free-completed 1' # live until its completion, so not idle
json completed.txt -a pytorch-caching; check 'what the trace completes later is in use' jq -e '.results[0].idle == []' "$out"

trace given-up.txt 'alloc 1 size=6MiB' 'alloc 2 size=4MiB' 'free-requested 2' 'alloc 3 size=45MiB' 'free-completed 2' # of 20 MiB 10 are live, though PyTorch waited for the 4 and has 14 free
json given-up.txt -a pytorch-caching -d sim:capacity=60MiB; rows idle_at_failure '.oom[0].reserved' '.oom[0].live'
check 'what is live is not idle too' jq -e '[.results[0].idle_at_failure[] | [.cause, .bytes, .id]] == [["pinned", 10485760, 1]]' "$out"

# ---- rounding
trace rounding.txt 'alloc 1 size=100' 'alloc 2 size=600' # the peak is at once: a block of 512 bytes in a segment of 2 MiB
json rounding.txt -a pytorch-caching; rows idle '.values.idle_reserved' '.values.idle_live'
check 'rounding and the rest' jq -e '[.results[0].idle[] | [.cause, .bytes]] == [["pinned", 2096640], ["rounding", 412]]' "$out"

# ---- memory that sleeps is not idle: it is not held
trace asleep.txt 'region-begin pool=1 tag="weights"' 'alloc 1 size=100MiB pool=1' 'region-end pool=1' 'alloc 2 size=30MiB' 'free 2' 'sleep' 'alloc 3 size=400MiB'
json asleep.txt -a pytorch-caching; rows idle '.values.idle_reserved' '.values.idle_live'

# ---- every allocator: the rows add up, at the peak and at the first failure
for workload in random:events=3000,live=200,streams=3 graph-capture:steps=30,recapture=10 data-loading; do
  gemem-sim generate "$workload" -s 4 -o step.gmt
  peak=$(gemem-sim replay step.gmt -a direct --format json | jq '.results[0].values.peak_live')
  for capacity in 80GiB "$((peak * 11 / 10))"; do
    gemem-sim replay step.gmt -a '*' -d "sim:capacity=$capacity" --format json >all.json 2>/dev/null
    check "all allocators, $workload, capacity $capacity" jq -e '(.results | length) > 20 and ([.results[] | select((.values.idle_known | not) and .values.peak_reserved > 0)] == [])
      and ([.results[] | select(([.idle[].bytes] | add // 0) != ([.values.idle_reserved - .values.idle_live, 0] | max)) | .label] == [])
      and ([.results[] | select((.idle_at_failure | length) > 0 and ([.idle_at_failure[].bytes] | add) != .oom[0].reserved - .oom[0].live) | .label] == [])' all.json
  done
done
check 'some failed' jq -e '[.results[] | select((.idle_at_failure | length) > 0)] | length > 3' all.json
run 0 gemem-sim plot all.json -f json; check 'a saved result keeps the rows' sh -c 'test "$(jq -c "[.results[].idle]" all.json)" = "$(jq -c "[.results[].idle]" "$1")"' sh "$out"

# ---- brief: what matters, no wider than a screen; the rest in one line
run 0 gemem-sim replay many.txt -a pytorch-caching; check 'three rows and the rest' sh -c 'sed -n "/^idle/,\$p" "$1" | grep -c iB | grep -qx 5' sh "$out"
check "no line wider than 100" sh -c '! grep -q ".\{101\}" "$1"' sh "$out"
run 0 gemem-sim replay two.txt -a direct; lacks out '^idle'
run 0 gemem-sim replay --share-device two.txt whole.txt -a pytorch-caching -d sim:capacity=1GiB

# ---- advise: the rows, and the cause in the reason
run 4 gemem-sim advise pool-ended.txt --for pytorch -d sim:capacity=80GiB --details
check 'the pool is named' sh -c 'tr "\n" " " <"$1" | sed "s/  */ /g" | grep -q "Why: kept in pools: 60.00 GiB free in private pool 1 (not released by the program)\."' sh "$out"
says out '^idle at the first failure: 60\.00 GiB of 60\.00 GiB held$'
run 4 gemem-sim advise pool-ended.txt --for pytorch -d sim:capacity=80GiB --format json; check 'JSON has them' jq -e '.[0].idle_at_failure[0] | .cause == "pools" and .bytes == 64424509440 and .pool == 1' "$out"
run 4 gemem-sim advise held.txt --for pytorch -d sim:capacity=64MiB; says out 'freed memory waits for its streams|Why: freed memory'

# Of another stream 10 MiB are left beside a block; the device has 20 MiB.
trace beside.txt 'alloc 1 size=4MiB stream=7' 'alloc 2 size=16MiB stream=7' 'free 2' 'alloc 3 size=24MiB'
run 4 gemem-sim advise beside.txt --for pytorch -d sim:capacity=40MiB
says out "other streams' caches: 16\.00 MiB free in the cache of another stream, 0x7\."
trace short.txt 'alloc 1 size=4MiB stream=7' 'alloc 2 size=16MiB stream=7' 'free 2' 'alloc 4 size=4MiB' 'alloc 5 size=6MiB' 'alloc 6 size=10MiB' 'free 5' 'free 6' 'alloc 3 size=26MiB'
run 4 gemem-sim advise short.txt --for pytorch -d sim:capacity=46MiB; says out '^  fragmentation \(32\.00 MiB of the 40\.00 MiB held are not in use\)'

# ---- real recordings
if shared gpu/h100/recordings; then
  recordings=$GEMEM_SHARED/gpu/h100/recordings
  run 0 gemem-sim replay "$recordings/gpt2-train-too-short.pickle.gz"; says out '^idle at the first failure: [0-9.]+ MiB of 1\.287 GiB held$'
  run 0 gemem-sim replay "$recordings/resnet50-train-split.pickle.gz" -v; says out 'in [0-9]+ large blocks that max_split_size keeps whole$'
  for recording in "$recordings"/*.pickle.gz; do json "$recording"; rows idle '.values.idle_reserved' '.values.idle_live'; done
  for name in gpt2-train llama-train resnet50-train; do # emptied at the peak, the cache returns what it is said to return
    gemem-sim convert -q "$recordings/$name.pickle.gz" whole.txt
    last=$(gemem-sim replay whole.txt --format json | jq '.results[0].values.peak_reserved_seq')
    awk -v n=$((last + 1)) '/^#/ { if (!/^# end/) print; next } n > events { print; events++ } END { print "trim"; print "# end: " n + 1 }' whole.txt >cut.txt
    json cut.txt; check "$name: as much as is said" jq -e '.results[0] | [.idle[] | select(.cause == "returnable").bytes] == [.values.idle_reserved - .values.end_reserved] and .idle[0].bytes > 100000000' "$out"
  done
else
  skip 'recordings of an H100' "no $GEMEM_SHARED/gpu/h100/recordings"
fi

done_testing
