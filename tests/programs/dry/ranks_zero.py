"""ranks_zero.py: ZeroRedundancyOptimizer, whose states (more than a store takes at once) rank 0 collects, and gradients compressed by a hook; tests/cli/long-dry-ranks.sh runs it."""
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group('nccl')
rank = dist.get_rank()
torch.cuda.set_device(rank % torch.cuda.device_count())
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU()) for _ in range(4)]).cuda()
model = DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
model.register_comm_hook(powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-3)
for _ in range(4):
    model(torch.randn(64, 1024, device='cuda')).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
optimizer.consolidate_state_dict(0)
if rank == 0:
    assert len(optimizer.state_dict()['state']) == 8
print('rank', rank, 'peak', torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
dist.destroy_process_group()
