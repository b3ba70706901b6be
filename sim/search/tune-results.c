/* tune-results.c - a search as results, which the figures of searches are drawn from.
 *
 * Why: a search settles most settings by a proof and keeps no result of them; a figure shows the settings
 * and the objectives, and needs nothing else.
 *
 * Invariants: no number that the search did not find; what failed is marked, and has none.
 */
#include "config.h"

#include "sim/search/tune.h"

/* A copy, as results own theirs. */
static GPtrArray *
copy_of (const GPtrArray *settings)
{
  GPtrArray *copy = gemem_settings_new ();

  if (settings != NULL)
    gemem_settings_append (copy, settings);
  return copy;
}

/* Row @i on recording @t. */
static GememResult *
result_of (const GememTune *tune, guint i, guint t)
{
  const GememResult *now = tune->question->traces[t].result;
  const GememTuneRow *row = &g_array_index (tune->rows, GememTuneRow, i);
  const GememTuneCell *cell = &row->cells[t];
  const gboolean failed = cell->end == GEMEM_TUNE_FAILED;
  GememResult *result = gemem_result_new ();

  result->trace = g_strdup (now->trace);
  result->device = g_strdup (now->device);
  result->device_settings = copy_of (now->device_settings);
  result->device_ordinal = now->device_ordinal;
  result->names_device = now->names_device;
  result->capacity = now->capacity;
  result->lower_bound = now->lower_bound;
  result->allocator = g_strdup (row->spec != NULL ? row->spec->klass->name : now->allocator);
  result->label = g_strdup (row->spec != NULL ? row->spec->label : now->label);
  result->as_now = row->spec == NULL || row->changes == 0;
  result->parameters = gemem_tune_effect (tune, i);
  result->peak_reserved = cell->values[GEMEM_TUNE_NEEDS];
  result->calls[0] = cell->values[GEMEM_TUNE_CALLS];
  result->modelled_total_ns = failed ? 0 : cell->values[GEMEM_TUNE_TIME];
  result->least_capacity = failed ? 0 : cell->values[GEMEM_TUNE_CAPACITY];
  result->ooms = failed;
  if (failed)
    result->not_allowed = g_strdup ("a request fails, or it is no setting of this program");
  return result;
}

/* Whether row 0, how it is now, is one of the space too. */
static gboolean
has_now (const GememTune *tune)
{
  for (guint i = 1; i < tune->rows->len; i++)
    {
      const GememTuneRow *row = &g_array_index (tune->rows, GememTuneRow, i);
      if (row->changes == 0 && row->end != GEMEM_TUNE_REFUSED && row->end != GEMEM_TUNE_UNTRIED)
        return TRUE;
    }
  return FALSE;
}

GPtrArray *
gemem_tune_results (const GememTune *tune)
{
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);

  for (guint t = 0; t < tune->question->n_traces; t++)
    for (guint i = has_now (tune) ? 1 : 0; i < tune->rows->len; i++)
      {
        const GememTuneEnd end = g_array_index (tune->rows, GememTuneRow, i).cells[t].end;
        if (end != GEMEM_TUNE_REFUSED && end != GEMEM_TUNE_UNTRIED && end != GEMEM_TUNE_ABOVE)
          g_ptr_array_add (results, result_of (tune, i, t));
      }
  return results;
}
