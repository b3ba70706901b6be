#!/bin/sh
# test-h100-times.sh - predicted time in the allocator beside what an H100 took, 40 rows: as good as was reached, and results/gpu says so.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

results=$GEMEM_SRCDIR/results/gpu
mkdir found
cp "$results/compare.csv" "$results/nvidia-h100-80gb-hbm3.ini" found
ln -s "$(cd "$results" && pwd)/host" found/host
run 0 "$GEMEM_SRCDIR/tests/gpu/times.sh" found
for file in times.csv times.md; do check "$file is what tests/gpu/times.sh writes" cmp "$results/$file" "found/$file"; done
head -n 4 found/times.md | sed 's/^/# /'
# rows LIMIT: how many are within that part.
rows () { awk -F, -v limit="$1" 'NR > 1 { off = $4 / $3 - 1; n += off <= limit && off >= -limit } END { print n }' found/times.csv; }
check "$(rows 0.1) of 40 rows within 10 %: 9 or more" test "$(rows 0.1)" -ge 9
check "$(rows 0.3) of 40 rows within 30 %: 25 or more" test "$(rows 0.3)" -ge 25
check '40 rows' test "$(rows 9)" = 40
check 'as many calls as were made, but for 3 in two rows of paddle-auto-growth' \
  awk -F, 'NR > 1 && $7 != $8 { n++; bad += $2 != "paddle-auto-growth" || $7 - $8 != 3 } END { exit n != 2 || bad > 0 }' found/times.csv
if command -v gnuplot >/dev/null; then check 'they are drawn' grep -q '</svg>' found/plots/times.svg found/plots/nvidia-h100-80gb-hbm3.svg; fi
done_testing
