#!/bin/sh
# test-cli-sizes.sh - sizes with fractions, forgotten units, texts of the real systems, lists of devices, "*" behind shorthands, and
# long names known by a part of them.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cat >small.txt <<'END'
# gemem-trace: 1
alloc 1 size=1048576
alloc 2 size=3145728
free 1
free 2
# end: 4
END
capacity () { gemem-sim replay small.txt "$@" -f json | sed -n 's/.*"capacity": \([0-9]*\),*$/\1/p'; }
holds () { wanted=$1; shift; got=$(capacity "$@"); check "$wanted bytes: $*" test "$got" = "$wanted"; }
refused () { run 2 gemem-sim "$@"; check 'one line' test "$(wc -l <"$err")" = 1; }

# ---- fractions are rounded down to a byte
holds 42305427865 -a direct -d sim:capacity=39.4GiB
holds 12562779340 -a direct -d sim:capacity=11.7GiB
holds 2010000000 -a direct -d sim:capacity=2.01GB # as a double it is one byte less
holds 102 -a direct -d sim:capacity=0.1KiB
holds 12562779340 -a direct:capacity=11.7GiB
run 0 gemem-sim generate random:events=10,sizes=fixed,size_max=1.3KiB; says out 'size=1331'
run 0 gemem-sim replay -v small.txt -a pytorch-caching:memory_limit=0.7GiB,max_split_size_mb=20.3MiB
refused replay small.txt -a direct -d sim:capacity=0.0009KiB; says err "less than a byte"
refused replay small.txt -a direct -d sim:capacity=39.4; says err "capacity='39.4': a fraction needs a unit; write 39.4GiB, or a whole number"

# ---- what a real system reads itself
refused replay small.txt -a pytorch-caching:max_split_size_mb=20.5; says err "a fraction needs a unit; write 20.5MiB, or a whole number"
refused replay small.txt -a paddle:FLAGS_auto_growth_chunk_size_in_mb=1.5; says err "a fraction needs a unit"
refused replay small.txt -a pytorch-caching:conf=max_split_size_mb:MiB; says err "PyTorch 2.15 refuses it"
run 0 gemem-sim replay -v small.txt -a pytorch-caching:conf=max_split_size_mb:200MiB # to PyTorch, too, the number at its begin
run 0 gemem-sim replay -v small.txt -a pytorch-caching:conf=max_split_size_mb:200
run 2 env FLAGS_auto_growth_chunk_size_in_mb=64MiB gemem-sim replay small.txt -a paddle --env; says err "'64MiB': not a whole number of MiB"
run 0 env FLAGS_auto_growth_chunk_size_in_mb=64 gemem-sim replay -v small.txt -a paddle --env; says out '64\.00 MiB'

# ---- forgotten units
refused replay small.txt -a direct -d sim:capacity=16
says err '^gemem-sim: error: device sim: capacity=16: 16 bytes\? write 16GiB, or 16B if so few are meant$'
refused replay small.txt -a direct:capacity=80;             says err 'allocator direct: capacity=80: 80 bytes\? write 80GiB'
refused replay small.txt -a direct -d faulty:nth=3,total=24; says err 'total=24: 24 bytes\? write 24GiB'
refused replay small.txt -a pytorch-caching:memory_limit=2048; says err '2048 bytes\? write 2048MiB'
refused replay small.txt -a direct -d 'sim:capacity=8GiB|16'; says err 'capacity=16: 16 bytes\?'
refused generate ge-session:size_max=4;                      says err 'size_max=4: 4 bytes\? write 4GiB'
refused plan small.txt --trace t.txt --split=2;              says err '--split=2: 2 bytes\? write 2GiB'
holds 16 -a direct -d sim:capacity=16B
holds 4096 -a direct -d sim:capacity=4096
run 0 gemem-sim replay -v small.txt -a direct -d sim:step=16,reserved_by_others=0 # alignments may be small, and nothing is nothing
run 0 gemem-sim generate random:size_max=16,size_min=8,events=10
sed '1a # device: "capacity=1000"' small.txt >recorded.txt # a program wrote that, and forgot nothing
got=$(gemem-sim replay recorded.txt -a direct -f json | sed -n 's/.*"capacity": \([0-9]*\),*$/\1/p')
check 'a recorded device may be as small' test "$got" = 1000

# ---- several devices
run 0 gemem-sim compare small.txt -a direct -a pytorch-caching -d 'sim:capacity=8GiB|16.5GiB' -f csv
check 'every allocator on every device, in order' sh -c 'tail -n +2 "$1" | cut -d, -f 5 >labels; printf "%s\n" "direct (capacity=8GiB)" "pytorch-caching (capacity=8GiB)" \
  "direct (capacity=16.5GiB)" "pytorch-caching (capacity=16.5GiB)" | diff - labels' sh "$out"
says out '"sim:capacity=16896MiB,'
run 0 gemem-sim compare -v small.txt -a direct -d 'sim:capacity=3MiB|1GiB' --plots plots
says out 'device 3\.000 MiB to 1\.000 GiB$'; says out '^direct \(capacity=3MiB\) '
check 'a panel shows the capacity of its own device' sh -c 'test "$(grep -c "^ *3145728/unit.*capacity" plots/timeline-small.gp)" = 1 && ! grep 1073741824/unit plots/timeline-small.gp'
run 0 gemem-sim replay small.txt -a direct -d 'sim:capacity=8GiB|16GiB' -f json; says out '"label": "direct \(capacity=16GiB\)"'
run 0 gemem-sim replay small.txt -a direct -d sim:address=cuda,capacity=1GiB --check # whole pages are held, of which the allocator asked for parts
run 0 gemem-sim generate random:events=200,live=20,size_max=64KiB --seed 3 -o little.txt
run 0 gemem-sim replay little.txt -a direct -d sim:address=cuda; says out "^  \(in CUDA's pages of 2 MiB; direct asked for [0-9.]* KiB, and reports that\)\$"
run 0 gemem-sim replay little.txt -a direct -d faulty:address=cuda,nth=1000000; says out "^  \(in CUDA's pages of 2 MiB; direct asked "
run 0 gemem-sim compare little.txt -a direct -a pytorch-caching -d sim:address=cuda
says out "^peak reserved is in CUDA's pages of 2 MiB; what allocators report is less: direct [0-9.]* KiB\$"
run 0 gemem-sim replay little.txt -a direct -d sim:address=cuda -f json; says out '"peak_asked": [1-9]'
asked=$(sed -n 's/.*"peak_asked": \([0-9]*\).*/\1/p' "$out")
run 0 gemem-sim replay little.txt -a direct -f json; says out '"peak_asked": 0'
check "it is what is reserved where pages are not shared: $asked" test "$asked" = "$(sed -n 's/.*"peak_reserved": \([0-9]*\).*/\1/p' "$out" | head -n 1)"
run 0 gemem-sim replay little.txt -a pytorch-caching -d sim:address=cuda; check 'one that asks for whole pages reports the same' sh -c "! grep \"CUDA's pages\" '$out'"
run 0 gemem-sim compare small.txt -a direct -d 'sim:address=*,capacity=1GiB' -f csv; says out 'direct \(address=first-fit\)'
run 0 gemem-sim compare small.txt -a direct -d 'faulty:call=malloc|create,nth=1|2,capacity=1GiB|2GiB' -f csv # the bar of call= is a set
check 'two settings vary, one does not' test "$(grep -c 'direct (nth=[12],capacity=[12]GiB)' "$out")" = 4
run 0 gemem-sim compare small.txt -a direct -d sim:capacity=8GiB -f csv; says out ',direct,"sim:capacity=8GiB,'
refused compare small.txt -a direct -d 'sim:capacity=*';     says err 'device sim: capacity=\*: no values are known'
refused replay small.txt -a direct -d 'sim:capacity=8GiB|16GiB' --events x.csv; says err 'these are 2; give one -a and one device'

# ---- "*" behind a shorthand
run 0 gemem-sim compare small.txt -a 'paddle:FLAGS_auto_growth_chunk_size_in_mb=*' -f csv
check 'a run for every value' test "$(grep -c ',paddle:FLAGS_auto_growth_chunk_size_in_mb=[0-9]*,' "$out")" = 9
run 0 gemem-sim compare small.txt -a 'paddle:preset=P2|P3,FLAGS_free_idle_chunk=*' -f csv
says out 'paddle:preset=P2,FLAGS_free_idle_chunk=yes'; says out 'paddle:preset=P3,FLAGS_free_idle_chunk=no'
refused compare small.txt -a 'paddle:FLAGS_gpu_memory_limit_mb=*'; says err 'no values are known'
run 0 gemem-sim compare small.txt -a 'direct:address=*' -f csv; says out 'direct:address=recorded'
for resource in pool arena binning fixed-size limiting; do # what is worth trying is no cycle
  run 0 gemem-sim compare -v small.txt -a "rmm-$resource:upstream=*"; silent err
done
run 0 gemem-sim replay -v small.txt -a rmm-binning:bins=none # the default as it is printed
refused replay small.txt -a rmm-binning:bins=none,min_size_exponent=none; says err 'no bins; give'

# ---- long names by a part of them
refused replay small.txt -a paddle-auto-growth:chunk_size_in_mb=20; says err "did you mean 'auto_growth_chunk_size_in_mb'"
refused replay small.txt -a paddle:chunk_size_in_mb=20;             says err "did you mean 'auto_growth_chunk_size_in_mb'"
refused replay small.txt -a paddle:FLAGS_chunk_size_in_mb=20;       says err "did you mean 'FLAGS_auto_growth_chunk_size_in_mb'"
refused replay small.txt -a pytorch-caching:split_size=20;          says err "did you mean 'max_split_size_mb'"
refused replay small.txt -a scalable;                               says err "did you mean 'ge-scalable'"
gemem-sim generate random:events=200,live=20 -o r.gmt
run 0 gemem-sim compare -v r.gmt -a direct -d 'sim:capacity=12GiB|16GiB'; says out '^direct \(capacity=12GiB\|16GiB\) '
done_testing
