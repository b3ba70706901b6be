/* window.c - window search: takes a few boxes that lie near one another in time and addresses out of a placement, and
 * places them anew between all others by corner search (corner.h); see parts.h.
 *
 * Why: a search of a large part hardly ever comes back to what it decided first.  In a window all can be tried, and
 * what one window gained remains when the next is searched.
 *
 * A capacity below the top is tried.  What ends above it is in nobody's way, and a few windows have such a box in their
 * middle; most lie elsewhere and only change what there is, until a window has a place for the box.  Where a capacity is
 * not reached, one nearer to the top is tried.
 *
 * Invariants: the part's placement is never worse than before; the same steps give the same placement.
 * Cost: a pass over the boxes for each window, which counts as PASS steps a box; 28 bytes a box and a byte.
 * Origin: offline-planning.md 6.3.
 */
#include "config.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/rng.h"
#include "planners/optimal/corner.h"
#include "planners/optimal/parts.h"

#define FEWEST 8 /* boxes of a window */
#define MOST 40
#define STEPS 300    /* of a search, for each of its boxes */
#define PASS 4       /* of all boxes, for each */
#define ELSEWHERE 64 /* windows, of which one has a box above the capacity in its middle */
#define MAX_DIVISOR 4096

typedef struct
{
  double distance;
  guint32 box;
} Near;

typedef struct
{
  GememPart *part;
  gint64 capacity;
  GememRng rng;
  guint32 *by_offset; /* all boxes, from the bottom up */
  gint64 *offsets;    /* by box: those that are changed */
  guint8 *inside;     /* by box: in the window */
  /* the window: its boxes, `item` is their place in the part, and the columns of the part at which its own begin */
  GememBoxes boxes;
  guint32 borders[2 * MOST];
  GememWalls walls;
} Window;

static gint64
end_of (const Window *window, guint32 b)
{
  return window->offsets[b] + window->part->boxes.boxes[b].size;
}

/* ---- who is in it */

/* How far box @b is from the middle of a window, in @column and where box @middle is.  @height: what an address counts. */
static double
distance (const Window *window, guint32 b, guint32 middle, double column, double height)
{
  const GememBox *box = &window->part->boxes.boxes[b];
  const gint64 below = window->offsets[middle] - end_of (window, b),
               above = window->offsets[b] - end_of (window, middle);

  if (b == middle)
    return -1;
  return MAX (column - box->first, box->last - column) / window->part->boxes.columns
         + (double) MAX (MAX (below, above), 0) * height;
}

/* Takes the boxes nearest to @middle, @n with it; of equal ones the first. */
static void
choose (Window *window, guint32 middle, guint32 n)
{
  const GememBoxes *all = &window->part->boxes;
  const GememBox *own = &all->boxes[middle];
  const double column = own->first + 0.5
                        + (double) gemem_rng_below (&window->rng, own->last - own->first);
  const double height = (double) gemem_rng_below (&window->rng, 4) / 2 / (double) window->part->top;
  Near near[MOST];
  guint32 k = 0;

  for (guint32 i = 0; i < all->n; i++)
    {
      const Near here = { distance (window, i, middle, column, height), i };
      guint32 at;

      if (k == n && here.distance >= near[k - 1].distance)
        continue;
      k += k < n;
      for (at = k - 1; at > 0 && near[at - 1].distance > here.distance; at--)
        near[at] = near[at - 1];
      near[at] = here;
    }
  window->boxes.n = k;
  for (guint32 i = 0; i < k; i++)
    {
      window->boxes.boxes[i] = all->boxes[near[i].box];
      window->boxes.boxes[i].item = near[i].box;
      window->inside[near[i].box] = TRUE;
    }
}

/* ---- the window as boxes and walls */

/* The column of the window in which @column of the part lies, or the first behind it. */
static guint32
find_column (const Window *window, guint32 column)
{
  guint32 low = 0, high = window->boxes.columns;

  while (low < high)
    {
      const guint32 middle = (low + high) / 2;

      if (window->borders[middle + 1] > column)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

/* Gives the boxes columns of the window: one from each border of a box to the next. */
static void
set_columns (Window *window)
{
  GememBoxes *boxes = &window->boxes;
  guint32 n = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      window->borders[2 * i] = boxes->boxes[i].first;
      window->borders[2 * i + 1] = boxes->boxes[i].last;
    }
  qsort (window->borders, 2 * boxes->n, sizeof (guint32), gemem_compare_uint32);
  for (guint32 i = 0; i < 2 * boxes->n; i++)
    if (i == 0 || window->borders[i] != window->borders[n - 1])
      window->borders[n++] = window->borders[i];
  boxes->columns = n - 1;
  for (guint32 i = 0; i < boxes->n; i++)
    {
      boxes->boxes[i].first = find_column (window, boxes->boxes[i].first);
      boxes->boxes[i].last = find_column (window, boxes->boxes[i].last);
    }
  qsort (boxes->boxes, boxes->n, sizeof (GememBox), gemem_box_compare);
}

/* All other boxes become walls, as far as they lie below the capacity. */
static void
set_walls (Window *window)
{
  const GememBoxes *all = &window->part->boxes;
  const guint32 columns = window->boxes.columns, end = window->borders[columns];

  gemem_walls_begin (&window->walls, &window->boxes);
  for (guint32 i = 0; i < all->n && window->offsets[window->by_offset[i]] < window->capacity; i++)
    {
      const guint32 b = window->by_offset[i];
      const GememBox *box = &all->boxes[b];
      const gint64 high = MIN (end_of (window, b), window->capacity);

      if (window->inside[b] || box->last <= window->borders[0] || box->first >= end)
        continue;
      for (guint32 c = find_column (window, box->first);
           c < columns && window->borders[c] < box->last; c++)
        gemem_walls_add (&window->walls, c, window->offsets[b], high);
    }
  gemem_walls_end (&window->walls, window->capacity);
}

/* ---- the search */

static int
compare_offsets (gconstpointer a, gconstpointer b)
{
  const GememBox *x = a, *y = b;

  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* Puts the boxes where they were found to fit. */
static void
keep (Window *window)
{
  GememBoxes *boxes = &window->boxes;
  const guint32 n = window->part->boxes.n;
  guint32 others = 0, k = boxes->n;

  qsort (boxes->boxes, boxes->n, sizeof (GememBox), compare_offsets);
  for (guint32 i = 0; i < boxes->n; i++)
    window->offsets[boxes->boxes[i].item] = boxes->boxes[i].offset;
  for (guint32 i = 0; i < n; i++)
    if (!window->inside[window->by_offset[i]])
      window->by_offset[others++] = window->by_offset[i];
  for (guint32 i = n; k > 0;) /* merged from behind */
    if (others > 0 && window->offsets[window->by_offset[others - 1]] > boxes->boxes[k - 1].offset)
      window->by_offset[--i] = window->by_offset[--others];
    else
      window->by_offset[--i] = boxes->boxes[--k].item;
}

/* A window of @n boxes around @middle. */
static void
search (Window *window, guint32 middle, guint32 n, GememEffort *effort)
{
  const guint64 given = MIN ((guint64) STEPS * n, effort->steps);
  guint64 steps = given;

  choose (window, middle, n);
  set_columns (window);
  set_walls (window);
  g_autoptr (GememCorner) corner = gemem_corner_new_between (
      &window->boxes, &window->walls, 1 + gemem_rng_below (&window->rng, 1 << 20));
  const gboolean fits = gemem_corner_run (corner, window->capacity, &steps, effort->stop)
                        == GEMEM_CORNER_FITS;
  effort->steps -= MIN (effort->steps, given - steps + PASS * (guint64) window->part->boxes.n);
  if (fits)
    keep (window);
  for (guint32 i = 0; i < window->boxes.n; i++)
    window->inside[window->boxes.boxes[i].item] = FALSE;
}

/* One of the boxes that end above the capacity, G_MAXUINT32: there is none. */
static guint32
any_above (Window *window)
{
  guint32 above = G_MAXUINT32;

  for (guint32 i = 0, n = 0; i < window->part->boxes.n; i++)
    if (end_of (window, i) > window->capacity && gemem_rng_below (&window->rng, ++n) == 0)
      above = i;
  return above;
}

/* Gets everything below the capacity; FALSE: the steps were used up. */
static gboolean
reach_capacity (Window *window, GememEffort *effort)
{
  const guint32 n = window->part->boxes.n;

  for (guint32 above; (above = any_above (window)) != G_MAXUINT32;)
    {
      if (effort->steps <= n || gemem_stop_reason (effort->stop) != NULL)
        return FALSE;
      const guint32 size = FEWEST + (guint32) gemem_rng_below (&window->rng, MOST - FEWEST + 1);

      if (gemem_rng_below (&window->rng, ELSEWHERE) > 0)
        above = (guint32) gemem_rng_below (&window->rng, n);
      search (window, above, MIN (size, n), effort);
    }
  return TRUE;
}

static int
compare_all (gconstpointer a, gconstpointer b, gpointer data)
{
  const guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;
  const gint64 *offsets = data;

  if (offsets[x] != offsets[y])
    return offsets[x] < offsets[y] ? -1 : 1;
  return x < y ? -1 : x > y;
}

static void
descend (Window *window, gint64 goal, GememEffort *effort)
{
  GememPart *part = window->part;
  gint64 divisor = 4;

  while (part->top > goal && effort->steps > part->boxes.n && divisor <= MAX_DIVISOR
         && gemem_stop_reason (effort->stop) == NULL)
    {
      GememEffort own = { effort->steps / 4 + 1, effort->stop };
      const guint64 given = own.steps;

      window->capacity = part->top - MAX (1, (part->top - goal) / divisor);
      window->capacity -= window->capacity % part->grain;
      const gboolean reached = reach_capacity (window, &own);
      effort->steps -= given - own.steps;
      divisor = reached ? MAX (divisor / 2, 4) : divisor * 2;
      for (guint32 i = 0; i < part->boxes.n && reached; i++)
        part->boxes.boxes[i].offset = window->offsets[i];
      part->top = reached ? gemem_boxes_top (&part->boxes) : part->top;
      part->stage = reached ? GEMEM_STAGE_WINDOW : part->stage;
    }
}

void
gemem_part_rearrange (GememPart *part, gint64 goal, GememEffort *effort)
{
  const gsize n = part->boxes.n;
  GememBox boxes[MOST];
  Window window = { .part = part, .boxes.boxes = boxes };

  if (part->top <= goal || effort->steps <= n)
    return;
  window.by_offset = g_new (guint32, n + 1);
  window.offsets = g_new (gint64, n + 1);
  window.inside = g_new0 (guint8, n + 1);
  gemem_walls_init (&window.walls, 2 * MOST);
  gemem_rng_init (&window.rng, 1, "optimal-window");
  for (guint32 i = 0; i < n; i++)
    {
      window.by_offset[i] = i;
      window.offsets[i] = part->boxes.boxes[i].offset;
    }
  g_qsort_with_data (window.by_offset, (gint) n, sizeof (guint32), compare_all, window.offsets);
  descend (&window, goal, effort);
  g_free (window.by_offset);
  g_free (window.offsets);
  g_free (window.inside);
  gemem_walls_clear (&window.walls);
}
