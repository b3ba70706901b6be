/* initial.h - events for the memory that a device held before the first event of a profiler
 * trace.
 *
 * The trace does not contain this state; it is derived.  The totals of the first event tell the
 * bytes allocated and reserved before.  A free without an allocation tells address and size of an
 * initial block; all other initial bytes become one block named GEMEM_KINETO_BEFORE.  The addresses
 * of the blocks tell the segments: PyTorch obtains segments of multiples of 2 MiB, aligned to 2
 * MiB, and separate ones for blocks of up to 1 MiB (peers.md 1a).  Reserved bytes beyond these
 * become one segment above all others, with GEMEM_KINETO_BEFORE at its start; where they are too few
 * for it, it lies in the first gap that no block of the file ever uses.
 *
 * Invariants: the blocks add up to the bytes allocated and the segments to the bytes reserved,
 * exactly; every block lies in a segment; blocks do not overlap, and segments do not overlap.  If
 * the file does not tell the bytes reserved, or contradicts itself, only the blocks are delivered
 * and replayed as ordinary requests.
 * Memory: the blocks, and the ranges that the file uses, neighbours merged.
 */
#pragma once

#include "base/slab.h"
#include "base/tree.h"
#include "traces/trace.h"

#define GEMEM_KINETO_BEFORE "before the recording"

typedef struct
{
  GArray *blocks;     /* live before, freed in the file */
  GArray *pages;      /* used by blocks of the file, in segments not obtained in the file */
  GArray *ranges;     /* used by blocks of the file, exactly */
  GHashTable *edges;  /* number of a page -> what is known of its beginning */
  guint merge_at;     /* length of `ranges` at which they are merged next */
  GememTree obtained; /* segments that were obtained in the file */
  GememSlab segments;
  guint64 end; /* highest end address of a block or segment */
  guint64 allocated, reserved;
  gboolean knows_allocated, knows_reserved;
} GememKinetoInitial;

void gemem_kineto_initial_init (GememKinetoInitial *initial);
void gemem_kineto_initial_clear (GememKinetoInitial *initial);
/* Notes a block of the file. */
void gemem_kineto_initial_use (GememKinetoInitial *initial, guint64 address, guint64 size);
/* Adds an initial block, which is freed in the file under @id. */
void gemem_kineto_initial_add (GememKinetoInitial *initial, guint64 id, guint64 address,
                               guint64 size);
/* Notes that @size more bytes were reserved for the block of @block bytes at @address. */
void gemem_kineto_initial_obtain (GememKinetoInitial *initial, guint64 address, guint64 block,
                                  guint64 size);
/* Returns the address of these bytes: that of the block; if they are fewer than the block, a
 * segment grew and they end with the last page of the block. */
guint64 gemem_kineto_obtained_at (guint64 address, guint64 block, guint64 size);
/* Appends the initial state to @events (GememTraceEvent); GEMEM_KINETO_BEFORE takes the next id.
 * Returns the size of that block. */
guint64 gemem_kineto_initial_finish (GememKinetoInitial *initial, guint16 device, guint32 tag,
                                     guint64 *last_id, GArray *events);
