/* standings.h - how labels stand over several inputs: the geometric mean of what each took of each.
 *
 * Why: bytes of different programs do not add up, so an overhead counts (a ratio), and its geometric mean,
 * with which twice here and half there are even.
 *
 * Invariants: a mean is only of labels that served every input; others stand last.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  const char *label, *where; /* the input with the largest overhead; NULL: none served */
  gboolean real;             /* a running program could have it */
  guint runs, served;
  double most, logs; /* largest overhead; sum of the logarithms of overheads */
} GememStanding;

/* An empty array of GememStanding; g_array_unref(). */
GArray *gemem_standings_new (void);
/* Adds that @label has @overhead (0: it failed) on @where; both are borrowed. */
void gemem_standings_add (GArray *standings, const char *label, const char *where, gboolean real,
                          double overhead);
/* Drops labels that not every one of @inputs has, and sorts, the best first.  FALSE: fewer than two are left of
 * either. */
gboolean gemem_standings_finish (GArray *standings, guint inputs);
/* The geometric mean of those that were served; at least one was. */
double gemem_standing_mean (const GememStanding *standing);

GEMEM_END_DECLS
