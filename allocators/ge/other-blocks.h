/* other-blocks.h - blocks of `ge` that come from no stack of pools: a device call each (weights,
 * file constants), the session's range of variables, the RDMA pool, or host memory.
 *
 * Host memory is new[] of exactly the size in the real system.  Here it has addresses of its own
 * (GEMEM_HOST_ADDRESS) and is counted, but takes nothing of the device.  Blocks are found by their
 * address.
 * `exact`: a block of HBM that is freed is kept for a request of the same stream and size, until the
 * device refuses memory or the program asks for it.  That is mode 0 by the manual's word, "based on
 * the actual size"; that blocks of other sizes do not serve is our choice, without which the manual's
 * "fragment problem" could not be.
 * Cost: O(1); exact: O(log idle blocks).
 * Origin: ge-runtime.md 2.8, 7.2, 8.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/ge/memory-types.h"
#include "allocators/ge/rdma-pool.h"
#include "allocators/ge/variables.h"
#include "base/idmap.h"
#include "base/tree.h"

typedef struct
{
  guint64 size, stream;
  guint64 type;    /* GeMemoryType; HBM: of an external allocator */
  gpointer handle; /* of the RDMA pool or the variables */
} GeOtherBlock;

typedef struct
{
  GememDevice *device;
  GememIdMap *blocks; /* address -> GeOtherBlock */
  GeRdma rdma;
  guint64 rdma_size;
  GeVariables variables;
  gboolean exact;
  GememTree idle; /* GememTreeNode of idle_slab, by stream: blocks that are kept */
  GememSlab idle_slab;
  guint64 retries;
  guint64 next_host;
  guint64 bytes[GE_MEMORY_TYPES], peak[GE_MEMORY_TYPES], count[GE_MEMORY_TYPES];
} GeOtherBlocks;

typedef struct
{
  guint64 rdma_size; /* bytes of the RDMA pool, taken with the first request of it */
  guint64 variable_page;
  Ge1gOption variable_option;
  guint64 total; /* addresses to reserve for variables */
  gboolean exact;
} GeOtherOptions;

void gemem_ge_other_init (GeOtherBlocks *others, GememDevice *device,
                          const GeOtherOptions *options);
void gemem_ge_other_clear (GeOtherBlocks *others);

/* A block of exactly the request, or what the RDMA pool and the variables make of it; its handle is
 * NULL. */
gboolean gemem_ge_other_alloc (GeOtherBlocks *others, GeMemoryType type,
                               const GememRequest *request, GememBlock *block);
void gemem_ge_other_free (GeOtherBlocks *others, const GememBlock *block);
/* Returns what is kept to the device. */
void gemem_ge_other_trim (GeOtherBlocks *others);

/* Bytes of the largest block that is kept for @stream; 0: none.  O(log idle blocks). */
guint64 gemem_ge_other_largest_idle (const GeOtherBlocks *others, guint64 stream);

/* The blocks on the device, and what the RDMA pool and the variables have beside them; in no
 * order. */
void gemem_ge_other_walk (const GeOtherBlocks *others, GememSpanFunc func, gpointer data);
gboolean gemem_ge_other_check (const GeOtherBlocks *others, const char *name, GError **error);
/* For each type used so far. */
void gemem_ge_other_stats (const GeOtherBlocks *others, GememStatFunc func, gpointer data);
