/* diff-screen.c - a difference for a person: the change first, at most about thirty lines of 100 columns.
 *
 * Invariants: no figure is computed here but sums and differences of those of diff.h; no line is longer than
 * GEMEM_TEXT_WIDTH.
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/report/json-fields.h"
#include "sim/search/diff.h"

#define ROWS 5   /* lines of code that are shown */
#define CAUSES 4 /* of idle memory */
#define SETTINGS 4
#define IN_LINE 3 /* categories, size classes */

/* ---- pieces */

/* "24.00 MiB more", "4 fewer", of "1" and "2". */
static void
append_difference (GString *out, guint64 before, guint64 after)
{
  char size[GEMEM_FORMAT_MAX];

  g_string_append_printf (out, "%s %s",
                          gemem_format_size (size, MAX (before, after) - MIN (before, after)),
                          after > before ? "more" : "less");
}

/* The two in a head: the files, or for one recording the allocators. */
char *
gemem_diff_name (const GememDiff *diff, guint s)
{
  return diff->one_recording ? g_strdup (diff->sides[s].result->label)
                             : g_path_get_basename (diff->sides[s].name);
}

/* ---- the sentence */

static void
append_failures (GString *out, const GememDiff *diff)
{
  static const char *const ordinals[] = { "The first", "The second" };
  char size[GEMEM_FORMAT_MAX];
  const GememOom *failures[] = { gemem_result_first_oom (diff->sides[0].result),
                                 gemem_result_first_oom (diff->sides[1].result) };

  for (guint s = 0; s < 2; s++)
    if (failures[s] != NULL)
      {
        g_string_append_printf (
            out, "%s runs out of memory: a request of %s, event %" G_GUINT64_FORMAT, ordinals[s],
            gemem_format_size (size, failures[s]->requested), failures[s]->seq);
        gemem_origin_append_by (out, failures[s]->origin.by);
        g_string_append (out, failures[1 - s] == NULL ? "; the other does not. " : ". ");
      }
}

/* "It holds 24 MiB more, 1.2 GiB instead of 1.1: 20 MiB more in use then, and 4 MiB more idle." */
char *
gemem_diff_sentence (const GememDiff *diff)
{
  const GememResult *a = diff->sides[0].result, *b = diff->sides[1].result;
  const guint64 idle[] = { a->idle_reserved - a->idle_live, b->idle_reserved - b->idle_live };
  GString *out = g_string_new (NULL);
  char x[GEMEM_FORMAT_MAX], y[GEMEM_FORMAT_MAX];

  if (gemem_diff_is_empty (diff))
    {
      g_string_append (out, "Nothing differs: the same requests and frees, and the same memory.");
      return g_string_free (out, FALSE);
    }
  append_failures (out, diff);
  if (a->ooms + b->ooms > 0) /* what is held until then is not what it needs */
    {
      g_string_set_size (out, out->len - 1);
      return g_string_free (out, FALSE);
    }
  if (a->peak_reserved == b->peak_reserved)
    g_string_append_printf (out, "Both hold at most %s", gemem_format_size (x, a->peak_reserved));
  else
    {
      g_string_append (out, "The second holds ");
      append_difference (out, a->peak_reserved, b->peak_reserved);
      g_string_append_printf (out, ", %s instead of %s", gemem_format_size (x, b->peak_reserved),
                              gemem_format_size (y, a->peak_reserved));
    }
  if (!a->idle_known || !b->idle_known || (a->idle_live == b->idle_live && idle[0] == idle[1]))
    {
      g_string_append_c (out, '.');
      return g_string_free (out, FALSE);
    }
  g_string_append (out, a->peak_reserved == b->peak_reserved ? ", of it in the second " : ": ");
  if (a->idle_live == b->idle_live)
    g_string_append (out, "as much in use then");
  else
    append_difference (out, a->idle_live, b->idle_live), g_string_append (out, " in use then");
  g_string_append (out, ", and ");
  if (idle[0] == idle[1])
    g_string_append (out, "as much idle.");
  else
    append_difference (out, idle[0], idle[1]), g_string_append (out, " idle.");
  return g_string_free (out, FALSE);
}

/* ---- parts of the screen */

static void
append_sizes (GString *out, const char *what, guint64 before, guint64 after)
{
  char a[GEMEM_FORMAT_MAX], b[GEMEM_FORMAT_MAX], change[GEMEM_FORMAT_MAX + 1];

  g_string_append_printf (out, "  %-22s%12s%12s", what, gemem_format_size (a, before),
                          gemem_format_size (b, after));
  if (before != after)
    g_string_append_printf (out, "%14s", gemem_format_change (change, before, after));
  g_string_append_c (out, '\n');
}

static void
append_counts (GString *out, const char *what, guint64 before, guint64 after)
{
  char change[GEMEM_FORMAT_MAX] = "";

  if (before == after)
    return;
  g_snprintf (change, sizeof change, "%+" G_GINT64_FORMAT, (gint64) (after - before));
  g_string_append_printf (out, "  %-22s%12" G_GUINT64_FORMAT "%12" G_GUINT64_FORMAT "%14s\n", what,
                          before, after, change);
}

static void
append_table (GString *out, const GememDiff *diff)
{
  const GememResult *a = diff->sides[0].result, *b = diff->sides[1].result;

  g_string_append_printf (out, "\n%-24s%12s%12s%14s\n", "", "first", "second", "change");
  append_sizes (out, "reserved at most", a->peak_reserved, b->peak_reserved);
  append_sizes (out, "in use then", a->idle_live, b->idle_live);
  append_sizes (out, "idle then", a->idle_reserved - a->idle_live, b->idle_reserved - b->idle_live);
  append_sizes (out, "in use at most", a->peak_live, b->peak_live);
  append_counts (out, "requests", a->allocs, b->allocs);
  append_counts (out, "failed", a->ooms, b->ooms);
  append_counts (out, "device calls", gemem_result_calls (a), gemem_result_calls (b));
}

/* "  +24.00 MiB  4.000 MiB -> 28.00 MiB  train.py:7 step" */
static void
append_row (GString *out, const GememDiffRow *row, const char *name)
{
  char a[GEMEM_FORMAT_MAX], b[GEMEM_FORMAT_MAX], change[GEMEM_FORMAT_MAX + 1];
  g_autoptr (GString) line = g_string_new (NULL);
  const char *both = row->blocks[0] == 0 && row->bytes[0] == 0   ? "new"
                     : row->blocks[1] == 0 && row->bytes[1] == 0 ? "gone"
                                                                 : NULL;

  g_string_append_printf (line, "  %12s  ",
                          gemem_format_change (change, row->bytes[0], row->bytes[1]));
  if (both != NULL)
    g_string_append_printf (line, "%-24s", both);
  else
    g_string_append_printf (line, "%10s -> %-10s", gemem_format_size (a, row->bytes[0]),
                            gemem_format_size (b, row->bytes[1]));
  g_string_append_printf (line, "  %s", name);
  gemem_text_append_cut (out, line->str);
}

void
gemem_diff_append_row (GString *out, const GememDiffRow *row)
{
  append_row (out, row, row->name);
}

/* What @rows beyond the first @shown change in all. */
static void
append_rest (GString *out, const GArray *rows, guint shown)
{
  char change[GEMEM_FORMAT_MAX + 1];
  guint64 bytes[2] = { 0, 0 };

  if (rows->len <= shown)
    return;
  for (guint i = shown; i < rows->len; i++)
    for (guint s = 0; s < 2; s++)
      bytes[s] += g_array_index (rows, GememDiffRow, i).bytes[s];
  g_string_append_printf (out, "  %12s  in %u more\n",
                          gemem_format_change (change, bytes[0], bytes[1]), rows->len - shown);
}

/* "by category: +24.00 MiB activation, -4.000 MiB gradient, +1.000 MiB in 3 more" */
static void
append_in_line (GString *out, const char *by, const GArray *rows)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char change[GEMEM_FORMAT_MAX + 1];
  guint64 rest[2] = { 0, 0 };

  /* nothing where nothing is known: the recording has none */
  if (rows->len == 0
      || (rows->len == 1
          && g_str_has_prefix (g_array_index (rows, GememDiffRow, 0).name, "unknown")))
    return;
  g_string_append_printf (text, "  by %s: ", by);
  for (guint i = 0; i < rows->len; i++)
    {
      const GememDiffRow *row = &g_array_index (rows, GememDiffRow, i);

      if (i < IN_LINE)
        g_string_append_printf (text, "%s%s %s", i > 0 ? ", " : "",
                                gemem_format_change (change, row->bytes[0], row->bytes[1]),
                                row->name);
      for (guint s = 0; i >= IN_LINE && s < 2; s++)
        rest[s] += row->bytes[s];
    }
  if (rows->len > IN_LINE)
    g_string_append_printf (text, ", %s in %u more", gemem_format_change (change, rest[0], rest[1]),
                            rows->len - IN_LINE);
  gemem_text_append_cut (out, text->str);
}

static void
append_rows (GString *out, const GememDiff *diff)
{
  if (diff->rows->len == 0)
    return;
  g_string_append_printf (out, "\nin use at the peak, by %s:\n", gemem_hold_by_names ()[diff->by]);
  for (guint i = 0; i < MIN (ROWS, diff->rows->len); i++)
    {
      gemem_diff_append_row (out, &g_array_index (diff->rows, GememDiffRow, i));
    }
  append_rest (out, diff->rows, ROWS);
  append_in_line (out, "category", diff->categories);
  append_in_line (out, "size class", diff->classes);
}

/* What the cause @name (gemem_json_causes) means. */
static const char *
cause_of (const char *name)
{
  static const char *const texts[GEMEM_IDLE_CAUSES] = {
    [GEMEM_IDLE_STREAMS] = "free in the caches of other streams",
    [GEMEM_IDLE_POOLS] = "free in other pools",
    [GEMEM_IDLE_RETURNABLE] = "free in whole segments, returned by emptying the cache",
    [GEMEM_IDLE_OVERSIZE] = "in large blocks that a limit on splitting keeps whole",
    [GEMEM_IDLE_PINNED] = "free rest of segments that blocks keep",
    [GEMEM_IDLE_WAITING] = "freed, and streams may still use it",
    [GEMEM_IDLE_ROUNDING] = "rounding of blocks in use",
    [GEMEM_IDLE_ALLOCATOR] = "held by the allocator",
  };

  for (guint cause = 0; cause < GEMEM_IDLE_CAUSES; cause++)
    if (strcmp (gemem_json_causes[cause], name) == 0)
      return texts[cause];
  return name;
}

void
gemem_diff_append_idle (GString *out, const GArray *rows, guint max)
{
  if (rows->len == 0)
    return;
  g_string_append (out, "\nidle at the reserved peak, by cause:\n");
  for (guint i = 0; i < MIN (max, rows->len); i++)
    {
      const GememDiffRow *row = &g_array_index (rows, GememDiffRow, i);
      append_row (out, row, cause_of (row->name));
    }
  append_rest (out, rows, max);
}

/* "1.387 GiB" for a capacity; others as they are. */
static const char *
setting_text (char *buffer, const GememDiffSetting *setting, guint side)
{
  const char *value = setting->values[side];

  if (value == NULL)
    return "none";
  return strcmp (setting->name, "capacity") == 0
             ? gemem_format_size (buffer, g_ascii_strtoull (value, NULL, 10))
             : value;
}

/* Settings: "settings: expandable_segments no -> yes, version 2.6 -> 2.11". */
static void
append_settings (GString *out, const GememDiff *diff)
{
  g_autoptr (GString) text = g_string_new ("Settings: ");

  if (diff->settings->len == 0)
    return;
  for (guint i = 0; i < MIN (SETTINGS, diff->settings->len); i++)
    {
      const GememDiffSetting *setting = &g_array_index (diff->settings, GememDiffSetting, i);
      char before[GEMEM_FORMAT_MAX], after[GEMEM_FORMAT_MAX];

      g_string_append_printf (text, "%s%s %s -> %s", i > 0 ? ", " : "", setting->name,
                              setting_text (before, setting, 0), setting_text (after, setting, 1));
    }
  if (diff->settings->len > SETTINGS)
    g_string_append_printf (text, ", and %u more", diff->settings->len - SETTINGS);
  g_string_append_c (text, '.');
  gemem_text_wrap (out, text->str, "  ");
}

/* "4.000 MiB by train.py:3 f" */
static void
append_block (GString *out, const GememDiffStep *step)
{
  char size[GEMEM_FORMAT_MAX];

  g_string_append (out, gemem_format_size (size, step->size));
  gemem_origin_append_by (out, step->by);
}

/* "asks for 4.000 MiB by train.py:3 f (event 7)" */
static void
append_step (GString *out, const GememDiffStep *step)
{
  if (step->ended)
    {
      g_string_append (out, "has ended");
      return;
    }
  g_string_append (out, step->frees     ? "frees a block of "
                        : step->refused ? "is refused "
                                        : "asks for ");
  append_block (out, step);
  g_string_append_printf (out, " (event %" G_GUINT64_FORMAT ")", step->event);
}

/* What the first difference is, where it is more than that the sides do two things. */
static void
append_change (GString *out, const GememDiffParting *parting)
{
  static const char *const sides[] = { "the first", "the second" };
  const char *one = sides[parting->side], *other = sides[1 - parting->side];
  const GememDiffStep *own = &parting->steps[parting->side],
                      *others = &parting->steps[1 - parting->side];
  char size[GEMEM_FORMAT_MAX];

  switch (parting->change)
    {
    case GEMEM_DIFF_CHANGE_SIZE:
      g_string_append_printf (out, "the second asks for %s, the first for ",
                              gemem_format_size (size, parting->steps[1].size));
      append_block (out, &parting->steps[0]);
      g_string_append_printf (out, " (event %" G_GUINT64_FORMAT ")", parting->steps[1].event);
      break;
    case GEMEM_DIFF_CHANGE_MORE:
      g_string_append_printf (out, "%s makes one more request, of ", one);
      append_block (out, own);
      g_string_append_printf (out, " (event %" G_GUINT64_FORMAT ")", own->event);
      break;
    case GEMEM_DIFF_CHANGE_ORDER:
      g_string_append_printf (out, "%s %s ", other, others->frees ? "frees" : "asks for");
      append_block (out, others);
      g_string_append_printf (
          out, " (event %" G_GUINT64_FORMAT "), %s does so later (event %" G_GUINT64_FORMAT ")",
          others->event, one, parting->later);
      break;
    case GEMEM_DIFF_CHANGE_LATER:
      g_string_append_printf (out, "%s frees ", one);
      append_block (out, others);
      g_string_append_printf (
          out, " at event %" G_GUINT64_FORMAT ", %s already at event %" G_GUINT64_FORMAT,
          parting->later, other, others->event);
      break;
    case GEMEM_DIFF_CHANGE_LEAK:
      g_string_append_printf (out, "%s never frees ", one);
      append_block (out, others);
      g_string_append_printf (out, ", which %s frees at event %" G_GUINT64_FORMAT, other,
                              others->event);
      break;
    case GEMEM_DIFF_CHANGE_OTHER:
      g_string_append (out, "the first ");
      append_step (out, &parting->steps[0]);
      g_string_append (out, ", the second ");
      append_step (out, &parting->steps[1]);
      break;
    }
}

static void
append_parting (GString *out, const GememDiff *diff)
{
  const GememDiffParting *parting = &diff->parting;
  g_autoptr (GString) text = g_string_new (NULL);

  if (!parting->found)
    g_string_append_printf (text, "All %" G_GUINT64_FORMAT " requests and frees are the same.",
                            parting->same);
  else
    {
      g_string_append_printf (
          text, "They part after %" G_GUINT64_FORMAT " equal requests and frees: ", parting->same);
      append_change (text, parting);
      g_string_append_c (text, '.');
    }
  gemem_text_wrap (out, text->str, "  ");
}

/* "Without a partner: steps 4 to 6 of the second." */
static void
append_lone_steps (GString *out, const GememDiff *diff)
{
  for (guint s = 0; s < 2; s++)
    {
      const GArray *steps = diff->lone_steps[s];

      if (steps->len == 0)
        continue;
      const guint64 from = g_array_index (steps, guint64, 0),
                    to = g_array_index (steps, guint64, steps->len - 1);
      const gboolean whole = to - from + 1 == steps->len;

      g_string_append_printf (out, "Without a partner: ");
      if (steps->len == 1)
        g_string_append_printf (out, "step %" G_GUINT64_FORMAT, from);
      else
        g_string_append_printf (out, "%s %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                                whole ? "steps" : "steps between", from, to);
      g_string_append_printf (out, " of the %s.\n", s == 0 ? "first" : "second");
    }
}

static void
append_reserve (GString *out, const GememDiff *diff)
{
  const GememDiffReserve *reserve = &diff->reserve;
  g_autoptr (GString) text = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX], more[GEMEM_FORMAT_MAX + 1];

  if (!reserve->found)
    g_string_append (text, "Both hold as much after every event.");
  else
    {
      g_string_append_printf (text, "They part at %sevent %" G_GUINT64_FORMAT,
                              reserve->exact ? "" : "about ", reserve->event);
      if (reserve->size > 0)
        {
          g_string_append_printf (text, ", a request of %s",
                                  gemem_format_size (size, reserve->size));
          gemem_origin_append_by (text, reserve->by);
        }
      g_string_append_printf (
          text, ": the second holds %s, %s.", gemem_format_size (size, reserve->reserved[1]),
          gemem_format_change (more, reserve->reserved[0], reserve->reserved[1]));
    }
  gemem_text_wrap (out, text->str, "  ");
}

void
gemem_diff_append_first (GString *out, const GememDiff *diff)
{
  if (diff->one_recording)
    append_reserve (out, diff);
  else
    append_parting (out, diff);
}

void
gemem_diff_append (GString *out, const GememDiff *diff)
{
  g_autofree char *sentence = gemem_diff_sentence (diff), *first = gemem_diff_name (diff, 0),
                  *second = gemem_diff_name (diff, 1);
  g_autoptr (GString) head = g_string_new (NULL);

  if (diff->one_recording)
    {
      g_autofree char *file = g_path_get_basename (diff->sides[0].name);
      g_string_append_printf (head, "%s: ", file);
    }
  g_string_append_printf (head, "%s -> %s", first, second);
  gemem_text_wrap (out, head->str, "  ");
  for (guint s = 0; s < 2; s++)
    if (diff->sides[s].assumed && !(s == 1 && diff->one_recording))
      g_string_append_printf (
          out, "The %s recording does not name its allocator: PyTorch's is assumed.\n",
          s == 0 ? "first" : "second");
  gemem_text_wrap (out, sentence, "  ");
  if (gemem_diff_is_empty (diff))
    return;
  append_settings (out, diff);
  gemem_diff_append_first (out, diff);
  append_lone_steps (out, diff);
  append_table (out, diff);
  append_rows (out, diff);
  gemem_diff_append_idle (out, diff->idle, CAUSES);
  if (diff->failure.found)
    gemem_diff_failure_append (out, &diff->failure);
  if (diff->chain != NULL)
    gemem_diff_chain_append (out, diff->chain);
  else if (diff->too_long)
    g_string_append_printf (out,
                            "\nLeft out: how they come to differ, block by block; a recording has "
                            "more than %" G_GUINT64_FORMAT " events.\n",
                            GEMEM_DIFF_CHAIN_EVENTS);
}
