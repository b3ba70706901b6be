#!/bin/sh
# test-cli-refused.sh - a recording with a request that ran out of memory is replayed with that request: in every command, on every device, from every kind of recorder.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
data=$GEMEM_SRCDIR/tests/data

# trace FILE LINE...: a trace as text.
trace () {
  file=$1; shift
  { echo '# gemem-trace: 4'; printf '%s\n' "$@"; echo "# end: $#"; } >"$file"
}
trace went-on.txt 'alloc 1 size=100MiB' 'alloc 2 size=200MiB' 'free 1' 'oom size=300MiB stream=7' 'free 2' 'alloc 3 size=10MiB'
trace ends.txt 'alloc 1 size=100MiB' 'alloc 2 size=200MiB' 'oom size=300MiB' 'free 2' 'free 1'

# ---- never green where it does not fit
run 4 gemem-sim replay -v went-on.txt -a direct -d sim:capacity=400MiB --fail-on-oom
says out '^  1 request ran out of memory when recorded \(300\.0 MiB, event 3\), and does here$'
says out '^    the program went on without, with 1 request after that$'
says out '^  event 3: the request that failed when recorded, 300\.0 MiB failed with 200\.0 MiB live'
says out '^    true: no layout could have served it; 100\.0 MiB would have to be freed first$'
run 4 gemem-sim compare -v went-on.txt -a direct -a pytorch-caching -d sim:capacity=400MiB --fail-on-oom
says out '^1 request ran out of memory when recorded \(300\.0 MiB, event 3\), and here with each$'
says out '^the program went on without, with 1 request after that$'
says out '^pytorch-caching is the only real allocator that served what was served when recorded: it needs 300\.0 MiB\.$'
run 4 gemem-sim compare -v ends.txt -a direct -a pytorch-caching -d sim:capacity=400MiB --fail-on-oom; says out '^the only real allocator here did not serve every request\.$'

# ---- where it is served, what follows is a lower bound
run 0 gemem-sim replay -v went-on.txt -a direct -d sim:capacity=1GiB --fail-on-oom --find-capacity
says out '^  1 request ran out of memory when recorded \(300\.0 MiB, event 3\), and is served here$'
says out '^    the program went on without: peaks and least capacity are lower bounds$'
says out '^  least capacity +500\.0 MiB '; says out '^  peak reserved +500\.0 MiB '; says out '^  peak live +500\.0 MiB .*, after event 3$'
run 0 gemem-sim replay -v ends.txt -a direct; says out '^    the recording ends there: peaks and least capacity are lower bounds$'
run 0 gemem-sim compare -v went-on.txt -a direct -a pytorch-caching -d sim:capacity=550MiB
says out '^1 request ran out of memory when recorded \(300\.0 MiB, event 3\); served by each$'
says out '^the program went on without: peaks and least capacity are lower bounds$'
run 0 gemem-sim compare -v went-on.txt -a direct -a pytorch-caching:memory_limit=400MiB
says out 'when recorded \(300\.0 MiB, event 3\); served by direct$'

# ---- of several that were refused it says which one ended the recording: cuDNN tries one workspace after another
trace several.txt 'alloc 1 size=100MiB' 'oom size=300MiB' 'alloc 2 size=50MiB' 'oom size=290MiB'
run 4 gemem-sim several.txt -d 350MiB; says out '^It does not fit in 350\.0 MiB with default settings: a request of 300\.0 MiB fails, event 1, and 1$'
says out '^  more; the program went on without, up to the last, of 290\.0 MiB, event 3\. Why: '; says out 'Serving them all needs a device of 690\.0 MiB\.$'
trace same.txt 'alloc 1 size=100MiB' 'oom size=300MiB' 'oom size=300MiB'; run 4 gemem-sim same.txt -d 350MiB; lacks out 'up to the last'

# ---- what others held of the device is counted in the one that would do
cat >others.txt <<'EOF'
# gemem-trace: 2
# flags: has-addresses,has-segments
# allocator: "pytorch-caching"
# settings: "version=2.11"
# device: "capacity=180MiB"
segment-alloc size=34MiB addr=0x100000000000
alloc 1 size=34MiB addr=0x100000000000
device-limit size=51.7MiB
oom size=32MiB free=17.7MiB
device-limit
# end: 5
EOF
run 4 gemem-sim others.txt; says out 'truly too little \(34\.00 MiB in use'; says out 'Up to there it needs a device of 194\.3 MiB\.$'

# ---- files
run 0 gemem-sim replay went-on.txt -a direct --format json
for field in '"recorded_ooms": 1' '"recorded_ooms_served": 1' '"recorded_oom_size": 314572800' '"recorded_oom_seq": 3' '"after_recorded_oom": 1'; do says out "$field,$"; done
run 0 gemem-sim info went-on.txt; says out '; 1 request ran out of memory \(300\.0 MiB\), and the program went on;'; says out 'lower bound, 512 B +500\.0 MiB '
run 0 gemem-sim info ends.txt; says out '; 1 request ran out of memory \(300\.0 MiB\), and the recording ends there;'
run 0 gemem-sim validate went-on.txt
run 0 gemem-sim convert went-on.txt there.gmt; run 0 gemem-sim convert there.gmt back.txt; check "native and back" grep -q '^oom size=314572800 stream=7$' back.txt
run 0 gemem-sim convert --anonymous there.gmt hidden.gmt
for file in there.gmt hidden.gmt; do run 4 gemem-sim replay -v "$file" -a direct -d sim:capacity=400MiB --fail-on-oom; done
run 0 gemem-sim plan went-on.txt -p best-fit-by-size; says out '^best-fit-by-size +500\.0 MiB +500\.0 MiB'
run 0 gemem-sim replay -v went-on.txt -a plan; says out '^  peak reserved +500\.0 MiB '; says out '^  failed +0$'

# ---- on a smaller or larger device than the recorded one the comparison ends where the two part
recorded=$GEMEM_SRCDIR/traces/recorded
run 0 gemem-sim replay "$recorded/gpt2-train.gmt" -d 2GiB; says out '^reproduces the recording exactly up to event 2032, refused here alone: 1108 of 1108 decisions$'
run 0 gemem-sim replay "$recorded/gpt2-train-too-short.gmt" -d 4GiB; says out '^reproduces the recording exactly up to event 1668, served here alone: 775 of 775 decisions$'
run 0 gemem-sim replay "$recorded/gpt2-train-too-short.gmt"; says out '^reproduces the recording exactly: 776 of 776 decisions, 43 of 43 device calls$'
run 4 gemem-sim advise "$recorded/gpt2-train.gmt" -d 2GiB; says out '^  192 more\. Why: truly too little \(2\.381 GiB in use at once, whatever the settings\)'

# ---- a device that nobody named is not too small for anything
trace huge.txt 'alloc 1 size=60GiB' 'alloc 2 size=60GiB' 'free 1' 'free 2'
run 3 gemem-sim advise huge.txt; says out '^It needs 120\.0 GiB with default settings\. How large its device is was not recorded'
run 4 gemem-sim advise huge.txt -d 80GiB; says out '^It does not fit in 80\.00 GiB with default settings: a request of 60\.00 GiB fails, event 1\.'

# ---- on a shared device
run 4 gemem-sim replay -v --share-device went-on.txt ends.txt -a direct -d sim:capacity=600MiB --fail-on-oom
run 0 gemem-sim replay --share-device went-on.txt ends.txt -a direct -d sim:capacity=2GiB --share-order=turns --format json
says out '"recorded_ooms": 2,$'; says out '"peak_live": 838860800,$' # 200 MiB of one, 600 MiB of the other

# ---- recorders
kineto=$data/kineto/oom-2.15.0.json.gz # Total Reserved is 104857600 at most, and the refused request released the cache
run 4 gemem-sim replay -v "$kineto" -d sim:gpu=rtx4090 --fail-on-oom; says out '^  event 6: the request that failed when recorded, 64\.00 GiB by aten::empty failed with 20\.00 MiB live'
run 0 gemem-sim replay -v "$kineto" -d sim:address=recorded --find-capacity
says out 'reproduces the recording exactly: 4 of 4 decisions'; says out '^  peak reserved +100\.0 MiB +104857600 bytes'; says out '^  least capacity +64\.0[0-9] GiB '
snapshot=$data/pytorch/refused-2.15.pickle.gz
run 0 gemem-sim replay -v "$snapshot" -d sim:address=recorded --find-capacity; says out 'reproduces the recording exactly: 105 of 105 decisions, 156 of 156 device calls'
check "a least capacity where the recorded device is followed" sh -c "! grep -q 'least capacity  *none' $out"
if command -v python3 >/dev/null; then
  python3 "$GEMEM_SRCDIR/tests/util/snapshots.py" refused observed.pickle # 600 MiB are live, 500 MiB are asked for
  run 0 gemem-sim replay -v observed.pickle -d sim:address=recorded; says out 'reproduces the recording exactly: 4 of 4 decisions, 4 of 4 device calls'; says out '^  failed +1$'
  run 4 gemem-sim replay -v observed.pickle -d sim:capacity=1GiB --fail-on-oom; says out 'the request that failed when recorded, 500\.0 MiB by train\.py:20 forward failed with 600\.0 MiB live'
  run 0 gemem-sim replay -v observed.pickle -d sim:capacity=2GiB --find-capacity; says out '^  least capacity +1\.074 GiB '; says out '^ +500\.0 MiB +refused .*train\.py:20 forward'
  run 0 gemem-sim info observed.pickle; says out '1 request ran out of memory \(500\.0 MiB\), and the recording ends there'
  # 900 MiB were held before, and more than the request was free: a limit of the program, of which no more than that is known
  python3 "$GEMEM_SRCDIR/tests/util/snapshots.py" refused limited.pickle 70000
  run 4 gemem-sim limited.pickle; says out '^It does not fit in the limit it was given \(900\.0 MiB or more\)'; says out 'Why: a limit of the program \(the device had$'; says out '68\.36 GiB free\)\. Up to there it needs a limit of 1\.074 GiB\.$'; lacks out 'recorded fits'
  run 4 gemem-sim limited.pickle -f json; check 'JSON: it is of the limit' jq -e '.[0].needed_of_limit and .[0].needed_bytes == 1153433600' "$out"
  # garbage collection tells of a limit that may be too large, as a collection in vain is not seen: the program had 870 MiB
  python3 "$GEMEM_SRCDIR/tests/util/snapshots.py" collected collected.pickle
  run 4 gemem-sim collected.pickle; says out '^It does not fit in the limit it was given \(870\.0 MiB or more\)'; says out 'Why: a limit of the$'; lacks out 'request fits'
  run 0 gemem-sim info collected.pickle; says out 'note: memory_limit=1153433600 is inferred' # 1100 MiB, of 1000
  # 900 MiB were held before, but for the request 700 were left: another process came
  python3 "$GEMEM_SRCDIR/tests/util/snapshots.py" refused crowded.pickle 100 200
  run 0 gemem-sim replay crowded.pickle -a direct; says out '^  failed +1$'
  run 0 gemem-sim replay crowded.pickle -a direct --find-capacity; says out '^  least capacity +900\.0 MiB '
  run 0 gemem-sim replay crowded.pickle -a direct -d 900MiB; says out '^  failed +0$'
fi
log=$data/tensorflow/whole.log
run 0 gemem-sim replay -v "$log" -a direct; says out '^  1 request ran out of memory when recorded \(18\.76 MiB, event [0-9]+\), and is served here$'

# ---- an H100, with 1.5 GB for the program
# lines that need as much as was refused, or more than is known to be there, fit nowhere that is known
short=$recorded/gpt2-train-too-short.gmt
run 4 gemem-sim "$short" --details; says out '^It does not fit in the limit it was given \(1\.387 GiB or more\)'; says out 'Up to there it needs a limit of 1\.432 GiB\.$'; says out '^All up to that request fits with, each proven'
says out '^      1\.330 GiB, 104\.0 MiB'; lacks out '1\.400 GiB|max_split_size_mb:128'
gemem-sim convert "$short" short.txt; sed '/^# device:/d' short.txt >unknown.txt # a recording without the device
run 4 gemem-sim unknown.txt --details; says out '^It does not fit on the device it was recorded on with'; says out '^It needs less with, each'; lacks out 'fits with|max_split_size_mb:128'
real=$GEMEM_SHARED/gpu/h100/recordings/gpt2-train-too-short.pickle.gz
if shared gpu/h100/recordings; then
  run 0 gemem-sim replay -v "$real" -d sim:address=recorded --find-capacity; says out 'reproduces the recording exactly: 776 of 776 decisions, 43 of 43 device calls'
  says out '^  failed +1$'; says out '^  least capacity +1\.432 GiB +1537212416 bytes$'
  run 4 gemem-sim replay -v "$real" -d sim:capacity=1500000000 --fail-on-oom
  run 0 gemem-sim replay -v "$real" -d sim:gpu=rtx4090 --fail-on-oom; says out 'event 1668\), and is served here$'
else
  echo "# no $real: the recordings of an H100 are not looked at"
fi
done_testing
