#!/bin/sh
# long-dry-packages.sh - gemem-dry-run under programs of packages that people train with, beside NVIDIA's own libraries: each runs to its
# end, nothing is missing, and only what a program reads from the GPU, or cuBLASLt and cuFFT alone know, is a condition.
#   GEMEM_PACKAGES   the Python of an environment with torch of CUDA 13 (2.11 was tried), as pip installs it, transformers, timm, torchvision, torchaudio,
#                    diffusers, lightning, peft and bitsandbytes
#   GEMEM_VLLM       the Python of an environment with vLLM (0.33 was tried); may be missing
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
  run 0 gemem-dry-run --details --gpu "$gpu" "$GEMEM_PACKAGES" "$@"
  check "nothing is missing" sh -c "! grep -Eq 'not written|unknown ' $err"
  if [ -z "$condition" ]; then says err "^  $gpu +fits:"; else says err "^  $gpu +fits only if"; says err "^  $condition "; fi
}

for gpu in h100 b200 rtx4090; do
  fits $gpu '' "$programs/attention_kinds.py"
  says out '^FLASH_ATTENTION causal=False mask=True'
  check 'no other kind of attention is refused' sh -c "! grep -vq '^FLASH_ATTENTION causal=False mask=True' $out"
done
for name in llama generate beams assisted llava policy trainer mixtral whisper peft convnext swin lightning; do fits h100 '' "$programs/packages.py" $name; done
# what such a program needs is what PyTorch's own allocator held at most, and 64 MiB for each handle of cuBLAS: emptied caches are told from refusals, managed memory is not counted
for name in profiled emptied resumed scripted paged nf4; do
  run 0 gemem-dry-run --details --gpu h100 --json verdict.json "$GEMEM_PACKAGES" "$programs/packages.py" $name; says err '^  h100 +fits:'
  check "$name: it needs what PyTorch says" jq -e --argjson reserved "$(sed -n 's/^peak [0-9]* //p' "$out")" '.needed - .context - $reserved >= 0 and .needed - .context - $reserved < 320 * 1048576 and .processes[0].peak_reserved == $reserved' verdict.json
  check "$name: gemem decides as its PyTorch" jq -e '.processes[0] | .compared > 0 and .equal == .compared' verdict.json
done
fits h100 '' "$programs/packages.py" checked
for name in solved detection lookup; do fits h100 drawn "$programs/packages.py" $name; done
fits h100 '' "$programs/packages.py" diffusion; says err '^  workspaces .*: cublasLtMatmulAlgoGetHeuristic 0\.\.[0-9]+$' # a bound that fits is no condition
fits h100 workspaces "$programs/packages.py" audio

# ---- generate() with a config alone, as doc/dry-run.md shows it: which batch fits
serving=$GEMEM_SRCDIR/workloads/programs/serving.py
cat >config.json <<'EOF'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 4, "num_attention_heads": 8,
 "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 8192, "torch_dtype": "bfloat16"}
EOF
for cache in dynamic static; do
  fits h100 '' "$serving" config.json --batch 4 --prompt 512 --cache $cache; says out '^KV tokens 2108$'; says err '^  note +generate\(\) of transformers stops'
done
run 0 gemem-dry-run --gpu h100 --capacity 1GiB --context 256MiB --json fit.json --fit 'BATCH=1..64' -- "$GEMEM_PACKAGES" "$serving" config.json --batch BATCH --prompt 1024
says err '^gemem-dry-run: BATCH=[0-9]+ is the largest of 1 to 64 that fits h100'
check "each sequence needs its keys and values at least" jq -e '[.runs[] | select (.fits != false)] | sort_by (.BATCH | tonumber) | .[-1].needed - .[0].needed >= ((.[-1].BATCH | tonumber) - (.[0].BATCH | tonumber)) * 1024 * 4 * 2 * 1024 * 2' fit.json

# ---- vLLM as it comes, but for FlashInfer's sampler, which is compiled with nvcc: every request ends with as many tokens as it asked for, also where its prompt is
# longer than a step; the cache of keys and values takes what is left of the part of the memory that it may take
if [ -n "${GEMEM_VLLM:-}" ]; then
  VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1; export VLLM_USE_FLASHINFER_SAMPLER VLLM_NO_USAGE_STATS
  for how in 8192 32 '64 compiled'; do
    # shellcheck disable=SC2086 # words
    run 0 timeout 900 gemem-dry-run --gpu h100 --json vllm.json "$GEMEM_VLLM" "$programs/vllm_generate.py" 16 $how
    says out '^tokens \[16, 16, 16\]$'; says err '^  h100 +fits: '; says err '^  note +vLLM: every request gets one token in each step$'
    check "half of the memory is taken, and no more" jq -e '.needed > 0.49 * .capacity and .needed < 0.502 * .capacity' vllm.json
    check "gemem decides as its PyTorch, whose settings it changes on the way" jq -e '.processes[0] | .compared > 500 and .equal == .compared' vllm.json
  done
else
  skip 'vLLM' "\$GEMEM_VLLM names no Python"
fi
done_testing
