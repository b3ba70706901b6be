#!/bin/sh
# test-cli-input.sh - gemem-sim in the hands of someone tired: damaged files, contradictory options, outputs that cannot be, pipes that close,
# signals.  Every answer is one line "gemem-sim: error: WHERE: WHAT; WHAT TO DO" with the right status, and nothing half-written stays behind.
# shellcheck disable=SC2154,SC2016,SC2086 # out and err come from tap.sh; scripts for sh -c; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# refused STATUS PATTERN COMMAND...: the status, exactly one line on stderr, of the agreed form, and it matches.
refused () {
  want=$1 pattern=$2; shift 2
  run "$want" "$@"
  says err "^gemem-sim: error: $pattern"
  check 'one line, and it says what to do' sh -c "test \$(wc -l < $err) = 1 && grep -q '; ' $err"
}
status_of () { "$@" >/dev/null 2>&1 </dev/null; echo $?; }

printf 'a 1 1048576\na 2 524288\nf 1\na 3 2097152\nf 2\nf 3\n' > small.ops
gemem-sim generate random:events=20000,live=200 --seed 3 -o r.gmt
gemem-sim generate random:events=400,live=20 --seed 3 -o r.txt

# ---- files that are not what they should be
for command in info validate 'replay -a direct' compare plot; do
  refused 1 'missing: No such file or directory; name a readable file' gemem-sim $command missing
  refused 1 '\.: Is a directory; name a (file in it|readable file)' gemem-sim $command .
  refused 1 "'': No such file" gemem-sim $command ''
done
if [ "$(id -u)" != 0 ]; then
  cp r.gmt secret.gmt; chmod 000 secret.gmt
  refused 1 'secret.gmt: Permission denied' gemem-sim info secret.gmt
fi

# What is wrong with a trace is said once, however many allocators would have replayed it; what is wrong with each, once for each.
printf '# gemem-trace: 1\nalloc 1 size=1000\nuse-on-stream 7 stream=3\nfree 1\n# end: 3\n' > use.txt
refused 3 'use.txt:event 1: id 7 is used on a stream but is not alive; ' gemem-sim replay use.txt -a direct
refused 3 'use.txt:event 1: id 7 is used on a stream but is not alive; ' gemem-sim compare use.txt -a direct -a 'paddle-*' -a pytorch-caching
run 2 gemem-sim compare small.ops -a paddle-buddy:place=cpu,preset=P16,initial_mb=5 -a paddle-best-fit:preset=P13,initial_mb=5
check 'two allocators, two lines' sh -c "test $(wc -l < $err) = 2"
sed -i 's/use-on-stream 7/stream-free 7/' use.txt
refused 3 'use.txt:event 1: id 7 is used on a stream' gemem-sim replay use.txt -a ge
printf '# gemem-trace: 1\nalloc 1 size=1000\nuse-on-stream 1 stream=3\nfree 1\nuse-on-stream 1 stream=3\n# end: 4\n' > use.txt
refused 3 'use.txt:event 3: id 1 is used' gemem-sim replay use.txt -a direct
refused 2 'standard input: given twice' gemem-sim plan --check - -
name=$(printf 'bad\nname\033[31m\377')
refused 1 'bad\\012name\\033\[31m\\377: No such file' gemem-sim info "$name"

# Cut anywhere, or one byte changed anywhere: status 3 and one line, never a crash, never a result that looks whole.
cut_at () { # FILE STATUSES: FILE cut at 12 places
  size=$(wc -c < "$1") bad=
  for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
    head -c $((size * i / 12)) "$1" > "cut-$1"
    gemem-sim replay "cut-$1" -a direct -f csv > cut.out 2> cut.err; got=$?
    case " $2 " in *" $got "*) ;; *) bad="$bad $i:$got" ;; esac
    [ $got = 0 ] || { [ "$(wc -l < cut.err)" = 1 ] && grep -q "^gemem-sim: error: cut-$1.*; " cut.err; } || bad="$bad $i:$(head -n 1 cut.err)"
  done
  check "cut in 12 places: $1$bad" test -z "$bad"
}
gzip -c r.txt > r.txt.gz
zstd -q -f r.txt -o r.txt.zst 2>/dev/null || cp r.txt.gz r.txt.zst
printf 'id,lower,upper,size\n0,0,3,4\n1,3,9,4\n2,0,9,4\n3,9,21,4\n4,0,21,4\n' > m.csv
for file in r.gmt r.txt r.txt.gz r.txt.zst; do cut_at $file 3; done
cut_at m.csv '0 3' # whole lines of a table are a table
cut_at small.ops '0 3'
if shared traces/pytorch; then
  cp "$GEMEM_SHARED/traces/pytorch/lm-small.pickle" s.pickle
  gzip -cd "$GEMEM_SHARED/traces/pytorch/kineto-memory.json.gz" | head -c 300000 > k.json
  cut_at s.pickle 3
  cut_at k.json 3
else
  skip 'cut pickle and JSON' "no recordings in $GEMEM_SHARED"
fi
# A kind of event with zero bytes behind it, as long as a name: nothing beyond the name may be read.
{ head -n 5 r.txt; printf 'snapshot\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000 1\n'; } > zeros.txt
refused 3 'zeros.txt:' gemem-sim info zeros.txt
printf 'id,lower,upper,size\n0,0,3,\377\n' > latin.csv
refused 3 'latin.csv:2: .*\\377' gemem-sim info latin.csv

# ---- standard input
check 'standard input has its name' sh -c 'echo "a 1" | gemem-sim info - --trace-format=ops 2>&1 | grep -q "^gemem-sim: error: standard input:1: "'
check 'and in results' sh -c 'gemem-sim compare - -a direct -f csv < small.ops | grep -q "^standard input,"'
refused 3 'standard input: the file is empty' gemem-sim info -
run 2 sh -c 'gemem-sim compare -v - - < small.ops'; says err 'standard input: given twice'
run 1 sh -c 'gemem-sim info - <&-';              says err 'standard input: Bad file descriptor'

# ---- options that contradict each other or are given twice
refused 2 "replay: --format is given twice, as 'csv' and as 'json'" gemem-sim replay small.ops -a direct -f csv --format=json
refused 2 'replay: --output is given twice'   gemem-sim replay small.ops -a direct -o one -o two
run 0 gemem-sim replay small.ops -a direct -f csv -f csv -j2 -j 2
refused 2 '--repeat=0: out of range'          gemem-sim replay small.ops -a direct --repeat 0
refused 2 '--repeat=3000000000: '             gemem-sim replay small.ops -a direct --repeat 3000000000
refused 2 '--jobs=2x: not a whole number'     gemem-sim replay small.ops -a direct -j 2x
refused 2 '--timeline-points=-1: out of range' gemem-sim replay small.ops -a direct --timeline-points -1
refused 2 'small.ops: no event on device 5'   gemem-sim replay small.ops -a direct --trace-device 5
refused 2 'small.ops: no event in host'       gemem-sim replay small.ops -a direct --trace-device host
refused 2 'device null: it has no capacity'   gemem-sim replay small.ops -a direct --find-capacity -d null
refused 2 '--events=e.csv: one file holds the decisions of one run, these are 2' gemem-sim replay small.ops -a direct -a ge-scalable --events e.csv
refused 2 'list: --names and --format=json'   gemem-sim list --names -f json
refused 2 'help: --man, --man-pages, --bash-completion'    gemem-sim help --bash-completion replay
refused 2 'allocator pytorch-caching: .*twice' gemem-sim replay small.ops -a pytorch-caching:max_split_size_mb=20,max_split_size_mb=40
refused 2 'device sim: .*twice'               gemem-sim replay small.ops -a direct -d sim:capacity=1GiB,capacity=2GiB
for size in -1 99999999999999999999 16EiB 1e30 12XB; do refused 2 'device sim: capacity=' gemem-sim replay small.ops -a direct -d "sim:capacity=$size"; done
refused 2 '--seed=18446744073709551616: '     gemem-sim generate random --seed 18446744073709551616
refused 2 'generator random: events='         gemem-sim generate random:events=-5

# ---- outputs that cannot be: said before the work begins, and the trace is never overwritten
cp small.ops kept.ops; ln -s small.ops link.ops; ln small.ops hard.ops
refused 2 'small.ops: --output would overwrite the trace'  gemem-sim compare small.ops -o small.ops
refused 2 'link.ops: --map would overwrite the trace'      gemem-sim compare small.ops --map link.ops
refused 2 'hard.ops: --manifest would overwrite the trace' gemem-sim compare small.ops --manifest hard.ops
refused 2 './small.ops: --events would overwrite'          gemem-sim replay small.ops -a direct --events ./small.ops
refused 2 'small.ops: OUTPUT would overwrite'              gemem-sim convert small.ops small.ops -f text
refused 2 '(\./)?both: both --output and --map would write' gemem-sim compare small.ops -o both --map ./both
check 'the trace is as it was' cmp small.ops kept.ops
for option in --output --map --manifest; do
  refused 1 'nodir/x: No such file or directory; ' gemem-sim compare small.ops $option nodir/x
  refused 1 'small.ops/x: Not a directory; '       gemem-sim compare small.ops $option small.ops/x
  refused 1 '\.: Is a directory; '                 gemem-sim compare small.ops $option .
done
refused 1 'small.ops: ' gemem-sim compare small.ops --plots small.ops
run 1 gemem-sim compare small.ops --map nodir/x; silent out

# A disk that fills: here a limit on the size of files.  Status 1, the file is named, nothing is left.
limited () { # NAME COMMAND...
  name=$1; shift
  ls > before.ls
  run 1 sh -c "ulimit -f 4; exec \"\$@\" >/dev/null" - "$@"
  says err "^gemem-sim: error: $name: File too large; "
  check "nothing of $name is left" sh -c 'ls > after.ls; diff before.ls after.ls'
}
touch before.ls after.ls
limited full.json gemem-sim compare r.gmt -a direct -a pytorch-caching -f json -o full.json
limited full.csv  gemem-sim replay r.gmt -a direct --events full.csv
limited full.map  gemem-sim compare r.gmt -a direct -a pytorch-caching --map full.map
limited full.man  gemem-sim compare r.gmt -a direct -a pytorch-caching --manifest full.man
limited full.gmt  gemem-sim convert r.gmt full.gmt
limited full.gmt  gemem-sim generate random:events=20000 -o full.gmt
run 1 sh -c 'ulimit -f 4; gemem-sim compare r.gmt -a direct -a pytorch-caching --plots full.plots >/dev/null'; says err 'full.plots/.*: File too large'
if command -v gnuplot >/dev/null; then
  run 1 sh -c 'ulimit -f 20; gemem-sim compare r.gmt -a direct -a "py*" -a "paddle-*" --plots full2.plots --timeline-points 4 >/dev/null'; says err 'full2.plots/.*svg: gnuplot could not write all'
  check 'no broken picture is left' sh -c '! ls full2.plots | grep svg'
else
  skip 'pictures on a full disk' 'no gnuplot'
fi

# ---- --sqlite: rows are appended, all or none
if gemem-sim version | grep -q 'SQLite yes'; then
  run 0 gemem-sim compare -v r.gmt small.ops -a direct -a pytorch-caching:max_split_size_mb=64 --sqlite r.db
  run 0 gemem-sim replay -v small.ops -a ge-scalable -d sim:capacity=2MiB --sqlite r.db
  if command -v sqlite3 >/dev/null; then
    sql () { sqlite3 r.db "$1"; }
    check 'a row per run, appended' test "$(sql 'SELECT count(*), count(DISTINCT trace) FROM results')" = '5|2'
    check 'a column per measure, as in CSV' sh -c \
      'gemem-sim compare small.ops -a direct -f csv | head -n 1 | tr , "\n" >c; test -s c || exit; while read -r c; do sqlite3 r.db "SELECT $c FROM results" >/dev/null || exit 1; done <c'
    gemem-sim compare r.gmt -a pytorch-caching:max_split_size_mb=64 -f csv | tail -n 1 > row.csv
    check 'the same numbers' grep -q ",$(sql "SELECT peak_reserved || ',,' || lower_bound FROM results WHERE id = 2")," row.csv
    check 'parameters are JSON' test "$(sql "SELECT json_extract (parameters, '\$.max_split_size_mb') FROM results WHERE id = 2")" = 64MiB
    check 'what was not asked for is NULL' test "$(sql 'SELECT count(*) FROM results WHERE least_capacity IS NULL AND measured_time IS NULL')" = 5
    check 'failures are there' test "$(sql 'SELECT ooms > 0 FROM results WHERE id = 5')" = 1
    # A table of an older gemem, with a column of its user.
    rm -f r.db; sql 'CREATE TABLE results (id INTEGER PRIMARY KEY, trace TEXT, mine TEXT); INSERT INTO results (trace, mine) VALUES (1, 2)'
    run 0 gemem-sim replay -v small.ops -a direct --sqlite r.db
    check 'an older table gets the new columns' test "$(sql 'SELECT group_concat(coalesce(peak_live, mine)) FROM results')" = 2,2621440
    for i in 1 2 3 4; do gemem-sim replay small.ops -a direct -f csv --sqlite r.db >/dev/null & done; wait
    check 'four at the same time' test "$(sql 'SELECT count(*) FROM results')" = 6
    sqlite3 endless.db 'CREATE TABLE results (id INTEGER PRIMARY KEY); CREATE TRIGGER t AFTER INSERT ON results BEGIN
      SELECT (WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count (*) FROM c); END'
    refused 1 'endless.db: SQLite: interrupted; nothing was added' timeout 60 gemem-sim replay small.ops -a direct --sqlite endless.db
  else
    skip 'contents of the database' 'no sqlite3 here'
  fi
  cp r.db kept.db
  run 1 sh -c 'ulimit -f 8; exec gemem-sim compare r.gmt r.txt -a pytorch-caching --sqlite r.db >/dev/null'
  says err '^gemem-sim: error: r.db: SQLite: .*; '
  refused 1 'r.gmt2: SQLite: file is not a database; ' sh -c 'cp r.gmt r.gmt2; gemem-sim compare small.ops -a direct --sqlite r.gmt2'
  refused 2 'small.ops: --sqlite would overwrite' gemem-sim compare small.ops --sqlite small.ops
  refused 1 'nodir/r.db: No such file' gemem-sim compare small.ops --sqlite nodir/r.db
else
  refused 1 'r.db: this gemem was built without SQLite; ' gemem-sim compare small.ops --sqlite r.db
fi

# ---- pipes and streams that close
for command in 'list' 'help --man' 'info r.gmt' 'replay r.gmt -a direct' 'compare r.gmt -a direct -a pytorch-caching -f json' 'convert r.gmt - -f text' 'generate random:events=200000'; do
  run 0 sh -c "gemem-sim $command | head -n 1"
  says out .; silent err
  run 1 sh -c "gemem-sim $command >&-"
  says err '^gemem-sim: error: standard output: Bad file descriptor'
done
check 'a closed standard output does not end up in a file' sh -c \
  'gemem-sim replay small.ops -a direct --events closed.csv -f csv >&- 2>/dev/null; test "$(head -n 1 closed.csv)" = seq,kind,id,size,address,block,reserved,device && ! grep -q trace_sha closed.csv'

# ---- signals, in every long phase: 130, and what is left is whole or marked
gemem-sim generate random:events=3000000,live=2000 -o long.gmt
# interrupt SIGNAL BIT COMMAND...: sends SIGNAL as soon as the program catches it (BIT in SigCgt of its status), and a little later.
# Whoever runs the tests under nohup has hang-ups ignored, and the program would rightly leave it so.
env --default-signal=HUP true 2>/dev/null && hearing='env --default-signal=HUP'
interrupt () {
  signal=$1 bit=$2; shift 2
  ${hearing:-} "$@" > int.out 2> int.err </dev/null & pid=$!
  for i in $(seq 400); do
    caught=$(sed -n 's/^SigCgt:.*\(........\)$/\1/p' /proc/$pid/status 2>/dev/null)
    [ $((0x${caught:-0} & bit)) = 0 ] || break
    sleep 0.05
  done
  sleep 0.2; kill "-$signal" $pid 2>/dev/null; wait $pid; got=$?
  ok $((got != 130)) "SIG$signal gives 130 (got $got): $*"
}
interrupt INT 0x2 gemem-sim replay long.gmt -a pytorch-caching --repeat 1000 --events int.csv
check 'its decisions are marked as partial' sh -c 'test -s int.csv.partial && test ! -e int.csv'
interrupt HUP 0x1 gemem-sim replay long.gmt -a ge-scalable --repeat 1000
check 'its report is marked' grep -q PARTIAL int.out
interrupt TERM 0x4000 gemem-sim compare r.gmt r.txt -a direct -a pytorch-caching --repeat 1000000 -f csv
check 'every run has its row, those cut short are marked' sh -c 'test $(wc -l < int.out) = 5 && test $(grep -c ",yes,\"\\?interrupted before\|,no,interrupted,," int.out) = 4 && grep -q ",yes," int.out'
check 'one line says how far it came' sh -c 'cat int.err; test $(grep -c . int.err) = 1 && grep -qx "gemem-sim: error: interrupted after 0 of 4 runs; run it again for the others" int.err'
interrupt INT 0x2 gemem-sim compare r.gmt -j 1 -a direct -a pytorch-caching -a ge-bins -a plan --repeat 1000000
check 'what did not begin has no values' sh -c 'cat int.out; test $(grep -c "^[a-z-]*  .* -  .* (not run: interrupted)$" int.out) = 3 && ! grep "not run" int.out | grep -q "[0-9]"'
check 'and nobody wins' sh -c 'tail -n 1 int.out | grep -q "^interrupted after 0 of 4 runs: " && ! grep -q "real allocator" int.out'
if command -v gnuplot >/dev/null; then # killed while a picture is half written: nothing half stays under its name
  mkdir killer; printf '#!/bin/sh\nulimit -f 8\n%s "$@"\nkill -9 $PPID\n' "$(command -v gnuplot)" >killer/gnuplot; chmod +x killer/gnuplot
  sh -c 'PATH="$PWD/killer:$PATH" exec gemem-sim compare small.ops -a direct -a ge-bins --plots killed' >/dev/null 2>&1; killed=$?
  check 'SIGKILL while gnuplot draws leaves no half picture' sh -c "test $killed = 137 && ls killed/.part-*.svg && for f in killed/*.svg; do test ! -e \$f || tail -c 20 \$f | grep '</svg>' || exit 1; done"
else
  skip 'SIGKILL while gnuplot draws' 'no gnuplot'
fi
mkdir fake; printf '#!/bin/sh\ntrap "" INT\necho drawing >drawing\nexec sleep 20\n' >fake/gnuplot; chmod +x fake/gnuplot
date +%s >begin
interrupt INT 0x2 env PATH="$PWD/fake:$PATH" gemem-sim compare small.ops -a direct -a ge-bins --plots slow
check 'also while gnuplot draws, at once' sh -c 'cat int.err; test -e slow/drawing && test $(($(date +%s) - $(cat begin))) -lt 15 && test "$(cat int.err)" = "gemem-sim: error: slow: interrupted; plots are missing"'
interrupt TERM 0x4000 gemem-sim replay long.gmt -a ge-scalable --find-capacity --repeat 50
interrupt TERM 0x4000 gemem-sim generate random:events=4000000000 -o int.gmt
check 'one line says so' grep -q '^gemem-sim: error: int.gmt: interrupted; nothing was kept' int.err
check 'nothing half-written is left behind' sh -c 'test -z "$(ls | grep -E "[.](csv|json|map|man|gmt|txt)[.](tmp-)?[A-Za-z0-9]{6}$")"'
ok $(($(status_of gemem-sim info r.gmt) != 0)) 'and all is well afterwards'

# ---- names of files are bytes, all other text is UTF-8, whatever the locale
bad=$(printf 'b\377d')
refused 2 'replay: --allocator=b.*d: not text in UTF-8' gemem-sim replay small.ops -d null -a "$bad"
refused 2 'replay: --device=b.*d: not text in UTF-8' env LC_ALL=C gemem-sim replay small.ops -a direct -d "$bad"
cp small.ops "$bad.ops"; run 0 env LC_ALL=C gemem-sim replay "$bad.ops" -a direct -o "$bad.json"
check 'the file with these bytes is there' test -s "$bad.json"
run 0 env LC_ALL=C gemem-sim convert small.ops noted.txt --note 'was=größer'
check 'a note beyond ASCII is kept' grep -q 'größer' noted.txt
refused 2 "unknown allocator 'dïrect'; did you mean 'direct'" env LC_ALL=C gemem-sim replay small.ops -a dïrect

# ---- an input does not choose which files are opened
with () { printf '# gemem-trace: 1\n%s\nalloc 1 size=1000\n# end: 1\n' "$1" >with.txt; }
for setting in calls=/etc/passwd profile=/etc/passwd profile=./mine.ini profile=mine.ini; do
  with "# device: \"$setting\""
  refused 2 "device sim: the input sets $setting, which names a file, and only the command line may" gemem-sim replay with.txt -a direct
done
run 0 gemem-sim replay -v with.txt -a direct -d sim:profile=h200 # the command line counts more
with '# device: "profile=h200"'
run 0 gemem-sim replay -v with.txt -a direct # a name of what is installed
with '# allocator: "plan"
# settings: "file=/etc/passwd"'
refused 2 '.*allocator plan: the input sets file=/etc/passwd' gemem-sim replay with.txt
run 0 gemem-sim replay -v with.txt --no-trace-settings
with '# allocator: plan'
for command in replay compare info plan; do # the same of every command
  refused 3 "with.txt:2: 'plan' must be a string in double quotes" gemem-sim $command with.txt
done
done_testing
