#!/bin/sh
# test-cli-report.sh - the page of `gemem-sim report`: what is written, its bounds, and, where Chromium is installed, the page itself in a browser.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

recorded=$GEMEM_SRCDIR/traces/recorded
gemem-sim report "$recorded/vit-train.gmt" -o probe.html >"$out" 2>"$err"
if grep -q 'built without d3' "$err"; then ok 0 'says that d3 is missing'; done_testing; fi

browser=
if command -v python3 >/dev/null; then for name in chromium chromium-browser google-chrome; do command -v $name >/dev/null && browser=$name; done; fi
# seen NAME PAGE [JSON]: the points of the browser, if there is one.
seen () {
  seen_name=$1; shift
  if [ -z "$browser" ]; then skip "$seen_name" 'no python3 and Chromium'; return; fi
  timeout 120 python3 "$GEMEM_SRCDIR/tests/cli/report-page.py" "$@" >seen.tap 2>&1
  grep -q '^1\.\.' seen.tap; ok $? "$seen_name: the browser came to the end"
  [ $tap_failed -eq 0 ] || tail -n 5 seen.tap | sed 's/^/# /'
  grep -E '^(not )?ok |^#' seen.tap >points || :
  while read -r line; do case $line in
    ok*) ok 0 "$seen_name: ${line#* - }" ;; not*) ok 1 "$seen_name: ${line#* - }" ;; *) echo "$line" ;; esac; done <points
}
small () { check "$1 is smaller than $2 bytes" test "$(wc -c <"$1")" -lt "$2"; }

# ---- a recording
run 0 gemem-sim report "$recorded/gpt2-train-stacks.gmt" -o page.html
says out 'peak reserved'; says err 'page.html: open it in a browser'
small page.html 3000000
gemem-sim compare "$recorded/gpt2-train-stacks.gmt" -f json -o page.json
seen 'a recording' page.html page.json
run 0 gemem-sim compare "$recorded/gpt2-train-stacks.gmt" --html again.html
check 'compare --html writes the same page' cmp page.html again.html
run 0 gemem-sim compare "$recorded/gpt2-train-stacks.gmt" -o third.html -j 1
check 'so does -o FILE.html, with any number of threads' cmp page.html third.html

run 0 gemem-sim report "$recorded/gpt2-train-stacks.gmt" --capacity 2.3GiB -a pytorch-caching -o failed.html
seen 'requests failed' failed.html
run 0 gemem-sim report "$recorded/gpt2-train-too-short.gmt" -a pytorch-caching -o short.html
check 'what was refused is in the page' grep -q '"refused_when_recorded": *1,' short.html; seen 'refused when recorded' short.html
# a refused request that is served here is on the map of the peak that it makes; what is idle then is what lies beside it
run 0 gemem-sim report "$GEMEM_SRCDIR/tests/data/pytorch-refused/pages.pickle.gz" -o served.html; seen 'refused when recorded, and served' served.html
# segments side by side, which a recording without a history begins with, are free parts of their own
run 0 gemem-sim report "$GEMEM_SRCDIR/tests/data/pytorch/ring-2.11.pickle.gz" -o beside.html; seen 'segments side by side' beside.html
run 0 gemem-sim report "$recorded/gpt2-train.gmt" "$recorded/llama-decode-expandable.gmt" -a pytorch-caching -a bfc -o two.html
seen 'two traces' two.html
run 0 gemem-sim report "$recorded/vit-train.gmt" -a pytorch-caching -d '64MiB|16GiB' -o devices.html
check 'the advice is about the first device' grep -q '"verdict":"does-not-fit"' devices.html
run 0 gemem-sim report "$recorded/vit-train.gmt" "$recorded/vit-train.gmt" --share-device -a pytorch-caching -o shared.html
seen 'a shared device' shared.html

# ---- text that a browser would run
turn=$(printf '\342\200\256')
evil='</script><script>window.ran=1</script><img src=x onerror=window.ran=1>'
long=$(head -c 3000000 /dev/zero | tr '\0' x)
cat >evil.txt <<END
# gemem-trace: 1
# frame: "$evil" "/$evil$turn.py" 3
# frame: "$long" "/b.py" 4
# frame: "snow ☃ 😀" "/c.py" 5
# stack: 1 3
# stack: 2
alloc 1 size=1048576 tag="$evil" stack=1
alloc 2 size=2097152 tag="<!--" stack=2
free 1
# end: 3
END
cp evil.txt "x'<script>window.ran=1<.txt"
run 0 gemem-sim report "x'<script>window.ran=1<.txt" -a pytorch-caching -o evil.html
check 'no markup of it is in the file' sh -c '! grep -q "window.ran=1</script>\|<img" evil.html'
check 'nothing turns the direction of writing' sh -c '! LC_ALL=C grep -q "$1" evil.html' - "$turn"
small evil.html 1000000
seen 'hostile text' evil.html

# ---- little to be seen
printf '# gemem-trace: 1\n# end: 0\n' >none.txt
printf '# gemem-trace: 1\nalloc 1 size=100\n# end: 1\n' >one.txt
run 0 gemem-sim report one.txt -a direct -o one.html
seen 'a trace of one event' one.html
run 3 gemem-sim report none.txt -o none.html
says err 'none.txt: no allocation events'
check 'the page says so' grep -q '"error":"none.txt: no allocation events; there is nothing to replay or plan"' none.html
seen 'no events' none.html
printf '# gemem-trace: 1\nalloc 1 size=1048576\nalloc 2 size=1048576\n# end: 2\n' >refused.txt
run 0 gemem-sim report refused.txt -a pytorch-caching -d sim:capacity=64KiB -o refused.html
seen 'all requests failed' refused.html

# ---- a long recording: bounded, and what is left out is said
if is_sanitized; then skip 'a long recording' 'it takes minutes where every event is checked'; else
gemem-sim generate random:events=400000,live=3000 -o long.gmt
run 0 gemem-sim report long.gmt -a bfc -o long.html
small long.html 4000000
check 'says how much was left out' sh -c 'grep -q "\"left_out\":[1-9]" long.html'
seen 'a long recording' long.html
fi

# ---- errors
run 2 gemem-sim report
run 1 gemem-sim report one.txt -a direct -o /nowhere/page.html
run 2 gemem-sim report one.txt -a direct -o one.txt
done_testing
