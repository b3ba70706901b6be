"""set_allocator.py - a program that sets PyTorch's allocator before its first request and afterwards, as vLLM does before it puts memory to sleep."""
import torch

torch.cuda.set_per_process_memory_fraction(0.5)
first = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
torch.cuda.memory._set_allocator_settings("expandable_segments:True")
second = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
torch.cuda.set_per_process_memory_fraction(1.0)
print("reserved", torch.cuda.memory_reserved())
