#!/usr/bin/env python3
"""serving.py - generate() of the package transformers, with a model's config alone: no weights are needed, and none are read.

    gemem-dry-run --gpu rtx4090 --fit 'BATCH=1..64' -- python serving.py config.json --batch BATCH --prompt 4096 --new 128
    gemem-dry-run --gpu rtx4090 --fit 'N=1024,4096,16384' -- python serving.py config.json --prompt N    # which context

CONFIG is the file config.json of a model, or its folder: what transformers' AutoConfig reads.  The model is made on the
GPU, in the type that the config names or --dtype.  All requests of the batch have the same length: this is the static
batch that generate() serves, not a server's (vLLM), whose cache takes what is left of the memory.

Prints how many tokens had keys and values at the end: --batch times what was read and made.
"""
import argparse
import os

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def read():
    parser = argparse.ArgumentParser(description="generate() with a model's config alone")
    parser.add_argument("config", help="config.json, or its folder")
    parser.add_argument("--batch", type=int, default=1, help="sequences at once")
    parser.add_argument("--prompt", type=int, default=1024, help="tokens of each prompt")
    parser.add_argument("--new", type=int, default=16, help="tokens that each sequence gets")
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--cache", default=None, help="implementation of the cache: dynamic (default), static, quantized, ...")
    parser.add_argument("--dtype", default=None, help="bfloat16, float16, float32: instead of the config's")
    return parser.parse_args()


def make(path, dtype):
    config = AutoConfig.from_pretrained(os.path.dirname(os.path.abspath(path)) if os.path.isfile(path) else path)
    dtype = dtype or getattr(config, "dtype", None) or getattr(config, "torch_dtype", None) or "bfloat16"
    with torch.device("cuda"):
        return AutoModelForCausalLM.from_config(config, dtype=getattr(torch, str(dtype).rpartition(".")[2])).eval()


def main():
    options = read()
    model = make(options.config, options.dtype)
    words = model.config.get_text_config().vocab_size
    prompt = torch.randint(words, (options.batch, options.prompt), device="cuda")
    with torch.no_grad():
        made = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=options.new,
            min_new_tokens=options.new,
            num_beams=options.beams,
            do_sample=False,
            cache_implementation=options.cache,
            pad_token_id=0,
        )
    print("KV tokens", options.batch * options.beams * (made.shape[1] - 1))
    print("peak reserved", torch.cuda.max_memory_reserved())


main()
