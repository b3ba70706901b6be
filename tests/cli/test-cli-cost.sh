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

# ---- requests that fail: as many as there are streams
awk 'BEGIN { n = 80000; print "# gemem-trace: 1"; for (i = 1; i <= n; i++) print "alloc " i " size=1048576 stream=" i; for (i = 1; i <= n; i++) print "alloc " n + i " size=109951162776 stream=" i; print "# end: " 2 * n }' >fail.txt
for allocator in paddle-auto-growth paddle-vmm-auto-growth; do
  within gemem-sim replay fail.txt -a $allocator -d sim:capacity=80GiB -f csv -o f.csv
done

# ---- ranges of addresses, of which little has memory
if is_sanitized; then few=100 much=16GiB; else few=4000 much=4TiB; fi # full checks look at every page of every range, at every event
streams $few 4096 >s.txt
within gemem-sim replay s.txt -a ge-expandable -d sim:capacity=$much -f csv -o s.csv

# ---- memory does not grow with the capacity of the device
if ! is_sanitized; then
  streams 4000 1048576 >s.txt
  for allocator in ge ge-scalable ge-active; do
    run 0 sh -c "ulimit -v 400000; exec gemem-sim replay s.txt -a $allocator -d sim:capacity=64TiB -f csv -o s.csv"
  done
fi
done_testing
