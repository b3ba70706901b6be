#!/bin/sh
# test-cli-calibrate.sh - profiles that are measured: a simulated device gives its own again; on a GPU (here the stand-in driver's) they are marked with
# what was measured; predicted and measured times stand side by side.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

gemem-sim generate random:events=4000,live=100 --seed 3 -o r.gmt

# ---- simulated: the same prices give the same times
run 0 gemem-sim calibrate -d sim:profile=h200 --repeats 3 -o own.ini
check 'the source of every number is a measurement, but for one' test "$(grep -c '^source=guess' own.ini)" = 1
for profile in h200 own.ini; do
  gemem-sim compare r.gmt -d "sim:profile=$profile,capacity=8GiB" -f csv >"$profile.csv"
done
check 'it prices every allocator as the profile that was measured' sh -c \
  "sed 's/own.ini/h200/' own.ini.csv | cut -d, -f8- >a && cut -d, -f8- h200.csv | cmp - a"
run 0 gemem-sim calibrate -d sim --repeats 1; says out '^\[malloc\]$'; says out '^# clock: that of the simulated device$'

# ---- mistakes
run 2 gemem-sim calibrate -d sim --repeats 0; says err 'repeats=0: out of range'
run 2 gemem-sim calibrate -d simm; says err 'did you mean'
run 2 gemem-sim calibrate x.gmt
run 1 gemem-sim calibrate -d sim -o /nowhere/x.ini; says err '/nowhere/x.ini'
run 1 gemem-sim calibrate -d sim:capacity=16MiB; says err 'are needed free'

# ---- measured beside modelled
run 0 gemem-sim replay r.gmt -a direct --measure; says out '^calls, measured '; says out '^  malloc +[0-9]+ '
run 0 gemem-sim replay r.gmt -a direct; check 'no measured calls unless asked for' sh -c "! grep -q 'calls, measured' '$out'"

# ---- a GPU
standin=$GEMEM_BUILDDIR/tests/standin/.libs
if [ ! -e "$standin/libcuda.so.1" ]; then
  skip 'a GPU' 'built without the CUDA headers, there is no stand-in driver'
  done_testing
fi
LD_LIBRARY_PATH=$standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GEMEM_STANDIN=sim:capacity=4GiB GEMEM_STANDIN_REPORT=$GEMEM_TMP/report
export LD_LIBRARY_PATH GEMEM_STANDIN GEMEM_STANDIN_REPORT
run 0 gemem-sim calibrate -d cuda:0 --repeats 3 -o gpu.ini
check 'it says on what it was measured' grep -q '^# device: gemem stand-in 0, CUDA 13.0$' gpu.ini
check 'each source does' sh -c "test \$(grep -c '^source=measured: .*; gemem stand-in 0, CUDA' gpu.ini) = 15"
check 'nothing was misused or left behind' sh -c "! grep -q '^leak\|^misuse\|^fault' report"
run 0 gemem-sim compare r.gmt -a direct -a ge-expandable -d cuda:0:profile=gpu.ini --measure
says out 'modelled/measured'
run 0 gemem-sim replay r.gmt -a ge-expandable -d cuda:0:profile=gpu.ini --measure -f json
check 'each call has its histogram' sh -c "grep -q '\"map\": {\"count\": [1-9][0-9]*, .*\"measured_ns\": {\"count\": [1-9]' '$out'"
GEMEM_STANDIN_FAIL=cuMemMap=4:CUDA_ERROR_UNKNOWN; export GEMEM_STANDIN_FAIL
run 1 gemem-sim calibrate -d cuda:0 --repeats 2; says err 'cuMemMap: CUDA_ERROR_UNKNOWN'
GEMEM_STANDIN_DEVICES=0; export GEMEM_STANDIN_DEVICES
run 77 gemem-sim calibrate; says err 'device cuda'

done_testing
