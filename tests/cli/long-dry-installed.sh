#!/bin/sh
# long-dry-installed.sh - gemem-dry-run with NVIDIA's own cuDNN, cuSOLVER and cuSPARSE: they run, and compute their workspaces.
#   GEMEM_TORCH_INSTALLED   the Python of an environment with PyTorch 2.6 of CUDA 12.4 and the packages it requires: nvidia-cudnn-cu12, -cusolver-cu12, -cusparse-cu12
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
[ -n "${GEMEM_TORCH_INSTALLED:-}" ] || { skip 'installed libraries' "\$GEMEM_TORCH_INSTALLED names no Python"; done_testing; }
program=$GEMEM_SRCDIR/tests/programs/dry/conv_net.py

for gpu in h100 a100-40 rtx4090 v100-16 b200; do
  run 0 gemem-dry-run --details --gpu $gpu "$GEMEM_TORCH_INSTALLED" "$program"
  says err '^  libraries +libcudnn\.so\.9, libcurand\.so\.10, libcusolver\.so\.11, libcusparse\.so\.12 ran'
  check "$gpu: nothing failed, no workspace of theirs is unknown" sh -c "! grep -Eq 'not written|cudnnGet|cudnnBackend|cusolver.*unknown' $err"
  [ $gpu != h100 ] || { says out '^reserved 1115684864$'; says out '^cholesky 2099200$'; }
done
run 0 gemem-dry-run --details --stand-ins --gpu h100 "$GEMEM_TORCH_INSTALLED" "$program"
says out '^reserved 778043392$'; says out '^cholesky 2098688$'; says err '^  workspaces .*cudnnBackendGetAttribute'; check "none of them ran" sh -c "! grep -q '^  libraries' $err"
done_testing
