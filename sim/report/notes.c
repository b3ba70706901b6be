/* notes.c - see notes.h. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/report/notes.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"

#define PAGES_MAX 2 /* allocators that are named */

typedef struct
{
  char *text;
  GPtrArray *titles; /* of the groups for which it holds; owned */
} Note;

struct _GememReportNotes
{
  GPtrArray *notes;
};

static void
free_note (gpointer data)
{
  Note *note = data;

  g_free (note->text);
  g_ptr_array_unref (note->titles);
  g_free (note);
}

GememReportNotes *
gemem_report_notes_new (void)
{
  GememReportNotes *notes = g_new (GememReportNotes, 1);

  notes->notes = g_ptr_array_new_with_free_func (free_note);
  return notes;
}

void
gemem_report_notes_free (GememReportNotes *notes)
{
  g_ptr_array_unref (notes->notes);
  g_free (notes);
}

void
gemem_report_notes_add (GememReportNotes *notes, const GememResult *result, const char *text)
{
  g_autofree char *title = gemem_report_group (result);
  Note *note = NULL;

  for (guint i = 0; i < notes->notes->len && note == NULL; i++)
    if (strcmp (((Note *) notes->notes->pdata[i])->text, text) == 0)
      note = notes->notes->pdata[i];
  if (note == NULL)
    {
      note = g_new (Note, 1);
      *note = (Note){ g_strdup (text), g_ptr_array_new_with_free_func (g_free) };
      g_ptr_array_add (notes->notes, note);
    }
  for (guint i = 0; i < note->titles->len; i++)
    if (strcmp (note->titles->pdata[i], title) == 0)
      return;
  g_ptr_array_add (note->titles, g_steal_pointer (&title));
}

void
gemem_report_notes_add_guesses (GememReportNotes *notes, const GememResult *result)
{
  if (result->cost_guesses == 0)
    return;
  g_autofree char *text = g_strdup_printf ("modelled times rest on %" G_GUINT64_FORMAT
                                           " figures of the device profile, %" G_GUINT64_FORMAT
                                           " of them guesses",
                                           result->cost_numbers, result->cost_guesses);
  gemem_report_notes_add (notes, result, text);
}

/* Whether the same is to be said of two results. */
typedef gboolean (*SameNote) (const GememResult *a, const GememResult *b);

static gboolean
equally_faithful (const GememResult *a, const GememResult *b)
{
  return a->fidelity.compared == b->fidelity.compared && a->fidelity.equal == b->fidelity.equal;
}

static gboolean
equally_barred (const GememResult *a, const GememResult *b)
{
  return g_strcmp0 (a->not_allowed, b->not_allowed) == 0;
}

/* The labels of the results of which the same is to be said as of results[@first], separated by
 * commas; NULL if that is not the first of them. */
static char *
labels_of (GememResult *const *results, guint n, guint first, SameNote same)
{
  GString *labels = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      if (!same (results[i], results[first]))
        continue;
      if (i < first)
        {
          g_string_free (labels, TRUE);
          return NULL;
        }
      g_string_append_printf (labels, "%s%s", labels->len > 0 ? ", " : "", results[i]->label);
    }
  return g_string_free (labels, FALSE);
}

static void
add_barred (GememReportNotes *notes, GememResult *const *results, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *labels = results[i]->not_allowed != NULL
                                    ? labels_of (results, n, i, equally_barred)
                                    : NULL;
      if (labels == NULL)
        continue;
      g_autofree char *text = g_strdup_printf ("%s: not allowed: %s", labels,
                                               results[i]->not_allowed);
      gemem_report_notes_add (notes, results[i], text);
    }
}

static gboolean
equally_approximate (const GememResult *a, const GememResult *b)
{
  return g_strcmp0 (a->approximation, b->approximation) == 0;
}

static void
add_approximations (GememReportNotes *notes, GememResult *const *results, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *labels = results[i]->approximation != NULL
                                    ? labels_of (results, n, i, equally_approximate)
                                    : NULL;
      g_autofree char *text = labels != NULL
                                  ? g_strdup_printf ("%s: %s", labels, results[i]->approximation)
                                  : NULL;

      if (text != NULL)
        gemem_report_notes_add (notes, results[i], text);
    }
}

char *
gemem_report_fidelity (const GememResult *result)
{
  const GememFidelity *f = &result->fidelity;
  const gboolean parted = f->parted != G_MAXUINT64;
  GString *text;

  if ((f->compared == 0 && f->segments_compared == 0)
      || !gemem_device_settings_recorded (result->device_settings))
    return NULL;
  text = g_string_new (f->equal == f->compared
                               && (parted || f->segments_equal == f->segments_compared)
                           ? "reproduces the recording exactly"
                           : "reproduces the recording in part");
  if (parted)
    g_string_append_printf (text, " up to event %" G_GUINT64_FORMAT ", %s here alone", f->parted,
                            result->ooms > 0 ? "refused" : "served");
  g_string_append_printf (text, ": %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " decisions",
                          f->equal, f->compared);
  if (f->segments_compared > 0 && !parted)
    g_string_append_printf (text, ", %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " device calls",
                            f->segments_equal, f->segments_compared);
  return g_string_free (text, FALSE);
}

static void
add_fidelity (GememReportNotes *notes, GememResult *const *results, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *fidelity = gemem_report_fidelity (results[i]);
      g_autofree char *labels = fidelity != NULL ? labels_of (results, n, i, equally_faithful)
                                                 : NULL;
      g_autofree char *text = labels != NULL ? g_strdup_printf ("%s: %s", labels, fidelity) : NULL;

      if (text != NULL)
        gemem_report_notes_add (notes, results[i], text);
    }
}

char *
gemem_report_unfit_state (const GememResult *result)
{
  char size[GEMEM_FORMAT_MAX];

  if (!result->state_unfit)
    return NULL;
  return g_strdup_printf (
      "starts from the blocks alive at the beginning alone: the %s reserved then "
      "do not fit",
      gemem_format_size (size, result->initial_reserved));
}

static void
add_unfit_states (GememReportNotes *notes, GememResult *const *results, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *why = gemem_report_unfit_state (results[i]);
      g_autofree char *text = why != NULL ? g_strdup_printf ("%s: %s", results[i]->label, why)
                                          : NULL;

      if (text != NULL)
        gemem_report_notes_add (notes, results[i], text);
    }
}

/* Where a recording begins in the middle, one run starts from the cache of then, and others do not. */
static void
add_beginnings (GememReportNotes *notes, GememResult *const *results, guint n)
{
  char size[GEMEM_FORMAT_MAX];
  guint others = 0;

  for (guint i = 0; i < n; i++)
    others += results[i]->initial_events > 0 && !results[i]->state_adopted;
  for (guint i = 0; others > 0 && i < n; i++)
    if (results[i]->state_adopted)
      {
        g_autofree char *text = g_strdup_printf (
            "%s alone starts from the %s reserved when the recording begins, the others from "
            "what was alive then: what they need does not compare",
            results[i]->label, gemem_format_size (size, results[i]->initial_reserved));

        gemem_report_notes_add (notes, results[i], text);
        return;
      }
}

/* "paddle is paddle-auto-growth, version 3.x; ...": what shorthands stood for, each once. */
static void
add_meanings (GememReportNotes *notes, GememResult *const *results, guint n)
{
  g_autoptr (GPtrArray) said = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *meaning = gemem_report_meaning (results[i]);
      const char *label = results[i]->label;
      g_autofree char *is = NULL;

      if (meaning == NULL)
        continue;
      is = g_strdup_printf ("%.*s is %s", (int) strcspn (label, " "), label, meaning);
      if (!g_ptr_array_find_with_equal_func (said, is, g_str_equal, NULL))
        g_ptr_array_add (said, g_steal_pointer (&is));
    }
  if (said->len == 0)
    return;
  g_ptr_array_add (said, NULL);
  g_autofree char *text = g_strjoinv ("; ", (char **) said->pdata);
  gemem_report_notes_add (notes, results[0], text);
}

static gboolean
equally_unslept (const GememResult *a, const GememResult *b)
{
  return a->unslept == b->unslept;
}

static void
add_unslept (GememReportNotes *notes, GememResult *const *results, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *labels = results[i]->unslept > 0 ? labels_of (results, n, i, equally_unslept)
                                                        : NULL;
      if (labels == NULL)
        continue;
      g_autofree char *text = g_strdup_printf ("%s: memory does not sleep here; %" G_GUINT64_FORMAT
                                               " sleep, pause and wake events were passed over",
                                               labels, results[i]->unslept);
      gemem_report_notes_add (notes, results[i], text);
    }
}

/* "1 request ran out of memory when this was recorded (147.2 MiB, event 1664)". */
static void
append_refused (GString *out, const GememResult *result)
{
  char size[GEMEM_FORMAT_MAX];
  const gboolean one = result->recorded_ooms == 1;

  g_string_append_printf (out, "%" G_GUINT64_FORMAT " request%s ran out of memory when recorded",
                          result->recorded_ooms, one ? "" : "s");
  if (result->recorded_oom_size > 0)
    g_string_append_printf (out, " (%s%s, event %" G_GUINT64_FORMAT ")", one ? "" : "the largest ",
                            gemem_format_size (size, result->recorded_oom_size),
                            result->recorded_oom_seq);
}

/* What is to be known where such requests are served. */
static const char *
beyond (const GememResult *result)
{
  return result->after_recorded_oom > 0
             ? "the program went on without: peaks and least capacity are lower bounds"
             : "the recording ends there: peaks and least capacity are lower bounds";
}

static char *
went_on (const GememResult *result)
{
  const guint64 after = result->after_recorded_oom;

  return g_strdup_printf ("the program went on without, with %" G_GUINT64_FORMAT
                          " request%s after that",
                          after, gemem_plural (after));
}

void
gemem_report_append_refused (GString *out, const GememResult *result)
{
  const guint64 served = result->recorded_ooms_served;

  if (result->recorded_ooms == 0)
    return;
  g_string_append (out, "  ");
  append_refused (out, result);
  if (served == result->recorded_ooms)
    g_string_append_printf (out, ", and %s here", served == 1 ? "is served" : "are served");
  else if (served > 0)
    g_string_append_printf (out, "; %" G_GUINT64_FORMAT " of them %s served here", served,
                            served == 1 ? "is" : "are");
  else
    g_string_append_printf (out, ", and %s here", result->recorded_ooms == 1 ? "does" : "do");
  g_string_append_c (out, '\n');
  if (served > 0)
    g_string_append_printf (out, "    %s\n", beyond (result));
  else if (result->after_recorded_oom > 0)
    {
      g_autofree char *on = went_on (result);
      g_string_append_printf (out, "    %s\n", on);
    }
}

#define LABELS_MOST 6 /* named; of more only the number is said */

/* The labels of those of results[0..n) that serve @all such requests, or else only some. */
static char *
serving (GememResult *const *results, guint n, gboolean all, guint *count)
{
  g_autoptr (GString) labels = g_string_new (NULL);

  *count = 0;
  for (guint i = 0; i < n; i++)
    {
      const GememResult *result = results[i];
      const guint64 served = result->recorded_ooms_served;

      if (served == 0 || all != (served == result->recorded_ooms))
        continue;
      g_string_append_printf (labels, "%s%s", *count > 0 ? ", " : "", result->label);
      if (!all)
        g_string_append_printf (labels, " (%" G_GUINT64_FORMAT ")", served);
      ++*count;
    }
  if (*count > LABELS_MOST)
    g_string_printf (labels, "%u of %u", *count, n);
  return g_strdup (labels->str);
}

/* Requests that ran out of memory when recorded: which settings would have served them. */
static void
add_refused (GememReportNotes *notes, GememResult *const *results, guint n)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const GememResult *any = NULL;
  guint all, some;
  g_autofree char *by_all = serving (results, n, TRUE, &all);
  g_autofree char *by_some = serving (results, n, FALSE, &some);

  for (guint i = 0; i < n && any == NULL; i++)
    any = results[i]->recorded_ooms > 0 ? results[i] : NULL;
  if (any == NULL)
    return;
  append_refused (text, any);
  if (all == 0 && some == 0)
    g_string_append (text, ", and here with each");
  else if (n == 1)
    g_string_append_printf (text, ", %s served here", all > 0 ? "and all are" : "some of them are");
  else if (all > 0)
    g_string_append_printf (text, "; served by %s", all == n ? "each" : by_all);
  if (some > 0 && n > 1)
    g_string_append_printf (text, "; in part by %s", by_some);
  gemem_report_notes_add (notes, any, text->str);
  if (all > 0 || some > 0)
    gemem_report_notes_add (notes, any, beyond (any));
  else if (any->after_recorded_oom > 0)
    {
      g_autofree char *on = went_on (any);
      gemem_report_notes_add (notes, any, on);
    }
}

#define NOT_RUN_SHOWN 5

/* Why runs did not begin, for the first few; of an interruption the row says it. */
static void
add_not_run (GememReportNotes *notes, GememResult *const *results, guint n)
{
  guint found = 0;

  for (guint i = 0; i < n; i++)
    if (results[i]->not_run && !gemem_result_was_interrupted (results[i])
        && found++ < NOT_RUN_SHOWN)
      {
        g_autofree char *text = g_strdup_printf ("%s: not run: %s", results[i]->label,
                                                 results[i]->failure);
        gemem_report_notes_add (notes, results[i], text);
      }
  if (found > NOT_RUN_SHOWN)
    {
      g_autofree char *text = g_strdup_printf ("and %u more that were not run (--format=json says "
                                               "why)",
                                               found - NOT_RUN_SHOWN);
      gemem_report_notes_add (notes, results[0], text);
    }
}

gboolean
gemem_report_counts_pages (const GememResult *result)
{
  return result->peak_asked > 0
         && result->peak_reserved - result->peak_asked >= result->peak_reserved / 100;
}

/* Where peaks count pages and allocators count what they asked for: which of the two is shown. */
static void
add_pages (GememReportNotes *notes, GememResult *const *results, guint n)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint less = 0;

  for (guint i = 0; i < n; i++)
    if (gemem_report_counts_pages (results[i]) && less++ < PAGES_MAX)
      {
        char size[GEMEM_FORMAT_MAX];
        g_string_append_printf (text, "%s%s %s", less > 1 ? ", " : "", results[i]->label,
                                gemem_format_size (size, results[i]->peak_asked));
      }
  if (less == 0)
    return;
  if (less > PAGES_MAX)
    g_string_append_printf (text, " and %u more", less - PAGES_MAX);
  g_string_prepend (text,
                    "peak reserved is in CUDA's pages of 2 MiB; what allocators report is less: ");
  gemem_report_notes_add (notes, results[0], text->str);
}

void
gemem_report_notes_add_group (GememReportNotes *notes, GememResult *const *results, guint n,
                              gboolean times)
{
  add_not_run (notes, results, n);
  for (guint i = 0; i < n; i++)
    if (results[i]->device_from != NULL)
      gemem_report_notes_add (notes, results[i], results[i]->device_from);
  add_meanings (notes, results, n);
  add_barred (notes, results, n);
  add_approximations (notes, results, n);
  add_pages (notes, results, n);
  add_fidelity (notes, results, n);
  add_unfit_states (notes, results, n);
  add_beginnings (notes, results, n);
  add_unslept (notes, results, n);
  add_refused (notes, results, n);
  for (guint i = 0; times && i < n; i++)
    gemem_report_notes_add_guesses (notes, results[i]);
}

GPtrArray *
gemem_report_notes_lines (const GememReportNotes *notes, guint groups)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < notes->notes->len; i++)
    {
      const Note *note = notes->notes->pdata[i];
      if (note->titles->len >= groups)
        g_ptr_array_add (lines, g_strdup (note->text));
      for (guint t = 0; note->titles->len < groups && t < note->titles->len; t++)
        g_ptr_array_add (lines,
                         g_strdup_printf ("%s: %s", (char *) note->titles->pdata[t], note->text));
    }
  return lines;
}
