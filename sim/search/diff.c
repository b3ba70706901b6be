/* diff.c - see diff.h: the replays of both sides, and the rows in which they differ. */
#include "config.h"

#include <string.h>

#include "sim/search/diff.h"
#include "sim/search/recorder.h"

static void
setting_clear (gpointer data)
{
  GememDiffSetting *setting = data;

  g_free (setting->name);
  g_free (setting->values[0]);
  g_free (setting->values[1]);
}

/* ---- settings */

static const char *
value_of (const GPtrArray *parameters, const char *key)
{
  for (guint i = 0; i < parameters->len; i++)
    {
      const GememSetting *setting = parameters->pdata[i];
      if (strcmp (setting->key, key) == 0)
        return setting->value;
    }
  return NULL;
}

static void
add_setting (GememDiff *diff, const char *name, const char *a, const char *b)
{
  GememDiffSetting setting;

  if (g_strcmp0 (a, b) == 0)
    return;
  setting = (GememDiffSetting){ g_strdup (name), { g_strdup (a), g_strdup (b) } };
  g_array_append_val (diff->settings, setting);
}

/* Of two allocators the settings mean nothing beside each other. */
static void
compare_settings (GememDiff *diff)
{
  const GememResult *a = diff->sides[0].result, *b = diff->sides[1].result;

  add_setting (diff, "allocator", a->allocator, b->allocator);
  for (guint i = 0; strcmp (a->allocator, b->allocator) == 0 && i < a->parameters->len; i++)
    {
      const GememSetting *setting = a->parameters->pdata[i];
      add_setting (diff, setting->key, setting->value, value_of (b->parameters, setting->key));
    }
  for (guint i = 0; i < 2 && !diff->one_recording; i++)
    {
      static const char *const said[] = { "PyTorch", "device" };
      add_setting (diff, said[i],
                   gemem_trace_info_said (gemem_held_info (diff->sides[0].held), said[i]),
                   gemem_trace_info_said (gemem_held_info (diff->sides[1].held), said[i]));
    }
  if (a->capacity != b->capacity)
    {
      g_autofree char *x = g_strdup_printf ("%" G_GUINT64_FORMAT, a->capacity),
                      *y = g_strdup_printf ("%" G_GUINT64_FORMAT, b->capacity);
      add_setting (diff, "capacity", x, y);
    }
}

/* ---- replays */

static const GememAllocatorSpec *
spec_of (GememDiffSide *side, const GememDiffInput *input, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  if (input->spec != NULL)
    return input->spec;
  if (!gemem_recorder_parse (gemem_held_info (side->held), FALSE, NULL, specs, &side->assumed,
                             error))
    return NULL;
  side->own = g_ptr_array_steal_index (specs, 0);
  return side->own;
}

/* A point for each event, so that it can be seen where two runs of one recording part; of a longer one
 * for some events together. */
static guint
points_of (const GememHeld *held)
{
  return (guint) MIN (gemem_held_events (held) + 2, GEMEM_DIFF_POINTS);
}

static void
add_jobs (GArray *jobs, const GememDiffQuestion *question, const GememDiff *diff, guint s,
          const GememAllocatorSpec *spec)
{
  const GArray *ordinals = question->inputs[s].ordinals;

  for (guint i = 0; i < ordinals->len; i++)
    {
      const GememJob job = {
        .allocator = spec,
        .device_spec = question->device_spec,
        .device_ordinal = g_array_index (ordinals, guint16, i),
        .source = gemem_held_open,
        .source_data = diff->sides[s].held,
        .use_trace_settings = TRUE,
        .allow_partial = question->allow_partial,
        .interrupted = question->interrupted,
        .keep_origins = TRUE,
        .keep_idle = TRUE,
        .timeline_points = diff->one_recording ? points_of (diff->sides[s].held) : 0,
      };
      g_array_append_val (jobs, job);
    }
}

/* Takes the worst of @n @results. */
static gboolean
take_result (GememDiffSide *side, GememResult **results, GError **errors, guint n, GError **error)
{
  guint worst = G_MAXUINT;

  for (guint i = 0; i < n; i++)
    if (results[i] != NULL
        && (worst == G_MAXUINT || gemem_result_is_worse (results[i], results[worst])))
      worst = i;
  if (worst == G_MAXUINT)
    {
      g_propagate_error (error, g_steal_pointer (&errors[0]));
      return FALSE;
    }
  side->result = g_steal_pointer (&results[worst]);
  side->label = g_strdup (side->result->label);
  return TRUE;
}

static gboolean
replay_both (GememDiff *diff, const GememDiffQuestion *question, GError **error)
{
  g_autoptr (GArray) jobs = g_array_new (FALSE, TRUE, sizeof (GememJob));
  const guint first = question->inputs[0].ordinals->len;
  gboolean ok;

  for (guint s = 0; s < 2; s++)
    {
      const GememAllocatorSpec *spec = spec_of (&diff->sides[s], &question->inputs[s], error);

      if (spec == NULL)
        return FALSE;
      add_jobs (jobs, question, diff, s, spec);
    }
  GememResult **results = g_new0 (GememResult *, jobs->len);
  GError **errors = g_new0 (GError *, jobs->len);
  if (question->run != NULL)
    question->run ((const GememJob *) jobs->data, jobs->len, results, errors);
  else
    gemem_jobs_run ((const GememJob *) jobs->data, jobs->len, 0, results, errors);
  ok = take_result (&diff->sides[0], results, errors, first, error)
       && take_result (&diff->sides[1], results + first, errors + first, jobs->len - first, error);
  for (guint i = 0; i < jobs->len; i++)
    {
      gemem_result_free (results[i]);
      g_clear_error (&errors[i]);
    }
  g_free (results);
  g_free (errors);
  return ok;
}

/* ---- together */

static gboolean
has_stacks (const GememDiff *diff)
{
  return gemem_held_info (diff->sides[0].held)->stacks != NULL
         && gemem_held_info (diff->sides[1].held)->stacks != NULL;
}

static gboolean
choose_by (GememDiff *diff, const char *by, GError **error)
{
  const char *const *names = gemem_hold_by_names ();

  diff->by = has_stacks (diff) ? GEMEM_HOLD_BY_LINE : GEMEM_HOLD_BY_SIZE;
  for (guint i = 0; by != NULL && names[i] != NULL; i++)
    if (strcmp (names[i], by) == 0)
      {
        diff->by = (GememHoldBy) i;
        return TRUE;
      }
  if (by == NULL)
    return TRUE;
  g_autofree char *all = g_strjoinv (", ", (char **) names);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--by=%s: write one of %s", by, all);
  return FALSE;
}

static gboolean
find_holders (GememDiff *diff, GError **error)
{
  const GememHoldersOptions at_peak = { .by = diff->by };

  for (guint s = 0; s < 2; s++)
    {
      GememDiffSide *side = &diff->sides[s];
      side->holders = gemem_holders_new (gemem_held_open, side->held, &at_peak, error);
      if (side->holders == NULL)
        return FALSE;
    }
  return TRUE;
}

GememDiff *
gemem_diff (const GememDiffQuestion *question, GError **error)
{
  g_autoptr (GememDiff) diff = g_new0 (GememDiff, 1);

  diff->rows = gemem_diff_rows_new ();
  diff->idle = gemem_diff_rows_new ();
  diff->settings = g_array_new (FALSE, TRUE, sizeof (GememDiffSetting));
  g_array_set_clear_func (diff->settings, setting_clear);
  for (guint s = 0; s < 2; s++)
    {
      diff->sides[s].name = question->inputs[s].name;
      diff->sides[s].held = gemem_held_ref (question->inputs[s].held);
    }
  diff->one_recording = diff->sides[0].held == diff->sides[1].held;
  if (!choose_by (diff, question->by, error) || !replay_both (diff, question, error)
      || !find_holders (diff, error)
      || !(diff->one_recording ? gemem_diff_find_reserve (diff, error)
                               : gemem_diff_find_parting (diff, error)))
    return NULL;
  gemem_diff_compare_holders (diff);
  gemem_diff_compare_idle (diff);
  compare_settings (diff);
  return g_steal_pointer (&diff);
}

void
gemem_diff_free (GememDiff *diff)
{
  if (diff == NULL)
    return;
  for (guint s = 0; s < 2; s++)
    {
      GememDiffSide *side = &diff->sides[s];

      gemem_result_free (side->result);
      gemem_holders_free (side->holders);
      g_clear_pointer (&side->own, gemem_allocator_spec_free);
      gemem_held_unref (side->held);
      g_free (side->label);
      g_free (diff->parting.steps[s].by);
    }
  g_free (diff->reserve.by);
  g_array_unref (diff->rows);
  g_array_unref (diff->idle);
  g_array_unref (diff->settings);
  g_free (diff);
}

gboolean
gemem_diff_is_empty (const GememDiff *diff)
{
  const GememResult *a = diff->sides[0].result, *b = diff->sides[1].result;

  return diff->rows->len + diff->idle->len + diff->settings->len == 0 && !diff->parting.found
         && !diff->reserve.found && a->peak_reserved == b->peak_reserved
         && a->peak_live == b->peak_live && a->ooms == b->ooms;
}
