"""vllm_generate.py TOKENS STEP [compiled]: vLLM's engine with its newer model runner, in its own process, makes TOKENS tokens for three prompts, STEP of the prompts' tokens at a time.

A small Llama, made from a configuration that is written here, without weights and without a tokenizer.
"""
import json
import sys


def main(tokens, step, compiled):
    from transformers import LlamaConfig
    from vllm import LLM, SamplingParams

    config = LlamaConfig(hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, vocab_size=32000, max_position_embeddings=2048)
    config.architectures = ['LlamaForCausalLM']
    config.save_pretrained('model')
    with open('model/config.json') as stream:
        facts = dict(json.load(stream), torch_dtype='bfloat16')
    with open('model/config.json', 'w') as stream:
        json.dump(facts, stream)
    engine = LLM('model', load_format='dummy', skip_tokenizer_init=True, enforce_eager=not compiled, gpu_memory_utilization=0.5, max_num_batched_tokens=step, max_num_seqs=8)
    prompts = [{'prompt_token_ids': list(range(10, 10 + n))} for n in (7, 50, 200)]
    answers = engine.generate(prompts, SamplingParams(max_tokens=tokens, detokenize=False, ignore_eos=True))
    print('tokens', [len(answer.outputs[0].token_ids) for answer in answers])


if __name__ == '__main__':  # vLLM may start this file again in a process of its own
    main(int(sys.argv[1]), int(sys.argv[2]), 'compiled' in sys.argv)
