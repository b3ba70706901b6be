#!/bin/sh
# test-slurm.sh - gemem-sim sweep --slurm on a real Slurm, which this script begins and ends: the database is that of one machine, also where a task was
# put back into the queue in the middle, or died.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
# shellcheck source=tests/util/slurm.sh
. "$GEMEM_SRCDIR/tests/util/slurm.sh"
gemem-sim version | grep -q 'SQLite yes' || { skip 'sweeps on Slurm' 'built without SQLite'; done_testing; }
events=250000 most=319; ! is_sanitized || events=50000 most=59 # there each run takes many times as long
gemem-sim generate random:events=$events --seed 3 -o r.gmt # a task must still run when it is killed
printf '[all]\ntrace=r.gmt\nallocator=pytorch-caching:max_split_size_mb=20..%s; bfc; direct\n' $most >k.ini
if ! slurm_has; then
  run 1 gemem-sim sweep k.ini --jobs 3 --slurm ''; says err 'sbatch: .*; is this a machine of a Slurm cluster\?'
  skip 'sweeps on Slurm' 'no slurm-wlm and munge here, or not root'
  done_testing
fi
slurm_begin; ok $? 'Slurm begins'
dump () { gemem-sim query "$1" runs -f csv; }
ask () { gemem-sim query "$1" "$2" -f csv 2>/dev/null | tail -n 1; }
# written N: when task N has rows.
written () { for _ in $(seq 100); do [ "$(ask "results.db.parts/$1.db" 'select count (*) > 3 from results')" = 1 ] && return 0; sleep 0.1; done; return 1; }

gemem-sim sweep k.ini -o one.db >/dev/null; dump one.db >whole.csv
n=$(($(wc -l <whole.csv) - 1))
# put_back: one task is put back into the queue in the middle, another one killed; $before and $there: how many runs the first one had, and found again.
put_back () {
  run 0 gemem-sim sweep k.ini -o results.db --jobs 3 --slurm '--cpus-per-task=1 --comment="two words"'
  says out '^Submitted: job [0-9]+, 3 tasks; job [0-9]+ merges into results.db when they have ended$'
  job=$(sed -n 's/^Submitted: job \([0-9]*\),.*/\1/p' "$out") merge=$(sed -n 's/.*; job \([0-9]*\) merges.*/\1/p' "$out")
  check 'a task writes' written 2
  check 'it is put back into the queue, as when it is preempted' scontrol requeue "${job}_2"
  before=$(ask results.db.parts/2.db 'select count (*) from results')
  check 'another one writes' written 3
  check 'and is killed' scancel --signal=KILL --batch "${job}_3"
  check 'the others end, and the merge' sh -c '. "$GEMEM_SRCDIR/tests/util/slurm.sh"; slurm_wait $1 60 && slurm_wait $2 30' - "$job" "$merge"
  there=$(sed -n 's/.* now, \([0-9]*\) were there/\1/p' results.db.parts/2.log | tail -n 1)
  test "${before:-none}" -gt 0 && test "${there:-none}" -ge "$before"; went_on=$?
}
put_back
# A task that Slurm has put back was once not started again (on a busy machine), which is none of our doing: another try, and what Slurm says of it.
[ $went_on = 0 ] || { scontrol -o show job "$job" | sed 's/^/# not started again: /'; rm -rf results.db results.db.parts; put_back; }
ok $went_on 'the task that was put back went on'
[ $went_on = 0 ] || { echo "# it had ${before:-no} runs"; sed 's/^/# 2.log: /' results.db.parts/2.log; }
run 0 gemem-sim sweep k.ini -o results.db --dry-run
echo "# task 2 had $before runs when it was put back; after the merge: $(head -n 1 "$out")"
check 'what the dead task lacks is missing' sh -c '! cmp -s "$1" /dev/null && grep -q "^$2 runs: [1-9]" "$1"' - "$out" "$n"
run 0 gemem-sim sweep k.ini -o results.db --jobs 3 --slurm '--cpus-per-task=1'
job=$(sed -n 's/^Submitted: job \([0-9]*\),.*/\1/p' "$out") merge=$(sed -n 's/.*; job \([0-9]*\) merges.*/\1/p' "$out")
check 'the same command again' sh -c '. "$GEMEM_SRCDIR/tests/util/slurm.sh"; slurm_wait $1 60 && slurm_wait $2 30' - "$job" "$merge"
dump results.db >got.csv
check 'the database is that of one machine, byte for byte' cmp whole.csv got.csv
run 0 gemem-sim sweep k.ini -o results.db --dry-run; says out "^$n runs: 0 would be made, $n are in results.db"
run 1 gemem-sim sweep k.ini --jobs 2 --slurm '--partition=nowhere'; says err 'sbatch refused the job: .*nowhere|sbatch refused the job: .*[Pp]artition'
run 2 gemem-sim sweep k.ini --jobs 2 --slurm "'"; says err "^gemem-sim: error: --slurm=': "
done_testing
