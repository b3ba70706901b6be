#!/bin/sh
# decisions.sh - what the tests of equal decisions share, on the stand-in driver and on a GPU (after tap.sh).
#
#   decisions TRACE DEVICE CAPACITY ALLOCATOR     one TAP point: the allocator decides on DEVICE what it decides on the simulated device
#
# The simulated device is told by the log of device calls which addresses the driver gave and when events were complete; every decision (--events), and
# every device call (--calls) with its size, place and outcome, must be the same.  $driver is put before commands that need the driver.

decisions () {
  # shellcheck disable=SC2154 disable=SC2086 # a prefix of words
  $driver gemem-sim replay "$1" -a "$4" -d "$2,capacity=$3" --events real.csv --calls real-calls.csv >/dev/null 2>real.err &&
    gemem-sim replay "$1" -a "$4" -d "sim:calls=real-calls.csv,capacity=$3" --events sim.csv --calls sim-calls.csv >/dev/null 2>sim.err &&
    cmp real.csv sim.csv >>real.err && cmp real-calls.csv sim-calls.csv >>real.err
  decided=$?
  ok $decided "$4 decides on $2 as on the simulated device, with $3: $(basename "$1"), $(($(wc -l <real.csv) - 1)) decisions, $(($(wc -l <real-calls.csv) - 1)) device calls"
  [ $decided -eq 0 ] || cat real.err sim.err | sed 's/^/# /' | head -n 20
}

# Every allocator on a few traces, in every mode of the device; $1: what the device is called, as in cuda:gpu=0.
all_decisions () {
  recorded=$GEMEM_SRCDIR/traces/recorded
  check 'a session with streams' gemem-sim generate \
    ge-session:steps=2,graphs=2,dynamic=20,during=8,streams=2,size_max=64MiB,size_min=8MiB,op_max=8MiB --seed 5 -o session.gmt
  check 'and one without order' gemem-sim generate random:events=600,lifetime=200,size_max=16MiB --seed 5 -o random.gmt
  for allocator in $(gemem-sim list allocators --names); do
    decisions session.gmt "$1,mode=malloc" 200MiB "$allocator"
    [ -z "${GEMEM_QUICK:-}" ] || { decisions random.gmt "$1,mode=vmm" 1500MiB "$allocator"; continue; }
    decisions "$recorded/vit-train.gmt" "$1,mode=malloc" 1900MiB "$allocator"
    decisions "$recorded/resnet50-train.gmt" "$1,mode=vmm" 8GiB "$allocator"
    decisions "$recorded/gpt2-train.gmt" "$1,mode=async" 2600MiB "$allocator"
  done
}
