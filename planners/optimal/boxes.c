/* boxes.c - columns, parts and loads of boxes; see boxes.h. */
#include "config.h"

#include <stdlib.h>

#include "planners/optimal/boxes.h"

gint64
gemem_boxes_load (const GememBoxes *boxes)
{
  g_autofree gint64 *change = g_new0 (gint64, (gsize) boxes->columns + 1);
  gint64 live = 0, most = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      change[boxes->boxes[i].first] += boxes->boxes[i].size;
      change[boxes->boxes[i].last] -= boxes->boxes[i].size;
    }
  for (guint32 c = 0; c < boxes->columns; c++)
    {
      live += change[c];
      most = MAX (most, live);
    }
  return most;
}

gint64
gemem_boxes_top (const GememBoxes *boxes)
{
  gint64 top = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    top = MAX (top, boxes->boxes[i].offset + boxes->boxes[i].size);
  return top;
}

static int
compare_boxes (gconstpointer a, gconstpointer b)
{
  const GememBox *x = a, *y = b;

  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

enum
{
  BEGINS = 1,
  ENDS = 2
};

/* The new number of each old column border: a column is kept where a box ends and one has begun
 * since the last one kept. */
static guint32 *
renumber (const GememBoxes *boxes, guint32 *columns)
{
  guint32 *number = g_new0 (guint32, (gsize) boxes->columns + 1);
  gboolean open = FALSE;
  guint32 kept = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      number[boxes->boxes[i].first] |= BEGINS;
      number[boxes->boxes[i].last] |= ENDS;
    }
  for (guint32 c = 0; c <= boxes->columns; c++)
    {
      const guint32 what = number[c];

      kept += open && (what & ENDS) != 0;
      open = (open && (what & ENDS) == 0) || (what & BEGINS) != 0;
      number[c] = kept;
    }
  *columns = kept;
  return number;
}

void
gemem_boxes_compress (GememBoxes *boxes)
{
  guint32 columns;
  g_autofree guint32 *number = renumber (boxes, &columns);

  for (guint32 i = 0; i < boxes->n; i++)
    {
      boxes->boxes[i].first = number[boxes->boxes[i].first];
      boxes->boxes[i].last = number[boxes->boxes[i].last];
    }
  boxes->columns = columns;
  qsort (boxes->boxes, boxes->n, sizeof (GememBox), compare_boxes);
}

GememBoxes
gemem_boxes_take_part (GememBoxes *rest)
{
  GememBoxes part = { rest->boxes, 0, 0 };
  const guint32 start = rest->boxes[0].first;
  guint32 end = rest->boxes[0].last;

  for (; part.n < rest->n && rest->boxes[part.n].first < end; part.n++)
    end = MAX (end, rest->boxes[part.n].last);
  for (guint32 i = 0; i < part.n; i++)
    {
      part.boxes[i].first -= start;
      part.boxes[i].last -= start;
    }
  part.columns = end - start;
  rest->boxes += part.n;
  rest->n -= part.n;
  return part;
}
