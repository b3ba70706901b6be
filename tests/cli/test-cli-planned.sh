#!/bin/sh
# test-cli-planned.sh - the allocator planned on real recordings: where steps repeat, at least 99 % of its peak is in use, and it needs less than
# PyTorch's allocator with plain or expandable segments; what it cannot learn from is said.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
recorded=$GEMEM_SRCDIR/traces/recorded

# peaks FILE ALLOCATOR...: "live reserved" of each, a line each
peaks () {
  file=$1; shift
  set -- gemem-sim compare -q "$file" "$@" -f json
  "$@" | jq -r '.results[] | [.values.peak_live, .values.peak_reserved] | @tsv'
}

for name in gpt2-train gpt2-train-short gpt2-train-stacks llama-train vit-train resnet50-train resnet50-prefetch llama-decode; do
  file=$recorded/$name.gmt
  peaks "$file" -a pytorch-caching:expandable_segments=False -a pytorch-caching:expandable_segments=True -a "planned:learn=$file" >found
  check "$name: at least 99 % of the peak is live" awk 'NR == 3 && $1 >= 0.99 * $2 { good = 1 } END { exit !good }' found
  check "$name: less than plain and expandable segments" \
    awk 'NR < 3 { least = NR == 1 || $2 < least ? $2 : least } NR == 3 { own = $2 } END { exit !(own < least) }' found
done

# Where steps differ, or there are streams and private pools, it needs no more than expandable segments: the plan is taken only if it needs less
# than the fallback alone.
no_worse () { # FILE NAME
  peaks "$1" -a pytorch-caching:expandable_segments=True -a "planned:learn=$1" >found
  check "$2: no more than expandable segments" awk 'NR == 1 { other = $2 } NR == 2 { own = $2 } END { exit !(own > 0 && own <= other) }' found
}
gemem-sim generate mixture-of-experts -o moe.gmt; no_worse moe.gmt mixture-of-experts
run 0 gemem-sim replay -q moe.gmt -a planned:learn=moe.gmt -v; says out 'plans_without_gain +1$'
run 0 gemem-sim replay -q "$recorded/gpt2-train.gmt" -a "planned:learn=$recorded/gpt2-train.gmt" -v; lacks out 'plans_without_gain'
if shared gpu/snapshots; then
  for name in cuda_graphs lightning_run moe_masks streams conv3d wgan_gp expandable; do
    no_worse "$GEMEM_SHARED/gpu/snapshots/$name.pickle.gz" "$name"
  done
fi

# Every request has its place, in one call of the device.
gemem-sim replay -q "$recorded/gpt2-train.gmt" -a "planned:learn=$recorded/gpt2-train.gmt" -f json >json
check "every request of gpt2-train has its place" jq -e '.results[0] | .stats.planned_requests == .values.allocs and .values.ooms == 0
  and .stats.arena == .stats.arena_lower_bound and .measures.device_allocs == 1' json

# The steps of one recording serve another of the same program: other segments, other addresses.
peaks "$recorded/llama-decode.gmt" -a "planned:learn=$recorded/llama-decode-roundup.gmt" >found
check "a recording with other settings of the allocator is as good" awk '{ exit !($1 >= 0.99 * $2) }' found
# One of another program does no harm beyond its arena.
run 0 gemem-sim replay -q "$recorded/vit-train.gmt" -a "planned:learn=$recorded/resnet50-train.gmt"
says out 'every request was served'

# With the run as teacher, the first steps are PyTorch's.
run 0 gemem-sim replay "$recorded/resnet50-prefetch.gmt" -a planned -v
says out 'plans '

# ---- what cannot be learnt, and wrong settings
fails () { # STATUS TEXT WORDS...
  want=$1; text=$2; shift 2
  run "$want" gemem-sim replay "$recorded/gpt2-train.gmt" -a "$@"
  says err "$text"
}
fails 3 'no step of it repeats; record two steps at least, or mark them' "planned:learn=$recorded/gpt2-train-too-short.gmt"
fails 1 'No such file' planned:learn=none.gmt
: >empty.txt
fails 3 'empty' planned:learn=empty.txt
head -c 3000 "$recorded/gpt2-train.gmt" >cut.gmt
fails 3 'cut.gmt' planned:learn=cut.gmt
fails 2 "falls back on itself; name another" planned:fallback=planned
fails 2 'must know the whole trace beforehand' planned:fallback=plan
fails 2 'is of host memory' planned:fallback=pytorch-pinned
fails 2 'stands for' 'planned:fallback=[ge-*]'
fails 2 'write it outside the brackets' 'planned:fallback=[direct:capacity=1GiB]'
fails 2 "unknown planner 'x'" planned:planner=x
fails 2 'stands for' "planned:learn=$recorded/gpt2-train.gmt,planner=first-fit*"
# ---- which step was learnt, from one reading of the recording
run 0 gemem-sim replay "$recorded/gpt2-train.gmt" -a "planned:learn=$recorded/gpt2-train.gmt" -v
says out 'requests_before_steps +1294$'; says out 'requests_of_step +773$'; says out 'steps_alike +1$'
says out 'learnt_from_request '; says out 'learnt_to_request '
# ---- the least that is possible, beside it
run 0 gemem-sim compare "$recorded/resnet50-train.gmt" -a pytorch-caching -a planned:learn="$recorded/resnet50-train.gmt" --optimal
says out '^plan:planner="optimal:alignment=1" '
check "how far the best is from the least" sh -c 'tr "\n" " " <"$1" | tr -s " " | grep -q "It is at most 0\.6 % above the least possible: no placement needs less than 1\.049 GiB\. [0-9.]* MiB of the peak of pytorch-caching are above the best placement: "' sh "$out"
run 0 gemem-sim compare "$recorded/llama-train.gmt" -a pytorch-caching -a direct; lacks out 'least possible'
run 0 gemem-sim compare "$GEMEM_SRCDIR/graphs/bundled/resnet50-train.json.gz" -a pytorch-caching -a ge-expandable --optimal
says out 'above the least possible'
done_testing
