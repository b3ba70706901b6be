/* histories.c - see histories.h. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/search/histories.h"
#include "traces/shuffled.h"

/* The replays of all histories. */
typedef struct
{
  const GememNeed *need;
  const GememNeedOptions *options;
  char *device;            /* with the addresses of all; NULL: as the options say */
  GememShuffled *shuffled; /* of the orders of frees */
  GArray *jobs;            /* GememJob */
  GArray *kinds;           /* GememHistoriesKind of each */
} Round;

/* Where segments come to lie if not where they were recorded; NULL: as the options say. */
static char *
other_places (const GememNeed *need, const GememNeedOptions *options)
{
  const GememTraceInfo *info = gemem_held_info (need->held);
  const char *places = gemem_settings_value (need->result->device_settings, "address");
  const GememAllocatorClass *klass = info->allocator != NULL
                                         ? gemem_allocator_find (info->allocator, NULL)
                                         : NULL;
  GString *spec;

  if (g_strcmp0 (places, "recorded") != 0)
    return NULL;
  spec = g_string_new (options->device_spec != NULL ? options->device_spec : "sim");
  gemem_settings_append_text (
      spec, "address",
      klass != NULL && (klass->capabilities & GEMEM_CAP_CUDA) != 0 ? "cuda" : "bump");
  return g_string_free (spec, FALSE);
}

static GememJob *
add_job (Round *round, GememHistoriesKind kind)
{
  const GememNeed *need = round->need;
  GememJob job = gemem_need_job (need, need->spec != NULL ? need->spec : need->own,
                                 need->result->device_ordinal, round->options);

  if (round->device != NULL)
    job.device_spec = round->device;
  job.find_capacity = round->options->finds_capacity;
  g_array_append_val (round->jobs, job);
  g_array_append_val (round->kinds, kind);
  return &g_array_index (round->jobs, GememJob, round->jobs->len - 1);
}

/* What began in the middle cannot be done twice: its first blocks are there but once. */
static gboolean
can_repeat (const GememNeed *need)
{
  return need->result->initial_events == 0
         && (gemem_held_info (need->held)->flags & GEMEM_TRACE_STARTS_IN_MIDDLE) == 0;
}

static void
add_jobs (Round *round, guint frees)
{
  for (guint i = 0; i < frees; i++)
    {
      GememJob *job = add_job (round, GEMEM_HISTORIES_FREES);

      round->shuffled[i] = (GememShuffled){ round->need->held, i + 1 };
      job->source = gemem_shuffled_open;
      job->source_data = &round->shuffled[i];
    }
  if (can_repeat (round->need))
    add_job (round, GEMEM_HISTORIES_WARM)->warm_up = 1;
  if (round->device != NULL)
    add_job (round, GEMEM_HISTORIES_ADDRESSES);
}

static void
count (GememHistoriesSpread *spread, const GememResult *result, gboolean capacity)
{
  const gboolean failed =
      result == NULL || !gemem_result_is_complete (result)
      || (capacity && (result->least_capacity == 0 || result->least_capacity == G_MAXUINT64));
  guint64 need;

  spread->runs++;
  spread->failed += failed;
  if (failed)
    return;
  need = capacity ? result->least_capacity : result->peak_reserved;
  spread->least = MIN (spread->least, need);
  spread->most = MAX (spread->most, need);
}

gboolean
gemem_was_left_out (const GememResult *result, const GError *error)
{
  return result != NULL ? gemem_result_was_interrupted (result)
                        : g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED);
}

static void
take_results (const Round *round, GememHistories *histories)
{
  const guint n = round->jobs->len;
  GememResult **results = g_new0 (GememResult *, n + 1);
  GError **errors = g_new0 (GError *, n + 1);

  gemem_runner_run (&round->options->runner, (const GememJob *) round->jobs->data, n, results,
                    errors);
  for (guint i = 0; i < n; i++)
    {
      const GememHistoriesKind kind = g_array_index (round->kinds, GememHistoriesKind, i);

      if (gemem_was_left_out (results[i], errors[i]))
        histories->left_out++;
      else
        {
          count (&histories->kinds[kind], results[i], round->options->finds_capacity);
          count (&histories->all, results[i], round->options->finds_capacity);
        }
      gemem_result_free (results[i]);
      g_clear_error (&errors[i]);
    }
  g_free (results);
  g_free (errors);
}

void
gemem_histories_try (const GememNeed *need, guint frees, const GememNeedOptions *options,
                     GememHistories *histories)
{
  Round round = { need,
                  options,
                  other_places (need, options),
                  g_new0 (GememShuffled, frees + 1),
                  g_array_new (FALSE, TRUE, sizeof (GememJob)),
                  g_array_new (FALSE, TRUE, sizeof (GememHistoriesKind)) };

  *histories = (GememHistories){ .frees = frees, .all.least = G_MAXUINT64 };
  for (guint i = 0; i < GEMEM_HISTORIES_KINDS; i++)
    histories->kinds[i].least = G_MAXUINT64;
  add_jobs (&round, frees);
  take_results (&round, histories);
  g_free (round.device);
  g_free (round.shuffled);
  g_array_unref (round.jobs);
  g_array_unref (round.kinds);
}

/* ---- in words */

void
gemem_histories_append_range (GString *out, const GememHistoriesSpread *spread)
{
  char least[GEMEM_FORMAT_MAX], most[GEMEM_FORMAT_MAX];

  gemem_format_size (least, spread->least);
  gemem_format_size (most, spread->most);
  if (strcmp (least, most) != 0)
    g_string_append_printf (out, "%s to ", least);
  g_string_append (out, most);
}

/* "8 orders of frees", and where they @differ from one another " 4.271 GiB to 4.302 GiB and 1 fails" */
static void
append_kind (GString *out, const GememHistoriesSpread *spread, GememHistoriesKind kind,
             gboolean differ)
{
  if (kind == GEMEM_HISTORIES_FREES)
    g_string_append_printf (out, "%u order%s of frees", spread->runs, gemem_plural (spread->runs));
  else
    g_string_append (out, kind == GEMEM_HISTORIES_WARM ? "a warm cache" : "other addresses");
  if (!differ)
    return;
  g_string_append_c (out, ' ');
  if (spread->failed == spread->runs)
    g_string_append (out, kind == GEMEM_HISTORIES_WARM
                                  || (kind == GEMEM_HISTORIES_FREES && spread->runs == 1)
                              ? "fails"
                              : "fail");
  else
    gemem_histories_append_range (out, spread);
  if (spread->failed > 0 && spread->failed < spread->runs)
    g_string_append_printf (out, " and %u fail%s", spread->failed, spread->failed == 1 ? "s" : "");
}

char *
gemem_histories_sentence (const GememHistories *histories, guint64 need)
{
  const GememHistoriesSpread *all = &histories->all;
  const gboolean differ = all->failed > 0 || all->least != all->most;
  GString *out = g_string_new (NULL);
  const char *before = ": ";

  if (all->runs == 0)
    {
      g_string_append_printf (out, "It was interrupted before any of %u other histories ended.",
                              histories->left_out);
      return g_string_free (out, FALSE);
    }
  if (all->failed > 0)
    g_string_append_printf (out, "It fails in %u of", all->failed);
  else if (!differ && all->least == need)
    g_string_append (out, "It needs as much in");
  else
    {
      g_string_append (out, "It needs ");
      gemem_histories_append_range (out, all);
      g_string_append (out, " in");
    }
  g_string_append_printf (out, " %u other %s", all->runs, all->runs == 1 ? "history" : "histories");
  for (guint kind = 0; kind < GEMEM_HISTORIES_KINDS; kind++)
    if (histories->kinds[kind].runs > 0)
      {
        g_string_append (out, before);
        append_kind (out, &histories->kinds[kind], (GememHistoriesKind) kind, differ);
        before = ", ";
      }
  if (histories->left_out > 0)
    g_string_append_printf (out, "; interrupted, %u more %s left out", histories->left_out,
                            histories->left_out == 1 ? "is" : "are");
  g_string_append_c (out, '.');
  return g_string_free (out, FALSE);
}
