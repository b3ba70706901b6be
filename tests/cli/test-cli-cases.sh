#!/bin/sh
# test-cli-cases.sh - what failed people once (../shared/cases): each file or command of its README, and what was expected there.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
shared cases/recordings || { skip 'cases' "there are none in $GEMEM_SHARED"; done_testing; }
recordings=$GEMEM_SHARED/cases/recordings threads=$GEMEM_SHARED/cases/threads

# decides FILE EQUAL ALL PEAK: a replay with the recorded addresses decides so many requests as recorded and holds PEAK bytes at most
decides () {
  run 0 gemem-sim replay "$recordings/$1" -d sim:address=recorded -f json
  check "$1: $2 of $3, $4 bytes" jq -e ".results[0] | .fidelity.equal == $2 and .fidelity.compared == $3 and .measures.peak_reserved == $4" "$out"
}
for file in 01a-expandable-middle 01b-ordinary-middle 01c-expandable-middle-hole 01d-ordinary-middle-hole; do
  decides $file.pickle 1 1 20971520
done
decides 02-kineto-small-page.json 2 2 2097152
decides 02b-kineto-large-page.json 1 1 20971520
# Its README says 3: but a request of 37 MiB in a segment of 38 is rounded to 38 by PyTorch before its profiler sees it, so no PyTorch wrote this file.
decides 03-kineto-adjacent-segments.json 2 3 186646528
for file in 04-kineto-device-properties.json:196592MiB 04b-kineto-small-gpu.json:24841920KiB 05-snapshot-over-80GiB.pickle:143156MiB; do
  run 0 gemem-sim replay "$recordings/${file%:*}" -f json
  check "${file%:*}: a device of ${file#*:}" jq -e ".results[0].device | startswith(\"sim:capacity=${file#*:},\")" "$out"
done
run 0 gemem-sim info "$recordings/06-tf-2017-bin-lines.log"; says out 'tf-bfc'
run 0 gemem-sim info "$recordings/07-kineto-windows-backslash.json" --by=line; says out 'pkg.cuda.app\.py:7 step$'
run 0 gemem-sim info "$recordings/08-snapshot-in-zip.zip"; cp "$out" zip.txt
run 0 gemem-sim info "$recordings/08-inside.pickle"; check 'the zip is what is in it' sh -c "tail -n +3 zip.txt | cmp - /dev/fd/3 3<<EOF
$(tail -n +3 "$out")
EOF"
run 3 gemem-sim "$recordings/09-dictionary-of-snapshots.pickle"; says err 'a dictionary of snapshots; write each into a file of its own'
run 3 gemem-sim "$recordings/10-empty-snapshot.pickle"; says err 'no GPU memory was in use, and no events were recorded'
for pair in "11a-memory_summary.txt:torch.cuda.memory_summary\(\) prints" "11b-torch-oom.txt:PyTorch's out-of-memory message" "11c-rmm-debug-log.txt:RMM's debug log" "11e-llama.cpp.log:llama.cpp's lines" "11f-xla-buffer-assignment.txt:XLA's buffer assignment"; do
  run 3 gemem-sim "$recordings/${pair%%:*}"; says out "${pair#*:}"
  run 3 gemem-sim replay "$recordings/${pair%%:*}"; says err "which holds no requests; 'gemem-sim explain' says what it means"
done
run 0 gemem-sim info "$recordings/12-jax-device-memory.prof" --by=line; says out '100\.0 % +1 +app\.py:7 main$'
run 3 gemem-sim "$recordings/14-any.log"; says err 'not recognised as a trace or graph'; lacks err "GE's planner"
run 0 gemem-sim info "$recordings/15-nsys-memory.sqlite"; says out ' alloc '

# F02, F03: memory that sleeps
cd "$threads" || exit 99
run 0 gemem-sim replay F02-sleep-expandable/t.txt -a pytorch-caching:expandable_segments=yes,version=2.6 -d sim:capacity=79GiB
says out 'APPROXIMATION: vLLM or torch_memory_saver is taken to switch expandable_segments off for its pools'
run 0 gemem-sim replay F02-sleep-expandable/t.txt -a pytorch-caching:expandable_segments=yes,version=2.6,sleep_pools_expandable=yes -d sim:capacity=79GiB
says out 'does not fit: 1 of 5 requests failed'; says out 'host copies +0 B'
run 0 gemem-sim replay F03-failed-wake/t.txt -a pytorch-caching -d sim:capacity=32GiB -v; says out 'sleep.host_bytes.current +21474836480$' # the copy of the woken block is dropped
# F04: what people paste
run 3 gemem-sim F04-oom-message/oom.txt; says out "Memory outside PyTorch is in the way: 1\.383 GiB of other processes"
run 3 gemem-sim F04-oom-message/oom2.txt; says out 'which: 9\.270 GiB reserved and idle \+ 0 B free would be enough for the 8\.540 GiB asked for'
# F06: idle in a private pool; F08: names of blocks
run 0 gemem-sim replay F06-idle-memory-unexplained/t.txt -a pytorch-caching -d sim:capacity=80GiB; says out '60\.00 GiB  free in private pool 1'
run 0 gemem-sim replay F08-ops-names/t.txt -a pytorch-caching -d sim:capacity=8GiB; says out 'event 1: a block of 9\.000 GiB \[activations\] failed'; lacks out '4611686018427387905'
run 0 gemem-sim info F08-ops-names/t.txt --by=category; says out ' activations$'
# F09: that sizes are rounded is said; F11: names of equal rows
run 0 gemem-sim plan F09-planner-alignment/t.csv; says err 'sizes are rounded up to multiples of 512 B'
run 0 gemem-sim compare F11-wide-names/t.txt -a pytorch-caching -a 'pytorch-caching:max_split_size_mb=*' --columns peak_reserved
says out '^pytorch-caching = max_split_size_mb=20 \+ 6 more +4\.002 GiB$|^pytorch-caching \+ [0-9]+ more +4\.002 GiB$'; lacks out '.{101}'; lacks out 'pytorch-caching = pytorch-caching'
# F13: GE's error lines; F14: releases
run 3 gemem-sim F13-ge-error-lines/ge.log; says out 'A request of 3\.000 GiB was refused'
run 3 gemem-sim info F13-ge-error-lines/ge.log; says err "error lines with 'gemem-sim explain'"
run 0 gemem-sim replay F14-versions/t.txt -a pytorch-caching:version=2.2; says out 'version=2\.2'; says err 'the rules of 2\.6 are used, the nearest release known'
run 0 gemem-sim replay F14-versions/t.txt -a paddle-buddy:version=1.5.1
run 0 gemem-sim replay F14-versions/t.txt -a cupy-pool:version=13.7
done_testing
