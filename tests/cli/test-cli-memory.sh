#!/bin/sh
# test-cli-memory.sh - a host without memory: under any limit every command either does its work or ends with one line and status 1, never with
# a trap, and nothing half-written stays behind.  Planners say beforehand what they lack.
# shellcheck disable=SC2154,SC2016,SC2086,SC3045 # err comes from tap.sh; scripts for sh -c; words on purpose; ulimit -v is everywhere
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

if is_sanitized; then
  skip 'limits of memory' 'a sanitizer wants terabytes of addresses'
  done_testing
fi

run 0 gemem-sim generate random:events=3000000,live=2000 -o big.gmt
run 0 gemem-sim generate random:events=100000,live=20000 -o small.gmt
run 0 gemem-sim generate random:events=100,live=20 -o tiny.gmt
run 0 gemem-sim convert small.gmt small.txt
gzip -k small.txt
run 0 gemem-sim compare small.gmt -a direct -a ge-bins -f json -o kept.json

# limited KIB COMMAND...: 0, or 1 with one line that says what to do; no file but those that were asked for, and no old one harmed.
limited () {
  limit=$1; shift
  cp kept.json old.json
  ls >.before
  sh -c 'ulimit -c 0; ulimit -v "$0"; exec "$@"' "$limit" "$@" >"$out" 2>"$err" </dev/null; got=$?
  case $got in
    0) ;;
    1) grep -v '^gemem-sim: note: ' "$err" >.errors
       { [ "$(wc -l <.errors)" = 1 ] && grep -q '^gemem-sim: error: .*; ' .errors; } || got=text
       { cmp -s kept.json old.json && ls >.after && cmp -s .before .after; } || got="$got, files" ;;
  esac
  [ "$got" = 0 ] || [ "$got" = 1 ] || { bad="$bad $limit:$got"; sed 's/^/# /' "$err"; }
  rm -f new.*
}
# swept FROM TO STEP COMMAND...: at every limit between.
swept () {
  from=$1 to=$2 step=$3 bad=''; shift 3
  for kib in $(seq "$from" "$step" "$to"); do limited "$kib" "$@"; done
  check "from $from to $to KiB of memory: $*$bad" test -z "$bad"
}

# The program itself with its libraries takes some 20 MB of addresses; the loader's own failures lie below that.
bare=20000
while ! sh -c "ulimit -v $bare; exec gemem-sim version" >/dev/null 2>&1 && [ $bare -lt 400000 ]; do bare=$((bare + 1000)); done
step=${GEMEM_MEMORY_STEP:-1501}
swept $bare $((bare + 9 * step)) $step gemem-sim replay small.gmt -a pytorch-caching -f json -o old.json --events new.csv
swept $bare $((bare + 9 * step)) $step gemem-sim compare small.txt.gz -a 'ge*' -a 'paddle*' -j 4 -f json -o old.json
swept $bare $((bare + 9 * step)) $step gemem-sim info small.txt
swept $bare $((bare + 9 * step)) $step gemem-sim convert small.txt.gz new.gmt
swept $bare $((bare + 9 * step)) $step gemem-sim plan small.gmt -p first-fit -o new.plan
# gnuplot inherits the limit and may fail in any way: the wait for it ends, and no part of a picture stays.
mkdir pictures
swept $bare $((bare + 30000)) 4999 timeout -k 5 60 gemem-sim plan tiny.gmt -p first-fit --plots pictures
check 'no part of a picture stays' sh -c '! ls -A pictures | grep "^\.part"'

run 1 sh -c 'ulimit -v 200000; exec gemem-sim plan big.gmt -o new.plan'
says err '^gemem-sim: error: .*planning 1[0-9]* items takes about .* of the host.s memory; raise the limit, or plan a part'
check 'nothing is left' sh -c '! ls | grep new'
done_testing
