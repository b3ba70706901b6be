/* need.c - see need.h. */
#include "config.h"

#include "sim/search/need.h"
#include "sim/search/recorder.h"

static const GememAllocatorSpec *
spec_of (GememNeed *need, const GememNeedOptions *options, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  if (need->spec != NULL)
    return need->spec;
  if (!gemem_recorder_parse (gemem_held_info (need->held), options->ignores_settings, NULL, specs,
                             &need->assumed, error))
    return NULL;
  need->own = g_ptr_array_steal_index (specs, 0);
  return need->own;
}

static void
add_jobs (GArray *jobs, const GememNeed *need, const GememAllocatorSpec *spec,
          const GememNeedOptions *options)
{
  for (guint i = 0; i < need->ordinals->len; i++)
    {
      const GememJob job = {
        .allocator = spec,
        .device_spec = options->device_spec,
        .device_ordinal = g_array_index (need->ordinals, guint16, i),
        .source = gemem_held_open,
        .source_data = need->held,
        .graph = need->graph,
        .use_trace_settings = !options->ignores_settings,
        .allow_partial = options->allow_partial,
        .interrupted = options->interrupted,
        .keep_origins = TRUE,
        .keep_idle = TRUE,
        .timeline_points = need->timeline_points,
      };
      g_array_append_val (jobs, job);
    }
}

/* Takes the worst of the @results, one for each device. */
static gboolean
take_result (GememNeed *need, GememResult **results, GError **errors, GError **error)
{
  guint worst = G_MAXUINT;

  for (guint i = 0; i < need->ordinals->len; i++)
    if (results[i] != NULL
        && (worst == G_MAXUINT || gemem_result_is_worse (results[i], results[worst])))
      worst = i;
  if (worst == G_MAXUINT)
    {
      g_propagate_error (error, g_steal_pointer (&errors[0]));
      return FALSE;
    }
  need->result = g_steal_pointer (&results[worst]);
  return TRUE;
}

static gboolean
run_jobs (GememNeed *needs, guint n, const GArray *jobs, const GememNeedOptions *options,
          GError **error)
{
  GememResult **results = g_new0 (GememResult *, jobs->len);
  GError **errors = g_new0 (GError *, jobs->len);
  gboolean ok = TRUE;
  guint at = 0;

  if (options->run != NULL)
    options->run ((const GememJob *) jobs->data, jobs->len, results, errors);
  else
    gemem_jobs_run ((const GememJob *) jobs->data, jobs->len, 0, results, errors);
  for (guint i = 0; i < n; at += needs[i++].ordinals->len)
    ok = ok && take_result (&needs[i], results + at, errors + at, error);
  for (guint i = 0; i < jobs->len; i++)
    {
      gemem_result_free (results[i]);
      g_clear_error (&errors[i]);
    }
  g_free (results);
  g_free (errors);
  return ok;
}

gboolean
gemem_needs_find (GememNeed *needs, guint n, const GememNeedOptions *options, GError **error)
{
  g_autoptr (GArray) jobs = g_array_new (FALSE, TRUE, sizeof (GememJob));

  for (guint i = 0; i < n; i++)
    {
      const GememAllocatorSpec *spec = spec_of (&needs[i], options, error);

      if (spec == NULL)
        return FALSE;
      add_jobs (jobs, &needs[i], spec, options);
    }
  return run_jobs (needs, n, jobs, options, error);
}

void
gemem_need_clear (GememNeed *need)
{
  g_clear_pointer (&need->own, gemem_allocator_spec_free);
  g_clear_pointer (&need->result, gemem_result_free);
}
