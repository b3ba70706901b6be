#!/bin/sh
# long-report.sh - the page of a recording with a million stacks and two million events: bounded in size, time and memory, and it opens.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
awk 'BEGIN { print "# gemem-trace: 1"; n = 1000000
  for (i = 0; i < 1000; i++) printf "# frame: \"fn%d\" \"/file%d.py\" %d\n", i, i % 50, i
  for (i = 0; i < n; i++) printf "# stack: %d %d %d\n", 1 + i % 1000, 1 + int (i / 1000) % 1000, 1 + (i * 7) % 1000
  for (i = 0; i < n; i++) { printf "alloc %d size=%d stack=%d\n", i + 1, 512 + 512 * (i % 64), i + 1; if (i >= 5000) printf "free %d\n", i - 4999 }
  printf "# end: %d\n", 2 * n - 5000 }' >stacks.txt
gemem-sim report stacks.txt -a pytorch-caching -o page.html >"$out" 2>"$err" &
pid=$!; most=0
while kill -0 $pid 2>/dev/null; do now=$(awk '/^VmHWM/ { print $2 }' /proc/$pid/status 2>/dev/null); [ "${now:-0}" -le $most ] || most=$now; sleep 0.1; done
wait $pid; ok $? "a million stacks: ${most} kB at most"
is_sanitized || check 'less than 600 MB' test "$most" -lt 600000
check 'a page of less than 15 MB' test "$(wc -c <page.html)" -lt 15000000
check 'it says how much was left out' grep -q '"left_out":[1-9]' page.html
if command -v python3 >/dev/null && command -v chromium >/dev/null; then
  timeout 300 python3 "$GEMEM_SRCDIR/tests/cli/report-page.py" page.html >seen.tap 2>&1
  check 'it opens, and all of it works' sh -c 'grep -q "^1\.\." seen.tap && ! grep "^not ok" seen.tap'
else
  skip 'it opens' 'no python3 and Chromium'
fi
done_testing
