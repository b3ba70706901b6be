/* jobs.c - one job with all its passes; many jobs at once, a job per thread at a time, results by
 * index.
 *
 * Threads take the next job from a counter; results do not depend on which thread runs which job.
 * Jobs on real devices run one after another, because they would compete for memory.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/merge.h"
#include "sim/engine/run.h"
#include "sim/engine/setup.h"

/* Runs a second pass that ends at the peak and takes the map there. */
static gboolean
fetch_map (const GememJob *job, GememResult *result, GError **error)
{
  GememJob again = *job;
  GememResult *found;

  again.timeline_points = 0;
  again.measure = FALSE;
  again.events_path = again.calls_path = NULL;
  found = gemem_run_pass (&again, 0, result->peak_reserved_seq, error);
  if (found == NULL)
    return FALSE;
  g_clear_pointer (&result->map, g_array_unref);
  result->map = g_array_ref (found->map);
  for (guint i = 0; i < result->map->len; i++)
    {
      GememOrigin *origin = &g_array_index (result->map, GememMapSpan, i).origin;
      if (origin->by != NULL)
        origin->by = g_string_chunk_insert_const (result->texts, origin->by);
    }
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

GememResult *
gemem_job_run (const GememJob *job, GError **error)
{
  gemem_job_expect (job,
                    1 + (job->keep_map ? 1 : 0) + (job->find_capacity ? GEMEM_CAPACITY_PASSES : 0));
  GememResult *result = gemem_run_pass (job, 0, G_MAXUINT64, error);

  if (result != NULL
      && ((job->keep_map && result->peak_reserved > 0 && !fetch_map (job, result, error))
          || (job->find_capacity && !gemem_capacity_find (job, result, error))))
    g_clear_pointer (&result, gemem_result_free);
  return result;
}

/* ---- many jobs */

typedef struct
{
  const GememJob *jobs;
  GememResult **results;
  GError **errors;
  gint n;
  gint next; /* atomic */
} Queue;

static gpointer
work (gpointer data)
{
  Queue *queue = data;
  gint i;

  while ((i = g_atomic_int_add (&queue->next, 1)) < queue->n)
    {
      queue->errors[i] = NULL;
      queue->results[i] = gemem_job_run (&queue->jobs[i], &queue->errors[i]);
      if (queue->jobs[i].progress != NULL)
        g_atomic_int_set (&queue->jobs[i].progress->ended, TRUE);
    }
  return NULL;
}

static void
run_queue (Queue *queue, guint threads)
{
  const guint n = (guint) queue->n;
  guint others = MIN (threads > 0 ? threads : g_get_num_processors (), MAX (n, 1)) - 1;
  g_autofree GThread **helpers = g_new0 (GThread *, others + 1);

  for (guint i = 0; i < n && others > 0; i++)
    if (gemem_setup_is_real (&queue->jobs[i]))
      others = 0;
  for (guint i = 0; i < others; i++)
    helpers[i] = g_thread_try_new ("gemem-job", work, queue,
                                   NULL); /* if no thread can be started, this one runs all jobs */
  work (queue);
  for (guint i = 0; i < others; i++)
    if (helpers[i] != NULL)
      g_thread_join (helpers[i]);
}

void
gemem_jobs_run (const GememJob *jobs, guint n, guint threads, GememResult **results,
                GError **errors)
{
  g_autofree GememJob *own = g_new (GememJob, n + 1);
  Queue queue = { own, results, errors, (gint) n, 0 };
  GError *error = NULL;
  GememMerge *merge;

  memset (results, 0, n * sizeof (GememResult *));
  memcpy (own, jobs, n * sizeof (GememJob));
  merge = gemem_merge_begin (own, n, &error);
  if (error == NULL)
    run_queue (&queue, threads);
  for (guint i = 0; error != NULL && i + 1 < n; i++) /* nothing began */
    errors[i] = g_error_copy (error);
  if (error != NULL || !gemem_merge_end (merge, results, &error))
    { /* the error of a file that several runs share is that of the last one */
      g_clear_pointer (&results[n - 1], gemem_result_free);
      g_clear_error (&errors[n - 1]);
      g_propagate_error (&errors[n - 1], error);
    }
}
