/* above-least.c - see above-least.h. */
#include "config.h"

#include "base/compare.h"
#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/report/above-least.h"
#include "sim/report/json-fields.h"
#include "sim/report/notes.h"

#define LINES 8        /* for people, and one for all others */
#define BRIEF_CAUSES 2 /* in a sentence */

typedef struct
{
  const GememIdleRow *idle; /* one of its cause; NULL: held during the event of the peak alone */
  const GememPin *pin;      /* of GEMEM_IDLE_PINNED; NULL: not known */
  guint64 bytes, all;       /* above the best placement, of all that is idle so */
} AboveRow;

typedef struct
{
  guint64 bytes; /* above the best placement */
  guint64 idle;  /* here, and */
  guint64 spare; /* in the best placement at that moment */
  GArray *rows;  /* AboveRow, the most bytes first */
} Above;

/* What goes back by itself is first; GEMEM_IDLE_CAUSES: what was held during the event of the peak alone. */
static const GememIdleCause order[] = { GEMEM_IDLE_CAUSES,   GEMEM_IDLE_RETURNABLE,
                                        GEMEM_IDLE_STREAMS,  GEMEM_IDLE_POOLS,
                                        GEMEM_IDLE_WAITING,  GEMEM_IDLE_ALLOCATOR,
                                        GEMEM_IDLE_OVERSIZE, GEMEM_IDLE_PINNED,
                                        GEMEM_IDLE_ROUNDING };

static GememIdleCause
cause_of (const AboveRow *row)
{
  return row->idle != NULL ? row->idle->cause : GEMEM_IDLE_CAUSES;
}

static guint
rank_of (const AboveRow *row)
{
  guint rank = 0;

  while (order[rank] != cause_of (row))
    rank++;
  return rank;
}

/* ---- the rows */

static void
add_row (GArray *rows, const GememIdleRow *idle, const GememPin *pin, guint64 bytes)
{
  const AboveRow row = { idle, pin, bytes, bytes };

  if (bytes > 0)
    g_array_append_val (rows, row);
}

/* The pins, if they are all that is pinned; @pinned: one of the rows of that. */
static void
add_pinned (GArray *rows, const GememResult *result, const GememIdleRow *pinned, guint64 bytes)
{
  guint64 told = 0;

  for (guint i = 0; i < result->pins->len; i++)
    told += g_array_index (result->pins, GememPin, i).bytes;
  for (guint i = 0; i < result->pins->len && told == bytes; i++)
    {
      const GememPin *pin = &g_array_index (result->pins, GememPin, i);
      add_row (rows, pinned, pin, pin->bytes);
    }
  if (told != bytes)
    add_row (rows, pinned, NULL, bytes);
}

/* Returns the sum of the rows. */
static guint64
add_rows (GArray *rows, const GememResult *result)
{
  const GememIdleRow *pinned = NULL;
  guint64 pinned_bytes = 0, sum = 0;

  for (guint i = 0; i < result->idle->len; i++)
    {
      const GememIdleRow *idle = &g_array_index (result->idle, GememIdleRow, i);

      if (idle->cause != GEMEM_IDLE_PINNED)
        add_row (rows, idle, NULL, idle->bytes);
      else
        {
          pinned = pinned != NULL ? pinned : idle;
          pinned_bytes += idle->bytes;
        }
    }
  add_pinned (rows, result, pinned, pinned_bytes);
  add_row (rows, NULL, NULL, result->peak_reserved - result->idle_reserved);
  for (guint i = 0; i < rows->len; i++)
    sum += g_array_index (rows, AboveRow, i).bytes;
  return sum;
}

/* What goes back by itself first; of blocks that keep something those that keep least. */
static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  const AboveRow *x = a, *y = b;
  const gboolean rest[2] = { x->pin != NULL && x->pin->rest, y->pin != NULL && y->pin->rest };

  if (rank_of (x) != rank_of (y))
    return (int) rank_of (x) - (int) rank_of (y);
  if (rest[0] != rest[1])
    return rest[1] - rest[0];
  return gemem_compare_uint64 (&x->bytes, &y->bytes);
}

static int
compare_bytes (gconstpointer a, gconstpointer b)
{
  const AboveRow *x = a, *y = b;

  if (x->bytes != y->bytes)
    return gemem_compare_uint64 (&y->bytes, &x->bytes);
  return compare_ranks (b, a);
}

static void
take_off (GArray *rows, guint64 spare)
{
  guint n = 0;

  g_array_sort (rows, compare_ranks);
  for (guint i = 0; i < rows->len; i++)
    {
      AboveRow row = g_array_index (rows, AboveRow, i);
      const guint64 bytes = MIN (row.bytes, spare);

      spare -= bytes;
      row.bytes -= bytes;
      if (row.bytes > 0)
        g_array_index (rows, AboveRow, n++) = row;
    }
  g_array_set_size (rows, n);
  g_array_sort (rows, compare_bytes);
}

/* FALSE: there is no best placement beside @result, no more is held than by it, requests failed, or it is not
 * known what is idle.  Free with g_array_unref() of the rows, which refer to @result. */
static gboolean
above_of (const GememResult *result, Above *above)
{
  const guint64 least = result->least_placement;

  if (least == 0 || !result->idle_known || result->peak_reserved <= least
      || !gemem_result_is_complete (result) || result->idle_reserved > result->peak_reserved
      || result->idle_live > MIN (least, result->idle_reserved))
    return FALSE;
  *above = (Above){ .bytes = result->peak_reserved - least,
                    .idle = result->peak_reserved - result->idle_live,
                    .spare = least - result->idle_live,
                    .rows = g_array_new (FALSE, FALSE, sizeof (AboveRow)) };
  if (add_rows (above->rows, result) != above->idle)
    {
      g_array_unref (above->rows);
      return FALSE;
    }
  take_off (above->rows, above->spare);
  return TRUE;
}

/* ---- in a sentence */

static void
sum_causes (const GArray *rows, guint64 *sums)
{
  for (guint i = 0; i < rows->len; i++)
    {
      const AboveRow *row = &g_array_index (rows, AboveRow, i);
      sums[cause_of (row)] += row->bytes;
    }
}

/* "44 blocks (20.00 MiB) allocated by f.py:3 step and 3 of other places"; "block 7 (1.000 MiB)" */
static void
append_keepers (GString *out, const GememPin *pin)
{
  char size[GEMEM_FORMAT_MAX], block[GEMEM_FORMAT_MAX];

  if (pin->blocks == 1 && pin->id != 0 && pin->origin.by == NULL)
    g_string_append (out, gemem_block_text (block, pin->id));
  else
    g_string_append_printf (out, "%" G_GUINT64_FORMAT " block%s", pin->blocks,
                            gemem_plural (pin->blocks));
  g_string_append_printf (out, " (%s)", gemem_format_size (size, pin->size));
  if (pin->origin.by != NULL)
    g_string_append (out, " allocated");
  gemem_origin_append_by (out, pin->origin.by);
  if (pin->others > 0)
    g_string_append_printf (out, " and %" G_GUINT64_FORMAT " of other places", pin->others);
}

/* ", 112.5 MiB of it kept by 44 blocks ...": who keeps most of @pinned bytes. */
static void
append_main_pin (GString *out, const GArray *rows, guint64 pinned)
{
  char size[GEMEM_FORMAT_MAX];

  for (guint i = 0; i < rows->len; i++)
    {
      const AboveRow *row = &g_array_index (rows, AboveRow, i);

      if (row->pin == NULL || row->pin->rest || row->pin->blocks == 0)
        continue;
      g_string_append (out, ", ");
      if (row->bytes < pinned)
        g_string_append_printf (out, "%s of it ", gemem_format_size (size, row->bytes));
      g_string_append (out, "kept by ");
      append_keepers (out, row->pin);
      return;
    }
}

static void
append_causes (GString *out, const Above *above, guint64 *sums)
{
  guint64 rest = above->bytes;
  char size[GEMEM_FORMAT_MAX];

  for (guint n = 0; n < BRIEF_CAUSES && rest > 0; n++)
    {
      const GememIdleCause cause = gemem_report_largest_cause (sums);
      const guint64 bytes = sums[cause];

      sums[cause] = 0;
      rest -= bytes;
      g_string_append (out, n > 0 ? ";" : "");
      g_string_append_printf (out, " %s %s",
                              n > 0 || rest > 0 ? gemem_format_size (size, bytes) : "all",
                              gemem_report_idle_brief (cause));
      if (cause == GEMEM_IDLE_PINNED)
        append_main_pin (out, above->rows, bytes);
    }
  if (rest > 0)
    g_string_append_printf (out, "; %s otherwise", gemem_format_size (size, rest));
}

gboolean
gemem_above_append_sentence (GString *out, const GememResult *result)
{
  guint64 sums[GEMEM_IDLE_CAUSES + 1] = { 0 };
  Above above;
  char size[GEMEM_FORMAT_MAX];
  gboolean told;

  if (!above_of (result, &above))
    return FALSE;
  sum_causes (above.rows, sums);
  told = gemem_report_largest_cause (sums) != GEMEM_IDLE_ALLOCATOR;
  if (told)
    {
      g_string_append_printf (out, "%s of the peak of %s are above the best placement:",
                              gemem_format_size (size, above.bytes), result->label);
      append_causes (out, &above, sums);
    }
  g_array_unref (above.rows);
  return told;
}

/* ---- in lines */

static void
append_pin (GString *out, const GememPin *pin)
{
  g_string_append_printf (out, "free in %" G_GUINT64_FORMAT " segment%s, kept", pin->segments,
                          gemem_plural (pin->segments));
  if (pin->rest)
    g_string_append (out, " by blocks of other places");
  else if (pin->blocks == 0)
    g_string_append (out, " by what is no block of the trace");
  else
    {
      g_string_append (out, " by ");
      append_keepers (out, pin);
    }
}

static void
append_line (GString *out, const AboveRow *row)
{
  g_autoptr (GString) line = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX];

  g_string_append_printf (line, "  %10s  ", gemem_format_size (size, row->bytes));
  if (row->all != row->bytes)
    g_string_append_printf (line, "of %s ", gemem_format_size (size, row->all));
  if (row->idle == NULL)
    g_string_append (line, gemem_report_idle_brief (GEMEM_IDLE_CAUSES));
  else if (row->pin != NULL)
    append_pin (line, row->pin);
  else if (row->idle->cause == GEMEM_IDLE_PINNED)
    g_string_append (line, gemem_report_idle_brief (GEMEM_IDLE_PINNED));
  else
    gemem_report_append_idle_row (line, row->idle);
  gemem_text_wrap (out, line->str, "              ");
}

void
gemem_above_append (GString *out, const GememResult *result)
{
  Above above;
  char size[2][GEMEM_FORMAT_MAX];
  guint64 rest = 0;

  if (!above_of (result, &above))
    return;
  g_autofree char *line = g_strdup_printf ("%s of the peak of %s are above the best placement",
                                           gemem_format_size (size[0], above.bytes), result->label);
  g_string_append_c (out, '\n');
  gemem_text_append_cut (out, line);
  for (guint i = 0; i < above.rows->len; i++)
    {
      const AboveRow *row = &g_array_index (above.rows, AboveRow, i);

      if (i < LINES || above.rows->len <= LINES + 1)
        append_line (out, row);
      else
        rest += row->bytes;
    }
  if (rest > 0)
    g_string_append_printf (out, "  %10s  in %u other ways\n", gemem_format_size (size[0], rest),
                            above.rows->len - LINES);
  if (above.spare > 0)
    g_string_append_printf (out, "  (%s are idle then; the best placement has %s idle then, too)\n",
                            gemem_format_size (size[0], above.idle),
                            gemem_format_size (size[1], above.spare));
  g_array_unref (above.rows);
}

/* ---- for programs */

static void
append_json_row (GString *out, const AboveRow *row)
{
  const GememPin *pin = row->pin;

  gemem_json_append_name (out, NULL);
  g_string_append_c (out, '{');
  gemem_json_append_text_member (
      out, "cause", row->idle != NULL ? gemem_json_causes[row->idle->cause] : "moment");
  gemem_json_append_number_member (out, "bytes", row->bytes);
  gemem_json_append_number_member (out, "idle", row->all);
  if (pin != NULL)
    {
      gemem_json_append_number_member (out, "segments", pin->segments);
      gemem_json_append_number_member (out, "blocks", pin->blocks);
      gemem_json_append_number_member (out, "size", pin->size);
      gemem_json_append_number_member (out, "others", pin->others);
      gemem_json_append_number_member (out, "id", pin->id);
      gemem_json_append_bool_member (out, "rest", pin->rest);
      gemem_json_append_text_member (out, "by", pin->origin.by);
    }
  g_string_append_c (out, '}');
}

void
gemem_above_append_json (GString *out, const GememResult *result)
{
  Above above;

  if (!above_of (result, &above))
    return;
  gemem_json_append_name (out, "above_least");
  g_string_append_c (out, '{');
  gemem_json_append_number_member (out, "least", result->least_placement);
  gemem_json_append_number_member (out, "bytes", above.bytes);
  gemem_json_append_number_member (out, "idle", above.idle);
  gemem_json_append_number_member (out, "spare", above.spare);
  gemem_json_append_name (out, "rows");
  g_string_append_c (out, '[');
  for (guint i = 0; i < above.rows->len; i++)
    append_json_row (out, &g_array_index (above.rows, AboveRow, i));
  g_string_append (out, "]}");
  g_array_unref (above.rows);
}
