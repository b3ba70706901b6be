"""fake_server.py HOW [LENGTH]: behaves as servers of language models do, without one: a process of it takes memory for a cache, says how many tokens that holds, and waits for requests.

serve    the process refuses a LENGTH of more than 57360 tokens, by vLLM's message, which it logs; the server ends by another error
print    the same; the process does not log it
catch    the server takes half the length then, and goes on
early    the server refuses before any memory is taken
sglang   the server refuses by SGLang's message
end      the server takes memory and ends
other    the process ends by an error that is not about memory
"""
import ctypes
import logging
import multiprocessing
import os
import sys
import time

HELD = 57360
log = logging.getLogger("engine")
log.setLevel(logging.INFO)
log.addHandler(logging.NullHandler())
log.propagate = False


def take(size):
    block = ctypes.c_void_p()
    assert ctypes.CDLL(None).cudaMalloc(ctypes.byref(block), ctypes.c_size_t(size)) == 0


def refuse(length):
    raise ValueError(
        "To serve at least one request with the model's max seq len (%d), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (7.0 GiB). "
        "Based on the available memory, the estimated maximum model length is %d. Try increasing `gpu_memory_utilization`." % (length, HELD)
    )


def engine(how, length, ready):
    take(1 << 30)
    log.info("GPU KV cache size: %s tokens", format(HELD, ","))
    if how == "other":
        raise KeyError("no tokens of that name")
    try:
        length <= HELD or refuse(length)
    except ValueError:
        how == "print" or log.exception("the engine failed to start")
        raise
    ready.send(True)
    time.sleep(600)


def start(how, length):
    """Starts the process; False: it has ended."""
    context = multiprocessing.get_context("spawn")
    ready, to_us = context.Pipe(duplex=False)
    child = context.Process(target=engine, args=(how, length, to_us), daemon=True)
    child.start()
    to_us.close()
    try:
        return ready.recv()
    except EOFError:
        child.join()
        return False


def main(how, length):
    if how == "early":
        raise ValueError("Free memory on device cuda:0 (20.0/23.52 GiB) on startup is less than desired GPU memory utilization (0.95, 22.34 GiB).")
    if how == "sglang":
        take(1 << 30)
        raise RuntimeError("Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.5")
    if how == "end":
        return take(1 << 30)
    if not start(how, length) and not (how == "catch" and start(how, length // 2)):
        raise RuntimeError("Engine core initialization failed. See root cause above.")
    print("pid %d\nthe server is rea" % os.getpid(), end="", flush=True)
    time.sleep(0.3)
    print("dy", flush=True)
    print("it waits", file=sys.stderr)
    time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
