/* test-optimal-dive.c - skyline dives against a naive one that looks at every column and every box; that
 * a dive which has to get below a top ends early only where it would not; the orders of many boxes against those of few. */
#include "config.h"

#include "base/rng.h"
#include "planners/optimal/dive.h"

#define MOST 400
#define COLUMNS 120

/* Up to MOST boxes, most of them short. */
static void
make_boxes (GememRng *rng, GememBoxes *boxes)
{
  boxes->n = (guint32) gemem_rng_range (rng, 1, MOST);
  boxes->columns = (guint32) gemem_rng_range (rng, 1, COLUMNS);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      GememBox *box = &boxes->boxes[i];
      const guint64 longest = gemem_rng_below (rng, 8) == 0 ? boxes->columns : 8;

      *box = (GememBox){ .id = i, .item = i };
      box->first = (guint32) gemem_rng_below (rng, boxes->columns);
      box->last = box->first + (guint32) gemem_rng_range (rng, 1, longest);
      box->last = MIN (box->last, boxes->columns);
      box->size = (gint64) gemem_rng_range (rng, 1, 50);
      box->unit = gemem_rng_below (rng, 4) == 0 ? 4 : 1;
      box->life = gemem_rng_range (rng, 1, 30);
    }
  gemem_boxes_compress (boxes);
}

/* ---- the naive dive */

/* How many ends of the run box @box shares, in the kinds that ask for it. */
static guint
edges (const GememBox *box, guint32 start, guint32 end, guint kind)
{
  return kind < GEMEM_DIVE_ORDERS ? 0 : (box->first == start) + (box->last == end);
}

/* The place of the box that comes first in columns [start, end); G_MAXUINT32. */
static guint32
choose (const GememBoxes *boxes, const gint64 *offsets, guint32 start, guint32 end, guint kind)
{
  guint32 best = G_MAXUINT32;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememBox *box = &boxes->boxes[i],
                     *other = &boxes->boxes[best == G_MAXUINT32 ? i : best];

      if (offsets[i] >= 0 || box->first < start || box->last > end)
        continue;
      if (best == G_MAXUINT32 || edges (box, start, end, kind) > edges (other, start, end, kind)
          || (edges (box, start, end, kind) == edges (other, start, end, kind)
              && box->rank < other->rank))
        best = i;
    }
  return best;
}

static gint64
dive_naively (const GememBoxes *boxes, guint kind, gint64 *offsets)
{
  gint64 heights[COLUMNS] = { 0 }, top = 0;
  guint32 start, end, left = boxes->n;

  for (guint32 i = 0; i < boxes->n; i++)
    offsets[i] = -1;
  while (left > 0)
    {
      start = 0;
      for (guint32 c = 1; c < boxes->columns; c++)
        start = heights[c] < heights[start] ? c : start;
      for (end = start + 1; end < boxes->columns && heights[end] == heights[start];)
        end++;
      const guint32 i = choose (boxes, offsets, start, end, kind);
      const gint64 before = start > 0 ? heights[start - 1] : G_MAXINT64,
                   behind = end < boxes->columns ? heights[end] : G_MAXINT64;
      gint64 height = MIN (before, behind);

      if (i != G_MAXUINT32)
        {
          const GememBox *box = &boxes->boxes[i];

          offsets[i] = gemem_box_align (heights[start], box->unit);
          height = offsets[i] + box->size;
          start = box->first;
          end = box->last;
          top = MAX (top, height);
          left--;
        }
      for (guint32 c = start; c < end; c++)
        heights[c] = height;
    }
  return top;
}

static void
test_naive (void)
{
  GememBox space[MOST];
  gint64 naive[MOST], offsets[MOST];
  GememRng rng;

  gemem_rng_init (&rng, 3, "dive");
  for (guint k = 0; k < 10 * GEMEM_DIVE_KINDS; k++)
    {
      GememBoxes boxes = { space, 0, 0 };
      const guint kind = k % GEMEM_DIVE_KINDS;

      make_boxes (&rng, &boxes);
      g_autoptr (GememDive) dive = gemem_dive_new (&boxes);
      gemem_dive_prepare (dive, &boxes, kind);
      const gint64 top = dive_naively (&boxes, kind, naive);
      const gsize size = sizeof (gint64) * boxes.n;

      g_assert_cmpint (gemem_dive_run (dive, G_MAXINT64, offsets), ==, top);
      g_assert_cmpmem (offsets, size, naive, size);
      offsets[0] = -1;
      g_assert_cmpint (gemem_dive_run (dive, top + 1, offsets), ==, top);
      g_assert_cmpmem (offsets, size, naive, size);
      g_assert_cmpint (gemem_dive_run (dive, top, offsets), ==, G_MAXINT64);
    }
}

/* ---- orders */

/* Whether a few of many boxes come in the order in which they come alone; only where no letter is a load. */
static void
test_orders (void)
{
  static const guint without_loads[] = { 1, 2, 3, 4, 6 };
  GememBox space[MOST], few[MOST];
  GememRng rng;

  gemem_rng_init (&rng, 4, "dive");
  for (guint k = 0; k < 20 * G_N_ELEMENTS (without_loads); k++)
    {
      const guint order = without_loads[k % G_N_ELEMENTS (without_loads)];
      GememBoxes boxes = { space, 0, 0 }, alone = { few, 0, 0 };

      make_boxes (&rng, &boxes);
      gemem_dive_rank (&boxes, order);
      alone.columns = boxes.columns;
      for (guint32 i = 0; i < boxes.n; i += 5)
        few[alone.n++] = boxes.boxes[i];
      gemem_dive_rank (&alone, order);
      for (guint32 i = 0; i < alone.n; i++)
        for (guint32 j = 0; j < i; j++)
          g_assert_true ((few[i].rank < few[j].rank) == (space[5 * i].rank < space[5 * j].rank));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optimal/dive/naive", test_naive);
  g_test_add_func ("/optimal/dive/orders", test_orders);
  return g_test_run ();
}
