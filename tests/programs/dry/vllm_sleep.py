"""vllm_sleep.py MODEL: vLLM's sleep mode. Prints what the engine's process holds of the GPU awake, asleep (its weights go to the host, its cache is dropped), and awake again, which serves requests.

MODEL: the folder of a config.json.
"""
import os
import sys

os.environ["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"  # the engine is asked by a function of this file


def used(worker):
    import torch

    free, total = torch.cuda.mem_get_info()
    return total - free


def main(model):
    from vllm import LLM, SamplingParams

    engine = LLM(model, load_format="dummy", skip_tokenizer_init=True, enforce_eager=True, enable_sleep_mode=True, max_model_len=2048, gpu_memory_utilization=0.5)

    def serve(n):
        answers = engine.generate([{"prompt_token_ids": list(range(10, 10 + n))}], SamplingParams(max_tokens=4, detokenize=False, ignore_eos=True))
        print("tokens", [len(answer.outputs[0].token_ids) for answer in answers])

    def say(when):
        print(when, *engine.collective_rpc(used), flush=True)

    serve(30)
    say("awake")
    engine.sleep(1)
    say("asleep")
    engine.wake_up()
    say("again")
    serve(50)


if __name__ == "__main__":  # vLLM may start this file again in a process of its own
    main(sys.argv[1])
