#!/bin/sh
# test-cli-sweep.sh - gemem-sim sweep and query: every combination once, whatever ends it and whoever else writes; shards and their merge; what is wrong.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
if ! gemem-sim version | grep -q 'SQLite yes'; then
  printf '[a]\ntrace=t.gmt\nallocator=direct\n' >s.ini; gemem-sim generate random:events=10 -o t.gmt
  run 1 gemem-sim sweep s.ini; says err 'built without SQLite'
  run 1 gemem-sim query r.db best; says err 'built without SQLite'
  done_testing
fi
ln -s "$GEMEM_SRCDIR/traces" "$GEMEM_SRCDIR/graphs" .

# refused STATUS TEXT COMMAND...: one line, which begins so.
refused () {
  refused_text=$2; refused_status=$1; shift 2
  run "$refused_status" "$@"
  check "says: $refused_text" sh -c 'test "$(grep -c . "$1")" = 1 && grep -qF "gemem-sim: error: $2" "$1"' - "$err" "$refused_text"
  grep -qF "gemem-sim: error: $refused_text" "$err" || sed 's/^/# /' "$err"
}
# dump DB: all of it but what was measured; ask DB SQL: one value.
dump () { gemem-sim query "$1" runs -f csv; }
ask () { gemem-sim query "$1" "$2" -f csv | tail -n 1; }
# same DB NAME: the database is that of a sweep that nothing disturbed.
same () { dump "$1" >got.csv; cmp -s whole.csv got.csv; ok $? "$2"; cmp -s whole.csv got.csv || diff whole.csv got.csv | cut -c 1-300 | head -n 5 | sed 's/^/# /'; }

# ---- every combination once
graph=$(cd graphs/bundled && ls -- *.json* | head -n 1)
cat >s.ini <<END
# two jobs
[global]
allocator=pytorch-caching:max_split_size_mb=64|128; bfc

[training]
trace=traces/recorded/gpt2-train.gmt; traces/recorded/vit-*.gmt
device=2GiB|80GiB
[resnet]
trace=traces/recorded/resnet50-train*.gmt
repeat=1;2
[again]
trace=traces/recorded/vit-train.gmt
device=80GiB|2GiB
[graph]
trace=graphs/bundled/$graph
lower=eager; paddle:eager_delete_tensor_gb=-1|0
capacity=1GiB;2GiB
allocator=paddle-auto-growth
END
resnets=$(find traces/recorded/ -name 'resnet50-train*.gmt' | wc -l)
n=$((2 * 2 * 3 + resnets * 3 * 2 + 3 * 2))
run 0 gemem-sim sweep s.ini --dry-run; says out "^$n runs: $n would be made, 0 are in results.db"
check 'a line each' test "$(grep -c '^  ' "$out")" = $n
check 'and nothing is made' test ! -e results.db
run 0 gemem-sim sweep s.ini -o one.db -j 1; says out "^$n runs in one.db: $n made now, 0 were there"
silent err
dump one.db >whole.csv
check 'a row each, all different' sh -c 'test "$(wc -l <whole.csv)" = $(($1 + 1)) && test "$(sort -u whole.csv | wc -l)" = $(($1 + 1))' - $n
check 'no path of this machine, and no time' sh -c '! grep -q "run_time\|measured\|$PWD" whole.csv'
run 0 gemem-sim sweep s.ini -o one.db; says out "^$n runs in one.db: 0 made now, $n were there"
run 0 gemem-sim sweep s.ini -o two.db -j 2
same two.db 'two threads make the same'
gemem-sim compare traces/recorded/gpt2-train.gmt -a 'pytorch-caching:max_split_size_mb=64|128' -a bfc -d '2GiB|80GiB' -f csv --columns peak_reserved,calls >compare.csv
gemem-sim query one.db "select peak_reserved || ',' || calls from results where trace like '%gpt2-train%'" -f csv | sed '1d; s/"//g' | sort >a
sed '1d; s/.*,\([0-9]*,[0-9]*\)$/\1/' compare.csv | sort >b
check 'the numbers are those of compare' sh -c 'test -s a && cmp a b'
check 'a hash, a version, effective settings' test "$(ask one.db "select count (*) from results where length (trace_sha256) = 64 and gemem <> '' and json_valid (parameters) and length (key) = 32")" = $n
cp traces/recorded/vit-train.gmt t.gmt; printf '[a]\ntrace=t.gmt\nallocator=direct\n' >t.ini
gemem-sim sweep t.ini -o t.db >t.out; gemem-sim sweep t.ini -o t.db >>t.out; cp traces/recorded/gpt2-train.gmt t.gmt; gemem-sim sweep t.ini -o t.db >>t.out
check 'another file of the same name is another run' sh -c 'test "$(grep -c "1 made now" t.out)" = 2'

cp "$GEMEM_SRCDIR/devices/profiles/generic.ini" mine.ini; printf '[a]\ntrace=t.gmt\nallocator=direct\ndevice=sim:profile=./mine.ini\n' >p.ini
gemem-sim sweep p.ini -o p.db >p.out; gemem-sim sweep p.ini -o p.db >>p.out
sed 's/^base_ns=.*/base_ns=77/' mine.ini >edited.ini; mv edited.ini mine.ini; gemem-sim sweep p.ini -o p.db >>p.out
check 'and so is one with other prices in a file of the same name' test "$(sed -n 's/.*: \([0-9]*\) made now.*/\1/p' p.out | tr '\n' ' ')" = '1 0 1 '

# ---- shards, merges, writers
for i in 1 2 3; do gemem-sim sweep s.ini --shard $i/3 -o part$i.db >shard$i.out & done; wait
check 'three shards have all of it' test "$(cat shard?.out | awk '/runs in/ { t += $1 } END { print t }')" = $n
run 0 gemem-sim sweep --merge part3.db part1.db part2.db -o merged.db; says out "^$n runs added to merged.db, from 3 databases"
same merged.db 'the merge of three shards is the whole, byte for byte'
run 0 gemem-sim sweep --merge part1.db one.db -o merged.db; says out '^0 runs added'
same merged.db 'merging again adds nothing'
run 0 gemem-sim sweep s.ini -o merged.db; says out ' 0 made now'
for i in 1 2 3 4; do gemem-sim sweep s.ini -o four.db >/dev/null 2>four$i.err & done; wait
same four.db 'four writers at once'
check 'without a word' sh -c '! grep . four?.err'

# ---- kill -9 at moments drawn by a seed
gemem-sim generate random:events=6000 --seed 3 -o r.gmt
most=419; ! is_sanitized || most=39 # there each run takes many times as long
printf '[all]\ntrace=r.gmt\nallocator=pytorch-caching:max_split_size_mb=20..%s; bfc; direct; ge-*\n' $most >k.ini
begin=$(date +%s%N); gemem-sim sweep k.ini -o k1.db -j 1 >/dev/null; took=$((($(date +%s%N) - begin) / 1000000))
dump k1.db >whole.csv
before=0 shrunk=0 broken=0 inside=0 wholes=0
for delay in $(awk -v ms=$took 'BEGIN { srand (40); for (i = 0; i < 60; i++) printf "%.3f ", rand () * ms / 2000 }'); do
  [ $inside -lt 20 ] || break
  gemem-sim sweep k.ini -o killed.db -j 2 >killed.out 2>&1 & pid=$!
  sleep "$delay"; kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
  if [ $? -ne 137 ]; then # it had ended: from the beginning
    dump killed.db | cmp -s whole.csv - || broken=1
    rm killed.db; before=0 wholes=$((wholes + 1)); continue
  fi
  inside=$((inside + 1))
  [ -s killed.db ] && [ "$(ask killed.db "select count (*) from sqlite_master where name = 'results'")" = 1 ] || continue
  now=$(ask killed.db 'select count (*) from results')
  [ "$now" -ge $before ] || shrunk=1
  [ "$(ask killed.db 'select * from pragma_integrity_check')" = ok ] || broken=1
  before=$now
done
echo "# $inside kills came while it ran, $wholes times it ended before; the last one at $before of $(($(wc -l <whole.csv) - 1)) runs"
check 'no kill loses what was written' test $shrunk$broken = 00
check 'twenty came while it ran' test $inside = 20
run 0 gemem-sim sweep k.ini -o killed.db
same killed.db 'killed twenty times, nothing is lost and nothing twice'
gemem-sim sweep k.ini -o stopped.db -j 1 >stopped.out 2>stopped.err & pid=$!
while [ ! -s stopped.db ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done; kill -TERM $pid; wait $pid; status=$?
check 'a signal: what ended is kept, and it says so' sh -c 'test $1 = 0 || { test $1 = 130 && grep -q "the same command makes the other runs" stopped.err; }' - $status
run 0 gemem-sim sweep k.ini -o stopped.db
same stopped.db 'and the next one makes the rest'

# ---- what is wrong
# wrong STATUS TEXT LINE...: the specification of these lines is refused.
wrong () { wrong_status=$1; wrong_text=$2; shift 2; printf '%s\n' "$@" >bad.ini; refused "$wrong_status" "$wrong_text" gemem-sim sweep bad.ini; }
wrong 2 "bad.ini:4: [a] devise: unknown key; did you mean 'device'?" '[a]' trace=r.gmt allocator=direct devise=16GiB
wrong 2 "bad.ini:2: [a] trace: no file matches 'nothing-*.gmt'" '[a]' 'trace=nothing-*.gmt' allocator=direct
wrong 2 'bad.ini:3: [a] allocator: ' '[a]' trace=r.gmt allocator=pytorch-caching:max_split_size_mb=128..20
wrong 2 'bad.ini:2: [global] allocator: ' '[global]' allocator=bcf '[a]' trace=r.gmt
wrong 2 'bad.ini:5: [a] capacity: ' '[a]' trace=r.gmt allocator=direct device=16GiB capacity=8GiB
wrong 2 "bad.ini:4: [a] repeat: '0' is no whole number from 1" '[a]' trace=r.gmt allocator=direct repeat=0
wrong 2 'bad.ini:4: [a] find-capacity: write yes or no' '[a]' trace=r.gmt allocator=direct find-capacity=perhaps
wrong 2 'bad.ini:4: [a] device: a sweep runs on simulated devices' '[a]' trace=r.gmt allocator=direct device=cuda:0
wrong 2 "bad.ini:3: 'trace=t.gmt' is given twice, first in line 2" '[a]' trace=r.gmt trace=t.gmt
wrong 2 "bad.ini:2: 'trace' is no" '[a]' trace
wrong 2 'bad.ini:1: [a]: has no allocator' '[a]' trace=r.gmt
wrong 2 'bad.ini:1: [a]: has no trace' '[a]' allocator=direct
wrong 2 'bad.ini: has no job; add a group' '[global]' trace=r.gmt allocator=direct
wrong 2 '[a] --lower=eager: r.gmt is no graph' '[a]' trace=r.gmt allocator=direct lower=eager
wrong 2 'bad.ini:1: ' trace=r.gmt
refused 1 'Failed to open file' gemem-sim sweep no.ini
refused 2 '--shard=3/2: write I/N' gemem-sim sweep k.ini --shard 3/2
refused 2 '--merge takes databases' gemem-sim sweep --merge k1.db --dry-run
refused 2 '--slurm: --jobs N is missing' gemem-sim sweep k.ini --slurm ''
refused 1 'r.gmt: SQLite: file is not a database' gemem-sim sweep k.ini -o r.gmt
refused 1 'nodir/r.db: SQLite: unable to open' gemem-sim sweep k.ini -o nodir/r.db
refused 1 'no.db: SQLite: unable to open' gemem-sim sweep --merge no.db -o merged.db
printf '[a]\ntrace=r.gmt; gone.gmt\nallocator=direct; bfc\n' >bad.ini
run 1 gemem-sim sweep bad.ini -o bad.db; says err 'gone.gmt: No such file'
head -c 3000 r.gmt >cut.gmt; printf '[a]\ntrace=r.gmt; cut.gmt\nallocator=direct; bfc\n' >bad.ini
run 3 gemem-sim sweep bad.ini -o bad.db; says err '^gemem-sim: error: cut.gmt: '
check 'which is said once' test "$(grep -c cut.gmt "$err")" = 1
check 'the other trace is there' test "$(ask bad.db "select count (*) from results where trace = 'r.gmt'")" = 2
printf '[a]\ntrace=r.gmt\nallocator=pytorch-caching:expandable_segments=yes|no,backend=native|cudaMallocAsync\n' >bad.ini
run 0 gemem-sim sweep bad.ini -o contra.db
contra=$(ask contra.db 'select count (*) from results where failure is not null and fits is null')
check 'settings that contradict each other are rows that say so' sh -c 'test $2 = 0 || grep -q "$2 of them could not begin" "$1"' - "$out" "$contra"
run 1 sh -c 'ulimit -f 200; exec gemem-sim sweep k.ini -o full.db'; says err '^gemem-sim: error: full.db: SQLite: .*; nothing was added'
run 0 gemem-sim sweep k.ini -o full.db
same full.db 'a full disk loses nothing'
if command -v sqlite3 >/dev/null; then
  cp k1.db newer.db; sqlite3 newer.db 'PRAGMA user_version = 2'
  refused 1 'newer.db: made by a newer gemem, whose tables have version 2; ' gemem-sim sweep k.ini -o newer.db
  refused 1 'newer.db: made by a newer gemem' gemem-sim query newer.db best
  refused 1 'newer.db: made by a newer gemem' gemem-sim sweep --merge newer.db -o merged.db
  cp k1.db wide.db; sqlite3 wide.db "ALTER TABLE results ADD COLUMN of_later TEXT; UPDATE results SET of_later = 'x'"
  gemem-sim sweep --merge wide.db -o wider.db >/dev/null
  check 'a column of a later gemem comes along' test "$(ask wider.db "select count (*) > 1 from runs where of_later = 'x'")" = 1
fi

# ---- questions
for view in best fits worst means runs; do
  run 0 gemem-sim query one.db $view; check "$view is not empty" test -s "$out"
  run 0 gemem-sim query one.db $view -f json; check "$view is JSON" python3 -m json.tool "$out"
done
run 0 gemem-sim query one.db; says out '^  means  '
run 0 gemem-sim query one.db "select * from best where workload like '%gpt2%'"; says out ' 80.00 GiB  2.973 GiB  pytorch-caching:max_split_size_mb=128 '
run 0 gemem-sim query one.db 'select setting, 1 as x, null as y from results limit 1' -f json; says out '"x": 1, "y": null'
refused 2 "query 'nix': no such table: nix" gemem-sim query one.db nix
sum=$(cksum <one.db)
refused 2 "query 'delete from results': it would change" gemem-sim query one.db 'delete from results'
refused 2 "query 'select 1; drop table results': write one SELECT" gemem-sim query one.db 'select 1; drop table results'
refused 2 "query 'attach 'other.db' as o'" gemem-sim query one.db "attach 'other.db' as o"
check 'nothing is changed or created' sh -c 'test "$1" = "$(cksum <one.db)" && test ! -e other.db' - "$sum"
refused 1 'no.db: SQLite: unable to open database file' gemem-sim query no.db best
check 'and is not created' test ! -e no.db
run 0 gemem-sim plot one.db -f csv; check 'plot reads it, a row for each run' test "$(wc -l <"$out")" = $((n + 1))
run 3 gemem-sim plot k.ini
gemem-sim plot one.db -f csv >plotted.csv
run 0 gemem-sim compare one.db -f csv; check 'and so does compare' cmp "$out" plotted.csv
run 0 gemem-sim compare one.db; says out '^pytorch-caching:max_split_size_mb=128 \(capacity=80GiB\) '
run 0 gemem-sim compare one.db -f json -o one.json; run 0 gemem-sim plot one.json -f csv; check 'the same by JSON' cmp "$out" plotted.csv
refused 2 'one.db: a database of results: its runs are made; ' gemem-sim compare one.db -a bfc
refused 2 'one.db: a database of results: a page shows blocks over time' gemem-sim report one.db
run 3 gemem-sim replay one.db; says err 'an SQLite database that nsys did not write; what gemem-sim sweep wrote is for query, compare and plot'
# A run that leaves a doubt proves nothing about what fits.
check 'nothing fits that is in doubt' test "$(ask one.db 'select count (*) from results where fits = 1 and (doubt is not null or ooms > 0 or partial)')" = 0
done_testing
