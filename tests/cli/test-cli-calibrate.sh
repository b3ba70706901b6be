#!/bin/sh
# test-cli-calibrate.sh - profiles that are measured: a simulated device gives its own again; on a GPU (here the stand-in driver's) they are marked with
# what was measured; predicted and measured times stand side by side.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

events=4000; [ -z "${GEMEM_QUICK:-}" ] || events=1200
gemem-sim generate "random:events=$events,live=100" --seed 3 -o r.gmt

# ---- simulated: the same prices give the same times
run 0 gemem-sim calibrate -d sim:profile=h200 --repeats 3 -o own.ini
check 'the source of every number is a measurement, but for one' test "$(grep -c '^source=guess' own.ini)" = 1
for profile in h200 own.ini; do
  gemem-sim compare r.gmt -d "sim:profile=$profile,capacity=8GiB" -f csv >"$profile.csv"
done
check 'it prices every allocator as the profile that was measured' sh -c \
  "sed 's/own.ini/h200/' own.ini.csv | cut -d, -f8- >a && test -s a && cut -d, -f8- h200.csv | cmp - a"
run 0 gemem-sim calibrate -d sim --repeats 1; says out '^\[malloc\]$'; says out '^# clock: that of the simulated device$'

# ---- mistakes
run 2 gemem-sim calibrate -d sim --repeats 0; says err 'repeats=0: out of range'
run 2 gemem-sim calibrate -d simm; says err 'did you mean'
run 2 gemem-sim calibrate x.gmt
run 1 gemem-sim calibrate -d sim -o /nowhere/x.ini; says err '/nowhere/x.ini'
run 1 gemem-sim calibrate -d sim --repeats 1 -o /dev/full; says err '/dev/full: No space left'
run 1 gemem-sim calibrate -d sim:capacity=16MiB; says err 'are needed free'

# ---- measured beside modelled
run 0 gemem-sim replay -v r.gmt -a direct --measure; says out '^calls, measured '; says out '^  malloc +[0-9]+ '
run 0 gemem-sim replay -v r.gmt -a direct; check 'no measured calls unless asked for' sh -c "! grep -q 'calls, measured' '$out'"

run 0 gemem-sim compare r.gmt -a direct -a pytorch-caching --measure -f json -o m.json --plots p
check 'a row for predicted and real time of each' sh -c "grep -v '^#' p/measured-r.dat | grep -c '\"[0-9.]* [mu]s for [0-9.]* [mu]s: [-+][0-9.]* %\" \"[dp]' | grep -qx 2"
check 'every allocation stands in one bin, modelled and measured' sh -c \
  "awk '!/^#/ && NF { a += \$3; b += \$4; c += \$5; d += \$6 } END { exit !(a == b && c == d && a > $events / 2) }' p/latency-r.dat"
if command -v gnuplot >/dev/null; then check 'they are drawn' test -s p/measured-r.png -a -s p/latency-r.svg; fi
run 0 gemem-sim compare -v r.gmt -a direct --plots q; check 'none without measurement' sh -c 'test -s q/timeline-r.gp && ! ls q | grep "^measured\|^latency"'
run 0 gemem-sim plot m.json -f csv; says out ',modelled_to_measured,prediction_error,'
run 0 gemem-sim plot m.json -f markdown; says out '^\| direct \|'
run 2 gemem-sim plot m.json -f html; says err 'html'

# ---- a GPU
gemem_driver=$GEMEM_BUILDDIR/tests/dry/.libs
if ! has_cuda; then
  skip 'a GPU' 'built without the CUDA headers'
  done_testing
fi
LD_LIBRARY_PATH=$gemem_driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GEMEM_DRIVER=sim:capacity=4GiB GEMEM_DRIVER_REPORT=$GEMEM_TMP/report
export LD_LIBRARY_PATH GEMEM_DRIVER GEMEM_DRIVER_REPORT
run 0 gemem-sim calibrate -d cuda:0 --repeats 3 -o gpu.ini
check 'it says on what it was measured' grep -q '^# device: gemem stand-in 0, CUDA 13.0$' gpu.ini
check 'each source does' sh -c "test \$(grep -c '^source=measured: .*; gemem stand-in 0, CUDA' gpu.ini) = 16"
lacks gpu.ini ^source=guess
hit=$(sed -n 's/^hit_ns=//p' gpu.ini); check "an allocator at its cache takes $hit ns" test "$hit" -ge 5 -a "$hit" -le 20000
lacks report '^(leak|misuse|fault)'
rm -f report
timeout --foreground -s INT 1 gemem-sim calibrate -d cuda:0 --repeats 1000000 -o never.ini >"$out" 2>"$err"; interrupted=$?
check "interrupted: exit status $interrupted" test $interrupted -eq 124 -o $interrupted -eq 130; says err 'calibrate: interrupted; there is no profile'
check 'nothing is left of it, nor left behind' sh -c "! ls never.ini* 2>/dev/null && grep -q '^end' report && ! grep -q '^leak\|^misuse\|^fault' report"
run 0 gemem-sim compare -v r.gmt -a direct -a ge-expandable -d cuda:0:profile=gpu.ini --measure
says out 'modelled/measured'
run 0 gemem-sim replay r.gmt -a ge-expandable -d cuda:0:profile=gpu.ini --measure -f json
check 'each call has its histogram' sh -c "grep -q '\"map\": {\"count\": [1-9][0-9]*, .*\"measured_ns\": {\"count\": [1-9]' '$out'"
# ---- a GPU whose costs are known: they are found, and predict what replays take
awk '/^\[/ { group = $0 } /^base_ns=/ { sub (/=.*/, "=" (group ~ /malloc|free|create|destroy|map|reserve|release/ ? 300000 : 100000)) }
  /^(per_mib|per_page|set_access)_ns/ { next } { print } /^\[(map|free)\]/ { print "per_1000_live_ns=3000000" }' \
  "$GEMEM_PROFILES/generic.ini" >known.ini
real () { env GEMEM_DRIVER_REAL_TIME=1 GEMEM_DRIVER="sim:capacity=2GiB,profile=$PWD/known.ini" "$@"; }
# A call on the GPU may be two of the driver's: as much as it must be, and not half as much again. On a busy host the sizes of a call may
# be no line: then each of them.
near () { # GROUP KEY LEAST MOST
  got=$(awk -v group="[$1]" -v key="$2" -F = '$0 == group { on = 1; next } /^\[/ { on = 0 } on && $1 == key { print $2 }
    on && key == "base_ns" && $1 == "sizes" { n = split ($2, a, " "); for (i = 1; i <= n; i++) { sub (/.*:/, "", a[i]); print a[i] } }' found.ini | sort -n | paste -s -d " " -)
  least=${got%% *} most=${got##* }
  $how "$1 has $2=$got, from $3 to $4" test "${least:-0}" -ge "$3" -a "${most:-0}" -le "$4"
}
only () { shift; "$@" || missed=yes; }
costs () { # HOW: check, or only, which sets $missed
  how=$1 missed=
  for call in malloc free reserve release create destroy map unmap; do near $call base_ns 240000 480000; done
  near map per_1000_live_ns 2000000 4500000
  near free per_1000_live_ns 2000000 4500000
  $how 'calls that cost the same among many do so' awk '/^\[/ { g = $0 } /^per_1000_live_ns/ { n++; split ($0, a, "="); if (g !~ /map|free/ && a[2] > 500000) { print g, $0; dear = 1 } } END { exit dear || n < 3 }' found.ini
}
for _ in 1 2 3 4 5 6; do # the host may be busy
  run 0 real gemem-sim calibrate -d cuda:0 --repeats 7 -o found.ini
  costs only; [ -n "$missed" ] || break
done
costs check
check 'medians and p99 of each size and count are there' grep -q '^#, map, 2097152, 64, 7, [0-9]*, [0-9]*, [0-9]*$' found.ini
run 0 gemem-sim calibrate -d sim:profile=found.ini --repeats 1 -o again.ini
check 'the simulator takes what was found as it is' sh -c \
  "for f in found again; do grep '^\\[\|^base_ns\|^per_mib\|^per_page\|^synchronises=' \$f.ini >\$f.numbers; done; test -s found.numbers && diff found.numbers again.numbers"
gemem-sim generate random:events=300,live=20,size_max=8MiB --seed 3 -o few.gmt
run 0 real gemem-sim replay few.gmt -a direct -d cuda:0:profile=found.ini --measure --warm-up=1 -f json
# Medians: in a sum the moments count in which the host did something else.
modelled=$(sed -n 's/.*"alloc_p50": \([0-9]*\).*/\1/p' "$out") measured=$(sed -n 's/.*"measured_alloc_p50": \([0-9]*\).*/\1/p' "$out")
check "it predicts what the replay takes: $modelled ns for an allocation of $measured ns" test $((modelled * 10)) -gt $((measured * 6)) -a $((modelled * 10)) -lt $((measured * 14))

# ---- a GPU that serves small requests from shared pages, and whose costs are no line
awk '/^\[/ { group = $0; bent = group ~ /malloc|free/ } bent && /^(base|per_mib)_ns=/ { next } { print }
  /^\[(malloc|free)\]/ { print "sizes=2MiB:200000 128MiB:250000 512MiB:900000\nshared_ns=50000" }' "$GEMEM_PROFILES/generic.ini" >bent.ini
bent () { env GEMEM_DRIVER_REAL_TIME=1 GEMEM_DRIVER="sim:capacity=4GiB,address=cuda,profile=$PWD/bent.ini" "$@"; }
price () { # GROUP SIZE: ns, or of shared_ns
  awk -v group="[$1]" -v size="$2" '$0 == group { on = 1; next } /^\[/ { on = 0 } on && /^sizes=/ { sub (/^sizes=/, ""); for (i = 1; i <= NF; i++) { split ($i, a, ":"); if (a[1] == size) print a[2] } }
    on && size == "shared" && sub (/^shared_ns=/, "") { print }' found.ini
}
within () { # GROUP SIZE LEAST MOST
  got=$(price "$1" "$2")
  $how "$1 of $2 takes ${got:-nothing}, from $3 to $4" test "${got:-0}" -ge "$3" -a "${got:-0}" -le "$4"
}
bends () { # HOW
  how=$1 missed=
  for call in malloc free; do
    within $call shared 40000 100000; within $call 2MiB 170000 290000; within $call 128MiB 210000 350000; within $call 512MiB 760000 1200000
  done
}
for _ in 1 2 3 4 5 6; do
  run 0 bent gemem-sim calibrate -d cuda:0 --repeats 7 -o found.ini
  bends only; [ -n "$missed" ] || break
done
bends check
check 'where the figure comes from is said' grep -q '^shared_ns_source=measured: medians of 21 calls of 256 B, 4 KiB and 64 KiB beside one block of 256 B; gemem stand-in 0' found.ini
gemem-sim generate random:events=300,live=20,size_max=256KiB --seed 3 -o small.gmt
run 0 bent gemem-sim replay small.gmt -a direct -d cuda:0:profile=found.ini --measure -f json
modelled=$(sed -n 's/.*"alloc_p50": \([0-9]*\).*/\1/p' "$out") measured=$(sed -n 's/.*"measured_alloc_p50": \([0-9]*\).*/\1/p' "$out")
check "requests in a page that others keep are priced so: $modelled ns, taken $measured ns" test "$modelled" -le 110000 -a $((modelled * 10)) -gt $((measured * 6)) -a $((modelled * 10)) -lt $((measured * 14))
gpu=$(sed -n 's/.*"calls_time": \([0-9]*\).*/\1/p' "$out")
run 0 gemem-sim replay small.gmt -a direct -d sim:address=cuda,capacity=4GiB,profile=found.ini -f json
check "as on the simulated device: $gpu ns" test "$gpu" = "$(sed -n 's/.*"calls_time": \([0-9]*\).*/\1/p' "$out")"

GEMEM_DRIVER_FAIL=cuMemMap=4:CUDA_ERROR_UNKNOWN; export GEMEM_DRIVER_FAIL
run 1 gemem-sim calibrate -d cuda:0 --repeats 2; says err 'cuMemMap: CUDA_ERROR_UNKNOWN'
GEMEM_DRIVER_DEVICES=0; export GEMEM_DRIVER_DEVICES
run 77 gemem-sim calibrate; says err 'device cuda'

done_testing
