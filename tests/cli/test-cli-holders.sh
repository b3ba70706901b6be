#!/bin/sh
# test-cli-holders.sh - who holds the memory: info --at, --by, --frames, --depth, --focus, --format=folded, and the sentence that ends info and
# validate. The figures are those of an independent computation from the pickle (tests/util/holders.py).
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
samples=$GEMEM_SRCDIR/tests/data/pytorch

# ---- every grouping, by hand
cat >t.txt <<'END'
# gemem-trace: 2
# flags: has-time,has-segments
# frame: "aten::empty"
# frame: "aten::mm"
# frame: "linear" "/v/site-packages/torch/nn/functional.py" 9
# frame: "forward" "model.py" 31
# frame: "main" "train.py" 3
# frame: "user(int)" "u.cpp" 7
segment-alloc size=400 addr=4096 flags=initial
alloc 1 size=10 addr=4096 flags=initial
phase tag="step"
# stack: 1 2 3 4 5
alloc 2 size=100 addr=4196 t=1 stack=1
phase tag="inner"
# stack: 6
alloc 3 size=50 addr=4396 stream=9 pool=2 t=2 tag="weights" stack=2
phase-end tag="inner" t=2
alloc 4 size=50 addr=4446 stream=9 t=3 stack=2
alloc 5 size=900 t=4 flags=failed stack=2
free 5 t=4 flags=failed
free 2 t=5
oom size=1000 free=10 t=6
free 3 t=7
segment-free size=400 addr=4096 t=8
alloc 6 size=1 device=1 t=9
# end: 15
END
row () { says out "$1"; }
run 0 gemem-sim info --at=peak t.txt
row '^device 0: 210 B \(210 bytes\) in 4 blocks at the peak, after event 7 at 3 ns$'
row '^ +100 B +47\.6 % +1  model\.py:31 forward$'
row '^ +train\.py:3 main$'
row '^ +100 B +47\.6 % +2  u\.cpp:7 user$'
row '^ +10 B +4\.8 % +1  unknown$'
row '^  1 of the unknown blocks, 10 B, are from before the recording began$'
row '^device 1: 1 B \(1 bytes\) in 1 block at the peak, after event 14 at 9 ns$'
run 0 gemem-sim info --by=file t.txt; row ' 100 B .* model\.py$'; row ' 100 B .* 2  u\.cpp$'
run 0 gemem-sim info --by=line --depth=3 t.txt; row " 100 B .*  /v/site-packages/torch/nn/functional\.py:9 linear$"
run 0 gemem-sim info --by=operator t.txt; row ' 100 B .*  aten::mm$'; row ' 110 B .* 3  unknown$'
run 0 gemem-sim info --by=category t.txt; row ' 50 B .*  weights$'; row ' 160 B .* 3  unknown$'
run 0 gemem-sim info --by=phase t.txt; row ' 150 B .* 2  step$'; row ' 50 B .* 1  inner$'; row ' 10 B .* 1  unknown$'
run 0 gemem-sim info --by=size t.txt; row ' 100 B .* 2  50 B \(50 bytes\)$'
run 0 gemem-sim info --by=stream t.txt; row ' 100 B .* 2  stream 0x9$'; row ' 110 B .* 2  stream 0x0$'
run 0 gemem-sim info --by=pool t.txt; row ' 50 B .* 1  private pool 2$'; row ' 160 B .* 3  default pool$'
run 0 gemem-sim info --frames=native t.txt; row " 100 B .* 1  aten::empty$"; row " 100 B .* 2  u\.cpp:7 user$"
run 0 gemem-sim info --frames=python t.txt; row " 110 B .* 3  unknown, or no Python frame$"
run 0 gemem-sim info --focus='^train' t.txt; row ' 110 B .* 3  outside of --focus$'; row '  model\.py:31 forward$'
run 0 gemem-sim info --focus='weights' --by=line t.txt; row ' 50 B .* 1  u\.cpp:7 user, after model\.py:31 forward$'; row ' 160 B .* 3  outside of --focus$'
run 0 gemem-sim info --top=1 t.txt; row ' 110 B .* 3  2 more rows; --top=0 shows them$'
# ---- every moment
run 0 gemem-sim info --at=oom t.txt; row ' 210 B \(210 bytes\) in 4 blocks, after event 8 at 4 ns, when a request of 900 B ran out of memory$'
run 0 gemem-sim info --at=oom:2 t.txt; row ' 110 B \(110 bytes\) in 3 blocks, after event 11 at 6 ns, when a request of 1000 B ran out of memory$'
run 0 gemem-sim info --at=end --by=line t.txt; row '^device 0: 60 B \(60 bytes\) in 2 blocks at the end'; row '^device 1: 1 B '
run 0 gemem-sim info --at=2 t.txt; row '^device 0: 10 B \(10 bytes\) in 1 block, after event 2 at'
# ---- other forms
run 0 gemem-sim info --format=folded --trace-device=0 t.txt
check 'folded, outermost first' sh -c "printf '%s\n' 'main (train.py:3);forward (model.py:31);linear (/v/site-packages/torch/nn/functional.py:9);aten::mm;aten::empty 100' 'user(int) (u.cpp:7) 100' 'unknown 10' | cmp - '$out'"
run 0 gemem-sim info --format=folded t.txt; row '^device 1;unknown 1$'
run 0 gemem-sim info --format=json --by=line t.txt; cp "$out" h.json
check 'JSON' jq -e '.schema == "gemem-holders" and .devices[0].bytes == 210 and ([.devices[0].rows[].bytes] | add) == 210 and .devices[0].rows[2].name == null' h.json
run 0 gemem-sim convert t.txt t.gmt; run 0 gemem-sim info --format=json --by=line t.gmt
check 'the same of .gmt' sh -c "sed s/t.gmt/t.txt/ '$out' | cmp - h.json"
# ---- cut off, and what a terminal would obey
run 0 gemem-sim convert t.txt whole.txt; head -n 16 whole.txt >cut.txt
run 3 gemem-sim info --allow-partial cut.txt; says out 'missing: .*the end'
run 3 gemem-sim info --allow-partial --at=peak cut.txt; says out '^The end of the recording is missing'
run 3 gemem-sim info --allow-partial --by=size --format=json cut.txt; says out '"partial": true'
printf '# gemem-trace: 2\n# frame: "a\\x1b[31m\\nb" "\\r.py" 1\n# stack: 1\nalloc 1 size=5 tag="\\x1b" stack=1\n# end: 1\n' >odd.txt
run 0 gemem-sim info --by=line odd.txt; says out '  \?\.py:1 a\?\[31m\?b$'
run 0 gemem-sim info --format=folded t.txt odd.txt; says out '^odd\.txt;'; says out '^t\.txt;device 1;unknown 1$'
# ---- wrong words
run 2 gemem-sim info --at=pek t.txt; says err "'pek' is no moment; did you mean peak\? write peak, end, oom"
run 2 gemem-sim info --at=oom:0 t.txt; says err 'no moment'
run 2 gemem-sim info --by=stak t.txt; says err '^gemem-sim: error: --by=stak: did you mean stack\? write one of stack, line, '
run 2 gemem-sim info --by=line --format=csv t.txt; says err 'write one of table, json, folded'
run 2 gemem-sim info --focus='(' t.txt; says err '--focus=\(: '
printf '# gemem-trace: 1\nalloc 1 size=512 tag="%sb"\n# end: 1\n' "$(printf %060d 0 | tr 0 a)" >steps.txt
run 1 gemem-sim info --focus='(a+)+$' steps.txt; says err '--focus: .*limit'; silent out # not: nothing matches
run 2 gemem-sim info --top=-2 t.txt; says err '--top'
run 3 gemem-sim info --at=15 t.txt; says err 't\.txt: there is no event 15; it has events 0 to 14'
run 3 gemem-sim info --at=oom:3 t.txt; says err 'only 2 recorded requests ran out of memory; use --at=oom:2'
run 3 gemem-sim info --at=oom "$samples/empty-cache-2.6.pickle.gz"; says err 'no recorded request ran out of memory; use --at=peak'
printf 'a 1 100\nf 1\n' >plain.ops
run 0 gemem-sim info --by=line plain.ops; row 'has no call stacks\. PyTorch records them with'

# ---- one sentence
run 0 gemem-sim info t.txt
row '^in short, device 0: at the peak 210 B in 4 blocks are alive, after event 7 at 3 ns; the recorded allocator had 400 B reserved then, 47\.5 % of it unused \(rounding and fragmentation\); it released 400 B in 1 segment; 2 requests ran out of memory \(the largest 1000 B\), and the recording ends there; missing: how the 1 block \(10 B\) from before the recording came about\.$'
run 0 gemem-sim validate "$samples/refused-2.15.pickle.gz"
row '^in short, device 0: at the peak .* 2 requests ran out of memory'
run 0 gemem-sim info plain.ops; row '^in short, .*what the allocator reserved is not recorded; missing: times, call stacks\.$'

# ---- the recordings, by an independent computation
python=$(command -v python3) || { skip "peaks computed from the pickles" "there is no python3"; done_testing; }
shared traces/pytorch/with-stacks || skip "the recordings of ../shared" "they are not here"
held=0
for file in "$samples"/*.pickle.gz "$GEMEM_SHARED"/traces/pytorch/with-stacks/*.pickle.gz; do
  [ -e "$file" ] || continue
  for frames in auto all; do
    gemem-sim info --at=peak --by=stack --frames=$frames --format=json "$file" >h.json 2>/dev/null || continue # no events
    check "$(basename "$file") $frames" "$python" "$GEMEM_SRCDIR/tests/util/holders.py" "$file" h.json; held=$((held + 1))
  done
done
check "there were $held" test $held -ge 50
# ---- ids that are names, in a list of operations: who holds, and which request failed
printf 'a weights 2147483648\na activations 9663676416\nf weights\na 7 1024\n' >named.ops
run 0 gemem-sim replay named.ops -a pytorch-caching -d sim:capacity=8GiB; says out 'of 9\.000 GiB \[activations\] failed'
run 0 gemem-sim info --by=category named.ops; says out '2\.000 GiB .* weights$'; says out '9\.000 GiB .* activations$'

done_testing
