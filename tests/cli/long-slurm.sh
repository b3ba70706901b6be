#!/bin/sh
# long-slurm.sh - what a sweep on Slurm costs: one task beside two, and what the submission of 10 000 tasks takes; that the database is right,
# test-slurm.sh looks at.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
# shellcheck source=tests/util/slurm.sh
. "$GEMEM_SRCDIR/tests/util/slurm.sh"
slurm_has && gemem-sim version | grep -q 'SQLite yes' || { skip 'sweeps on Slurm' 'no slurm-wlm and munge here, not root, or no SQLite'; done_testing; }
gemem-sim generate random:events=200000 --seed 3 -o r.gmt
printf '[all]\ntrace=r.gmt\nallocator=pytorch-caching:max_split_size_mb=20..319\n' >k.ini
slurm_begin; ok $? 'Slurm begins'

# seconds TASKS: from the submission to the end of the merge, in ms.
seconds () {
  rm -rf results.db results.db.parts
  begin=$(date +%s%N)
  gemem-sim sweep k.ini --jobs "$1" --slurm '--cpus-per-task=1' >submitted || return 1
  merge=$(sed -n 's/.*; job \([0-9]*\) merges.*/\1/p' submitted)
  while squeue -h -j "$merge" 2>/dev/null | grep -q .; do sleep 0.1; done
  echo $((($(date +%s%N) - begin) / 1000000))
}
one=$(seconds 1) two=$(seconds 2)
echo "# 300 runs: one task $one ms, two $two ms: $(awk -v a="$one" -v b="$two" 'BEGIN { printf "%.2f", a / b }') times as fast"
check 'two tasks are faster than one' test "$two" -lt "$one"
check 'all is there' test "$(gemem-sim query results.db 'select count (*) from results' -f csv | tail -n 1)" = 300

begin=$(date +%s%N)
run 0 gemem-sim sweep k.ini -o many.db --jobs 10000 --slurm '--cpus-per-task=1 --hold'
took=$((($(date +%s%N) - begin) / 1000000))
says out '10000 tasks'
echo "# submission of 10 000 tasks: $took ms"
check 'within ten seconds' test $took -lt 10000
done_testing
