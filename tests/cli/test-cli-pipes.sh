#!/bin/sh
# test-cli-pipes.sh - inputs that can be read once: pipes as bash's <(command) makes them, FIFOs, /dev/stdin, "-".  Every command reads them like the
# file: the same numbers, the same hash, under the name that was typed; nothing hangs, and nothing is left in $TMPDIR.
# shellcheck disable=SC2154,SC2016,SC2002,SC2086,SC2317 # out and err come from tap.sh; scripts for sh -c; cats make pipes; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# A command that would hang is stopped, and fails.
gemem () { timeout 30 gemem-sim "$@"; }
# through FILE ARGUMENTS...: gemem-sim with FILE as a pipe, which it is to open as /dev/fd/3, as bash's <(cat FILE) is.
through () { file=$1; shift; cat "$file" | { gemem "$@" 3<&0 </dev/null; }; }
# as_pipe STATUS FILE ARGUMENTS...: the arguments, with FILE wherever they say @, by name and as a pipe: the same status and output but for the name.
as_pipe () {
  want=$1 file=$2; shift 2
  set -- "$@" ''
  while [ -n "$1" ]; do word=$1; shift; case $word in @*) set -- "$@" "/dev/fd/3${word#@}" ;; *) set -- "$@" "$word" ;; esac; done; shift
  run "$want" through "$file" "$@"
  sed "s,/dev/fd/3,$file,g" "$out" > piped.out; sed "s,/dev/fd/3,$file,g" "$err" > piped.err
  ln -sf "$PWD/$file" plain
  words=$(printf '%s\n' "$@" | sed "s,^/dev/fd/3,$file,")
  # shellcheck disable=SC2086 # no word of these has a space
  gemem $words > plain.out 2> plain.err
  check "a pipe is read like $file: $1" cmp plain.out piped.out
  check 'and the messages' cmp plain.err piped.err
}

gemem generate random:events=3000,live=60 --seed 5 -o r.gmt
gemem generate random:events=900,live=60 --seed 5 -o r.txt
gzip -c r.txt > z.txt.gz
zstd -q -f r.gmt -o z.gmt.zst 2>/dev/null || cp r.gmt z.gmt.zst
printf 'a 1 1048576\na 2 524288\nf 1\na 3 2097152\nf 2\nf 3\n' > small.ops
printf 'id,lower,upper,size\n0,0,3,4\n1,3,9,4\n2,0,9,4\n' > m.csv
cp "$GEMEM_SRCDIR/tests/data/pytorch/empty-cache-2.15.pickle.gz" s.pickle.gz; gzip -cd s.pickle.gz > s.pickle
cp "$GEMEM_SRCDIR/tests/data/kineto/train-2.15.0.json.gz" k.json.gz
cp "$GEMEM_SRCDIR/tests/data/onnx/mlp.onnx" "$GEMEM_SRCDIR/tests/data/ge/graph.txt" .
gzip -cd "$GEMEM_SRCDIR/graphs/bundled/bert-inference.json.gz" > g.json
mkdir tmp; TMPDIR=$PWD/tmp; export TMPDIR

# ---- every command, every kind of content
for file in r.gmt r.txt z.txt.gz z.gmt.zst small.ops m.csv s.pickle s.pickle.gz k.json.gz g.json mlp.onnx; do
  as_pipe 0 $file info @
  as_pipe 0 $file compare @ -a direct -a pytorch-caching -f csv -j 4
done
for file in r.gmt s.pickle.gz; do
  as_pipe 0 $file validate @
  as_pipe 0 $file replay @ -a ge -f json
  as_pipe 0 $file plan @ -p first-fit -p ge-hybrid -f csv
done
as_pipe 0 g.json validate @
as_pipe 0 g.json plan @ -p ge-hybrid -f csv
as_pipe 0 g.json compare @ -a direct -f csv '--lower=*gc'
as_pipe 0 small.ops plan @ -p first-fit -f json
as_pipe 0 r.gmt compare @ -a direct -a pytorch-caching --find-capacity -f csv
as_pipe 3 m.csv info @ --trace-format=native
as_pipe 2 r.gmt info @ --lower=eager
as_pipe 0 r.gmt convert @ - -f text
check 'the hash of a pipe is that of the file' sh -c \
  "test \"\$(cat z.txt.gz | gemem-sim compare /dev/stdin -a direct -f csv | sed -n '2s/^[^,]*,\([^,]*\),.*/\1/p')\" = \$(sha256sum z.txt.gz | cut -d ' ' -f 1)"

# ---- names, and ways to say standard input
for name in - /dev/stdin /dev/fd/0; do
  said=$(test $name = - && echo 'standard input' || echo $name)
  check "$name, from a pipe" sh -c "cat r.gmt | timeout 30 gemem-sim compare $name -a direct -f csv | grep -q '^$said,'"
  check "$name, from a file" sh -c "timeout 30 gemem-sim compare $name -a direct -f csv < r.gmt | grep -q '^$said,'"
done
check 'what is left of a file that was partly read' sh -c '{ echo x; cat r.txt; } > part; { read -r first; timeout 30 gemem-sim validate -; } < part'
mkfifo pipe other
cat r.gmt > pipe & run 0 gemem compare pipe -a direct -a ge -f csv --manifest m.json; says out '^pipe,'; wait
check 'the manifest does not wait for the pipe' grep -q "trace_sha256.*$(sha256sum r.gmt | cut -d ' ' -f 1)" m.json
run 0 gemem-sim replay r.gmt -a direct --manifest table.json
check 'the manifest has the hash beside a table, too' grep -q "trace_sha256.*$(sha256sum r.gmt | cut -d ' ' -f 1)" table.json
cat r.gmt > pipe & cat r.txt > other & run 0 gemem compare pipe other -a direct -f csv; says out '^other,'; wait
cat g.json > pipe & run 0 gemem info 'pipe#0'; wait
cat g.json > pipe & run 0 gemem plan 'pipe#0' -p first-fit -f csv; says out '^pipe#0,'; wait
cat g.json > pipe & run 3 gemem info 'pipe#1'; wait
cat r.gmt > pipe & run 2 gemem info 'pipe#1'; says err 'pipe#1: no graph, and #1 chooses one of several; leave it out'; wait
check 'one run, drawn' sh -c 'gemem-sim compare r.gmt -a direct -f json | timeout 30 gemem-sim plot - -f csv | grep -q ^r.gmt,'
check 'and compressed' sh -c 'gemem-sim compare r.gmt -a direct -f json | gzip | timeout 30 gemem-sim plot /dev/stdin -f csv | grep -q ^r.gmt,'
gemem plan m.csv -p first-fit --plan solved.json >/dev/null
check 'a plan to check, for what is piped' sh -c 'cat m.csv | { cat solved.json > pipe & timeout 30 gemem-sim plan --check pipe - | grep -q safe; }'
gemem compare r.gmt -a direct -f json > r.json

# ---- given twice
twice () { run 2 sh -c "cat $1 | timeout 30 $2"; says err "$3: given twice, but it can be read once; save it to a file and name that"; }
twice r.gmt 'gemem-sim compare - -' 'standard input'
twice r.gmt 'gemem-sim compare - /dev/stdin' /dev/stdin
twice r.gmt 'gemem-sim info /dev/fd/0 -' 'standard input'
twice r.gmt 'gemem-sim validate - /dev/stdin' /dev/stdin
twice g.json 'gemem-sim plan /dev/stdin /dev/stdin' /dev/stdin
twice m.csv 'gemem-sim plan --check - /dev/stdin' /dev/stdin
twice r.json 'gemem-sim plot - -' 'standard input'
tr -d '\n' < g.json > two.jsonl; echo >> two.jsonl; cat two.jsonl two.jsonl > twice.jsonl
check 'but two graphs of one pipe are two' sh -c 'cat twice.jsonl | timeout 30 gemem-sim plan /dev/stdin#0 /dev/stdin#1 -p first-fit -f csv > two.csv && test $(grep -c "^/dev/stdin#[01]," two.csv) = 2'
for option in '-a plan:file=pipe' '-a direct -d sim:calls=pipe' '-a direct -d sim:profile=./pipe'; do
  # shellcheck disable=SC2086 # words on purpose
  run 2 gemem replay small.ops $option; says err 'pipe: not a regular file'
done

# ---- the temporary file: in $TMPDIR, without a name, gone with the program
check 'nothing is left' test -z "$(ls tmp)"
{ cat r.gmt; sleep 30; } > pipe & writer=$!
gemem-sim info pipe > killed.out 2>&1 & reader=$!
for _ in $(seq 200); do
  held=$(find "/proc/$reader/fd" -lname "$TMPDIR/*" 2>/dev/null)
  [ -z "$held" ] || break
  sleep 0.05
done
check 'it is there, in $TMPDIR' test -n "$held"
check 'it has no name' test -z "$(ls tmp)"
kill -9 $reader; wait $reader 2>/dev/null; kill $writer; wait $writer 2>/dev/null
check 'nothing is left of a program that was killed' test -z "$(ls tmp)"
run 1 sh -c 'cat r.gmt | TMPDIR=/nonexistent gemem-sim info -'
says err '^gemem-sim: error: /nonexistent: No such file or directory; .*set TMPDIR to a folder that can be written'
run 1 sh -c 'ulimit -f 4; cat r.gmt | gemem-sim info -'
says err "^gemem-sim: error: standard input: File too large; .*kept in an unnamed file in $TMPDIR: set TMPDIR to a folder .* or save it to a file"
run 0 sh -c 'ulimit -f 4; TMPDIR=/nonexistent gemem-sim compare - -a direct < r.gmt' # a file needs no copy

done_testing
