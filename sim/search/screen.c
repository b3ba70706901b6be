/* screen.c - an advice for a person: the verdict first, in about ten lines of 100 columns; all that was
 * found out besides, in about twenty-five.
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

#define HOLDERS 5          /* rows of them among the details */
#define HOLDERS_ANSWERED 2 /* named in the answer */
#define NAME_WIDTH 60      /* of a line of code there */

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

/* Whether the version of the allocator is the newest because the recording names none. */
static gboolean
guesses_version (const GememAdvice *advice)
{
  const char *settings = gemem_held_info (advice->held)->settings;
  g_autoptr (GPtrArray) recorded = settings != NULL ? gemem_settings_parse (settings, NULL) : NULL;

  return advice->versions == NULL
         && gemem_settings_value (advice->now->parameters, "version") != NULL
         && gemem_settings_value (recorded, "version") == NULL;
}

static char *
percent (char *buffer, guint64 part, guint64 whole)
{
  return g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.1f",
                          whole > 0 ? 100 * (double) part / (double) whole : 0);
}

/* ---- parts of the screen */

static void
append_assumed (GString *out, const GememAdvice *advice)
{
  const char *name = advice->spec->klass->name;

  g_autofree char *sentence = g_strdup_printf (
      "The recording does not name its allocator: %s is assumed; --for chooses another.",
      strcmp (name, "pytorch-caching") == 0 ? "PyTorch's" : name);

  gemem_text_wrap (out, sentence, "  ");
}

/* "; replayed exactly", or how much of it is the program's. */
static void
append_fidelity (GString *head, const GememAdvice *advice)
{
  const guint64 equal = advice->now->fidelity.equal, compared = advice->now->fidelity.compared;

  if (gemem_advice_parts (advice))
    g_string_append_printf (head,
                            "; %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " decisions replayed",
                            equal, compared);
  else if (equal > 0 && equal == compared && advice->now->fidelity.parted == G_MAXUINT64)
    g_string_append (head, "; replayed exactly");
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
  if (guesses_version (advice))
    g_string_append (head, " (version not recorded)");
  g_string_append_printf (head, ", %" G_GUINT64_FORMAT " event%s", gemem_held_events (advice->held),
                          gemem_plural (gemem_held_events (advice->held)));
  if (steps > 0)
    g_string_append_printf (head, " in %" G_GUINT64_FORMAT " step%s", steps, gemem_plural (steps));
  if (gemem_advice_is_middle (advice))
    g_string_append (head, ", begins in the middle");
  if (now->device_ordinal == GEMEM_DEVICE_HOST)
    g_string_append (head, " of host memory");
  if (now->partial || (info->flags & GEMEM_TRACE_TRUNCATED) != 0)
    g_string_append (head, ", cut short");
  if (advice->devices > 1)
    g_string_append_printf (head, "; device %d, which needs most of %u", now->device_ordinal,
                            advice->devices);
  append_fidelity (head, advice);
  gemem_text_wrap (out, head->str, "  ");
  release = gemem_recorder_release_note (info, advice->spec);
  if (release != NULL)
    gemem_text_wrap (out, release, "  ");
  if (advice->assumed)
    append_assumed (out, advice);
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
append_growth (GString *out, const GememAdvice *advice)
{
  g_autofree char *words = gemem_advice_growth_words (advice);

  if (words != NULL)
    gemem_text_wrap (out, words, "  ");
}

static void
append_offer (GString *out, const GememAdvice *advice, const GememAdviceLine *line)
{
  g_autofree char *words = gemem_advice_line_words (advice, line);
  g_auto (GStrv) rows = g_strsplit (words, "\n", -1);

  g_string_append_printf (out, "  %s\n", line->candidate->line);
  for (char **row = rows; *row != NULL; row++)
    {
      g_autofree char *indented = g_strconcat ("      ", *row, NULL);
      gemem_text_wrap (out, indented, "      ");
    }
}

/* How many of the lines the answer shows: up to the best that every version of the program accepts. */
static guint
count_answered (const GememAdvice *advice)
{
  guint n = 0;

  while (n < advice->lines->len && g_array_index (advice->lines, GememAdviceLine, n++).too_new)
    ;
  return n;
}

static void
append_offers (GString *out, const GememAdvice *advice, guint lines)
{
  g_autofree char *offer = gemem_advice_offer (advice, lines > 1);

  if (offer == NULL)
    return;
  g_string_append_printf (out, "\n%s:\n", offer);
  for (guint i = 0; i < lines; i++)
    append_offer (out, advice, &g_array_index (advice->lines, GememAdviceLine, i));
}

/* "Tried: 27 settings of pytorch-caching 2.10 or 2.11; none needs 1 % less. " */
static void
append_tried (GString *text, const GememAdvice *advice)
{
  char size[GEMEM_FORMAT_MAX];
  const gboolean failed = advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT;

  if (advice->tried + advice->refused + advice->left_out == 0)
    {
      g_string_append_printf (text, "No setting of %s can be tried. ", advice->now->allocator);
      return;
    }
  g_string_append_printf (text, "Tried: %u setting%s of ", advice->tried,
                          gemem_plural (advice->tried));
  append_allocator (text, advice);
  if (advice->pairs > 0)
    g_string_append_printf (text, " and %u pair%s of those that help", advice->pairs,
                            gemem_plural (advice->pairs));
  if (advice->left_out > 0)
    g_string_append_printf (text, "; interrupted, %u more %s left out", advice->left_out,
                            advice->left_out == 1 ? "is" : "are");
  else if (advice->lines->len == 0 && !advice->contradicted && advice->elsewhere > 0
           && advice->elsewhere < advice->need - advice->need / 100)
    g_string_append_printf (text,
                            "; none needs less than its own %s with segments at other addresses",
                            gemem_format_size (size, advice->elsewhere));
  else if (advice->lines->len == 0)
    g_string_append (
        text, advice->contradicted   ? "; none is offered by such a replay"
              : advice->anew > 0     ? "; from what was alive at its beginning none needs 1 % less"
              : !failed              ? "; none needs 1 % less"
              : advice->stepless > 0 ? "; with none of them there is memory for a step more"
              : advice->placed > 0   ? "; with none of them it fits in all of 3 orders of addresses"
              : advice->device_assumed || advice->limited ? "; none is known to fit there"
                                                          : "; with none of them it fits");
  if (advice->approximate > 0)
    g_string_append_printf (text, "; %u not proven, they are only approximated",
                            advice->approximate);
  g_string_append (text, ". ");
}

/* "4.013 GiB in use at the peak: 3.725 GiB by streams.py:47 <module>, ...": who holds most then. */
static void
append_most (GString *text, const GememDeviceHolders *device)
{
  char size[GEMEM_FORMAT_MAX];

  for (guint i = 0; i < MIN (HOLDERS_ANSWERED, device->holders->len); i++)
    {
      const GememHolder *holder = device->holders->pdata[i];
      g_autofree char *name = gemem_text_cut (holder->name, NAME_WIDTH);

      g_string_append (text, i > 0 ? ", " : ": ");
      g_string_append (text, gemem_format_size (size, holder->bytes));
      if (strcmp (holder->name, "unknown") == 0)
        g_string_append (text, " of unknown origin"); /* no line, and no "by" */
      else
        gemem_origin_append_by (text, name);
    }
}

/* The least that any setting could need; with @holders who holds most of it. */
static void
append_least (GString *text, const GememAdvice *advice, gboolean holders)
{
  const GememDeviceHolders *device = gemem_holders_of (advice->holders,
                                                       advice->now->device_ordinal);
  const gboolean known = holders && device != NULL && device->bytes > 0
                         && gemem_held_info (advice->held)->stacks != NULL;
  char least[GEMEM_FORMAT_MAX] = "", most[GEMEM_FORMAT_MAX];

  if (gemem_advice_is_doubled (advice))
    g_string_append (text,
                     "Requests are recorded as rounded to powers of two: what "
                     "pinned_max_round_threshold_mb would save (PyTorch 2.13 on) cannot be told. ");
  else if (advice->least > 0 && !(holders && gemem_advice_names_least (advice)))
    g_string_append_printf (text, "Nothing needs less than the %s in use at once",
                            gemem_format_size (least, advice->least));
  if (known && strcmp (gemem_format_size (most, device->bytes), least) != 0)
    g_string_append_printf (text, "%sThe recording had %s in use at most",
                            *least != '\0' ? ". " : "", most);
  if (known)
    append_most (text, device);
  if (known || *least != '\0')
    g_string_append_c (text, '.');
}

static void
append_shortened (GString *out, const GememAdvice *advice)
{
  if (advice->shortened)
    gemem_text_wrap (
        out,
        advice->verdict == GEMEM_ADVICE_DOES_NOT_FIT
            ? "Not tried, as the recording is long: pairs of settings, other systems, the least "
              "device; --all does."
            : "Not tried, as the recording is long: pairs of settings, other systems; --all does.",
        "  ");
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

/* What the answer leaves to the details. */
static void
append_more (GString *out, const GememAdvice *advice, guint lines)
{
  const guint more = advice->lines->len - lines;
  g_autoptr (GString) text = g_string_new ("With --details: ");

  if (more > 0)
    g_string_append_printf (text, "%u more line%s to paste, ", more, gemem_plural (more));
  g_string_append (text, "what was tried, who holds it, what lies idle.");
  gemem_text_wrap (out, text->str, "  ");
}

static void
append_details (GString *out, const GememAdvice *advice)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX];

  append_tried (text, advice);
  append_least (text, advice, FALSE);
  g_string_append_c (out, '\n');
  gemem_text_wrap (out, g_strchomp (text->str), "");
  append_shortened (out, advice);
  if (advice->other != NULL)
    g_string_append_printf (out, "Good to know: %s, of another system, would need %s.\n",
                            advice->other, gemem_format_size (size, advice->other_need));
  append_holders (out, advice);
  gemem_report_idle (out, advice->now, FALSE);
}

/* In place of the details, what of them belongs to the answer. */
static void
append_brief (GString *out, const GememAdvice *advice)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (advice->lines->len == 0 || advice->left_out + advice->approximate > 0)
    append_tried (text, advice);
  if (!gemem_advice_grows (advice)) /* who makes it grow is named */
    append_least (text, advice, TRUE);
  if (text->len > 0)
    {
      g_string_append_c (out, '\n');
      gemem_text_wrap (out, g_strchomp (text->str), "  ");
    }
  append_shortened (out, advice);
}

void
gemem_advice_append (GString *out, const GememAdvice *advice, gboolean details)
{
  const guint lines = details ? advice->lines->len : count_answered (advice);
  g_autofree char *sentence = gemem_advice_sentence (advice);

  append_head (out, advice);
  g_string_append_c (out, '\n');
  gemem_text_wrap (out, sentence, "  ");
  append_growth (out, advice);
  append_histories (out, &advice->histories, advice->now->peak_reserved);
  append_offers (out, advice, lines);
  (details ? append_details : append_brief) (out, advice);
  append_pinned (out, advice);
  if (details)
    append_next (out, advice);
  else
    append_more (out, advice, lines);
}
