/* walls.c - collecting what stays in columns, and looking for what is free between; see walls.h. */
#include "config.h"

#include "planners/optimal/walls.h"

void
gemem_walls_init (GememWalls *walls, guint32 columns)
{
  *walls = (GememWalls){ .found = g_array_new (FALSE, FALSE, sizeof (GememWall)) };
  walls->starts = g_new (guint32, (gsize) columns + 2);
  walls->last = g_new (GememWall, (gsize) columns + 1);
  walls->narrowest = g_new (gint64, (gsize) columns + 1);
}

void
gemem_walls_clear (GememWalls *walls)
{
  g_array_unref (walls->found);
  g_free (walls->walls);
  g_free (walls->starts);
  g_free (walls->last);
  g_free (walls->narrowest);
}

/* ---- making them */

void
gemem_walls_begin (GememWalls *walls, const GememBoxes *boxes)
{
  walls->columns = boxes->columns;
  g_array_set_size (walls->found, 0);
  for (guint32 c = 0; c < boxes->columns; c++)
    {
      walls->last[c] = (GememWall){ .column = c };
      walls->narrowest[c] = G_MAXINT64;
    }
  for (guint32 i = 0; i < boxes->n; i++)
    for (guint32 c = boxes->boxes[i].first; c < boxes->boxes[i].last; c++)
      walls->narrowest[c] = MIN (walls->narrowest[c], boxes->boxes[i].size);
}

void
gemem_walls_add (GememWalls *walls, guint32 column, gint64 low, gint64 high)
{
  GememWall *last = &walls->last[column];

  if (low - last->high < walls->narrowest[column])
    {
      last->high = MAX (last->high, high);
      return;
    }
  if (last->high > last->low)
    g_array_append_val (walls->found, *last);
  last->low = low;
  last->high = high;
}

/* Puts what was found into `walls`, by column. */
static void
sort_by_column (GememWalls *walls)
{
  const GememWall *found = (const GememWall *) walls->found->data;
  guint32 *starts = walls->starts;

  walls->walls = g_renew (GememWall, walls->walls, (gsize) walls->found->len + 1);
  for (guint32 c = 0; c <= walls->columns + 1; c++)
    starts[c] = 0;
  for (guint32 i = 0; i < walls->found->len; i++)
    starts[found[i].column + 1]++;
  for (guint32 c = 0; c < walls->columns; c++)
    starts[c + 1] += starts[c];
  for (guint32 i = walls->found->len;
       i-- > 0;) /* from behind: `starts` goes down to where they are */
    walls->walls[--starts[found[i].column + 1]] = found[i];
  for (guint32 c = 0; c < walls->columns; c++)
    starts[c] = starts[c + 1];
  starts[walls->columns] = walls->found->len;
}

void
gemem_walls_end (GememWalls *walls, gint64 capacity)
{
  for (guint32 c = 0; c < walls->columns; c++)
    {
      gemem_walls_add (walls, c, capacity, capacity);
      if (walls->last[c].high > walls->last[c].low)
        g_array_append_val (walls->found, walls->last[c]);
    }
  sort_by_column (walls);
  for (guint32 c = 0; c < walls->columns; c++)
    {
      gint64 above = 0;

      for (guint32 i = walls->starts[c + 1]; i-- > walls->starts[c];)
        walls->walls[i].above = above += walls->walls[i].high - walls->walls[i].low;
    }
}

/* ---- looking */

/* The first wall of @column that ends above @offset, or where the next column begins. */
static guint32
find (const GememWalls *walls, guint32 column, gint64 offset)
{
  guint32 low = walls->starts[column], high = walls->starts[column + 1];

  while (low < high)
    {
      const guint32 middle = low + (high - low) / 2;

      if (walls->walls[middle].high > offset)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

gint64
gemem_walls_lowest (const GememWalls *walls, const GememBox *box, gint64 low)
{
  guint32 agreed = 0; /* columns in turn that leave it where it is */

  for (guint32 c = box->first; agreed < box->last - box->first;
       c = c + 1 < box->last ? c + 1 : box->first)
    {
      agreed++;
      for (guint32 wall = find (walls, c, low);
           wall < walls->starts[c + 1] && walls->walls[wall].low < low + box->size; wall++)
        {
          low = walls->walls[wall].high;
          agreed = 1;
        }
    }
  return low;
}

gint64
gemem_walls_above (const GememWalls *walls, guint32 column, gint64 offset)
{
  const guint32 wall = find (walls, column, offset);

  return wall < walls->starts[column + 1] ? walls->walls[wall].above : 0;
}
