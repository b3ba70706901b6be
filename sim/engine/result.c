/* result.c - creates and frees results, and the ratios: the only floating point of the engine,
 * computed once at the end. */
#include "config.h"

#include "sim/engine/run.h"

GememResult *
gemem_result_new (void)
{
  GememResult *result = g_new0 (GememResult, 1);

  result->oom = g_array_new (FALSE, FALSE, sizeof (GememOom));
  result->timeline = g_array_new (FALSE, FALSE, sizeof (GememTimelinePoint));
  result->map = g_array_new (FALSE, FALSE, sizeof (GememMapSpan));
  result->streams = g_array_new (FALSE, FALSE, sizeof (GememStreamUse));
  result->classes = g_array_new (FALSE, FALSE, sizeof (GememSizeClassUse));
  result->epochs = g_array_new (FALSE, FALSE, sizeof (GememEpoch));
  result->fidelity.first_difference = result->fidelity.first_segment_difference = G_MAXUINT64;
  return result;
}

void
gemem_result_restart (GememResult *result)
{
  GememResult fresh = { .allocator = result->allocator,
                        .label = result->label,
                        .trace = result->trace,
                        .trace_sha256 = result->trace_sha256,
                        .device = result->device,
                        .hardware = result->hardware,
                        .parameters = result->parameters,
                        .device_settings = result->device_settings,
                        .variables = result->variables,
                        .device_ordinal = result->device_ordinal,
                        .partial = result->partial,
                        .failure = result->failure,
                        .inconsistent = result->inconsistent,
                        .capacity = result->capacity,
                        .oom = result->oom,
                        .timeline = result->timeline,
                        .map = result->map,
                        .streams = result->streams,
                        .classes = result->classes,
                        .epochs = result->epochs,
                        .stats = result->stats,
                        .fidelity = result->fidelity };

  *result = fresh;
  g_array_set_size (result->oom, 0);
  g_array_set_size (result->timeline, 0);
  g_array_set_size (result->epochs, 0);
}

void
gemem_result_free (GememResult *result)
{
  if (result == NULL)
    return;
  g_free (result->allocator);
  g_free (result->label);
  g_free (result->trace);
  g_free (result->trace_sha256);
  g_free (result->device);
  g_free (result->hardware);
  g_free (result->failure);
  g_free (result->report);
  g_free (result->measured_calls);
  g_clear_pointer (&result->parameters, g_ptr_array_unref);
  g_clear_pointer (&result->device_settings, g_ptr_array_unref);
  g_clear_pointer (&result->variables, g_ptr_array_unref);
  g_clear_pointer (&result->stats, g_ptr_array_unref);
  g_clear_pointer (&result->oom, g_array_unref);
  g_clear_pointer (&result->timeline, g_array_unref);
  g_clear_pointer (&result->map, g_array_unref);
  g_clear_pointer (&result->streams, g_array_unref);
  g_clear_pointer (&result->classes, g_array_unref);
  g_clear_pointer (&result->epochs, g_array_unref);
  g_free (result);
}

/* Formats a number; a rate in hundredths of a percent as a percentage. */
void
gemem_result_add_stat (const char *name, guint64 value, const char *unit, gpointer stats)
{
  const gboolean rate = value > 0 && g_strcmp0 (unit, GEMEM_STAT_RATE) == 0;
  g_autofree char *text = rate ? g_strdup_printf ("%" G_GUINT64_FORMAT ".%02u %%", value / 100,
                                                  (guint) (value % 100))
                               : g_strdup_printf ("%" G_GUINT64_FORMAT, value);

  gemem_settings_add (stats, name, text);
}

static double
ratio (guint64 a, guint64 b)
{
  return b > 0 ? (double) a / (double) b : 0.0;
}

double
gemem_result_utilisation (const GememResult *result)
{
  return ratio (result->peak_live, result->peak_reserved);
}

double
gemem_result_overhead (const GememResult *result)
{
  return ratio (result->peak_reserved, result->lower_bound);
}

static double
fragmentation (guint64 allocated, guint64 reserved, guint64 largest)
{
  const guint64 free = reserved > allocated ? reserved - allocated : 0;

  return free > 0 ? 1.0 - ratio (MIN (largest, free), free) : 0.0;
}

double
gemem_result_fragmentation (const GememResult *result)
{
  return fragmentation (result->allocated_at_live_peak, result->reserved_at_live_peak,
                        result->largest_free_at_live_peak);
}

/* The state of a point lasts until the time of the next one; without times it stands for the events
 * since the one before. */
double
gemem_result_mean_fragmentation (const GememResult *result)
{
  const GememTimelinePoint *before = NULL;
  double sum = 0;
  guint64 weight = 0;

  for (guint i = 0; i < result->timeline->len; i++)
    {
      const GememTimelinePoint *point = &g_array_index (result->timeline, GememTimelinePoint, i);
      const GememTimelinePoint *state = result->time_weighted ? before : point;
      guint64 lasted = before != NULL ? point->seq - before->seq : point->seq + 1;

      if (result->time_weighted)
        lasted = before != NULL ? point->time - before->time : 0;
      before = point;
      if (state == NULL || state->largest_free == G_MAXUINT64)
        continue;
      sum += (double) lasted
             * fragmentation (state->allocated, state->reserved, state->largest_free);
      weight += lasted;
    }
  return weight > 0 ? sum / (double) weight : 0.0;
}

gboolean
gemem_result_is_complete (const GememResult *result)
{
  return result->ooms == 0 && result->failure == NULL && !result->partial && !result->not_run;
}

guint64
gemem_result_internal_waste (const GememResult *result)
{
  return result->allocated_at_live_peak - MIN (result->allocated_at_live_peak, result->peak_live);
}

guint64
gemem_result_external_waste (const GememResult *result)
{
  return result->reserved_at_live_peak
         - MIN (result->reserved_at_live_peak, result->allocated_at_live_peak);
}
