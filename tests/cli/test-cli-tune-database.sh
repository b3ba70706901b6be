#!/bin/sh
# test-cli-tune-database.sh - gemem-sim tune --database: whatever ends a search, the same command goes on and comes to the answer and the counts of
# one that nothing ended; another recording, settings, device or prices take nothing of it; what is wrong.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
events=9000; is_sanitized && events=800 # each search replays them hundreds of times
gemem-sim generate random:events=$events --seed 3 -o r.gmt
if ! gemem-sim version | grep -q 'SQLite yes'; then
  run 1 gemem-sim tune r.gmt --database t.db; says err 'built without SQLite'
  done_testing
fi
# count DB: replays that are kept there.
count () { gemem-sim query "$1" 'select count (*) from searched' -f csv | tail -n 1; }
# search FILE OPTION...: both the answer and every row, into FILE; what it says is in FILE.err.
space='pytorch-caching:max_split_size_mb=20..99,roundup_power2_divisions=*,expandable_segments=*'
search () {
  search_out=$1; shift
  gemem-sim tune r.gmt -a "$space" --objective needs,device_calls "$@" >"$search_out" 2>"$search_out.err"
}
# taken N FILE: the search said that it took N (an expression of sed) runs.
taken () { grep -q "^gemem-sim: note: $1 runs\{0,1\} taken from " "$2.err"; }

# ---- the answer is the same: kept, taken, in every form
begin=$(date +%s%N); search plain; took=$((($(date +%s%N) - begin) / 1000000))
search plain.csv -f csv
search first --database t.db
check 'the answer with a database is that without' cmp plain first
check 'nothing was there to be taken' sh -c '! grep -q taken first.err'
search second --database t.db
check 'taken, it is the same' cmp plain second
check 'all but the replay of how it is now are taken' taken "$(($(sed -n 's/.* \([0-9]*\) replays\{0,1\} in all.*/\1/p; s/^  \([0-9]*\) replays in all.*/\1/p' plain | head -n 1) - 1))" second
search second.csv --database t.db -f csv
check 'and so is every row' cmp plain.csv second.csv
before=$(count t.db)
search third -j 1 --database t.db
check 'with another number of threads too' cmp plain third
check 'and nothing is made that is there' test "$(count t.db)" = "$before"

# ---- kill -9 at moments drawn by a seed
inside=0 wholes=0 wrong=0 shrunk=0 kept=0
for delay in $(awk -v ms=$took 'BEGIN { srand (40); for (i = 0; i < 40; i++) printf "%.3f ", 0.02 + rand () * ms / 2500 }'); do
  [ $inside -lt 10 ] || break
  gemem-sim tune r.gmt -a "$space" --objective needs,device_calls --database killed.db >killed 2>killed.err & pid=$!
  sleep "$delay"; kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
  if [ $? -ne 137 ]; then # it had ended: from the beginning
    cmp -s plain killed || wrong=1
    rm killed.db; kept=0 wholes=$((wholes + 1)); continue
  fi
  inside=$((inside + 1))
  [ -s killed.db ] && [ "$(gemem-sim query killed.db "select count (*) from sqlite_master where name = 'searched'" -f csv | tail -n 1)" = 1 ] || continue
  now=$(count killed.db)
  [ "$now" -ge $kept ] || shrunk=1
  kept=$now
done
echo "# $inside kills came while it ran, $wholes times it ended before; the last one at $kept of $before replays"
check 'ten came while it ran' test $inside = 10
check 'no kill loses what was written, and no end is wrong' test $shrunk$wrong = 00
search killed --database killed.db
check 'killed ten times, the answer and its counts are those of one that nothing ended' cmp plain killed
[ "$kept" -eq 0 ] || check 'what was kept is told' taken "$kept" killed

# ---- a signal: what ended is kept
gemem-sim tune r.gmt -a "$space" --objective needs,device_calls --database signal.db >signal 2>signal.err & pid=$!
while [ ! -s signal.db ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
sleep 0.2; kill -INT $pid; wait $pid; status=$?
check 'a signal: status 130, and how to go on' sh -c 'test $1 = 0 || { test $1 = 130 && grep -q "the same command goes on with what is in signal.db" signal.err; }' - $status
search signal --database signal.db
check 'and the same command comes to the same' cmp plain signal

# ---- several searches in one database: nothing is taken wrongly
# own NAME OPTION...: with the database that has all of the others, the answer is that without; same: and nothing of the others is taken.
own () {
  own_name=$1; shift
  gemem-sim tune "$@" >without 2>/dev/null; without=$?
  gemem-sim tune "$@" --database t.db >with 2>with.err; with=$?
  check "$own_name: the answer is its own" sh -c 'test $1 = $2 && cmp without with' - $without $with
}
same () { own "$@"; check "$own_name: nothing is taken" sh -c '! grep -q taken with.err'; }
small='pytorch-caching:max_split_size_mb=20..40,expandable_segments=*'
own 'other settings, some of which the first search replayed with the same bounds' r.gmt -a "$small"
same 'the least capacity' r.gmt -a "$small" --objective least_capacity
same 'a smaller device' r.gmt -a "$small" --capacity 4500MiB
same 'a device on which nothing fits' r.gmt -a 'pytorch-caching:max_split_size_mb=20..22' --capacity 1GiB
same 'without what was live before' r.gmt -a "$small" --without-initial
own 'two recordings' r.gmt "$GEMEM_SRCDIR/traces/recorded/vit-train.gmt" -a "$small"
same 'an allocator that is not watched' r.gmt -a 'tf-bfc:allow_growth=*'
gemem-sim generate random:events=$((events / 2)) --seed 4 -o other.gmt; mv r.gmt one.gmt; mv other.gmt r.gmt
same 'another recording of the same name' r.gmt -a "$small"
gemem-sim tune one.gmt -a "$small" --database t.db >/dev/null 2>with.err
check 'a recording of another name is the same one' grep -q 'runs taken from t.db' with.err
mv one.gmt r.gmt
cp "$GEMEM_SRCDIR/devices/profiles/generic.ini" mine.ini
same 'prices in a file' r.gmt -a "$small" -d sim:profile=./mine.ini --objective modelled_time
sed 's/^base_ns=.*/base_ns=77/' mine.ini >edited.ini; mv edited.ini mine.ini
same 'the file with other prices' r.gmt -a "$small" -d sim:profile=./mine.ini --objective modelled_time
for i in 1 2 3; do search four$i --database four.db & done; wait
check 'three searches in one database at once' sh -c 'for i in 1 2 3; do cmp plain four$i || exit 1; done'
gemem-sim tune - -a "$small" --database t.db <r.gmt >with 2>with.err
check 'standard input is known by its bytes' grep -q 'runs taken from t.db' with.err

# ---- with a sweep in the same database
printf '[a]\ntrace=r.gmt\nallocator=bfc; direct\n' >s.ini
gemem-sim sweep s.ini -o s.db >/dev/null; gemem-sim query s.db runs -f csv >runs
search beside --database s.db
check 'beside a sweep: the answer' cmp plain beside
gemem-sim query s.db runs -f csv >runs2; check 'beside a sweep: its runs are as they were' cmp runs runs2
run 0 gemem-sim sweep s.ini -o s.db; says out '^2 runs in s.db: 0 made now, 2 were there'

# ---- what is wrong
# refused TEXT COMMAND...: exit status 1 and one line, which begins so.
refused () {
  refused_text=$1; shift
  run 1 "$@"
  check "says: $refused_text" sh -c 'test "$(grep -c . "$1")" = 1 && grep -qF "gemem-sim: error: $2" "$1"' - "$err" "$refused_text"
}
refused 'r.gmt: SQLite: file is not a database' gemem-sim tune r.gmt -a "$small" --database r.gmt
refused 'nodir/t.db: SQLite: unable to open' gemem-sim tune r.gmt -a "$small" --database nodir/t.db
refused 'full.db: SQLite: ' sh -c 'ulimit -f 64; exec gemem-sim tune r.gmt -a "$1" --objective needs,device_calls --database full.db' - "$space"
search full --database full.db
check 'a full disk loses nothing' cmp plain full
if command -v sqlite3 >/dev/null; then
  cp t.db newer.db; sqlite3 newer.db 'PRAGMA user_version = 2'
  refused 'newer.db: made by a newer gemem, whose tables have version 2; ' gemem-sim tune r.gmt -a "$small" --database newer.db
  sqlite3 plain.db "CREATE TABLE searched (key TEXT)"
  refused 'plain.db: SQLite: no such column' gemem-sim tune r.gmt -a "$small" --database plain.db
  # What gemem does not write is made anew, or does no harm.
  for change in "ended = 'untried'" "ended = 'refused'" 'ended = NULL' "alike = '2'" "alike = substr (alike, 2)" 'passes = -1' "why = 'x'" "alike = x'00ff'"; do
    cp t.db odd.db; sqlite3 odd.db "UPDATE searched SET $change"
    search odd --database odd.db
    check "rows with $change: the answer" cmp plain odd
  done
fi
done_testing
