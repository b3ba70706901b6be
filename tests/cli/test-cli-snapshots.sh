#!/bin/sh
# test-cli-snapshots.sh - PyTorch snapshots as people have them: the same recording from every writer and in every order reads the same, hostile
# ones are refused or harmless, and what info, validate and compare say of releases, versions and settings.
# shellcheck disable=SC2154,SC2086 # out and err come from tap.sh; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
samples=$GEMEM_SRCDIR/tests/data/pytorch

# ---- what is said
run 0 gemem-sim validate $samples/refused-2.15.pickle.gz
says out 'note: PyTorch: 2\.14 or later \(inferred: there is host_traces\)'
says out 'note: releases: device 0: the allocator gave back memory as the device refused a request: 1; requests that ran out of memory: 2'
run 0 gemem-sim validate $samples/no-stacks-2.15.pickle.gz
says out 'note: releases: device 0: the program emptied the cache \(trim\): 2, of these guessed for want of call stacks: 2'
run 0 gemem-sim info $samples/empty-cache-2.6.pickle.gz; says out 'PyTorch: 2\.5 to 2\.7 \(inferred: there is external_annotations, but no compile_context\)'; says out ' trim 2,'
run 0 gemem-sim info $samples/collected-2.11.pickle.gz; says out 'note: memory_limit=[0-9]+ is inferred from when garbage was collected'
run 0 gemem-sim info --version-of-torch=2.11.0 $samples/empty-cache-2.6.pickle.gz; says out 'PyTorch: 2\.11\.0'
for bad in 2 2. .6 2.x 2.6.0.1 ''; do
  run 2 gemem-sim info --version-of-torch=$bad $samples/empty-cache-2.6.pickle.gz; says err 'version-of-torch=.*: not a version; write 2\.11'
done
run 0 gemem-sim info $samples/no-history-2.15.pickle.gz; says out 'note: the snapshot holds a state and no events; call .*_record_memory_history'; says out '  streams                1$'

# ---- the recording's settings, and rows that cannot be
run 0 gemem-sim replay -v $samples/expandable-2.6.pickle.gz; says out '^  peak reserved +200\.0 MiB' # as PyTorch recorded
run 2 gemem-sim replay -d sim:virtual_memory=no $samples/expandable-2.6.pickle.gz
says err 'recorded with pytorch-caching:expandable_segments=true,version=2[.0-9]*: .*without virtual memory; .* or expandable_segments=no; --no-trace-settings leaves'
run 0 gemem-sim replay -v -a pytorch-caching:expandable_segments=no $samples/expandable-2.6.pickle.gz
run 2 gemem-sim compare -d sim:virtual_memory=no -a 'pytorch-*' -a direct $samples/expandable-2.6.pickle.gz
says out '^pytorch-caching +- .*\(not run\)'; says out '^pytorch-caching: not run:'; says out 'expandable_segments: this is a device without virtual memory'; says out '^direct '
run 2 gemem-sim compare -d sim:virtual_memory=no -f json -a 'pytorch-*' -a direct $samples/expandable-2.6.pickle.gz; cp $out both.json
check 'JSON has what was not run' jq -e '(.results | map(.label)) == ["direct"] and (.not_run | map(.label)) == ["pytorch-caching", "pytorch-expandable"] and (.not_run[0].failure | test("expandable"))' both.json
run 0 gemem-sim plot both.json -o plots
run 2 gemem-sim compare -d sim:virtual_memory=no -f csv -a 'pytorch-*' -a direct $samples/expandable-2.6.pickle.gz; says out ',pytorch-caching,.*,no,.*expandable_segments'
run 2 gemem-sim compare -d sim:virtual_memory=no -f markdown -a 'pytorch-*' -a direct $samples/expandable-2.6.pickle.gz; says out '^. pytorch-caching \(not run\) .'; says out 'pytorch-caching: not run:'
run 2 gemem-sim compare -d sim:virtual_memory=no -a 'pytorch-*' $samples/expandable-2.6.pickle.gz; check 'no table without a run' test ! -s $out

# ---- expandable segments: the recording names the whole range that was mapped, the allocator maps its pages one by one
cat >expandable.txt <<'END'
# gemem-trace: 1
# flags: has-addresses,has-segments
# allocator: "pytorch-caching"
# settings: "expandable_segments=true,version=2.7"
segment-map size=41943040 addr=0x200000000000
alloc 1 size=31457280 addr=0x200000000000
# end: 2
END
run 0 gemem-sim replay -v expandable.txt; says out 'reproduces the recording exactly: 1 of 1 decisions, 1 of 1 device calls'

# A state with pages in ranges: two runs of pages in one range with a hole between, and a range of another stream.
cat >ranges.txt <<'END'
# gemem-trace: 1
# flags: has-addresses,has-segments,starts-in-middle
# allocator: "pytorch-caching"
# settings: "expandable_segments=true,version=2.7"
segment-map size=41943040 addr=0x200000000000 flags=initial
segment-map size=20971520 addr=0x200003c00000 flags=initial
segment-map size=20971520 addr=0x240000000000 stream=7 flags=initial
alloc 1 size=4194304 block=4194304 addr=0x200000400000 flags=initial
alloc 2 size=20971520 block=20971520 addr=0x200003c00000 flags=initial
alloc 3 size=4194304 block=4194304 addr=0x240000000000 stream=7 flags=initial
alloc 4 size=4194304 block=4194304 addr=0x200000000000
alloc 5 size=8388608 block=8388608 addr=0x240000400000 stream=7
segment-map size=20971520 addr=0x200002800000
alloc 6 size=52428800 block=52428800 addr=0x200000800000
# end: 10
END
run 0 gemem-sim replay -v ranges.txt --check; says out 'reproduces the recording exactly: 3 of 3 decisions, 1 of 1 device calls'; says out 'peak reserved .* 104857600 bytes'
run 0 gemem-sim replay -v ranges.txt --find-capacity; says out 'least capacity .* 104857600 bytes'

# ---- the same in other clothes
python=$(command -v python3) || { skip "snapshots rewritten" "there is no python3"; done_testing; }
"$python" "$GEMEM_SRCDIR/tests/util/snapshots.py" mixed mixed.pickle
run 0 gemem-sim info mixed.pickle; says out '^  streams                4$'; says out '0x8000000000000010: 1 alloc'; says out '8 blocks'; says out 'PyTorch: 2\.13 '
run 0 gemem-sim replay -v mixed.pickle; says out 'reproduces the recording exactly: 4 of 4 decisions, 4 of 4 device calls'
for name in random-streams-2.15 max-split-2.6 mem-pool-2.15 written-by-cpp-2.11; do
  mkdir -p $name
  "$python" "$GEMEM_SRCDIR/tests/util/snapshots.py" rewrite $samples/$name.pickle.gz $name || exit 1
  gemem-sim convert $samples/$name.pickle.gz all.txt 2>/dev/null || exit 1
  grep -vE '^# (sha256|provenance: "converted)' all.txt >want.txt
  for file in $name/*.pickle; do
    rm all.txt; gemem-sim convert $file all.txt 2>/dev/null
    grep -vE '^# (sha256|provenance: "converted)' all.txt >got.txt
    check "$file" cmp want.txt got.txt
  done
done

# ---- hostile ones
mkdir hostile
"$python" "$GEMEM_SRCDIR/tests/util/snapshots.py" hostile hostile || exit 1
for file in hostile/fine-*.pickle; do
  run 0 timeout 10 gemem-sim info $file
done
for file in hostile/refused-*.pickle; do
  run 3 timeout 10 gemem-sim info $file; says err '^gemem-sim: error: .*: byte [0-9]+: .*; '
done
# phases that all ended before the first event, the first one first: not one pass for each (seconds of the processor)
awk -v n=300000 'BEGIN { print "# gemem-trace: 1"; for (i = 0; i < n; i++) printf "phase 0 tag=\"p%d\" t=%d\n", i, 1000 * i
  for (i = 0; i < n; i++) printf "phase-end 0 tag=\"p%d\" t=%d\n", i, 1000 * (n + i)
  printf "phase 0 tag=\"open\" t=%d\nphase 0 tag=\"open\" t=%d\nphase-end 0 tag=\"open\" t=%d\n", 2000 * n, 2000 * n, 2000 * n + 1000
  printf "alloc 1 size=512 addr=0x7f0000000000 t=%d\nfree 1 t=%d\n# end: %d\n", 3000 * n, 3000 * n + 1, 2 * n + 5 }' >phases.txt
run 0 gemem-sim convert -q phases.txt phases.pickle
run 0 sh -c 'ulimit -t 20; exec gemem-sim convert -q phases.pickle phases-again.txt'
check 'of two of a name one is still open' test "$(grep -c '^phase' phases-again.txt) $(grep -c '^phase.*open' phases-again.txt)" = '1 1'
done_testing
