/* table.c - see table.h. */
#include "config.h"

#include <string.h>

#include "base/io/fail.h"
#include "traces/minimalloc/table.h"

#define MAX_LINE ((gsize) 1 << 20)
#define MAX_ROWS (1u << 24)
#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)
#define MAX_ALIGNMENT (G_GINT64_CONSTANT (1) << 40)
#define MAX_OFFSET (G_GINT64_CONSTANT (1) << 62)
#define MAX_TIME (G_GINT64_CONSTANT (1) << 60)

typedef enum
{
  COLUMN_ID,
  COLUMN_LOWER,
  COLUMN_UPPER,
  COLUMN_SIZE,
  COLUMN_END,
  COLUMN_ALIGNMENT,
  COLUMN_HINT,
  COLUMN_GAPS,
  COLUMN_OFFSET,
  N_COLUMNS
} Column;

static const struct
{
  const char *name;
  Column column;
} columns[] = {
  { "id", COLUMN_ID },         { "buffer", COLUMN_ID },
  { "buffer_id", COLUMN_ID },  { "lower", COLUMN_LOWER },
  { "start", COLUMN_LOWER },   { "begin", COLUMN_LOWER },
  { "upper", COLUMN_UPPER },   { "end", COLUMN_END },
  { "size", COLUMN_SIZE },     { "alignment", COLUMN_ALIGNMENT },
  { "hint", COLUMN_HINT },     { "gaps", COLUMN_GAPS },
  { "offset", COLUMN_OFFSET },
};

typedef struct
{
  GememInput *input;
  Column kinds[N_COLUMNS]; /* of each column of the file */
  gboolean have[N_COLUMNS + 1];
  GArray *gaps; /* of the row */
  guint n_columns, n_rows;
  GHashTable *names;
} Table;

#define fail(table, error, ...) \
  gemem_fail_line (error, gemem_input_name ((table)->input), \
                   MAX (gemem_input_line_number ((table)->input), 1), __VA_ARGS__)

/* ---- the header */

/* Returns the column named by @text, or N_COLUMNS if there is none. */
static Column
find_column (const char *text, gsize length)
{
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    if (strlen (columns[i].name) == length && memcmp (columns[i].name, text, length) == 0)
      return columns[i].column;
  return N_COLUMNS;
}

/* Returns the field at *@at up to a comma or @end, without surrounding blanks. */
static const char *
next_field (const char **at, const char *end, gsize *length)
{
  const char *start = *at, *stop = memchr (start, ',', (gsize) (end - start));
  stop = stop != NULL ? stop : end;
  *at = stop < end ? stop + 1 : NULL;
  while (start < stop && *start == ' ')
    start++;
  while (stop > start && stop[-1] == ' ')
    stop--;
  *length = (gsize) (stop - start);
  return start;
}

static gboolean
read_header (Table *table, const char *line, gsize size, GError **error)
{
  const char *at = line, *end = line + size;
  gboolean *have = table->have;

  while (at != NULL)
    {
      gsize length;
      const char *field = next_field (&at, end, &length);
      Column column = find_column (field, length);
      if (column == N_COLUMNS)
        return fail (table, error,
                     "column \"%.*s\" is not known; known are id, lower, upper (or end), size, "
                     "alignment, hint, gaps, offset",
                     (int) MIN (length, 40), field);
      if (have[column])
        return fail (table, error, "column \"%.*s\" is there twice; remove one", (int) length,
                     field);
      have[column] = TRUE;
      table->kinds[table->n_columns++] = column;
    }
  if (!have[COLUMN_ID] || !have[COLUMN_LOWER] || !have[COLUMN_SIZE]
      || have[COLUMN_UPPER] == have[COLUMN_END])
    return fail (table, error,
                 "the header must name id, lower, size and one of upper and end; this is no table "
                 "of lifetimes");
  return TRUE;
}

/* ---- rows */

static gboolean
parse_integer (const char *text, gsize length, gint64 *value)
{
  gsize i = length > 0 && text[0] == '-';
  guint64 number = 0;
  if (i == length)
    return FALSE;
  for (; i < length; i++)
    {
      if (!g_ascii_isdigit (text[i]) || number > (G_MAXINT64 - 9) / 10)
        return FALSE;
      number = number * 10 + (guint64) (text[i] - '0');
    }
  *value = text[0] == '-' ? -(gint64) number : (gint64) number;
  return TRUE;
}

/* Returns the name of a row; the table owns it. */
static const char *
take_name (Table *table, const char *field, gsize length, GError **error)
{
  g_autofree char *raw = g_strndup (field, length);
  g_autofree char *name = g_utf8_make_valid (raw, -1);
  const char *kept = name;

  if (length == 0)
    fail (table, error, "a buffer without id; give it one");
  else if (g_hash_table_contains (table->names, name))
    fail (table, error, "buffer \"%.40s\" is there twice; ids must differ", name);
  else
    {
      g_hash_table_add (table->names, g_steal_pointer (&name));
      return kept;
    }
  return NULL;
}

/* Parses the integer field @text of @column into @row. */
static gboolean
take_integer (const Table *table, Column column, const char *text, gsize length,
              GememMinimallocRow *row, GError **error)
{
  const gboolean time = column == COLUMN_LOWER || column == COLUMN_UPPER || column == COLUMN_END;
  gint64 value = 0;

  if (length == 0 && !time && column != COLUMN_SIZE)
    return TRUE;
  if (!parse_integer (text, length, &value))
    return fail (table, error, "\"%.*s\" is no integer of 64 bits; correct the row",
                 (int) MIN (length, 40), text);
  if (column == COLUMN_SIZE && (value < 0 || (guint64) value >= MAX_SIZE))
    return fail (table, error, "a size of %" G_GINT64_FORMAT " bytes; it must be from 0 to 2^60",
                 value);
  if (time && ABS (value) >= MAX_TIME)
    return fail (table, error, "a time of %" G_GINT64_FORMAT "; it must be within 2^60 steps of 0",
                 value);
  if (column == COLUMN_ALIGNMENT && (value < 0 || value > MAX_ALIGNMENT))
    return fail (table, error, "an alignment of %" G_GINT64_FORMAT "; it must be from 1 to 2^40",
                 value);
  if (column == COLUMN_LOWER)
    row->lower = value;
  else if (time)
    row->upper = value + (column == COLUMN_END);
  else if (column == COLUMN_SIZE)
    row->size = (guint64) value;
  else if (column == COLUMN_ALIGNMENT)
    row->alignment = value;
  else if (column == COLUMN_HINT)
    row->hint = value;
  else if (value < 0 || value >= MAX_OFFSET)
    return fail (table, error, "an offset of %" G_GINT64_FORMAT "; it must be from 0 to 2^62",
                 value);
  else
    {
      row->offset = value;
      row->has_offset = TRUE;
    }
  return TRUE;
}

/* Cuts the integer before @stop (or the end) off *@text; FALSE if there is none. */
static gboolean
cut_integer (const char **text, const char *end, char stop, gint64 *value)
{
  const gsize sign = *text < end && **text == '-';
  const char *at = *text + sign;

  while (at < end && g_ascii_isdigit (*at))
    at++;
  if (!parse_integer (*text, (gsize) (at - *text), value) || ABS (*value) >= MAX_TIME
      || (at < end ? *at != stop : stop != '\0'))
    return FALSE;
  *text = at + (at < end);
  return TRUE;
}

/* "3-5", "3-5@0:64" */
static gboolean
parse_gap (const Table *table, const char *text, gsize length, GememMinimallocGap *gap)
{
  const char *end = text + length, *at = memchr (text, '@', length);
  gint64 low = 0, high = 0;

  if (!cut_integer (&text, at != NULL ? at : end, '-', &gap->lower)
      || !cut_integer (&text, at != NULL ? at : end, '\0', &gap->upper))
    return FALSE;
  if (at != NULL
      && (text = at + 1, !cut_integer (&text, end, ':', &low)
                             || !cut_integer (&text, end, '\0', &high) || low < 0 || high < 0))
    return FALSE;
  gap->upper += table->have[COLUMN_END];
  gap->low = (guint64) low;
  gap->high = (guint64) high;
  return TRUE;
}

static gboolean
take_gaps (Table *table, const char *field, gsize length, GError **error)
{
  const char *end = field + length;

  for (const char *at = field, *stop; at < end; at = stop + 1)
    {
      GememMinimallocGap gap;

      stop = memchr (at, ' ', (gsize) (end - at));
      stop = stop != NULL ? stop : end;
      if (stop == at)
        continue;
      if (!parse_gap (table, at, (gsize) (stop - at), &gap))
        return fail (table, error,
                     "\"%.*s\" is no gap; write it as 3-5, or 3-5@0:64 for the bytes in use",
                     (int) MIN (stop - at, 40), at);
      g_array_append_val (table->gaps, gap);
    }
  return TRUE;
}

static gboolean
take_field (Table *table, Column column, const char *field, gsize length, GememMinimallocRow *row,
            GError **error)
{
  if (column == COLUMN_ID)
    return (row->name = take_name (table, field, length, error)) != NULL;
  if (column == COLUMN_GAPS)
    return take_gaps (table, field, length, error);
  return take_integer (table, column, field, length, row, error);
}

/* ---- rules between columns */

static gboolean
check_gap (const Table *table, const GememMinimallocRow *row, guint i, GError **error)
{
  const GememMinimallocGap *gap = &g_array_index (table->gaps, GememMinimallocGap, i);
  const gint64 from = i > 0 ? (gap - 1)->upper : row->lower;

  if (gap->lower >= gap->upper)
    return fail (table, error,
                 "buffer \"%.40s\": a gap from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                 ", which is no time; correct the row",
                 row->name, gap->lower, gap->upper);
  if (gap->lower < from || gap->upper > row->upper)
    return fail (table, error,
                 "buffer \"%.40s\": a gap from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                 ", which is not within its life %s; correct the row",
                 row->name, gap->lower, gap->upper, i > 0 ? "after the gap before" : "");
  if (gap->low > gap->high || gap->high > row->size)
    return fail (table, error,
                 "buffer \"%.40s\": bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                 " in use in a gap, but it has %" G_GUINT64_FORMAT "; correct the row",
                 row->name, gap->low, gap->high, row->size);
  return TRUE;
}

static int
compare_gaps (gconstpointer a, gconstpointer b)
{
  const GememMinimallocGap *x = a, *y = b;

  return x->lower < y->lower ? -1 : x->lower > y->lower;
}

static gboolean
check_row (const Table *table, const GememMinimallocRow *row, GError **error)
{
  if (row->lower >= row->upper)
    return fail (table, error,
                 "the buffer ends at %" G_GINT64_FORMAT ", not after its start at %" G_GINT64_FORMAT
                 "; correct the row",
                 row->upper, row->lower);
  g_array_sort (table->gaps, compare_gaps);
  for (guint i = 0; i < table->gaps->len; i++)
    if (!check_gap (table, row, i, error))
      return FALSE;
  return TRUE;
}

static gboolean
read_row (Table *table, const char *line, gsize size, GememMinimallocRow *row, GError **error)
{
  const char *at = line, *end = line + size;
  guint i;

  *row = (GememMinimallocRow){
    .alignment = table->have[COLUMN_ALIGNMENT], .hint = -1, .offset = -1, .gaps = table->gaps
  };
  g_array_set_size (table->gaps, 0);
  for (i = 0; at != NULL && i < table->n_columns; i++)
    {
      gsize length;
      const char *field = next_field (&at, end, &length);

      if (!take_field (table, table->kinds[i], field, length, row, error))
        return FALSE;
    }
  if (i < table->n_columns || at != NULL)
    return fail (table, error,
                 "the row has %s columns than the header; correct it or fetch the file again",
                 at != NULL ? "more" : "fewer");
  if (!check_row (table, row, error))
    return FALSE;
  if (table->n_rows++ == MAX_ROWS)
    return fail (table, error, "more than %u lifetimes, which must all be held; split the table",
                 MAX_ROWS);
  return TRUE;
}

static gboolean
read_rows (Table *table, GememMinimallocFunc func, gpointer data, guint64 *behind, GError **error)
{
  GememMinimallocRow row;
  gboolean ended = FALSE;
  const char *line;
  gsize length;
  int result;

  while ((result = gemem_input_line (table->input, MAX_LINE, &line, &length, error)) > 0)
    {
      const gboolean whole = gemem_input_offset (table->input)
                             > gemem_input_line_offset (table->input) + length;
      const gboolean header = table->n_columns == 0;

      ended |= length == 0;
      *behind += ended && length > 0;
      if (ended)
        continue;
      if (header && !read_header (table, line, length, error))
        return FALSE;
      if (!whole)
        return fail (table, error,
                     "the last line has no end; the table may be cut off, add the line end or "
                     "fetch it again");
      if (!header && !read_row (table, line, length, &row, error))
        return FALSE;
      if (!header)
        func (&row, data);
    }
  if (result == 0 && table->n_columns == 0)
    return fail (table, error, "the file is empty; name a table of lifetimes");
  return result == 0;
}

gboolean
gemem_minimalloc_read (GememInput *input, GememMinimallocFunc func, gpointer data, guint64 *behind,
                       GError **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GArray) gaps = g_array_new (FALSE, FALSE, sizeof (GememMinimallocGap));
  Table table = { .input = input, .names = names, .gaps = gaps };

  *behind = 0;
  return read_rows (&table, func, data, behind, error);
}

int
gemem_minimalloc_probe (const guint8 *head, gsize size)
{
  const char *at = (const char *) head, *end = memchr (head, '\n', size);
  gboolean have[N_COLUMNS + 1] = { FALSE };

  if (end == NULL)
    return 0;
  if (end > at && end[-1] == '\r')
    end--;
  while (at != NULL)
    {
      gsize length;
      const char *field = next_field (&at, end, &length);

      have[find_column (field, length)] = TRUE;
    }
  return have[COLUMN_ID] && have[COLUMN_LOWER] && have[COLUMN_SIZE] ? have[N_COLUMNS] ? 50 : 95 : 0;
}
