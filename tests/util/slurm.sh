#!/bin/sh
# slurm.sh - a Slurm of one node for a test (after tap.sh): controller, node and munge of their own, with files in $PWD/slurm and ports that others
# do not have; it ends with the test.  Needs Debian's slurm-wlm and munge, and root, as slurmd does.
#
#   slurm_begin || { skip ...; done_testing; }     SLURM_CONF is set: sbatch, squeue and scontrol speak to it
#   slurm_wait JOB SECONDS                         until no task of it is in the queue

slurm_has () {
  for slurm_program in slurmctld slurmd munged sbatch; do command -v $slurm_program >/dev/null || return 1; done
  [ "$(id -u)" = 0 ]
}

slurm_end () {
  # the tasks first: a node that ends leaves them
  scancel --user=root 2>/dev/null; sleep 0.5
  for slurm_pid in $slurm_pids; do kill "$slurm_pid" 2>/dev/null; done
  for slurm_pid in $slurm_pids; do wait "$slurm_pid" 2>/dev/null; done
  rm -rf "$GEMEM_TMP"
}

slurm_configure () {
  host=$(hostname -s) port=$((20000 + $$ % 10000))
  cat <<END
ClusterName=gemem
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/ctld.pid
SlurmdPidFile=$slurm/d.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
MaxArraySize=10001
MaxJobCount=20000
KillWait=2
MailProg=/bin/true
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

slurm_begin () {
  slurm_has || return 1
  slurm=$PWD/slurm
  mkdir -p "$slurm/state" "$slurm/spool" && chmod 755 "$GEMEM_TMP" "$slurm" || return 1
  slurm_configure >"$slurm/slurm.conf"
  echo 'CgroupAutomount=no' >"$slurm/cgroup.conf"
  head -c 1024 /dev/urandom >"$slurm/munge.key"; chmod 400 "$slurm/munge.key"
  SLURM_CONF=$slurm/slurm.conf; export SLURM_CONF
  munged --foreground --force --key-file="$slurm/munge.key" --socket="$slurm/munge.socket" --pid-file="$slurm/munge.pid" \
    --log-file="$slurm/munge.log" --seed-file="$slurm/munge.seed" >"$slurm/munge.out" 2>&1 &
  slurm_pids=$!
  trap slurm_end EXIT
  while [ ! -S "$slurm/munge.socket" ] && kill -0 $slurm_pids 2>/dev/null; do sleep 0.1; done
  slurmctld -D >"$slurm/ctld.out" 2>&1 & slurm_pids="$! $slurm_pids"
  slurmd -D -N "$host" >"$slurm/d.out" 2>&1 & slurm_pids="$! $slurm_pids"
  for slurm_second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    [ "$(sinfo -h -o %T 2>/dev/null)" != idle ] || return 0
    sleep 1
  done
  echo "# Slurm does not begin ($slurm_second s):"; tail -n 5 "$slurm/ctld.out" "$slurm/d.out" "$slurm/munge.out" | sed 's/^/# /'
  return 1
}

# A controller that is too busy to answer does not say that a job is over.
# What was put back is in no list of squeue for a moment.
slurm_queued () { scontrol -o show job "$1" 2>&1 | grep -qvE 'Invalid job id|JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY) '; }

slurm_wait () {
  slurm_second=0
  while slurm_queued "$1" && [ $slurm_second -lt "$2" ]; do
    scontrol update jobid="$1" starttime=now 2>/dev/null # what was put back waits two minutes otherwise
    sleep 1; slurm_second=$((slurm_second + 1))
  done
  ! slurm_queued "$1"
}
