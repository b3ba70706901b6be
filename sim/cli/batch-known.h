/* batch-known.h - what the runs of a batch came to, for the advice on the same traces: the settings that a page's
 * table tried are not replayed again.
 *
 * Invariant: a result that is given is that of the job that asks.
 */
#pragma once

#include "sim/engine/replay.h"

/* From here to gemem_batch_known_end() the @n @jobs, of held files (GememSourceFile), are known by their
 * @results; NULL: none, or where @left_out, it is known that it needs at least as much as the first job of
 * its trace and device, or fails.  All must outlive that. */
void gemem_batch_known_begin (const GememJob *jobs, guint n, GememResult *const *results,
                              const gboolean *left_out);
void gemem_batch_known_end (void);

/* Runs jobs as gemem_jobs_run() does, as a phase; what is known is not run: it gets another reference of the result,
 * or neither result nor error (sim/search/trials.h). */
void gemem_batch_known_run (const GememJob *jobs, guint n, GememResult **results, GError **errors);
