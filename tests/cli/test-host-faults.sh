#!/bin/sh
# test-host-faults.sh - the host fails (tests/fault/host-faults.c): no memory at the n-th request, a full or damaged disk at the n-th byte, calls that fail or move
# one byte at a time. Every kind of output is the old or the new one, and one line says what failed. long-host-faults.sh has every n.
# shellcheck disable=SC2086,SC2154 # kinds are words; err comes from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

library=$GEMEM_BUILDDIR/tests/fault/.libs/host-faults.so
python=$(command -v python3) || { skip 'faults' 'there is no python3'; done_testing; }
if grep -q '^SANITIZER_FLAGS = .\|-fsanitize' "$GEMEM_BUILDDIR/Makefile"; then
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
cp "$GEMEM_SRCDIR/graphs/bundled/resnet50-inference.json.gz" graph.json.gz
{ echo '# gemem-trace: 1'
  for i in 1 2 3 4 5 6 7 8 9; do echo "alloc $i size=${i}000 device=$((i % 2))"; done
  echo '# end: 9'; } >two.txt
gemem-sim compare s.gmt -a direct -a ge-bins -f json -o results.json
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
swept short disk damaged open close rename read memory memory+ <<'END'
o.txt: gemem-sim convert ../s.gmt o.txt
o.gmt: gemem-sim convert ../s.txt.gz o.gmt
: gemem-sim convert ../s.txt.zst - -f native
o.csv e.csv c.csv m.svg: gemem-sim replay ../s.gmt -a ge-bins -o o.csv --events e.csv --calls c.csv --map m.svg
p.json m.svg t.gmt: gemem-sim plan ../s.gmt -p first-fit --plan p.json --map m.svg --trace t.gmt --no-time
several e.csv c.csv: gemem-sim replay ../two.txt -j 1 -a direct --events e.csv --calls c.csv
END
# Several runs: one that cannot read its input is a row of the others' report.
swept short disk damaged close rename memory <<'END'
several o.md m.txt g.txt man.json: gemem-sim compare ../s.gmt ../other.gmt -j 1 -a direct -a ge -o o.md --map m.txt --allocator-report g.txt --manifest man.json
several o.json r.db: gemem-sim compare ../s.gmt -j 1 -a direct -a ge-bins -o o.json --sqlite r.db
q.csv o.json: gemem-sim plan ../s.gmt -p first-fit --plan q.csv -o o.json --no-time
END
swept disk memory <<'END'
g.json: gemem-sim convert ../graph.json.gz g.json
g.gmt: gemem-sim generate random:events=60,live=10 -o g.gmt
c.ini: gemem-sim calibrate -d sim --repeats 2 -o c.ini
c.md: gemem-sim conformance memory_optimize -o c.md
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

done_testing
