#!/bin/sh
# test-cli-above-least.sh - `compare --optimal`: what an allocator holds at its peak above the best placement, and which blocks keep it: those
# of a segment that are freed last.  In planted traces the cause is known, on recordings the rows add up.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
above () { run 0 gemem-sim compare -a pytorch-caching -a direct --optimal "$@"; }
sentence () { check "sentence: $1" sh -c "tr -s ' \n' ' ' <'$out' | grep -qE '$1'"; }
says_json () { check "JSON: $1" jq -e ".results[0] | $1" "$out"; }
# trace EVENT... - blocks 1, 2 and 3 share a segment of 20 MiB, of which 9 MiB and a rest of 1 MiB are free when block 4 needs 30 MiB
trace () {
  printf '%s\n' '# gemem-trace: 2' '# frame: "keep" "cache.py" 7' '# frame: "work" "train.py" 20' '# stack: 1' '# stack: 2' \
    'alloc 1 size=2MiB stack=1' 'alloc 2 size=9MiB stack=2' 'alloc 3 size=8MiB stack=2' 'free 2' 'alloc 4 size=30MiB stack=2' \
    "$@" "# end: $((5 + $#))"
}

# ---- of two blocks in the segment the one that is freed last keeps it, however small it is
trace 'free 4' 'free 3' 'free 1' >small.txt
above small.txt -v
says out '^10\.00 MiB of the peak of pytorch-caching are above the best placement$'
says out '^   9\.000 MiB  free in 1 segment, kept by 1 block \(2\.000 MiB\) allocated by cache\.py:7 keep$'
says out '^   1\.000 MiB  rounding of 3 blocks in use$'; lacks out 'of the peak of direct'
above small.txt; lacks out '^   9\.000 MiB'
sentence '10\.00 MiB of the peak of pytorch-caching are above the best placement: 9\.000 MiB beside blocks in use, kept by 1 block \(2\.000 MiB\) allocated by cache\.py:7 keep; 1\.000 MiB in the rounding of blocks\.'
above small.txt -f json
says_json '.values.least_placement == 41943040 and .above_least == {least: 41943040, bytes: 10485760, idle: 10485760, spare: 0, rows: [
  {cause: "pinned", bytes: 9437184, idle: 9437184, segments: 1, blocks: 1, size: 2097152, others: 0, id: 1, rest: false, by: "cache.py:7 keep"},
  {cause: "rounding", bytes: 1048576, idle: 1048576}]}'
check 'not where there is nothing above' jq -e '.results[1:] | all(.above_least == null)' "$out"
trace 'free 4' 'free 1' 'free 3' >large.txt
above large.txt -v; says out ' 9\.000 MiB  free in 1 segment, kept by 1 block \(8\.000 MiB\) allocated by train\.py:20 work$'

# ---- blocks that are never freed keep it together; the largest names the row
trace >never.txt
above never.txt -v; says out ' 9\.000 MiB  free in 1 segment, kept by 1 block \(8\.000 MiB\) allocated by train\.py:20 work and 1 of$'; says out '^              other places$'
# the end of an epoch frees nothing
above never.txt -v --repeat 2; says out ' kept by 1 block \(8\.000 MiB\) allocated by train\.py:20 work and 1 of$'
# without call stacks a block is named
sed 's/ stack=.//; /^# stack/d; /^# frame/d' small.txt >plain.txt
above plain.txt -v; says out ' 9\.000 MiB  free in 1 segment, kept by block 1 \(2\.000 MiB\)$'

# ---- what the best placement has idle at that moment is taken off, of rounding last: 57 MiB are in use later, 60 MiB were reserved
trace 'free 4' 'alloc 5 size=29MiB stack=2' 'alloc 6 size=9MiB stack=2' >later.txt
above later.txt -v
says out '^2\.000 MiB of the peak of pytorch-caching are above the best placement$'
says out '^   1\.000 MiB  of 9\.000 MiB free in 1 segment, kept by '; says out '^   1\.000 MiB  rounding of 3 blocks in use$'
says out '^  \(10\.00 MiB are idle then; the best placement has 8\.000 MiB idle then, too\)$'

# ---- beyond ten places the others are one row, and nothing gets lost
{ printf '%s\n' '# gemem-trace: 2'
  for i in $(seq 12); do printf '%s\n' "# frame: \"f\" \"p$i.py\" $i"; done; for i in $(seq 12); do echo "# stack: $i"; done
  for i in $(seq 12); do printf '%s\n' "alloc $((2 * i)) size=$((10240 - 256 * i))KiB stack=$i" "alloc $((2 * i + 1)) size=$((10240 - 256 * i))KiB"; done
  for i in $(seq 12); do echo "free $((2 * i + 1))"; done
  echo 'alloc 100 size=200MiB'; echo '# end: 37'; } >many.txt
above many.txt -f json
says_json '.above_least.rows | map(select(.cause == "pinned")) | length == 11 and (map(select(.rest)) == [.[10]] or (map(select(.rest)) | length == 1))'
says_json '(.above_least.rows | map(.bytes) | add) == .above_least.bytes and .above_least.bytes == .values.peak_reserved - .values.least_placement'
above many.txt -v; says out ' free in 2 segments, kept by blocks of other places$'; says out '^ +[0-9.]+ MiB  in [0-9] other ways$'
check '100 columns' sh -c "sed -n '/best placement\$/,\$p' '$out' | awk 'length > 100 { exit 1 }'"

# ---- recordings: the rows add up, for every allocator; the place that keeps most is named
recorded=$GEMEM_SRCDIR/traces/recorded
adds_up='[.results[] | select(.above_least)] | length > 1 and all((.above_least.rows | map(.bytes) | add) == .above_least.bytes
  and .above_least.bytes == .values.peak_reserved - .above_least.least and .above_least.idle - .above_least.spare == .above_least.bytes
  and ([.pins[].bytes] | add) == ([.idle[] | select(.cause == "pinned").bytes] | add))'
run 0 gemem-sim compare "$recorded/gpt2-train-stacks.gmt" "$recorded/resnet50-prefetch.gmt" -a pytorch-caching -a pytorch-expandable -a ge-scalable -a tf-bfc -a gmlake --optimal -f json
check 'rows add up' jq -e "$adds_up" "$out"
run 0 gemem-sim compare "$recorded/gpt2-train-stacks.gmt" -a pytorch-caching -a tf-bfc --optimal
sentence '404\.0 MiB of the peak of pytorch-caching are above the best placement: 209\.9 MiB beside blocks in use, 112\.5 MiB of it kept by 16 blocks \(149\.0 MiB\) allocated after record\.py:34 run; 178\.3 MiB in whole free segments; 15\.83 MiB otherwise\.'
run 0 gemem-sim compare "$recorded/gpt2-train-stacks.gmt" -a pytorch-caching -a tf-bfc; lacks out 'best placement'
if shared traces/pytorch/with-stacks; then
  run 0 gemem-sim compare "$GEMEM_SHARED"/traces/pytorch/with-stacks/* -a pytorch-caching -a pytorch-expandable -a tf-bfc --optimal -f json
  check 'rows of shared recordings add up' jq -e "$adds_up" "$out"
  check 'in most of them a place is named' jq -e '[.results[] | select(.above_least) | .above_least.rows | any(.by)] | (map(select(.)) | length) > length / 2' "$out"
fi
done_testing
