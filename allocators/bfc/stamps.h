/* stamps.h - BFC with timestamps: a freed chunk is stamped with a counter, and merges with others
 * only when the safe frontier, the stamp up to which the device has done its work, has passed it.
 * Requests of other streams than the compute stream take only chunks that were safe at the time.
 *
 * Every free adds an entry to a queue.  An entry is dropped when its chunk merges into another, or
 * is in use at the request behind the one that took it; so a chunk that was taken and freed again
 * in between has two, and is tried twice.
 *
 * Invariants: the chunk of an entry is free with a stamp, or is the one taken last; a chunk and its
 * entries know each other.
 * Cost: O(log free chunks) per operation, amortised; a request of another stream passes over the
 * chunks that fit and are not safe.
 * Origin: peers.md 1b.  Private to allocators/bfc.
 */
#pragma once

#include "allocators/bfc/regions.h"

typedef struct _GememBfcStampedChunk GememBfcStampedChunk;
typedef struct _GememBfcEntry GememBfcEntry;

struct _GememBfcEntry
{
  GememBfcStampedChunk *chunk;
  GememBfcEntry *earlier, *later; /* in the queue */
  GememBfcEntry *same;            /* the next of the same chunk */
};

struct _GememBfcStampedChunk
{
  GememNeighbour base;
  guint64 stamp; /* when it was freed last; 0: the frontier passed that, or never */
  GememBfcEntry *entries;
};

typedef struct
{
  GememBfc bfc;
  guint64 counter, frontier;
  GememBfcEntry *first, *last;
  guint64 merged;              /* the frontier up to which chunks were merged */
  GememBfcStampedChunk *taken; /* by the last request */
  GememSlab entry_slab;
} GememBfcStamps;

void gemem_bfc_stamps_init (GememBfcStamps *stamps);
void gemem_bfc_stamps_clear (GememBfcStamps *stamps);
/* Frees @chunk: stamps it, and lets it wait. */
void gemem_bfc_stamp (GememBfc *self, GememNeighbour *chunk);
/* Merges @chunk, which is free, with its free neighbours that have no stamp; returns
 * the merged one. */
GememNeighbour *gemem_bfc_merge_safe (GememBfc *self, GememNeighbour *chunk);
/* The begin of a request: merges what the frontier has passed. */
void gemem_bfc_merge_waiting (GememBfc *self);
/* Merges chunks that wait, one after the other, until one has @size bytes; FALSE: none has. */
gboolean gemem_bfc_force (GememBfc *self, guint64 size);
/* As gemem_bfc_find(), of the chunks with stamps up to @before; 0: of all. */
GememNeighbour *gemem_bfc_find_before (GememBfc *self, guint64 size, guint64 before);
/* The size of the largest free chunk with a stamp up to @before; O(free chunks). */
guint64 gemem_bfc_largest_before (const GememBfc *self, guint64 before);
/* Drops the entries of @chunk. */
void gemem_bfc_forget_stamp (GememBfc *self, GememNeighbour *chunk);
