/* holders.h - which streams hold a block, and what each stream knows of it: the counts and the bit
 * matrix of GE's MultiStreamMemBlock.
 *
 * What: a count per stream, and a bit V[observer][t]: as far as stream `observer` knows, stream t
 * still holds the block.  An access sets column t in every row; when the last hold of s ends, only
 * s knows of it; events copy knowledge from row to row.
 * Why two forms: few programs have more than 8 streams, and then the matrix is one word and an
 * operation takes a few instructions.  A block that a stream with a higher number accesses gets the
 * wide form, from a slab, until it is recycled; at most 64 streams.
 * Invariants: every row has the bits of all streams that hold the block, and no bit of a stream
 * that never did; a row of zeros means that no stream holds it.  Zeroed memory is a block that no
 * stream holds.
 * Cost: O(1) narrow, O(64) wide.
 * Origin: ge-runtime.md 2.4.
 */
#pragma once

#include <glib.h>

#include "base/slab.h"

#define GE_STREAMS_MAX 64
#define GE_STREAMS_NARROW 8

typedef struct
{
  guint64 rows[GE_STREAMS_MAX];
  guint32 counts[GE_STREAMS_MAX];
} GeWideHolders;

typedef struct
{
  guint64 holding; /* bit t: stream t holds the block */
  guint64 total;   /* of all counts */
  guint64 touched; /* bit t: it did, at some time since init */
  guint64 matrix;  /* byte s is the row of stream s; unless wide */
  guint32 counts[GE_STREAMS_NARROW];
  GeWideHolders *wide; /* or NULL */
} GeHolders;

/* Forgets everything; @wide: a slab of GeWideHolders. */
void gemem_ge_holders_reset (GeHolders *holders, GememSlab *wide);
/* NewAccessStream. */
void gemem_ge_holders_access (GeHolders *holders, guint stream, GememSlab *wide);
/* One hold of @stream ends; TRUE: it was the last one of that stream. */
gboolean gemem_ge_holders_release (GeHolders *holders, guint stream);
/* All holds of @stream end; it had some. */
void gemem_ge_holders_release_all (GeHolders *holders, guint stream);
/* What stream @from knows, @to knows too. */
void gemem_ge_holders_tell (GeHolders *holders, guint from, guint to, GememSlab *wide);
/* What any stream knows, @to knows too. */
void gemem_ge_holders_tell_all (GeHolders *holders, guint to, GememSlab *wide);

/* The streams that hold the block as far as @observer knows. */
static inline guint64
gemem_ge_holders_row (const GeHolders *holders, guint observer)
{
  if (G_UNLIKELY (holders->wide != NULL))
    return holders->wide->rows[observer];
  return observer < GE_STREAMS_NARROW ? holders->matrix >> (8 * observer) & 0xff : holders->touched;
}

static inline guint32
gemem_ge_holders_count (const GeHolders *holders, guint stream)
{
  if (G_UNLIKELY (holders->wide != NULL))
    return holders->wide->counts[stream];
  return stream < GE_STREAMS_NARROW ? holders->counts[stream] : 0;
}
