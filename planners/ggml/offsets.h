/* offsets.h - ggml's offset allocator: where a piece of memory lies in a few growing chunks.
 *
 * Why: the planner and the allocator `ggml-alloc` decide with it; it asks no device.
 *
 * A piece takes the smallest hole that suffices, of equal ones the highest, in the last chunk that
 * has one; the hole with the highest offset of each chunk, which mostly is its unused end, comes
 * only then: first the one that fits tightest without growth, else the one that grows least.
 * Without any there is a new chunk.  The real array holds 256 holes a chunk, and the real program
 * ends at one more; here `too_many` counts them.
 *
 * Invariants: pieces and holes cover each chunk in the order of offsets, and no two holes touch;
 * `by_size` has every hole but the last of each chunk, `by_offset` those of bounded chunks.
 * Cost: O(chunks x log holes) to allocate, O(log holes) to free.
 * Origin: peers.md section 1l.1.
 */
#pragma once

#include "base/params.h"
#include "base/slab.h"
#include "base/tree.h"

#define GGML_CHUNKS 16
#define GGML_HOLES 256
#define GGML_ENDLESS ((guint64) G_MAXINT64)

typedef struct _GgmlPiece GgmlPiece;
struct _GgmlPiece
{
  GememTreeNode node; /* group: chunk; in by_size address is the complement of the offset */
  GememTreeNode place;
  guint64 offset;
  GgmlPiece *previous, *next;
  gboolean free;
  gboolean pending; /* for the user of a piece; FALSE in a new one */
};

typedef struct
{
  guint64 high;    /* end of the highest piece so far: the bytes that the chunk needs */
  GgmlPiece *last; /* the hole with the highest offset; NULL: there is none */
  GgmlPiece *first;
  guint32 holes;
  gboolean bounded; /* its end can be reached */
} GgmlChunk;

typedef struct
{
  guint64 alignment, max_chunk;
  guint32 n_chunks;
  GgmlChunk chunks[GGML_CHUNKS];
  guint64 too_many; /* times a chunk had more holes than the real one can */
  GememTree by_size, by_offset;
  GememSlab slab;
} GgmlOffsets;

/* @alignment: of offsets and sizes, a power of two; @max_chunk: bytes of a chunk unless one piece
 * needs more, GGML_ENDLESS at most. */
void gemem_ggml_offsets_init (GgmlOffsets *offsets, guint64 alignment, guint64 max_chunk);
void gemem_ggml_offsets_clear (GgmlOffsets *offsets);
/* A piece of @n bytes, rounded up, in chunk `node.group` at `offset`; NULL: @n is beyond 2^62. */
GgmlPiece *gemem_ggml_offsets_alloc (GgmlOffsets *offsets, guint64 n);
/* Frees @piece. */
void gemem_ggml_offsets_free (GgmlOffsets *offsets, GgmlPiece *piece);
/* Bytes of all chunks. */
guint64 gemem_ggml_offsets_total (const GgmlOffsets *offsets);
/* Checks the invariants; O(n). */
gboolean gemem_ggml_offsets_check (const GgmlOffsets *offsets);

/* ---- params.c: the settings that the planner and the allocator `ggml-alloc` share */

typedef struct
{
  guint64 alignment;
  guint64 max_chunk; /* 0: none */
} GgmlParams;

extern const GememParam gemem_ggml_params[];

/* FALSE if the alignment is no power of two.  GEMEM_ERROR_USAGE, without the name of the owner. */
gboolean gemem_ggml_params_check (const GgmlParams *params, GError **error);
/* As gemem_ggml_offsets_init() takes it. */
guint64 gemem_ggml_params_max_chunk (const GgmlParams *params);
