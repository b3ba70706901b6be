#!/bin/sh
# test-cli-workloads.sh - the generators of several streams and pools: each shows the difference among allocators that its summary and
# doc/recordings.md name.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# measure GENERATOR [DEVICE]: pytorch, expandable, tf, rmm, cupy and live, in MiB.
measure () {
  gemem-sim generate "$1" -o trace.gmt && gemem-sim compare trace.gmt -a pytorch-caching -a pytorch-expandable -a tf-bfc:allow_growth=yes \
    -a rmm-pool -a cupy-pool -d "${2:-sim}" -f json > table.json 2>/dev/null
  eval "$(jq -r '[.results[].measures] | to_entries[]
    | "\(["pytorch", "expandable", "tf", "rmm", "cupy"][.key])=\(.value.peak_reserved / 1048576 | floor) live=\(.value.peak_live / 1048576 | floor)"' table.json)"
}
# holds EXPRESSION WORDS
holds () { check "$2: $1" test "$(($1))" = 1; }

for name in data-loading pipeline-stages graph-capture growing-caches table-joins mixture-of-experts; do
  run 0 gemem-sim generate $name -o trace.gmt
  run 0 gemem-sim validate trace.gmt
  gemem-sim generate $name -o again.gmt; check "$name: the same again" cmp trace.gmt again.gmt
  run 0 gemem-sim generate $name --seed 2 -o other.gmt; check "$name: another seed, other events" sh -c '! cmp -s trace.gmt other.gmt'
  run 0 gemem-sim help $name; says out '^ +steps=' # every parameter is in it
  run 2 gemem-sim generate $name:steps=0; says err 'steps=.*too small'
  check "$name is in the guide" grep -q "^| \`$name\` |" "$GEMEM_SRCDIR/doc/recordings.md"
done

measure data-loading; before=$pytorch tf_before=$tf
holds 'expandable * 2 < pytorch' 'batches that differ in size'
measure data-loading sim:event_latency=20ms
holds 'pytorch * 2 > before * 3' 'memory that waits for events is taken again'
holds 'tf == tf_before' 'no event matters to an allocator of one stream'

measure pipeline-stages
holds 'pytorch * 2 > tf * 3 && cupy > 2 * tf' 'peaks of streams add up'

measure graph-capture; apart=$pytorch cupy_apart=$cupy
measure graph-capture:share=yes
holds 'pytorch * 2 < apart' 'one pool for all graphs'
holds 'cupy == cupy_apart' 'no pool matters to an allocator without pools'

measure growing-caches
holds 'pytorch * 5 > live * 7 && expandable * 5 < live * 6 && cupy > 20 * live' 'sizes that never come twice'

measure table-joins; both=$pytorch
holds 'pytorch > 3 * live && expandable < 2 * live && tf < pytorch && rmm < pytorch' 'huge blocks on two streams'
measure table-joins:streams=1
holds 'pytorch * 3 < both * 2' 'and on one'

measure mixture-of-experts:steps=2; early=$pytorch tf_early=$tf
measure mixture-of-experts
holds 'pytorch * 100 > early * 115 && tf == tf_early' 'what is cached seldom fits'

done_testing
