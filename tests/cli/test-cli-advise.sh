#!/bin/sh
# test-cli-advise.sh - the answer first: gemem-sim FILE and gemem-sim advise.  Whole screens of bundled recordings, what is never called fitting,
# exit statuses, JSON, and that each line offered is what the environment means to replay.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
for folder in traces graphs workloads tests; do ln -s "$GEMEM_SRCDIR/$folder" . ; done
recorded=traces/recorded samples=tests/data/pytorch

# screen LINES STATUS WORDS...: the screen is that of standard input, of at most LINES lines; only lines to paste may be longer than 100 columns.
screen () {
  cat >want; lines=$1; shift
  run "$@"
  cmp -s "$out" want; tap_status=$?
  ok $tap_status "the screen of: $*"
  [ $tap_status -eq 0 ] || diff want "$out" | sed 's/^/# /'
  grep -v '^  export \|^  rmm\.\|^Next: ' "$out" | awk -v most="$lines" 'length > 100 { bad = 1 } END { exit bad || NR > most }'; ok $? "it is a screen: $*"
}

# ---- whole screens: the answer, and all that was found out
screen 13 3 gemem-sim $recorded/llama-train.gmt <<'END'
llama-train.gmt: native, pytorch-caching 2.10 or 2.11, 15685 events; replayed exactly

It needs 4.271 GiB with the settings it had. How large its device is was not recorded: --capacity
  says whether it fits.

It needs less with, proven by a replay:
  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
      4.088 GiB, 188.0 MiB (4.3 %) less; 236 device calls more

Nothing needs less than the 4.033 GiB in use at once.
With --details: 1 more line to paste, what was tried, who holds it, what lies idle.
END
screen 13 4 gemem-sim $recorded/gpt2-train-too-short.gmt <<'END'
gpt2-train-too-short.gmt: native, pytorch-caching 2.10 or 2.11, 2368 events; replayed exactly

It does not fit in the limit it was given (1.387 GiB or more) with the settings it had: a request of
  147.2 MiB fails, event 1668. Why: a limit of the program (the device had 70.14 GiB free); 156.4
  MiB of the 1.287 GiB held are not in use. Up to there it needs a limit of 1.432 GiB.

All up to that request fits with, proven by a replay:
  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
      1.330 GiB, 104.0 MiB (7.1 %) less; 101 device calls more

Nothing needs less than the 1.278 GiB in use at once.
With --details: 2 more lines to paste, what was tried, who holds it, what lies idle.
END
screen 25 4 gemem-sim advise $recorded/llama-train.gmt --capacity 4.1GiB --details <<'END'
llama-train.gmt: native, pytorch-caching 2.10 or 2.11, 15685 events

It does not fit in 4.100 GiB with the settings it had: a request of 11.00 MiB fails, event 4896, and
  12 more. Why: fragmentation (120.4 MiB of the 4.098 GiB held are not in use). It needs a device of
  4.170 GiB.

It may fit with, proven by a replay:
  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
      4.088 GiB, 84.00 MiB (2.0 %) less; 107 device calls more; leaves the driver 12.40 MiB

Tried: 27 settings of pytorch-caching 2.10 or 2.11. Nothing needs less than the 4.033 GiB in use at
once.
Who holds it is not known: the recording has no call stacks.

idle at the first failure: 120.4 MiB of 4.098 GiB held
   86.38 MiB  rounding of 565 blocks in use
   18.74 MiB  free rest of 10 segments that blocks keep
   10.00 MiB  free rest of the segment of block 1936 (4.000 MiB) and 2 more in use
   5.246 MiB  in 2 other ways

Next: gemem-sim replay traces/recorded/llama-train.gmt -d sim:capacity=4.1GiB
      shows the failed request, and what stands in its way
END
screen 14 4 gemem-sim --capacity=2.7GiB workloads/sessions/dynamic-shapes.gmt <<'END'
dynamic-shapes.gmt: native, pytorch-caching 2.15 (version not recorded), 8306 events in 100 steps
The recording does not name its allocator: PyTorch's is assumed; --for chooses another.

It does not fit in 2.700 GiB with default settings: a request of 196.6 MiB fails, event 5350. Why:
  fragmentation (911.5 MiB of the 2.566 GiB held are not in use). It needs a device of 2.760 GiB.

It fits with, proven by a replay:
  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
      2.467 GiB, 300.0 MiB (10.6 %) less; 227 device calls more

Nothing needs less than the 2.147 GiB in use at once.
With --details: 1 more line to paste, what was tried, who holds it, what lies idle.
END
screen 25 4 gemem-sim --capacity=2.7GiB workloads/sessions/dynamic-shapes.gmt --details <<'END'
dynamic-shapes.gmt: native, pytorch-caching 2.15 (version not recorded), 8306 events in 100 steps
The recording does not name its allocator: PyTorch's is assumed; --for chooses another.

It does not fit in 2.700 GiB with default settings: a request of 196.6 MiB fails, event 5350. Why:
  fragmentation (911.5 MiB of the 2.566 GiB held are not in use). It needs a device of 2.760 GiB.

It fits with, each proven by a replay:
  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
      2.467 GiB, 300.0 MiB (10.6 %) less; 227 device calls more
  export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128
      2.699 GiB, 62.00 MiB (2.2 %) less; 500 device calls more

Tried: 27 settings of pytorch-caching 2.15 and 1 pair of those that help. Nothing needs less than
the 2.147 GiB in use at once.
Good to know: ge-physical, of another system, would need 2.174 GiB.
Who holds it is not known: the recording has no call stacks.

idle at the first failure: 911.5 MiB of 2.566 GiB held
   480.1 MiB  free rest of 7 segments that blocks keep
   199.6 MiB  free rest of the segment of block 2488 (12.36 MiB)
   115.1 MiB  free rest of the segment of block 2562 (17.00 MiB) and 1 more in use
   116.8 MiB  in 2 other ways

Next: gemem-sim replay workloads/sessions/dynamic-shapes.gmt -a pytorch-caching -d sim:capacity=2.7GiB
      shows the failed request, and what stands in its way
END
screen 13 0 gemem-sim advise $samples/expandable-2.6.pickle.gz --capacity 1GiB <<'END'
expandable-2.6.pickle.gz: pytorch-snapshot, pytorch-caching 2.5 to 2.7, 471 events; replayed exactly

It fits: it needs 200.0 MiB of 1.000 GiB with the settings it had.

It needs less with, proven by a replay:
  export PYTORCH_CUDA_ALLOC_CONF=
      174.0 MiB, 26.00 MiB (13.0 %) less; 27 device calls fewer

Nothing needs less than the 161.0 MiB in use at once: 97.00 MiB by
  /work/main/tests/data/pytorch/programs.py:21 take, 32.00 MiB by
  /work/main/tests/data/pytorch/programs.py:41 train.
With --details: what was tried, who holds it, what lies idle.
END
screen 25 0 gemem-sim advise $samples/expandable-2.6.pickle.gz --capacity 1GiB --details <<'END'
expandable-2.6.pickle.gz: pytorch-snapshot, pytorch-caching 2.5 to 2.7, 471 events; replayed exactly

It fits: it needs 200.0 MiB of 1.000 GiB with the settings it had.

It needs less with, proven by a replay:
  export PYTORCH_CUDA_ALLOC_CONF=
      174.0 MiB, 26.00 MiB (13.0 %) less; 27 device calls fewer

Tried: 21 settings of pytorch-caching 2.5 to 2.7. Nothing needs less than the 161.0 MiB in use at
once.
Good to know: cupy-pool, of another system, would need 162.0 MiB.

161.0 MiB in use at the peak:
   97.00 MiB   60.2 %  /work/main/tests/data/pytorch/programs.py:21 take
   32.00 MiB   19.9 %  /work/main/tests/data/pytorch/programs.py:41 train
   32.00 MiB   19.9 %  after /work/main/tests/data/pytorch/programs.py:41 train

idle at the reserved peak: 39.00 MiB of 200.0 MiB held
   39.00 MiB  free rest of the segment of block 151 (90.00 MiB by /work/main/tests/data/pytorch/p...

Next: gemem-sim replay tests/data/pytorch/expandable-2.6.pickle.gz --find-capacity
      finds the smallest device that would do
END
screen 13 4 gemem-sim $samples/refused-2.11.pickle.gz <<'END'
refused-2.11.pickle.gz: pytorch-snapshot, pytorch-caching 2.10 or 2.11, 473 events; replayed exactly

It does not fit on the device it was recorded on (2.000 GiB) with the settings it had: a request of
  24.00 MiB fails, event 171 by /work/main/tests/data/pytorch/programs.py:21 take, and 1 more; the
  program went on without. Why: truly too little (100.8 GiB in use at once, whatever the settings).
  Serving them all needs a device of 100.8 GiB.

Tried: 27 settings of pytorch-caching 2.10 or 2.11; with none of them it fits. The recording had
  1.992 GiB in use at most: 1.992 GiB by /work/main/tests/data/pytorch/programs.py:21 take.
With --details: what was tried, who holds it, what lies idle.
END
screen 13 0 gemem-sim advise graphs/bundled/bert-multibatch.json.gz --for ge --capacity 16GiB <<'END'
bert-multibatch.json.gz: graph, ge, 777 events in 1 step

It fits: it needs 3.199 GiB of 16.00 GiB with default settings.

It needs less with, proven by a replay:
  ge.exec.staticMemoryPolicy=3
      2.586 GiB, 627.8 MiB (19.2 %) less; 858 device calls more

Nothing needs less than the 2.563 GiB in use at once.
With --details: what was tried, who holds it, what lies idle.
END
screen 25 0 gemem-sim advise graphs/bundled/bert-multibatch.json.gz --for ge --capacity 16GiB --details <<'END'
bert-multibatch.json.gz: graph, ge, 777 events in 1 step

It fits: it needs 3.199 GiB of 16.00 GiB with default settings.

It needs less with, proven by a replay:
  ge.exec.staticMemoryPolicy=3
      2.586 GiB, 627.8 MiB (19.2 %) less; 858 device calls more

Tried: 4 settings of ge. Nothing needs less than the 2.563 GiB in use at once.
Who holds it is not known: the recording has no call stacks.

idle at the reserved peak: 658.0 MiB of 3.199 GiB held
   650.0 MiB  held by the allocator
   6.720 MiB  rounding of 180 blocks in use
   1.250 MiB  free rest of the segment of block 1469 (128.0 KiB [head.bias]) and 10 more in use

Next: gemem-sim plan graphs/bundled/bert-multibatch.json.gz
      places its tensors before the run, as compilers do
END

# ---- whose allocator is assumed follows from the file, also when it was converted
gemem-sim convert tests/data/ge/plan-log.txt "$GEMEM_TMP/plan-log.gmt"
for file in tests/data/ge/plan-log.txt tests/data/ge/kernel-trace.txt tests/data/ge/with-log.txt "$GEMEM_TMP/plan-log.gmt"; do
  run 3 gemem-sim $file; says out 'does not name its allocator: ge is assumed'; lacks out 'PYTORCH'
done
printf 'Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000001,allocate,0x100000000000,1000,0\n1,10:00:00.000002,free,0x100000000000,1000,0\n' >"$GEMEM_TMP/rmm.dev0.csv"
run 3 gemem-sim "$GEMEM_TMP/rmm.dev0.csv"; says out 'does not name its allocator: rmm-pool is assumed'; lacks out 'PYTORCH'
run 3 gemem-sim tests/data/onnx/mlp.onnx; says out 'does not name its allocator: ort-bfc is assumed'
run 3 gemem-sim tests/data/paddle/mlp-train.json; says out 'does not name its allocator: paddle-auto-growth is assumed'; says out '  export FLAGS_'

# ---- several files: a screen each, the worst status
run 4 gemem-sim advise -d sim:capacity=4.1GiB $recorded/llama-train.gmt $recorded/llama-decode.gmt
says out '^It does not fit in 4\.100 GiB'; says out '^It fits: it needs 976\.0 MiB of 4\.100 GiB'

# ---- what cannot be told is not called fitting
printf '# gemem-trace: 2\nalloc 1 size=1000\nalloc 2 si' >cut.txt
run 3 gemem-sim cut.txt
run 3 gemem-sim advise cut.txt --allow-partial; says out '^It cannot be told whether it fits: '
run 4 gemem-sim advise $samples/refused-2.11.pickle.gz; says out 'does not fit on the device it was recorded on'
run 3 gemem-sim advise $samples/refused-2.11.pickle.gz --capacity 200GiB; says out 'the recorded program was refused memory'
cat >middle.txt <<'END'
# gemem-trace: 2
# flags: starts-in-middle
alloc 1 size=1000
# end: 1
END
run 3 gemem-sim advise middle.txt -f json; says out 'begins in the middle, and what was held before is not in it'

# what was alive, and nothing else; then settings that did not lay that out: they save from what it needs so itself
run 3 gemem-sim $samples/no-history-2.15.pickle.gz --capacity 8GiB
says out 'alive at one moment, and no requests;$'; says out '_record_memory_history\(\) where the program begins'
cat >alive.txt <<'END'
# gemem-trace: 1
# flags: has-addresses,has-segments,starts-in-middle
# allocator: "pytorch-caching"
segment-alloc size=100MiB addr=0x10000000 flags=initial
alloc 1 size=60MiB block=60MiB addr=0x10000000 flags=initial
alloc 2 size=30MiB
alloc 3 size=30MiB
free 2
free 3
alloc 4 size=55MiB
# end: 7
END
run 0 gemem-sim alive.txt --capacity 1GiB; says out '^It fits, from where the recording begins: it needs 186\.0 MiB of 1'
says out 'alive at its beginning do \(176\.0 MiB as it is\):$'; says out '^ +120\.0 MiB, 56\.00 MiB \(31\.8 %\) less'
# frees alone, as where a snapshot is written when the failure is over; one of them is what "state" keeps
{ sed '/^alloc [234]/d; /^free/d; /^# end/d' alive.txt; echo 'alloc 2 size=20MiB block=20MiB addr=0x13c00000 flags=initial'; printf 'free %s\n' 1 2; echo '# end: 5'; } >late.txt
run 3 gemem-sim late.txt --capacity 1GiB; says out 'told whether it fits: the recording begins behind the last request\.'
sed '/^free 2/d; s/^# end: 5/# end: 4/' late.txt >state.txt
run 3 gemem-sim state.txt --capacity 1GiB; says out 'alive at one moment, and no requests'

# a profile: its replay is not exact, so what it is refused on the device where the program ran through says nothing
gemem-sim convert -q tests/data/kineto/train-2.15.0.json.gz profile.txt
sed 's/^# device: .*/# device: "capacity=100663296"/' profile.txt >own.txt
run 3 gemem-sim own.txt; says out 'the replay does not follow the recording, in which every request$'; says out '356 decisions replayed$'
# one decision otherwise, and no device: the need is a replay's
cat >other.txt <<'END'
# gemem-trace: 1
# flags: has-addresses,has-segments
# allocator: "pytorch-caching"
segment-alloc size=20MiB addr=0x10000000
alloc 1 size=4MiB block=4MiB addr=0x10000000
alloc 2 size=4MiB block=4MiB addr=0x10400000
alloc 3 size=4MiB block=4MiB addr=0x10800000
free 1
free 3
alloc 4 size=4MiB block=4MiB addr=0x10800000
# end: 7
END
run 3 gemem-sim other.txt; says out '^A replay that is not exactly the recording needs 20\.00 MiB with '
run 3 gemem-sim advise other.txt -f json; says out '"exact": false'
run 4 gemem-sim own.txt --capacity 90MiB; says out '^It does not fit in 90\.00 MiB'

# ---- nothing to say, and wrong words
printf '# gemem-trace: 2\n# end: 0\n' >empty.txt
run 3 gemem-sim empty.txt; says err 'no allocation events'
run 1 gemem-sim ./no-such.pickle; says err 'No such file'
echo nonsense >bad.bin; run 3 gemem-sim bad.bin; says err 'not recognised'
run 2 gemem-sim replai; says err "did you mean 'replay'"
run 2 gemem-sim advise; run 2 gemem-sim advise $recorded/llama-train.gmt --for=nobody
says err 'nobody'
run 2 gemem-sim advise $recorded/llama-train.gmt -d 'sim:capacity=1GiB|2GiB'; says err 'one simulated device'
run 2 gemem-sim advise $recorded/llama-train.gmt --capacity nonsense

# ---- JSON: the same fields and the sentence
run 4 gemem-sim advise workloads/sessions/dynamic-shapes.gmt --capacity 2.7GiB -f json
says out '"schema": "gemem-advice", "version": 1'; says out '"verdict": "does-not-fit"'; says out '"sentence": "It does not fit in 2\.700 GiB'
if command -v python3 >/dev/null; then
  python3 - "$out" <<'END'
import json, sys
advice, = json.load(open(sys.argv[1]))
assert advice["failure"]["reason"] and advice["failed"] > 0 and advice["lines"]
assert all(0 < line["needed_bytes"] <= advice["capacity_bytes"] for line in advice["lines"])
assert advice["lower_bound_bytes"] <= min(line["needed_bytes"] for line in advice["lines"])
open("lines", "w").write("".join(line["paste"] + "\t%d\n" % line["needed_bytes"] for line in advice["lines"]))
END
  ok $? 'the JSON has the fields'
  # ---- each line, pasted, is the replay that it was offered for
  while IFS="$(printf '\t')" read -r line bytes; do
    (eval "$line"; gemem-sim replay workloads/sessions/dynamic-shapes.gmt -a pytorch-caching -d sim:capacity=2.7GiB --env --fail-on-oom) >"$out" 2>"$err"
    ok $? "it fits after: $line"
    says out "peak reserved .* $bytes bytes"
  done <lines
fi

# ---- no saving that is one of addresses: PyTorch 2.11 takes the lower of two equal blocks, which are 58 MiB here and 40 MiB where the driver puts its segments;
# settings that decide nothing of that were offered with 31 %
printf '%s\n' 'a 1 8388608' 'a 2 8388608' 'a 3 8388608' 'a 4 8388608' 'f 2' 'f 4' 'a 5 8388608' 'f 1' 'a 6 18874368' >equal.ops
run 0 gemem-sim replay -q equal.ops -a pytorch-caching:version=2.11 -d sim:address=bump --record equal.gmt
run 3 gemem-sim equal.gmt; says out 'It needs 58\.00 MiB'; lacks out export; tr -s '\n ' '  ' <"$out" >flat
check 'and why' grep -q 'none needs less than its own 40.00 MiB with segments at other addresses' flat
run 0 gemem-sim compare equal.gmt; says out '^pytorch-caching \(now\) +58\.00 MiB'; says out '^27 other settings were tried, which need no less'; lacks out 'max_split|at other addresses'
run 0 gemem-sim compare equal.gmt -f json; check 'nor in JSON' jq -e '.results | length == 1' "$out"
run 0 gemem-sim replay equal.ops -a pytorch-caching:version=2.11 -d sim:address=cuda; says out '40\.00 MiB'
run 0 gemem-sim replay equal.ops -a pytorch-caching:version=2.11,max_split_size_mb=32 -d sim:address=bump; says out '58\.00 MiB'

# ---- what was alive before the recording began has no line
printf '%s\n' '# gemem-trace: 2' '# frame: "step" "train.py" 38' 'alloc 1 size=64MiB flags=initial' '# stack: 1' 'alloc 2 size=32MiB stack=1' '# end: 2' >before.txt
run 3 gemem-sim before.txt; tr -s '\n ' '  ' <"$out" >flat
check 'of unknown origin' grep -q '96.00 MiB in use at once: 64.00 MiB of unknown origin, 32.00 MiB by train.py:38 step' flat

done_testing
