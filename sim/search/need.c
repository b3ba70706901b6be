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
  if (!gemem_recorder_parse (gemem_held_info (need->held), gemem_recorder_is_host (need->ordinals),
                             options->ignores_settings, NULL, specs, &need->assumed, error))
    return NULL;
  need->own = g_ptr_array_steal_index (specs, 0);
  return need->own;
}

GememJob
gemem_need_job (const GememNeed *need, const GememAllocatorSpec *spec, int ordinal,
                const GememNeedOptions *options)
{
  return (GememJob){
    .allocator = spec,
    .device_spec = options->device_spec,
    .device_ordinal = ordinal,
    .source = gemem_held_open,
    .source_data = need->held,
    .graph = need->graph,
    .use_trace_settings = !options->ignores_settings,
    .allow_partial = options->allow_partial,
    .interrupted = options->interrupted,
  };
}

static void
add_jobs (GArray *jobs, const GememNeed *need, const GememAllocatorSpec *spec,
          const GememNeedOptions *options)
{
  for (guint i = 0; i < need->ordinals->len; i++)
    {
      GememJob job = gemem_need_job (need, spec, g_array_index (need->ordinals, guint16, i),
                                     options);

      job.keep_origins = job.keep_idle = TRUE;
      job.timeline_points = need->timeline_points;
      job.history = need->history;
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

  gemem_runner_run (&options->runner, (const GememJob *) jobs->data, jobs->len, results, errors);
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

/* What the verdict of a dry run depends on. */
static char *
depends_on (const GememTraceInfo *info)
{
  guint more = 0;

  for (guint i = 0; i < info->provenance->len; i++)
    more += g_str_has_prefix (info->provenance->pdata[i], GEMEM_TRACE_ONLY_IF ": ");
  GString *doubt = g_string_new ("the dry run says it does only if ");
  g_string_append (doubt, gemem_trace_info_said (info, GEMEM_TRACE_ONLY_IF));
  if (more > 1)
    g_string_append_printf (doubt, " (and %u more: gemem-sim info)", more - 1);
  return g_string_free (doubt, FALSE);
}

/* Whether @now tells no more than what was alive when the file was written: PyTorch's snapshot without a history, or with
 * that of "state", which is the last request or free. */
static gboolean
is_a_moment (const GememResult *now)
{
  return now->initial_events > 0 && now->allocs + now->graph_loads + now->frees <= 1;
}

char *
gemem_need_doubt (const GememResult *now, const GememHeld *held, const gint *interrupted)
{
  const GememTraceInfo *info = gemem_held_info (held);

  if (now->failure != NULL)
    return g_strdup_printf ("the replay ended early: %s", now->failure);
  if (now->not_allowed != NULL)
    return g_strdup_printf ("the program breaks a rule of its system: %s", now->not_allowed);
  if (now->approximation != NULL)
    return g_strdup_printf ("%s is replayed by an approximation", now->allocator);
  if (now->partial || (info->flags & GEMEM_TRACE_TRUNCATED) != 0)
    return g_strdup ("the end of the recording is missing");
  if (gemem_trace_info_said (info, GEMEM_TRACE_STATE) != NULL)
    return g_strdup ("the file holds what was alive at one moment, and no requests");
  if (is_a_moment (now))
    return g_strdup_printf (
        "the file holds what was alive at one moment, and no requests%s",
        strcmp (info->format, "pytorch-snapshot") == 0
            ? "; call torch.cuda.memory._record_memory_history() where the program begins"
            : "");
  if (now->state_unfit)
    return g_strdup (
        "the recording begins in the middle, where the program held more than there is");
  if (now->allocs + now->graph_loads == 0)
    return now->initial_events > 0 && now->frees > 0
               ? g_strdup_printf ("the recording begins behind the last request%s",
                                  strcmp (info->format, "pytorch-snapshot") == 0
                                      ? "; write it where the error is caught, and with a larger "
                                        "max_entries of _record_memory_history()"
                                      : "")
               : g_strdup ("the recording asks for no memory");
  if ((info->flags & GEMEM_TRACE_STARTS_IN_MIDDLE) != 0 && now->initial_events == 0)
    return g_strdup ("the recording begins in the middle, and what was held before is not in it");
  if (gemem_trace_info_said (info, GEMEM_TRACE_ONLY_IF) != NULL)
    return depends_on (info);
  if (gemem_trace_info_said (info, GEMEM_TRACE_OPEN) != NULL)
    return g_strdup (gemem_trace_info_said (info, GEMEM_TRACE_OPEN));
  if (gemem_held_refused (held) > 0)
    return g_strdup ("the recorded program was refused memory, and what it does when it gets it "
                     "was not recorded");
  if (now->unslept > 0)
    return g_strdup ("the program lets memory sleep, which the allocator replayed cannot");
  return interrupted != NULL && g_atomic_int_get (interrupted) != 0
             ? g_strdup ("it was interrupted")
             : NULL;
}
