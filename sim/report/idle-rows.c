/* idle-rows.c - what lies idle, by cause, for people; see notes.h.
 *
 * Invariants: a row says what the allocator's own state shows, no more; no line is wider than
 * GEMEM_TEXT_WIDTH.
 */
#include "config.h"

#include "base/text.h"
#include "base/units.h"
#include "sim/report/notes.h"
#include "sim/report/report.h"

/* "the default pool", "private pool 1 (not released)" */
static void
append_pool (GString *out, const GememIdleRow *row)
{
  if (row->pool == 0)
    g_string_append (out, "the default pool");
  else
    g_string_append_printf (out, "private pool %u (%s)", row->pool,
                            row->released ? "released by the program"
                            : row->used   ? "the program allocates there now"
                                          : "not released by the program");
}

static void
append_pools (GString *out, const GememIdleRow *row)
{
  char size[GEMEM_FORMAT_MAX];

  if (row->count == 1)
    g_string_append (out, "free in ");
  else
    g_string_append_printf (out, "free in %" G_GUINT64_FORMAT " pools, %s of it in ", row->count,
                            gemem_format_size (size, row->largest));
  append_pool (out, row);
}

static void
append_streams (GString *out, const GememIdleRow *row)
{
  char size[GEMEM_FORMAT_MAX];

  if (row->count == 1)
    g_string_append_printf (out, "free in the cache of another stream, 0x%" G_GINT64_MODIFIER "x",
                            row->stream);
  else
    g_string_append_printf (out,
                            "free in the caches of %" G_GUINT64_FORMAT
                            " other streams (stream 0x%" G_GINT64_MODIFIER "x: %s)",
                            row->count, row->stream, gemem_format_size (size, row->largest));
}

/* "rest of the segment of block 7 (22.00 MiB, allocated at ...) and 2 more in use" */
static void
append_pinned (GString *out, const GememIdleRow *row)
{
  char size[GEMEM_FORMAT_MAX], block[GEMEM_FORMAT_MAX];

  if (row->blocks == 0)
    {
      g_string_append_printf (out, "free rest of %" G_GUINT64_FORMAT " segment%s that blocks keep",
                              row->count, gemem_plural (row->count));
      return;
    }
  g_string_append_printf (out, "free rest of the segment of %s (%s",
                          gemem_block_text (block, row->id), gemem_format_size (size, row->size));
  gemem_origin_append_by (out, row->origin.by);
  g_string_append_c (out, ')');
  if (row->blocks > 1)
    g_string_append_printf (out, " and %" G_GUINT64_FORMAT " more in use", row->blocks - 1);
}

/* "free in 3 whole segments, returned by ..." */
static void
append_counted (GString *out, const GememIdleRow *row)
{
  static const struct
  {
    const char *before, *one, *many, *after;
  } texts[GEMEM_IDLE_CAUSES] = {
    [GEMEM_IDLE_RETURNABLE] = { "free in", "whole segment", "whole segments",
                                ", returned by emptying the cache" },
    [GEMEM_IDLE_OVERSIZE] = { "in", "large block", "large blocks",
                              " that max_split_size keeps whole" },
    [GEMEM_IDLE_WAITING] = { "in", "freed block", "freed blocks", " that streams may still use" },
    [GEMEM_IDLE_ROUNDING] = { "rounding of", "block", "blocks", " in use" },
  };

  g_string_append_printf (
      out, "%s %" G_GUINT64_FORMAT " %s%s", texts[row->cause].before, row->count,
      row->count == 1 ? texts[row->cause].one : texts[row->cause].many, texts[row->cause].after);
}

void
gemem_report_append_idle_row (GString *out, const GememIdleRow *row)
{
  if (row->cause == GEMEM_IDLE_STREAMS)
    append_streams (out, row);
  else if (row->cause == GEMEM_IDLE_POOLS)
    append_pools (out, row);
  else if (row->cause == GEMEM_IDLE_PINNED)
    append_pinned (out, row);
  else if (row->cause == GEMEM_IDLE_ALLOCATOR)
    g_string_append (out, "held by the allocator");
  else
    append_counted (out, row);
}

/* Appends a line for each of the first @max of @rows (GememIdleRow), and one for all others. */
static void
append_rows (GString *out, const GArray *rows, guint max)
{
  const guint shown = rows->len <= max + 1 ? rows->len : max; /* one more is as short as its sum */
  char size[GEMEM_FORMAT_MAX];
  guint64 rest = 0;

  for (guint i = 0; i < rows->len; i++)
    {
      const GememIdleRow *row = &g_array_index (rows, GememIdleRow, i);
      g_autoptr (GString) line = g_string_new (NULL);

      if (i >= shown)
        {
          rest += row->bytes;
          continue;
        }
      g_string_append_printf (line, "  %10s  ", gemem_format_size (size, row->bytes));
      gemem_report_append_idle_row (line, row);
      gemem_text_append_cut (out, line->str);
    }
  if (rest > 0)
    g_string_append_printf (out, "  %10s  in %u other ways\n", gemem_format_size (size, rest),
                            rows->len - shown);
}

char *
gemem_report_idle_cause (const GArray *rows)
{
  const GememIdleRow *row = rows != NULL && rows->len > 0 ? &g_array_index (rows, GememIdleRow, 0)
                                                          : NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX];

  if (row == NULL)
    return NULL;
  g_string_append_printf (out, "%s ", gemem_format_size (size, row->bytes));
  gemem_report_append_idle_row (out, row);
  return g_strdup (out->str);
}

static gboolean
tells_of_streams (const GArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    if (g_array_index (rows, GememIdleRow, i).cause == GEMEM_IDLE_STREAMS)
      return TRUE;
  return FALSE;
}

void
gemem_report_idle_at (GString *out, const char *when, const GArray *rows, guint64 stream,
                      guint64 reserved, guint64 live, guint max)
{
  char idle[GEMEM_FORMAT_MAX], held[GEMEM_FORMAT_MAX];

  if (rows->len == 0)
    return;
  g_string_append_printf (out, "\nidle %s", when);
  if (tells_of_streams (rows))
    g_string_append_printf (out, ", an event of stream 0x%" G_GINT64_MODIFIER "x", stream);
  g_string_append_printf (out, ": %s of %s held\n", gemem_format_size (idle, reserved - live),
                          gemem_format_size (held, reserved));
  append_rows (out, rows, max);
}

void
gemem_report_idle (GString *out, const GememResult *result, gboolean verbose)
{
  const guint max = verbose ? G_MAXUINT - 1 : GEMEM_IDLE_BRIEF;
  const GememOom *oom = gemem_result_first_oom (result);

  if (oom != NULL)
    gemem_report_idle_at (out, "at the first failure", result->idle_at_failure, oom->stream,
                          oom->reserved, oom->live, max);
  if (result->idle_known && (verbose || oom == NULL))
    gemem_report_idle_at (out, "at the reserved peak", result->idle, result->idle_stream,
                          result->idle_reserved, result->idle_live, max);
}

/* ---- by cause */

const char *
gemem_report_idle_brief (GememIdleCause cause)
{
  static const char *const texts[GEMEM_IDLE_CAUSES + 1] = {
    [GEMEM_IDLE_STREAMS] = "in caches of other streams",
    [GEMEM_IDLE_POOLS] = "in other pools",
    [GEMEM_IDLE_RETURNABLE] = "in whole free segments",
    [GEMEM_IDLE_OVERSIZE] = "in blocks that are not split",
    [GEMEM_IDLE_PINNED] = "beside blocks in use",
    [GEMEM_IDLE_WAITING] = "freed, but not yet by all streams",
    [GEMEM_IDLE_ROUNDING] = "in the rounding of blocks",
    [GEMEM_IDLE_ALLOCATOR] = "held by the allocator itself",
    [GEMEM_IDLE_CAUSES] = "given back at once",
  };

  return texts[cause];
}

GememIdleCause
gemem_report_largest_cause (const guint64 sums[GEMEM_IDLE_CAUSES + 1])
{
  guint most = 0;

  for (guint c = 1; c <= GEMEM_IDLE_CAUSES; c++)
    if (sums[c] > sums[most])
      most = c;
  return (GememIdleCause) most;
}

void
gemem_report_append_idle_causes (GString *out, const GArray *rows)
{
  guint64 sums[GEMEM_IDLE_CAUSES + 1] = { 0 };
  char size[GEMEM_FORMAT_MAX];

  for (guint i = 0; i < rows->len; i++)
    sums[g_array_index (rows, GememIdleRow, i).cause] +=
        g_array_index (rows, GememIdleRow, i).bytes;
  for (guint n = 0; n < GEMEM_IDLE_CAUSES; n++)
    {
      const GememIdleCause most = gemem_report_largest_cause (sums);

      if (sums[most] == 0)
        return;
      g_string_append_printf (out, "%s%s %s", n > 0 ? ", " : "",
                              gemem_format_size (size, sums[most]), gemem_report_idle_brief (most));
      sums[most] = 0;
    }
}
