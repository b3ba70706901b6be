#!/bin/sh
# test-cli-progress.sh - the line about share and time left: where it is shown and where not, that nothing of it stays, and that Ctrl-C
# ends long work at once. What is printed then follows the terminal's width.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=$(command -v python3) || { skip 'progress on a terminal' 'there is no python3'; done_testing; }
"$python" -c 'import pty; pty.openpty()' 2>/dev/null || { skip 'progress on a terminal' 'there are no pseudo terminals here'; done_testing; }

terminal () { "$python" "$GEMEM_SRCDIR/tests/util/on-terminal.py" "$@"; }
status () { check "exit status $2 ($1)" sh -c "read -r got took < $1/status; echo \"\$got after \$took s\"; test \$got = $2"; }
! is_sanitized || export GEMEM_SLOW=4 # it looks for leaks when it ends
nothing () { check "no line: $1" sh -c "cat $1/shown; test -e $1/shown && test ! -s $1/shown"; }
# line NAME PATTERN: the line was drawn, and looked like that all the time
line () { check "the line: $1" sh -c "cat $1/shown; test -s $1/shown && ! grep -Ev '^[0-9.]+ $2\$' $1/shown"; }

gemem-sim generate random:events=4000,live=400 --seed 3 -o small.gmt
gemem-sim generate random:events=200000,live=20000 --seed 3 -o large.gmt

# ---- the width: lines are broken at other blanks, and say the same; what is pasted and tables stay whole
short=$GEMEM_SRCDIR/traces/recorded/gpt2-train-too-short.gmt
same () { check "$1 says the same" sh -c "tr -s ' \\n\\r' '   ' <$1/screen >a; tr -s ' \\n' '  ' <wide >b; cmp a b"; }
gemem-sim "$short" >wide
for columns in 30 60 72 80 300; do
  terminal --both --columns=$columns at-$columns gemem-sim "$short"
  same at-$columns
done
check 'a wide terminal shows lines of 100' cmp wide at-300/screen
longest () { check "the longest line of $1 has $2 or a little less" awk -v most="$2" '!/export|^gpt2/ && length > n { n = length } END { exit n > most || n < most - 12 }' "$1/screen"; }
longest at-30 60
longest at-60 60
longest at-72 72
longest at-80 80
gemem-sim compare "$short" -a pytorch-caching -a ge-scalable >wide
terminal --both --columns=80 at-80-compare gemem-sim compare "$short" -a pytorch-caching -a ge-scalable
same at-80-compare
check 'compare follows it too' awk '/^[a-z-]+ {2}|[0-9] {2}/ { next } length > 80 { exit 1 }' at-80-compare/screen
# a file is the same wherever it was asked for
gemem-sim compare "$short" -a pytorch-caching -a ge-scalable -o there >/dev/null
terminal --both --columns=60 at-60-file gemem-sim compare "$short" -a pytorch-caching -a ge-scalable -o here
check 'a file does not' cmp here there

# ---- compare: some seconds of checks
set -- gemem-sim compare small.gmt -a pytorch-caching -a paddle-auto-growth -a ge-scalable -a ge-bins --check -j 1
terminal --columns=100 compare "$@"
status compare 0
line compare 'replaying: ([0-9]+ %, )?[0-4] of 4 runs, ([0-9]+ min )?[0-9]+ s( left)?'
check 'not in the first half second' awk '{ exit $1 < 0.45 }' compare/shown
check 'at most ten a second' awk '{ second[int($1)]++ } END { for (s in second) if (second[s] > 10) exit 1 }' compare/shown
check 'the share never goes back' awk '{ share = $3 + 0; if ($4 == "%," && share < last) exit 1; last = share }' compare/shown
check 'and comes with the time left' grep -Eq '[1-9][0-9]? %, .* left$' compare/shown
check 'nothing of it stays' test ! -s compare/screen
run 0 env COLUMNS=120 "$@"
silent err
cp "$out" plain.txt
terminal --both --columns=120 both "$@"
check 'on one terminal with the table, the table is all that stays' diff plain.txt both/screen
terminal --interrupt=1.2 --columns=20 narrow "$@"
check 'never wider than the terminal' awk '{ sub (/^[0-9.]+ /, ""); if (length ($0) > 19) exit 1 } END { exit NR == 0 }' narrow/shown
check 'the numbers come first' grep -q '^[0-9.]* [0-9]* %, [0-4] of 4' narrow/shown

# ---- nowhere else
set -- gemem-sim compare large.gmt -a pytorch-caching -a ge-scalable --check -j 1 # minutes
terminal --interrupt=1 quiet "$@" --quiet;       nothing quiet; status quiet 130
TEST_TERM=dumb terminal --interrupt=1 dumb "$@"; nothing dumb
gemem-sim generate random:events=50,live=5 --seed 3 -o tiny.gmt
terminal short gemem-sim compare tiny.gmt -a direct; nothing short
check 'quiet leaves notes out, not warnings' sh -c \
  "gemem-sim replay small.gmt -a direct --allocator-report r.txt 2>&1 >/dev/null | grep -q 'note: ' &&
   gemem-sim replay -v small.gmt -a direct --allocator-report r.txt -q 2>said >/dev/null && ! grep 'note: ' said &&
   gemem-sim replay -v small.gmt -a direct -q --stop-at-oom -d sim:capacity=1MiB 2>&1 >/dev/null | grep -q 'warning: '"

# ---- Ctrl-C
terminal --interrupt=1 plan gemem-sim plan large.gmt -p first-fit-by-size -p 'ge-range-*' --plan best.json --plots plots
status plan 130
line plan 'planning: [0-9]+ %, [0-4] of 5 plans, ([0-9]+ min )?[0-9]+ s( left)?'
check 'plan ends within half a second, inside a planner' sh -c 'read -r status took < plan/status; echo "$took s"; awk "BEGIN { exit $took > 0.5 * ${GEMEM_SLOW:-1} }"'
check 'with one message, and the line is gone' sh -c "cat plan/screen; grep -c . plan/screen | grep -qx 1 && grep -q '^gemem-sim: error: plan: interrupted after 0 of 5 plans; ' plan/screen"
check 'no file stays' sh -c 'test ! -e best.json && ! ls | grep -q "best.json" && test -z "$(ls plots 2>/dev/null)"'
terminal --interrupt=1 ahead gemem-sim compare large.gmt -a plan:planner=first-fit-by-size
status ahead 130
check 'so does an allocator that plans' sh -c 'read -r status took < ahead/status; echo "$took s"; awk "BEGIN { exit $took > 0.5 * ${GEMEM_SLOW:-1} }"'
terminal --interrupt=1 search gemem-sim compare large.gmt -a pytorch-caching -a ge-scalable --find-capacity
status search 130
line search 'replaying: ([0-9]+ %, )?[0-2] of 2 runs, ([0-9]+ h )?([0-9]+ min )?([0-9]+ s)?( left)?'
terminal --interrupt=1 input gemem-sim info -
status input 130
line input 'reading standard input: [0-9]+ s'
check 'a signal that ends the program leaves no line behind' test ! -s input/screen

# ---- the others
terminal --interrupt=1 convert gemem-sim convert large.gmt out.txt --note x=y
check 'convert ends by itself, or leaves nothing' sh -c 'read -r got took < convert/status; case $got in 0) test -s out.txt ;; 130) ! ls | grep -q "^out" ;; *) exit 1 ;; esac'
terminal calibrate gemem-sim calibrate -d sim --repeats 100000 -o p.ini
status calibrate 0
line calibrate 'measuring: [0-9]+ %, [0-9]+ of 38 series of calls, [0-9]+ s( left)?'

done_testing
