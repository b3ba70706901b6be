/* regions.h - what the BFC allocators share: regions of the device, cut into chunks, best fit over
 * all free ones, merging of neighbours.  TensorFlow's and ONNX Runtime's have one ancestor; they
 * differ in how they grow and in what they return.
 *
 * The real allocators search 21 bins of free chunks by powers of two, in each by (size, address);
 * that is the order of one tree over all.
 *
 * Invariants: the chunks of a region cover it in order of address, no two neighbours are free; the
 * tree has exactly the free chunks; `pool` is the sum of the regions and at most the limit.
 * Cost: O(log free chunks) per operation; one record per region is allocated on the host.
 * Origin: peers.md 1b.  Private to allocators/bfc.
 */
#pragma once

#include "allocators/neighbours.h"

#define BFC_QUANTUM G_GUINT64_CONSTANT (256)

typedef struct
{
  guint64 address, size;
  guint id; /* number of regions that there were when it was added */
  GememNeighbour *first;
} GememBfcRegion;

/* The parts of a region in order of address, groups of the nodes of its chunks; all is lower unless it
 * is partitioned (partition.c). */
typedef enum
{
  BFC_LOWER,
  BFC_GAP,
  BFC_UPPER
} GememBfcPart;

typedef struct _GememBfc GememBfc;
struct _GememBfc
{
  GememAllocator base;
  guint64 limit;
  guint64 max_waste;       /* from here on what a chunk has too much is cut off */
  guint64 next_region;     /* bytes to ask for next, unless it must be more */
  guint64 pool, peak_pool; /* bytes of regions */
  guint64 live, peak_live, largest, allocations, shrinkages; /* statistics */
  gboolean coalesces;                                        /* regions that adjoin become one */
  gboolean stamped; /* chunks are GememBfcStampedChunk, and free ones may stay beside one another */
  /* merges a chunk and adds it to the free ones; NULL: with its neighbours, as they are */
  void (*rejoin) (GememBfc *self, GememNeighbour *chunk);
  GememTree free;
  GememSlab chunk_slab;
  GArray *regions;         /* GememBfcRegion, by address */
  GArray *grants;          /* allocations of the device, by address */
  GememNeighbour *adopted; /* the chunk adopted last, while a recorded state is taken over */
};

void gemem_bfc_init (GememBfc *self, const GememAllocatorClass *klass, GememDevice *device,
                     gsize chunk_size);
static inline GememBfcRegion *
gemem_bfc_region (const GememBfc *self, guint i)
{
  return &g_array_index (self->regions, GememBfcRegion, i);
}
/* The bytes that the limit leaves, in whole quanta. */
guint64 gemem_bfc_available (const GememBfc *self);
/* Adds @chunk to the free ones, as it is. */
void gemem_bfc_insert_free (GememBfc *self, GememNeighbour *chunk);
/* Takes the free chunk of @node, cut down to @size bytes where that is worth it.  *@rest: what was
 * cut off; NULL: nothing. */
static inline GememNeighbour *
gemem_bfc_take (GememBfc *self, GememTreeNode *node, guint64 size, GememNeighbour **rest)
{
  GememNeighbour *chunk = GEMEM_NEIGHBOUR_OF (node);

  *rest = NULL;
  if (node->size == size
      || (node->size / 2 < size && node->size - size < self->max_waste)) /* not worth a cut */
    {
      gemem_tree_remove (&self->free, node);
      chunk->free = FALSE;
    }
  else
    *rest = gemem_neighbours_take_low (chunk, size, &self->free, &self->chunk_slab);
  return chunk;
}

/* The smallest free chunk with @size bytes, the lowest among equals, cut where that is worth it; no
 * longer free.  NULL: none. */
static inline GememNeighbour *
gemem_bfc_find (GememBfc *self, guint64 size)
{
  GememTreeNode *node = gemem_tree_fit (&self->free, 0, size);
  GememNeighbour *rest;

  return node != NULL ? gemem_bfc_take (self, node, size, &rest) : NULL;
}

/* @chunk serves a request. */
static inline void
gemem_bfc_hand_over (GememBfc *self, GememNeighbour *chunk, GememBlock *block)
{
  self->allocations++;
  self->live += chunk->node.size;
  self->peak_live = MAX (self->peak_live, self->live);
  self->largest = MAX (self->largest, chunk->node.size);
  *block = (GememBlock){ chunk->node.address, chunk->node.size, chunk };
}

/* Doubles next_region until it holds @size bytes; TRUE if it grew. */
gboolean gemem_bfc_reach (GememBfc *self, guint64 size);
/* Asks the device for a region of @wanted bytes; refused, for 0.9 of that in the precision of the
 * real systems, and so on while it has @size and @least bytes.  FALSE: refused. */
gboolean gemem_bfc_add_region (GememBfc *self, guint64 wanted, guint64 size, guint64 least);
/* TRUE if no chunk of @region is in use. */
gboolean gemem_bfc_is_idle (const GememBfcRegion *region);
/* Returns region @i, which is idle, to the device. */
void gemem_bfc_release_region (GememBfc *self, guint i);

/* Functions of the classes. */
void gemem_bfc_free (GememAllocator *allocator, const GememBlock *block,
                     gboolean completion_follows);
guint64 gemem_bfc_largest_free (GememAllocator *allocator, guint64 stream);
void gemem_bfc_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
gboolean gemem_bfc_adopt_segment (GememAllocator *allocator, const GememAdopt *segment);
gboolean gemem_bfc_adopt_block (GememAllocator *allocator, const GememAdopt *adopt,
                                GememBlock *block);
void gemem_bfc_adopt_done (GememAllocator *allocator);
gboolean gemem_bfc_check (GememAllocator *allocator, GError **error);
void gemem_bfc_destroy (GememAllocator *allocator);

/* ---- partition.c */

/* A chunk of @size bytes for @end, BFC_LOWER or BFC_UPPER, no longer free; NULL: none.  The lower end
 * cuts where that is worth it, the upper one always, and takes the upper bytes. */
GememNeighbour *gemem_bfc_find_at (GememBfc *self, GememBfcPart end, guint64 size);
/* `rejoin` of a partitioned allocator: @chunk is new or no longer live. */
void gemem_bfc_rejoin (GememBfc *self, GememNeighbour *chunk);
