/* jobs.c - one job with all its passes; many jobs at once, a job per thread at a time, results by
 * index.
 *
 * Threads take the next job from a counter; results do not depend on which thread runs which job.
 * Jobs on real devices run one after another, because they would compete for memory.
 */
#include "config.h"

#include <string.h>

#include "base/parallel.h"
#include "sim/engine/engine-private.h"
#include "sim/engine/run.h"

/* Makes the texts of @origin, which belong to another result, @result's own. */
static void
own (GememResult *result, GememOrigin *origin)
{
  if (origin->by != NULL)
    origin->by = g_string_chunk_insert_const (result->texts, origin->by);
}

static void
take_over_map (GememResult *result, const GememResult *found)
{
  g_clear_pointer (&result->map, g_array_unref);
  result->map = g_array_ref (found->map);
  for (guint i = 0; i < result->map->len; i++)
    own (result, &g_array_index (result->map, GememMapSpan, i).origin);
}

static void
take_over_idle (GememResult *result, const GememResult *found)
{
  g_clear_pointer (&result->idle, g_array_unref);
  result->idle = g_array_ref (found->idle);
  for (guint i = 0; i < result->idle->len; i++)
    own (result, &g_array_index (result->idle, GememIdleRow, i).origin);
  g_clear_pointer (&result->pins, g_array_unref);
  result->pins = g_array_ref (found->pins);
  for (guint i = 0; i < result->pins->len; i++)
    own (result, &g_array_index (result->pins, GememPin, i).origin);
  result->idle_reserved = found->idle_reserved;
  result->idle_live = found->idle_live;
  result->idle_stream = found->idle_stream;
  result->idle_known = found->idle_known;
}

/* Whether a second pass looks at the reserved peak.  For what lies idle alone no GPU works twice, and
 * programs that share a device have a peak each. */
static gboolean
looks_at_peak (const GememJob *job)
{
  return job->keep_map
         || (job->keep_idle && job->idle_event == NULL && job->n_others == 0
             && !gemem_setup_is_real (job));
}

/* Runs a second pass that ends at the peak and looks at the memory there. */
static gboolean
look_at_peak (const GememJob *job, GememResult *result, GError **error)
{
  GememJob again = *job;
  GememResult *found;

  again.timeline_points = 0;
  again.history = NULL;
  again.measure = again.full_checks = FALSE;
  again.events_path = again.calls_path = again.record_path = NULL;
  found = gemem_run_pass (&again, 0, result->peak_reserved_seq, error);
  if (found == NULL)
    return FALSE;
  take_over_map (result, found);
  take_over_idle (result, found);
  gemem_result_free (found);
  return TRUE;
}

void
gemem_job_expect (const GememJob *job, guint passes)
{
  const guint openings = job->warm_up + MAX (job->repeat, 1)
                         + (job->allocator->klass->prepare != NULL ? 1 : 0);

  if (job->progress != NULL)
    g_atomic_int_set (&job->progress->openings_left, (gint) (passes * openings));
}

/* All passes of @job but the one with fits_first. */
static GememResult *
run_passes (const GememJob *job, GError **error)
{
  gemem_job_expect (job, 1 + (looks_at_peak (job) ? 1 : 0)
                             + (job->find_capacity ? GEMEM_CAPACITY_PASSES : 0));
  GememResult *result = gemem_run_pass (
      job, 0, job->idle_event != NULL ? *job->idle_event : G_MAXUINT64, error);

  if (result != NULL && job->idle_event == NULL
      && ((looks_at_peak (job) && result->peak_reserved > 0 && !look_at_peak (job, result, error))
          || (job->find_capacity && !gemem_capacity_find (job, result, error))))
    g_clear_pointer (&result, gemem_result_free);
  return result;
}

GememResult *
gemem_job_run (const GememJob *job, GError **error)
{
  GememJob own = *job;
  GememResult *result;

  if (!job->find_capacity || job->fits_first == 0)
    return run_passes (job, error);
  result = gemem_capacity_try (job, error);
  if (result == NULL || result->least_above != 0 || gemem_result_was_interrupted (result))
    return result;
  gemem_result_free (result);
  if (job->rivals != NULL)
    gemem_rivals_drop (job);
  own.rivals = NULL;
  result = run_passes (&own, error);
  if (result != NULL)
    result->capacity_passes++;
  return result;
}

/* ---- many jobs */

typedef struct
{
  const GememJob *jobs;
  GememResult **results;
  GError **errors;
} Batch;

static void
run_one (gpointer data, guint i)
{
  const Batch *batch = data;

  batch->errors[i] = NULL;
  batch->results[i] = gemem_job_run (&batch->jobs[i], &batch->errors[i]);
  if (batch->jobs[i].progress != NULL)
    g_atomic_int_set (&batch->jobs[i].progress->ended, TRUE);
}

/* Runs on a real GPU would be in each other's way. */
static gboolean
any_is_real (const GememJob *jobs, guint n)
{
  for (guint i = 0; i < n; i++)
    if (gemem_setup_is_real (&jobs[i]))
      return TRUE;
  return FALSE;
}

void
gemem_jobs_run (const GememJob *jobs, guint n, guint threads, GememResult **results,
                GError **errors)
{
  g_autofree GememJob *own = g_new (GememJob, n + 1);
  Batch batch = { own, results, errors };
  GError *error = NULL;
  GememMerge *merge;

  if (n == 0)
    return;
  memset (results, 0, n * sizeof (GememResult *));
  memcpy (own, jobs, n * sizeof (GememJob));
  merge = gemem_merge_begin (own, n, &error);
  if (error == NULL)
    gemem_parallel (n, any_is_real (own, n) ? 1 : threads, run_one, &batch);
  for (guint i = 0; error != NULL && i + 1 < n; i++) /* nothing began */
    errors[i] = g_error_copy (error);
  if (error != NULL || !gemem_merge_end (merge, results, &error))
    { /* the error of a file that several runs share is that of the last one */
      g_clear_pointer (&results[n - 1], gemem_result_free);
      g_clear_error (&errors[n - 1]);
      g_propagate_error (&errors[n - 1], error);
    }
}

void
gemem_runner_run (const GememRunner *runner, const GememJob *jobs, guint n, GememResult **results,
                  GError **errors)
{
  if (runner->run != NULL)
    runner->run (runner->data, jobs, n, results, errors);
  else
    gemem_jobs_run (jobs, n, 0, results, errors);
}
