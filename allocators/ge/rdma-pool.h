/* rdma-pool.h - GE's RdmaPoolAllocator: one device block, obtained once, that is registered for
 * remote direct memory access.
 *
 * What: best fit by (size, address).  A request gets the low part of the block found if it is at
 * most half of it, else the whole.  The pool never grows.
 * Cost: O(log blocks) per request.
 * Origin: ge-runtime.md 6.2.
 */
#pragma once

#include "allocators/ge/block-set.h"

typedef struct
{
  GeBlockSet set;
} GeRdma;

void gemem_ge_rdma_init (GeRdma *rdma, GememDevice *device);
/* Finalize: returns the block to the device, whatever is in use. */
void gemem_ge_rdma_clear (GeRdma *rdma);

/* InitMemory: FALSE if the device refuses (it may be tried again), or if the pool has its memory
 * already. */
gboolean gemem_ge_rdma_init_memory (GeRdma *rdma, guint64 size);
/* NULL when nothing fits. */
GeBinBlock *gemem_ge_rdma_alloc (GeRdma *rdma, guint64 size);
void gemem_ge_rdma_free (GeRdma *rdma, GeBinBlock *block);
