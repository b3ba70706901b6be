#!/bin/sh
# test-cli-part.sh - the part of a GPU that a PyTorch program allows itself (set_per_process_memory_fraction()), as dry runs tell it in snapshots: a setting of the
# recording where every device begins with it, an event where it changes or differs, and in both cases what a replay obeys.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v python3 >/dev/null || { skip "parts of a GPU" "there is no python3"; done_testing; }

cat >make.py <<'PY'
import pickle, sys
MiB = 1 << 20
def make(name, notes, devices=(0,), settings=()):
    """On each device 40 MiB, which are freed, then 60: without a limit the 40 stay cached.  NOTES: (time, device, part)."""
    traces = [[] for _ in range(2)]
    for device in devices:
        for time, action, address, size in ((10, "segment_alloc", 0x10000000, 40), (11, "alloc", 0x10000000, 40), (20, "free_requested", 0x10000000, 40), (21, "free_completed", 0x10000000, 40),
                                            (40, "segment_alloc", 0x20000000, 60), (41, "alloc", 0x20000000, 60), (50, "free_requested", 0x20000000, 60), (51, "free_completed", 0x20000000, 60)):
            traces[device].append({"action": action, "addr": address, "size": size * MiB, "stream": 0, "time_us": time, "frames": []})
    annotations = [{"name": "gemem: part of device from here on: %d %s" % (device, part), "stage": stage, "device": 0, "time_us": time} for time, device, part in notes for stage in ("START", "END")]
    annotations += [{"name": "gemem: settings from here on: " + text, "stage": "START", "device": 0, "time_us": time} for time, text in settings]
    segments = [{"device": device, "address": address, "total_size": size * MiB, "allocated_size": 0, "active_size": 0, "requested_size": 0, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                 "is_expandable": False, "frames": [], "blocks": [{"address": address, "size": size * MiB, "requested_size": 0, "state": "inactive", "frames": []}]}
                for device in devices for address, size in ((0x10000000, 40), (0x20000000, 60))]
    with open(name, "wb") as stream:
        pickle.dump({"segments": segments, "device_traces": traces, "allocator_settings": {}, "external_annotations": annotations}, stream)
make("none.pickle", [])
make("start.pickle", [(5, 0, "0.3"), (6, 0, "0.6")])       # the last one counts
make("later.pickle", [(30, 0, "0.6")])
make("past.pickle", [(45, 0, "0.6")])
make("all.pickle", [(5, 0, "1.0")])
make("two.pickle", [(5, 0, "0.6"), (5, 1, "0.6")], (0, 1))
make("differ.pickle", [(5, 0, "0.6")], (0, 1))
make("beside.pickle", [(5, 0, "0.6")], settings=[(30, "max_split_size_mb:50")])
make("odd.pickle", [(30, 0, "0x1p-1"), (30, 0, "2"), (30, 0, ""), (30, 70000, "0.5"), (30, 0, "nan")])
PY
check "snapshots" python3 make.py

# peak FILE DEVICE BYTES OPTION...: what a replay on 100 MiB reserves at most
peak () {
  file=$1 device=$2 wanted=$3; shift 3
  run 0 gemem-sim replay "$file" -d sim:capacity=100MiB --trace-device="$device" -f json "$@"
  check "$file, device $device: $wanted bytes" jq -e ".results[0].measures.peak_reserved == $wanted" "$out"
}
both=104857600 one=62914560
peak none.pickle 0 $both
peak start.pickle 0 $one
peak later.pickle 0 $one
peak past.pickle 0 $both
peak all.pickle 0 $both
for device in 0 1; do peak two.pickle $device $one; done
peak differ.pickle 0 $one
peak differ.pickle 1 $both
peak beside.pickle 0 $one
# a setting that the user chooses stands beside the part, or in its place
peak start.pickle 0 $one -a pytorch-caching:max_split_size_mb=50
peak start.pickle 0 $both -a pytorch-caching:per_process_memory_fraction=1
# a string of settings leaves what a call sets, unless it names it, at the start and later
peak start.pickle 0 $one -a pytorch-caching:conf=max_split_size_mb:50
peak start.pickle 0 $both -a pytorch-caching:conf=per_process_memory_fraction:1.0,version=2.11
peak later.pickle 0 $one -a pytorch-caching:max_split_size_mb=50
peak later.pickle 0 $one -a pytorch-caching:conf=max_split_size_mb:50
peak later.pickle 0 $both -a pytorch-caching:per_process_memory_fraction=1
peak later.pickle 0 $both -a pytorch-caching:memory_limit=100MiB
run 2 gemem-sim replay start.pickle -a pytorch-caching:conf=per_process_memory_fraction:1.0,per_process_memory_fraction=0.5
says err 'exclude each other'
# so the lines to paste of a release whose string cannot say the part are tried, with the part
run 0 gemem-sim start.pickle -d sim:capacity=100MiB; says out 'Tried: [1-9][0-9]* settings'; lacks out 'needs 100'

run 0 gemem-sim info start.pickle; says out 'recorded allocator +pytorch-caching:per_process_memory_fraction=0\.6,version'; lacks out ' settings 1'
for file in later past all differ; do
  run 0 gemem-sim info $file.pickle; lacks out 'memory_fraction'
  check "$file: an event" sh -c "gemem-sim info $file.pickle | grep -q 'settings 1'"
done
run 0 gemem-sim convert later.pickle later.txt; check "the event's words" grep -q '^settings .*tag="per_process_memory_fraction=0.6"' later.txt
peak later.txt 0 $one
run 0 gemem-sim info odd.pickle; says out ' phase 5'; lacks out 'memory_fraction'
done_testing
