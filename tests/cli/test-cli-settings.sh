#!/bin/sh
# test-cli-settings.sh - settings that the recorded program changed while it ran: both formats and their versions, who follows them, what a snapshot tells of them.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# A block of 8 MiB from a segment of 20 MiB; with max_split_size_mb:20 a free segment of 20 MiB serves no smaller request, and then again.
cat >changes.txt <<'END'
# gemem-trace: 4
# allocator: "pytorch-caching"
# settings: "version=2.14"
alloc 1 size=8MiB
free 1
settings tag="max_split_size_mb:20"
alloc 2 size=8MiB
free 2
settings
alloc 3 size=8MiB
free 3
# end: 8
END
peak () { says out "^  peak reserved +$1\.00 MiB"; }
run 0 gemem-sim replay -v changes.txt --check; peak 40
run 0 gemem-sim replay -v changes.txt --check -a pytorch-caching; peak 40
run 0 gemem-sim replay -v changes.txt --repeat=2 --check; peak 60 # no segment of the first time serves the second alloc 2
# whoever chooses settings has them from the first event to the last
run 0 gemem-sim replay -v changes.txt -a pytorch-caching:max_split_size_mb=64; peak 20
run 0 gemem-sim replay -v changes.txt -a pytorch-expandable; peak 20
run 0 gemem-sim replay -v changes.txt --no-trace-settings; peak 20
run 0 gemem-sim compare -v changes.txt -a direct -a tf-bfc -a torch-npu; says out '^direct '
sed 's/pytorch-caching/direct/' changes.txt >other.txt; run 0 gemem-sim replay -v other.txt -a pytorch-caching; peak 20
# what is rounded, and what a string does not name is as by default again
sed 's/^settings tag.*/settings tag="roundup_power2_divisions:2"/; s/size=8MiB/size=9MiB/' changes.txt >round.txt
run 0 gemem-sim replay round.txt --check --events e.csv; check 'sizes of blocks' test "$(awk -F, '$2 == "alloc" { printf "%s ", $6 }' e.csv)" = '9437184 12582912 9437184 '
sed 's/^settings tag.*/settings tag="expandable_segments:True"/' changes.txt >grow.txt; run 0 gemem-sim replay -v grow.txt --check
# plain segments serve requests while expandable_segments is on, expandable ones none while it is off: as PyTorch 2.6 and 2.14 placed these
cat >mixed.txt <<'END'
# gemem-trace: 4
# flags: has-addresses,has-segments
# allocator: "pytorch-caching"
# settings: "version=2.14"
segment-alloc size=20MiB addr=0x100000000000
alloc 1 size=8MiB addr=0x100000000000
segment-alloc size=30MiB addr=0x100001400000
alloc 2 size=30MiB addr=0x100001400000
free 1
free 2
settings tag="expandable_segments:True"
alloc 3 size=20447232 addr=0x100000000000
alloc 4 size=29MiB addr=0x100001400000
segment-map size=20MiB addr=0x200000000000
alloc 5 size=4MiB addr=0x200000000000
segment-map size=2MiB addr=0x201680000000
alloc 6 size=256KiB addr=0x201680000000
free 3
free 4
free 5
settings tag="expandable_segments:False"
alloc 7 size=4MiB addr=0x100000000000
alloc 8 size=20447232 addr=0x100001400000
alloc 9 size=3MiB addr=0x100002780000
segment-alloc size=2MiB addr=0x100003200000
alloc 10 size=512KiB addr=0x100003200000
free 7
free 8
settings tag="expandable_segments:True"
segment-map size=20MiB addr=0x200001400000
alloc 11 size=40MiB addr=0x200000000000
free 9
alloc 12 size=2MiB addr=0x100000000000
# end: 29
END
run 0 gemem-sim replay -v mixed.txt --check; says out 'reproduces the recording exactly: 12 of 12 decisions, 6 of 6 device calls'
run 3 gemem-sim replay -v grow.txt -a pytorch-caching -d sim:virtual_memory=no; says err 'grow.txt:event 2: .*a device without virtual memory'
sed 's/^settings tag.*/settings tag="max_split:20"/' changes.txt >bad.txt
run 3 gemem-sim replay -v bad.txt; says err "bad\.txt:event 2: .*unknown key max_split"
run 0 gemem-sim replay -v bad.txt -a pytorch-caching:max_split_size_mb=64
sed 's/^settings tag.*/settings tag="backend:cudaMallocAsync"/' changes.txt >bad.txt; run 3 gemem-sim replay -v bad.txt; says err 'event 2: .*the backend cannot change'

# ---- formats
run 0 gemem-sim convert changes.txt changes.gmt; run 0 gemem-sim convert changes.gmt again.txt; run 0 gemem-sim convert again.txt again.gmt
check 'native and text hold the same' sh -c 'gemem-sim convert again.gmt - -f text | grep -v "^#" >a; grep -v "^#" again.txt >b; cmp a b && grep -c "^settings" b | grep -q 2'
check 'the text is version 4' test "$(head -n 1 again.txt)" = '# gemem-trace: 4'
check 'the native file is version 4' test "$(od -An -tu1 -j8 -N1 changes.gmt | tr -d ' ')" = 4
run 0 gemem-sim replay -v changes.gmt; peak 40
sed '1s/4/3/' changes.txt >old.txt; run 3 gemem-sim info old.txt; says err "old.txt:6: 'settings' is an event of version 4; let the first line be '# gemem-trace: 4'"
sed '1s/4/6/' changes.txt >new.txt; run 3 gemem-sim info new.txt; says err 'version 6 of the text format, and this gemem knows versions up to 5; use a newer gemem'
sed 's/^settings tag.*/wake/' changes.txt >asleep.txt; run 3 gemem-sim info asleep.txt; says err "asleep.txt:6: 'wake' needs a line '# flags: has-sleep' before the events"
sed -e 's/^settings tag.*/wake/' -e '2i # flags: has-sleep' changes.txt >asleep.txt; run 0 gemem-sim convert asleep.txt asleep.gmt; run 0 gemem-sim validate asleep.gmt
run 0 gemem-sim info changes.gmt; says out 'settings 2'
run 0 gemem-sim convert --anonymous=names changes.gmt - -f text; says out '^settings tag="max_split_size_mb:20"'
run 0 gemem-sim help _set_allocator_settings

# ---- a snapshot, whose annotations tell the changes: the last settings in it are those of the end
python=$(command -v python3) || { skip "a snapshot" "there is no python3"; # ---- the latency of events, where the recording says itself when streams were done
printf '%s\n' '# gemem-trace: 1' 'alloc 1 size=1MiB' 'free-requested 1' 'alloc 2 size=1MiB' 'free-completed 1' '# end: 4' >done.txt
printf '%s\n' '# gemem-trace: 1' 'alloc 1 size=1MiB' 'use-on-stream 1 stream=3' 'free 1' '# end: 3' >used.txt
run 0 gemem-sim replay done.txt -a pytorch-caching -d sim:capacity=1GiB,event_latency=20ms
says err 'done\.txt: event_latency has no effect: the recording says when streams were done with freed memory, not which streams used it$'
run 0 gemem-sim replay done.txt -a pytorch-caching -d sim:capacity=1GiB; silent err
run 0 gemem-sim replay used.txt -a pytorch-caching -d sim:capacity=1GiB,event_latency=20ms; silent err

# ---- settings without effect are named by every command
cat >plain.txt <<'END'
# gemem-trace: 1
# allocator: "pytorch-caching"
# settings: "garbage_collection_threshold=0.8,version=2.11"
alloc 1 size=1MiB
free 1
# end: 2
END
note='note: pytorch-caching: garbage_collection_threshold has no effect without a limit; set per_process_memory_fraction, or leave it out$'
for command in advise replay compare; do
  run 0 gemem-sim $command plain.txt -d 8GiB; says err "$note"
done
run 0 gemem-sim replay plain.txt -d 8GiB -a pytorch-caching:per_process_memory_fraction=0.5; silent err
run 0 gemem-sim replay plain.txt -d 8GiB --no-trace-settings; silent err
run 0 gemem-sim replay plain.txt -d 8GiB -a "pytorch-caching:conf='garbage_collection_threshold:0.8'"; says err "$note"
sed '/^# settings/d' plain.txt >bare.txt
own=pytorch-caching:garbage_collection_threshold=0.8
for command in 'info --idle' tune 'diff bare.txt' 'gate -b ci.ini --update'; do
  # shellcheck disable=SC2086 # words
  run 0 gemem-sim $command bare.txt -d 8GiB -a $own; says err "$note"
  check "$command: once" test "$(grep -c 'without a limit' "$err")" -eq 1
done
run 0 gemem-sim info --idle plain.txt -d 8GiB; says err "$note"
run 0 gemem-sim info --idle bare.txt -d 8GiB; silent err
# of torch_npu too, and what its string of settings says stands in the list of parameters
npu="torch-npu:conf='garbage_collection_threshold:0.6,roundup_power2_divisions:4,max_split_size_mb:64'"
run 0 gemem-sim replay -v bare.txt -d 8GiB -a "$npu"
says err 'note: torch-npu: garbage_collection_threshold has no effect without a limit; set per_process_memory_fraction or memory_limit'
says out '^  garbage_collection_threshold +0\.6$'; says out '^  roundup_power2_divisions +4$'; says out '^  max_split_size_mb +64MiB$'
run 0 gemem-sim replay bare.txt -d 8GiB -a torch-npu:garbage_collection_threshold=0.6,memory_limit=4GiB; silent err
run 0 gemem-sim replay bare.txt -d 8GiB -a "torch-npu:conf='segment_size_mb:32'"; says err 'segment_size_mb has no effect without expandable_segments'
run 0 gemem-sim compare bare.txt -d 8GiB; silent err # what compare itself tries is no setting of the user
done_testing; }
"$python" "$GEMEM_SRCDIR/tests/util/snapshots.py" settings told.pickle
run 0 gemem-sim convert told.pickle told.txt
says_settings () { sed -n "s/ t=[0-9]*//; s/ size=.*//; /^# settings/p; /^[a-z]/p" told.txt | paste -s -d ';'; }
check 'the first settings, and each change where it was' test "$(says_settings)" = '# settings: "conf=\"garbage_collection_threshold:0.9,max_split_size_mb:99\",version=2.13";phase tag="step";phase-end tag="step";segment-alloc;alloc 1;free-requested 1;free-completed 1;settings tag="max_split_size_mb:20";segment-alloc;alloc 2'
run 0 gemem-sim replay -v told.pickle; says out 'reproduces the recording exactly: 2 of 2 decisions, 2 of 2 device calls'
run 0 gemem-sim validate told.pickle
done_testing
