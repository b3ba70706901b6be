/* large.c - places the few boxes of a large part that matter first, and all others into what they leave free; see parts.h.
 *
 * Why: of many boxes some hundred or thousand take most of the area.  A dive of all of them is disturbed by the others,
 * and local search has a dive of all for each change; alone they are few enough for corner search and windows.  What is
 * small finds a place between them, but for a few boxes: these matter, too, and then all is placed anew.
 *
 * The largest are taken by area.  They are searched by themselves; then each of the others, the largest first, gets the lowest
 * place that is free.  What ends too far above the large ones is large from then on.  Many and few are taken in turn, as nobody knows
 * how many matter, each time with twice the steps.
 *
 * Invariants: the part's placement is never worse than before; the same steps give the same placement.
 * Cost: O(boxes alive with it) for each box to be filled in; 60 bytes a box, and 4 for each of CROWD cells that it lies in.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/optimal/dive.h"
#include "planners/optimal/parts.h"

#define ASK 1024        /* boxes, after which it asks whether to go on */
#define CROWD 4         /* cells that a box lies in, typically */
#define ROUNDS 8        /* in which boxes that did not fit in become large */
#define FIRST 20000000  /* steps of the first searches */
#define DIVE_STEPS 128  /* of each box, as in local.c */
#define LOOK_STEPS 4    /* of each box that lives when another is filled in */
#define ABOVE 8         /* what ends 1/2^ABOVE of the goal above the large ones did not fit in */
#define MOST_LARGE 4096 /* for corner search */

/* How many are large at first. */
static const guint32 counts[] = { 3072, 1024, 384 };

typedef struct
{
  gint64 low, high;
} Wall;

typedef struct
{
  GememPart *part;
  gint64 goal;
  GememEffort *effort;
  guint32 *by_area; /* places of all boxes */
  guint8 *large;    /* by place: a bit for each of `counts`: it is large then */
  gint64 *offsets;  /* by place: of the placement at hand */
  guint32 cell;     /* columns of a cell */
  GArray **cells;   /* guint32: places of the boxes in it that have an offset */
  guint32 n_cells;
  guint32 *seen; /* by place: the last box for which it was looked at */
  GArray *walls; /* Wall: what lives with that box */
} Filling;

static gboolean
is_over (const Filling *filling)
{
  return filling->part->top <= filling->goal || filling->effort->steps == 0
         || gemem_stop_reason (filling->effort->stop) != NULL;
}

/* ---- the large ones */

typedef struct
{
  double area;
  guint32 place;
} Sized;

static int
compare_sized (gconstpointer a, gconstpointer b)
{
  const Sized *x = a, *y = b;

  if (x->area != y->area)
    return x->area > y->area ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static void
sort_by_area (Filling *filling)
{
  const GememBoxes *boxes = &filling->part->boxes;
  g_autofree Sized *sized = g_new (Sized, (gsize) boxes->n + 1);

  for (guint32 i = 0; i < boxes->n; i++)
    sized[i] = (Sized){ (double) boxes->boxes[i].size * (double) boxes->boxes[i].life, i };
  qsort (sized, boxes->n, sizeof (Sized), compare_sized);
  for (guint32 i = 0; i < boxes->n; i++)
    filling->by_area[i] = sized[i].place;
}

/* The large boxes of count number @number, in their order, `item` is their place. */
static GememBoxes
take_large (const Filling *filling, guint number)
{
  const GememBoxes *all = &filling->part->boxes;
  GememBoxes large = { NULL, 0, all->columns };

  for (guint32 i = 0; i < all->n; i++)
    large.n += filling->large[i] >> number & 1;
  large.boxes = g_new (GememBox, (gsize) large.n + 1);
  large.n = 0;
  for (guint32 i = 0; i < all->n; i++)
    if (filling->large[i] >> number & 1)
      {
        large.boxes[large.n] = all->boxes[i];
        large.boxes[large.n++].item = i;
      }
  return large;
}

/* Places @large by dives and a search of @steps; their offsets go into those at hand.  Returns the top. */
static gint64
place_large (Filling *filling, GememBoxes large, guint64 steps)
{
  const GememStop *stop = filling->effort->stop;
  g_autoptr (GArray) parts = gemem_parts_new (large);
  const guint64 dives = (guint64) large.n * DIVE_STEPS * GEMEM_DIVE_KINDS;
  GememEffort own = { MIN (steps, filling->effort->steps), stop };
  const guint64 given = own.steps;

  gemem_parts_dive (parts, filling->goal, 0, GEMEM_DIVE_KINDS, stop);
  gemem_parts_search (parts, filling->goal, gemem_parts_top (parts), GEMEM_SEARCH_FEW, &own);
  filling->effort->steps -= MIN (filling->effort->steps, given - own.steps + dives);
  for (guint p = 0; p < parts->len; p++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, p);

      for (guint32 i = 0; i < part->boxes.n; i++)
        part->boxes.boxes[i].offset += part->base;
    }
  for (guint32 i = 0; i < large.n; i++)
    filling->offsets[large.boxes[i].item] = large.boxes[i].offset;
  return gemem_boxes_top (&large);
}

/* ---- the others */

/* Box number @i has its offset. */
static void
add_wall (Filling *filling, guint32 i)
{
  const GememBox *box = &filling->part->boxes.boxes[i];

  for (guint32 c = box->first / filling->cell; c <= (box->last - 1) / filling->cell; c++)
    {
      GArray *cell = filling->cells[c];
      guint low = 0, high = cell->len;

      while (low < high)
        {
          const guint middle = (low + high) / 2;

          if (filling->offsets[g_array_index (cell, guint32, middle)] <= filling->offsets[i])
            low = middle + 1;
          else
            high = middle;
        }
      g_array_insert_val (cell, low, i);
    }
}

static int
compare_walls (gconstpointer a, gconstpointer b)
{
  const Wall *x = a, *y = b;

  return x->low < y->low ? -1 : x->low > y->low;
}

/* Finds what has an offset and lives when box number @i does, from the bottom up. */
static void
find_walls (Filling *filling, guint32 i)
{
  const GememBox *boxes = filling->part->boxes.boxes, *box = &boxes[i];
  const guint32 first = box->first / filling->cell, last = (box->last - 1) / filling->cell;

  g_array_set_size (filling->walls, 0);
  for (guint32 c = first; c <= last; c++)
    {
      const GArray *cell = filling->cells[c];

      for (guint k = 0; k < cell->len; k++)
        {
          const guint32 other = g_array_index (cell, guint32, k);
          const gint64 low = filling->offsets[other];
          const Wall wall = { low, low + boxes[other].size };

          if (filling->seen[other] == i || boxes[other].last <= box->first
              || boxes[other].first >= box->last)
            continue;
          filling->seen[other] = i;
          g_array_append_val (filling->walls, wall);
        }
    }
  if (last > first)
    g_array_sort (filling->walls, compare_walls);
}

/* Puts box number @i at the lowest offset that is free. */
static void
fill_in (Filling *filling, guint32 i)
{
  const GememBox *box = &filling->part->boxes.boxes[i];
  gint64 offset = 0; /* a multiple of its unit */

  find_walls (filling, i);
  for (guint k = 0; k < filling->walls->len; k++)
    {
      const Wall *wall = &g_array_index (filling->walls, Wall, k);

      if (wall->low - offset >= box->size)
        break;
      offset = MAX (offset, gemem_box_align (wall->high, box->unit));
    }
  filling->offsets[i] = offset;
  filling->effort->steps -= MIN (filling->effort->steps,
                                 1 + (guint64) filling->walls->len * LOOK_STEPS);
}

/* Fills in all but the large boxes of count number @number, raising *@top.  What ends above @enough becomes large; returns how
 * many do.  FALSE in *@done: the steps were used up. */
static guint32
fill_others (Filling *filling, guint number, gint64 enough, gint64 *top, gboolean *done)
{
  const GememBoxes *boxes = &filling->part->boxes;
  guint32 above = 0;

  memset (filling->seen, 0xff, (gsize) boxes->n * sizeof (guint32));
  for (guint32 c = 0; c < filling->n_cells; c++)
    g_array_set_size (filling->cells[c], 0);
  for (guint32 i = 0; i < boxes->n; i++)
    if (filling->large[i] >> number & 1)
      add_wall (filling, i);
  *done = TRUE;
  for (guint32 k = 0; k < boxes->n && *done; k++)
    {
      const guint32 i = filling->by_area[k];

      *done = k % ASK > 0 || !is_over (filling);
      if (filling->large[i] >> number & 1)
        continue;
      fill_in (filling, i);
      add_wall (filling, i);
      const gint64 end = filling->offsets[i] + boxes->boxes[i].size;
      *top = MAX (*top, end);
      above += end > enough;
      filling->large[i] |= (guint8) ((end > enough) << number);
    }
  return above;
}

/* ---- in turn */

static void
keep (Filling *filling, gint64 top)
{
  GememPart *part = filling->part;

  for (guint32 i = 0; i < part->boxes.n; i++)
    part->boxes.boxes[i].offset = filling->offsets[i];
  part->top = top;
  part->stage = GEMEM_STAGE_LARGE;
}

/* One placement; TRUE: another one with what has become large may do better. */
static gboolean
place_once (Filling *filling, guint number, guint64 steps)
{
  const GememBoxes large = take_large (filling, number);
  gint64 top = place_large (filling, large, steps);
  const gint64 enough = MAX (top, filling->goal) + (filling->goal >> ABOVE);
  gboolean done = top < filling->part->top;
  const guint32 above = done ? fill_others (filling, number, enough, &top, &done) : 0;

  if (done && top < filling->part->top)
    keep (filling, top);
  g_free (large.boxes);
  return above > 0 && large.n + above <= MOST_LARGE;
}

static void
begin (Filling *filling)
{
  const GememBoxes *boxes = &filling->part->boxes;
  guint64 columns = 0; /* of all boxes */

  filling->by_area = g_new (guint32, (gsize) boxes->n + 1);
  filling->large = g_new0 (guint8, (gsize) boxes->n + 1);
  filling->offsets = g_new (gint64, (gsize) boxes->n + 1);
  filling->seen = g_new (guint32, (gsize) boxes->n + 1);
  filling->walls = g_array_new (FALSE, FALSE, sizeof (Wall));
  for (guint32 i = 0; i < boxes->n; i++)
    columns += boxes->boxes[i].last - boxes->boxes[i].first;
  filling->cell = (guint32) MIN (1 + columns / CROWD / boxes->n, boxes->columns);
  filling->n_cells = (boxes->columns - 1) / filling->cell + 1;
  filling->cells = g_new (GArray *, filling->n_cells);
  for (guint32 c = 0; c < filling->n_cells; c++)
    filling->cells[c] = g_array_new (FALSE, FALSE, sizeof (guint32));
  sort_by_area (filling);
  for (guint number = 0; number < G_N_ELEMENTS (counts); number++)
    for (guint32 k = 0; k < MIN (counts[number], boxes->n); k++)
      filling->large[filling->by_area[k]] |= (guint8) (1 << number);
}

static void
end (Filling *filling)
{
  for (guint32 c = 0; c < filling->n_cells; c++)
    g_array_unref (filling->cells[c]);
  g_free (filling->cells);
  g_free (filling->by_area);
  g_free (filling->large);
  g_free (filling->offsets);
  g_free (filling->seen);
  g_array_unref (filling->walls);
}

void
gemem_part_fill (GememPart *part, gint64 goal, GememEffort *effort)
{
  Filling filling = { .part = part, .goal = goal, .effort = effort };

  if (part->boxes.n <= GEMEM_LARGE_BOXES || is_over (&filling))
    return;
  begin (&filling);
  for (guint64 steps = FIRST; !is_over (&filling); steps *= 2)
    for (guint number = 0; number < G_N_ELEMENTS (counts); number++)
      for (guint round = 0; counts[number] < part->boxes.n && round < ROUNDS && !is_over (&filling);
           round++)
        if (!place_once (&filling, number, steps))
          break;
  end (&filling);
}
