"""ranks_barrier.py: rank 0 writes files that the others read behind a barrier, as for data and checkpoints; tests/cli/long-dry-ranks.sh runs it."""
import os
import time

import torch
import torch.distributed as dist

dist.init_process_group('nccl')
rank = dist.get_rank()
torch.cuda.set_device(rank % torch.cuda.device_count())
for i in range(3):
    if rank == 0:
        time.sleep(1)
        torch.save(torch.full((4,), i), 'barrier-%d.pt' % i)
    if i == 1:
        work = dist.barrier(async_op=True)
        assert isinstance(work, dist.Work)
        assert rank == 0 or not work.is_completed()
        work.wait()
        assert work.is_completed()
    else:
        dist.barrier()
    assert torch.load('barrier-%d.pt' % i)[0] == i
print('rank', rank, 'has read')
dist.destroy_process_group()
