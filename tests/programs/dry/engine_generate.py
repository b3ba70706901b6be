"""engine_generate.py vllm|sglang MODEL: three requests given to an engine within the program, which serves nobody else.

MODEL: the folder of a config.json. Prints how many tokens each request got.
"""
import sys


def vllm(model, prompts):
    from vllm import LLM, SamplingParams

    engine = LLM(model, load_format="dummy", skip_tokenizer_init=True, enforce_eager=True, max_model_len=4096, max_num_seqs=32, gpu_memory_utilization=0.5)
    answers = engine.generate([{"prompt_token_ids": prompt} for prompt in prompts], SamplingParams(max_tokens=20, detokenize=False, ignore_eos=True))
    return [len(answer.outputs[0].token_ids) for answer in answers]


def sglang(model, prompts):
    from sglang import Engine

    engine = Engine(model_path=model, load_format="dummy", skip_tokenizer_init=True, mem_fraction_static=0.5, disable_cuda_graph=True)
    answers = engine.generate(input_ids=prompts, sampling_params={"max_new_tokens": 20, "ignore_eos": True})
    engine.shutdown()
    return [len(answer["output_ids"]) for answer in answers]


if __name__ == "__main__":  # both start this file again in a process of their own
    print("tokens", *globals()[sys.argv[1]](sys.argv[2], [list(range(100, 100 + n)) for n in (10, 500, 3000)]))
