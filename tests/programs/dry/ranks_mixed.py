"""ranks_mixed.py - collectives of the host (gloo) beside those of the GPU (NCCL), for one rank alone: ranks_mixed.py"""
import torch
import torch.distributed as dist

torch.cuda.set_device(0)
dist.init_process_group("cpu:gloo,cuda:nccl")
on_host, on_gpu, objects = torch.tensor([3]), torch.tensor([3], device="cuda"), [None] * dist.get_world_size()
dist.all_reduce(on_host)
dist.all_reduce(on_gpu)
dist.all_gather_object(objects, "own")
dist.new_group([0, 1, 2, 3], backend="gloo")
dist.barrier()
print(on_host.item(), on_gpu.item(), objects)
dist.destroy_process_group()
