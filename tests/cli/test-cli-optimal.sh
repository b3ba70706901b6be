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
run 2 gemem-sim plan small.csv -p optimal:effort=much; says err "effort='much'"
done_testing
