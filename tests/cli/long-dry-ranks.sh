#!/bin/sh
# long-dry-ranks.sh - distributed programs (tests/programs/dry/ranks_*.py) under real PyTorch wheels: all ranks by torchrun, and one rank alone, which has to need the same.
#   GEMEM_TORCH   the Pythons, separated by blanks, of environments with a CUDA build of PyTorch; its packages of NVIDIA are not needed
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
GEMEM_DRY_STAND_INS=1; export GEMEM_DRY_STAND_INS # the figures here are those without NVIDIA's packages
[ -n "${GEMEM_TORCH:-}" ] || { skip "PyTorch" "\$GEMEM_TORCH names no Python"; done_testing; }
command -v jq >/dev/null || { skip "PyTorch" "there is no jq"; done_testing; }
programs=$GEMEM_SRCDIR/tests/programs/dry
OMP_NUM_THREADS=1; export OMP_NUM_THREADS

# peaks FILE RANK: the peak of live memory of a rank
peaks () { jq "[.processes[] | select (.rank == $2)] | .[0].peak_live" "$1"; }

# both PROGRAM ARGUMENTS: $ranks ranks by torchrun, then rank 1 of them.
both () {
  script=$programs/$1; shift
  run 0 gemem-dry-run --gpu h100 --gpus "$ranks" --json all.json "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" "$script" "$@"
  says err '^     0    0 .* fits( only if)?$'; says err '^     1    1 .* fits( only if)?$'; says err '^the largest of [24]: rank [0-3]'
  check "nothing failed" sh -c "! grep -q 'not written' $err"
  run 0 gemem-dry-run --gpu h100 --gpus "$ranks" --rank 1 --world "$ranks" --json one.json "$python" "$script" "$@"
  check "$script $*: rank 1 alone needs what it needs with the other" test "$(peaks all.json 1)" = "$(peaks one.json 1)"
}

for python in $GEMEM_TORCH; do
  ranks=4; both ranks_mesh.py; ranks=2
  both ranks_ddp.py; says err '^  assumed +[0-9]+ values came from other ranks'
  both ranks_ddp.py --unused --object
  both ranks_fsdp.py
  both ranks_fsdp.py --fully-shard
  both ranks_tensor.py
  both ranks_pipeline.py --shapes
  run 0 gemem-dry-run --gpu h100 --gpus 2 "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$programs/ranks_pipeline.py"; says err '^the largest of 2: rank 1'
  run 1 gemem-dry-run --gpu h100 --rank 1 --world 2 "$python" "$programs/ranks_pipeline.py"; says err 'waits for an object of rank 0, which does not run'
  run 0 gemem-dry-run --gpu h100 --gpus 2 "$python" "$programs/ranks_spawn.py" 2; says err '^     1    1 '
  run 0 gemem-dry-run --rank 3 --world 4 "$python" "$programs/ranks_mixed.py"; says out "^3 12 \['own', 'own', 'own', 'own'\]$"
  run 0 gemem-dry-run --gpu h100 --gpus 8 --rank 777 --world 1000 "$python" "$programs/ranks_fsdp.py" --fully-shard; says err '^  peak live '
done
done_testing
