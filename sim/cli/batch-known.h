/* batch-known.h - what the runs of a batch came to, for the advice on the same traces: the settings that a page's
 * table tried are not replayed again.
 *
 * Invariant: a result that is given is that of the job that asks.
 */
#pragma once

#include "sim/engine/replay.h"

typedef struct
{
  const GememJob *jobs; /* of held files (GememSourceFile); nothing here is owned */
  guint n;
  GememResult *const *results; /* of each; NULL: none */
  /* ... or it is known that it needs at least as much as the first job of its trace and device, or fails */
  const gboolean *left_out;
} GememBatchKnown;

/* Runs jobs as a phase; what is known is not run: it gets another reference of the result, or neither result
 * nor error (sim/search/trials.h). */
GememRunner gemem_batch_known_runner (const GememBatchKnown *known);
