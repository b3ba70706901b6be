/* test-optimal-corner.c - the corner search against brute force: on 40 000 tiny dense instances
 * every way to branch finds the least top and proves that nothing fits below; and a branch away
 * from a local minimum of the skyline is shown to be wrong. */
#include "config.h"

#include "base/rng.h"
#include "planners/optimal/corner.h"
#include "tests/util/guillotine.h"

#define INSTANCES 40000
#define MOST 11
#define COLUMNS 8
#define LOAD 8

/* ---- brute force: boxes in any order of offsets, each on top of those placed before it */

typedef struct
{
  const GememBoxes *boxes;
  gint64 ends[MOST]; /* 0: not placed */
  gint64 bound, best;
} Brute;

static gboolean
meet (const GememBox *a, const GememBox *b)
{
  return a->first < b->last && b->first < a->last;
}

static void
brute_force (Brute *brute, guint placed, gint64 top, gint64 from, guint first)
{
  const GememBoxes *boxes = brute->boxes;

  if (placed == boxes->n)
    brute->best = top;
  for (guint b = 0; b < boxes->n && placed < boxes->n && brute->best > brute->bound; b++)
    {
      gint64 floor = 0;

      if (brute->ends[b] > 0)
        continue;
      for (guint d = 0; d < boxes->n; d++)
        if (meet (&boxes->boxes[b], &boxes->boxes[d]))
          floor = MAX (floor, brute->ends[d]);
      if (floor < from || (floor == from && b < first)) /* of equal offsets in the order of boxes */
        continue;
      brute->ends[b] = floor + boxes->boxes[b].size;
      if (MAX (top, brute->ends[b]) < brute->best)
        brute_force (brute, placed + 1, MAX (top, brute->ends[b]), floor, b);
      brute->ends[b] = 0;
    }
}

static gint64
least_top (const GememBoxes *boxes)
{
  Brute brute = { boxes, { 0 }, gemem_boxes_load (boxes), G_MAXINT64 };

  brute_force (&brute, 0, 0, 0, 0);
  return brute.best;
}

/* ---- instances */

/* Boxes of the same load in every column: at each border some end, and others of their size
 * begin. */
static GememBoxes
tiny (GememRng *rng, GememBox *boxes)
{
  GememBoxes all = { boxes, 0, COLUMNS };
  gint64 free = LOAD;

  for (guint32 c = 0; c < COLUMNS; c++)
    {
      for (guint32 i = 0; i < all.n; i++)
        if (boxes[i].last == COLUMNS && boxes[i].first < c && all.n < MOST - 2
            && gemem_rng_below (rng, 2) == 0)
          {
            boxes[i].last = c;
            free += boxes[i].size;
          }
      for (; free > 0; free -= boxes[all.n++].size)
        boxes[all.n] = (GememBox){ .size = all.n < MOST - 1
                                               ? 1 + (gint64) gemem_rng_below (rng, (guint64) free)
                                               : free,
                                   .unit = 1,
                                   .life = 1,
                                   .first = c,
                                   .last = COLUMNS,
                                   .item = all.n };
    }
  gemem_boxes_compress (&all);
  return all;
}

static void
assert_apart (const GememBoxes *boxes)
{
  for (guint32 i = 0; i < boxes->n; i++)
    for (guint32 k = 0; k < i; k++)
      {
        const GememBox *a = &boxes->boxes[i], *b = &boxes->boxes[k];

        g_assert_true (!meet (a, b) || a->offset >= b->offset + b->size
                       || b->offset >= a->offset + a->size);
      }
}

static GememCornerAnswer
answer_of (GememBoxes *boxes, gint64 capacity, int branch)
{
  g_autoptr (GememCorner) corner = gemem_corner_new (boxes);
  guint64 steps = 100000000;

  if (branch >= 0)
    gemem_corner_set_branch (corner, (GememBranch) branch);
  return gemem_corner_run (corner, capacity, &steps, NULL);
}

static void
test_brute_force (void)
{
  guint above = 0;
  GememRng rng;

  gemem_rng_init (&rng, 41, "tiny");
  for (guint i = 0; i < INSTANCES; i++)
    {
      GememBox storage[MOST];
      GememBoxes boxes = tiny (&rng, storage);
      const gint64 least = least_top (&boxes);

      above += least > gemem_boxes_load (&boxes);
      for (int branch = -1; branch < GEMEM_BRANCH_SOUND; branch++)
        {
          g_assert_cmpint (answer_of (&boxes, least, branch), ==, GEMEM_CORNER_FITS);
          g_assert_cmpint (gemem_boxes_top (&boxes), ==, least);
          assert_apart (&boxes);
          g_assert_cmpint (answer_of (&boxes, least - 1, branch), ==, GEMEM_CORNER_NEVER);
        }
    }
  g_test_message ("%u of %u instances need more than their load", above, INSTANCES);
  g_assert_cmpuint (above, >, 0);
}

/* ---- packings without waste */

static GememBoxes
packing (guint64 seed, guint n)
{
  g_autoptr (GememLifetimes) lifetimes = test_guillotine (seed, n, 12, 40, 0);
  GememBoxes all = { g_new0 (GememBox, n), lifetimes->items->len, 12 };

  for (guint32 i = 0; i < all.n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      all.boxes[i] = (GememBox){ .size = (gint64) life->size,
                                 .unit = 1,
                                 .life = life->end - life->begin,
                                 .first = (guint32) life->begin,
                                 .last = (guint32) life->end,
                                 .item = i };
    }
  gemem_boxes_compress (&all);
  return all;
}

/* A sound branch never says that a packing does not fit; one away from a minimum does. */
static void
test_unsound (void)
{
  guint wrong = 0;

  for (guint64 seed = 1; seed <= 300; seed++)
    {
      GememBoxes boxes = packing (seed, 14);

      for (int branch = -1; branch < GEMEM_BRANCH_SOUND; branch++)
        g_assert_cmpint (answer_of (&boxes, 40, branch), ==, GEMEM_CORNER_FITS);
      wrong += answer_of (&boxes, 40, GEMEM_BRANCH_ANYWHERE) == GEMEM_CORNER_NEVER;
      g_free (boxes.boxes);
    }
  g_test_message ("%u of 300 packings were wrongly said not to fit", wrong);
  g_assert_cmpuint (wrong, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optimal/corner/brute-force", test_brute_force);
  g_test_add_func ("/optimal/corner/unsound", test_unsound);
  return g_test_run ();
}
