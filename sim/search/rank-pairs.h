/* rank-pairs.h - two runs of many ranks, rank by rank: which changed, by how much, and in what first.
 *
 * Why: an upgrade that costs one rank of sixty-four its memory is not found by looking at rank 0.
 *
 * Invariants: a row for each rank, in ascending order; a rank that only one run has is said, not left out.
 * Cost: that of a difference for each rank, one at a time.
 */
#pragma once

#include "base/macros.h"
#include "sim/search/diff.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  guint64 rank;
  GememDiff *diff; /* NULL: only one run has it, */
  guint only;      /* the first (0) or the second (1) */
} GememRankPair;

typedef struct
{
  char *names[2]; /* of the runs */
  GArray *pairs;  /* GememRankPair, by rank */
} GememRankPairs;

/* gemem_rank_pairs_free(). */
GememRankPairs *gemem_rank_pairs_new (const char *first, const char *second);
/* The next rank; takes ownership of @diff (NULL: side @only alone has it). */
void gemem_rank_pairs_add (GememRankPairs *pairs, guint64 rank, GememDiff *diff, guint only);
void gemem_rank_pairs_free (GememRankPairs *pairs); /* may be NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememRankPairs, gemem_rank_pairs_free)

/* Appends the verdict, a line for each rank that differs, and what changed first in the one that changed most. */
void gemem_rank_pairs_append (GString *out, const GememRankPairs *pairs);
/* Appends an object with the same fields, and all ranks. */
void gemem_rank_pairs_append_json (GString *out, const GememRankPairs *pairs);

GEMEM_END_DECLS
