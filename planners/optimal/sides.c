/* sides.c - see sides.h. */
#include "config.h"

#include <string.h>

#include "planners/optimal/sides.h"

#define MAX_BOXES 2000
#define MAX_PAIRS 200000
#define NONE G_MAXUINT32

typedef enum
{
  OPEN,
  ABOVE, /* `other` lies above `one` */
  BELOW
} Side;

/* The boxes share bytes if the offset of `other` is above that of `one` less `down`, and below that plus `up`. */
typedef struct
{
  gint64 down, up;
  guint32 one, other;
  Side side;
  gboolean alike; /* they can change places: `other` lies above */
} Pair;

/* A value before a change. */
typedef struct
{
  gint64 was;
  guint32 index;
  enum
  {
    LOW,
    HIGH,
    SIDE
  } kind;
} Change;

typedef struct
{
  guint32 pair;
  guint mark;  /* length of the trail before */
  Side second; /* to be tried when the first fails; OPEN: it was */
} Frame;

struct _GememSides
{
  GememShapes *shapes;
  GArray *pairs;            /* Pair */
  guint32 *starts, *of_box; /* pairs by box: of_box[starts[b]] to below of_box[starts[b + 1]] */
  gint64 *low, *high;       /* by box: the lowest and the highest offset left */
  guint32 *queue;           /* boxes whose bounds changed, a ring */
  guint8 *queued;
  guint32 head, n_queue;
  GArray *trail, *frames; /* Change, Frame */
  guint64 steps;          /* used */
};

/* ---- pairs */

static int
compare_intervals (gconstpointer a, gconstpointer b)
{
  const Pair *x = a, *y = b;

  return x->down > y->down ? -1 : x->down < y->down;
}

/* TRUE if the boxes can change places in every placement. */
static gboolean
are_alike (const GememShapes *shapes, guint32 a, guint32 b)
{
  const GememBox *one = &shapes->boxes->boxes[a], *other = &shapes->boxes->boxes[b];
  const guint32 n = shapes->starts[a + 1] - shapes->starts[a];

  return one->size == other->size && one->unit == other->unit && shapes->places[a] < 0
         && shapes->places[b] < 0 && n == shapes->starts[b + 1] - shapes->starts[b]
         && memcmp (&shapes->pieces[shapes->starts[a]], &shapes->pieces[shapes->starts[b]],
                    n * sizeof (GememShapePiece))
                == 0;
}

/* Appends the differences at which boxes @a and @b share bytes, merged where nothing lies between. */
static void
add_pairs (GememSides *sides, guint32 a, guint32 b)
{
  const GememShapes *shapes = sides->shapes;
  const GememShapePiece *pieces = shapes->pieces;
  g_autoptr (GArray) found = g_array_new (FALSE, FALSE, sizeof (Pair));
  guint32 i = shapes->starts[a], k = shapes->starts[b];

  while (i < shapes->starts[a + 1] && k < shapes->starts[b + 1])
    {
      const Pair pair = {
        pieces[k].high - pieces[i].low, pieces[i].high - pieces[k].low, a, b, OPEN,
        are_alike (shapes, a, b)
      };

      if (pieces[i].first < pieces[k].last && pieces[k].first < pieces[i].last)
        g_array_append_val (found, pair);
      if (pieces[i].last < pieces[k].last)
        i++;
      else
        k++;
    }
  g_array_sort (found, compare_intervals);
  for (guint n = 0; n < found->len; n++)
    {
      const Pair *pair = &g_array_index (found, Pair, n);
      Pair *last = n > 0 ? &g_array_index (sides->pairs, Pair, sides->pairs->len - 1) : NULL;

      if (last != NULL && -pair->down < last->up)
        last->up = MAX (last->up, pair->up);
      else
        g_array_append_val (sides->pairs, *pair);
    }
}

static void
list_by_box (GememSides *sides)
{
  const guint32 n = sides->shapes->boxes->n;
  guint32 *starts = g_new0 (guint32, (gsize) n + 2);

  for (guint i = 0; i < sides->pairs->len; i++)
    {
      starts[g_array_index (sides->pairs, Pair, i).one + 2]++;
      starts[g_array_index (sides->pairs, Pair, i).other + 2]++;
    }
  for (guint32 b = 0; b < n; b++)
    starts[b + 2] += starts[b + 1];
  sides->of_box = g_new (guint32, 2 * (gsize) sides->pairs->len + 1);
  for (guint32 i = 0; i < sides->pairs->len; i++)
    {
      sides->of_box[starts[g_array_index (sides->pairs, Pair, i).one + 1]++] = i;
      sides->of_box[starts[g_array_index (sides->pairs, Pair, i).other + 1]++] = i;
    }
  sides->starts = starts;
}

GememSides *
gemem_sides_new (GememShapes *shapes)
{
  const guint32 n = shapes->boxes->n;
  GememSides *sides;

  if (n > MAX_BOXES)
    return NULL;
  sides = g_new0 (GememSides, 1);
  sides->shapes = shapes;
  sides->pairs = g_array_new (FALSE, FALSE, sizeof (Pair));
  sides->trail = g_array_new (FALSE, FALSE, sizeof (Change));
  sides->frames = g_array_new (FALSE, FALSE, sizeof (Frame));
  for (guint32 b = 0; b < n; b++)
    for (guint32 a = 0; a < b && sides->pairs->len <= MAX_PAIRS; a++)
      add_pairs (sides, a, b);
  if (sides->pairs->len > MAX_PAIRS)
    {
      gemem_sides_free (sides);
      return NULL;
    }
  list_by_box (sides);
  sides->low = g_new (gint64, (gsize) n + 1);
  sides->high = g_new (gint64, (gsize) n + 1);
  sides->queue = g_new (guint32, (gsize) n + 1);
  sides->queued = g_new0 (guint8, (gsize) n + 1);
  return sides;
}

void
gemem_sides_free (GememSides *sides)
{
  if (sides == NULL)
    return;
  g_array_unref (sides->pairs);
  g_array_unref (sides->trail);
  g_array_unref (sides->frames);
  g_free (sides->starts);
  g_free (sides->of_box);
  g_free (sides->low);
  g_free (sides->high);
  g_free (sides->queue);
  g_free (sides->queued);
  g_free (sides);
}

/* ---- changes */

static Pair *
pair_at (GememSides *sides, guint32 i)
{
  return &g_array_index (sides->pairs, Pair, i);
}

static void
enqueue (GememSides *sides, guint32 b)
{
  if (sides->queued[b])
    return;
  sides->queued[b] = TRUE;
  sides->queue[(sides->head + sides->n_queue++) % sides->shapes->boxes->n] = b;
}

/* Box @b lies at @low or above; FALSE if it cannot. */
static gboolean
raise_low (GememSides *sides, guint32 b, gint64 low)
{
  const Change change = { sides->low[b], b, LOW };

  if (low <= sides->low[b])
    return TRUE;
  g_array_append_val (sides->trail, change);
  sides->low[b] = gemem_box_align (low, sides->shapes->boxes->boxes[b].unit);
  enqueue (sides, b);
  return sides->low[b] <= sides->high[b];
}

static gboolean
lower_high (GememSides *sides, guint32 b, gint64 high)
{
  const Change change = { sides->high[b], b, HIGH };

  if (high >= sides->high[b])
    return TRUE;
  g_array_append_val (sides->trail, change);
  sides->high[b] = high;
  enqueue (sides, b);
  return sides->low[b] <= high;
}

static void
undo (GememSides *sides, guint mark)
{
  for (guint i = sides->trail->len; i-- > mark;)
    {
      const Change *change = &g_array_index (sides->trail, Change, i);

      if (change->kind == LOW)
        sides->low[change->index] = change->was;
      else if (change->kind == HIGH)
        sides->high[change->index] = change->was;
      else
        pair_at (sides, change->index)->side = OPEN;
    }
  g_array_set_size (sides->trail, mark);
  for (; sides->n_queue > 0; sides->n_queue--)
    {
      sides->queued[sides->queue[sides->head]] = FALSE;
      sides->head = (sides->head + 1) % sides->shapes->boxes->n;
    }
}

/* ---- what follows */

static void
decide (GememSides *sides, guint32 i, Side side)
{
  const Change change = { OPEN, i, SIDE };

  g_array_append_val (sides->trail, change);
  pair_at (sides, i)->side = side;
}

/* What follows for the boxes of pair @i; FALSE if neither side has slack. */
static gboolean
settle (GememSides *sides, guint32 i)
{
  const Pair *pair = pair_at (sides, i);
  const guint32 one = pair->one, other = pair->other;
  const gint64 *low = sides->low, *high = sides->high;

  if (pair->side == OPEN)
    {
      const gboolean above = low[one] + pair->up <= high[other],
                     below = low[other] + pair->down <= high[one];

      if (!above && !below)
        return FALSE;
      if (above && below)
        return TRUE;
      decide (sides, i, above ? ABOVE : BELOW);
    }
  if (pair->side == ABOVE)
    return raise_low (sides, other, low[one] + pair->up)
           && lower_high (sides, one, high[other] - pair->up);
  return raise_low (sides, one, low[other] + pair->down)
         && lower_high (sides, other, high[one] - pair->down);
}

static gboolean
follow (GememSides *sides)
{
  gboolean fits = TRUE;

  while (sides->n_queue > 0)
    {
      const guint32 b = sides->queue[sides->head];

      sides->head = (sides->head + 1) % sides->shapes->boxes->n;
      sides->n_queue--;
      sides->queued[b] = FALSE;
      for (guint32 p = sides->starts[b]; p < sides->starts[b + 1] && fits; p++, sides->steps++)
        fits = settle (sides, sides->of_box[p]);
    }
  return fits;
}

/* ---- the search */

static gboolean
begin (GememSides *sides, gint64 capacity)
{
  const GememShapes *shapes = sides->shapes;
  gboolean fits = TRUE;

  undo (sides, sides->trail->len); /* empties the queue */
  g_array_set_size (sides->trail, 0);
  g_array_set_size (sides->frames, 0);
  for (guint32 i = 0; i < sides->pairs->len; i++)
    pair_at (sides, i)->side = pair_at (sides, i)->alike ? ABOVE : OPEN;
  for (guint32 b = 0; b < shapes->boxes->n; b++)
    {
      sides->low[b] = MAX (shapes->places[b], 0);
      sides->high[b] = capacity - shapes->boxes->boxes[b].size;
      fits = fits && sides->low[b] <= sides->high[b];
      if (shapes->places[b] >= 0)
        sides->high[b] = MIN (sides->high[b], shapes->places[b]);
      enqueue (sides, b);
    }
  return follow (sides) && fits;
}

/* Of the pairs that share bytes at the lowest offsets, the one with the least slack left; NONE: no pair does. */
static guint32
next_pair (GememSides *sides)
{
  const gint64 *low = sides->low, *high = sides->high;
  gint64 least = G_MAXINT64;
  guint32 best = NONE;

  for (guint32 i = 0; i < sides->pairs->len; i++)
    {
      const Pair *pair = pair_at (sides, i);
      const gint64 difference = low[pair->other] - low[pair->one];

      if (pair->side != OPEN || difference <= -pair->down || difference >= pair->up)
        continue;
      const gint64 slack = MIN (high[pair->other] - low[pair->one] - pair->up,
                                high[pair->one] - low[pair->other] - pair->down);

      if (slack < least)
        {
          least = slack;
          best = i;
        }
    }
  sides->steps += sides->pairs->len;
  return best;
}

/* The side that lifts its box less. */
static Side
nearer_side (GememSides *sides, guint32 i)
{
  const Pair *pair = pair_at (sides, i);
  const gint64 difference = sides->low[pair->other] - sides->low[pair->one];

  return pair->up - difference <= pair->down + difference ? ABOVE : BELOW;
}

/* Goes back to the last decision with a side to be tried, and tries it; FALSE: there is none. */
static gboolean
go_back (GememSides *sides)
{
  while (sides->frames->len > 0)
    {
      Frame *frame = &g_array_index (sides->frames, Frame, sides->frames->len - 1);
      const Side side = frame->second;

      undo (sides, frame->mark);
      if (side == OPEN)
        {
          g_array_set_size (sides->frames, sides->frames->len - 1);
          continue;
        }
      frame->second = OPEN;
      decide (sides, frame->pair, side);
      if (settle (sides, frame->pair) && follow (sides))
        return TRUE;
    }
  return FALSE;
}

/* Decides pair @i; FALSE: all is tried. */
static gboolean
go_on (GememSides *sides, guint32 i)
{
  const Side side = nearer_side (sides, i);
  const Frame frame = { i, sides->trail->len, side == ABOVE ? BELOW : ABOVE };

  g_array_append_val (sides->frames, frame);
  decide (sides, i, side);
  if (settle (sides, i) && follow (sides))
    return TRUE;
  return go_back (sides);
}

GememCornerAnswer
gemem_sides_run (gpointer data, gint64 capacity, guint64 *steps, const GememStop *stop)
{
  GememSides *sides = data;
  const guint64 before = sides->steps;
  gboolean possible = begin (sides, capacity);
  GememCornerAnswer answer = GEMEM_CORNER_UNKNOWN;

  while (answer == GEMEM_CORNER_UNKNOWN && sides->steps - before < *steps
         && gemem_stop_reason (stop) == NULL)
    {
      const guint32 next = possible ? next_pair (sides) : NONE;

      answer = !possible      ? GEMEM_CORNER_NEVER
               : next == NONE ? GEMEM_CORNER_FITS
                              : GEMEM_CORNER_UNKNOWN;
      possible = next != NONE && go_on (sides, next);
    }
  for (guint32 b = 0; b < sides->shapes->boxes->n && answer == GEMEM_CORNER_FITS; b++)
    sides->shapes->boxes->boxes[b].offset = sides->low[b];
  *steps -= MIN (*steps, sides->steps - before);
  return answer;
}
