#!/bin/sh
# test-own-state.sh - recordings of PyTorch replayed without any option: the peak that was reserved, to the byte, and every decision, whether the
# recording begins with the program or in its middle.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

shared=${GEMEM_SHARED:-$GEMEM_SRCDIR/../shared}
command -v jq >jq.path || { skip "recordings" "there is no jq"; done_testing; }

# same NAME FILE [DECISIONS CALLS]: how many of these are not as recorded.
same () {
  gemem-sim info -f json "$2" >info.json 2>info.err && gemem-sim replay -f json "$2" >replay.json 2>replay.err
  check "$1" jq -e --argjson decisions "${3:-0}" --argjson calls "${4:-0}" --slurpfile info info.json \
    '.results[0] | .values.peak_reserved == $info[0].devices[0].peak_reserved_recorded
     and (.fidelity | .compared - .equal == $decisions and .segments_compared - .segments_equal == $calls)' replay.json
}

found=no
for file in "$shared"/traces/pytorch/*.pickle* "$shared"/gpu/h100/recordings/*.pickle.gz "$shared"/gpu/snapshots/*.pickle.gz \
  "$shared"/cases/recordings/01*.pickle; do
  test -f "$file" || continue
  found=yes
  same "${file##*/}" "$file"
done
test $found = yes || skip "recordings" "there are none in $shared"
done_testing
