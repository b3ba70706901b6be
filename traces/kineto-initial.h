/* kineto-initial.h - what a device held before the first event of a profiler trace, as events.
 *
 * A trace does not say it, but it follows: how much was allocated and reserved, from the totals of
 * the first event; the blocks that are freed without having been allocated, address and size, from
 * their frees; all others are one block called GEMEM_KINETO_BEFORE. Where memory was reserved
 * follows from where the blocks of the file lie: PyTorch obtains segments of whole 2 MiB at such
 * addresses, those for blocks of up to 1 MiB apart from the rest (peers.md 1a).  What was reserved
 * beyond that is one segment above them all, with GEMEM_KINETO_BEFORE at its beginning.
 *
 * Invariants: the blocks have what was allocated, the segments what was reserved, to the byte;
 * every block lies in a segment, and no two of either overlap.  Where the file does not tell what
 * was reserved, or contradicts itself, there are only the blocks, which are requested then like any
 * other.
 * Memory: the blocks, and the pages that the file uses, with neighbours in one.
 */
#pragma once

#include "base/slab.h"
#include "base/tree.h"
#include "traces/trace.h"

#define GEMEM_KINETO_BEFORE "before the recording"

typedef struct
{
  GArray *blocks;     /* live before, freed in the file */
  GArray *pages;      /* used in the file, and not obtained in it */
  guint merge_at;     /* so many of `pages` are merged */
  GememTree obtained; /* segments that were obtained in the file */
  GememSlab segments;
  guint64 end; /* of the highest address */
  guint64 allocated, reserved;
  gboolean knows_allocated, knows_reserved;
} GememKinetoInitial;

void gemem_kineto_initial_init (GememKinetoInitial *initial);
void gemem_kineto_initial_clear (GememKinetoInitial *initial);
/* A block of the file lies here. */
void gemem_kineto_initial_use (GememKinetoInitial *initial, guint64 address, guint64 size);
/* A block lay here from before, and is freed in the file under @id. */
void gemem_kineto_initial_add (GememKinetoInitial *initial, guint64 id, guint64 address,
                               guint64 size);
/* @size bytes more were reserved for the block at @address of @block bytes. */
void gemem_kineto_initial_obtain (GememKinetoInitial *initial, guint64 address, guint64 block,
                                  guint64 size);
/* Where these bytes are: from the block on; or, if they are less than it, to its end, where a
 * segment grew. */
guint64 gemem_kineto_obtained_at (guint64 address, guint64 block, guint64 size);
/* Appends the initial state to @events (GememTraceEvent); GEMEM_KINETO_BEFORE gets the next id.
 * Returns the bytes of that block. */
guint64 gemem_kineto_initial_finish (GememKinetoInitial *initial, guint16 device, guint32 tag,
                                     guint64 *last_id, GArray *events);
