/* screen.c - an advice for a person: the verdict first, at most about twenty lines of 100 columns.
 *
 * Invariants: no figure is computed here; no name of a file, of a line of code or of a setting makes
 * a line longer than GEMEM_TEXT_WIDTH, but for the lines to paste, which stay whole.
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/report/notes.h"
#include "sim/search/advise.h"
#include "sim/search/recorder.h"

#define HOLDERS 5

/* ---- pieces */

/* "pytorch-caching 2.10 or 2.11" */
static void
append_allocator (GString *out, const GememAdvice *advice)
{
  const char *version = advice->versions != NULL
                            ? advice->versions
                            : gemem_settings_value (advice->now->parameters, "version");

  g_string_append (out, advice->now->allocator);
  if (version != NULL)
    g_string_append_printf (out, " %s", version);
}

static char *
percent (char *buffer, guint64 part, guint64 whole)
{
  return g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.1f",
                          whole > 0 ? 100 * (double) part / (double) whole : 0);
}

/* Whether requests were recorded as powers of two: then no replay tells what fewer bytes would do. */
static gboolean
is_doubled (const GememAdvice *advice)
{
  return advice->now->device_ordinal == GEMEM_DEVICE_HOST
         && (gemem_held_info (advice->held)->flags & GEMEM_TRACE_BLOCK_SIZES) != 0;
}

/* What came before is not in the recording. */
static gboolean
begins_in_middle (const GememAdvice *advice)
{
  return advice->now->initial_events > 0
         || (gemem_held_info (advice->held)->flags & GEMEM_TRACE_STARTS_IN_MIDDLE) != 0;
}

/* ---- why it fails */

/* "other streams' caches: 2.000 GiB free in ...", where most of what was idle at the failure lies, if
 * that and what the device has would suffice for the request; NULL: elsewhere, or not enough. */
static char *
idle_elsewhere (const GememResult *now, const GememOom *oom)
{
  const GArray *rows = now->idle_at_failure;
  const GememIdleRow *row = rows->len > 0 ? &g_array_index (rows, GememIdleRow, 0) : NULL;
  g_autofree char *text = gemem_report_idle_cause (rows);

  if (row == NULL || row->bytes < oom->requested - oom->device_free)
    return NULL;
  return row->cause == GEMEM_IDLE_STREAMS ? g_strconcat ("other streams' caches: ", text, NULL)
         : row->cause == GEMEM_IDLE_POOLS ? g_strconcat ("kept in pools: ", text, NULL)
                                          : NULL;
}

/* "a limit of the program (the device had 70.14 GiB free); 156.4 MiB of the 1.287 GiB held are not in use": why a request
 * fails for which enough was free. */
static char *
limit_text (const GememAdvice *advice, const GememOom *oom)
{
  const GememResult *now = advice->now;
  const char *limit = gemem_settings_value (now->parameters, "memory_limit"),
             *other = limit == NULL ? gemem_settings_value (now->parameters, "limit") : limit;
  GString *out = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX], whole[GEMEM_FORMAT_MAX];
  guint64 bytes;

  if (other != NULL && strcmp (other, "none") != 0 && gemem_parse_size (other, 1, 0, &bytes, NULL))
    g_string_append_printf (out, "the allocator's limit of %s", gemem_format_size (size, bytes));
  else if (advice->limited)
    g_string_append (out, "a limit of the program");
  else if (limit != NULL)
    g_string_append (out, "what the allocator takes at a time is more than the request");
  else
    g_string_append (out, "a limit of the allocator, or what it takes at a time");
  g_string_append_printf (out, " (the device had %s free)",
                          gemem_format_size (size, oom->device_free));
  if (oom->live < oom->reserved)
    g_string_append_printf (out, "; %s of the %s held are not in use",
                            gemem_format_size (size, oom->reserved - oom->live),
                            gemem_format_size (whole, oom->reserved));
  return g_string_free (out, FALSE);
}

char *
gemem_advice_reason (const GememAdvice *advice)
{
  const GememResult *now = advice->now;
  const GememOom *oom = gemem_result_first_oom (now);
  char a[GEMEM_FORMAT_MAX], b[GEMEM_FORMAT_MAX], *elsewhere;

  if (oom == NULL)
    return NULL;
  if (advice->limited)
    return limit_text (advice, oom);
  if (gemem_oom_is_unbegun (oom))
    return g_strdup ("the allocator did not get what it takes at the beginning");
  if (oom->wake)
    return g_strdup ("memory that slept cannot wake");
  if (now->lower_bound > now->capacity && is_doubled (advice))
    return g_strdup_printf ("too little (%s in use at once, as PyTorch rounded it)",
                            gemem_format_size (a, now->lower_bound));
  if (now->lower_bound > now->capacity)
    return g_strdup_printf ("truly too little (%s in use at once, whatever the settings)",
                            gemem_format_size (a, now->lower_bound));
  if (!oom->avoidable)
    return g_strdup_printf (
        "truly too little (%s in use, and with the request %s more than there is)",
        gemem_format_size (a, oom->live), gemem_format_size (b, oom->missing));
  if (oom->device_free >= oom->requested)
    return limit_text (advice, oom);
  if (oom->waiting)
    return g_strdup (
        "freed memory waits for its streams (once they are done, the same request fits)");
  elsewhere = idle_elsewhere (now, oom);
  if (elsewhere != NULL)
    return elsewhere;
  return g_strdup_printf ("fragmentation (%s of the %s held are not in use)",
                          gemem_format_size (a, oom->reserved - MIN (oom->live, oom->reserved)),
                          gemem_format_size (b, oom->reserved));
}

/* "request of 147.2 MiB fails at event 1671, by record.py:35 run" */
static void
append_failure (GString *out, const GememAdvice *advice)
{
  const GememResult *now = advice->now;
  const GememOom *oom = gemem_result_first_oom (now);
  char size[GEMEM_FORMAT_MAX];

  g_string_append_printf (out, "a request of %s fails, event %" G_GUINT64_FORMAT,
                          gemem_format_size (size, oom->requested), oom->seq);
  if (oom->origin.known && oom->origin.by != NULL)
    gemem_origin_append_by (out, oom->origin.by);
  if (now->ooms > 1)
    g_string_append_printf (out, ", and %" G_GUINT64_FORMAT " more", now->ooms - 1);
  if (now->after_recorded_oom > 0 && gemem_result_new_ooms (now) == 0)
    g_string_append (out, "; the program went on without");
}

char *
gemem_advice_sentence (const GememAdvice *advice)
{
  const GememResult *now = advice->now;
  GString *out = g_string_new (NULL);
  char need[GEMEM_FORMAT_MAX], whole[GEMEM_FORMAT_MAX];
  const char *with = advice->assumed || gemem_held_info (advice->held)->allocator == NULL
                         ? "with default settings"
                         : "with the settings it had";

  const gboolean recorded = !advice->device_assumed && now->device_from != NULL;
  const gboolean host = now->device_ordinal == GEMEM_DEVICE_HOST;
  const char *whose = advice->device_assumed ? " (assumed; give --capacity)"
                      : recorded             ? " (the recorded device)"
                                             : "";

  gemem_format_size (whole, now->capacity);
  gemem_format_size (need, advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT ? advice->need
                                                                        : now->peak_reserved);
  if (advice->verdict == GEMEM_ADVICE_UNKNOWN && advice->doubt == NULL)
    g_string_append_printf (
        out,
        "It needs %s%s %s. How large its device is was not recorded: --capacity "
        "says whether it fits.",
        need, host ? " of the host's memory" : "", with);
  else if (advice->verdict == GEMEM_ADVICE_FITS)
    g_string_append_printf (out, "It fits%s: it needs %s of %s%s %s.",
                            advice->device != NULL && begins_in_middle (advice)
                                ? ", from where the recording begins"
                                : "",
                            need, whole, whose, with);
  else if (advice->verdict == GEMEM_ADVICE_UNKNOWN)
    g_string_append_printf (out,
                            "It cannot be told whether it fits: %s. As far as it goes it needs %s "
                            "of %s%s.",
                            advice->doubt, need, whole, whose);
  else
    {
      g_autofree char *reason = gemem_advice_reason (advice);

      if (advice->limited && recorded)
        g_string_append_printf (
            out, "It does not fit in the limit it was given (%s or more) %s: ", whole, with);
      else if ((advice->device_assumed || recorded) && gemem_held_refused (advice->held) > 0)
        g_string_append_printf (out, "It does not fit on the device it was recorded on%s%s%s %s: ",
                                recorded ? " (" : "", recorded ? whole : "", recorded ? ")" : "",
                                with);
      else
        g_string_append_printf (out, "It does not fit in %s%s %s: ", whole, whose, with);
      append_failure (out, advice);
      g_string_append_printf (out, ". Why: %s.", reason);
      if (advice->need > 0)
        g_string_append_printf (out, " It needs a %s of %s.", advice->limited ? "limit" : "device",
                                need);
    }
  return g_string_free (out, FALSE);
}

/* ---- parts of the screen */

static void
append_assumed (GString *out, const GememAdvice *advice)
{
  const char *name = advice->spec->klass->name;

  g_string_append_printf (out,
                          "The recording does not name its allocator: %s is assumed; --for chooses "
                          "another.\n",
                          strcmp (name, "pytorch-caching") == 0 ? "PyTorch's" : name);
}

static void
append_head (GString *out, const GememAdvice *advice)
{
  const GememTraceInfo *info = gemem_held_info (advice->held);
  const GememResult *now = advice->now;
  const guint64 steps = gemem_held_count (advice->held, GEMEM_EVENT_STEP);
  g_autofree char *name = g_path_get_basename (advice->name);
  g_autoptr (GString) head = g_string_new (NULL);
  g_autofree char *release = NULL;

  g_string_append_printf (head, "%s: %s, ", name, info->format);
  append_allocator (head, advice);
  g_string_append_printf (head, ", %" G_GUINT64_FORMAT " event%s", gemem_held_events (advice->held),
                          gemem_plural (gemem_held_events (advice->held)));
  if (steps > 0)
    g_string_append_printf (head, " in %" G_GUINT64_FORMAT " step%s", steps, gemem_plural (steps));
  if (begins_in_middle (advice))
    g_string_append (head, ", begins in the middle");
  if (now->device_ordinal == GEMEM_DEVICE_HOST)
    g_string_append (head, " of host memory");
  if (now->partial || (info->flags & GEMEM_TRACE_TRUNCATED) != 0)
    g_string_append (head, ", cut short");
  if (advice->devices > 1)
    g_string_append_printf (head, "; device %d, which needs most of %u", now->device_ordinal,
                            advice->devices);
  gemem_text_wrap (out, head->str, "  ");
  release = gemem_recorder_release_note (info, advice->spec);
  if (release != NULL)
    gemem_text_append_cut (out, release);
  if (advice->assumed)
    append_assumed (out, advice);
  /* on another device it may decide otherwise; none equal: the segments lie elsewhere */
  if (now->fidelity.equal > 0 && now->fidelity.parted == G_MAXUINT64
      && (now->fidelity.equal == now->fidelity.compared || advice->device == NULL))
    g_string_append_printf (out, "%s: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " decisions.\n",
                            now->fidelity.equal == now->fidelity.compared
                                ? "The replay reproduces the recording exactly"
                                : "The replay decides as recorded",
                            now->fidelity.equal, now->fidelity.compared);
}

static void
append_histories (GString *out, const GememHistories *histories, guint64 need)
{
  g_autofree char *sentence = histories->all.runs + histories->left_out > 0
                                  ? gemem_histories_sentence (histories, need)
                                  : NULL;

  if (sentence != NULL)
    gemem_text_wrap (out, sentence, "  ");
}

static void
append_offer (GString *out, const GememAdvice *advice, const GememAdviceLine *line)
{
  char need[GEMEM_FORMAT_MAX], saved[GEMEM_FORMAT_MAX], share[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (out, "  %s\n      %s", line->candidate->line,
                          gemem_format_size (need, line->need));
  if (line->saved > 0)
    g_string_append_printf (out, ", %s (%s %%) less", gemem_format_size (saved, line->saved),
                            percent (share, line->saved, advice->need));
  if (line->calls != 0)
    g_string_append_printf (out, "; %" G_GINT64_FORMAT " device call%s %s", ABS (line->calls),
                            gemem_plural (ABS (line->calls)), line->calls > 0 ? "more" : "fewer");
  g_string_append (out, line->calls == 0 ? "; as many device calls" : "");
  if (line->too_new)
    g_string_append_printf (out, "; version %.*s refuses it", (int) strcspn (advice->versions, " "),
                            advice->versions);
  if (line->histories.all.failed > 0)
    g_string_append_printf (out, "\n      fails in %u of %u other histories",
                            line->histories.all.failed, line->histories.all.runs);
  else if (line->histories.all.runs > 0)
    {
      g_string_append (out, "\n      in other histories ");
      gemem_histories_append_range (out, &line->histories.all);
    }
  if (line->histories.left_out > 0)
    g_string_append_printf (out, "%s%u of its other histories left out: interrupted",
                            line->histories.all.runs > 0 ? "; " : "\n      ",
                            line->histories.left_out);
  g_string_append_c (out, '\n');
}

/* Whether each line is known to fit: the device is known, or had as much for the program. */
static gboolean
all_fit (const GememAdvice *advice)
{
  const guint64 held = advice->now->fidelity.recorded_peak;

  for (guint i = 0; i < advice->lines->len && advice->device_assumed; i++)
    if (g_array_index (advice->lines, GememAdviceLine, i).need > held)
      return FALSE;
  return advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT;
}

static void
append_offers (GString *out, const GememAdvice *advice)
{
  /* other settings would have laid out otherwise what was alive then */
  const gboolean middle = begins_in_middle (advice);
  const gboolean fails = advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT;
  const gboolean refused = gemem_held_refused (advice->held) > 0;

  if (advice->lines->len == 0)
    return;
  g_string_append_printf (out, "\n%s with%s:\n",
                          middle             ? fails ? "It may fit" : "It may need less"
                          : all_fit (advice) ? refused ? "All that was recorded fits" : "It fits"
                                             : "It needs less",
                          middle ? ", as replays from what was alive at its beginning do"
                          : advice->lines->len > 1 ? ", each proven by a replay"
                                                   : ", proven by a replay");
  for (guint i = 0; i < advice->lines->len; i++)
    append_offer (out, advice, &g_array_index (advice->lines, GememAdviceLine, i));
}

static void
append_tried (GString *out, const GememAdvice *advice)
{
  const gboolean failed = advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT;
  g_autoptr (GString) text = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX];

  if (advice->tried + advice->refused + advice->left_out == 0)
    g_string_append_printf (text, "No setting of %s can be tried. ", advice->now->allocator);
  else
    {
      g_string_append_printf (text, "Tried: %u setting%s of ", advice->tried,
                              gemem_plural (advice->tried));
      append_allocator (text, advice);
      if (advice->pairs > 0)
        g_string_append_printf (text, " and %u pair%s of those that help", advice->pairs,
                                gemem_plural (advice->pairs));
      if (advice->left_out > 0)
        g_string_append_printf (text, "; interrupted, %u more %s left out", advice->left_out,
                                advice->left_out == 1 ? "is" : "are");
      else if (advice->lines->len == 0)
        g_string_append (text, !failed || advice->anew > 0 ? "; none needs 1 % less"
                               : advice->placed > 0
                                   ? "; with none of them it fits in all of 3 orders of addresses"
                               : advice->device_assumed || advice->limited
                                   ? "; none is known to fit there"
                                   : "; with none of them it fits");
      if (advice->approximate > 0)
        g_string_append_printf (text, "; %u not proven, they are only approximated",
                                advice->approximate);
      g_string_append (text, ". ");
    }
  if (is_doubled (advice))
    g_string_append (text,
                     "Requests are recorded as rounded to powers of two: what "
                     "pinned_max_round_threshold_mb would save (PyTorch 2.13 on) cannot be told.");
  else if (advice->least > 0)
    g_string_append_printf (text, "Nothing needs less than the %s in use at once.",
                            gemem_format_size (size, advice->least));
  gemem_text_wrap (out, text->str, "");
  if (advice->shortened)
    g_string_append_printf (out,
                            "Not tried, as the recording is long: pairs of settings, other "
                            "systems%s; --all does.\n",
                            failed ? ", the least device" : "");
  if (advice->other != NULL)
    g_string_append_printf (out, "Good to know: %s, of another system, would need %s.\n",
                            advice->other, gemem_format_size (size, advice->other_need));
}

static void
append_holders (GString *out, const GememAdvice *advice)
{
  const GememDeviceHolders *device = gemem_holders_of (advice->holders,
                                                       advice->now->device_ordinal);
  char size[GEMEM_FORMAT_MAX], share[G_ASCII_DTOSTR_BUF_SIZE];

  if (device == NULL || device->bytes == 0)
    return;
  if (gemem_held_info (advice->held)->stacks == NULL)
    {
      gemem_text_append_cut (out, "Who holds it is not known: the recording has no call stacks.");
      return;
    }
  g_string_append_printf (out, "\n%s in use at the peak:\n",
                          gemem_format_size (size, device->bytes));
  for (guint i = 0; i < MIN (HOLDERS, device->holders->len); i++)
    {
      const GememHolder *holder = device->holders->pdata[i];
      g_autofree char *row = g_strdup_printf (
          "  %10s  %5s %%  %s", gemem_format_size (size, holder->bytes),
          percent (share, holder->bytes, device->bytes), holder->name);
      gemem_text_append_cut (out, row);
    }
}

/* Two lines about how to go on. */
static void
append_next (GString *out, const GememAdvice *advice)
{
  const GememAllocatorClass *klass = advice->spec->klass;
  const char *recorder = gemem_held_info (advice->held)->allocator;
  const gboolean fails = advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT;
  g_autofree char *name = gemem_paste_shell (advice->name);
  g_autofree char *device = gemem_paste_shell (advice->device != NULL ? advice->device : "");

  if (strcmp (gemem_held_info (advice->held)->format, "graph") == 0 && !fails)
    {
      g_string_append_printf (out, "\nNext: gemem-sim plan %s\n      %s\n", name,
                              "places its tensors before the run, as compilers do");
      return;
    }
  g_string_append_printf (out, "\nNext: gemem-sim replay %s", name);
  if (recorder == NULL || !gemem_name_is (klass->name, klass->aliases, recorder))
    g_string_append_printf (out, " -a %s", klass->name);
  if (advice->now->device_ordinal == GEMEM_DEVICE_HOST)
    g_string_append (out, " --trace-device=host");
  if (fails && *device != '\0')
    g_string_append_printf (out, " -d %s", device);
  g_string_append_printf (out, "%s\n      %s\n", fails ? "" : " --find-capacity",
                          fails ? "shows the failed request, and what stands in its way"
                                : "finds the smallest device that would do");
}

/* Memory that the verdict is not about. */
static void
append_pinned (GString *out, const GememAdvice *advice)
{
  const guint64 events = advice->on_host;
  g_autofree char *name = gemem_paste_shell (advice->name);

  if (events > 0)
    g_string_append_printf (out,
                            "\nNot counted: the host's pinned memory, of which %" G_GUINT64_FORMAT
                            " %s recorded:\n  gemem-sim %s --trace-device=host\n",
                            events, events == 1 ? "event was" : "events were", name);
}

void
gemem_advice_append (GString *out, const GememAdvice *advice)
{
  g_autofree char *sentence = gemem_advice_sentence (advice);

  append_head (out, advice);
  g_string_append_c (out, '\n');
  gemem_text_wrap (out, sentence, "  ");
  append_histories (out, &advice->histories, advice->now->peak_reserved);
  append_offers (out, advice);
  g_string_append_c (out, '\n');
  append_tried (out, advice);
  append_holders (out, advice);
  gemem_report_idle (out, advice->now, FALSE);
  append_pinned (out, advice);
  append_next (out, advice);
}
