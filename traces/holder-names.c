/* holder-names.c - see holder-names.h. */
#include "config.h"

#include <string.h>

#include "traces/holder-names.h"
#include "traces/origin.h"

/* Which frames of a stack are compared, one after the other. */
typedef enum
{
  PROGRAM, /* callers that are lines of the program */
  CALLERS, /* all callers */
  CALLED,  /* what the line called, from the line inwards */
  N_SIDES
} Side;

typedef struct
{
  GememHolder *holder;
  GArray *frames[N_SIDES]; /* guint32, from the line on */
} Row;

/* Where rows are compared. */
typedef struct
{
  Side side;
  guint at;
} Place;

static void
row_clear (gpointer data)
{
  Row *row = data;

  for (guint i = 0; i < N_SIDES; i++)
    g_array_unref (row->frames[i]);
}

static Row
row_of (const GememTraceInfo *info, GememHolder *holder)
{
  const guint32 *frames = (const guint32 *) holder->frames->data;
  const guint n = holder->frames->len;
  const guint32 line = gemem_origin_choose (info, frames, n);
  Row row = { .holder = holder };
  guint at = 0;

  for (guint i = 0; i < N_SIDES; i++)
    row.frames[i] = g_array_new (FALSE, FALSE, sizeof (guint32));
  while (at < n && frames[at] != line)
    at++;
  for (guint i = at + 1; i < n; i++)
    {
      g_array_append_val (row.frames[CALLERS], frames[i]);
      if (gemem_frame_is_program (info, gemem_call_stacks_get_frame (info->stacks, frames[i])))
        g_array_append_val (row.frames[PROGRAM], frames[i]);
    }
  for (guint i = at; i-- > 0;)
    g_array_append_val (row.frames[CALLED], frames[i]);
  return row;
}

/* 0: the stack ends before. */
static guint32
frame_at (const Row *row, const Place *place)
{
  const GArray *frames = row->frames[place->side];

  return place->at < frames->len ? g_array_index (frames, guint32, place->at) : 0;
}

static int
compare_frames (gconstpointer a, gconstpointer b, gpointer place)
{
  const guint32 x = frame_at (a, place), y = frame_at (b, place);

  return (x > y) - (x < y);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (((const Row *) a)->holder->name, ((const Row *) b)->holder->name);
}

/* Moves @place on to where not all of @rows have the same frame; FALSE: there is no such place. */
static gboolean
find_difference (const Row *rows, guint n, Place *place)
{
  for (; place->side < N_SIDES; place->side++, place->at = 0)
    for (gboolean any = TRUE; any; place->at += any)
      {
        any = FALSE;
        for (guint i = 0; i < n; i++)
          {
            if (frame_at (&rows[i], place) != frame_at (&rows[0], place))
              return TRUE;
            any |= frame_at (&rows[i], place) != 0;
          }
      }
  return FALSE;
}

static void
extend_name (const GememTraceInfo *info, const Row *row, const Place *place)
{
  const guint32 frame = frame_at (row, place);
  GString *name;

  if (frame == 0)
    return;
  name = g_string_new (row->holder->name);
  g_string_append (name, place->side == CALLED ? ", in " : ", called from ");
  gemem_frame_append (name, info, gemem_call_stacks_get_frame (info->stacks, frame));
  g_free (row->holder->name);
  row->holder->name = g_string_free (name, FALSE);
}

/* Extends the names of the @n @rows, which are equal, at @place or after it. */
static void
tell_apart (const GememTraceInfo *info, Row *rows, guint n, Place place)
{
  if (n < 2 || !find_difference (rows, n, &place))
    return;
  g_qsort_with_data (rows, (gint) n, sizeof *rows, compare_frames, &place);
  for (guint begin = 0, end; begin < n; begin = end)
    {
      for (end = begin; end < n && compare_frames (&rows[begin], &rows[end], &place) == 0; end++)
        extend_name (info, &rows[end], &place);
      tell_apart (info, rows + begin, end - begin, (Place){ place.side, place.at + 1 });
    }
}

void
gemem_holders_tell_apart (const GememTraceInfo *info, const GPtrArray *holders)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (Row));

  g_array_set_clear_func (rows, row_clear);
  for (guint i = 0; i < holders->len; i++)
    if (((GememHolder *) holders->pdata[i])->frames->len > 0)
      {
        const Row row = row_of (info, holders->pdata[i]);
        g_array_append_val (rows, row);
      }
  g_array_sort (rows, compare_names);
  for (guint begin = 0, end; begin < rows->len; begin = end)
    {
      Row *first = &g_array_index (rows, Row, begin);

      for (end = begin;
           end < rows->len && compare_names (first, &g_array_index (rows, Row, end)) == 0;)
        end++;
      tell_apart (info, first, end - begin, (Place){ PROGRAM, 0 });
    }
}
