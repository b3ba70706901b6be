#!/bin/sh
# test-cli-cost.sh - what takes time in proportion: each of these took minutes, or gigabytes, when its cost was the square of something.
# shellcheck disable=SC2154,SC2086 # out and err come from tap.sh; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

most=$(is_sanitized && echo 120 || echo 15) # s; each takes less than one
within () { run 0 timeout "$most" "$@"; }
streams () { # COUNT SIZE: a block on each stream
  awk -v n="$1" -v size="$2" 'BEGIN { print "# gemem-trace: 1"; for (i = 1; i <= n; i++) print "alloc " i " size=" size " stream=" i - 1; print "# end: " n }'
}

# ---- a report
streams 8000 1048576 >s.txt
within gemem-sim replay s.txt -a ge-scalable -d sim:capacity=64TiB -v
says out '^  1015 streams more +1015$'; says out '^  stream9\.occupied_size +1048576$'; lacks out '^  stream10\.'; says out '^  7990 others\.occupied_size +8378122240$'
check 'a report for a person is no list of streams' test "$(wc -l <"$out")" -lt 400
done_testing
