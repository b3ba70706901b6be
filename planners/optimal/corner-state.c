/* corner-state.c - changes of a corner search's state, what follows from them, and how they are
 * taken back; see corner-state.h. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "planners/optimal/corner-state.h"

static void
list_members (GememCornerState *state)
{
  const GememBoxes *boxes = state->boxes;
  guint32 *starts = g_new0 (guint32, (gsize) boxes->columns + 2);
  guint32 cells = 0;

  for (guint32 b = 0; b < boxes->n; b++)
    for (guint32 c = boxes->boxes[b].first; c < boxes->boxes[b].last; c++)
      starts[c + 2]++;
  for (guint32 c = 0; c <= boxes->columns; c++)
    starts[c + 1] += starts[c];
  const guint32 n = starts[boxes->columns + 1];
  state->members = g_new (guint32, (gsize) n + 1);
  state->places = g_new (guint32, (gsize) n + 1);
  state->cells = g_new (guint32, (gsize) boxes->n + 1);
  for (guint32 b = 0; b < boxes->n; b++)
    {
      state->cells[b] = cells;
      for (guint32 c = boxes->boxes[b].first; c < boxes->boxes[b].last; c++)
        {
          state->places[cells++] = starts[c + 1];
          state->members[starts[c + 1]++] = b;
        }
    }
  state->starts = starts;
}

void
gemem_corner_state_init (GememCornerState *state, const GememBoxes *boxes, const GememWalls *walls)
{
  const gsize columns = (gsize) boxes->columns + 1;
  GememRng rng;

  *state = (GememCornerState){ .boxes = boxes, .walls = walls };
  state->columns = g_new0 (GememCornerColumn, columns);
  state->states = g_new0 (GememCornerBox, (gsize) boxes->n + 1);
  state->keys = g_malloc_n ((gsize) boxes->n + 1, sizeof (*state->keys));
  gemem_rng_init (&rng, 1, "corner");
  for (guint32 b = 0; b < boxes->n; b++)
    for (guint k = 0; k < 2; k++)
      state->keys[b][k] = gemem_rng_next (&rng);
  state->cuts = g_new0 (guint32, columns);
  state->queue = g_new (guint32, columns);
  state->queued = g_new0 (guint8, columns);
  state->old_columns = g_array_new (FALSE, FALSE, sizeof (GememCornerOldColumn));
  state->old_boxes = g_array_new (FALSE, FALSE, sizeof (GememCornerOldBox));
  list_members (state);
}

void
gemem_corner_state_clear (GememCornerState *state)
{
  g_free (state->columns);
  g_free (state->states);
  g_free (state->keys);
  g_free (state->starts);
  g_free (state->members);
  g_free (state->places);
  g_free (state->cells);
  g_free (state->cuts);
  g_free (state->queue);
  g_free (state->queued);
  g_array_unref (state->old_columns);
  g_array_unref (state->old_boxes);
}

/* ---- the trail */

static GememCornerColumn *
change_column (GememCornerState *state, guint32 c)
{
  GememCornerColumn *column = &state->columns[c];

  if (column->stamp != state->stamp)
    {
      const GememCornerOldColumn old = { *column, c };

      g_array_append_val (state->old_columns, old);
      column->stamp = state->stamp;
    }
  return column;
}

static void
remember_box (GememCornerState *state, guint32 b, gboolean placed)
{
  const GememCornerOldBox old = { state->states[b].low, b, placed };

  g_array_append_val (state->old_boxes, old);
}

static void
cross (GememCornerState *state, guint32 b, guint32 change)
{
  for (guint32 c = state->boxes->boxes[b].first + 1; c < state->boxes->boxes[b].last; c++)
    state->cuts[c] += change;
}

GememCornerMark
gemem_corner_mark (const GememCornerState *state)
{
  return (GememCornerMark){ state->old_columns->len, state->old_boxes->len };
}

void
gemem_corner_undo (GememCornerState *state, GememCornerMark mark)
{
  for (gsize i = state->old_columns->len; i-- > mark.columns;)
    {
      const GememCornerOldColumn *old = &g_array_index (state->old_columns, GememCornerOldColumn,
                                                        i);
      state->columns[old->column] = old->was;
    }
  for (gsize i = state->old_boxes->len; i-- > mark.boxes;)
    {
      const GememCornerOldBox *old = &g_array_index (state->old_boxes, GememCornerOldBox, i);

      if (old->placed)
        {
          state->states[old->box].placed = FALSE;
          cross (state, old->box, 1);
        }
      state->states[old->box].low = old->low;
    }
  g_array_set_size (state->old_columns, (guint) mark.columns);
  g_array_set_size (state->old_boxes, (guint) mark.boxes);
}

/* ---- what follows */

static void
enqueue (GememCornerState *state, guint32 c)
{
  if (state->queued[c])
    return;
  state->queued[c] = TRUE;
  state->queue[(state->head + state->n_queue++) % (state->boxes->columns + 1)] = c;
}

static void
enqueue_box (GememCornerState *state, guint32 b)
{
  for (guint32 c = state->boxes->boxes[b].first; c < state->boxes->boxes[b].last; c++)
    enqueue (state, c);
}

/* The lowest offset from @low on at which box @b shares no bytes with a wall. */
static gint64
lowest_free (GememCornerState *state, guint32 b, gint64 low)
{
  if (state->walls == NULL)
    return low;
  const GememBox *box = &state->boxes->boxes[b];

  state->steps += box->last - box->first;
  return gemem_walls_lowest (state->walls, box, low);
}

/* No box of the column lies below its floor, and one of them can lie on it. */
static gboolean
settle (GememCornerState *state, guint32 c)
{
  const gint64 floor = state->columns[c].floor;
  const guint32 end = gemem_corner_end (state, c);
  gint64 lowest = G_MAXINT64;
  guint32 ready = 0;

  for (guint32 m = state->starts[c]; m < end; m++)
    {
      const guint32 b = state->members[m];
      GememCornerBox *box = &state->states[b];

      if (box->low < floor)
        {
          remember_box (state, b, FALSE);
          box->low = lowest_free (state, b, floor);
          if (box->low + state->boxes->boxes[b].size > state->capacity)
            return FALSE;
          enqueue_box (state, b);
        }
      if (box->low < lowest)
        {
          lowest = box->low;
          ready = 0;
        }
      ready += box->low == lowest;
    }
  state->steps += end - state->starts[c] + 1;
  GememCornerColumn *column = change_column (state, c);
  column->floor = column->open > 0 ? lowest : state->capacity;
  column->ready = ready;
  if (state->walls != NULL)
    column->walled = gemem_walls_above (state->walls, c, column->floor);
  return gemem_corner_slack (state, c) >= 0;
}

static gboolean
follow (GememCornerState *state)
{
  gboolean fits = TRUE;

  while (state->n_queue > 0)
    {
      const guint32 c = state->queue[state->head];

      state->head = state->head < state->boxes->columns ? state->head + 1 : 0;
      state->n_queue--;
      state->queued[c] = FALSE;
      fits = fits && settle (state, c);
    }
  return fits;
}

gboolean
gemem_corner_begin (GememCornerState *state, gint64 capacity)
{
  const GememBoxes *boxes = state->boxes;

  state->capacity = capacity;
  state->stamp++;
  memset (state->columns, 0, sizeof (GememCornerColumn) * boxes->columns);
  memset (state->cuts, 0, sizeof (guint32) * boxes->columns);
  g_array_set_size (state->old_columns, 0);
  g_array_set_size (state->old_boxes, 0);
  for (guint32 b = 0; b < boxes->n; b++)
    {
      const GememBox *box = &boxes->boxes[b];

      state->states[b] = (GememCornerBox){ lowest_free (state, b, 0), 0, FALSE };
      for (guint k = 0; k < 2; k++)
        state->columns[box->first].set[k] ^= state->keys[b][k];
      for (guint32 c = box->first; c < box->last; c++)
        {
          state->columns[c].rest += box->size;
          state->columns[c].open++;
        }
      cross (state, b, 1);
      if (state->states[b].low + box->size > capacity)
        return FALSE;
    }
  for (guint32 c = 0; c < boxes->columns; c++)
    enqueue (state, c);
  return follow (state);
}

/* Puts @b behind the boxes of @column that are to be placed. */
static void
leave (GememCornerState *state, guint32 b, guint32 column)
{
  guint32 *place = &state->places[state->cells[b] + column - state->boxes->boxes[b].first];
  const guint32 last = gemem_corner_end (state, column) - 1, moved = state->members[last];

  state->members[*place] = moved;
  state->places[state->cells[moved] + column - state->boxes->boxes[moved].first] = *place;
  state->members[last] = b;
  *place = last;
}

gboolean
gemem_corner_place (GememCornerState *state, guint32 b)
{
  const GememBox *box = &state->boxes->boxes[b];
  GememCornerBox *own = &state->states[b];

  state->stamp++;
  remember_box (state, b, TRUE);
  own->placed = TRUE;
  own->offset = own->low;
  cross (state, b, (guint32) -1);
  for (guint32 c = box->first; c < box->last; c++)
    {
      GememCornerColumn *column = change_column (state, c);

      column->floor = own->low + box->size;
      column->rest -= box->size;
      leave (state, b, c);
      column->open--;
      for (guint k = 0; k < 2 && c == box->first; k++)
        column->set[k] ^= state->keys[b][k];
      enqueue (state, c);
    }
  return follow (state);
}

gboolean
gemem_corner_lift (GememCornerState *state, guint32 c, gint64 floor)
{
  state->stamp++;
  change_column (state, c)->floor = floor;
  enqueue (state, c);
  return follow (state);
}
