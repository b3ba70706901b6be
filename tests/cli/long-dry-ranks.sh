#!/bin/sh
# long-dry-ranks.sh - distributed programs (tests/programs/dry/ranks_*.py) under real PyTorch wheels: all ranks by torchrun, and one rank alone, which has to need the same.
#   GEMEM_TORCH        the Pythons, separated by blanks, of environments with a CUDA build of PyTorch; its packages of NVIDIA are not needed
#   GEMEM_TORCH_NCCL   the Python of an environment with PyTorch 2.6 of CUDA 12.4 and nvidia-nccl-cu12 2.21.5: there NCCL takes its own buffers
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
[ -n "${GEMEM_TORCH:-}${GEMEM_TORCH_NCCL:-}" ] || { skip "PyTorch" "neither \$GEMEM_TORCH nor \$GEMEM_TORCH_NCCL names a Python"; done_testing; }
command -v jq >/dev/null || { skip "PyTorch" "there is no jq"; done_testing; }
programs=$GEMEM_SRCDIR/tests/programs/dry
OMP_NUM_THREADS=1; export OMP_NUM_THREADS

# peaks FILE RANK: the peak of live memory of a rank
peaks () { jq "[.processes[] | select (.rank == $2)] | .[0].peak_live" "$1"; }

# both PROGRAM ARGUMENTS: $ranks ranks by torchrun, then rank 1 of them; their peaks are the same, or each one of those that $among names.
among=
both () {
  script=$programs/$1; shift
  run 0 gemem-dry-run --gpu h100 --gpus "$ranks" --json all.json "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" "$script" "$@"
  says err '^     0    0 .* fits( only if)?$'; says err '^     1    1 .* fits( only if)?$'; says err '^the largest of [24]: rank [0-3]'
  check "nothing failed" sh -c "! grep -q 'not written' $err"
  run 0 gemem-dry-run --gpu h100 --gpus "$ranks" --rank 1 --world "$ranks" --json one.json "$python" "$script" "$@"
  alone=$(peaks one.json 1) beside=$(peaks all.json 1)
  if [ -n "$among" ]; then
    for peak in "$alone" "$beside" "$(peaks all.json 0)"; do check "$script $*: its peak, $peak, is one of $among" expr " $among " : ".* $peak "; done
  else
    check "$script $*: rank 1 alone needs what it needs with the other" test "$alone" = "$beside"
  fi
}

# took BYTES GPU RANKS PROGRAM ARGUMENTS...: what NCCL takes in rank 0; the rest is as without it, and nothing is unknown.
took () {
  bytes=$1 gpu=$2 ranks=$3 script=$programs/$4; shift 4
  run 0 gemem-dry-run --gpu "$gpu" --gpus "$ranks" --json all.json "$GEMEM_TORCH_NCCL" -m torch.distributed.run --standalone --nproc-per-node "$ranks" "$script" "$@"
  says err '^     0    0 .* fits$'; says err '^  NCCL +took '; check "nothing is unknown" jq -e '.fits == true and .unknown == [] and .missing == []' all.json
  check "$gpu, $ranks ranks, $script $*: NCCL takes $bytes" jq -e "[.processes[] | select (.rank == 0)] | .[0] | .nccl == $bytes and (.held - .peak_reserved - .nccl | . >= 0 and . <= 256 * 1048576)" all.json # and cuBLAS its handles
  run 0 gemem-dry-run --details --stand-ins --gpu "$gpu" --gpus "$ranks" --json one.json "$GEMEM_TORCH_NCCL" -m torch.distributed.run --standalone --nproc-per-node "$ranks" "$script" "$@"
  check "PyTorch asks for the same" test "$(peaks all.json 0) $(jq '[.assumed[].count] | add' all.json)" = "$(peaks one.json 0) $(jq '[.assumed[].count] | add' one.json)"
}
if [ -n "${GEMEM_TORCH_NCCL:-}" ]; then
  took 773849088 h100 2 ranks_ddp.py
  took 773849088 h100 2 ranks_ddp.py --unused --object
  took 773849088 h100 2 ranks_visible.py; says out '^devices 1$'; says err '^     1    1 '
  took 1176502272 h100 2 ranks_pipeline.py
  took 3697278976 h100 4 ranks_mesh.py
  NCCL_BUFFSIZE=1048576; export NCCL_BUFFSIZE; took 522190848 h100 2 ranks_ddp.py; unset NCCL_BUFFSIZE
  took 18874368 rtx4090 2 ranks_ddp.py
  took 1629487104 h100 2 ranks_graph.py
fi

GEMEM_DRY_STAND_INS=1; export GEMEM_DRY_STAND_INS # the figures from here on are those without NVIDIA's packages
for python in ${GEMEM_TORCH:-}; do
  ranks=4; both ranks_mesh.py; ranks=2
  both ranks_ddp.py; check 'values of other ranks were assumed' jq -e '[.assumed[].count] | add > 0' one.json
  both ranks_ddp.py --unused --object
  both ranks_fsdp.py
  both ranks_fsdp.py --fully-shard
  both ranks_tensor.py
  # Tensors of a collective that nobody waits for live until another thread frees them, by its pace (100 ms) PyTorch's watchdog, which was not seen: then real PyTorch's race, on a
  # GPU too.  Here they are what powerSGD_hook.py:469 makes of the biases of a bucket, 4 096, 12 288 and 4 096 bytes, in the last two steps.  Before the peak it
  # has freed none of them, the first, two or all.  With 250 ms of sleep behind each step it was two in all of three runs.
  among='445849608 445845512 445833224 445829128'; both ranks_zero.py; among=
  says err "of PyTorch.s for a moment, for Python objects of more than 1 MiB"
  both ranks_pipeline.py --shapes
  run 0 gemem-dry-run --gpu h100 --gpus 2 "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$programs/ranks_pipeline.py"; says err '^the largest of 2: rank 1'
  run 0 gemem-dry-run --gpu h100 --gpus 2 "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$programs/ranks_barrier.py"; says out '^rank 1 has read$'
  run 1 gemem-dry-run --gpu h100 --rank 1 --world 2 "$python" "$programs/ranks_pipeline.py"; says err 'waits for an object of rank 0, which does not run'
  run 0 gemem-dry-run --gpu h100 --gpus 2 "$python" "$programs/ranks_spawn.py" 2; says err '^     1    1 '
  run 0 gemem-dry-run --rank 3 --world 4 "$python" "$programs/ranks_mixed.py"; says out "^3 12 \['own', 'own', 'own', 'own'\]$"
  run 0 gemem-dry-run --gpu h100 "$python" -m torch.distributed.run --standalone --nproc-per-node 1 "$programs/ranks_agree.py"; says out '^step True rows 40$'; says err '^  h100 +fits: '
  run 0 gemem-dry-run --gpu h100 --gpus 2 "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$programs/ranks_agree.py"; says out '^step True$'; says err '^  h100 +fits: '
  run 0 gemem-dry-run --gpu h100 --gpus 8 --rank 777 --world 1000 "$python" "$programs/ranks_fsdp.py" --fully-shard; says err '^  peak live '
done
done_testing
