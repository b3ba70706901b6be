#!/bin/sh
# test-cli.sh - gemem-sim as a person types it: every command, every exit status, wrong input answered with one line that helps.
# shellcheck disable=SC2154,SC2016 # out and err come from tap.sh; scripts for sh -c
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

printf 'a 1 1048576\na 2 524288\nf 1\na 3 2097152\nf 2\nf 3\n' > small.ops

# ---- success
run 0 gemem-sim --help;               says out '^Commands:'
run 0 gemem-sim --version;            says out '^gemem-sim [0-9]'
run 0 gemem-sim help replay;          says out '^Usage: gemem-sim replay'
run 0 gemem-sim help pytorch-caching; says out 'max_split_size_mb='
run 0 gemem-sim help transformer-train
run 0 gemem-sim help sim;             says out 'capacity=SIZE'
run 0 gemem-sim list;                 says out '^Allocators'; says out '^Formats'
run 0 gemem-sim list allocators --names
check 'list and help agree on every allocator' sh -c 'test $(wc -l <"$1") -gt 30 && for a in $(cat "$1"); do gemem-sim help "$a" >/dev/null || exit 1; done' sh "$out"
check 'list --format=json is JSON' sh -c 'gemem-sim list --format=json | jq -en "input | length > 5"'
check 'it has what a search over a parameter needs' sh -c 'gemem-sim list allocators --format=json | jq -en "input |
  [.[] | .parameters[] | select(.name == \"alignment_size\")][0] | .type == \"size\" and .min == \"256\" and .max == \"1GiB\" and (.values | index(\"64KiB\")) != null"'
check 'every command has a help' sh -c 'for c in replay compare plot info validate convert generate list help version; do gemem-sim $c --help | grep -q "^Usage" || exit 1; done'
run 0 gemem-sim replay -v small.ops -a direct
says out 'peak reserved'; silent err
run 0 gemem-sim compare -v small.ops
check 'compare has a row for every allocator of devices' sh -c 'gemem-sim compare small.ops -f csv | cut -d, -f4 | tail -n +2 | uniq > rows; test -s rows && gemem-sim list allocators --names | grep -vx pytorch-pinned | diff - rows'
check 'and one for what people choose as if it were another' sh -c 'gemem-sim compare -v small.ops | grep -q "^pytorch-expandable "'
check 'compare through all values worth trying' sh -c 'test $(gemem-sim compare small.ops -f csv -a "ge-bins:npu=*" -a "pytorch:max_split_size_mb=*" | wc -l) = 11'
check 'compare through every parameter list' sh -c 'test $(gemem-sim compare small.ops -f csv -a "paddle-auto-growth:chunk_mb=0|64" | wc -l) = 3'
for format in table json csv markdown; do run 0 gemem-sim compare -v small.ops -f $format; done
check 'JSON names its schema' sh -c 'gemem-sim compare small.ops -f json | jq -en "input | .schema == \"gemem-result\" and (.results | length) > 1"'
check 'direct: peak reserved is peak live' sh -c 'gemem-sim replay small.ops -a direct -f csv | tail -1 | grep -q 2621440'
run 0 gemem-sim info small.ops;       says out 'peak live'
check 'info --format=json is JSON' sh -c 'gemem-sim info small.ops --format=json | jq -en "input | .events == 6 and .devices[0].peak_live == 2621440"'
run 0 gemem-sim validate small.ops;   says out 'small.ops: valid'
run 0 gemem-sim convert small.ops small.gmt
run 0 gemem-sim convert small.gmt small.txt
run 0 gemem-sim convert small.txt again.gmt
run 0 gemem-sim convert small.gmt noted.txt --note 'model=a b' --note host=x;  check 'notes are kept' grep -q 'model: a b' noted.txt
run 2 gemem-sim convert small.gmt noted.txt --note model; says err 'not KEY=VALUE'
check 'native and text hold the same events' sh -c 'for f in small.gmt small.txt again.gmt; do gemem-sim convert $f - -f text | grep -v "^#" > $f.events; done; test -s small.gmt.events && cmp small.gmt.events again.gmt.events && cmp small.gmt.events small.txt.events'
check 'a trace on standard input' sh -c 'gemem-sim replay - -a direct -f csv < small.ops > a.csv && gemem-sim replay small.ops -a direct -f csv > b.csv && diff a.csv b.csv | grep -c . | grep -qx 4'
run 0 gemem-sim generate random:events=1000,live=50 --seed 3 -o random.gmt
run 0 gemem-sim generate transformer-train:layers=2,width=64,sequence=32,iterations=2
check 'same seed, same file' sh -c 'gemem-sim generate random:events=1000,live=50 --seed 3 -o random2.gmt && cmp random.gmt random2.gmt'
check 'another seed, another file' sh -c 'gemem-sim generate random:events=1000,live=50 --seed 4 -o random3.gmt && ! cmp -s random.gmt random3.gmt'
run 0 gemem-sim replay random.gmt -a pytorch-caching --events events.csv
# Standard output may be a file: what is written there must not take the place of the name /dev/stdout, nor the place of what was there.
for option in --events --calls --output; do
  for name in - /dev/stdout; do
    check "$option $name into a file" sh -c "{ echo before; gemem-sim replay small.ops -a direct $option $name -f csv; echo after; } >into.txt \
      && head -n 1 into.txt | grep -qx before && tail -n 1 into.txt | grep -qx after && grep -Eq \"^(seq|trace),\" into.txt && test -L /dev/stdout"
  done
done
check 'a trace to /dev/stdout as a file' sh -c 'gemem-sim convert small.ops /dev/stdout -f text >into.txt && grep -q "^alloc 1" into.txt && test -L /dev/stdout'
check 'events to standard output' sh -c 'gemem-sim replay small.ops -a direct --events - -o report.txt | head -1 | grep -qx "seq,kind,id,size,address,block,reserved,device" && test ! -e ./-'
check 'events: header and a row for each event' sh -c 'head -1 events.csv | grep -qx "seq,kind,id,size,address,block,reserved,device" && test $(wc -l < events.csv) -gt 1000'
run 0 gemem-sim compare -v random.gmt --plots plots
check 'plots: data and script' sh -c 'ls plots/*.dat plots/*.gp'
run 0 gemem-sim compare random.gmt -f json -o saved.json
run 0 gemem-sim plot saved.json -o drawn
run 0 gemem-sim replay random.gmt -a pytorch-caching --map map.txt --manifest manifest.json
check 'manifest is JSON with arguments' jq -e '.arguments | index("random.gmt")' manifest.json
run 0 gemem-sim replay -v random.gmt -a pytorch-caching --map map.svg
check 'allocator report to standard output' sh -c 'gemem-sim replay small.ops -a ge-scalable --allocator-report - -o report.txt | grep -qx "Device memory   : .*"'
run 0 gemem-sim compare -v small.ops -a direct -a ge-scalable --allocator-report state.txt; says err 'note: direct has no report of its own'
check 'several allocator reports have names' sh -c 'head -1 state.txt | grep -qx "# small.ops, ge-scalable"'
run 0 gemem-sim replay -v random.gmt -a direct --find-capacity; says out 'least capacity'
run 0 env COLUMNS=80 gemem-sim compare -v random.gmt --find-capacity; says out 'least capacity'
run 0 gemem-sim replay -v random.gmt -a ge-scalable --repeat 3; says out '^epoch'
run 0 gemem-sim replay -v random.gmt -a paddle-buddy --check
run 0 gemem-sim compare -v random.gmt -a direct -a ge-expandable --check-release-order
run 1 gemem-sim replay random.gmt -a direct -d sim:free_synchronises=no --check-release-order
says err 'random.gmt: allocator direct: event [0-9]*: free of 0x.* while stream [0-9]* has unfinished work there'
run 0 gemem-sim replay -v random.gmt -a direct -d sim:free_synchronises=no
# the man pages: one of gemem-sim, one a command, which is no longer than two screens, one a kind
mkdir pages; run 0 gemem-sim help --man-pages pages
check 'the man pages have no troff errors' sh -c 'command -v man >/dev/null || exit 0; for page in pages/*; do man --warnings -l -Tutf8 "$page" 2>&1 >/dev/null; done | tee errors; test ! -s errors'
check 'none of a command has more than 150 lines' sh -c 'command -v man >/dev/null || exit 0; for page in pages/*.1; do n=$(MANWIDTH=80 man -l -Tutf8 "$page" | wc -l); test "$n" -le 150 || { echo "$page: $n"; exit 1; }; done'
check 'each command has one, which the first names' sh -c 'for c in $(gemem-sim help | sed -n "s/^  \([a-z]*\) .*/\1/p"); do test -s pages/gemem-sim-$c.1 && grep -qx "\.B $c" pages/gemem-sim.1 || { echo $c; exit 1; }; done'
check 'all that it names are there' sh -c 'for p in $(sed -n "/^.SH REFERENCE/,/^.PP/s/\\\\f[BR]//gp" pages/gemem-sim.1 | tr -d "\\\\," | grep -o "gemem-[a-z]*(7)"); do echo $p; test -s "pages/${p%(7)}.7" || exit 1; done | tee named; test $(wc -l <named) -ge 10'
run 0 gemem-sim help --man compare; says out '^\.TH GEMEM.*COMPARE 1'; run 0 gemem-sim help --man allocators; says out '^\.SS pytorch'
run 2 gemem-sim help --man max_split_size_mb; says err "'max_split_size_mb' has no man page of its own; 'gemem-sim help max_split_size_mb' explains it"
run 1 gemem-sim help --man-pages nowhere; says err 'nowhere/gemem-sim.1'
check 'the completion is valid bash' sh -c 'gemem-sim help --bash-completion > c.bash && bash -n c.bash'
check 'the completion completes commands' bash -c '. ./c.bash; COMP_LINE="gemem-sim comp" COMP_POINT=14 COMP_WORDS=(gemem-sim comp) COMP_CWORD=1; _gemem_sim 2>/dev/null; test "${COMPREPLY[0]}" = compare'
check 'the completion completes allocators' bash -c '. ./c.bash; COMP_LINE="gemem-sim replay -a pyt" COMP_POINT=23 COMP_WORDS=(gemem-sim replay -a pyt) COMP_CWORD=3; _gemem_sim 2>/dev/null; test "${COMPREPLY[0]}" = pytorch-caching'

# ---- tables: the answer, and nothing that looks like one
for ending in json csv md; do run 0 gemem-sim compare small.ops -a direct -a ge-bins -o "named.$ending"; silent out; done
check 'the name of the output chooses the format' sh -c 'jq -e ".results | length == 2" named.json && head -n 1 named.csv | grep -q "^trace,trace_sha256," && head -n 1 named.m? | grep -qx "### small.ops"'
run 0 gemem-sim compare small.ops -a direct -o named.json -f csv;  check 'what -f says counts more' sh -c 'head -n 1 named.json | grep -q "^trace,"'
run 0 gemem-sim replay small.ops -a direct -o named.json;          check 'replay too' jq -e '.results[0].measures.peak_live == 2621440' named.json
run 0 gemem-sim compare -v small.ops -d sim:capacity=2304KiB -a ge-bins -a direct -a plan -a pytorch-caching
says out '^ge-bins .*  -  .*  \(failed\)$'
check 'what failed stands last and is not the answer' sh -c 'gemem-sim compare -v small.ops -d sim:capacity=21MiB -a "ge:as-built=no" -a ge-rdma -a direct -a pytorch-caching >t.txt; sed -n "3,\$p" t.txt | sed "/^$/,\$d" | tail -n 1 | grep -q "(failed)$" && tail -n 1 t.txt | grep -vq "^ge-rdma"'
run 0 gemem-sim compare -v random.gmt;  says out '^[a-z-]* .*needs least of the [0-9]* real allocators.*: [0-9.]* [KMG]iB, .*less than the next, [a-z-]*[^;]*\.$'
check 'the sentence is the last line' sh -c 'gemem-sim compare -v random.gmt | tail -n 1 | grep -q "needs least of the .*\.$"'
check 'guesses are noted once' sh -c 'test "$(gemem-sim compare -v random.gmt small.ops random2.gmt | grep -c "of them guesses")" = 1'
run 0 gemem-sim compare -v small.ops -a ge-scalable -a ge-streams;       says out '^ge-scalable = ge-streams '
run 0 gemem-sim compare -v small.ops -a ge-scalable -a ge-streams --all; says out '^ge-streams '
run 0 gemem-sim plan "$GEMEM_SRCDIR/graphs/bundled/bert-inference.json.gz" -p first-fit-by-size --no-time -o plan.csv;  check 'plan too' sh -c 'head -n 1 plan.csv | grep -q ,'
check 'the best first' sh -c 'gemem-sim compare -v random.gmt -a direct -a pytorch-caching --sort modelled-time | sed -n 4p | grep -q "^pytorch-caching "'
check 'the worst first' sh -c 'gemem-sim compare -v random.gmt -a direct -a pytorch-caching --sort=-modelled-time | sed -n 4p | grep -q "^direct "'
check 'chosen columns, in their order' sh -c 'gemem-sim compare -v random.gmt -a direct --columns calls,overhead,retries | sed -n 3p | grep -Eq "^allocator +device calls +overhead +retries$"'
run 2 gemem-sim compare small.ops --columns overhed;  says err "columns=overhed: unknown measure 'overhed'; did you mean 'overhead'"
run 2 gemem-sim compare small.ops --sort peak_reservd; says err "sort=peak_reservd: unknown measure 'peak_reservd'; did you mean 'peak_reserved'"
run 0 gemem-sim plot named.json -f table --columns peak_live; says out '^direct +2.500 MiB$'
run 0 gemem-sim help measures;  says out '^  overhead \("overhead"\)$'
gemem-sim compare small.ops -a direct -f csv | head -n 1 | tr , '\n' | sed 1,9d >columns
check 'every measure is defined, once in the help and once in the man page' sh -c 'gemem-sim help --man measures | tr -d "\\\\" >m.1; test $(wc -l <columns) -gt 20 || exit
  for m in $(cat columns); do
    test "$(gemem-sim help measures | grep -c "^  $m (")" = 1 && test "$(grep -c "^fB${m}fR (" m.1)" = 1 || { echo "$m"; exit 1; }
  done'
run 0 gemem-sim help overhead;  says out 'Peak reserved divided by the lower bound'
run 2 gemem-sim help mesures;   says err "did you mean 'measures'"
check 'a plan is not all waste where live memory is largest' sh -c 'gemem-sim compare random.gmt -a plan -f json | jq -en "input | .results[0] | .measures.external_at_live_peak < .measures.peak_reserved / 4 and .values.peak_reserved_seq < .values.peak_live_seq"'
check 'host memory has no device number' sh -c 'gemem-sim compare "$GEMEM_SRCDIR/tests/data/kineto/host-2.15.0.json.gz" -a direct -f csv | tail -n 1 | cut -d, -f3 | grep -qx ""'

# ---- 2: usage, with a suggestion where there is one
run 2 gemem-sim
run 2 gemem-sim -d rtx4090 replay small.ops;          says err '^gemem-sim: error: -d stands before the command; write gemem-sim replay -d \.\.\.$'
run 2 gemem-sim replay small.ops --gpu rtx4090;       says err 'unknown option --gpu; did you mean --device'
run 2 gemem-sim --colour;                             says err "unknown option '--colour'"
cp small.ops -- -small.ops; run 3 gemem-sim -- -small.ops; says out '^-small\.ops: ops'
run 2 gemem-sim snapshot;                             says err "unknown command 'snapshot', and no such file"
run 2 gemem-sim replya small.ops;                     says err "unknown command 'replya'; did you mean 'replay'"
run 2 gemem-sim replay;                               says err 'TRACE... is missing'
run 2 gemem-sim replay small.ops other.ops -a direct; says err "too many arguments, from 'other.ops'"
run 2 gemem-sim replay small.ops --alocator=direct;   says err 'did you mean --allocator'
run 0 gemem-sim replay small.ops;                     says err 'note: small.ops does not say which allocator recorded it: pytorch-caching is assumed; -a NAME'
printf '# another-pool capacity=1024\na 1 5 -> 0x1000 size=256 reserved=256\n' > other.ops
run 2 gemem-sim replay other.ops;                     says err "recorded with 'another-pool'"
run 2 gemem-sim replay small.ops -a pytorch-cacheing; says err "did you mean 'pytorch-caching'"
run 2 gemem-sim replay small.ops -a pytorch-caching:max_split_size=3; says err 'max_split_size_mb'
run 2 gemem-sim replay small.ops -a pytorch-caching:max_split_size_mb=abc; says err 'max_split_size_mb'
run 2 gemem-sim replay small.ops -a 'nothing-*'
run 2 gemem-sim replay small.ops -a direct -d sim:capacity=12XB; says err 'capacity'
run 2 gemem-sim replay small.ops -a direct -d sim:capcity=1GiB;  says err 'capacity'
run 2 gemem-sim replay small.ops -a direct -d sym;    says err "did you mean 'sim'"
run 2 gemem-sim replay small.ops -a direct -d sim:profile=nosuch; says err 'nosuch'
run 2 gemem-sim compare small.ops -f jsn;             says err "did you mean 'json'"
run 2 gemem-sim compare small.ops --jobs=-1;          says err 'jobs=-1'
run 2 gemem-sim compare small.ops --jobs=many;        says err 'jobs=many: not a whole number'
run 0 gemem-sim compare -v small.ops -j1 -fcsv -adirect; says out 'small.ops'
run 2 gemem-sim generate randm;                       says err "did you mean 'random'"
run 2 gemem-sim generate random:size_min=2GiB;        says err 'size_min'
run 2 gemem-sim generate random --seed x;             says err 'seed'
run 2 gemem-sim list alocators;                       says err 'allocator'
run 2 gemem-sim help pytorsh;                         says err 'no help on'
run 2 gemem-sim convert small.ops out.unknown;        says err 'out.unknown'
run 2 gemem-sim replay small.ops -a direct --trace-format=pickel
run 2 gemem-sim replay small.ops -a direct --trace-device=x; says err 'trace-device=x'
run 2 gemem-sim compare small.ops --plot-terminal=pie;       says err 'pie'

# ---- 1: the system refused
run 1 gemem-sim replay missing.ops -a direct;         says err 'missing.ops: No such file'
run 1 gemem-sim replay . -a direct;                   says err 'directory'
run 1 gemem-sim replay small.ops -a direct -o nodir/x.json; says err 'nodir/x.json'
run 1 gemem-sim replay random.gmt -a direct --events nodir/e.csv; says err 'nodir/e.csv'
run 1 gemem-sim convert small.ops nodir/x.gmt;        says err 'nodir/x.gmt'
if [ -w /dev/full ]; then
  run 1 sh -c 'gemem-sim compare -v small.ops > /dev/full';       says err 'No space left'
  run 1 gemem-sim compare small.ops -o /dev/full;              says err '/dev/full: No space left'
  run 1 gemem-sim replay random.gmt -a direct --events /dev/full; says err '/dev/full'
  run 1 gemem-sim convert random.gmt /dev/full -f native;      says err '/dev/full'
else
  skip 'full disk' 'no /dev/full here'
fi

# ---- 3: bad or partial input
: > empty
run 3 gemem-sim replay -v empty -a direct;               says err '^gemem-sim: error: empty'
printf '\001\002\003\377noise' > noise
run 3 gemem-sim info noise;                           says err 'noise'
head -c 300 random.gmt > cut.gmt
run 3 gemem-sim replay -v cut.gmt -a direct;             says err 'cut.gmt'
run 3 gemem-sim validate cut.gmt
printf 'a 1 100\na 1 100\nf 1\nf 9\n' > bad.ops
run 3 gemem-sim validate bad.ops;                     says out 'event 1: error: double alloc'; says out 'event 3: error: orphan free'
run 3 gemem-sim replay -v bad.ops -a direct;             says err 'bad.ops'
printf 'a 1 -5\n' > negative.ops
run 3 gemem-sim info negative.ops;                    says err 'negative.ops:1'
printf 'a 1 99999999999999999999999\n' > enormous.ops
run 3 gemem-sim info enormous.ops;                    says err 'enormous.ops:1'
printf '{"schema": "other"}' > other.json
run 3 gemem-sim plot other.json;                      says err 'other.json'
check 'nothing half-written is left behind' sh -c 'test -z "$(ls | grep -E "XXXXXX|tmp|\.part")"'
head -c 3000 random.gmt > part.gmt
run 3 gemem-sim replay -v part.gmt -a direct

# ---- 4: out of memory, when asked
run 0 gemem-sim replay -v small.ops -a direct -d sim:capacity=2MiB;  says out 'failed'
run 4 gemem-sim replay -v small.ops -a direct -d sim:capacity=2MiB --fail-on-oom; says out 'true: no layout'
run 4 gemem-sim compare -v small.ops -d sim:capacity=2MiB --fail-on-oom

# ---- 77: a device that is not here
run 77 gemem-sim replay small.ops -a direct -d cuda:0; says err 'cuda'

done_testing
