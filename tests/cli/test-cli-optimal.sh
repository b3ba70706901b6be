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

if shared dsa/minimalloc; then
  run 0 gemem-sim plan "$GEMEM_SHARED/dsa/minimalloc/D.1048576.csv" -p optimal:alignment=1,effort=quick --no-time
  says out '^optimal:alignment=1,effort=quick: at most 1[0-9]\.[0-9] % above the least possible$'
  run 0 gemem-sim plan "$GEMEM_SHARED/dsa/minimalloc/A.1048576.csv" -p optimal:alignment=1 --no-time
  says out '^optimal:alignment=1 .* 0\.0 %  corner-search'
fi

# What an allocator holds above the least, and who keeps it: two blocks in a segment of 20 MiB, and 1 MiB that PyTorch does not split off.
printf '%s\n' '# gemem-trace: 4' 'alloc 1 size=6MiB' 'alloc 2 size=4MiB' 'alloc 3 size=45MiB' '# end: 3' >pins.txt
run 0 gemem-sim compare pins.txt -a pytorch-caching -a direct --optimal
says out "no placement needs less than 55\.00 MiB"
check 'who keeps what' sh -c "tr -s ' \n' ' ' <'$out' | grep -q '11.00 MiB lie idle at the peak of pytorch-caching: 10.00 MiB beside blocks in use (2), 1.000 MiB in the rounding of blocks\\.'"
run 0 gemem-sim compare pins.txt -a pytorch-caching -a direct; lacks out 'lie idle'
recorded=$GEMEM_SRCDIR/traces/recorded/gpt2-train-stacks.gmt
run 0 gemem-sim compare "$recorded" -a pytorch-caching -a ge-scalable -a tf-bfc --optimal -f json
check 'pins are what is pinned' jq -e '[.results[] | select((.pins | length) > 0)] | length > 1 and all(([.pins[].bytes] | add) == ([.idle[] | select(.cause == "pinned").bytes] | add))' "$out"
check 'a place is named where all blocks of a segment come from it' jq -e '.results[0].pins | any(.origin.by | strings | test("record.py:34 run"))' "$out"
run 0 gemem-sim compare "$recorded" -a pytorch-caching -a tf-bfc --optimal
check 'in the sentence, too' sh -c "tr -s ' \n' ' ' <'$out' | grep -q '209.9 MiB beside blocks in use (662; 112.5 MiB of it beside 44, all allocated after record.py:34 run), 15.83 MiB otherwise\\.'"

run 2 gemem-sim plan small.csv -p optimal:effort=much; says err "effort='much'"
done_testing
