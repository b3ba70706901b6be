/* ranks.h - recordings of the processes of one run beside each other: which one decides, and in what the others are
 * off it.
 *
 * Why: a job of many ranks dies by the rank that needs most; whether that one is special, and by which line, is not
 * seen in one recording at a time.
 *
 * Invariants: a row for each recording, in the order given; the one that decides is the first that failed, else the
 * first of those that hold most, of these of those with most in use.
 * Cost: a replay for each device of each recording, and two passes of each for who holds the memory.
 */
#pragma once

#include "base/macros.h"
#include "sim/search/diff.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  const char *name;
  GememResult *result;
  GememHolders *holders;
  GArray *
      rows; /* GememDiffRow: lines in which it differs from the one that decides, which is the first of the two */
} GememRank;

typedef struct
{
  GememRank *ranks;
  guint n, deciding;
  gboolean lines; /* all have call stacks; else rows are by size */
} GememRanks;

/* Of @n @needs, whose results are not set.  NULL with GEMEM_ERROR_INPUT, GEMEM_ERROR_USAGE.  gemem_ranks_free(). */
GememRanks *gemem_ranks (GememNeed *needs, guint n, const GememNeedOptions *options,
                         GError **error);
void gemem_ranks_free (GememRanks *ranks); /* may be NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememRanks, gemem_ranks_free)

/* Appends the verdict and a line for each rank, of at most 100 columns. */
void gemem_ranks_append (GString *out, const GememRanks *ranks);
/* Appends an object with the same fields. */
void gemem_ranks_append_json (GString *out, const GememRanks *ranks);

GEMEM_END_DECLS
