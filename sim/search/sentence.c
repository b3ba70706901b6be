/* sentence.c - the verdict of an advice in words: whether it fits, which request fails, and why.
 *
 * Why apart: the screen and its JSON, which the page shows too, say the same.
 *
 * Invariants: no figure is computed here, and no guess is stated: what was assumed says so.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "devices/gpus.h"
#include "sim/report/notes.h"
#include "sim/search/advise.h"

gboolean
gemem_advice_is_doubled (const GememAdvice *advice)
{
  return strcmp (advice->spec->klass->name, "pytorch-pinned") == 0
         && (gemem_held_info (advice->held)->flags & GEMEM_TRACE_BLOCK_SIZES) != 0;
}

gboolean
gemem_advice_is_middle (const GememAdvice *advice)
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
             *other = limit == NULL ? gemem_settings_value (now->parameters, "limit") : limit,
             *largest = gemem_settings_value (now->parameters, "maximum_pool_size");
  const char *part = gemem_settings_value (now->parameters, "per_process_memory_fraction");
  const double fraction = part != NULL ? g_ascii_strtod (part, NULL) : 1;
  const gboolean is_part = fraction > 0 && fraction < 1;
  const gboolean exceeds = (double) oom->reserved + (double) oom->requested
                           > fraction * (double) oom->capacity;
  GString *out = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX], whole[GEMEM_FORMAT_MAX];
  guint64 bytes;

  if (other == NULL)
    other = largest;
  if (advice->limited)
    g_string_append (out, "a limit of the program");
  else if (other != NULL && strcmp (other, "none") != 0
           && gemem_parse_size (other, 1, 0, &bytes, NULL))
    g_string_append_printf (out, "the allocator's limit of %s", gemem_format_size (size, bytes));
  else if (is_part)
    g_string_append_printf (out, "the program's limit, per_process_memory_fraction=%s%s", part,
                            exceeds ? "" : ", or what the allocator takes at a time");
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

static guint64
left_below (const GememAdvice *advice, guint64 need, guint64 enough)
{
  const guint64 left = advice->now->capacity - MIN (need, advice->now->capacity);

  return left < enough ? left : G_MAXUINT64;
}

guint64
gemem_advice_left (const GememAdvice *advice, guint64 need)
{
  return advice->without_context ? left_below (advice, need, GEMEM_GPU_LEFT_FOR_CONTEXT)
                                 : G_MAXUINT64;
}

guint64
gemem_advice_left_for_cublas (const GememAdvice *advice, guint64 need)
{
  return advice->without_cublas ? left_below (advice, need, GEMEM_GPU_LEFT_FOR_CUBLAS)
                                : G_MAXUINT64;
}

gboolean
gemem_advice_parts (const GememAdvice *advice)
{
  const GememFidelity *fidelity = &advice->now->fidelity;

  /* none equal: the segments lie elsewhere; on another device it may decide otherwise */
  return advice->device == NULL && fidelity->equal > 0 && fidelity->equal < fidelity->compared;
}

/* More is in use at once than there is. */
static gboolean
is_too_much (const GememResult *now)
{
  return now->lower_bound > now->capacity;
}

gboolean
gemem_advice_names_least (const GememAdvice *advice)
{
  return advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT && !advice->limited
         && is_too_much (advice->now);
}

/* So little of the device is not in use that no setting is the answer: a fiftieth; or no setting was the answer, as little
 * would be left with the request, and a twentieth of what is held lies idle. */
static gboolean
is_used_up (const GememAdvice *advice, const GememOom *oom)
{
  const GememResult *now = advice->now;
  const guint64 unused = now->capacity - MIN (oom->live, now->capacity);
  const guint64 idle = oom->reserved - MIN (oom->live, oom->reserved);

  return unused < now->capacity / 50
         || (advice->tried > 0 && advice->lines->len == 0 && idle < oom->reserved / 20
             && unused - MIN (oom->requested, unused) < now->capacity / 50);
}

/* The device had plenty free for the first request that failed: a limit of the allocator refused it. */
static gboolean
had_enough (const GememAdvice *advice)
{
  const GememOom *oom = gemem_result_first_oom (advice->now);

  return oom != NULL && oom->device_free >= MAX (oom->requested, advice->now->capacity / 10)
         && !is_too_much (advice->now) && !is_used_up (advice, oom) && !gemem_oom_is_unbegun (oom)
         && !oom->wake;
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
  if (is_too_much (now) && gemem_advice_is_doubled (advice))
    return g_strdup_printf ("too little (%s in use at once, as PyTorch rounded it)",
                            gemem_format_size (a, now->lower_bound));
  if (is_too_much (now))
    return g_strdup_printf ("truly too little (%s in use at once, whatever the settings)",
                            gemem_format_size (a, now->lower_bound));
  if (!oom->avoidable)
    return g_strdup_printf (
        "truly too little (%s in use, and with the request %s more than there is)",
        gemem_format_size (a, oom->live), gemem_format_size (b, oom->missing));
  if (oom->device_free >= oom->requested && !is_used_up (advice, oom))
    return limit_text (advice, oom);
  if (oom->waiting)
    return g_strdup (
        "freed memory waits for its streams (once they are done, the same request fits)");
  elsewhere = idle_elsewhere (now, oom);
  if (elsewhere != NULL)
    return elsewhere;
  if (is_used_up (advice, oom))
    return g_strdup_printf ("too little is left (%s of the %s held are in use)",
                            gemem_format_size (a, oom->live), gemem_format_size (b, oom->reserved));
  return g_strdup_printf ("fragmentation (%s of the %s held are not in use)",
                          gemem_format_size (a, oom->reserved - MIN (oom->live, oom->reserved)),
                          gemem_format_size (b, oom->reserved));
}

/* Whether the recording ends at another request than the first that fails, and all were refused there too. */
static gboolean
has_last (const GememAdvice *advice)
{
  return advice->last_refused > 0 && gemem_result_new_ooms (advice->now) == 0
         && advice->last_seq != gemem_result_first_oom (advice->now)->seq;
}

/* "a request of 147.2 MiB fails, event 1668 by record.py:35 run, and 3 more" */
static void
append_failure (GString *out, const GememAdvice *advice)
{
  const GememResult *now = advice->now;
  const GememOom *oom = gemem_result_first_oom (now);
  char size[GEMEM_FORMAT_MAX];

  if (gemem_advice_parts (advice))
    g_string_append (out, "in a replay that is not exactly the recording ");
  g_string_append_printf (out, "a request of %s fails, event %" G_GUINT64_FORMAT,
                          gemem_format_size (size, oom->requested), oom->seq);
  if (oom->origin.known && oom->origin.by != NULL)
    gemem_origin_append_by (out, oom->origin.by);
  if (now->ooms > 1)
    g_string_append_printf (out, ", and %" G_GUINT64_FORMAT " more", now->ooms - 1);
  if (now->after_recorded_oom > 0 && gemem_result_new_ooms (now) == 0)
    g_string_append (out, "; the program went on without");
  else if (has_last (advice))
    {
      g_string_append_printf (
          out, "; the program went on without, up to the last, of %s, event %" G_GUINT64_FORMAT,
          gemem_format_size (size, advice->last_refused), advice->last_seq);
      if (advice->last_by != NULL)
        gemem_origin_append_by (out, advice->last_by);
    }
}

/* The recording ends at the request that was refused: what would come behind it is not known. */
static gboolean
ends_at_failure (const GememAdvice *advice)
{
  return gemem_held_refused (advice->held) > 0 && advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT
         && advice->now->after_recorded_oom == 0;
}

/* What others hold of the device, of a recorded one at the first failure: the context, libraries, other processes. */
static guint64
held_by_others (const GememAdvice *advice)
{
  const GememResult *now = advice->now;
  const GememOom *oom = gemem_result_first_oom (now);

  if (advice->limited)
    return 0;
  if (oom == NULL || advice->device != NULL)
    return gemem_result_others (advice->now);
  return now->capacity - MIN (oom->reserved + oom->device_free, now->capacity);
}

/* What a device would have to have. */
static void
append_enough (GString *out, const GememAdvice *advice)
{
  const char *what = advice->limited ? "limit" : "device";
  char need[GEMEM_FORMAT_MAX];

  if (advice->need == 0)
    return;
  gemem_format_size (need, advice->need + held_by_others (advice));
  if (gemem_advice_grows (advice))
    g_string_append_printf (out, " It needs a %s of %s so far, and more with each step.", what,
                            need);
  else if (ends_at_failure (advice) && has_last (advice))
    g_string_append_printf (out, " Serving them all needs a %s of %s%s.", what, need,
                            advice->gaps ? ", and some larger ones fail" : "");
  else if (ends_at_failure (advice))
    g_string_append_printf (out, " Up to there it needs a %s of %s%s.", what, need,
                            advice->gaps ? ", and some larger ones fail" : "");
  else if (advice->now->after_recorded_oom > 0)
    g_string_append_printf (out, " Serving %s needs a %s of %s.",
                            advice->now->ooms > 1 ? "them all" : "it", what, need);
  else
    g_string_append_printf (out, " It needs a %s of %s%s.", what, need,
                            advice->gaps ? ", and some larger ones fail" : "");
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
    g_string_append_printf (out,
                            "%s %s%s %s. How large its device is was not recorded: --capacity "
                            "says whether it fits.",
                            gemem_advice_parts (advice)
                                ? "A replay that is not exactly the recording needs"
                                : "It needs",
                            need, host ? " of the host's memory" : "", with);
  else if (advice->verdict == GEMEM_ADVICE_FITS)
    {
      const guint64 left = gemem_advice_left (advice, now->peak_reserved);

      g_string_append_printf (out, "It fits%s: it needs %s of %s%s %s",
                              advice->device != NULL && gemem_advice_is_middle (advice)
                                  ? ", from where the recording begins"
                                  : "",
                              need, whole, whose, with);
      if (left != G_MAXUINT64)
        g_string_append_printf (out,
                                "; the other %s have to do for the driver's context and kernels, "
                                "commonly some hundreds of MiB",
                                gemem_format_size (whole, left));
      g_string_append_c (out, '.');
    }
  else if (advice->fits_so_far)
    g_string_append_printf (out, "It fits so far, and not for ever: %s. It needs %s of %s%s %s.",
                            advice->doubt, need, whole, whose, with);
  else if (advice->verdict == GEMEM_ADVICE_UNKNOWN)
    g_string_append_printf (
        out, "It cannot be told whether it fits: %s. %s needs %s of %s%s.", advice->doubt,
        advice->contradicted ? "The replay" : "As far as it goes it", need, whole, whose);
  else
    {
      g_autofree char *reason = gemem_advice_reason (advice);
      const gboolean grows = gemem_advice_grows (advice);

      if (grows) /* what grows is the cause; how the rest was held when it was full is not */
        reason[strcspn (reason, "(:;")] = '\0';
      if (advice->limited && recorded)
        g_string_append_printf (
            out, "It does not fit in the limit it was given (%s or more) %s: ", whole, with);
      else if (recorded && had_enough (advice))
        g_string_append_printf (out, "It does not fit %s: ", with);
      else if ((advice->device_assumed || recorded) && gemem_held_refused (advice->held) > 0)
        g_string_append_printf (out, "It does not fit on the device it was recorded on%s%s%s %s: ",
                                recorded ? " (" : "", recorded ? whole : "", recorded ? ")" : "",
                                with);
      else
        g_string_append_printf (out, "It does not fit in %s%s %s: ", whole, whose, with);
      append_failure (out, advice);
      g_string_append_printf (out, ". Why: %s%s.", grows ? "growth, and in the end " : "",
                              g_strchomp (reason));
      append_enough (out, advice);
    }
  return g_string_free (out, FALSE);
}

/* ---- what would need less */

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

/* Whether with each line enough is left for cuBLAS, where it is known how much is. */
static gboolean
all_leave_enough (const GememAdvice *advice)
{
  for (guint i = 0; i < advice->lines->len; i++)
    if (gemem_advice_left_for_cublas (advice,
                                      g_array_index (advice->lines, GememAdviceLine, i).need)
        != G_MAXUINT64)
      return FALSE;
  return TRUE;
}

/* Less than a hundredth of the device is left with @line. */
static gboolean
is_tight (const GememAdvice *advice, const GememAdviceLine *line)
{
  return left_below (advice, line->need, advice->now->capacity / 100) != G_MAXUINT64;
}

char *
gemem_advice_offer (const GememAdvice *advice, gboolean several)
{
  /* other settings would have laid out otherwise what was alive then */
  const gboolean middle = gemem_advice_is_middle (advice);
  const gboolean fails = advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT;
  const gboolean refused = gemem_held_refused (advice->held) > 0;
  const gboolean ends_there = ends_at_failure (advice);
  const GememAdviceLine *best;
  g_autofree char *as_is = NULL; /* what it needs so, from which the lines save */
  char size[GEMEM_FORMAT_MAX];

  if (advice->lines->len == 0)
    return NULL;
  best = &g_array_index (advice->lines, GememAdviceLine, 0);
  if (middle && best->saved > 0 && best->need + best->saved != advice->need)
    as_is = g_strdup_printf (" (%s as it is)", gemem_format_size (size, best->need + best->saved));
  return g_strdup_printf ("%s with%s%s",
                          middle             ? fails ? "It may fit" : "It may need less"
                          : all_fit (advice) ? !all_leave_enough (advice) ? "It may fit"
                                               : ends_there && is_tight (advice, best)
                                                   ? "That request, and perhaps no more, fits"
                                               : ends_there ? "All up to that request fits"
                                               : refused    ? "All that was recorded fits"
                                                            : "It fits"
                                             : "It needs less",
                          middle ? ", as replays from what was alive at its beginning do"
                          : gemem_advice_parts (advice)
                              ? ", by replays that are not exactly the recording"
                          : several ? ", each proven by a replay"
                                    : ", proven by a replay",
                          as_is != NULL ? as_is : "");
}

/* A line of their own, where other histories were tried. */
static void
append_other_histories (GString *out, const GememHistories *histories)
{
  const GememHistoriesSpread *all = &histories->all;

  if (all->failed > 0)
    g_string_append_printf (out, "\nfails in %u of %u other histories", all->failed, all->runs);
  else if (all->runs > 0)
    {
      g_string_append (out, "\nin other histories ");
      gemem_histories_append_range (out, all);
    }
  if (histories->left_out > 0)
    g_string_append_printf (out, "%s%u of its other histories left out: interrupted",
                            all->runs > 0 ? "; " : "\n", histories->left_out);
}

/* What a line is worth where memory grows. */
static void
append_steps (GString *out, const GememAdvice *advice, const GememAdviceLine *line)
{
  guint64 steps;

  if (!gemem_advice_grows (advice) || advice->device_assumed)
    return;
  steps = gemem_advice_steps_left (advice, line->need);
  g_string_append_printf (out, "; full after about %" G_GUINT64_FORMAT " more step%s", steps,
                          gemem_plural (steps));
}

char *
gemem_advice_line_words (const GememAdvice *advice, const GememAdviceLine *line)
{
  const guint64 left = gemem_advice_left (advice, line->need),
                beside = gemem_advice_left_for_cublas (advice, line->need);
  const double whole = (double) (line->need + line->saved);
  GString *out = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX], share[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (out, gemem_format_size (size, line->need));
  if (line->saved > 0)
    g_string_append_printf (
        out, ", %s (%s %%) less", gemem_format_size (size, line->saved),
        g_ascii_formatd (share, sizeof share, "%.1f", 100 * (double) line->saved / whole));
  if (advice->calls_known && line->calls != 0)
    g_string_append_printf (out, "; %" G_GINT64_FORMAT " device call%s %s", ABS (line->calls),
                            gemem_plural (ABS (line->calls)), line->calls > 0 ? "more" : "fewer");
  else if (advice->calls_known)
    g_string_append (out, "; as many device calls");
  if (advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT && left != G_MAXUINT64)
    g_string_append_printf (out, "; leaves the driver %s", gemem_format_size (size, left));
  else if (advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT && beside != G_MAXUINT64)
    g_string_append_printf (out, "; leaves cuBLAS %s", gemem_format_size (size, beside));
  if (line->too_new)
    g_string_append_printf (out, "; version %.*s refuses it", (int) strcspn (advice->versions, " "),
                            advice->versions);
  append_steps (out, advice, line);
  append_other_histories (out, &line->histories);
  return g_string_free (out, FALSE);
}
