/* batch-known.c - see batch-known.h. */
#include "config.h"

#include <string.h>

#include "sim/cli/batch-known.h"
#include "sim/cli/needs.h"
#include "sim/cli/source.h"
#include "sim/search/trials.h"

static gboolean
same_settings (const GPtrArray *a, const GPtrArray *b)
{
  const guint n = a != NULL ? a->len : 0;

  if (n != (b != NULL ? b->len : 0))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      const GememSetting *one = a->pdata[i], *other = b->pdata[i];

      if (strcmp (one->key, other->key) != 0 || strcmp (one->value, other->value) != 0)
        return FALSE;
    }
  return TRUE;
}

/* TRUE if @job of the batch is on the trace and device of @asked. */
static gboolean
same_place (const GememJob *job, const GememJob *asked)
{
  return ((const GememSourceFile *) job->source_data)->held == asked->source_data
         && job->device_ordinal == asked->device_ordinal && job->graph == asked->graph
         && g_strcmp0 (job->device_spec, asked->device_spec) == 0;
}

static gboolean
same_job (const GememJob *job, const GememJob *asked)
{
  return same_place (job, asked) && job->allocator->klass == asked->allocator->klass
         && job->use_trace_settings == asked->use_trace_settings
         && same_settings (job->allocator->settings, asked->allocator->settings)
         && same_settings (job->allocator->device, asked->allocator->device);
}

/* Bytes that what was left out beside @asked needs at least; 0: it is not known. */
static guint64
least_left_out (const GememBatchKnown *known, const GememJob *asked)
{
  for (guint i = 0; i < known->n; i++)
    if (same_place (&known->jobs[i], asked))
      return known->results[i] != NULL ? known->results[i]->peak_reserved : 0;
  return 0;
}

/* Whether @asked, a trial, is known: *@result, NULL: that it does not matter.  What it keeps beside the
 * numbers was not kept. */
static gboolean
look_up (const GememBatchKnown *known, const GememJob *asked, GememResult **result)
{
  guint i = 0;

  while (i < known->n && !same_job (&known->jobs[i], asked))
    i++;
  *result = NULL;
  if (i == known->n || !asked->stop_at_oom || asked->keep_idle || asked->keep_origins)
    return FALSE;
  if (known->results[i] == NULL)
    return known->left_out[i] && asked->stop_above != 0
           && asked->stop_above <= least_left_out (known, asked);
  if (gemem_trial_matters (known->results[i], asked->stop_above))
    *result = gemem_result_ref (known->results[i]);
  return TRUE;
}

static void
run_jobs (gconstpointer known, const GememJob *jobs, guint n, GememResult **results,
          GError **errors)
{
  const GememRunner runner = gemem_needs_runner ("trying settings");
  g_autofree GememJob *open = g_new (GememJob, n);
  g_autofree guint *places = g_new (guint, n);
  g_autofree GememResult **found = g_new0 (GememResult *, n);
  g_autofree GError **refused = g_new0 (GError *, n);
  guint n_open = 0;

  for (guint i = 0; i < n; i++)
    if (!look_up (known, &jobs[i], &results[i]))
      {
        places[n_open] = i;
        open[n_open++] = jobs[i];
      }
  gemem_runner_run (&runner, open, n_open, found, refused);
  for (guint k = 0; k < n_open; k++)
    {
      results[places[k]] = found[k];
      errors[places[k]] = refused[k];
    }
}

GememRunner
gemem_batch_known_runner (const GememBatchKnown *known)
{
  return (GememRunner){ run_jobs, known };
}
