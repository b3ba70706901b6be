#!/bin/sh
# produce-plans.sh FOLDER THREADS - everything `gemem-sim plan` can write about graphs, into an empty FOLDER: two that are bundled (one of
# them with batch labels) and one with streams and labels, by all planners.  What long-determinism.sh compares byte by byte; the program is
# found in PATH.  PNG is left out: libraries of the system draw it.
set -eu
folder=$1 threads=$2
mkdir -p "$folder"
cd "$folder"
cp "$GEMEM_SRCDIR/graphs/bundled/resnet50-inference.json.gz" "$GEMEM_SRCDIR/graphs/bundled/resnet50-multibatch.json.gz" .

# 60 nodes on three streams in four batches, each reading the node before it, the one 7 before, and one in between; sizes repeat, so that
# there are ties.
awk 'BEGIN {
  n = 60
  printf "{\"name\": \"streams\", \"options\": {}, \"nodes\": ["
  for (i = 0; i < n; i++)
    {
      printf "%s{\"id\": %d, \"name\": \"n%d\", \"type\": \"Add\", \"engine\": \"\", \"stream\": %d", i ? ",\n" : "\n", i, i, i * 7 % 3
      if (i >= 8 && i < 56) printf ", \"batch_label\": \"Batch_%d\"", int ((i - 8) / 12)
      printf ", \"inputs\": ["
      if (i > 0) printf "[\"n%d\", 0]", i - 1
      if (i > 7) printf ", [\"n%d\", 0], [\"n%d\", 1]", i - 7, i - 2 - i % 4
      printf "], \"outputs\": [{\"size\": %d}, {\"size\": %d}], \"workspaces\": [%d]}", (1 + i * 5 % 8) * 4096, (1 + i % 3) * 512, i % 4 * 1024
    }
  print "\n]}"
}' > streams.json

for graph in resnet50-inference.json.gz resnet50-multibatch.json.gz streams.json; do
  name=${graph%%.*}
  for format in table json csv markdown; do
    gemem-sim plan "$graph" --no-time --threads="$threads" -f $format -o "$name.plans.$format"
  done
  gemem-sim plan "$graph" --no-time --threads="$threads" --plan "$name.plan.json" --map "$name.map" --plots=plots >/dev/null 2>&1
  gemem-sim plan "$graph" -p 'ge-*' --no-time --threads="$threads" --print-log > "$name.log" 2>&1
done
rm -f plots/*.png
