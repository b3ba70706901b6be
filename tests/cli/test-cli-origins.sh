#!/bin/sh
# test-cli-origins.sh - where a trace has call stacks or tags, replay, compare and validate name the line that allocated each block they name; a
# trace without any prints as before.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cat >named.txt <<'EOF'
# gemem-trace: 2
# frame: "load" "data.py" 30
# frame: "forward" "train.py" 212
# frame: "aten::mm" "" 0
# stack: 1
# stack: 3 2
alloc 1 size=1048576 stack=1
alloc 2 size=1048576 stack=1
alloc 3 size=1048576
alloc 4 size=1048576 tag="activation"
free 1
free 3
alloc 5 size=2097152 stack=2
# end: 7
EOF
sed '/^# frame\|^# stack/d; s/ stack=.*\| tag=.*//' named.txt >plain.txt

# A failed request, what stands in its way, the largest blocks at the peak, blocks never freed.
device='-d sim:capacity=4MiB'
# shellcheck disable=SC2086 # words on purpose, here and below
run 0 gemem-sim replay -v named.txt -a pytorch-caching $device
says out '^  event 6: block 5 of 2.000 MiB by train.py:212 forward \(aten::mm\) failed with 2.000 MiB live'
says out '; without block 2 \(1.000 MiB, allocated at event 1 by data.py:30 load\) it would fit$'
says out '^largest blocks at the live peak$'
says out '^ +1.000 MiB +1 +0  data.py:30 load$'
says out '^ +1.000 MiB +3 +2  after data.py:30 load$'
says out '^ +1.000 MiB +4 +3  after data.py:30 load \[activation\]$'
says out '^largest blocks never freed by the trace$'

# The same without names: nothing but the names is different.
sed '/^largest blocks/,/^$/d; s/ by train.py:212 forward (aten::mm)//; s/, allocated at event 1 by data.py:30 load//; s/ by data.py:30 load//; s/ after data.py:30 load//; s/ \[activation\]//; s/named/plain/' "$out" >expected
# shellcheck disable=SC2086
run 0 gemem-sim replay -v plain.txt -a pytorch-caching $device
check 'a trace without call stacks prints as before' cmp expected "$out"
check 'and names no line' sh -c "! grep -E 'largest blocks|allocated at| by (data|train)' '$out'"

# JSON, of compare too, and back.
# shellcheck disable=SC2086
run 0 gemem-sim compare named.txt -a pytorch-caching -a direct $device -f json -o c.json
run 0 cat c.json
says out '"origin": \{"event": 6, "initial": false, "by": "train.py:212 forward \(aten::mm\)"\}'
says out '"blocking_origin": \{"event": 1, "initial": false, "by": "data.py:30 load"\}'
says out '\{"id": 4, "size": 1048576, "origin": \{"event": 3, "initial": false, "by": "after data.py:30 load \[activation\]"\}\}'
run 0 gemem-sim replay "$GEMEM_SRCDIR/traces/recorded/gpt2-train-stacks.gmt" --map named.svg -o /dev/null
check 'the map: large blocks are labelled with their line' grep -q '<text class="name" [^>]*>after record.py:34 run</text>' named.svg
check 'small ones are not' test "$(grep -c '<text class="name"' named.svg)" = 8
check 'free parts are labelled with their cause' grep -q '<text class="why" [^>]*>in whole free segments</text>' named.svg
check 'and what lies idle is summed up' grep -q '>Idle: 360.0 MiB in whole free segments, 209.9 MiB beside blocks in use, 15.83 MiB in the rounding of' named.svg
run 0 gemem-sim replay "$GEMEM_SRCDIR/traces/recorded/gpt2-train-stacks.gmt" --map - -o report.txt
says out '^  0x7fadcc000000   100.0 MiB  free in 1 whole segment, returned by emptying the cache$'
says out '^  0x[0-9a-f]+   68.00 MiB  free rest of the segment of block 384 .32.00 MiB after record.py:34'
run 0 gemem-sim replay "$GEMEM_SRCDIR/traces/recorded/gpt2-train.gmt" --map plain.svg -o /dev/null
check 'none without lines' sh -c '! grep -q "class=.name" plain.svg'
run 0 gemem-sim plot c.json -o plots -f json
check 'saved results are read with their origins' grep -q '"by": "train.py:212 forward (aten::mm)"' "$out"

# The segment map: the first 4 MiB are the reserved peak.
# shellcheck disable=SC2086
run 0 gemem-sim replay named.txt -a pytorch-caching $device --map - -o report.txt
says out '^  0x[0-9a-f]+ +1.000 MiB +1  data.py:30 load$'
# shellcheck disable=SC2086
run 0 gemem-sim replay named.txt -a pytorch-caching $device --map map.svg -o report.txt
check 'the picture of the map names the line under the mouse' \
  grep -q '<title>0x[0-9a-f]*: 1.000 MiB live, 1.000 MiB asked for, allocated at event 1 by data.py:30 load</title>' map.svg
# shellcheck disable=SC2086
run 0 gemem-sim replay plain.txt -a pytorch-caching $device --map - -o report.txt
check 'a map without origins lists no blocks' sh -c "! grep 'largest blocks' '$out'"

# A wrong event.
sed 's/^# end: 7/alloc 2 size=7 stack=2\n# end: 8/' named.txt >twice.txt
run 3 gemem-sim validate twice.txt
says out 'event 7: error: double alloc: block 2 .*; its free is missing \(train.py:212 forward \(aten::mm\)\)$'
run 3 gemem-sim replay -v twice.txt -a direct
says err 'event 7: id 2 is allocated while it is alive \(by train.py:212 forward \(aten::mm\); the block was allocated at event 1 by data.py:30 load\); repair'
sed '/^# frame\|^# stack/d; s/ stack=.*\| tag=.*//' twice.txt >plain-twice.txt
run 3 gemem-sim validate plain-twice.txt
says out 'its free is missing$'

# A graph: the tags of its tensors.
graph=$(find "$GEMEM_SRCDIR/graphs/bundled" -name '*.json*' | sort | head -n 1)
run 0 gemem-sim replay -v "$graph" -a direct
says out '^largest blocks at the live peak$'
says out '^ +[0-9.]+ [KMG]iB +[0-9]+ +[0-9]+  \[.+\]$'

# Recordings of real programs: the line of the program, and a device that is too small for them.
if shared traces/pytorch/with-stacks; then
  stacks=$GEMEM_SHARED/traces/pytorch/with-stacks
  run 0 gemem-sim replay -v "$stacks/lm-small.pickle.gz" -a pytorch-caching
  says out '^ +512.0 MiB +[0-9]+ +16  program/trace_peak_memory.py:7 custom_softmax \(exp\)$'
  run 0 gemem-sim replay -v "$stacks/lm-small.pickle.gz" -a pytorch-caching -d sim:capacity=1400MiB
  says out '^  event 16: block 10 of 512.0 MiB by program/trace_peak_memory.py:7 custom_softmax \(exp\) failed'
  run 0 gemem-sim replay -v "$stacks/lm-inference-1024.pickle.gz" -a pytorch-caching
  says out '^ +39.06 MiB +[0-9]+ +before  unknown$'
else
  skip 'recordings with call stacks' 'no shared data'
fi
done_testing
