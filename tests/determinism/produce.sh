#!/bin/sh
# produce.sh FOLDER JOBS - everything gemem-sim can write about generated traces, into an empty FOLDER: what the determinism tests
# compare byte by byte.  The program is found in PATH.
#
# Nothing here depends on the allocators there are: all of the registry are run, on a device that is too small (ladders, failures) and on
# one that is not.  Left out is what says how it was made: the manifest has the arguments, and PNG is drawn by libraries of the system.
set -eu
folder=$1 jobs=$2
mkdir -p "$folder"
cd "$folder"
random=events=4000,live=60 train=iterations=2 large='*'
[ -z "${GEMEM_QUICK:-}" ] || { random=events=500,live=250 train=iterations=1 large='paddle-*'; } # under sanitizers and full checks every event is dear
gemem-sim generate "random:$random,streams=3,size_max=16MiB" --seed 7 -o random.gmt
gemem-sim generate transformer-train:layers=2,width=128,heads=4,vocabulary=1000,sequence=128,$train,jitter=20 --seed 3 -o train.gmt
gemem-sim convert random.gmt random.txt 2>/dev/null
gemem-sim generate ge-session:steps=2,graphs=2,dynamic=20,during=8,streams=2,size_max=64MiB,size_min=8MiB,op_max=8MiB --seed 5 -o session.gmt
for generator in data-loading:steps=9 pipeline-stages:steps=1 graph-capture:steps=9 growing-caches:steps=9 table-joins:steps=9 mixture-of-experts:steps=1; do
  gemem-sim generate "$generator" --seed 11 -o "${generator%%:*}.gmt"
done
for format in json csv markdown table; do
  gemem-sim compare random.gmt train.gmt -a '*' -d sim:capacity=192MiB -j "$jobs" --format=$format -o "small.$format"
done
gemem-sim compare random.gmt train.gmt -a "$large" -d sim:capacity=8GiB -j "$jobs" --repeat=2 --find-capacity --format=json -o large.json --plots=plots
rm -f plots/*.png
for trace in random train; do
  gemem-sim list allocators --names | while read -r name; do
    gemem-sim replay $trace.gmt -a "$name" -d sim:capacity=192MiB,address=first-fit -j "$jobs" --events "$trace-$name.csv" \
      --map "$trace-$name.svg" --format=json -o "$trace-$name.json"
  done
done
# Static graphs under every policy, with dynamic requests on two streams.
gemem-sim compare session.gmt -a 'ge:static_memory_policy=0|2|3|4' -a ge:static_memory_policy=2,rules=as-built -a 'ge-active:policy=2|4' \
  -a 'ge-streams:streams=multi|single' -d sim:capacity=1GiB -j "$jobs" --format=json -o session.json --plots=session-plots
rm -f session-plots/*.png
for policy in 0 2 3 4; do
  gemem-sim replay session.gmt -a "ge:static_memory_policy=$policy" -d sim:capacity=1GiB -j "$jobs" --events "session-$policy.csv" \
    --map "session-$policy.svg" --allocator-report "session-$policy.report" --format=json -o "session-$policy.json"
done
