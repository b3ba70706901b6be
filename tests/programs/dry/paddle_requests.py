"""paddle_requests.py SEED N - N random requests to PaddlePaddle's allocator: the trace requests.txt, and addresses.txt with where each was placed (0: refused).

The strategy and its settings are Paddle's own flags (FLAGS_allocator_strategy=...).
"""
import os
import random
import sys

import paddle

draw = random.Random(int(sys.argv[1]))
live, lines, places = {}, ["# gemem-trace: 1"], []
for number in range(int(sys.argv[2])):
    if live and draw.random() < (0.6 if sum(x.size for x in live.values()) > 2e9 else 0.42):
        key = draw.choice(sorted(live))
        del live[key]
        lines.append(f"free {key}")
    else:
        size = max(1, int(2 ** draw.uniform(0, 27)))
        lines.append(f"alloc {number} size={size}")
        try:
            live[number] = paddle.empty([size], dtype="uint8")
            places.append(f"{number} {live[number].data_ptr():#x}")
        except MemoryError:
            places.append(f"{number} 0x0")
lines.append(f"# end: {len(lines) - 1}")
open("requests.txt", "w").write("\n".join(lines) + "\n")
open("addresses.txt", "w").write("\n".join(places) + "\n")
print("held", paddle.device.cuda.memory_reserved(), flush=True)
os._exit(0)  # before anything is freed
