#!/bin/sh
# long-dry-packages.sh - gemem-dry-run under programs of packages that people train with, beside NVIDIA's own libraries: each runs to its
# end, nothing is missing, and only what a program reads from the GPU, or cuBLASLt and cuFFT alone know, is a condition.
#   GEMEM_PACKAGES   the Python of an environment with torch of CUDA 13 (2.11 was tried), as pip installs it, transformers, timm, torchvision, torchaudio,
#                    diffusers, lightning, peft and bitsandbytes
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
[ -n "${GEMEM_PACKAGES:-}" ] || { skip 'packages' "\$GEMEM_PACKAGES names no Python"; done_testing; }
command -v jq >/dev/null || { skip 'packages' "there is no jq"; done_testing; }
programs=$GEMEM_SRCDIR/tests/programs/dry
HF_HUB_OFFLINE=1; export HF_HUB_OFFLINE

# runs PROGRAM on GPU: fits, or with a condition that stands in the line CONDITION of the verdict alone
fits () # GPU CONDITION PROGRAM...
{
  gpu=$1 condition=$2; shift 2
  run 0 gemem-dry-run --gpu "$gpu" "$GEMEM_PACKAGES" "$@"
  check "nothing is missing" sh -c "! grep -Eq 'not written|unknown ' $err"
  if [ -z "$condition" ]; then says err "^  $gpu +fits:"; else says err "^  $gpu +fits only if"; says err "^  $condition "; fi
}

for gpu in h100 b200 rtx4090; do
  fits $gpu '' "$programs/attention_kinds.py"
  says out '^FLASH_ATTENTION causal=False mask=True'
  check 'no other kind of attention is refused' sh -c "! grep -vq '^FLASH_ATTENTION causal=False mask=True' $out"
done
for name in llama generate beams trainer mixtral whisper peft convnext swin lightning; do fits h100 '' "$programs/packages.py" $name; done
# what such a program needs is what PyTorch's own allocator held at most: emptied caches are told from refusals, managed memory is not counted
for name in profiled emptied resumed scripted paged nf4; do
  run 0 gemem-dry-run --gpu h100 --json verdict.json "$GEMEM_PACKAGES" "$programs/packages.py" $name; says err '^  h100 +fits:'
  check "$name: it needs what PyTorch says" jq -e --argjson reserved "$(sed -n 's/^peak [0-9]* //p' "$out")" '.needed == $reserved and .processes[0].peak_reserved == $reserved' verdict.json
done
fits h100 sizes "$programs/packages.py" detection
fits h100 workspaces "$programs/packages.py" diffusion
fits h100 workspaces "$programs/packages.py" audio
done_testing
