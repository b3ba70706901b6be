/* trials.h - replays of many settings of one recording, of which those matter that need less than a bound.
 *
 * Why: most settings change nothing for a given program, and others are soon worse.  A recording of ten
 * million events takes a second for each; a proof takes none.
 *
 * Invariants: a result that serves everything and reserves less than the bound is that of its job, replayed
 * by itself to the end.  Nothing depends on the number of threads.
 * Cost: a replay for each job that decides as no other does, an unused allocator for each (rivals.h).
 */
#pragma once

#include "base/macros.h"
#include "sim/engine/replay.h"

GEMEM_BEGIN_DECLS

/* Runs the @n @jobs, which are of one trace, on one device of it; those that search the least capacity run
 * as they are.  A replay ends at the first request that fails, and once it reserves more than @most bytes
 * (0: no bound).
 * @results, @errors: of each job, as gemem_jobs_run() leaves them.  Neither: it decides as a job of which
 * the result fails, or reserves @most or more. */
void gemem_trials_run (const GememJob *jobs, guint n, guint64 most, const GememRunner *runner,
                       GememResult **results, GError **errors);

/* TRUE if @result serves everything with less than @most bytes (0: with any). */
gboolean gemem_trial_matters (const GememResult *result, guint64 most);

GEMEM_END_DECLS
