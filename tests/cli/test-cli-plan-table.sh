#!/bin/sh
# test-cli-plan-table.sh - the table of `gemem-sim plan`: the smallest plan first, overhead from the best bound known; over several
# inputs the geometric mean in the last rows and one sentence.  And what the planners of other systems say on the command line.
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# Load 8 in both; the least is 8.
cat >a.csv <<'CSV'
id,lower,upper,size
a,0,2,4
b,0,1,4
c,1,3,4
d,2,4,4
CSV
cat >b.csv <<'CSV'
id,lower,upper,size
a,0,3,2
b,0,1,6
c,1,3,3
d,2,4,3
e,3,5,5
CSV

run 0 gemem-sim plan a.csv -p 'tvm-usmp-by-*:alignment=1' -p no-reuse:alignment=1 -p xla-heap:alignment=1 -p optimal:alignment=1 --no-time
check 'the smallest plan comes first' sh -c "awk 'NR > 2 && \$3 == \"B\" { print \$2 }' '$out' | sort -nc"
says out '^optimal:alignment=1 +8 B +8 B +0\.0 %'
says out '^no-reuse:alignment=1 +16 B +8 B +100\.0 %'
run 0 gemem-sim plan a.csv -p 'no-reuse:alignment=1' -p optimal:alignment=1 -f csv
check 'files keep the order of the command' sh -c "sed -n 2p '$out' | grep -q ',no-reuse,'"
run 0 gemem-sim plan a.csv -p no-reuse:alignment=1 -p optimal:alignment=1 -f markdown
check 'Markdown has the smallest first, too' sh -c "grep '^| [no]' '$out' | head -n 1 | grep -q optimal"

run 0 gemem-sim plan a.csv b.csv -p 'no-reuse:alignment=1' -p optimal:alignment=1 --no-time
says out '^all 2 inputs: overhead, geometric mean$'
says out '^optimal:alignment=1 +0\.0 % +0\.0 %, a\.csv$'
says out '^no-reuse:alignment=1 +118\.0 % +137\.5 %, b\.csv$' # sqrt(16/8 * 19/8) = 2.179...
says out '^Over all 2 inputs optimal:alignment=1 is 0\.0 % above the bound, the next, no-reuse:alignment=1,$'
run 0 gemem-sim plan a.csv b.csv -p optimal:alignment=1 --no-time; lacks out '^all 2'
run 0 gemem-sim plan a.csv -p '*fit*' --no-time; lacks out '^all '

# The table of A to K in doc/planning.md is what the command says.
if shared dsa/minimalloc; then
  run 0 gemem-sim plan "$GEMEM_SHARED"/dsa/minimalloc/[A-K].1048576.csv -p optimal:alignment=1 -p minimalloc:alignment=1 \
    -p xla-heap:alignment=1 -p 'tfl*:alignment=1' -p 'tvm-*:alignment=1' -p mindspore-somas:alignment=1 -p onnxruntime-pattern:alignment=1 \
    -p iree-slices:alignment=1 -p executorch-greedy:alignment=1 -p idealloc:alignment=1 --no-time
  sed -n '/^all 11 inputs/,$p' "$out" >printed
  sed -n '/^all 11 inputs/,/^```/p' "$GEMEM_SRCDIR/doc/planning.md" | grep -v '^```' >shown
  check 'the table of A to K' cmp printed shown
fi

# Both preorders and capacities can be wrong; what does not fit is said, and whether that is proven.
run 1 gemem-sim plan a.csv -p minimalloc:alignment=1,capacity=7; says err 'no plan fits into capacity=7: at step 0 8 bytes are in use'
run 0 gemem-sim plan a.csv -p minimalloc:alignment=1 --no-time; says out '^minimalloc:alignment=1: proven least'
run 2 gemem-sim plan a.csv -p minimalloc:preorders=XY; says err "preorders='XY'"
run 0 gemem-sim plan a.csv -p xla-heap -f json; says out '\["spatial", '; says out '"winner": "spatial"'
run 0 gemem-sim help GreedyMemoryPlanner; says out 'tflm-greedy'
run 0 gemem-sim help tvm-usmp-hill-climb; says out 'memory_pressure'
done_testing
