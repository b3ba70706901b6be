#!/bin/sh
# test-cli-record.sh - a run as a recording (replay --record); any trace as a PyTorch snapshot, which Python reads, and PyTorch's own tools where they are; and as
# a timeline for Perfetto.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
recorded=$GEMEM_SRCDIR/traces/recorded

# events FILE: its events and what allocator made them
events () { gemem-sim convert -q "$1" - -f text | sed -n -e '/^# \(allocator\|settings\):/p' -e '/^[a-z]/p'; }

# ---- a recording as a snapshot and back: no event differs
for name in gpt2-train-stacks gpt2-train-expandable gpt2-train-too-short; do
  run 0 gemem-sim convert -q "$recorded/$name.gmt" $name.pickle
  events "$recorded/$name.gmt" >wanted; events $name.pickle >got; check "$name: the same events" cmp wanted got
  check "$name: there are some" test "$(wc -l <got)" -gt 2000
done

# ---- a run: its decisions are those of a replay of it
for allocator in pytorch-caching pytorch-caching:expandable_segments=true tf-bfc ge-scalable direct paddle-auto-growth cuda-async; do
  run 0 gemem-sim replay -q "$recorded/gpt2-train-stacks.gmt" -a "$allocator" --record run.pickle --events events.csv
  run 0 gemem-sim replay -f json run.pickle
  if command -v jq >/dev/null; then
    check "$allocator: every decision again" jq -e ".results[0] | .allocator == \"${allocator%%:*}\" and (.fidelity | .compared > 2800 and .equal == .compared)" "$out"
  fi
  run 0 gemem-sim replay -q "$recorded/gpt2-train-stacks.gmt" -a "$allocator" --record run.txt
  sed -n 's/^alloc [0-9]* size=\([0-9]*\) .*addr=\(0x[0-9a-f]*\).*/\1 \2/p' run.txt >got
  awk -F, '$2 == "alloc" { print $4, $5 }' events.csv >wanted; check "$allocator: its addresses" cmp wanted got
done

# ---- what Python finds in it
python=$(command -v python3) || { skip 'Python reads it' 'there is no python3'; python=; }
cat >holds.py <<'EOF'
import pickle, sys

snapshot = pickle.load(open(sys.argv[1], "rb"))
history, live, segments = snapshot["device_traces"][int(sys.argv[2])], {}, {}
for event in history:
    action, address, size = event["action"], event.get("addr"), event["size"]
    if action == "alloc":
        assert address not in live
        live[address] = size
    elif action == "free_completed":
        assert live.pop(address) == size
    elif action == "segment_alloc":
        assert address not in segments
        segments[address] = size
    elif action == "segment_free":
        assert segments.pop(address) == size
ended = {}
for segment in snapshot["segments"]:
    if segment["device"] != int(sys.argv[2]):
        continue
    at = segment["address"]
    for block in segment["blocks"]:
        assert block["address"] == at, (hex(at), block)
        at += block["size"]
        if block["state"] != "inactive":
            ended[block["address"]] = block["requested_size"]
    assert at == segment["address"] + segment["total_size"]
    assert segment["active_size"] == sum(b["size"] for b in segment["blocks"] if b["state"] != "inactive")
assert ended == live, (len(ended), len(live))
if not any(s["is_expandable"] for s in snapshot["segments"]):
    assert {s["address"]: s["total_size"] for s in snapshot["segments"] if s["device"] == int(sys.argv[2])} == segments
print(len(history), "events", len(live), "live", sum(bool(e["frames"]) for e in history), "with frames", [e["size"] for e in history if e["action"] == "oom"][:1])
EOF
if [ -n "$python" ]; then
  for allocator in pytorch-caching pytorch-caching:expandable_segments=true tf-bfc paddle-auto-growth direct; do
    run 0 gemem-sim replay -q "$recorded/gpt2-train-stacks.gmt" -a $allocator --record run.pickle
    run 0 "$python" holds.py run.pickle 0; says out '^[0-9]{4,} events'
  done
  run 0 gemem-sim replay -q "$recorded/gpt2-train-stacks.gmt" -a pytorch-caching -d sim:capacity=1GiB --record run.pickle
  run 0 "$python" holds.py run.pickle 0; says out 'with frames \[[0-9]+\]$'
  # two devices, phases, a name that is no UTF-8, an address above 2^63, private pools, what is alive at the end
  cat >odd.txt <<'EOF'
# gemem-trace: 1
# flags: has-time,has-addresses
phase tag="forward <b>"
segment-alloc size=2097152 addr=0x8000000000000000 t=1000 flags=small
alloc 1 size=700 block=1024 addr=0x8000000000000000 t=1000
segment-alloc size=2097152 addr=0x7000000 device=2 t=2000
alloc 2 size=4096 addr=0x7000000 device=2 pool=3 t=2000
free-requested 2 device=2 t=3000
phase-end tag="forward <b>" t=3000
# end: 7
EOF
  run 0 gemem-sim convert -q odd.txt odd.pickle; run 0 "$python" -c '
import pickle
s = pickle.load(open("odd.pickle", "rb"))
assert [len(t) for t in s["device_traces"]] == [2, 0, 3], s
assert s["device_traces"][0][1]["addr"] == 1 << 63
a, b = s["segments"]
assert (a["device"], a["segment_type"], a["blocks"][0]["state"], a["blocks"][0]["size"], a["blocks"][1]["state"]) == (0, "small", "active_allocated", 1024, "inactive"), a
assert (b["device"], b["blocks"][0]["state"]) == (2, "active_pending_free"), b
assert [(x["stage"], x["name"]) for x in s["external_annotations"]] == [("START", "forward <b>"), ("END", "forward <b>")]
'
  if [ -n "${GEMEM_TORCH_2_11:-}" ]; then
    run 0 gemem-sim replay -q "$recorded/gpt2-train-stacks.gmt" -a ge-scalable --record run.pickle
    run 0 "$GEMEM_TORCH_2_11" -c '
import pickle
from torch.cuda import _memory_viz as viz
s = pickle.load(open("run.pickle", "rb"))
print(len(viz.trace_plot(s)), len(viz.segment_plot(s)), len(viz.segsum(s)), len(viz.trace(s)))'
    says out '^[0-9]{5,} [0-9]{5,} [0-9]{3,} [0-9]{5,}$'
  else
    skip "PyTorch's own tools read it" "\$GEMEM_TORCH_2_11 is not set"
  fi
fi

# ---- a timeline for Perfetto
run 0 gemem-sim replay -q "$recorded/gpt2-train-stacks.gmt" -a ge-scalable -d sim:capacity=2GiB,address=bump --record run.perfetto -f json; cp "$out" run.json
if command -v jq >/dev/null; then
  check 'it is JSON, its times do not fall' jq -e '.traceEvents | [.[] | .ts] | . == sort' run.perfetto
  for figure in 'in use:peak_live' 'held:peak_reserved'; do
    check "$figure: the peak is that of the report" test "$(jq "[.traceEvents[] | select(.ph == \"C\") | .args.\"${figure%:*}\"] | max" run.perfetto)" = "$(jq ".results[0].measures.${figure#*:}" run.json)"
  done
  check 'failures name who asked' jq -e '[.traceEvents[] | select(.ph == "i" and (.name | startswith("out of memory: ")))] | length == '"$(jq '.results[0].measures.ooms' run.json)"' and .[0].args.by == "record.py:35 run"' run.perfetto
  run 0 gemem-sim replay -q "$recorded/gpt2-train-stacks.gmt" -a direct --record direct.perfetto
  check 'what is held falls again, with what is in use' jq -e '[.traceEvents[] | select(.ph == "C") | .args] | last | .held == ."in use" and .held < 100000000' direct.perfetto
  run 0 gemem-sim convert -q odd.txt odd.perfetto
  check 'phases begin and end, each device has a name' jq -e '[.traceEvents[] | select(.ph == "B" or .ph == "E") | .ph] == ["B", "E"] and ([.traceEvents[] | select(.name == "process_name") | .pid] == [0, 2])' odd.perfetto
else
  skip 'the timeline' 'there is no jq'
fi
run 3 gemem-sim info run.perfetto

# ---- sizes at the ends of what a byte, a word and a long of a pickle hold
{ printf '# gemem-trace: 1\n# flags: has-addresses\n'; n=0
  for size in 1 255 256 257 65535 65536 2147483647 2147483648 4294967296 1099511627776; do
    n=$((n + 1)); printf 'alloc %d size=%s addr=%s\n' $n $size $((n * 2199023255552))
  done; echo '# end: 10'; } >sizes.txt
run 0 gemem-sim convert -q sizes.txt sizes.pickle; run 0 gemem-sim convert -q sizes.pickle back.txt
check 'they come back' test "$(grep -o '^alloc .* size=[0-9]*' back.txt | sed 's/.*=//' | tr '\n' ' ')" = "$(grep -o '^alloc .* size=[0-9]*' sizes.txt | sed 's/.*=//' | tr '\n' ' ')"

# ---- a long one goes through a file, and what is wrong is said
run 0 gemem-sim convert -q "$recorded/llama-decode.gmt" long.pickle; events long.pickle >got; check 'a long one is whole' test "$(wc -l <got)" -gt 129000
printf 'alloc 1 size=512\n' >none.txt; { printf '# gemem-trace: 1\n'; cat none.txt; echo '# end: 1'; } >bare.txt
run 2 gemem-sim convert bare.txt bare.pickle; says err "bare\.pickle: a snapshot names blocks by their addresses.*'gemem-sim replay TRACE --record bare\.pickle'"
check 'nothing is left of it' test ! -e bare.pickle
run 0 gemem-sim replay -q bare.txt -a pytorch-caching --record bare.pickle; run 0 gemem-sim info bare.pickle
run 2 gemem-sim replay bare.txt -a direct -a ge --record two.pickle; says err "--record=two\.pickle: a recording is of one run, these are 2"
run 2 gemem-sim replay bare.txt -a direct --record run.csv; says err 'run\.csv: the name does not tell the format'
run 2 gemem-sim replay bare.txt -a direct --record bare.txt; says err '--record would overwrite'
run 1 gemem-sim replay -q bare.txt -a direct --record nowhere/run.pickle
if [ -w /dev/full ]; then run 1 gemem-sim convert -q "$recorded/gpt2-train.gmt" -f pytorch-snapshot /dev/full; says err 'No space left'; fi
done_testing
