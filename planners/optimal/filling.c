/* filling.c - see filling.h.  Columns are gathered in cells, so that a typical box lies in a few; a cell lists its boxes from
 * the bottom up.
 */
#include "config.h"

#include <string.h>

#include "planners/optimal/filling.h"

#define CROWD 4      /* cells that a box lies in, typically */
#define LOOK_STEPS 4 /* of each box that lives when another is put */

typedef struct
{
  gint64 low, high;
} Wall;

struct _GememFilling
{
  GememBoxes *boxes;
  guint32 cell;   /* columns of a cell */
  GArray **cells; /* guint32: places of the boxes in it */
  guint32 n_cells;
  guint32 *seen; /* by place: the last box for which it was looked at */
  GArray *walls; /* Wall: what lives with that box */
};

GememFilling *
gemem_filling_new (GememBoxes *boxes)
{
  GememFilling *filling = g_new0 (GememFilling, 1);
  guint64 columns = 0; /* of all boxes */

  for (guint32 i = 0; i < boxes->n; i++)
    columns += boxes->boxes[i].last - boxes->boxes[i].first;
  filling->boxes = boxes;
  filling->cell = (guint32) MIN (1 + columns / CROWD / boxes->n, boxes->columns);
  filling->n_cells = (boxes->columns - 1) / filling->cell + 1;
  filling->cells = g_new (GArray *, filling->n_cells);
  for (guint32 c = 0; c < filling->n_cells; c++)
    filling->cells[c] = g_array_new (FALSE, FALSE, sizeof (guint32));
  filling->seen = g_new (guint32, (gsize) boxes->n + 1);
  memset (filling->seen, 0xff, (gsize) boxes->n * sizeof (guint32));
  filling->walls = g_array_new (FALSE, FALSE, sizeof (Wall));
  return filling;
}

void
gemem_filling_free (GememFilling *filling)
{
  if (filling == NULL)
    return;
  for (guint32 c = 0; c < filling->n_cells; c++)
    g_array_unref (filling->cells[c]);
  g_free (filling->cells);
  g_free (filling->seen);
  g_array_unref (filling->walls);
  g_free (filling);
}

static gint64
offset_at (const GememFilling *filling, guint32 place)
{
  return filling->boxes->boxes[place].offset;
}

void
gemem_filling_add (GememFilling *filling, guint32 place)
{
  const GememBox *box = &filling->boxes->boxes[place];

  for (guint32 c = box->first / filling->cell; c <= (box->last - 1) / filling->cell; c++)
    {
      GArray *cell = filling->cells[c];
      guint low = 0, high = cell->len;

      while (low < high)
        {
          const guint middle = (low + high) / 2;

          if (offset_at (filling, g_array_index (cell, guint32, middle)) <= box->offset)
            low = middle + 1;
          else
            high = middle;
        }
      g_array_insert_val (cell, low, place);
    }
}

static int
compare_walls (gconstpointer a, gconstpointer b)
{
  const Wall *x = a, *y = b;

  return x->low < y->low ? -1 : x->low > y->low;
}

/* Finds what is there and lives when the box at @place does, from the bottom up. */
static void
find_walls (GememFilling *filling, guint32 place)
{
  const GememBox *boxes = filling->boxes->boxes, *box = &boxes[place];
  const guint32 first = box->first / filling->cell, last = (box->last - 1) / filling->cell;

  g_array_set_size (filling->walls, 0);
  for (guint32 c = first; c <= last; c++)
    {
      const GArray *cell = filling->cells[c];

      for (guint k = 0; k < cell->len; k++)
        {
          const guint32 other = g_array_index (cell, guint32, k);
          const gint64 low = boxes[other].offset;
          const Wall wall = { low, low + boxes[other].size };

          if (filling->seen[other] == place || boxes[other].last <= box->first
              || boxes[other].first >= box->last)
            continue;
          filling->seen[other] = place;
          g_array_append_val (filling->walls, wall);
        }
    }
  if (last > first)
    g_array_sort (filling->walls, compare_walls);
}

guint64
gemem_filling_put (GememFilling *filling, guint32 place)
{
  GememBox *box = &filling->boxes->boxes[place];
  gint64 offset = 0; /* a multiple of its unit */

  find_walls (filling, place);
  for (guint k = 0; k < filling->walls->len; k++)
    {
      const Wall *wall = &g_array_index (filling->walls, Wall, k);

      if (wall->low - offset >= box->size)
        break;
      offset = MAX (offset, gemem_box_align (wall->high, box->unit));
    }
  box->offset = offset;
  gemem_filling_add (filling, place);
  return 1 + (guint64) filling->walls->len * LOOK_STEPS;
}
