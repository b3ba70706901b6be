#!/bin/sh
# test-cli-ge-runs.sh - lists of operations with runs of static graphs, small devices and empty segments, replayed: examples of ge-runtime.md 9.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# reserved KIND NUMBER: what is reserved after the NUMBER-th decision of that kind, in decisions.csv
reserved () { grep ",$1," decisions.csv | sed -n "$2p" | sed 's/,[^,]*$//; s/.*,//'; } # the last column is the device

# ---- E36: before a run pages are refused, and come back
printf '%s\n' '# policy=4 total=536870912 cap=50331648' 'm g1 0:25165824 25166336:16777216' 'e g1' 'a d1 25165824' 'b g1' 'f d1' 'r' 'b g1' > e36.ops
run 0 gemem-sim validate e36.ops
run 0 gemem-sim replay -v e36.ops --events decisions.csv
says out 'on sim:capacity=48MiB'
says out '^  failed +1$'
says out '^  static.phys +41943040$'
check '40 MiB under the graph' test "$(reserved graph-load 1)" = 41943040
check 'the refused run took one page' test "$(reserved graph-run 2)" = 50331648

# ---- E31: plain blocks are never freed
printf '%s\n' '# policy=4 total=68719476736' 'm g1 0:41943040' 'e g1' 'm g2 0:20971520' 'm g3 0:41943040' 'm g4 0:41943040 41943040:25165824' \
  'm g5 0:41943040 41943040:31457280' F F F F F > e31.ops
run 0 gemem-sim replay -v e31.ops --events decisions.csv
says out '^  static.leaked +56623104$'
says out '^  reserved at end +54\.00 MiB' # no pool of dynamic memory keeps the pages
check 'block after block' test "$(reserved graph-load 4) $(reserved graph-load 5)" = '75497472 115343360'

# ---- E33: segments of 0 bytes, the first of a graph too
printf '%s\n' 'm g1 0:0 0:3145728 3145728:0 3145728:2097152' 'm g2 0:0 0:1048576 1048576:0' > empty.ops
for allocator in ge-active:policy=4 ge:static_memory_policy=4 ge ge-fixed-base direct; do
  run 0 gemem-sim replay -v empty.ops -a "$allocator" -d sim:capacity=1GiB --check
  says out '^  failed +0$'
done
run 0 gemem-sim replay -v empty.ops -a ge-active:policy=4 -d sim:capacity=1GiB --events decisions.csv
check 'both graphs begin at the base' test "$(grep -c ',0x200000000000,' decisions.csv)" = 2

# ---- wrong lines and values
printf '%s\n' '# policy=4 total=1073741824 cap=much' 'm g1 0:5' > wrong.ops
run 2 gemem-sim replay wrong.ops
check 'one line' test "$(wc -l < "$err")" -eq 1
says err "capacity='much'"
printf '%s\n' 'm g1 0:5' 'e g2' > wrong.ops
run 3 gemem-sim replay -v wrong.ops -a ge
says err "wrong.ops:2: 'g2' is no graph; load it with 'm NAME OFFSET:SIZE...' before"
done_testing
