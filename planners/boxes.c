/* boxes.c - from lifetimes to boxes and to a plan, columns, parts and loads of boxes; see boxes.h. */
#include "config.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/radix.h"
#include "base/units.h"
#include "planners/boxes.h"

/* ---- from lifetimes to boxes */

#define MAX_SUM (G_GUINT64_CONSTANT (1) << 62)

static guint64
alignment_of (const GememLifetime *life, guint64 alignment)
{
  return life->alignment != 0 ? life->alignment : alignment;
}

static unsigned __int128
sum_of_sizes (const GememLifetimes *lifetimes, guint64 alignment)
{
  unsigned __int128 sum = 0;

  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      sum += (unsigned __int128) life->size + alignment_of (life, alignment);
    }
  return sum;
}

guint64
gemem_boxes_unit (const GememLifetimes *lifetimes, guint64 alignment)
{
  return sum_of_sizes (lifetimes, alignment) < MAX_SUM ? gemem_lifetimes_unit (lifetimes, alignment)
                                                       : 0;
}

static GememBox
make_box (const GememLifetimes *lifetimes, guint32 item, guint64 unit, guint64 alignment)
{
  const GememLifetime *life = gemem_lifetimes_get (lifetimes, item);

  return (GememBox){ .size = (gint64) ((life->size + unit - 1) / unit),
                     .unit = (gint64) MAX (alignment_of (life, alignment) / unit, 1),
                     .life = life->safe_end - life->begin,
                     .id = life->id,
                     .item = item };
}

static guint32
column_of (const guint64 *steps, guint32 n, guint64 step)
{
  const guint64 *found = bsearch (&step, steps, n, sizeof (guint64), gemem_compare_uint64);

  return (guint32) (found - steps);
}

/* Gives each box the ranks of its steps among all steps as columns. */
static void
set_columns (GememBoxes *boxes, const GememLifetimes *lifetimes)
{
  g_autofree guint64 *steps = g_new (guint64, 4 * (gsize) boxes->n + 1); /* half to sort them */
  guint32 n = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, boxes->boxes[i].item);

      steps[2 * (gsize) i] = life->begin;
      steps[2 * (gsize) i + 1] = life->safe_end;
    }
  gemem_radix_sort (steps, steps + 2 * (gsize) boxes->n, 2 * (gsize) boxes->n, sizeof (guint64));
  for (gsize i = 0; i < 2 * (gsize) boxes->n; i++)
    if (n == 0 || steps[i] != steps[n - 1])
      steps[n++] = steps[i];
  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, boxes->boxes[i].item);

      boxes->boxes[i].first = column_of (steps, n, life->begin);
      boxes->boxes[i].last = column_of (steps, n, life->safe_end);
    }
  boxes->columns = n > 0 ? n - 1 : 0;
}

/* ---- from boxes to a plan */

static GememPlan *
make_plan (const GememLifetimes *lifetimes, guint64 alignment)
{
  const guint n = lifetimes->items->len;
  GememPlan *plan = gemem_plan_new ("", n);

  plan->alignment = alignment;
  plan->spaces = g_new0 (guint64, (gsize) n + 1);
  for (guint i = 0; i < n; i++)
    {
      plan->sizes[i] = gemem_lifetimes_get (lifetimes, i)->size;
      plan->spaces[i] = gemem_lifetimes_get (lifetimes, i)->space;
    }
  return plan;
}

static guint32
space_of (const GememBox *box, const GememLifetimes *lifetimes)
{
  return gemem_lifetimes_get (lifetimes, box->item)->space;
}

/* The boxes of one space, cut off @rest. */
static GememBoxes
take_space (GememBoxes *rest, const GememLifetimes *lifetimes)
{
  GememBoxes boxes = { rest->boxes, 0, 0 };

  while (boxes.n < rest->n
         && space_of (&boxes.boxes[boxes.n], lifetimes) == space_of (boxes.boxes, lifetimes))
    boxes.n++;
  rest->boxes += boxes.n;
  rest->n -= boxes.n;
  return boxes;
}

static void
add_space (GememPlan *plan, const GememBoxes *boxes, guint64 unit)
{
  guint64 top = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      const guint32 item = boxes->boxes[i].item;

      plan->offsets[item] = (guint64) boxes->boxes[i].offset * unit;
      top = MAX (top, plan->offsets[item] + plan->sizes[item]);
    }
  gemem_plan_add_total (plan, plan->spaces[boxes->boxes[0].item],
                        gemem_round_up (top, plan->alignment));
}

static GememBoxKey
by_space (const GememBox *box, gpointer lifetimes)
{
  return (GememBoxKey){ .a = space_of (box, lifetimes) };
}

/* Its arrays are made last: while boxes are placed, memory is scarce. */
GememPlan *
gemem_boxes_plan (const GememPlanInput *input, guint64 alignment, guint64 unit,
                  GememPlaceBoxes place, gpointer data, GError **error)
{
  const GememLifetimes *lifetimes = input->lifetimes;
  const guint n = lifetimes->items->len;
  g_autofree GememBox *all = g_new (GememBox, (gsize) n + 1);
  GememBoxes rest = { all, n, 0 };

  if (sum_of_sizes (lifetimes, alignment) >= 2 * (unsigned __int128) MAX_SUM)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                           "the sizes add up to 2^63 bytes or more; plan a part");
      return NULL;
    }
  for (guint i = 0; i < n; i++)
    all[i] = make_box (lifetimes, i, unit, alignment);
  gemem_boxes_sort (&rest, by_space, (gpointer) lifetimes);
  while (rest.n > 0)
    {
      GememBoxes boxes = take_space (&rest, lifetimes);

      set_columns (&boxes, lifetimes);
      if (!place (&boxes, data, error))
        return NULL;
    }
  GememPlan *plan = make_plan (lifetimes, alignment);
  for (rest = (GememBoxes){ all, n, 0 }; rest.n > 0;)
    {
      const GememBoxes boxes = take_space (&rest, lifetimes);

      add_space (plan, &boxes, unit);
    }
  return plan;
}

/* ---- orders */

typedef struct
{
  GememBoxKey key;
  GememBox box;
} Keyed;

static int
compare_keyed (gconstpointer a, gconstpointer b)
{
  const Keyed *x = a, *y = b;

  if (x->key.a != y->key.a)
    return x->key.a < y->key.a ? -1 : 1;
  if (x->key.b != y->key.b)
    return x->key.b < y->key.b ? -1 : 1;
  if (x->key.c != y->key.c)
    return x->key.c < y->key.c ? -1 : 1;
  if (x->box.id != y->box.id)
    return x->box.id < y->box.id ? -1 : 1;
  return x->box.item < y->box.item ? -1 : x->box.item > y->box.item;
}

static gboolean
is_sorted (const GememBoxes *boxes, GememBoxOrder key, gpointer data)
{
  for (guint32 i = 1; i < boxes->n; i++)
    {
      const GememBox *one = &boxes->boxes[i - 1], *other = &boxes->boxes[i];
      const Keyed before = { key (one, data), *one }, after = { key (other, data), *other };

      if (compare_keyed (&before, &after) > 0)
        return FALSE;
    }
  return TRUE;
}

void
gemem_boxes_sort (GememBoxes *boxes, GememBoxOrder key, gpointer data)
{
  if (is_sorted (boxes, key, data)) /* as boxes of one space mostly are, by it */
    return;
  g_autofree Keyed *keyed = g_new (Keyed, (gsize) boxes->n + 1);

  for (guint32 i = 0; i < boxes->n; i++)
    keyed[i] = (Keyed){ key (&boxes->boxes[i], data), boxes->boxes[i] };
  qsort (keyed, boxes->n, sizeof (Keyed), compare_keyed);
  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[i] = keyed[i].box;
}

/* ---- columns and parts */

gboolean
gemem_boxes_have_units (const GememBoxes *boxes)
{
  for (guint32 i = 0; i < boxes->n; i++)
    if (boxes->boxes[i].unit != 1)
      return TRUE;
  return FALSE;
}

gint64
gemem_boxes_grain (const GememBoxes *boxes)
{
  gint64 grain = 0;

  for (guint32 i = 0; i < boxes->n && grain != 1; i++)
    for (gint64 rest = boxes->boxes[i].size; rest > 0;)
      {
        const gint64 next = grain % rest;

        grain = rest;
        rest = next;
      }
  return MAX (grain, 1);
}

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

int
gemem_box_compare (gconstpointer a, gconstpointer b)
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

/* Gives each box as its rank the place that it has by first column; of equal ones in their order. */
static void
rank_by_first (GememBoxes *boxes)
{
  g_autofree guint32 *starts = g_new0 (guint32, (gsize) boxes->columns + 2);

  for (guint32 i = 0; i < boxes->n; i++)
    starts[boxes->boxes[i].first + 1]++;
  for (guint32 c = 0; c < boxes->columns; c++)
    starts[c + 1] += starts[c];
  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[i].rank = starts[boxes->boxes[i].first]++;
}

/* Sorts by first column, then by item: where they are in the order of items already, at once. */
static void
sort_by_first (GememBoxes *boxes)
{
  rank_by_first (boxes);
  for (guint32 i = 0; i < boxes->n; i++)
    while (boxes->boxes[i].rank != i)
      {
        GememBox *other = &boxes->boxes[boxes->boxes[i].rank];
        const GememBox box = *other;

        *other = boxes->boxes[i];
        boxes->boxes[i] = box;
      }
  for (guint32 from = 0, to; from < boxes->n; from = to)
    {
      gboolean sorted = TRUE;

      for (to = from + 1; to < boxes->n && boxes->boxes[to].first == boxes->boxes[from].first; to++)
        sorted = sorted && boxes->boxes[to - 1].item < boxes->boxes[to].item;
      if (!sorted)
        qsort (boxes->boxes + from, to - from, sizeof (GememBox), gemem_box_compare);
    }
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
  sort_by_first (boxes);
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
