/* batch-choices.c - see batch-choices.h.
 *
 * First what each program has now, all at once; then for each the others, which end or are settled by a
 * proof where they need as much (sim/search/trials.h).  A program that fails now is another question: what
 * serves more of it counts, so all is replayed.
 */
#include "config.h"

#include "sim/cli/batch-choices.h"
#include "sim/cli/progress.h"
#include "sim/cli/source.h"
#include "sim/search/trials.h"

static void
run_jobs (gconstpointer threads, const GememJob *jobs, guint n, GememResult **results,
          GError **errors)
{
  gemem_progress_run_jobs ("replaying", jobs, n, *(const guint *) threads, gemem_source_path_of_job,
                           results, errors);
}

/* The first job of each group. */
static void
run_now (const GememRunner *runner, const GememJob *jobs, guint n, guint group,
         GememResult **results, GError **errors)
{
  g_autofree GememJob *now = g_new (GememJob, n);
  g_autofree GememResult **found = g_new0 (GememResult *, n);
  g_autofree GError **refused = g_new0 (GError *, n);

  for (guint i = 0; i < n; i++)
    now[i] = jobs[i * group];
  gemem_runner_run (runner, now, n, found, refused);
  for (guint i = 0; i < n; i++)
    {
      results[i * group] = found[i];
      errors[i * group] = refused[i];
    }
}

/* The @n others beside @now. */
static void
run_others (const GememRunner *runner, const GememResult *now, const GememJob *jobs, guint n,
            GememResult **results, GError **errors)
{
  if (now == NULL || !gemem_result_is_complete (now))
    {
      gemem_runner_run (runner, jobs, n, results, errors);
      return;
    }
  gemem_trials_run (jobs, n, now->peak_reserved, runner, results, errors);
  for (guint i = 0; i < n; i++)
    if (results[i] != NULL && !gemem_result_was_interrupted (results[i])
        && !gemem_trial_matters (results[i], now->peak_reserved))
      g_clear_pointer (&results[i], gemem_result_free);
}

void
gemem_batch_choices_run (const GArray *list, guint group, guint threads, GememResult **results,
                         GError **errors)
{
  const GememJob *jobs = (const GememJob *) list->data;
  const GememRunner runner = { run_jobs, &threads };

  run_now (&runner, jobs, list->len / group, group, results, errors);
  for (guint i = 0; i < list->len; i += group)
    run_others (&runner, results[i], jobs + i + 1, group - 1, results + i + 1, errors + i + 1);
}
