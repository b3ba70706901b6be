#!/bin/sh
# test-cli-plan-trace.sh - `gemem-sim plan --trace`: planned graphs as a session; what is loaded is what was planned, and the allocators take it.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
graphs=$GEMEM_SRCDIR/graphs/bundled

run 0 gemem-sim plan "$graphs/resnet50-inference.json.gz" "$graphs/bert-inference.json.gz" -p ge-hybrid -f json --trace s.txt --steps=3
check 'loaded is what was planned' sh -c "test \"\$(jq -r '.plans[].arena' $out)\" = \"\$(sed -n 's/^graph-load .*size=\\([0-9]*\\) .*/\\1/p' s.txt)\""
check 'every graph runs in every step, synchronously' sh -c 'test $(grep -c "^graph-run [12]" s.txt) = 6 && test $(grep -c "^graph-run-end" s.txt) = 6'
check 'loaded once, unloaded once' sh -c 'test $(grep -c "^graph-load" s.txt) = 2 && test $(grep -c "^graph-unload" s.txt) = 2'
check 'the graph has its name' grep -q '^graph-load 1 .*tag="resnet50-inference.json.gz"' s.txt
check 'inputs and outputs are marked' grep -q '^graph-segment 1 .*aux=1 ' s.txt
run 0 gemem-sim validate s.txt
run 0 gemem-sim compare s.txt -a direct -a ge-active:rules=documented -a ge-active:policy=4 -f csv -o table.csv
largest=$(sed -n 's/^graph-load .*size=\([0-9]*\) .*/\1/p' s.txt | sort -n | tail -n 1)
check 'shared memory is the larger graph' awk -F, -v largest="$largest" '
  NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i - NF; next }
  { reserved[NR] = $(NF + column["peak_reserved"]) }
  END { exit !(reserved[2] > reserved[3] && reserved[3] == largest) }' table.csv

run 0 gemem-sim plan "$graphs"/resnet50-*.json.gz -p 'first-fit-by-*' --no-time --trace two.gmt --steps=2 --loaded=1 --asynchronous --split=200MiB
run 0 gemem-sim validate two.gmt
run 0 gemem-sim info two.gmt
says out 'graph-load 6, graph-run 6, graph-unload 6'
check 'no run is waited for' sh -c "! grep -q run-end $out"

# ---- memory that must be clear: one range and one memset in each run, or one for each of four operators
cleared='"controls": ["clear"], "attributes": {"is_atomic_node": true, "atomic_output_index": [0]}, "outputs": [{"size": 1048576}]'
printf '{"nodes": [{"name": "clear", "type": "MemSet"}, {"name": "a", %s}, {"name": "b", "inputs": [["a", 0]], %s}, {"name": "c", "inputs": [["b", 0]], %s},
  {"name": "d", "inputs": [["c", 0]], %s}]}' "$cleared" "$cleared" "$cleared" "$cleared" >clear.json
for policy in 0 1; do
  run 0 gemem-sim plan clear.json -p ge-hybrid:atomic_clean_policy=$policy --plan plan$policy.json --trace clear$policy.txt --steps=2
  run 0 gemem-sim plan --check plan$policy.json clear.json
  run 0 gemem-sim validate clear$policy.txt
done
check 'together: one memset of the whole range' sh -c 'test $(grep -c "^graph-run 1 size=4194304 aux=1" clear0.txt) = 2'
check 'by operator: four' sh -c 'test $(grep -c "^graph-run 1 size=4194304 aux=4" clear1.txt) = 2'
check 'the plans list them' sh -c 'test $(jq ".memsets | length" plan0.json) = 1 && test "$(jq -c "[.memsets[].node]" plan1.json)" = "[\"a\",\"b\",\"c\",\"d\"]"'
for allocator in direct ge; do
  gemem-sim replay clear0.txt -a $allocator -f json -o 0.json
  gemem-sim replay clear1.txt -a $allocator -f json -o 1.json
  check "$allocator: six memsets more, 5 us each" sh -c 'test $(jq -s ".[1].results[0].calls.memset.count - .[0].results[0].calls.memset.count" 0.json 1.json) = 6'
done
check 'policy 1 takes less memory' sh -c 'test "$(jq -c .arena plan0.json plan1.json | tr "\n" " ")" = "4194304 2097152 "'
sed 's/^\(graph-run 1 .*\)aux=1$/\1aux=1048577/' clear0.txt >many.txt
run 3 gemem-sim replay -v many.txt -a ge
says err 'a run of graph 1 has 1048577 memsets; at most 1048576 are possible'
run 3 gemem-sim validate many.txt
says out '1048577 memsets'

# ---- options
run 0 gemem-sim plan "$graphs/resnet50-inference.json.gz" -p ge-hybrid --trace reuse.txt --zero-copy-reuse
check 'the caller has the memory of inputs and outputs' grep -q '^graph-segment 1 .*aux=3 ' reuse.txt
run 2 gemem-sim plan "$graphs/resnet50-inference.json.gz" --steps=3
says err 'plan: --steps says how a session runs.*add --trace=FILE'
run 2 gemem-sim plan "$graphs/resnet50-inference.json.gz" --zero-copy-reuse
says err '--zero-copy-reuse'
run 2 gemem-sim plan "$graphs/resnet50-inference.json.gz" --trace x.gmt --steps=0
says err '--steps=0'
run 2 gemem-sim plan "$graphs/resnet50-inference.json.gz" --trace x.gmt --split=much
says err '--split=much'
run 2 gemem-sim plan --check plan.json --trace x.gmt
says err 'leave out --planner, --format, --output, --trace and --env'
run 2 gemem-sim plan "$graphs/resnet50-inference.json.gz" -o x.gmt --trace x.gmt
run 2 gemem-sim plan "$graphs/resnet50-inference.json.gz" -p ge-hybrid --trace x.unknown
says err 'x.unknown: the name does not tell the format'
check 'nothing was written' sh -c 'test ! -e x.gmt && test ! -e x.unknown'
# ---- an alignment that nobody chose, where it makes sizes larger
printf 'id,lower,upper,size\nA,0,2,100\nB,1,3,80\nC,2,4,60\n' >odd.csv
run 0 gemem-sim plan odd.csv; says err 'note: sizes are rounded up to multiples of 512 B, as no-reuse assumes; .* -p NAME:alignment=1'
check 'once' test "$(wc -l <"$err")" -eq 1
run 0 gemem-sim plan odd.csv -p best-fit-by-size:alignment=1; says out ' 180 B '; silent err
printf 'id,lower,upper,size\nA,0,2,1024\nB,1,3,512\n' >even.csv
run 0 gemem-sim plan even.csv; silent err

# ---- places that buffers have already: all are a plan, some are what `optimal` keeps; other columns
printf 'id,lower,upper,size,offset\nA,0,2,100,0\nB,1,3,80,100\n' >placed.csv
run 0 gemem-sim plan placed.csv -p first-fit; says err 'placed\.csv: left out: 2 buffers have an offset, all of them$'
printf 'id,lower,upper,size,offset\nA,0,2,100,512\nB,1,3,80,\n' >fixed.csv
run 3 gemem-sim plan fixed.csv -p first-fit; says err 'fixed\.csv: first-fit: keeps no fixed offsets, which some buffers have; optimal does$'
run 0 gemem-sim plan fixed.csv -p first-fit -p optimal --no-time; says err 'fixed\.csv: first-fit keeps no fixed offsets and is left out$'; lacks out first-fit
run 0 gemem-sim replay fixed.csv -a direct # an allocator chooses places
printf 'id,lower,upper,size,alignment\nA,0,2,100,4096\n' >aligned.csv
printf 'id,lower,upper,size,alignment\nA,0,2,100,\nB,0,2,100,4096\nC,0,2,3000,1\n' >aligned.csv
run 0 gemem-sim plan aligned.csv -p first-fit:alignment=1; silent err; says out ' 4\.098 KiB '
done_testing
