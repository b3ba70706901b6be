#!/bin/sh
# test-cli-brief.sh - what replay and compare print by default: the answer, few columns, nothing wider than a screen; --verbose has the rest, and no form loses a result.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
data=$GEMEM_SRCDIR/tests/data/pytorch

widest () { awk '{ if (length ($0) > n) n = length ($0) } END { print n + 0 }' "$1"; }
cat >waste.txt <<'END'
# gemem-trace: 4
alloc 1 size=100MiB
alloc 2 size=200MiB
free 1
alloc 3 size=90MiB
free 2
free 3
# end: 6
END

# ---- replay: the answer first
run 0 gemem-sim replay "$data/expandable-2.6.pickle.gz"
check 'the answer is below the name' sh -c 'sed -n 3p "$1" | grep -qx "every request was served; at most 200\.0 MiB of 80\.00 GiB were held"' sh "$out"
says out '^  peak reserved +200\.0 MiB +209715200 bytes, after event [0-9]+$'; says out '^reproduces the recording exactly: 151 of 151'
check 'no statistics, no parameters' sh -c '! grep -Eq "statistics as|^parameters|latency|guesses|against now" "$1"' sh "$out"
check "a screen: $(wc -l <"$out") lines, $(widest "$out") columns" test "$(wc -l <"$out")" -le 19 -a "$(widest "$out")" -le 100
run 0 gemem-sim replay -v "$data/expandable-2.6.pickle.gz"; says out '^statistics as the system names them$'; says out '^  expandable_segments +yes$'
run 0 gemem-sim replay waste.txt -a direct -d sim:capacity=280MiB
check 'a failure is the answer' sh -c 'sed -n 2p "$1" | grep -qx "does not fit: 1 of 3 requests failed"' sh "$out"
says out '^    true: no layout could have served it; 20\.00 MiB would have to be freed first$'
run 0 gemem-sim replay waste.txt -a direct -f json; check 'JSON has the sentence' jq -e '.summary == ["waste.txt: every request was served; at most 300.0 MiB of 80.00 GiB were held"]' "$out"
printf '# gemem-trace: 4\nalloc 1 size=1MiB\nfree 7\n# end: 2\n' >wrong.txt
gemem-sim replay wrong.txt -a direct >stopped 2>&1; check 'a run that broke off is no answer' sh -c '! grep -q "every request was served" stopped && grep -q "free of 7\|7" stopped'

# ---- compare: what the program could choose
run 0 gemem-sim compare "$data/expandable-2.6.pickle.gz"
says out '^allocator +peak reserved +against now +failed +device calls$'; says out '^pytorch-caching \(now\) +200\.0 MiB +0\.0 % +0 +37$'
says out '^expandable_segments=no +174\.0 MiB +-13\.0 % +0 +10$'; says out '^[0-9]+ other settings were tried, which need no less'
says out '^pytorch-caching:expandable_segments=no needs least of the 2 settings: 174\.0 MiB, 26\.00 MiB'; check "no line wider than a screen" test "$(widest "$out")" -le 100
check 'no allocator of another system, no guess' sh -c '! grep -Eq "paddle|tf-bfc|cupy|guess|modelled" "$1"' sh "$out"
gemem-sim compare "$data/expandable-2.6.pickle.gz" -o c.json; gemem-sim compare "$data/expandable-2.6.pickle.gz" -o c.csv
check 'the same rows in every form' sh -c 'test "$(jq ".results | length" c.json)" = 2 && test "$(tail -n +2 c.csv | wc -l)" = 2'
gemem-sim plot c.json -f table >again; check 'saved results say what the program has now' grep -Eq '^pytorch-caching \(now\) +200\.0 MiB +0\.0 %' again
run 0 gemem-sim compare "$data/expandable-2.6.pickle.gz" --zoo; says out '^tf-bfc '; says out '^pytorch-caching \(now\) '
run 0 gemem-sim compare waste.txt; says out '^tf-bfc '; check 'who made it is not known: nothing is now' sh -c '! grep -q "now" "$1"' sh "$out"
run 0 gemem-sim compare waste.txt -a direct -a cupy-pool --zoo; says out '^ge'
run 0 gemem-sim compare "$data/refused-2.11.pickle.gz"
check 'what fails now is the first row' sh -c 'grep -A1 "^allocator" "$1" | tail -n 1 | grep -Eq "^pytorch-caching \(now\) .*\(failed\)$"' sh "$out"
run 0 gemem-sim compare "$data/expandable-2.6.pickle.gz" --find-capacity; says out '^allocator .* least capacity'

# ---- a value that is refused among others is a row; that all are is an error
run 0 gemem-sim compare waste.txt -a 'tf-bfc:enable_spatial_partitioning=*'; says out '^enable_spatial_partitioning=yes +- .*\(not run\)$'
run 2 gemem-sim compare waste.txt -a 'tf-bfc:enable_spatial_partitioning=yes,garbage_collection=*' -a direct; says err 'needs allow_growth=no$'
run 2 gemem-sim compare waste.txt -a 'tf-bfc:enable_spatial_partitioning=yes' -a direct

# ---- a search: the best ten, no row wider than a page
run 0 gemem-sim compare "$data/max-split-2.6.pickle.gz" -a 'pytorch-caching:max_split_size_mb=unlimited|32|64|128|256|512|1024,roundup_power2_divisions=0|1|2|4|8,garbage_collection_threshold=*' -a pytorch-caching -d 80GiB
rows=$(sed -n '/^allocator/,/^$/p' "$out" | grep -c MiB)
check "no more than eleven rows and what is left out ($rows)" test "$rows" -le 11
check "no row wider than 120 ($(sed -n '1,/^$/p' "$out" | awk '{ if (length ($0) > n) n = length ($0) } END { print n }'))" sh -c '! sed -n "1,/^$/p" "$1" | grep -q "^.\{121\}"' sh "$out"
check 'settings that are the default are not named' sh -c '! sed -n "1,/^$/p" "$1" | grep -Eq "roundup_power2_divisions=0|max_split_size_mb=unlimited"' sh "$out"
run 2 gemem-sim compare "$data/max-split-2.6.pickle.gz" -a 'pytorch-caching:max_split_size_mb=20,roundup_power2_divisions=0|1|2|4|8|16,garbage_collection_threshold=0.5|0.6' -a direct
check 'of many that are refused the first are named' sh -c 'test "$(tr "\n" " " <"$1" | tr -s " " | grep -o ": not run: " | grep -c .)" = 5 && grep -q "^and 7 more that were not run" "$1"' sh "$out"
run 0 env COLUMNS=70 gemem-sim compare "$data/max-split-2.6.pickle.gz" -a 'pytorch-caching:max_split_size_mb=64,roundup_power2_divisions=4,garbage_collection_threshold=0.8' -a direct -f table
run 0 gemem-sim compare waste.txt -a direct -a cupy-pool -f markdown; says out '^\| allocator \| peak reserved \| failed \| device calls \|$'
run 0 gemem-sim compare -v waste.txt -a direct -a cupy-pool; says out 'utilisation'; says out '^device calls '

# ---- names of a row that stands for many: as many as fit, the rest below the table
printf '%s\n' 'a big 4294967296' 'f big' 'a tiny 10240' 'a again 4294967296' >few.txt
run 0 gemem-sim compare few.txt -a pytorch-caching -a 'pytorch-caching:max_split_size_mb=*' --columns peak_reserved
says out '^pytorch-caching .*\+ [0-9] more +4\.002 GiB$'; check "no row is cut or wider than 100" awk '/\.\.\./ || length ($0) > 100 { bad = 1 } /^all / { exit } END { exit bad }' "$out"
says out 'max_split_size_mb=1024'
done_testing
