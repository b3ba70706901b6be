#!/bin/sh
# test-cli-umpire.sh - Umpire's pools on the command line: what the real program does not survive is marked, wrong settings are refused.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# A fragment stays in the first block while two others become whole.
printf '%s\n' 'a 1 4000' 'a 2 96' 'a 3 40000' 'a 4 80000' 'f 1' 'f 3' 'f 4' 'a 5 3000' 'f 2' >fragment.ops
pool=umpire-quick:first=4096B,next=1B,coalesce

# ---- marked where it happens, said beforehand
run 0 gemem-sim replay -v fragment.ops -a "$pool=percent_releasable:50"
says out '^  NOT ALLOWED: event 6: a free coalesces without end, which overflows the stack of the real program; let coalesce= '
says err 'note: coalesce=percent_releasable:50: the real QuickPool overflows its stack '
for percent in 1 99; do run 0 gemem-sim replay -v fragment.ops -a "$pool=percent_releasable:$percent"; says err "note: coalesce=percent_releasable:$percent: .* overflows"; done
for percent in 0 100; do run 0 gemem-sim replay -v fragment.ops -a "$pool=percent_releasable:$percent"; lacks err overflows; done
run 0 gemem-sim replay fragment.ops -a "$pool=percent_releasable:100" -f json
check 'no mark with 100 percent' jq -e '.results[0].not_allowed == null' "$out"
run 0 gemem-sim replay -v fragment.ops -a umpire-list:first=4096B,next=1B,coalesce=percent_releasable:50
check 'no mark from umpire-list' sh -c '! grep "NOT ALLOWED" "$1"' sh "$out"
run 0 gemem-sim replay -v fragment.ops -a "$pool=blocks_releasable:2" -d faulty:after=3,call=malloc
says out '^  NOT ALLOWED: event 6: the device refused the 120000 bytes with which a free coalesces, which ends the real program; '

# ---- wrong settings
refused () { run 2 gemem-sim replay fragment.ops -a "umpire-list:$1"; says err "^gemem-sim: error: allocator umpire-list: $2"; }
refused coalesce=half 'coalesce=half: no heuristic of Umpire; give percent_releasable:N, '
refused coalesce= 'coalesce=: no heuristic of Umpire; '
refused coalesce=percent_releasable:half 'coalesce=percent_releasable:half: "half" is no whole number; '
refused coalesce=percent_releasable:101 'coalesce=percent_releasable:101: a percentage is at most 100; '
refused coalesce=blocks_releasable:18446744073709551616 'coalesce=.*: "18446744073709551616" is no whole number; '
refused alignment=48 'alignment=48: not a power of two; '
refused first=512 'first=512: 512 bytes\? write '
refused next=18446744073709551616 "next='18446744073709551616': too large for 64 bits; "
done_testing
