/* screen-json.c - an advice for programs: the fields of the screen, and its sentence. */
#include "config.h"

#include "base/io/json-text.h"
#include "sim/report/report.h"
#include "sim/search/advise.h"

/* Nothing where none were tried. */
static void
append_histories (GString *out, const GememHistories *histories)
{
  static const char *const names[] = { "frees", "warm", "addresses" };

  if (histories->all.runs + histories->left_out == 0)
    return;
  gemem_json_append_name (out, "histories");
  g_string_append_c (out, '{');
  for (guint kind = 0; kind < GEMEM_HISTORIES_KINDS; kind++)
    {
      const GememHistoriesSpread *spread = &histories->kinds[kind];

      if (spread->runs == 0)
        continue;
      gemem_json_append_name (out, names[kind]);
      g_string_append_c (out, '{');
      gemem_json_append_number_member (out, "runs", spread->runs);
      gemem_json_append_number_member (out, "failed", spread->failed);
      if (spread->failed < spread->runs)
        {
          gemem_json_append_number_member (out, "least_needed_bytes", spread->least);
          gemem_json_append_number_member (out, "most_needed_bytes", spread->most);
        }
      g_string_append_c (out, '}');
    }
  if (histories->left_out > 0)
    gemem_json_append_number_member (out, "left_out", histories->left_out);
  g_string_append_c (out, '}');
}

static void
append_lines (GString *out, const GememAdvice *advice)
{
  g_autofree char *offer = gemem_advice_offer (advice, advice->lines->len > 1);

  gemem_json_append_text_member (out, "offer", offer);
  gemem_json_append_name (out, "lines");
  g_string_append_c (out, '[');
  for (guint i = 0; i < advice->lines->len; i++)
    {
      const GememAdviceLine *line = &g_array_index (advice->lines, GememAdviceLine, i);
      g_autofree char *words = gemem_advice_line_words (advice, line);

      g_string_append (out, i == 0 ? "\n    {" : ",\n    {");
      gemem_json_append_text_member (out, "paste", line->candidate->line);
      gemem_json_append_text_member (out, "words", words);
      gemem_json_append_text_member (out, "allocator", line->candidate->klass->name);
      gemem_json_append_number_member (out, "needed_bytes", line->need);
      gemem_json_append_number_member (out, "saved_bytes", line->saved);
      gemem_json_append_name (out, "device_calls_more");
      if (advice->calls_known)
        g_string_append_printf (out, "%" G_GINT64_FORMAT, line->calls);
      else
        g_string_append (out, "null");
      gemem_json_append_bool_member (out, "refused_by_oldest_version", line->too_new);
      append_histories (out, &line->histories);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

static void
append_failure (GString *out, const GememAdvice *advice)
{
  const GememResult *now = advice->now;
  const GememOom *oom = gemem_result_first_oom (now);
  g_autofree char *reason = gemem_advice_reason (advice);

  gemem_json_append_number_member (out, "failed", now->ooms);
  if (oom == NULL)
    return;
  gemem_json_append_name (out, "failure");
  g_string_append_c (out, '{');
  gemem_json_append_number_member (out, "event", oom->seq);
  gemem_json_append_number_member (out, "requested_bytes", oom->requested);
  gemem_json_append_text_member (out, "by", oom->origin.by);
  gemem_json_append_text_member (out, "reason", reason);
  g_string_append_c (out, '}');
}

/* Nothing where nothing of concern grows. */
static void
append_growth (GString *out, const GememAdvice *advice)
{
  const GememGrowth *growth = advice->growth;
  g_autofree char *words = gemem_advice_growth_words (advice);
  guint steps;
  guint64 bytes;

  if (words == NULL)
    return;
  bytes = gemem_advice_kept (advice, &steps);
  gemem_json_append_name (out, "growth");
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "words", words);
  gemem_json_append_number_member (out, "steps", steps);
  gemem_json_append_number_member (out, "step_bytes", growth->step_bytes);
  gemem_json_append_number_member (out, "kept_bytes", bytes);
  gemem_json_append_text_member (out, "by", growth->by);
  gemem_json_append_number_member (out, "by_bytes", growth->by_bytes);
  gemem_json_append_text_member (out, "reached_from", growth->from);
  gemem_json_append_bool_member (out, "fits_so_far", advice->fits_so_far);
  if (advice->fits_so_far)
    gemem_json_append_number_member (out, "steps_left",
                                     gemem_advice_steps_left (advice, advice->now->peak_reserved));
  g_string_append_c (out, '}');
}

static void
append_holders (GString *out, const GememAdvice *advice)
{
  const GememDeviceHolders *device = gemem_holders_of (advice->holders,
                                                       advice->now->device_ordinal);

  gemem_json_append_name (out, "holders");
  g_string_append_c (out, '[');
  for (guint i = 0; device != NULL && i < MIN (5, device->holders->len); i++)
    {
      const GememHolder *holder = device->holders->pdata[i];

      g_string_append (out, i == 0 ? "\n    {" : ",\n    {");
      gemem_json_append_text_member (out, "line", holder->unknown ? NULL : holder->name);
      gemem_json_append_number_member (out, "bytes", holder->bytes);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

void
gemem_advice_append_json (GString *out, const GememAdvice *advice)
{
  const GememTraceInfo *info = gemem_held_info (advice->held);
  const GememResult *now = advice->now;
  g_autofree char *sentence = gemem_advice_sentence (advice);
  const char *verdict = advice->verdict == GEMEM_ADVICE_FITS           ? "fits"
                        : advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT ? "does-not-fit"
                                                                       : "unknown";

  g_string_append (out, "{\"schema\": \"gemem-advice\", \"version\": 1");
  gemem_json_append_text_member (out, "trace", advice->name);
  gemem_json_append_text_member (out, "format", info->format);
  gemem_json_append_number_member (out, "events", gemem_held_events (advice->held));
  gemem_json_append_number_member (out, "device", (guint64) now->device_ordinal);
  gemem_json_append_number_member (out, "devices", advice->devices);
  gemem_json_append_text_member (out, "allocator", now->allocator);
  gemem_json_append_bool_member (out, "allocator_assumed", advice->assumed);
  gemem_json_append_text_member (out, "versions", advice->versions);
  gemem_json_append_text_member (out, "system", advice->system);
  gemem_json_append_text_member (out, "verdict", verdict);
  gemem_json_append_text_member (out, "doubt", advice->doubt);
  gemem_json_append_text_member (out, "sentence", sentence);
  gemem_json_append_number_member (out, "needed_bytes", advice->need);
  if (advice->limited)
    gemem_json_append_bool_member (out, "needed_of_limit", TRUE);
  gemem_json_append_number_member (out, "capacity_bytes", now->capacity);
  gemem_json_append_bool_member (out, "capacity_assumed", advice->device_assumed);
  gemem_json_append_number_member (out, "refused_when_recorded", gemem_held_refused (advice->held));
  gemem_json_append_number_member (out, "lower_bound_bytes", advice->least);
  gemem_json_append_number_member (out, "decisions_compared", now->fidelity.compared);
  gemem_json_append_number_member (out, "decisions_equal", now->fidelity.equal);
  gemem_json_append_bool_member (out, "exact", !gemem_advice_parts (advice));
  append_failure (out, advice);
  append_growth (out, advice);
  append_histories (out, &advice->histories);
  append_lines (out, advice);
  gemem_json_append_number_member (out, "tried", advice->tried);
  gemem_json_append_number_member (out, "tried_pairs", advice->pairs);
  if (advice->left_out > 0)
    gemem_json_append_number_member (out, "left_out", advice->left_out);
  gemem_json_append_bool_member (out, "shortened", advice->shortened);
  gemem_json_append_number_member (out, "refused", advice->refused);
  gemem_json_append_number_member (out, "approximated", advice->approximate);
  gemem_json_append_text_member (out, "other_allocator", advice->other);
  gemem_json_append_number_member (out, "other_needed_bytes",
                                   advice->other != NULL ? advice->other_need : 0);
  append_holders (out, advice);
  gemem_json_append_array_member (out, "idle", now);
  gemem_json_append_array_member (out, "idle_at_failure", now);
  g_string_append_c (out, '}');
}
