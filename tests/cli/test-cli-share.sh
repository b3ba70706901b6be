#!/bin/sh
# test-cli-share.sh - --share-device: several traces and allocators on one simulated device, to the byte.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

cat >train.txt <<'END'
# gemem-trace: 1
# flags: has-time
alloc 1 size=6MiB t=0
alloc 2 size=4MiB t=20
free 2 t=30
alloc 3 size=8MiB t=50
free 3 t=60
free 1 t=70
# end: 6
END
cat >serve.txt <<'END'
# gemem-trace: 1
# flags: has-time
alloc 1 size=5MiB t=10
free 1 t=40
alloc 2 size=3MiB t=50
free 2 t=80
# end: 4
END
sed 's/ t=[0-9]*//; /flags/d' train.txt >untimed.txt
share () { gemem-sim replay --share-device train.txt serve.txt "$@"; }
# value NAME [PROGRAM]: a number of the JSON just written; of all programs, or of one (0, 1).
value () { python3 -c 'import json,sys
r = json.load(open("r.json"))["results"][0]
if len(sys.argv) > 2: r = r["programs"][int(sys.argv[2])]
print(r["values"][sys.argv[1]])' "$@"; }
is () { want=$1; shift; check "$* is $want" test "$(value "$@")" = "$want"; }
MiB=1048576

# ---- peaks: by time the events are 6+5+4 = 15 at time 20, then 6+8+3 = 17 at time 50
run 0 share -a direct -d sim:capacity=17MiB -o r.json
is $((17 * MiB)) peak_reserved; is $((17 * MiB)) lower_bound; is $((14 * MiB)) peak_reserved 0; is $((5 * MiB)) peak_reserved 1
is 0 ooms; is 10 events; is 6 events 0; is 6 peak_reserved_seq; is 0 end_reserved
run 0 share -a direct -d sim:capacity=17MiB --find-capacity; says out 'least capacity +17.00 MiB'
run 0 share -a direct -d sim:capacity=17MiB
says out '^train.txt \+ serve.txt through direct \+ direct on sim:capacity=17MiB'
says out '2 programs share the device; their events follow one another by time'
says out '^  train.txt: direct +14.00 MiB'; says out '^  serve.txt: direct +5.000 MiB'; says out '^  together +17.00 MiB'

# ---- one byte less: serve.txt, whose event is the later one at time 50, runs out
run 4 share -a direct -d "sim:capacity=$((17 * MiB - 1))B" --fail-on-oom -o r.json
is 1 ooms; is 0 ooms 0; is 1 ooms 1
check 'the failure has a row for each program' python3 -c 'import json
rows = json.load(open("r.json"))["results"][0]["shares"]
MiB = 1 << 20
assert rows == [{"seq": 6, "event": 2, "failed": 1, "program": 0, "live": 14 * MiB, "allocated": 14 * MiB, "reserved": 14 * MiB},
                {"seq": 6, "event": 2, "failed": 1, "program": 1, "live": 0, "allocated": 0, "reserved": 0}], rows'
run 0 share -a direct -d "sim:capacity=$((17 * MiB - 1))B"
says out '^  serve.txt ran out at its event 2: 3.000 MiB asked for, 3.000 MiB free$'
says out '^    train.txt: direct held 14.00 MiB, of it 14.00 MiB allocated, 14.00 MiB live$'
# ---- what one caches the other cannot have: train's cache of 20 MiB segments
run 0 share -a pytorch-caching -a direct -d sim:capacity=22MiB
says out '^    train.txt: pytorch-caching held 20.00 MiB, of it 6.000 MiB allocated, 6.000 MiB live$'
says out '^    14.00 MiB held by others was in no block: it would have been enough'
# ---- at the live peak of both together (time 50: 6, 8 and 3 MiB live): a segment of 20 MiB each, and 17 MiB of the second are free
run 0 share -a pytorch-caching -a pytorch-caching -d sim:capacity=1GiB -o r.json
is $((17 * MiB)) allocated_at_live_peak; is $((40 * MiB)) reserved_at_live_peak; is $((17 * MiB)) largest_free_at_live_peak
run 0 share -a pytorch-caching -d sim:capacity=1GiB -o r.json
check 'the devices of all have one capacity' python3 -c 'import json
r = json.load(open("r.json"))["results"][0]
assert [p["values"]["capacity"] for p in [r] + r["programs"]] == [1 << 30] * 3'

# ---- an allocator that did not begin: no request is avoidable, and none is said to have run out
run 0 gemem-sim replay -v serve.txt -a rmm-pool:initial_pool_size=2GiB -d sim:capacity=1GiB
says out '^failed requests: 2, avoidable: 0$'; says out '^  none was served, as the allocator did not begin .NOT ALLOWED, above.$'
run 0 gemem-sim compare serve.txt -a rmm-pool:initial_pool_size=2GiB -a rmm-cuda-async:initial_pool_size=2GiB -a rmm-arena:arena_size=2GiB -a rmm-fixed-size:block_size=1GiB -d sim:capacity=1GiB -f csv --columns ooms,ooms_avoidable
check 'of no resource of RMM' test "$(grep -c ',2,0,*$' "$out")" = 4
run 0 share -a direct -a rmm-pool:initial_pool_size=2GiB -d sim:capacity=1GiB
says out '^  serve.txt was not served at its event 0: its allocator did not begin'

# ---- orders: in turn long.txt has freed 1 MiB and asks for 10 when short.txt has ended; evenly short.txt still has its 10
printf '# gemem-trace: 1\nalloc 1 size=1MiB\nfree 1\nalloc 1 size=10MiB\nfree 1\n# end: 4\n' >long.txt
printf '# gemem-trace: 1\nalloc 1 size=10MiB\nfree 1\n# end: 2\n' >short.txt
run 0 gemem-sim replay --share-device long.txt short.txt -a direct --share-order=turns -o r.json; is $((11 * MiB)) peak_reserved
run 0 gemem-sim replay --share-device long.txt short.txt -a direct --share-order=evenly -o r.json; is $((20 * MiB)) peak_reserved; is 3 peak_reserved_seq
run 0 gemem-sim replay --share-device short.txt long.txt -a direct -o r.json; is $((11 * MiB)) peak_reserved
run 0 gemem-sim replay -v --share-device train.txt serve.txt -a direct --share-order=evenly; says out 'evenly, so that all begin and end together'
run 0 gemem-sim replay -v --share-device untimed.txt serve.txt -a direct; says out 'follow one another evenly'
run 2 gemem-sim replay --share-device untimed.txt serve.txt -a direct --share-order=time; says err '^gemem-sim: error: --share-order=time: untimed.txt has no times; use evenly or turns$'
run 0 gemem-sim replay --share-device train.txt serve.txt untimed.txt -a direct -o r.json; is 16 events; is $((14 * MiB)) peak_live 2

# ---- every combination; the same with any number of threads
run 0 gemem-sim compare -v --share-device train.txt serve.txt -a direct -a pytorch-caching -d sim:capacity=1GiB
says out '^direct \+ direct +17.00 MiB'; says out '^direct \+ pytorch-caching +'; says out '^pytorch-caching \+ direct +'; says out '^  together +17.00 MiB'
says out 'pytorch-caching \+ pytorch-caching is the only combination of real allocators here: it needs 40.00 MiB'
for jobs in 1 4; do run 0 gemem-sim compare --share-device train.txt serve.txt -a direct -a 'pytorch-caching:max_split_size_mb=*' -j $jobs -o "j$jobs.json"; done
check 'threads change nothing' cmp j1.json j4.json
run 0 gemem-sim compare --share-device train.txt serve.txt -a direct -f csv
says out ',program$'; says out '^train.txt \+ serve.txt,,0,direct \+ direct,.*,0$'; says out '^serve.txt,.*,2$'
run 0 gemem-sim compare -v --share-device train.txt serve.txt -a direct -f markdown; says out '^\| together \| 17.00 MiB'
run 0 gemem-sim plot j1.json -f csv --columns peak_reserved; says out '^train.txt,.*,14680064,1$'
run 0 gemem-sim replay --share-device train.txt serve.txt -a direct -d 'sim:capacity=17MiB|1GiB' -f csv; says out ',direct \+ direct \(capacity=17MiB\),'
run 0 share -a direct --plots plots --manifest m.json --sqlite x.sqlite --check --check-release-order --measure
check 'a picture of the programs' test -s plots/programs-train.txt-serve.gp
check 'of all of them' sh -c '! grep -q "the first" plots/programs-train.txt-serve.gp'
run 0 gemem-sim compare -v --share-device train.txt serve.txt -a direct -a tf-bfc -a rmm-pool --plots many -d sim:capacity=1GiB
check 'of nine combinations eight are drawn, and the picture says so' grep -q 'programs on one device, the first 8 of 9 runs' many/programs-train.txt-serve.gp
{ echo '# gemem-trace: 1'; for i in $(seq 150); do echo "alloc $i size=2GiB"; done; echo '# end: 150'; } >fails.txt
run 0 gemem-sim replay -v --share-device fails.txt untimed.txt -a direct -d sim:capacity=1GiB --plots failing
for picture in programs-fails.txt-untimed timeline-fails.txt-untimed; do check "$picture says that not all failures are marked" grep -q '150 failed, the first 100 marked' "failing/$picture.gp"; done
check 'the manifest has both traces' test "$(grep -c '"trace": ' m.json)" = 2

# ---- mistakes
no () { run 2 "$@"; check 'one line' test "$(wc -l <"$err")" = 1; }
no gemem-sim replay --share-device train.txt -a direct; says err 'one trace has nothing to share its device with'
no gemem-sim replay train.txt serve.txt -a direct; says err "too many arguments, from 'serve.txt' on"
no share -a direct -a direct -a direct; says err '3 allocators for 2 traces; give one -a for all, or one for each'
no share -a direct --share-order=fair; says err 'share-order=fair: unknown order; choose time, evenly or turns'
no gemem-sim replay train.txt -a direct --share-order=time; says err 'nothing is shared; add --share-device'
no share -a direct -d null; says err 'device null: several programs can share only the simulated device'
no share -a direct -d cuda:0; says err '^gemem-sim: error: -d cuda:0: programs can share only the simulated device'
for option in --repeat=2 --warm-up=1 --host-threads=2 --map=m --events=e --calls=c --occupy --touch; do
  no share -a direct "$option"; says err "^gemem-sim: error: ${option%=*} and --share-device exclude each other"
done
no gemem-sim compare --share-device train.txt serve.txt; says err 'every combination of allocators; choose them with -a'
no share -a direct:capacity=1GiB -a direct:capacity=2GiB; says err 'share devices of .* bytes; say how large the one device is'
sed 's/^alloc 2/alloc 2 device=1/; s/^free 2/free 2 device=1/' serve.txt >two.txt
no gemem-sim replay --share-device train.txt two.txt -a direct; says err 'two.txt has 2 devices; choose the one that is shared with --trace-device=N'
printf '# gemem-trace: 1\n# flags: has-time\nalloc 1 size=1MiB t=1\nfree 7 t=2\n# end: 2\n' >bad.txt
run 3 gemem-sim replay -v --share-device train.txt bad.txt -a direct; says err 'bad.txt:event 1: id 7 is freed but is not alive'
run 3 gemem-sim replay --share-device train.txt bad.txt -a direct --allow-partial -o r.json; is 6 events 0
done_testing
