#!/bin/sh
# test-cli-pinned.sh - PyTorch's pinned host memory in snapshots of 2.15 (tests/data/pinned): a trace of its own, which `pytorch-pinned` replays as PyTorch decided.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
data=$GEMEM_SRCDIR/tests/data/pinned

# ---- what Python's own pickle finds, and the replay, event by event
cat >judge.py <<'PY'
import csv, gzip, json, pickle, sys
snapshot = pickle.load(gzip.open(sys.argv[1]))
events, segments = snapshot["host_traces"], snapshot["host_segments"]
def top(kinds, end):
    now = most = 0
    for event in events:
        now += kinds.get(event["action"], 0) * event["size"]
        most = max(most, now)
    return most + end - now
live = top({"alloc": 1, "free_completed": -1}, sum(b["size"] for s in segments for b in s["blocks"] if b["state"].startswith("active")))
held = top({"segment_alloc": 1, "segment_free": -1}, sum(s["total_size"] for s in segments))
result = json.load(open("r.json"))["results"][0]
figures = result["measures"]
assert result["allocator"] == "pytorch-pinned", result["allocator"]
assert (figures["peak_live"], figures["peak_reserved"]) == (live, held), (figures["peak_live"], live, figures["peak_reserved"], held)
real = [event["addr"] for event in events if event["action"] == "alloc"]
ours = [row["address"] for row in csv.DictReader(open("events.csv")) if row["kind"] == "alloc"][-len(real):]
assert ours == [str(a) for a in real] or [int(a, 0) for a in ours] == real, "addresses"
PY
for name in plain rounded cached middle; do
  run 0 gemem-sim validate --trace-device=host "$data/$name-2.15.pickle.gz"
  run 0 gemem-sim replay "$data/$name-2.15.pickle.gz" --trace-device=host --check -o r.json --events events.csv
  run 0 gemem-sim replay "$data/$name-2.15.pickle.gz" --trace-device=host
  says out '^reproduces the recording exactly: ([0-9]+) of \1 decisions, ([0-9]+) of \2 device calls$'
  if command -v python3 >/dev/null; then
    check "$name: blocks and peaks as Python reads them" python3 judge.py "$data/$name-2.15.pickle.gz"
  else
    skip "$name: blocks and peaks" 'python3 reads the pickle'
  fi
done

# ---- the GPU's verdict says what it is not about
run 0 gemem-sim info "$data/plain-2.15.pickle.gz"; says out '^  pinned host memory     432 of these: --trace-device=host'
says out 'recorded allocator +pytorch-caching'; lacks out '^host memory'
run 0 gemem-sim info "$data/plain-2.15.pickle.gz" --format=json; says out '"pinned": *432'
run 3 gemem-sim "$data/plain-2.15.pickle.gz"
says out "^Not counted: the host's pinned memory, of which 432 events were recorded:"; says out 'gemem-sim .*plain-2.15.pickle.gz --trace-device=host$'
run 0 gemem-sim convert "$data/plain-2.15.pickle.gz" gpu.gmt; says err "432 events of the host's pinned memory are left out; --trace-device=host writes them\$"
run 0 gemem-sim convert "$data/plain-2.15.pickle.gz" host.gmt --trace-device=host; lacks err 'left out'
run 3 gemem-sim host.gmt; says out 'pytorch-pinned 2.14 or later, .* events of host memory'

# ---- the host's: no setting of a GPU's allocator, no promise about bytes that were not recorded
run 3 gemem-sim "$data/plain-2.15.pickle.gz" --trace-device=host --details
says out 'pytorch-pinned 2.14 or later, .* events of host memory'; says out "^It needs .* of the host's memory with the settings it had"
says out '^No setting of pytorch-pinned can be tried. Requests are recorded as rounded to powers of two'
lacks out 'export|Nothing needs less|truly|Not counted'; says out '^Next: gemem-sim replay .* --trace-device=host --find-capacity$'
run 4 gemem-sim "$data/plain-2.15.pickle.gz" --trace-device=host --capacity=64MiB; says out 'as PyTorch rounded it\)'; lacks out 'truly|whatever the settings'
run 0 gemem-sim compare "$data/plain-2.15.pickle.gz" --trace-device=host -a pytorch-pinned -a direct; says out '^pytorch-pinned '

# ---- recorded alone, it is the trace; settings; a copy
run 0 gemem-sim info "$data/alone-2.15.pickle.gz"; says out '^host memory'; says out 'recorded allocator +pytorch-pinned:version=2.15$'; lacks out '^device 0'
run 0 gemem-sim replay "$data/alone-2.15.pickle.gz"; says out 'reproduces the recording exactly'
run 0 gemem-sim info --trace-device=host "$data/cached-2.15.pickle.gz"
says out 'pytorch-pinned:pinned_max_round_threshold_mb=2,pinned_max_cached_size_mb=4,version=2.15$'; says out 'releases: host memory: the program emptied the cache'
run 0 gemem-sim convert --trace-device=host "$data/plain-2.15.pickle.gz" copy.gmt
run 0 gemem-sim replay copy.gmt; says out 'reproduces the recording exactly: ([0-9]+) of \1 decisions, ([0-9]+) of \2'
# PyTorch records the pieces of a reserved segment as if each were a call; what is held is the whole of it
run 0 gemem-sim replay "$data/reserved-2.15.pickle.gz" --trace-device=host; says out "in part: 0 of 50 decisions"
run 0 gemem-sim info --trace-device=host "$data/reserved-2.15.pickle.gz"; says out 'pinned_reserve_segment_size_mb=64'; says out 'note: pieces of the reserved segment'
run 2 gemem-sim replay "$GEMEM_SRCDIR/tests/data/pytorch/empty-cache-2.15.pickle.gz" --trace-device=host; says err 'no event in host memory'
done_testing
