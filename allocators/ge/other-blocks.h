/* other-blocks.h - blocks of `ge` that come from no pool: a device call each (weights, file constants), or host memory.
 *
 * Host memory is new[] of exactly the size in the real system.  Here it has addresses of its own (GEMEM_HOST_ADDRESS), is counted, and costs nothing of
 * the device.  A block is known by its address.  Cost: O(1).  Origin: shared/spec/ge-runtime.md 2.8, 7.2, 8.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/ge/memory-types.h"
#include "sim/core/idmap.h"

typedef struct
{
  guint64 size, stream;
  guint64 type; /* GeMemoryType: HOST, or whatever the block is for */
} GeOtherBlock;

typedef struct
{
  GememDevice *device;
  GememIdMap  *blocks; /* address -> GeOtherBlock */
  guint64      next_host;
  guint64      bytes[GE_MEMORY_TYPES], peak[GE_MEMORY_TYPES], count[GE_MEMORY_TYPES];
} GeOtherBlocks;

void gemem_ge_other_init (GeOtherBlocks *others, GememDevice *device);
void gemem_ge_other_clear (GeOtherBlocks *others);

/* A block of exactly the request; its handle is NULL. */
gboolean gemem_ge_other_alloc (GeOtherBlocks *others, GeMemoryType type, const GememRequest *request, GememBlock *block);
void     gemem_ge_other_free (GeOtherBlocks *others, const GememBlock *block);

/* LIVE spans of those on the device, in no order. */
void gemem_ge_other_walk (const GeOtherBlocks *others, GememSpanFunc func, gpointer data);
/* For each type used so far. */
void gemem_ge_other_stats (const GeOtherBlocks *others, GememStatFunc func, gpointer data);
