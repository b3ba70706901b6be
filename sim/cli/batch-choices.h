/* batch-choices.h - runs what a program could choose: what is no choice is not replayed to the end.
 *
 * Invariant: the rows that are left are those of the runs made one by one (choices.h).
 */
#pragma once

#include "sim/engine/replay.h"

/* Runs the jobs of @list, groups of @group for each trace and device, of which the first has what the
 * program has now; on @threads threads.  @results, @errors: of each; neither: it is no choice. */
void gemem_batch_choices_run (const GArray *list, guint group, guint threads, GememResult **results,
                              GError **errors);
