"""settings.py SEED KINDS: random requests while the program gives its allocator other settings (KINDS: split, round, both, expand); prints what it reserved at most."""
import random
import sys

import torch

random.seed(int(sys.argv[1]))
settings = {'split': ['', 'max_split_size_mb:21', 'max_split_size_mb:64', 'max_split_size_mb:200'],
            'round': ['', 'roundup_power2_divisions:4', 'roundup_power2_divisions:[1:8,16:2,>:1]'],
            'both': ['', 'max_split_size_mb:40,roundup_power2_divisions:8', 'max_split_size_mb:100'],
            'expand': ['expandable_segments:True', 'expandable_segments:False']}[sys.argv[2]]
live = []
torch.zeros(1, device='cuda')
for step in range(600):
    if step % 60 == 30:
        torch.cuda.memory._set_allocator_settings(random.choice(settings))
    if step % 150 == 149:
        torch.cuda.empty_cache()
    if live and random.random() < 0.48:
        live.pop(random.randrange(len(live)))
    else:
        live.append(torch.empty(int(2 ** random.uniform(8, 26)), dtype=torch.uint8, device='cuda'))
print(torch.cuda.max_memory_reserved())
