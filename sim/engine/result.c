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

double
gemem_result_fragmentation (const GememResult *result)
{
  guint64 free = result->external_at_peak;
  return free > 0 ? 1.0 - ratio (MIN (result->largest_free_at_peak, free), free) : 0.0;
}
