#!/bin/sh
# long-big-snapshot.sh - a PyTorch snapshot of 200 MB with call stacks is converted in less than 4 s of processor time and 256 MB of memory, and
# what it says survives.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=$(command -v python3) || { skip "a snapshot of 200 MB" "there is no python3"; done_testing; }

check 'a snapshot of 200 MB' "$python" "$GEMEM_SRCDIR/tests/util/snapshots.py" big big.pickle 520000
check 'its size' test "$(wc -c <big.pickle)" -gt 200000000
cat >measure.py <<'END'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{used.ru_utime + used.ru_stime:.2f} s, {used.ru_maxrss // 1024} MiB")
sys.exit(used.ru_utime + used.ru_stime > 4 or used.ru_maxrss > 256 * 1000 * 1000 // 1024)
END
"$python" measure.py gemem-sim convert big.pickle big.gmt >cost; status=$?
if gemem-sim version 2>&1 | grep -qi sanit || ldd "$(command -v gemem-sim)" 2>/dev/null | grep -q libasan; then
  skip "$(cat cost)" "sanitizers cost several times that"
else
  ok $status "$(cat cost)"
fi
run 0 gemem-sim info --by=stack --format=json big.pickle; sed 's/big.pickle/big.gmt/' "$out" >pickle.json
run 0 gemem-sim info --by=stack --format=json big.gmt
check 'the same stacks' cmp "$out" pickle.json
done_testing
