/* test-optimal-glue.c - joining boxes: a placement of what remains, taken apart, overlaps nowhere and has the same
 * top, or a lower one where joins are loose; packings whose cuts can be undone are joined into one box; the same boxes are joined in the same way. */
#include "config.h"

#include "base/rng.h"
#include "planners/optimal/glue.h"
#include "planners/optimal/parts.h"
#include "tests/util/guillotine.h"

/* Boxes in the steps of @lifetimes as columns. */
static GememBoxes
boxes_of (const GememLifetimes *lifetimes, guint32 columns)
{
  GememBoxes boxes = { g_new0 (GememBox, lifetimes->items->len + 1), lifetimes->items->len,
                       columns };

  for (guint32 i = 0; i < boxes.n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      boxes.boxes[i] = (GememBox){ .size = (gint64) life->size,
                                   .unit = 1,
                                   .life = life->safe_end - life->begin,
                                   .id = i,
                                   .item = i,
                                   .first = (guint32) life->begin,
                                   .last = (guint32) life->safe_end };
    }
  return boxes;
}

/* Places what remains of @glue by dives; returns the top. */
static gint64
place (GememGlue *glue)
{
  g_autoptr (GArray) parts = gemem_parts_new (*gemem_glue_rest (glue));

  gemem_parts_dive (parts, 0, 0, 1, NULL);
  for (guint p = 0; p < parts->len; p++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, p);

      for (guint32 i = 0; i < part->boxes.n; i++)
        part->boxes.boxes[i].offset += part->base;
    }
  return gemem_parts_top (parts);
}

static void
assert_apart (const GememBoxes *boxes)
{
  for (guint32 i = 0; i < boxes->n; i++)
    for (guint32 k = i + 1; k < boxes->n; k++)
      {
        const GememBox *x = &boxes->boxes[i], *y = &boxes->boxes[k];

        g_assert_true (x->last <= y->first || y->last <= x->first
                       || x->offset + x->size <= y->offset || y->offset + y->size <= x->offset);
      }
}

static GememLifetimes *
random_lifetimes (GememRng *rng, guint64 sizes)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("random");
  const guint64 n = gemem_rng_range (rng, 1, 80);

  for (guint64 i = 0; i < n; i++)
    {
      const guint64 begin = gemem_rng_below (rng, 10);
      const guint64 end = gemem_rng_range (rng, begin + 1, 10);

      gemem_lifetimes_add (lifetimes, begin, end, gemem_rng_range (rng, 1, sizes));
    }
  return lifetimes;
}

static void
test_random (gconstpointer level)
{
  guint joined = 0;
  GememRng rng;

  gemem_rng_init (&rng, 5, "glue");
  for (guint i = 0; i < 2000; i++)
    {
      const guint64 sizes = gemem_rng_range (&rng, 1, 20);
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng, sizes);
      GememBoxes boxes = boxes_of (lifetimes, 10);
      g_autoptr (GememGlue) glue = gemem_glue_new (&boxes, NULL, GPOINTER_TO_UINT (level)),
                            again = gemem_glue_new (&boxes, NULL, GPOINTER_TO_UINT (level));
      const guint32 n = gemem_glue_rest (glue)->n;
      const gint64 top = place (glue);

      joined += n < boxes.n;
      gemem_glue_take_apart (glue, &boxes, NULL);
      assert_apart (&boxes);
      g_assert_cmpint (gemem_boxes_top (&boxes), <=, top);
      if (GPOINTER_TO_UINT (level) < GEMEM_GLUE_LOOSE)
        g_assert_cmpint (gemem_boxes_top (&boxes), ==, top);
      g_assert_cmpint (place (again), ==, top);
      g_assert_cmpuint (gemem_glue_rest (again)->n, ==, n);
      g_free (boxes.boxes);
    }
  g_assert_cmpuint (joined, >, 1000);
}

static void
test_packings (void)
{
  guint whole = 0;

  for (guint64 seed = 1; seed <= 10; seed++)
    {
      g_autoptr (GememLifetimes) lifetimes = test_guillotine (seed, 300, 100000, 1000000000, 0);
      GememBoxes boxes = boxes_of (lifetimes, 100000);
      g_autoptr (GememGlue) sums = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_SUMS),
                            pairs = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_PAIRS);

      g_assert_cmpuint (gemem_glue_rest (pairs)->n, <, 300);
      whole += gemem_glue_rest (sums)->n == 1;
      place (sums);
      gemem_glue_take_apart (sums, &boxes, NULL);
      assert_apart (&boxes);
      g_free (boxes.boxes);
    }
  g_assert_cmpuint (whole, >=, 8);
}

/* Two stacks of the same height, of sizes that do not fit one by one, are chained by their sums alone. */
static void
test_sums (void)
{
  static const guint64 lives[][3] = { { 0, 5, 30 }, { 0, 5, 12 }, { 5, 9, 22 }, { 5, 9, 20 },
                                      { 0, 9, 7 },  { 3, 9, 40 }, { 0, 3, 40 } };
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("sums");

  for (guint i = 0; i < G_N_ELEMENTS (lives); i++)
    gemem_lifetimes_add (lifetimes, lives[i][0], lives[i][1], lives[i][2]);
  GememBoxes boxes = boxes_of (lifetimes, 9);
  g_autoptr (GememGlue) sums = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_SUMS);

  g_assert_cmpuint (gemem_glue_rest (sums)->n, ==, 1);
  g_assert_cmpint (place (sums), ==, 89);
  gemem_glue_take_apart (sums, &boxes, NULL);
  assert_apart (&boxes);
  g_assert_cmpint (gemem_boxes_top (&boxes), ==, 89);
  g_free (boxes.boxes);
}

/* What is nearly as high is chained to the nearest, if loose, and the chain is as high as the higher. */
static void
test_loose (gconstpointer level)
{
  static const guint64 lives[][3] = {
    { 0, 5, 1000 }, { 5, 9, 1020 }, { 5, 8, 1001 }, { 1, 5, 90 }
  };
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("loose");

  for (guint i = 0; i < G_N_ELEMENTS (lives); i++)
    gemem_lifetimes_add (lifetimes, lives[i][0], lives[i][1], lives[i][2]);
  GememBoxes boxes = boxes_of (lifetimes, 9);
  g_autoptr (GememGlue) loose = gemem_glue_new (&boxes, NULL, GPOINTER_TO_UINT (level)),
                        sums = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_SUMS);

  g_assert_cmpuint (gemem_glue_rest (sums)->n, ==, 4);
  g_assert_cmpuint (gemem_glue_rest (loose)->n, ==, 3);
  place (loose);
  gemem_glue_take_apart (loose, &boxes, NULL);
  assert_apart (&boxes);
  g_assert_cmpint (boxes.boxes[0].offset, ==, boxes.boxes[2].offset);
  g_free (boxes.boxes);
}

/* Where few numbers are used many boxes fit together by chance; those that hardly do so by chance are joined first. */
static void
test_rare (void)
{
  guint remaining = 0;

  for (guint64 seed = 1; seed <= 4; seed++)
    {
      g_autoptr (GememLifetimes) lifetimes = test_guillotine (seed, 1000, 1000, 1000, 0);
      GememBoxes boxes = boxes_of (lifetimes, 1000);
      g_autoptr (GememGlue) sums = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_SUMS);

      remaining += gemem_glue_rest (sums)->n;
      g_free (boxes.boxes);
    }
  g_test_message ("%u of 4000 remain", remaining);
  g_assert_cmpuint (remaining, <, 4 * 140);
}

/* How many remain of @n boxes in 12 columns at @level; in @high, if not NULL, how high the highest of those is that live in the same
 * columns as the first. */
static guint32
count_rest (const guint64 lives[][3], guint n, GememGlueLevel level, gint64 *high)
{
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("lives");

  for (guint i = 0; i < n; i++)
    gemem_lifetimes_add (lifetimes, lives[i][0], lives[i][1], lives[i][2]);
  GememBoxes boxes = boxes_of (lifetimes, 12);
  g_autoptr (GememGlue) glue = gemem_glue_new (&boxes, NULL, level);
  const GememBoxes *rest = gemem_glue_rest (glue);

  for (guint32 i = 0; i < rest->n && high != NULL; i++)
    if (rest->boxes[i].first == lives[0][0] && rest->boxes[i].last == lives[0][1])
      *high = MAX (*high, rest->boxes[i].size);
  g_free (boxes.boxes);
  return rest->n;
}

/* The two that are 36 high fit by chance, which turns do not see; both of the second lifetime together are as high as the last. */
static void
test_rarest_first (void)
{
  static const guint64 lives[][3] = {
    { 0, 5, 36 }, { 1, 5, 91 }, { 5, 9, 36 }, { 5, 9, 500 }, { 9, 12, 536 }
  };

  g_assert_cmpuint (count_rest (lives, G_N_ELEMENTS (lives), GEMEM_GLUE_SUMS, NULL), ==, 4);
  g_assert_cmpuint (count_rest (lives, G_N_ELEMENTS (lives), GEMEM_GLUE_RARE, NULL), ==, 3);
}

/* One of those that are 6 high could be chained to the one before it, or to the one behind it, with which it lives as long as the first
 * box, and is stacked with it. */
static void
test_spanned (void)
{
  static const guint64 lives[][3] = { { 5, 12, 50 }, { 0, 5, 6 },    { 1, 5, 90 },  { 5, 9, 6 },
                                      { 5, 8, 70 },  { 3, 9, 95 },   { 2, 9, 110 }, { 4, 9, 130 },
                                      { 9, 12, 6 },  { 9, 10, 200 }, { 9, 11, 300 } };
  gint64 high = 0;

  count_rest (lives, G_N_ELEMENTS (lives), GEMEM_GLUE_RARE, &high);
  g_assert_cmpint (high, ==, 56);
}

/* A box, and behind it one that is as high only together with what is free above it; what is free is not placed. */
static void
test_filler (void)
{
  static const guint64 lives[][3] = { { 2, 5, 30 }, { 5, 8, 20 } };
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("filler");

  for (guint i = 0; i < G_N_ELEMENTS (lives); i++)
    gemem_lifetimes_add (lifetimes, lives[i][0], lives[i][1], lives[i][2]);
  GememBoxes boxes = boxes_of (lifetimes, 9);
  g_autoptr (GememGlue) filled = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_FILLED);

  g_assert_cmpuint (gemem_glue_rest (filled)->n, ==, 1);
  g_assert_cmpint (place (filled), ==, 30);
  gemem_glue_take_apart (filled, &boxes, NULL);
  assert_apart (&boxes);
  g_assert_cmpint (gemem_boxes_top (&boxes), ==, 30);
  g_free (boxes.boxes);
}

/* Where boxes are left out of a packing, little remains if what is free counts as boxes. */
static void
test_left_out (void)
{
  guint remaining = 0, others = 0;

  for (guint64 seed = 1; seed <= 4; seed++)
    {
      g_autoptr (GememLifetimes) lifetimes = test_guillotine (seed, 400, 20000, 1000000000, 3);
      GememBoxes boxes = boxes_of (lifetimes, 20000);
      g_autoptr (GememGlue) sums = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_SUMS),
                            filled = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_FILLED);

      remaining += gemem_glue_rest (filled)->n;
      others += gemem_glue_rest (sums)->n;
      place (filled);
      gemem_glue_take_apart (filled, &boxes, NULL);
      assert_apart (&boxes);
      g_free (boxes.boxes);
    }
  g_test_message ("%u remain, without fillers %u", remaining, others);
  g_assert_cmpuint (remaining, <, others / 2);
}

/* Going on from sums is the same as beginning anew where there is nothing to fill, and leaves what was joined before. */
static void
test_go_on (void)
{
  guint went_on = 0, less = 0, left = 0;

  for (guint64 seed = 1; seed <= 20; seed++)
    {
      const guint32 columns = 40;
      g_autoptr (GememLifetimes)
          lifetimes = test_guillotine (seed, 300, columns, 10000, seed % 5 == 0 ? 3 : 0);
      GememBoxes boxes = boxes_of (lifetimes, columns);
      g_autoptr (GememGlue) sums = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_SUMS),
                            anew = gemem_glue_new (&boxes, NULL, GEMEM_GLUE_FILLED);
      const guint32 n = gemem_glue_rest (sums)->n;
      g_autoptr (GememGlue) looser = gemem_glue_go_on (sums);

      g_assert_cmpint (looser == NULL, ==, gemem_glue_is_filled (anew));
      g_assert_null (gemem_glue_go_on (sums));
      if (looser != NULL)
        {
          const GememBoxes *rest = gemem_glue_rest (looser), *other = gemem_glue_rest (anew);

          went_on++;
          less += rest->n < n;
          left += n;
          g_assert_cmpmem (rest->boxes, rest->n * sizeof (GememBox), other->boxes,
                           other->n * sizeof (GememBox));
          place (looser);
          gemem_glue_take_apart (looser, &boxes, NULL);
          assert_apart (&boxes);
        }
      const gint64 top = place (sums);

      gemem_glue_take_apart (sums, &boxes, NULL);
      assert_apart (&boxes);
      g_assert_cmpint (gemem_boxes_top (&boxes), ==, top);
      g_free (boxes.boxes);
    }
  g_test_message ("%u of %u boxes are left", left, 300 * went_on);
  g_assert_cmpuint (went_on, >, 0);
  g_assert_cmpuint (less, >, 0);
  g_assert_cmpuint (left, <, 600); /* 635 where sums are sorted in runs of eight only */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/glue/pairs", GUINT_TO_POINTER (GEMEM_GLUE_PAIRS), test_random);
  g_test_add_data_func ("/glue/sums", GUINT_TO_POINTER (GEMEM_GLUE_SUMS), test_random);
  g_test_add_data_func ("/glue/loose", GUINT_TO_POINTER (GEMEM_GLUE_LOOSE), test_random);
  g_test_add_data_func ("/glue/filled", GUINT_TO_POINTER (GEMEM_GLUE_FILLED), test_random);
  g_test_add_data_func ("/glue/by-rarity", GUINT_TO_POINTER (GEMEM_GLUE_RARE), test_random);
  g_test_add_func ("/glue/rarest-first", test_rarest_first);
  g_test_add_func ("/glue/spanned", test_spanned);
  g_test_add_data_func ("/glue/nearest", GUINT_TO_POINTER (GEMEM_GLUE_LOOSE), test_loose);
  g_test_add_data_func ("/glue/nearest-rare", GUINT_TO_POINTER (GEMEM_GLUE_RARE), test_loose);
  g_test_add_func ("/glue/rare", test_rare);
  g_test_add_func ("/glue/filler", test_filler);
  g_test_add_func ("/glue/left-out", test_left_out);
  g_test_add_func ("/glue/go-on", test_go_on);
  g_test_add_func ("/glue/packings", test_packings);
  g_test_add_func ("/glue/stacks", test_sums);
  return g_test_run ();
}
