#!/bin/sh
# test-host-faults.sh - the host fails (tests/fault/host-faults.c): no memory at the n-th request, a full or damaged disk at the n-th byte, calls that fail or move
# one byte at a time, clocks that jump. Every kind of output is the old or the new one, and one line says what failed. long-host-faults.sh has every n.
# shellcheck disable=SC2086,SC2154 # kinds are words; err comes from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

library=$GEMEM_BUILDDIR/tests/fault/.libs/host-faults.so
python=$(command -v python3) || { skip 'faults' 'there is no python3'; done_testing; }
if is_sanitized; then
  skip 'faults' 'a sanitizer has its own malloc()'; done_testing
fi
[ -e "$library" ] || { skip 'faults' 'libraries are not shared here'; done_testing; }
GEMEM_FAULT=count GEMEM_FAULT_COUNTS=counts LD_PRELOAD=$library env true
[ -e counts ] || { skip 'faults' 'the C library is not glibc of a 64-bit system'; done_testing; }
rm counts

extent=some
[ -z "${GEMEM_LONG:-}" ] || extent=all
gemem-sim generate random:events=60,live=10 -o s.gmt # before the path is that of the program itself, not of libtool's script
gemem-sim convert s.gmt s.txt && gzip -k s.txt && cp s.gmt other.gmt
if command -v zstd >/dev/null; then zstd -q s.txt; else cp s.txt.gz s.txt.zst; fi
cp "$GEMEM_SRCDIR/tests/data/onnx/mlp.onnx" graph.onnx
{ echo '# gemem-trace: 1'
  for i in 1 2 3 4 5 6 7 8 9; do echo "alloc $i size=${i}000 device=$((i % 2))"; done
  echo '# end: 9'; } >two.txt
gemem-sim compare s.gmt -a direct -a ge-bins -f json -o results.json
printf '[one]\ntrace=../s.gmt\nallocator=direct\n' >w.ini
if [ -x "$GEMEM_BUILDDIR/.libs/gemem-sim" ]; then
  PATH=$GEMEM_BUILDDIR/.libs:$PATH LD_LIBRARY_PATH=$GEMEM_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export PATH LD_LIBRARY_PATH
fi

# swept KIND... <COMMANDS: the points of host-faults.py become points here.
swept () {
  "$python" "$GEMEM_SRCDIR/tests/cli/host-faults.py" "$library" $extent "$@" >points 2>&1 || tap_failed=$((tap_failed + 1))
  grep -q '^1\.\.[1-9]' points || { ok 1 'host-faults.py comes to its end'; sed 's/^/# /' points; }
  sed -n "/^\(not \)\{0,1\}ok/{s/ok [0-9]* - /ok - /p;d}; /^#/p" points >named
  while IFS= read -r line; do
    case $line in
      'ok - '*) ok 0 "${line#ok - }" ;;
      'not ok - '*) ok 1 "${line#not ok - }" ;;
      *) echo "$line" ;;
    esac
  done <named
}

# Every way of one run.
swept short disk damaged open close rename read memory memory+ large <<'END'
o.txt: gemem-sim convert ../s.gmt o.txt
o.gmt: gemem-sim convert ../s.txt.gz o.gmt
: gemem-sim convert ../s.txt.zst - -f native
o.csv e.csv c.csv m.svg: gemem-sim replay ../s.gmt -a ge-bins -o o.csv --events e.csv --calls c.csv --map m.svg
p.json m.svg t.gmt: gemem-sim plan ../s.gmt -p first-fit --plan p.json --map m.svg --trace t.gmt --no-time
several e.csv c.csv: gemem-sim replay ../two.txt -j 1 -a direct --events e.csv --calls c.csv
END
# Several runs: one that cannot read its input is a row of the others' report.
swept short disk damaged close rename memory large <<'END'
several o.out m.txt g.txt man.json: gemem-sim compare ../s.gmt ../other.gmt -j 1 -a direct -a ge -f markdown -o o.out --map m.txt --allocator-report g.txt --manifest man.json
several p.html: gemem-sim compare ../s.gmt -j 1 -a direct -a ge-bins --html p.html
several o.json r.db: gemem-sim compare ../s.gmt -j 1 -a direct -a ge-bins -o o.json --sqlite r.db
w.db: gemem-sim sweep ../w.ini -j 1 -o w.db
t.db: gemem-sim tune ../s.gmt -q -j 1 -a pytorch-caching:max_split_size_mb=20 --database t.db
q.csv o.json: gemem-sim plan ../s.gmt -p first-fit --plan q.csv -o o.json --no-time
END
swept disk memory <<'END'
g.json: gemem-sim convert ../graph.onnx g.json
g.gmt: gemem-sim generate random:events=60,live=10 -o g.gmt
c.ini: gemem-sim calibrate -d sim --repeats 2 -o c.ini
c.out: gemem-sim conformance memory_optimize -f markdown -o c.out
: gemem-sim info ../s.gmt
: gemem-sim validate ../s.gmt
: gemem-sim list allocators
END
if command -v gnuplot >/dev/null; then
  swept disk gnuplot rename memory <<'END'
p/: gemem-sim plan ../s.gmt -p first-fit --plots p/ --no-time
END
else
  skip 'pictures' 'there is no gnuplot'
fi

# ---- clocks that jump years on and back: sweeps, searches and gates end, come to the same, and keep no time that is negative
# clocked N COMMAND...: every N-th read of a clock finds a jump; it ends within a minute.
clocked () {
  jumps=$1; shift
  GEMEM_FAULT=clock:$jumps GEMEM_FAULT_PROGRAM=gemem-sim LD_PRELOAD=$library timeout 60 "$@"
}
gemem-sim generate random:events=4000 --seed 3 -o c.gmt
printf '[all]\ntrace=c.gmt\nallocator=pytorch-caching:max_split_size_mb=20..59; bfc; direct\n[new]\nprogram=false\nallocator=direct\n' >c.ini
search='gemem-sim tune c.gmt -q -a pytorch-caching:max_split_size_mb=20..59 --objective needs,device_calls -j 1'
gemem-sim sweep c.ini -o right.db >right.out; gemem-sim query right.db runs -f csv >right.csv
$search >right.tune; gemem-sim gate c.gmt --baseline right.ini --update >/dev/null
for n in 1 4 25; do
  clocked $n gemem-sim sweep c.ini -o clock$n.db --recordings right.db.programs >clock.out 2>&1
  check "clock:$n: a sweep ends as it does" sh -c 'sed s/clock$1/right/g clock.out | cmp - right.out' - $n
  gemem-sim query clock$n.db runs -f csv >clock.csv; check "clock:$n: its rows" cmp right.csv clock.csv
  wrong=$(gemem-sim query clock$n.db 'select count (*) from results where allocator is not null and (run_time is null or run_time < 0)' -f csv | tail -n 1)
  check "clock:$n: no time is negative" test "$wrong" = 0
  clocked $n gemem-sim sweep c.ini -o part$n.db --recordings part$n.programs --shard 1/2 >/dev/null 2>&1
  clocked $n gemem-sim sweep c.ini -o part$n.db --recordings part$n.programs >part.out 2>&1
  gemem-sim query part$n.db runs -f csv >clock.csv; check "clock:$n: a sweep goes on, programs included" cmp right.csv clock.csv
  clocked $n $search --database tune$n.db >clock.tune 2>&1; check "clock:$n: a search" cmp right.tune clock.tune
  clocked $n $search --database tune$n.db >clock.tune 2>&1; check "clock:$n: and again from its database" cmp right.tune clock.tune
  GEMEM_FAULT=clock:$n GEMEM_FAULT_PROGRAM=gemem-sim LD_PRELOAD=$library $search --database killed$n.db >/dev/null 2>&1 & pid=$!
  sleep 0.2; kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
  clocked $n $search --database killed$n.db >clock.tune 2>&1; check "clock:$n: and after kill -9" cmp right.tune clock.tune
  clocked $n gemem-sim gate c.gmt --baseline right.ini >clock.gate 2>&1; check "clock:$n: a gate passes" test $? -eq 0
  clocked $n gemem-sim gate c.gmt --baseline clock$n.ini --update >/dev/null 2>&1; check "clock:$n: and writes the same file" cmp right.ini clock$n.ini
done
GEMEM_FAULT=count GEMEM_FAULT_PROGRAM=gemem-sim GEMEM_FAULT_COUNTS=clocks LD_PRELOAD=$library $search --database counted.db >/dev/null
check 'a search reads clocks' test "$(sed -n 's/^clock //p' clocks)" -gt 4

# ---- recordings: the program's status is what counts; the trace is the old one or valid, and where it is the old one the line names the file, the cause and
# the journal, which can be read.
# recorded FAULT STATUS CAUSE COMMAND...
recorded () {
  fault=$1 status=$2 cause=$3; shift 3
  rm -rf out.gmt* v.json; echo old >out.gmt; echo old >v.json
  GEMEM_FAULT_PROGRAM=${in_program:-$1} GEMEM_FAULT=$fault LD_PRELOAD=$library "$@" >"$out" 2>"$err" </dev/null; got=$?
  text="$(cat "$err")" bad=''
  [ $got = "$status" ] || bad="$bad status $got;"
  case $text in *Trace/breakpoint* | *GLib* | *fault*) bad="$bad a crash;" ;; esac
  if grep -qsx old out.gmt; then
    echo "$text" | grep -Eq "^gemem.*: ($cause)" || bad="$bad no cause;"
    journal=${text##*is still in }
    [ "$journal" = "$text" ] || gemem-sim info "$journal" >/dev/null 2>&1 || bad="$bad the journal cannot be read;"
  else
    gemem-sim validate out.gmt >/dev/null 2>&1 || gemem-sim info out.gmt | grep -q 'the end is missing' || bad="$bad out.gmt is not whole;"
  fi
  for left in *tmp-*; do [ ! -e "$left" ] || bad="$bad $left is left;"; done
  check "$fault: $(basename "$1"): $bad" test -z "$bad"
  [ -z "$bad" ] || sed 's/^/# /' "$err"
}
odd=$GEMEM_BUILDDIR/tests/programs/record-odd
if [ -e "$GEMEM_BUILDDIR/tests/dry/.libs/libcuda.so.1" ] && [ -x "$odd" ]; then
  LD_LIBRARY_PATH=$GEMEM_BUILDDIR/tests/dry/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  for at in 0 1 100 300 500; do recorded disk:$at:28 0 '.*/out.gmt: No space left on device;' gemem-record -o out.gmt "$odd" pairs 2; done
  recorded rename:1:5 0 '.*/out.gmt: Input/output error;' gemem-record -o out.gmt "$odd" pairs 2
  recorded read:100:5 0 '.*gmj: Input/output error;' gemem-record -o out.gmt "$odd" pairs 2
  recorded short 0 none gemem-record -o out.gmt "$odd" pairs 2; silent err
  for at in 20 60 120 250 350+; do recorded memory:$at 1 'out of memory: ' gemem-record -o out.gmt "$odd" pairs 2; done
  in_program=record-odd
  recorded short 0 none gemem-record -o out.gmt "$odd" pairs 2; silent err
  gemem-sim info out.gmt >info.txt; check 'the command is whole' grep -q 'program: .*record-odd pairs 2$' info.txt
  recorded disk:0:28 0 none gemem-record -o out.gmt "$odd" pairs 2; says err 'No space left on device; process [0-9]* runs without being recorded'
  recorded disk:65536:28 0 none gemem-record -o out.gmt "$odd" pairs 2; says err 'out.gmt: calls are missing, which could not be recorded; was the disk full\?$'
  recorded map:1 0 none gemem-record -o out.gmt "$odd" pairs 2; says err 'Cannot allocate memory; process [0-9]* runs without being recorded'
  in_program=
  XDG_CACHE_HOME=$PWD/cache; export XDG_CACHE_HOME
  gemem-dry-run -o out.gmt true >/dev/null 2>&1 # fills the cache
  recorded disk:0:28 126 'name another file.*: .*No space left on device' gemem-dry-run -o out.gmt --json v.json true
  GEMEM_FAULT=count GEMEM_FAULT_PROGRAM=gemem-dry-run GEMEM_FAULT_COUNTS=counts LD_PRELOAD=$library gemem-dry-run -o out.gmt --json v.json true >/dev/null 2>&1
  recorded "rename:$(sed -n 's/^rename //p' counts):5" 1 '.*v\.json' gemem-dry-run -o out.gmt --json v.json true
  says err '^gemem-dry-run: .*v.json.*: Input/output error'; check 'the old verdict' grep -qx old v.json
  # the trace itself is the last file that is renamed: without it the command has failed, though the program ended with success
  gemem-dry-run -o out.gmt "$GEMEM_BUILDDIR/tests/programs/dry-memory" runtime >/dev/null 2>&1 # its part of the cache
  GEMEM_FAULT=count GEMEM_FAULT_PROGRAM=gemem-dry-run GEMEM_FAULT_COUNTS=more LD_PRELOAD=$library gemem-dry-run -o out.gmt "$GEMEM_BUILDDIR/tests/programs/dry-memory" runtime >/dev/null 2>&1
  recorded "rename:$(sed -n 's/^rename //p' more):5" 1 '.*/out.gmt: Input/output error;' gemem-dry-run -o out.gmt "$GEMEM_BUILDDIR/tests/programs/dry-memory" runtime
  for at in 100 1000 2000; do recorded memory:$at 1 'out of memory: ' gemem-dry-run -o out.gmt true; done
else
  skip 'recordings' 'the stand-in driver is not built'
fi
done_testing
