#!/bin/sh
# long-dry-serving.sh - gemem-dry-run under servers of language models, with a config alone: which length fits, how many tokens the cache holds, held against
# arithmetic and against the requests in the recording; what a server refuses does not fit; a sleeping engine gives its memory back.
#   GEMEM_VLLM     the Python of an environment with vLLM (0.33 was tried, with PyTorch 2.14)
#   GEMEM_SGLANG   the Python of an environment with SGLang (0.5.23 was tried)
# Either may be missing.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
[ -n "${GEMEM_VLLM:-}${GEMEM_SGLANG:-}" ] || { skip 'servers' "\$GEMEM_VLLM and \$GEMEM_SGLANG name no Python"; done_testing; }
command -v jq >/dev/null || { skip 'servers' "there is no jq"; done_testing; }
programs=$GEMEM_SRCDIR/tests/programs/dry
HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1; export HF_HUB_OFFLINE VLLM_USE_FLASHINFER_SAMPLER VLLM_NO_USAGE_STATS
mkdir -p model
cat >model/config.json <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8, "num_attention_heads": 8,
 "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 32000, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}
JSON
mkdir -p experts large
cat >experts/config.json <<'JSON'
{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 1024, "intermediate_size": 2816, "moe_intermediate_size": 512, "num_experts": 32,
 "num_experts_per_tok": 4, "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": [], "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4,
 "head_dim": 128, "vocab_size": 32000, "max_position_embeddings": 32768, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "hidden_act": "silu"}
JSON
cat >large/config.json <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
 "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "hidden_act": "silu", "torch_dtype": "bfloat16"}
JSON
layer=$((2 * 4 * 128 * 2)) # bytes of a token's keys and values in one of 8 layers
weights=$(((2 * 32000 * 1024 + 8 * (1024 * 1024 * 2 + 2 * 1024 * 512 + 3 * 1024 * 2816 + 2 * 1024) + 1024) * 2))

# the recording FILE has requests of keys and values for TOKENS, and EXTRA more, in LAYERS layers (8): in one request, one a layer, or two
holds () { # FILE TOKENS EXTRA [LAYERS]
  gemem-sim convert -q "$1" events.txt
  layers=${4:-8}; bytes=$((($2 + $3) * layer))
  check "the cache of $2 tokens is requested" sh -c "test \"\$(grep -c '^alloc .*size=$((bytes * layers)) ' events.txt)\" = 1 || test \"\$(grep -c '^alloc .*size=$bytes ' events.txt)\" -ge $layers || test \"\$(grep -c '^alloc .*size=$((bytes / 2)) ' events.txt)\" -ge $((2 * layers))"
}

if [ -n "${GEMEM_VLLM:-}" ]; then
  vllm=$(dirname "$GEMEM_VLLM")/vllm
  run 0 timeout 1800 gemem-dry-run --once --gpu rtx4090 --capacity 2560MiB --until 'startup complete' --json fit.json -o fit.gmt --fit 'LEN=1024..131072' -- \
    "$vllm" serve model --load-format dummy --skip-tokenizer-init --enforce-eager --max-num-batched-tokens 2048 --max-num-seqs 64 --max-model-len LEN --port 8713
  says err "^gemem-dry-run: LEN=131072: does not fit, by vLLM's message that its KV cache is too small for one request; "
  says err '^gemem-dry-run: LEN=[0-9]+ is the largest of 1024 to 131072 that fits rtx4090, with a KV cache of [0-9]+ tokens'
  check "vLLM names the length, and it is tried" jq -e '.runs | length <= 6' fit.json
  check "no more than the cache holds, and nearly as much" jq -e '.largest[0] | (.LEN | tonumber) as $n | $n <= .kv_tokens and $n > .kv_tokens - 64' fit.json
  tokens=$(jq '.largest[0].kv_tokens' fit.json)
  holds "$(jq -r '.largest[0].trace' fit.json)" "$tokens" 0
  check "weights and cache are most of it" jq -e --argjson sure $((weights + tokens * layer * 8)) '.largest[0].needed | . >= $sure and . < $sure + 600 * 1048576' fit.json
  check "the cache takes what is left, so that a shorter sequence needs as much" jq -e '[.runs[] | select (.fits != false) | .needed] | max - min < 64 * 1048576' fit.json

  # the same for one that asks for more than the part of the GPU that there is
  run 0 timeout 900 gemem-dry-run --once --gpu rtx4090 --context 1GiB --until 'startup complete' --json part.json -o part.gmt --fit 'PART=0.5,0.99' -- \
    "$vllm" serve model --load-format dummy --skip-tokenizer-init --enforce-eager --max-num-batched-tokens 2048 --max-num-seqs 64 --max-model-len 2048 --gpu-memory-utilization PART --port 8713
  says err "^gemem-dry-run: PART=0\.99: does not fit, by vLLM's message that less is free than it may take; "; says err 'PART=0\.5 is the largest of 0\.5 to 0\.99 that fits'

  # ---- other models and ways to serve: MODEL, on GPU
  serve () { # STATUS MODEL GPU OPTION...
    status=$1 model=$2 gpu=$3; shift 3
    run "$status" timeout 900 gemem-dry-run --once --gpu "$gpu" --until 'startup complete' --json server.json -o server.gmt \
      "$vllm" serve "$model" --load-format dummy --skip-tokenizer-init --max-model-len 4096 --port 8713 "$@"
  }
  serve 0 experts rtx4090 --enforce-eager --max-num-seqs 32
  says err '^  rtx4090 +fits'; says err '^  KV cache +[0-9]+ tokens, as vLLM says$'
  holds "$(jq -r '.processes[0].trace' server.json)" "$(jq .kv_tokens server.json)" 0
  serve 0 model rtx4090 --max-num-seqs 16 # with CUDA graphs, compiled by Inductor
  says err '^  rtx4090 +fits'
  holds "$(jq -r '.processes[0].trace' server.json)" "$(jq .kv_tokens server.json)" 0
  serve 1 large h100 --enforce-eager
  says err '^  h100 +DOES NOT FIT: '
  serve 0 large h100 --enforce-eager --quantization fp8
  says err '^  h100 +fits'
  layer=$((2 * 8 * 128 * 2)); holds "$(jq -r '.processes[0].trace' server.json)" "$(jq .kv_tokens server.json)" 0 80; layer=$((layer / 2))
  run 0 timeout 900 gemem-dry-run --once --gpu rtx4090 -o llm.gmt "$GEMEM_VLLM" "$programs/engine_generate.py" vllm model
  says out '^tokens 20 20 20$'; says err '^  rtx4090 +fits'

  # ---- sleep: the weights are on the host, the cache is dropped, and all is back when it wakes
  run 0 timeout 900 gemem-dry-run --once --gpu rtx4090 -o sleep.gmt "$GEMEM_VLLM" "$programs/vllm_sleep.py" model
  says out '^tokens \[4\]$'
  held () { sed -n "s/^$1 //p" "$out"; }
  check "awake it holds half of the GPU" test "$(held awake)" -gt $((11 * 1073741824))
  check "asleep nearly nothing" test "$(held asleep)" -lt $((256 * 1048576))
  check "and awake again as much as before, but for its cached blocks" test "$(($(held awake) - $(held again)))" -lt $((256 * 1048576)) -a "$(held again)" -gt $((11 * 1073741824))
  check "it serves requests again" test "$(grep -c '^tokens \[4\]$' "$out")" -eq 2
else
  skip 'vLLM' "\$GEMEM_VLLM names no Python"
fi

if [ -n "${GEMEM_SGLANG:-}" ]; then
  sglang () { # STATUS OPTION...
    status=$1; shift
    run "$status" timeout 900 gemem-dry-run --once --gpu rtx4090 --until 'ready to roll' --json server.json -o server.gmt "$GEMEM_SGLANG" -m sglang.launch_server --model-path model \
      --load-format dummy --skip-tokenizer-init --port 8714 "$@"
  }
  sglang 0 --mem-fraction-static 0.5 # it serves a request before it says that it is ready
  says err '^  rtx4090 +fits'; says err '^  KV cache +[0-9]+ tokens, as SGLang says$'; lacks err 'not written|misuse'
  tokens=$(jq .kv_tokens server.json)
  holds "$(jq -r '.processes[0].trace' server.json)" "$tokens" 1
  check "weights and cache are what the part allows" jq -e --argjson sure $((weights + tokens * layer * 8)) '.needed >= $sure and $sure > 0.47 * .capacity and $sure < 0.51 * .capacity' server.json
  run 0 timeout 900 gemem-dry-run --once --gpu rtx4090 -o engine.gmt "$GEMEM_SGLANG" "$programs/engine_generate.py" sglang model
  says out '^tokens 20 20 20$'; says err '^  rtx4090 +fits'
  sglang 137 --mem-fraction-static 0.01
  says err '^  rtx4090 +DOES NOT FIT: '; says err "^  refused +SGLang's message that nothing is left for its KV cache$"
else
  skip 'SGLang' "\$GEMEM_SGLANG names no Python"
fi
done_testing
