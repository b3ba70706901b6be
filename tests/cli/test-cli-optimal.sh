#!/bin/sh
# test-cli-optimal.sh - `gemem-sim plan -p optimal` says what it proved: in a line under the table, and as "least" in JSON.
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# Load 8; first fit by size needs more, the least is 8.
cat >small.csv <<'CSV'
id,lower,upper,size
a,0,2,4
b,0,1,4
c,1,3,4
d,2,4,4
CSV
run 0 gemem-sim plan small.csv -p optimal:alignment=1 --no-time
says out '^optimal:alignment=1: proven least: no safe plan at this alignment is smaller$'
run 0 gemem-sim plan small.csv -p optimal:alignment=1 -f json; says out '"least": 8'
run 0 gemem-sim plan small.csv -p optimal:alignment=1 --plan plan.json; says_file () { grep -q "$1" plan.json; }
check 'the plan holds it, too' says_file '"least": 8,'
run 0 gemem-sim plan --check plan.json; says out 'safe: 4 items'
run 0 gemem-sim plan small.csv -p first-fit --no-time; lacks out 'least'


# What decides a peak: of the steps at which something touches the top, the fullest.  In 1 and 2 a is alive with b or c; c and d are in 2.
run 0 gemem-sim plan small.csv -p no-reuse:alignment=1 -p optimal:alignment=1 --no-time -v
says out '^optimal:alignment=1 peaks at step 0: 8 B in 2 items, 0 B in none$'
says out '^no-reuse:alignment=1 peaks at step 2: 8 B in 2 items, 8 B in none$'
says out '^ +4 B  4, steps 2 to 4$'
run 0 gemem-sim plan small.csv -p no-reuse:alignment=1 -f json
check 'the same in JSON' jq -e '.plans[0].peak | .step == 2 and .node == null and .bytes == 16 and .taken == 8 and .items == 2 and (.largest | map([.item, .size, .begin, .end])) == [["3", 4, 1, 3], ["4", 4, 2, 4]]' "$out"
run 0 gemem-sim plan "$GEMEM_SRCDIR/graphs/bundled/resnet50-train.json.gz" -p optimal -p no-reuse --no-time -v
says out '^optimal peaks at step 297 \(threshold_backward\): 2\.592 GiB in 216 items, 4\.090 KiB in none$'
says out '^ +98\.00 MiB  convolution, steps 2 to 516$'; says out '^ +1\.683 GiB  in 206 others$'

# Tables with all columns: what is in a gap is free for others, windows and fixed offsets are kept, and the least is proven.
printf '%s\n' id,lower,upper,size,alignment,gaps a,0,10,4,2,3-7 b,3,7,4,1, >gaps.csv
run 0 gemem-sim plan gaps.csv -p optimal:alignment=1 --no-time; silent err
says out '^optimal:alignment=1 +4 B +4 B'; says out 'proven least'
run 0 gemem-sim plan gaps.csv -p optimal:alignment=1 --plan gaps-plan.csv -q; run 0 gemem-sim plan --check gaps-plan.csv; says out 'safe: 2 items in 4 B'
run 0 gemem-sim plan gaps.csv -p optimal:alignment=1 --plan gaps-plan.json -q; run 0 gemem-sim plan --check gaps-plan.json; says out 'safe: 2 items in 4 B'
# each with its alignment; a file without them is read as before
says_file () { grep -q "$1" gaps-plan.json; }
check 'JSON has the alignments' says_file '\[1, 0, 10, 4, 0, 2, \[\[3, 7, 0, 0\]\]\]'
printf '%s\n' '{"alignment": 1, "items": [[1, 0, 2, 4, 2, 4], [2, 2, 4, 4, 2]]}' >odd.json; run 3 gemem-sim plan --check odd.json
says out '^alignment: item 0 .*the offset is no multiple of 4$'
sed 's/2, 4\], /2], /' odd.json >even.json; run 0 gemem-sim plan --check even.json; says out 'safe: 2 items in 6 B'
for item in '[1, 0, 2, 4, 4, 0]' '[1, 0, 2, 4, 4, 4, 4]' '[1, 0, 2, 4, 4, 4, [], 1]' '[1, 0, 2, 4, 4, -1]'; do
  echo "{\"items\": [$item]}" >bad.json; run 3 gemem-sim plan --check bad.json; says err '^gemem-sim: error: bad\.json: items\[0\]'
done
sed 's/3-7/4-7/' gaps-plan.csv >bad-plan.csv; run 3 gemem-sim plan --check bad-plan.csv; says out '^overlap: '
run 0 gemem-sim plan gaps.csv -p best-fit-by-size:alignment=1 --no-time; says out ' 8 B +4 B'
says err 'best-fit-by-size plans gaps as in use; optimal does not$'
printf '%s\n' id,lower,upper,size,gaps,offset a,0,10,8,3-7@2:4, b,3,7,2,, c,0,9,6,,8 >all.csv
run 0 gemem-sim plan all.csv -p optimal:alignment=1 --no-time -v; says out '^optimal:alignment=1 +14 B +14 B'; says out '^ +8 B  a, steps 0 to 3$'

# What cannot be is said with the buffers, before any search.
printf '%s\n' id,lower,upper,size,gaps,offset a,0,10,8,3-7,2 b,8,12,2,,9 c,0,1,1,, >clash.csv
run 3 gemem-sim plan clash.csv -p optimal
says err "no plan is possible: buffer 'a' \(steps 0 to 10, bytes 2 to 10\) and buffer 'b' \(steps 8 to 12, bytes 9 to 11\) share bytes at their fixed offsets from step 8 on; correct one$"
printf '%s\n' id,lower,upper,size,alignment,offset a,0,10,8,4,2 b,1,2,3,, >odd.csv
run 3 gemem-sim plan odd.csv -p optimal; says err "buffer 'a' has the fixed offset 2, which is no multiple of its alignment, 4; correct one$"
run 1 gemem-sim plan gaps.csv -p optimal:alignment=1,capacity=3; says err "no plan fits into capacity=3: buffer 'a' needs 4 bytes$"
run 1 gemem-sim plan small.csv -p optimal:alignment=1,capacity=7; says err 'no plan fits into capacity=7: at step 0 8 bytes are in use: item 0 \(id 1\) \(4\), item 1 \(id 2\) \(4\)$'
run 0 gemem-sim plan small.csv -p optimal:alignment=1,capacity=8; run 1 gemem-sim plan small.csv -p minimalloc:alignment=1,capacity=7; says err 'at step 0 8 bytes are in use'
gap () { printf 'id,lower,upper,size,gaps\na,0,10,4,%s\n' "$1" >gap.csv; run 3 gemem-sim plan gap.csv -p optimal; }
gap 3-5@2:5; says err 'gap\.csv:2: buffer "a": bytes 2 to 5 in use in a gap, but it has 4; correct the row$'
gap 3-5@3:2; says err 'bytes 3 to 2 in use in a gap'
gap '3-5 4-6'; says err 'a gap from 4 to 6, which is not within its life after the gap before'
gap 8-11; says err 'a gap from 8 to 11, which is not within its life'
gap 5-5; says err 'a gap from 5 to 5, which is no time'
gap 3; says err '"3" is no gap; write it as 3-5, or 3-5@0:64'

# What has no bytes takes none: every planner makes the plan that it makes without, a place of its own means nothing, and the plan can be
# replayed.
printf '%s\n' id,lower,upper,size,alignment a,1,3,8,8 b,2,5,3, c,4,9,6, >some.csv
printf '%s\n' id,lower,upper,size,alignment x,0,4,0,4 a,1,3,8,8 y,0,9,0, b,2,5,3, c,4,9,6, z,9,10,0, >zero.csv
arenas () { gemem-sim plan "$1" -p '*' -f json --no-time | jq -c '[.plans[] | [.planner, .arena, .lower_bound, .least]]'; }
check 'rows of 0 bytes change no plan' sh -c 'test "$1" = "$2" && test ${#1} -gt 1000' sh "$(arenas some.csv)" "$(arenas zero.csv)"
for form in csv json; do
  run 0 gemem-sim plan zero.csv -p optimal:alignment=1 --plan "zero-plan.$form" --no-time; says out ' 11 B +11 B'
  run 0 gemem-sim replay zero.csv -a "plan:file=zero-plan.$form"; says out '^ *peak reserved +11 B'; says out '^ *failed +0$'
  run 0 gemem-sim plan --check "zero-plan.$form"; says out 'safe: 3 items in 11 B'
done
printf '%s\n' id,lower,upper,size,alignment,offset x,0,4,0,4,7 a,1,3,8,8, b,2,5,3,, >zero.csv
run 0 gemem-sim plan zero.csv -p optimal:alignment=1 --no-time; says out ' 11 B +11 B'; says out 'proven least'
printf '%s\n' id,lower,upper,size x,0,4,0 y,2,5,0 >zero.csv; run 0 gemem-sim plan zero.csv -p '*' --no-time; says out '^optimal +0 B'

if shared dsa/minimalloc; then
  run 0 gemem-sim plan "$GEMEM_SHARED/dsa/minimalloc/D.1048576.csv" -p optimal:alignment=1,effort=quick --no-time
  says out '^optimal:alignment=1,effort=quick: at most [5-7]\.[0-9] % above the least possible$' # 10.2 % without joining boxes
  run 0 gemem-sim plan "$GEMEM_SHARED/dsa/minimalloc/B.1048576.csv" -p optimal:alignment=1,effort=quick --no-time
  says out '^optimal:alignment=1,effort=quick: proven least' # 3.3 % without joining boxes
  run 0 gemem-sim plan "$GEMEM_SHARED/dsa/minimalloc/J.1048576.csv" -p optimal:alignment=1,effort=thorough,time=10ms --no-time
  says out '^  the time is over: the best so far, not repeatable$'
  run 0 gemem-sim plan "$GEMEM_SHARED/dsa/minimalloc/F.1048576.csv" -p optimal:alignment=1 --no-time
  says out '^optimal:alignment=1 .* 0\.0 %  corner-search'
fi

run 2 gemem-sim compare "$GEMEM_SRCDIR/traces/recorded/gpt2-train-short.gmt" -a 'plan:planner="optimal:time=1s"'; says err 'a replay must be repeatable'

run 2 gemem-sim plan small.csv -p optimal:effort=much; says err "effort='much'"
done_testing
