/* result.c - creates and frees results, and the ratios: the only floating point of the engine,
 * computed once at the end. */
#include "config.h"

#include "base/units.h"
#include "sim/engine/run.h"

GememResult *
gemem_result_new (void)
{
  GememResult *result = g_new0 (GememResult, 1);

  result->oom = g_array_new (FALSE, FALSE, sizeof (GememOom));
  result->timeline = g_array_new (FALSE, FALSE, sizeof (GememTimelinePoint));
  result->map = g_array_new (FALSE, FALSE, sizeof (GememMapSpan));
  result->idle = g_array_new (FALSE, FALSE, sizeof (GememIdleRow));
  result->idle_at_failure = g_array_new (FALSE, FALSE, sizeof (GememIdleRow));
  result->pins = g_array_new (FALSE, FALSE, sizeof (GememPin));
  result->largest = g_array_new (FALSE, FALSE, sizeof (GememNamedBlock));
  result->leaked = g_array_new (FALSE, FALSE, sizeof (GememNamedBlock));
  result->texts = g_string_chunk_new (512);
  result->streams = g_array_new (FALSE, FALSE, sizeof (GememStreamUse));
  result->classes = g_array_new (FALSE, FALSE, sizeof (GememSizeClassUse));
  result->epochs = g_array_new (FALSE, FALSE, sizeof (GememEpoch));
  result->shares = g_array_new (FALSE, FALSE, sizeof (GememShare));
  result->fidelity.first_difference = result->fidelity.first_segment_difference =
      result->fidelity.parted = G_MAXUINT64;
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
                        .device_from = result->device_from,
                        .device_assumed = result->device_assumed,
                        .parameters = result->parameters,
                        .device_settings = result->device_settings,
                        .variables = result->variables,
                        .lowering = result->lowering,
                        .device_ordinal = result->device_ordinal,
                        .names_device = result->names_device,
                        .partial = result->partial,
                        .failure = result->failure,
                        .not_allowed = result->not_allowed,
                        .approximation = result->approximation,
                        .inconsistent = result->inconsistent,
                        .capacity = result->capacity,
                        .oom = result->oom,
                        .timeline = result->timeline,
                        .map = result->map,
                        .idle = result->idle,
                        .idle_at_failure = result->idle_at_failure,
                        .pins = result->pins,
                        .largest = result->largest,
                        .leaked = result->leaked,
                        .texts = result->texts,
                        .streams = result->streams,
                        .classes = result->classes,
                        .epochs = result->epochs,
                        .shares = result->shares,
                        .stats = result->stats,
                        .fidelity = result->fidelity };

  *result = fresh;
  g_array_set_size (result->oom, 0);
  g_array_set_size (result->timeline, 0);
  g_array_set_size (result->idle, 0);
  g_array_set_size (result->idle_at_failure, 0);
  g_array_set_size (result->pins, 0);
  g_array_set_size (result->largest, 0);
  g_array_set_size (result->leaked, 0);
  g_array_set_size (result->epochs, 0);
}

void
gemem_result_set_label (GememResult *result, const char *label)
{
  g_free (result->label);
  result->label = g_strconcat (label, result->approximation != NULL ? " (approximation)" : "",
                               NULL);
}

GememResult *
gemem_result_ref (GememResult *result)
{
  result->more_references++;
  return result;
}

void
gemem_result_free (GememResult *result)
{
  if (result == NULL || result->more_references-- > 0)
    return;
  g_free (result->allocator);
  g_free (result->label);
  g_free (result->trace);
  g_free (result->trace_sha256);
  g_free (result->device);
  g_free (result->hardware);
  g_free (result->device_from);
  g_free (result->failure);
  g_free (result->not_allowed);
  g_free (result->approximation);
  g_free (result->histories);
  g_free (result->report);
  g_free (result->measured_calls);
  g_clear_pointer (&result->parameters, g_ptr_array_unref);
  g_clear_pointer (&result->device_settings, g_ptr_array_unref);
  g_clear_pointer (&result->variables, g_ptr_array_unref);
  g_clear_pointer (&result->lowering, g_ptr_array_unref);
  g_clear_pointer (&result->stats, g_ptr_array_unref);
  g_clear_pointer (&result->oom, g_array_unref);
  g_clear_pointer (&result->timeline, g_array_unref);
  g_clear_pointer (&result->map, g_array_unref);
  g_clear_pointer (&result->history, gemem_history_free);
  g_clear_pointer (&result->idle, g_array_unref);
  g_clear_pointer (&result->idle_at_failure, g_array_unref);
  g_clear_pointer (&result->pins, g_array_unref);
  g_clear_pointer (&result->largest, g_array_unref);
  g_clear_pointer (&result->leaked, g_array_unref);
  g_clear_pointer (&result->texts, g_string_chunk_free);
  g_clear_pointer (&result->streams, g_array_unref);
  g_clear_pointer (&result->classes, g_array_unref);
  g_clear_pointer (&result->epochs, g_array_unref);
  g_clear_pointer (&result->shares, g_array_unref);
  g_clear_pointer (&result->programs, g_ptr_array_unref);
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
gemem_result_is_optimal (const GememResult *result)
{
  return result->label != NULL && g_str_has_prefix (result->label, GEMEM_OPTIMAL_ROW);
}

gboolean
gemem_result_is_complete (const GememResult *result)
{
  return result->ooms == 0 && result->failure == NULL && !result->partial && !result->not_run
         && result->not_allowed == NULL;
}

gboolean
gemem_result_is_proof (const GememResult *result)
{
  return gemem_result_is_complete (result) && result->approximation == NULL;
}

const GememOom *
gemem_result_first_oom (const GememResult *result)
{
  return result->oom != NULL && result->oom->len > 0 ? &g_array_index (result->oom, GememOom, 0)
                                                     : NULL;
}

guint64
gemem_result_new_ooms (const GememResult *result)
{
  return result->ooms - MIN (result->recorded_ooms - result->recorded_ooms_served, result->ooms);
}

gboolean
gemem_oom_is_unbegun (const GememOom *oom)
{
  return !oom->avoidable && oom->missing == 0;
}

gboolean
gemem_result_was_interrupted (const GememResult *result)
{
  return result->failure != NULL && g_str_has_prefix (result->failure, "interrupted");
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

guint64
gemem_result_calls (const GememResult *result)
{
  guint64 calls = 0;

  for (guint i = 0; i < GEMEM_CALL_COUNT; i++)
    calls += result->calls[i];
  return calls;
}

guint64
gemem_result_others (const GememResult *result)
{
  const char *others = gemem_settings_value (result->device_settings, "reserved_by_others");
  guint64 bytes = 0;

  return others != NULL && gemem_parse_size (others, 1, 0, &bytes, NULL) ? bytes : 0;
}

guint64
gemem_result_too_small (const GememResult *result, const GememOom *oom)
{
  return oom->reserved + oom->device_free + gemem_result_others (result);
}

gboolean
gemem_result_is_worse (const GememResult *a, const GememResult *b)
{
  if ((a->ooms > 0) != (b->ooms > 0))
    return a->ooms > 0;
  return a->peak_reserved != b->peak_reserved ? a->peak_reserved > b->peak_reserved
                                              : a->peak_live > b->peak_live;
}

/* ---- origins */

#define SHORT_HEAD 70 /* characters that remain of a long text: from the beginning, */
#define SHORT_TAIL 27 /* and up to the end, where operator and category stand */

void
gemem_origin_append_short (GString *out, const char *by)
{
  const glong length = g_utf8_strlen (by, -1);

  if (length <= SHORT_HEAD + 3 + SHORT_TAIL)
    {
      g_string_append (out, by);
      return;
    }
  g_string_append_len (out, by, g_utf8_offset_to_pointer (by, SHORT_HEAD) - by);
  g_string_append (out, "...");
  g_string_append (out, g_utf8_offset_to_pointer (by, length - SHORT_TAIL));
}

void
gemem_origin_append_by (GString *out, const char *by)
{
  if (by == NULL)
    return;
  g_string_append (out, *by == '[' || g_str_has_prefix (by, "after ") ? " " : " by ");
  gemem_origin_append_short (out, by);
}

void
gemem_origin_describe (GString *out, const char *before, const GememOrigin *origin)
{
  if (!origin->known)
    return;
  if (origin->initial)
    g_string_append_printf (out, "%sallocated before the recording", before);
  else
    g_string_append_printf (out, "%sallocated at event %" G_GUINT64_FORMAT, before, origin->seq);
  gemem_origin_append_by (out, origin->by);
}
