/* pool.h - what Umpire's QuickPool and DynamicPoolList have in common: blocks of the device, cut
 * into chunks.
 *
 * Requests are rounded up to the alignment.  The smallest chunk that suffices serves a request and
 * is cut at its size; without one the device is asked for a block, of at least `first` bytes when
 * the pool is empty and of at least `next` bytes otherwise.  Each device call is one alignment
 * longer than the block, whose start is rounded up.  A freed chunk merges with its neighbours in
 * its block.  Blocks that are whole and free again ("releasable") return to the device when the
 * program releases the pool, before a request fails, and when a heuristic says after a free that
 * the pool should coalesce: what it released it then asks for again, as one block.
 *
 * The two pools differ in the order of chunks of equal size, and in when coalescing ends.
 *
 * Invariants: the chunks of a block cover it in order of address, and no two neighbours are free;
 * the tree has exactly the free chunks; `releasable` has exactly the free chunks that are a whole
 * block.
 * Cost: O(log free chunks) per operation, O(log) for each block released.
 * Origin: peers.md section 1k.
 */
#pragma once

#include "allocators/neighbours.h"
#include "allocators/umpire/heuristic.h"

typedef struct
{
  guint64 first, next, alignment;
  char *coalesce;
} UmpireParams;

extern const GememParam gemem_umpire_params[];

typedef struct _UmpireChunk UmpireChunk;

/* What one call of the device gave. */
typedef struct
{
  GememTreeNode by_address; /* address: as the device gave it */
  GememTreeNode releasable; /* in the tree while whole and free, in the order of release */
  guint64 size;             /* without the bytes for the alignment */
  UmpireChunk *first;
} UmpireBlock;

struct _UmpireChunk
{
  GememNeighbour part; /* in the tree node.address orders chunks of one size */
  guint64 address;
  UmpireBlock *block;
};

typedef struct
{
  GememAllocator base;
  UmpireParams params; /* without the text */
  UmpireHeuristic heuristic;
  guint64 least_blocks; /* releasable ones; with fewer the heuristic does not hit */
  gboolean by_age;      /* chunks of equal size: the one that became free first, else the lowest */
  guint64 aligned;      /* rounded bytes in use */
  guint64 aligned_high; /* most of them */
  guint64 actual;       /* bytes of all blocks */
  guint64 actual_high;  /* most of them */
  guint64 releasable_now; /* bytes of the blocks in `releasable` */
  guint64 age;            /* chunks that became free so far */
  guint64 chunks;
  GememTree free, blocks, releasable;
  GememSlab chunk_slab, block_slab;
} UmpirePool;

/* Allocates @n bytes, at least 1; NULL: out of memory. */
UmpireChunk *gemem_umpire_take (UmpirePool *pool, guint64 n);
/* Frees @chunk without asking the heuristic. */
void gemem_umpire_put (UmpirePool *pool, UmpireChunk *chunk);
/* Returns every block that is whole and free; TRUE if there was one. */
gboolean gemem_umpire_release (UmpirePool *pool);
/* Releases, and makes up for what is missing to @bytes with one block, which is then free.  FALSE:
 * nothing was missing, or the device refused, which ends the real program and marks the run. */
gboolean gemem_umpire_coalesce (UmpirePool *pool, guint64 bytes);
/* What the heuristic says now. */
guint64 gemem_umpire_suggestion (const UmpirePool *pool, gboolean all_free);

/* Members of the class. */
gboolean gemem_umpire_alloc (GememAllocator *allocator, const GememRequest *request,
                             GememBlock *block);
void gemem_umpire_trim (GememAllocator *allocator);
guint64 gemem_umpire_largest_free (GememAllocator *allocator, guint64 stream);
void gemem_umpire_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_umpire_check (GememAllocator *allocator, GError **error);
void gemem_umpire_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
/* create() of both; @by_age as in UmpirePool. */
GememAllocator *gemem_umpire_create (const GememAllocatorClass *klass, gconstpointer given,
                                     GememDevice *device, gboolean by_age, GError **error);
void gemem_umpire_destroy (GememAllocator *allocator);
