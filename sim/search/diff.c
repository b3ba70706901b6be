/* diff.c - see diff.h: the replays of both sides, and the rows in which they differ. */
#include "config.h"

#include <string.h>

#include "sim/search/diff.h"

static void
setting_clear (gpointer data)
{
  GememDiffSetting *setting = data;

  g_free (setting->name);
  g_free (setting->values[0]);
  g_free (setting->values[1]);
}

/* ---- settings */

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
      add_setting (diff, setting->key, setting->value,
                   gemem_settings_value (b->parameters, setting->key));
    }
  for (guint i = 0; i < 2 && !diff->one_recording; i++)
    {
      static const char *const said[] = { "PyTorch", "device" };
      const char *x = gemem_trace_info_said (gemem_held_info (diff->sides[0].held), said[i]),
                 *y = gemem_trace_info_said (gemem_held_info (diff->sides[1].held), said[i]);

      if (x != NULL && y != NULL) /* what one does not tell is no difference */
        add_setting (diff, said[i], x, y);
    }
  if (a->capacity != b->capacity && !a->device_assumed && !b->device_assumed)
    {
      g_autofree char *x = g_strdup_printf ("%" G_GUINT64_FORMAT, a->capacity),
                      *y = g_strdup_printf ("%" G_GUINT64_FORMAT, b->capacity);
      add_setting (diff, "capacity", x, y);
    }
}

/* ---- replays */

/* A point for each event, so that it can be seen where two runs of one recording part; of a longer one
 * for some events together. */
static guint
points_of (const GememHeld *held)
{
  return (guint) MIN (gemem_held_events (held) + 2, GEMEM_DIFF_POINTS);
}

/* All blocks and segments are kept. */
static GememHistoryWish
all_of (const GememHeld *held)
{
  const guint64 events = gemem_held_events (held);

  return (GememHistoryWish){ .most = 2 * (guint) MIN (events, GEMEM_DIFF_CHAIN_EVENTS) + 1024,
                             .events = events,
                             .parts = 1 };
}

static gboolean
replay_both (GememDiff *diff, const GememDiffQuestion *question, GError **error)
{
  GememNeed needs[2] = { question->inputs[0], question->inputs[1] };
  GememHistoryWish wishes[2];
  gboolean ok, keeps = TRUE;

  for (guint s = 0; s < 2; s++)
    keeps = keeps && gemem_held_events (needs[s].held) <= GEMEM_DIFF_CHAIN_EVENTS;
  for (guint s = 0; s < 2; s++)
    {
      wishes[s] = all_of (needs[s].held);
      needs[s].history = keeps ? &wishes[s] : NULL;
      needs[s].timeline_points = diff->one_recording         ? points_of (needs[s].held)
                                 : question->keeps_timelines ? GEMEM_TIMELINE_POINTS_DEFAULT
                                                             : 0;
    }
  ok = gemem_needs_find (needs, 2, &question->options, error);
  for (guint s = 0; s < 2; s++)
    {
      diff->sides[s].assumed = needs[s].assumed;
      diff->sides[s].result = g_steal_pointer (&needs[s].result);
      gemem_need_clear (&needs[s]);
    }
  return ok;
}

static void
find_lone_steps (GememDiff *diff)
{
  const GememResult *a = diff->sides[0].result, *b = diff->sides[1].result;

  if (diff->one_recording || a->history == NULL || b->history == NULL)
    return;
  g_autoptr (GArray) first = gemem_diff_steps (a->history), second = gemem_diff_steps (b->history);
  for (guint i = 0, j = 0; i < first->len || j < second->len;)
    {
      const guint64 x = i < first->len ? g_array_index (first, guint64, i) : G_MAXUINT64,
                    y = j < second->len ? g_array_index (second, guint64, j) : G_MAXUINT64;

      if (x < y)
        g_array_append_val (diff->lone_steps[0], x);
      else if (y < x)
        g_array_append_val (diff->lone_steps[1], y);
      i += x <= y;
      j += y <= x;
    }
}

static guint64
first_failure (const GememResult *result)
{
  const GememOom *oom = gemem_result_first_oom (result);

  return oom != NULL ? oom->seq : G_MAXUINT64;
}

/* Which side holds more than it should, and at which event: at its peak; where a request fails, the one that fails, or
 * of one recording the one that fails first, at that request.  FALSE: none, or it cannot be told. */
static gboolean
find_moment (const GememDiff *diff, guint *side, guint64 *event)
{
  const GememResult *a = diff->sides[0].result, *b = diff->sides[1].result;
  const guint64 failures[] = { first_failure (a), first_failure (b) };

  if (a->ooms + b->ooms == 0)
    {
      *side = b->peak_reserved > a->peak_reserved ? 1 : 0;
      *event = *side == 1 ? b->peak_reserved_seq : a->peak_reserved_seq;
      return a->peak_reserved != b->peak_reserved;
    }
  *side = failures[1] < failures[0] ? 1 : 0;
  *event = failures[*side];
  return failures[0] != failures[1] && (diff->one_recording || a->ooms == 0 || b->ooms == 0);
}

static gboolean
find_chain (GememDiff *diff, const GememDiffQuestion *question, GError **error)
{
  const GememResult *a = diff->sides[0].result, *b = diff->sides[1].result;
  const gboolean fails = a->ooms + b->ooms > 0;
  gboolean ok = TRUE;
  guint64 event;
  guint side;

  if (find_moment (diff, &side, &event))
    {
      diff->too_long = a->history == NULL || b->history == NULL;
      if (!diff->too_long)
        diff->chain = gemem_diff_chain ((GememHistory *const[2]){ a->history, b->history }, event,
                                        side, fails, diff->one_recording);
      if (!diff->too_long && fails)
        ok = gemem_diff_find_failure (diff, question, side, event, error);
    }
  for (guint s = 0; s < 2; s++) /* they are large */
    g_clear_pointer (&diff->sides[s].result->history, gemem_history_free);
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

  for (guint s = 0; s < 2 && !diff->one_recording; s++)
    {
      GememDiffSide *side = &diff->sides[s];
      side->holders = gemem_holders_new (gemem_held_open, side->held, &at_peak, error);
      if (side->holders == NULL)
        return FALSE;
    }
  return TRUE;
}

static gboolean
has_categories (const GememDiff *diff)
{
  return gemem_held_info (diff->sides[0].held)->strings->len
             + gemem_held_info (diff->sides[1].held)->strings->len
         > 0;
}

/* Matches the holders of both recordings by @by, which is not that of the rows; fills @rows. */
static gboolean
match_other (GememDiff *diff, GememHoldBy by, GArray *rows, GError **error)
{
  const GememHoldersOptions at_peak = { .by = by };
  GememHolders *holders[2] = { NULL, NULL };
  const GPtrArray *lists[2] = { NULL, NULL };
  gboolean ok = TRUE;

  for (guint s = 0; ok && s < 2; s++)
    {
      const GememDeviceHolders *device;

      holders[s] = gemem_holders_new (gemem_held_open, diff->sides[s].held, &at_peak, error);
      ok = holders[s] != NULL;
      device = ok ? gemem_holders_of (holders[s], diff->sides[s].result->device_ordinal) : NULL;
      lists[s] = device != NULL ? device->holders : NULL;
    }
  if (ok && by == GEMEM_HOLD_BY_SIZE)
    gemem_diff_match_classes (rows, lists[0], lists[1]);
  else if (ok)
    gemem_diff_match (rows, lists[0], lists[1], FALSE);
  gemem_holders_free (holders[0]);
  gemem_holders_free (holders[1]);
  return ok;
}

static gboolean
match_others (GememDiff *diff, GError **error)
{
  if (diff->one_recording)
    return TRUE;
  return (diff->by == GEMEM_HOLD_BY_CATEGORY || !has_categories (diff)
          || match_other (diff, GEMEM_HOLD_BY_CATEGORY, diff->categories, error))
         && match_other (diff, GEMEM_HOLD_BY_SIZE, diff->classes, error);
}

GememDiff *
gemem_diff (const GememDiffQuestion *question, GError **error)
{
  g_autoptr (GememDiff) diff = g_new0 (GememDiff, 1);

  diff->rows = gemem_diff_rows_new ();
  diff->idle = gemem_diff_rows_new ();
  diff->lone_steps[0] = g_array_new (FALSE, FALSE, sizeof (guint64));
  diff->lone_steps[1] = g_array_new (FALSE, FALSE, sizeof (guint64));
  diff->categories = gemem_diff_rows_new ();
  diff->classes = gemem_diff_rows_new ();
  diff->settings = g_array_new (FALSE, TRUE, sizeof (GememDiffSetting));
  g_array_set_clear_func (diff->settings, setting_clear);
  for (guint s = 0; s < 2; s++)
    {
      diff->sides[s].name = g_strdup (question->inputs[s].name);
      diff->sides[s].held = gemem_held_ref (question->inputs[s].held);
    }
  diff->one_recording = diff->sides[0].held == diff->sides[1].held;
  if (!choose_by (diff, question->by, error) || !replay_both (diff, question, error)
      || !find_holders (diff, error) || !match_others (diff, error)
      || !(diff->one_recording ? gemem_diff_find_reserve (diff, error)
                               : gemem_diff_find_parting (diff, error)))
    return NULL;
  gemem_diff_compare_holders (diff);
  gemem_diff_compare_idle (diff);
  compare_settings (diff);
  find_lone_steps (diff);
  if (!find_chain (diff, question, error))
    return NULL;
  for (guint s = 0; s < 2; s++)
    {
      g_clear_pointer (&diff->sides[s].holders, gemem_holders_free);
      g_clear_pointer (&diff->sides[s].held, gemem_held_unref);
    }
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

      g_free (side->name);
      gemem_result_free (side->result);
      gemem_holders_free (side->holders);
      if (side->held != NULL)
        gemem_held_unref (side->held);
      g_free (diff->parting.steps[s].by);
    }
  g_free (diff->reserve.by);
  gemem_diff_failure_clear (&diff->failure);
  gemem_diff_chain_free (diff->chain);
  g_array_unref (diff->rows);
  g_array_unref (diff->idle);
  g_array_unref (diff->lone_steps[0]);
  g_array_unref (diff->lone_steps[1]);
  g_array_unref (diff->categories);
  g_array_unref (diff->classes);
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
