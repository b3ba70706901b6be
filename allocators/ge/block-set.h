/* block-set.h - idle blocks ordered by size and address: what GE's allocators from before the
 * ScalableAllocator are made of.
 *
 * What: a request is cut from the low end of the block found if it is at most half of that block,
 * else it gets the whole.  Free neighbours merge.  A device block is returned only by
 * gemem_ge_block_set_release(), if it is one free block.  Blocks belong to a bin (the tree's group)
 * and are searched within it.
 * Why one set for all bins: bins differ only in how much they ask of the device; one tree of device
 * blocks makes the walk ordered.
 * Invariants: the blocks of a root cover it; no two neighbours are free; `idle` holds exactly the
 * free blocks; `obtained` is the sum of the roots.  The first block of a root is a member of it and
 * exists as long as the root, since a block absorbs those after it.
 * Cost: O(log blocks) per request; no heap allocation per event; 64 bytes per block.
 * Origin: ge-runtime.md 6.1, 6.2.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/slab.h"
#include "base/tree.h"

#define GE_BLOCK_UNIT 512 /* sizes are multiples of it */

typedef struct _GeBinBlock GeBinBlock;
struct _GeBinBlock
{
  GememTreeNode node;      /* key (bin, size, address), kept while it is out of the set too */
  GeBinBlock *prev, *next; /* of the same root, by address */
  gboolean occupied;
};

/* A block of the device, and the first of the blocks cut from it. */
typedef struct
{
  GeBinBlock first;
  GememTreeNode by_address; /* key (0, 0, address) */
  guint64 bytes, stream;
} GeBinRoot;

typedef struct
{
  GememDevice *device;
  GememTree idle, roots;
  GememSlab block_slab, root_slab;
  guint64 obtained; /* bytes of the roots */
  guint64 occupied; /* bytes of allocated blocks */
} GeBlockSet;

void gemem_ge_block_set_init (GeBlockSet *set, GememDevice *device);
/* Returns everything to the device, blocks in use too. */
void gemem_ge_block_set_clear (GeBlockSet *set);

/* @bytes rounded up to units, one at least; 0: more than can be counted. */
guint64 gemem_ge_block_round (guint64 bytes);

/* Adds a free block of @bytes to @bin, from the device for @stream.  FALSE: refused. */
gboolean gemem_ge_block_set_grow (GeBlockSet *set, guint64 bin, guint64 bytes, guint64 stream);
/* The first block of @bin not below (@size, @hint), or its low part if @size is at most half of it;
 * NULL if there is none. */
GeBinBlock *gemem_ge_block_set_take (GeBlockSet *set, guint64 bin, guint64 size, guint64 hint);
void gemem_ge_block_set_give (GeBlockSet *set, GeBinBlock *block);
/* What alloc() of a class answers for @found; NULL counts as a failure. */
static inline gboolean
gemem_ge_block_set_answer (GeBinBlock *found, GememBlock *block, guint64 *failures)
{
  if (found == NULL)
    ++*failures;
  else
    *block = (GememBlock){ .address = found->node.address,
                           .size = found->node.size,
                           .handle = found };
  return found != NULL;
}

/* Member of the classes whose blocks are of a set: fetches the neighbours, which give() may merge
 * the block with. */
void gemem_ge_block_set_prefetch (GememAllocator *allocator, const GememBlock *block);
/* Returns the roots of bins @from to @to that are one free block to the device, in the order of the
 * set; answers how many bytes. */
guint64 gemem_ge_block_set_release (GeBlockSet *set, guint64 from, guint64 to);

/* The largest multiple of GE_BLOCK_UNIT that take() would find with the same @hint; 0: none. */
guint64 gemem_ge_block_set_largest (const GeBlockSet *set, guint64 bin, guint64 hint);
void gemem_ge_block_set_walk (const GeBlockSet *set, GememSpanFunc func, gpointer data);
/* GEMEM_ERROR_INVARIANT; @what names the allocator. */
gboolean gemem_ge_block_set_check (const GeBlockSet *set, const char *what, GError **error);
