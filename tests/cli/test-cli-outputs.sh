#!/bin/sh
# test-cli-outputs.sh - what stands at the place of an output: a link is followed, access rights stay, and a writer that is killed at any moment leaves the
# old file as it was or the new one whole.
# shellcheck disable=SC2154,SC2016,SC2086 # err comes from tap.sh; scripts for sh -c; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

gemem-sim generate random:events=20000,live=200 -o in.gmt
for command in 'replay in.gmt -a direct -f json -o' 'replay in.gmt -a direct -f csv --events' 'replay in.gmt -a ge --map' 'convert in.gmt -f native' 'plan in.gmt -p no-reuse -o' 'generate random:events=1000 -f native -o'; do
  echo old >target; ln -sf target link; chmod 640 target
  run 0 gemem-sim $command link
  check 'the link stays, what it names is new, with the old rights' sh -c \
    'test -L link && ! grep -qx old target && test "$(stat -c %a target)" = 640 && test "$(ls | wc -l)" = 3'
  rm -f link target
done

# What stands at the place of each output of each command: links, also to what is not there, in a row and in a circle, a folder, a pipe, a stream.
cat >small.ops <<'X'
a 1 1048576
a 2 524288
f 1
X
gemem-sim replay small.ops -a direct -f json -o small.json
outputs='replay small.ops -a direct -o
replay small.ops -a direct -f json -o
replay small.ops -a direct --events
replay small.ops -a direct --calls
replay small.ops -a direct --map
replay small.ops -a direct --manifest
replay small.ops -a ge --allocator-report
compare small.ops -a direct -f csv -o
compare small.ops -a direct --html
plan small.ops -p first-fit -f csv -o
plan small.ops -p first-fit --plan
plan small.ops -p first-fit --map
plan small.ops -p first-fit --trace
convert small.ops -f text
convert small.ops -f native -o
generate random:events=90 -o
calibrate -d sim -o'
if ! is_sanitized; then outputs="$outputs
conformance memory_optimize -o
DRY --json"; fi
place () { # STATUS: runs $command on the file "place"
  case $command in DRY*) run "$1" gemem-dry-run -o dry.gmt ${command#DRY } place.txt true ;; *) run "$1" gemem-sim $command place.txt ;; esac
}
failed () { case $command in DRY*) echo 2 ;; *) echo 1 ;; esac; }
while read -r command; do
  rm -rf place.txt target new other
  ln -s target place.txt; place 0
  check "a link to what is not there: $command" sh -c 'test -L place.txt && test -s target && test ! -L target'
  mv target new
  echo old >target; ln -sf "$PWD/target" other; ln -sf other place.txt; place 0
  check 'links in a row' sh -c 'test -L place.txt && test -L other && ! grep -qx old target'
  ln -sf place.txt other; place "$(failed)"; says err 'place.txt: Too many levels of symbolic links; '; check 'links in a circle stay' test -L place.txt
  rm place.txt; mkdir place.txt; place "$(failed)"; says err 'place.txt: Is a directory; '; rmdir place.txt
  mkfifo place.txt; timeout 200 cat place.txt >read & place 0; wait $!
  check 'a pipe' sh -c 'test -p place.txt && test "$(wc -c <read)" -ge 20'
  ln -sf /proc/self/fd/1 place.txt; place 0
  check 'a stream of the program, redirected to a file' sh -c 'test -L place.txt && test "$(wc -c <"$1")" -ge 20' - "$out"
  if [ -e /dev/full ]; then
    ln -sf /dev/full place.txt; place 1; says err 'No space left on device; '
  fi
done <<X
$outputs
X
run 2 gemem-dry-run -o dry.gmt --json ./dry.gmt true; says err '--json=./dry.gmt: the trace is written there \(-o\); name another file'
rm -rf place.txt target new other read small.json small.ops dry.gmt

# Pictures, where links lead.
if command -v gnuplot >/dev/null; then
  mkdir drawn; run 0 gemem-sim replay in.gmt -a direct --plots drawn -q
  for picture in drawn/*.png; do break; done
  echo old >target; ln -sf ../target "$picture"; run 0 gemem-sim replay in.gmt -a direct --plots drawn -q
  check 'a picture is drawn where its link leads' sh -c 'test -L "$1" && ! grep -qx old target' - "$picture"
  rm -rf drawn target
fi

# Killed at a random moment.  The result is the same each time, so that the file is one of two.
run 0 gemem-sim generate random:events=60000,live=200 -o in.gmt
killed () { # COMMAND...: its last word is the file
  for file; do :; done
  run 0 "$@"; cp "$file" new
  bad=
  for i in 1 2 3 4 5 6 7 8; do
    echo old >"$file"
    "$@" >/dev/null 2>&1 & pid=$!
    sleep "0.$(printf %02d $((i * ${GEMEM_KILL_STEP:-2})))"
    kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
    [ "$(head -c 4 "$file")" = old ] || cmp -s new "$file" || bad="$bad $i"
  done
  check "SIGKILL leaves the old file or the new one: $*$bad" test -z "$bad"
  rm -f "$file" "$file".*
}
killed gemem-sim convert in.gmt out.txt
killed gemem-sim convert in.gmt out.gmt
killed gemem-sim replay in.gmt -a direct -f csv --events out.csv
killed gemem-sim generate random:events=60000,live=200 --seed 3 -o out.gmt
killed gemem-sim plan in.gmt -p no-reuse -o out.csv

# A disk that is full at some byte: each of the first blocks of an output.
for blocks in 1 2 3 5 9 40 100; do
  for command in 'convert in.gmt out.txt' 'convert in.gmt out.gmt' 'replay in.gmt -a direct -f csv --events out.csv'; do
    file=${command##* }
    echo old >"$file"
    sh -c "ulimit -f $blocks; exec gemem-sim $command >/dev/null" 2>"$err"; got=$?
    case $got in
      0) ;;
      1) { [ "$(cat "$file")" = old ] && grep -q "^gemem-sim: error: $file: File too large; " "$err" && [ "$(ls "$file"* | wc -l)" = 1 ]; } || got=bad ;;
    esac
    [ $got = 0 ] || [ $got = 1 ]; ok $? "$blocks blocks: $command: $got"
  done
done
for command in 'convert -f native in.gmt' 'replay in.gmt -a direct -f csv --events' 'replay in.gmt -a direct -f json -o'; do
  if [ -e /dev/full ]; then run 1 gemem-sim $command /dev/full; says err '/dev/full: No space left on device; '; fi
done
done_testing
