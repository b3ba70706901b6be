/* minimalloc-csv.c - lifetimes of buffers as MiniMalloc and others write them: format `minimalloc-csv`.
 *
 *   id,lower,upper,size
 *   b1,0,3,4
 *
 * Columns come in any order: id (buffer, buffer_id), lower (start, begin), upper or end, size, and optionally alignment, hint, gaps,
 * offset.  Intervals are half-open, except that `end` is the last moment itself.  A blank line ends the table.
 *
 * What is delivered: ALLOC at `lower` and FREE at `upper`, in order of time; at the same moment frees come first, each in the order of the
 * file.  Ids are row numbers from 1, names are tags.  Time is logical: one step is one ns, the first event is at 0.
 * Gaps, hints, offsets and alignments have no place in an event; they are left out and noted.
 *
 * Memory: an offline format, all lifetimes are held (at most 2^24).  Origin: peers.md 2.4.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/error.h"
#include "traces/input.h"
#include "traces/trace.h"

#define BATCH 1024u
#define MAX_LINE ((gsize) 1 << 20)
#define MAX_ROWS (1u << 24)
#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)
#define MAX_TIME (G_GINT64_CONSTANT (1) << 60)

extern const GememTraceFormat gemem_format_minimalloc_csv;

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
  Column      column;
} columns[] = {
  { "id", COLUMN_ID },         { "buffer", COLUMN_ID },           { "buffer_id", COLUMN_ID }, { "lower", COLUMN_LOWER },
  { "start", COLUMN_LOWER },   { "begin", COLUMN_LOWER },         { "upper", COLUMN_UPPER },  { "end", COLUMN_END },
  { "size", COLUMN_SIZE },     { "alignment", COLUMN_ALIGNMENT }, { "hint", COLUMN_HINT },    { "gaps", COLUMN_GAPS },
  { "offset", COLUMN_OFFSET },
};

typedef struct
{
  gint64  lower, upper;
  guint64 size;
  guint32 tag;
} Lifetime;

/* One end of a lifetime. */
typedef struct
{
  gint64   time;
  guint32  row;
  gboolean begin;
} Edge;

typedef struct
{
  GememTraceReader reader;
  GememInput      *input;
  guint            kinds[N_COLUMNS]; /* Column of each column of the file */
  guint            n_columns;
  guint64          noted[N_COLUMNS]; /* rows with something that is left out */
  GHashTable      *names;
  GArray          *lifetimes;
  Edge            *edges;
  gsize            n_edges, at;
  GememTraceEvent  batch[BATCH];
} Minimalloc;

static gboolean G_GNUC_PRINTF (3, 4)
fail (const Minimalloc *minimalloc, GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *raw = g_strdup_vprintf (format, arguments);
  g_autofree char *text = g_strescape (raw, "\"\\"); /* what it quotes may be any bytes */
  va_end (arguments);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s:%" G_GUINT64_FORMAT ": %s", gemem_input_name (minimalloc->input),
               MAX (gemem_input_line_number (minimalloc->input), 1), text);
  return FALSE;
}

/* ---- the header */

/* Column of the name at @text, N_COLUMNS if there is none. */
static Column
find_column (const char *text, gsize length)
{
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    if (strlen (columns[i].name) == length && memcmp (columns[i].name, text, length) == 0)
      return columns[i].column;
  return N_COLUMNS;
}

/* The field at *@at up to a comma or @end, without blanks around it. */
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
read_header (Minimalloc *minimalloc, const char *line, gsize size, GError **error)
{
  const char *at = line, *end = line + size;
  gboolean have[N_COLUMNS + 1] = { FALSE };

  while (at != NULL)
    {
      gsize length;
      const char *field = next_field (&at, end, &length);
      Column column = find_column (field, length);
      if (column == N_COLUMNS)
        return fail (minimalloc, error,
                     "column \"%.*s\" is not known; known are id, lower, upper (or end), size, alignment, hint, gaps, offset",
                     (int) MIN (length, 40), field);
      if (have[column])
        return fail (minimalloc, error, "column \"%.*s\" is there twice; remove one", (int) length, field);
      have[column] = TRUE;
      minimalloc->kinds[minimalloc->n_columns++] = column;
    }
  if (!have[COLUMN_ID] || !have[COLUMN_LOWER] || !have[COLUMN_SIZE] || have[COLUMN_UPPER] == have[COLUMN_END])
    return fail (minimalloc, error, "the header must name id, lower, size and one of upper and end; this is no table of lifetimes");
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

static gboolean
take_name (Minimalloc *minimalloc, const char *field, gsize length, Lifetime *lifetime, GError **error)
{
  g_autofree char *raw = g_strndup (field, length);
  g_autofree char *name = g_utf8_make_valid (raw, -1);

  if (length == 0)
    return fail (minimalloc, error, "a buffer without id; give it one");
  if (!g_hash_table_add (minimalloc->names, g_strdup (name)))
    return fail (minimalloc, error, "buffer \"%.40s\" is there twice; ids must differ", name);
  lifetime->tag = gemem_trace_info_intern (&minimalloc->reader.info, name);
  return TRUE;
}

/* One field of a row into @lifetime. */
static gboolean
take_field (Minimalloc *minimalloc, Column column, const char *field, gsize length, Lifetime *lifetime, GError **error)
{
  gint64 value = 0;

  switch (column)
    {
    case COLUMN_ID:
      return take_name (minimalloc, field, length, lifetime, error);
    case COLUMN_GAPS:
      minimalloc->noted[column] += length > 0;
      return TRUE;
    case COLUMN_LOWER:
    case COLUMN_UPPER:
    case COLUMN_END:
    case COLUMN_SIZE:
    case COLUMN_ALIGNMENT:
    case COLUMN_HINT:
    case COLUMN_OFFSET:
    case N_COLUMNS:
    default:
      break;
    }
  gboolean optional = column != COLUMN_LOWER && column != COLUMN_UPPER && column != COLUMN_END && column != COLUMN_SIZE;
  if (optional && length == 0)
    return TRUE;
  if (!parse_integer (field, length, &value))
    return fail (minimalloc, error, "\"%.*s\" is no integer of 64 bits; correct the row", (int) MIN (length, 40), field);
  if (column == COLUMN_SIZE && (value < 0 || (guint64) value >= MAX_SIZE))
    return fail (minimalloc, error, "a size of %" G_GINT64_FORMAT " bytes; it must be from 0 to 2^60", value);
  if (!optional && column != COLUMN_SIZE && ABS (value) >= MAX_TIME)
    return fail (minimalloc, error, "a time of %" G_GINT64_FORMAT "; it must be within 2^60 steps of 0", value);
  if (column == COLUMN_LOWER)
    lifetime->lower = value;
  else if (column == COLUMN_SIZE)
    lifetime->size = (guint64) value;
  else if (column == COLUMN_UPPER || column == COLUMN_END)
    lifetime->upper = value + (column == COLUMN_END);
  else
    minimalloc->noted[column] += column == COLUMN_ALIGNMENT ? value > 1 : column == COLUMN_HINT ? value >= 0 : 1;
  return TRUE;
}

static gboolean
read_row (Minimalloc *minimalloc, const char *line, gsize size, GError **error)
{
  const char *at = line, *end = line + size;
  Lifetime lifetime = { 0 };
  guint i;

  for (i = 0; at != NULL && i < minimalloc->n_columns; i++)
    {
      gsize length;
      const char *field = next_field (&at, end, &length);
      if (!take_field (minimalloc, minimalloc->kinds[i], field, length, &lifetime, error))
        return FALSE;
    }
  if (i < minimalloc->n_columns || at != NULL)
    return fail (minimalloc, error, "the row has %s columns than the header; correct it or fetch the file again",
                 at != NULL ? "more" : "fewer");
  if (lifetime.lower >= lifetime.upper)
    return fail (minimalloc, error, "the buffer ends at %" G_GINT64_FORMAT ", not after its start at %" G_GINT64_FORMAT "; correct the row",
                 lifetime.upper, lifetime.lower);
  if (minimalloc->lifetimes->len == MAX_ROWS)
    return fail (minimalloc, error, "more than %u lifetimes, which must all be held; split the table", MAX_ROWS);
  g_array_append_val (minimalloc->lifetimes, lifetime);
  return TRUE;
}

static gboolean
read_table (Minimalloc *minimalloc, GError **error)
{
  const char *line;
  gsize length;
  gboolean ended = FALSE;
  guint64 behind = 0;
  int result;

  while ((result = gemem_input_line (minimalloc->input, MAX_LINE, &line, &length, error)) > 0)
    {
      gboolean whole = gemem_input_offset (minimalloc->input) > gemem_input_line_offset (minimalloc->input) + length;
      ended |= length == 0;
      behind += ended && length > 0;
      if (ended)
        continue;
      if (minimalloc->n_columns == 0 ? !read_header (minimalloc, line, length, error)
                                     : whole && !read_row (minimalloc, line, length, error))
        return FALSE;
      if (!whole)
        return fail (minimalloc, error, "the last line has no end; the table may be cut off, add the line end or fetch it again");
    }
  if (result == 0 && minimalloc->n_columns == 0)
    return fail (minimalloc, error, "the file is empty; name a table of lifetimes");
  if (behind > 0)
    gemem_trace_info_note (&minimalloc->reader.info, "note", "%" G_GUINT64_FORMAT " lines behind the blank line are left out", behind);
  return result == 0;
}

/* ---- order */

static int
compare_edges (const void *a, const void *b)
{
  const Edge *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin ? 1 : -1;
  return (x->row > y->row) - (x->row < y->row);
}

static void
make_edges (Minimalloc *minimalloc)
{
  guint n = minimalloc->lifetimes->len;

  minimalloc->n_edges = 2 * (gsize) n;
  minimalloc->edges = g_new (Edge, MAX (minimalloc->n_edges, 1));
  for (guint i = 0; i < n; i++)
    {
      const Lifetime *lifetime = &g_array_index (minimalloc->lifetimes, Lifetime, i);
      minimalloc->edges[2 * i] = (Edge) { lifetime->lower, i, TRUE };
      minimalloc->edges[2 * i + 1] = (Edge) { lifetime->upper, i, FALSE };
    }
  qsort (minimalloc->edges, minimalloc->n_edges, sizeof (Edge), compare_edges);
}

static void
add_notes (Minimalloc *minimalloc)
{
  static const struct
  {
    Column      column;
    const char *what;
  } left_out[] = {
    { COLUMN_ALIGNMENT, "alignment above 1" },
    { COLUMN_HINT, "a hint" },
    { COLUMN_GAPS, "gaps (taken as in use)" },
    { COLUMN_OFFSET, "an offset" },
  };
  GememTraceInfo *info = &minimalloc->reader.info;

  gemem_trace_info_note (info, "time", "logical, one step is 1 ns");
  for (guint i = 0; i < G_N_ELEMENTS (left_out); i++)
    if (minimalloc->noted[left_out[i].column] > 0)
      gemem_trace_info_note (info, "note", "%" G_GUINT64_FORMAT " buffers have %s, which is left out",
                             minimalloc->noted[left_out[i].column], left_out[i].what);
}

/* ---- reader */

static gssize
minimalloc_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  Minimalloc *minimalloc = (Minimalloc *) reader;
  guint n = 0;
  (void) error;

  for (; n < BATCH && minimalloc->at < minimalloc->n_edges; n++, minimalloc->at++)
    {
      const Edge *edge = &minimalloc->edges[minimalloc->at];
      const Lifetime *lifetime = &g_array_index (minimalloc->lifetimes, Lifetime, edge->row);
      GememTraceEvent *event = &minimalloc->batch[n];
      memset (event, 0, sizeof *event);
      event->time = (guint64) (edge->time - minimalloc->edges[0].time);
      event->id = (guint64) edge->row + 1;
      event->size = lifetime->size;
      event->kind = edge->begin ? GEMEM_EVENT_ALLOC : GEMEM_EVENT_FREE;
      event->tag = edge->begin ? lifetime->tag : GEMEM_NO_TAG;
    }
  *events = minimalloc->batch;
  return n;
}

static void
minimalloc_close (GememTraceReader *reader)
{
  Minimalloc *minimalloc = (Minimalloc *) reader;
  gemem_trace_info_clear (&reader->info);
  gemem_input_close (minimalloc->input);
  g_hash_table_unref (minimalloc->names);
  g_array_unref (minimalloc->lifetimes);
  g_free (minimalloc->edges);
  g_free (minimalloc);
}

static GememTraceReader *
minimalloc_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  Minimalloc *minimalloc = g_new0 (Minimalloc, 1);
  GememTraceInfo *info = &minimalloc->reader.info;
  g_autoptr (GError) damage = NULL;

  gemem_input_set_single_pass (input);
  minimalloc->reader.format = &gemem_format_minimalloc_csv;
  minimalloc->reader.next = minimalloc_next;
  minimalloc->reader.close = minimalloc_close;
  minimalloc->input = input;
  minimalloc->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  minimalloc->lifetimes = g_array_new (FALSE, FALSE, sizeof (Lifetime));
  gemem_trace_info_init (info, "minimalloc-csv", gemem_input_name (input));
  if (!read_table (minimalloc, &damage))
    {
      if (!options->allow_partial || minimalloc->lifetimes->len == 0)
        {
          g_propagate_error (error, g_steal_pointer (&damage));
          minimalloc_close (&minimalloc->reader);
          return NULL;
        }
      info->flags |= GEMEM_TRACE_TRUNCATED;
      gemem_trace_info_note (info, "partial", "%s", damage->message);
    }
  make_edges (minimalloc);
  add_notes (minimalloc);
  info->flags |= GEMEM_TRACE_HAS_TIME;
  info->events = minimalloc->n_edges;
  return &minimalloc->reader;
}

static int
probe (const guint8 *head, gsize size)
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

const GememTraceFormat gemem_format_minimalloc_csv = {
  .name = "minimalloc-csv",
  .aliases = "minimalloc",
  .extensions = "csv",
  .summary = "lifetimes of buffers for offline planning (MiniMalloc)",
  .origin = "peers.md 2.4",
  .probe = probe,
  .open = minimalloc_open,
};
