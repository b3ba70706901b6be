/* trials.c - see trials.h.
 *
 * A wave replays what nothing can be proven of, and WAVE of the others, spread over those that are open, as
 * neighbours often decide alike.  What would have decided as one that does not matter is settled with it.
 */
#include "config.h"

#include "sim/engine/rivals.h"
#include "sim/search/trials.h"

#define WAVE 4

typedef struct
{
  const GememJob *jobs;
  guint n;
  guint64 most;
  const GememRunner *runner;
  GememResult **results;
  GError **errors;
  GememRivals *rivals; /* NULL: nothing is proven */
  gboolean *settled;
} Trials;

gboolean
gemem_trial_matters (const GememResult *result, guint64 most)
{
  return gemem_result_is_complete (result) && (most == 0 || result->peak_reserved < most);
}

/* Whether @i may be settled without a replay. */
static gboolean
is_rival (const Trials *trials, guint i)
{
  return trials->rivals != NULL && !trials->jobs[i].find_capacity
         && trials->jobs[i].allocator->klass->watch.begin != NULL
         && gemem_rivals_refusal (trials->rivals, i) == NULL;
}

static GememRivals *
make_rivals (const GememJob *jobs, guint n)
{
  g_autofree const GememAllocatorSpec **specs = g_new (const GememAllocatorSpec *, n + 1);

  for (guint i = 0; i < n; i++)
    specs[i] = jobs[i].allocator;
  return n > 1 ? gemem_rivals_new (&jobs[0], 0, specs, n, NULL) : NULL;
}

/* The jobs (guint) of the next wave. */
static GArray *
next_wave (const Trials *trials)
{
  GArray *wave = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (guint));
  guint n;

  for (guint i = 0; i < trials->n; i++)
    if (!trials->settled[i])
      g_array_append_val (is_rival (trials, i) ? open : wave, i);
  n = MIN (open->len, WAVE);
  for (guint k = 0; k < n; k++)
    g_array_append_val (wave, g_array_index (open, guint, k * open->len / n));
  return wave;
}

/* The job @i as it is tried. */
static GememJob
trial_of (const Trials *trials, guint i)
{
  GememJob job = trials->jobs[i];

  if (job.find_capacity)
    return job;
  job.stop_at_oom = TRUE;
  job.stop_above = trials->most;
  if (is_rival (trials, i))
    {
      job.rivals = trials->rivals;
      job.rivals_alike = g_new0 (gboolean, trials->n);
      for (guint r = 0; r < trials->n; r++)
        job.rivals_alike[r] = r != i && !trials->settled[r] && is_rival (trials, r);
    }
  return job;
}

/* Settles what decides as @job, with which it came to @result; NULL: it came to nothing. */
static void
settle_alike (Trials *trials, const GememJob *job, const GememResult *result)
{
  if (job->rivals_alike == NULL || result == NULL || gemem_result_was_interrupted (result)
      || gemem_trial_matters (result, trials->most))
    return;
  for (guint r = 0; r < trials->n; r++)
    if (job->rivals_alike[r] && trials->results[r] == NULL)
      trials->settled[r] = TRUE;
}

static void
run_wave (Trials *trials, const GArray *wave)
{
  g_autofree GememJob *jobs = g_new (GememJob, wave->len);
  g_autofree GememResult **results = g_new0 (GememResult *, wave->len);
  g_autofree GError **errors = g_new0 (GError *, wave->len);

  for (guint k = 0; k < wave->len; k++)
    jobs[k] = trial_of (trials, g_array_index (wave, guint, k));
  gemem_runner_run (trials->runner, jobs, wave->len, results, errors);
  for (guint k = 0; k < wave->len; k++)
    {
      const guint i = g_array_index (wave, guint, k);

      trials->settled[i] = TRUE;
      trials->results[i] = results[k];
      trials->errors[i] = errors[k];
    }
  for (guint k = 0; k < wave->len; k++)
    {
      settle_alike (trials, &jobs[k], results[k]);
      g_free (jobs[k].rivals_alike);
    }
}

void
gemem_trials_run (const GememJob *jobs, guint n, guint64 most, const GememRunner *runner,
                  GememResult **results, GError **errors)
{
  g_autofree gboolean *settled = g_new0 (gboolean, n + 1);
  Trials trials = { jobs, n, most, runner, results, errors, NULL, settled };

  if (n > 0)
    trials.rivals = make_rivals (jobs, n);
  for (;;)
    {
      g_autoptr (GArray) wave = next_wave (&trials);

      if (wave->len == 0)
        break;
      run_wave (&trials, wave);
    }
  gemem_rivals_free (trials.rivals);
}
