#!/bin/sh
# test-collect.sh - tests/gpu/collect.sh from one end to the other on the stand-in driver: every file is there and says that this is no GPU.
. "$GEMEM_SRCDIR/tests/util/tap.sh"
collect=$GEMEM_SRCDIR/tests/gpu/collect.sh

run 2 "$collect" -o x walk; says err "no step is called 'walk'"
run 2 "$collect" -z
[ -e "$GEMEM_BUILDDIR/tests/standin/.libs/libcuda.so.1" ] || { skip 'the rest' 'built without the CUDA headers'; done_testing; }
LD_LIBRARY_PATH=$GEMEM_BUILDDIR/tests/standin/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GEMEM_STANDIN=sim:capacity=4GiB
export LD_LIBRARY_PATH GEMEM_STANDIN
run 77 env GEMEM_STANDIN_DEVICES=0 "$collect" -o none; says err 'CUDA_ERROR_NO_DEVICE'; check 'and no folder is left' test ! -e none
run 2 "$collect" calibrate; says err 'this is the stand-in driver; results/gpu is for GPUs'
run 1 "$collect" -q -o early compare; says out 'compare: failed \(there is no .*gemem-stand-in-0.ini yet'
run 1 "$collect" -q -t 0 -o late calibrate; says out 'calibrate: not run \(no time was left\)'
check 'what was not run is named' grep -q '^| calibrate | not run | ' late/README.md

run 0 "$collect" -q -o all calibrate compare sanitizer
check 'the profile is one' gemem-sim replay "$GEMEM_SRCDIR/traces/recorded/vit-train.gmt" -a direct -d sim:profile=all/gemem-stand-in-0.ini
for file in README.md compare.md compare.csv gemem-stand-in-0.ini; do
  check "$file says that this is no GPU" grep -q 'STAND-IN DRIVER, NOT A GPU' "all/$file"
done
check 'the table has the error' grep -q '| modelled/measured | time error |' all/compare.md
check 'and the name, the version of CUDA and the date' grep -q 'gemem stand-in 0, CUDA 13.0; .* UTC$' all/compare.md
check 'the manifest has the machine' grep -q '"hardware": "gemem stand-in 0, CUDA 13.0"' all/compare.manifest.json
check 'the pictures are there' sh -c 'ls all/plots/compare/measured-*.gp all/plots/compare/latency-*.gp'
check 'every step has its line' sh -c 'test $(grep -c "^| [a-z]* | ok | " all/README.md) = 3 && test $(grep -c "^| [a-z]* | not run | " all/README.md) = 2'
run 0 "$collect" -q -o all sanitizer
check 'a second call keeps what the first one found' sh -c 'test $(grep -c "^| [a-z]* | ok | " all/README.md) = 3'
done_testing
