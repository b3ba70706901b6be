/* gate.c - see gate.h: what a recording needs, and whether that is more than before. */
#include "config.h"

#include <string.h>

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/search/gate.h"

#define ROWS 5 /* lines of code that are shown, */
#define CAUSES 3
#define KEPT 40 /* and kept in a baseline: the largest */

const char *const gemem_gate_measures[] = { "peak_reserved", "peak_in_use", "failed",
                                            "device_calls", NULL };

/* ---- entries */

static void
holder_free (gpointer data)
{
  GememHolder *holder = data;

  g_free (holder->name);
  g_free (holder);
}

GememGateEntry *
gemem_gate_entry_empty (const char *name)
{
  GememGateEntry *entry = g_new0 (GememGateEntry, 1);

  entry->name = g_strdup (name);
  entry->lines = g_ptr_array_new_with_free_func (holder_free);
  return entry;
}

void
gemem_gate_entry_free (gpointer data)
{
  GememGateEntry *entry = data;

  g_free (entry->name);
  g_free (entry->allocator);
  g_ptr_array_unref (entry->lines);
  g_free (entry);
}

void
gemem_gate_entry_add (GememGateEntry *entry, const char *name, guint64 bytes, guint64 blocks)
{
  GememHolder *holder = g_new0 (GememHolder, 1);

  holder->name = g_strdup (name);
  holder->bytes = bytes;
  holder->blocks = blocks;
  g_ptr_array_add (entry->lines, holder);
}

/* The largest lines, so that a file stays small. */
static gboolean
add_lines (GememGateEntry *entry, const GememNeed *need, GError **error)
{
  const GememHoldersOptions at_peak = { .by = GEMEM_HOLD_BY_LINE };
  GememHolders *holders;
  const GememDeviceHolders *device;

  if (gemem_held_info (need->held)->stacks == NULL)
    return TRUE;
  holders = gemem_holders_new (gemem_held_open, need->held, &at_peak, error);
  device = gemem_holders_of (holders, need->result->device_ordinal);
  for (guint i = 0; device != NULL && i < MIN (KEPT, device->holders->len); i++)
    {
      const GememHolder *holder = device->holders->pdata[i];
      gemem_gate_entry_add (entry, holder->name, holder->bytes, holder->blocks);
    }
  gemem_holders_free (holders);
  return holders != NULL;
}

GememGateEntry *
gemem_gate_entry_new (const GememNeed *need, GError **error)
{
  const GememResult *result = need->result;
  GememGateEntry *entry = gemem_gate_entry_empty (need->name);

  entry->allocator = g_strdup (result->label);
  entry->values[GEMEM_GATE_RESERVED] = result->peak_reserved;
  entry->values[GEMEM_GATE_IN_USE] = result->peak_live;
  entry->values[GEMEM_GATE_FAILED] = result->ooms;
  entry->values[GEMEM_GATE_CALLS] = gemem_result_calls (result);
  for (guint i = 0; i < result->idle->len; i++)
    {
      const GememIdleRow *row = &g_array_index (result->idle, GememIdleRow, i);
      entry->idle[row->cause] += row->bytes;
    }
  if (add_lines (entry, need, error))
    return entry;
  gemem_gate_entry_free (entry);
  return NULL;
}

void
gemem_gate_entry_raise (GememGateEntry *entry, const GememHistories *histories)
{
  guint64 *reserved = &entry->values[GEMEM_GATE_RESERVED];

  entry->histories = histories->frees;
  *reserved = MAX (*reserved, histories->all.most);
  entry->values[GEMEM_GATE_FAILED] += histories->all.failed;
}

/* ---- verdicts */

const GememGateEntry *
gemem_gate_find (const GPtrArray *baseline, const char *name)
{
  for (guint i = 0; i < baseline->len; i++)
    if (strcmp (((const GememGateEntry *) baseline->pdata[i])->name, name) == 0)
      return baseline->pdata[i];
  return NULL;
}

/* The most of @measure that is allowed where it was @before. */
static guint64
allowed (GememGateMeasure measure, guint64 before, double tolerance)
{
  return measure == GEMEM_GATE_FAILED ? before : before + (guint64) ((double) before * tolerance);
}

/* Whether both have lines of code and none is in both, folders and numbers aside: what then needs less is no better. */
static gboolean
is_other_program (const GememGateEntry *before, const GememGateEntry *now)
{
  g_autoptr (GRegex) pattern = gemem_diff_line_pattern ();
  g_autoptr (GHashTable) lines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < before->lines->len; i++)
    g_hash_table_add (lines, gemem_diff_line_key (
                                 pattern, ((const GememHolder *) before->lines->pdata[i])->name));
  for (guint i = 0; i < now->lines->len; i++)
    {
      g_autofree char *line = gemem_diff_line_key (
          pattern, ((const GememHolder *) now->lines->pdata[i])->name);
      if (g_hash_table_contains (lines, line))
        return FALSE;
    }
  return before->lines->len > 0 && now->lines->len > 0;
}

GememGateFinding *
gemem_gate_judge (const GPtrArray *baseline, const GememGateEntry *now, double tolerance,
                  const gboolean *measures)
{
  GememGateFinding *finding = g_new0 (GememGateFinding, 1);

  finding->now = now;
  finding->before = gemem_gate_find (baseline, now->name);
  finding->rows = gemem_diff_rows_new ();
  finding->idle = gemem_diff_rows_new ();
  finding->verdict = finding->before != NULL ? GEMEM_GATE_SAME : GEMEM_GATE_UNKNOWN;
  for (guint m = 0; finding->before != NULL && m < GEMEM_GATE_COUNT; m++)
    {
      const guint64 before = finding->before->values[m], value = now->values[m];

      if (!measures[m])
        continue;
      finding->worse[m] = value > allowed ((GememGateMeasure) m, before, tolerance);
      if (finding->worse[m])
        finding->verdict = GEMEM_GATE_WORSE;
      else if (value < before && finding->verdict == GEMEM_GATE_SAME)
        finding->verdict = GEMEM_GATE_BETTER;
    }
  if (finding->before != NULL)
    {
      finding->other_program = is_other_program (finding->before, now);
      if (finding->other_program)
        finding->verdict = GEMEM_GATE_UNKNOWN;
      gemem_diff_match (finding->rows, finding->before->lines, now->lines, TRUE);
      gemem_diff_match_idle (finding->idle, finding->before->idle, now->idle);
    }
  return finding;
}

void
gemem_gate_finding_free (gpointer data)
{
  GememGateFinding *finding = data;

  g_array_unref (finding->rows);
  g_array_unref (finding->idle);
  g_free (finding);
}

/* ---- for a person */

static gboolean
is_bytes (guint measure)
{
  return measure == GEMEM_GATE_RESERVED || measure == GEMEM_GATE_IN_USE;
}

static const char *
format_value (char *buffer, guint measure, guint64 value)
{
  if (is_bytes (measure))
    return gemem_format_size (buffer, value);
  g_snprintf (buffer, GEMEM_FORMAT_MAX, "%" G_GUINT64_FORMAT, value);
  return buffer;
}

/* "reserved at most 1.211 GiB -> 1.412 GiB, 16.6 % more" */
static void
append_measure (GString *out, const GememGateFinding *finding, guint measure)
{
  static const char *const texts[GEMEM_GATE_COUNT] = { "reserved at most", "in use at most",
                                                       "failed requests", "device calls" };
  const guint64 before = finding->before->values[measure], now = finding->now->values[measure];
  char a[GEMEM_FORMAT_MAX], b[GEMEM_FORMAT_MAX], share[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (out, "%s %s", texts[measure], format_value (a, measure, before));
  if (now == before)
    return;
  g_string_append_printf (out, " -> %s", format_value (b, measure, now));
  if (before > 0)
    g_string_append_printf (
        out, ", %s %% %s",
        g_ascii_formatd (share, sizeof share, "%.2f",
                         100 * (double) (MAX (now, before) - MIN (now, before)) / (double) before),
        now > before ? "more" : "less");
}

static void
append_causes (GString *out, const GememGateFinding *finding)
{
  for (guint m = 0; m < GEMEM_GATE_COUNT; m++)
    if (finding->worse[m])
      {
        g_autoptr (GString) line = g_string_new ("  worse: ");
        append_measure (line, finding, m);
        gemem_text_append_cut (out, line->str);
      }
  if (strcmp (finding->before->allocator, finding->now->allocator) != 0)
    {
      g_autofree char *line = g_strdup_printf ("  allocator %s -> %s", finding->before->allocator,
                                               finding->now->allocator);
      gemem_text_append_cut (out, line);
    }
  for (guint i = 0; i < MIN (ROWS, finding->rows->len); i++)
    gemem_diff_append_row (out, &g_array_index (finding->rows, GememDiffRow, i));
  gemem_diff_append_idle (out, finding->idle, CAUSES);
}

void
gemem_gate_append (GString *out, const GememGateFinding *finding, double tolerance)
{
  static const char *const words[] = { "ok", "better", "WORSE", "unknown" };
  g_autoptr (GString) line = g_string_new (NULL);
  char share[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (line, "%s: %s: ", words[finding->verdict], finding->now->name);
  if (finding->other_program)
    g_string_append (line, "no line of code of the baseline is in it: it is of another program; "
                           "--update takes this one");
  else if (finding->verdict == GEMEM_GATE_UNKNOWN)
    g_string_append (line, "the baseline does not have it; --update adds it");
  else if (finding->verdict == GEMEM_GATE_WORSE && tolerance > 0)
    g_string_append_printf (line, "over %s %% more than the baseline says",
                            g_ascii_formatd (share, sizeof share, "%g", 100 * tolerance));
  else if (finding->verdict == GEMEM_GATE_WORSE)
    g_string_append (line, "more than the baseline says");
  else
    append_measure (line, finding, GEMEM_GATE_RESERVED);
  gemem_text_wrap (out, line->str, "  ");
  if (finding->verdict == GEMEM_GATE_WORSE)
    append_causes (out, finding);
}

/* ---- for programs */

static void
append_values_json (GString *out, const char *name, const GememGateEntry *entry)
{
  gemem_json_append_name (out, name);
  if (entry == NULL)
    {
      g_string_append (out, "null");
      return;
    }
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "allocator", entry->allocator);
  for (guint m = 0; m < GEMEM_GATE_COUNT; m++)
    gemem_json_append_number_member (out, gemem_gate_measures[m], entry->values[m]);
  g_string_append_c (out, '}');
}

void
gemem_gate_append_json (GString *out, const GememGateFinding *finding)
{
  static const char *const words[] = { "same", "better", "worse", "unknown" };

  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "trace", finding->now->name);
  gemem_json_append_text_member (out, "verdict", words[finding->verdict]);
  gemem_json_append_bool_member (out, "other_program", finding->other_program);
  append_values_json (out, "before", finding->before);
  append_values_json (out, "now", finding->now);
  gemem_json_append_name (out, "worse");
  g_string_append_c (out, '[');
  for (guint m = 0; m < GEMEM_GATE_COUNT; m++)
    if (finding->worse[m])
      {
        gemem_json_append_name (out, NULL);
        gemem_json_append_string (out, gemem_gate_measures[m]);
      }
  g_string_append_c (out, ']');
  gemem_diff_append_rows_json (out, "in_use", finding->rows);
  gemem_diff_append_rows_json (out, "idle", finding->idle);
  g_string_append_c (out, '}');
}
