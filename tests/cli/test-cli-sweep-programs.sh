#!/bin/sh
# test-cli-sweep-programs.sh - programs in a sweep: run once under gemem-dry-run, whoever needs them and however often; what fails, what is interrupted.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
if is_sanitized; then echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0; fi
gemem-sim version | grep -q 'SQLite yes' || { skip 'programs in a sweep' 'built without SQLite'; done_testing; }
memory=$GEMEM_BUILDDIR/tests/programs/dry-memory
ask () { gemem-sim query "$1" "$2" -f csv | tail -n 1; }

# run-it ARGUMENTS: counts how often it was run.
cat >run-it <<END
#!/bin/sh
echo ran >>"$PWD/runs"
exec "$memory" "\$@"
END
chmod +x run-it
times_run () { wc -l <runs; }
cat >s.ini <<END
[global]
allocator=pytorch-caching; bfc; direct
[small]
program=./run-it runtime; --gpu rtx4090 ./run-it driver
device=16GiB|80GiB
[again]
program=./run-it runtime
[fails]
program=./run-it batch 2000; no-such-program
END
run 0 gemem-sim sweep s.ini -n; says out '^21 runs: 21 would be made, 0 are in results.db'; says out '^  --gpu rtx4090 ./run-it driver  bfc'
silent err
check 'a list runs nothing' test ! -e runs
run 0 gemem-sim sweep s.ini -j 3; says out '^17 runs in results.db: 17 made now'; says out '^  2 programs failed: column failure; what they printed: results.db.programs/\*\.log$'
check 'each program is run once' test "$(times_run)" = 3
check 'the recordings are there' test "$(find results.db.programs -name '*.gmt' ! -name '*.part.gmt' | wc -l)" = 2
check 'a row for each combination' test "$(ask results.db "select count (*) from results where fits")" = 15
check 'of what the program asked for' test "$(ask results.db "select distinct peak_reserved from results where trace = './run-it runtime' and setting = 'direct'")" = 2097152
check 'a program that fails is one row that says so' test "$(ask results.db "select failure from results where trace = './run-it batch 2000'")" = 'the program ended with status 3: 78'
check 'and one that is not there' sh -c 'gemem-sim query results.db "select failure from results where trace = '"'no-such-program'"'" -f csv | grep -q "No such file"'
check 'neither fits nor is asked for' test "$(ask results.db "select count (*) from results where failure is not null and fits is null and setting is null")" = 2
gemem-sim query results.db runs -f csv >whole.csv
run 0 gemem-sim sweep s.ini; says out '^17 runs in results.db: 0 made now, 17 were there'; says out '^  2 programs failed'
check 'and none is run again' test "$(times_run)" = 3
run 0 gemem-sim sweep s.ini -n; says out '^17 runs: 0 would be made'

# ---- shards with the same recordings, and their merge
for i in 1 2; do gemem-sim sweep s.ini --shard $i/2 --recordings both -o part$i.db >part$i.out & done; wait
check 'two shards run each program once' test "$(times_run)" = 6
run 0 gemem-sim sweep --merge part1.db part2.db -o merged.db; says out '^17 runs added'
run 0 gemem-sim sweep s.ini --recordings both -o merged.db; says out '0 made now'
rm -rf both; cp -r results.db.programs both; rm -f part?.db merged.db
for i in 1 2; do gemem-sim sweep s.ini --shard $i/2 --recordings both -o part$i.db >part$i.out; done
gemem-sim sweep --merge part2.db part1.db -o merged.db >merge.out; gemem-sim query merged.db runs -f csv >merged.csv
check 'of the same recordings the merge is the whole, byte for byte' cmp whole.csv merged.csv

# A stand-in that runs all tasks at once, then what comes after them; the real Slurm: test-slurm.sh.
mkdir bin
cat >bin/sbatch <<'END'
#!/bin/sh
tasks=; for word; do case $word in --array=1-*) tasks=${word#--array=1-};; esac; wrap=$word; done
if [ -n "$tasks" ]; then
  for i in $(seq "$tasks"); do SLURM_ARRAY_TASK_ID=$i sh -c "$wrap" >>sbatch.log 2>&1 & done; wait
else sh -c "$wrap" >>sbatch.log 2>&1; fi
echo 1
END
chmod +x bin/sbatch; : >runs
PATH=$PWD/bin:$PATH gemem-sim sweep s.ini -o slurm.db --jobs 4 --slurm '' >/dev/null
check 'four tasks of a cluster run each program once' test "$(times_run)" = 3
check 'and all is there' test "$(ask slurm.db 'select count (*) from results')" = 17
run 0 gemem-sim sweep s.ini -o slurm.db; says out ' 0 made now'

# ---- an end by a signal, and the way on
printf '#!/bin/sh\necho $$ >>"%s/pids"\nexec "%s" wait\n' "$PWD" "$memory" >wait; chmod +x wait
printf '[a]\nprogram=./run-it runtime; ./wait\nallocator=bfc\n' >w.ini
# end SIGNAL: ends a sweep that waits for a program, and waits for that.
end () {
  : >pids
  gemem-sim sweep w.ini -o w.db -j 1 >w.out 2>w.err & pid=$!
  for _ in $(seq 200); do [ ! -s pids ] || break; sleep 0.05; done
  sleep 0.2; kill -"$1" $pid; wait $pid; status=$?
  left=1; for _ in $(seq 100); do kill -0 "$(head -n 1 pids)" 2>/dev/null || { left=0; break; }; sleep 0.05; done
}
end TERM
check 'the sweep ends' test $status = 130
check 'and the program with it' test $left = 0
check 'what had ended is there, and nothing of the other' test "$(ask w.db "select count (*) || '/' || sum (failure is null) from results")" = 1/1
end KILL
check 'likewise after kill -9' test $status$left = 1370
printf '[a]\nprogram=./run-it runtime; %s runtime\nallocator=bfc\n' "$memory" >w.ini
run 0 gemem-sim sweep w.ini -o w.db; says out '^2 runs in w.db: 1 made now, 1 were there'

# ---- what is wrong
printf '[a]\nprogram="python\nallocator=bfc\n' >bad.ini
run 2 gemem-sim sweep bad.ini; says err 'bad\.ini:2: \[a\] program: '
printf '[a]\nprogram=x\nlower=eager\nallocator=bfc\n' >bad.ini
run 2 gemem-sim sweep bad.ini; says err 'bad\.ini:2: \[a\] program: a program is no graph'
printf '[a]\nprogram=-o elsewhere.gmt ./run-it runtime\nallocator=bfc\n' >o.ini
run 0 gemem-sim sweep o.ini -o o.db
check 'one that records elsewhere has no recording' test "$(ask o.db 'select failure from results')" = 'the program left no recording of one process; leave -o to the sweep'
printf '[a]\nprogram=./run-it runtime\nallocator=bfc\n' >n.ini; : >file
run 1 gemem-sim sweep n.ini -o n.db --recordings file; says err 'file'
check 'that is no row' test "$(ask n.db 'select count (*) from results')" = 0
done_testing
