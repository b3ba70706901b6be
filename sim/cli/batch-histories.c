/* batch-histories.c - see batch-histories.h. */
#include "config.h"

#include "sim/cli/batch-histories.h"
#include "sim/cli/needs.h"

static gboolean
try_one (const GememJob *job, GememResult *result, guint frees, GError **error)
{
  const GememSourceFile *file = job->source_data;
  const GememNeed need = { .name = file->path,
                           .held = file->held,
                           .spec = job->allocator,
                           .graph = job->graph,
                           .result = result };
  const GememNeedOptions options = { .device_spec = job->device_spec,
                                     .ignores_settings = !job->use_trace_settings,
                                     .allow_partial = job->allow_partial,
                                     .finds_capacity = job->find_capacity,
                                     .interrupted = job->interrupted,
                                     .runner = gemem_needs_runner ("replaying") };
  GememHistories histories;

  gemem_histories_try (&need, frees, &options, &histories);
  result->histories_runs = histories.all.runs;
  result->histories_failed = histories.all.failed;
  if (histories.all.failed < histories.all.runs)
    {
      result->histories_least = histories.all.least;
      result->histories_most = histories.all.most;
    }
  g_free (result->histories);
  result->histories = gemem_histories_sentence (
      &histories, job->find_capacity ? result->least_capacity : result->peak_reserved);
  result->histories_left_out = histories.left_out;
  if (histories.left_out > 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED,
                 "%s: interrupted among its histories; what is told is of those before",
                 file->path);
  return histories.left_out == 0;
}

gboolean
gemem_batch_histories (const GArray *list, GememResult *const *results, guint frees, GError **error)
{
  for (guint i = 0; frees > 0 && i < list->len; i++)
    if (results[i] != NULL && gemem_result_is_complete (results[i])
        && !try_one (&g_array_index (list, GememJob, i), results[i], frees, error))
      return FALSE;
  return TRUE;
}
