/* test-optimal.c - the planner `optimal` on random lifetimes: every plan passes the checker, lies
 * at or above the bound that it proves, and is never larger than a plan of first fit or best fit;
 * what it cannot search it still plans. */
#include "config.h"

#include "base/rng.h"
#include "base/units.h"
#include "tests/util/guillotine.h"
#include "tests/util/plans.h"

enum
{
  ALIGNMENTS = 1,
  SPACES = 2
};

static GememLifetimes *
random_lifetimes (GememRng *rng, guint features)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("random");
  const guint64 n = gemem_rng_range (rng, 1, 60);

  for (guint64 i = 0; i < n; i++)
    {
      const guint64 begin = gemem_rng_below (rng, 40);

      const guint64 end = begin + gemem_rng_range (rng, 1, 20);

      gemem_lifetimes_add (lifetimes, begin, end, gemem_rng_range (rng, 1, 3000));
      GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      if ((features & ALIGNMENTS) != 0)
        life->alignment = G_GUINT64_CONSTANT (1) << gemem_rng_below (rng, 13);
      if ((features & SPACES) != 0)
        life->space = (guint32) gemem_rng_below (rng, 3);
    }
  return lifetimes;
}

static void
assert_not_above (const char *other, const GememLifetimes *lifetimes, guint64 arena)
{
  g_autoptr (GememPlan) plan = test_plan_lifetimes (other, lifetimes);

  g_assert_cmpuint (arena, <=, plan->arena);
}

static void
test_random (gconstpointer features)
{
  guint proven = 0;
  GememRng rng;

  gemem_rng_init (&rng, 7, "optimal");
  for (guint i = 0; i < 150; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng, GPOINTER_TO_UINT (features));
      g_autoptr (GememPlan) plan = test_plan_lifetimes ("optimal:effort=200000", lifetimes),
                            again = test_plan_lifetimes ("optimal:effort=200000", lifetimes),
                            quick = test_plan_lifetimes ("optimal:effort=quick", lifetimes);

      g_assert_cmpuint (plan->least, >, 0);
      g_assert_cmpuint (plan->arena, >=, plan->least);
      g_assert_cmpuint (quick->arena, >=, plan->least);
      g_assert_cmpuint (again->arena, ==, plan->arena);
      g_assert_cmpmem (plan->offsets, plan->n_items * sizeof (guint64), again->offsets,
                       again->n_items * sizeof (guint64));
      proven += plan->arena == plan->least;
      assert_not_above ("first-fit-by-size", lifetimes, quick->arena);
      assert_not_above ("first-fit-by-area", lifetimes, quick->arena);
      assert_not_above ("best-fit-by-allocation", lifetimes, quick->arena);
      assert_not_above ("best-fit-by-lifetime", lifetimes, plan->arena);
    }
  g_test_message ("%u of 150 proven least", proven);
  g_assert_cmpuint (proven, >, 0);
}

/* Packings without waste, whose least peak is known: with large numbers their cuts can be undone, with small ones
 * many things fit together by chance, and joined boxes have to be searched. */
static void
test_packings (void)
{
  guint searched = 0, solved = 0;

  for (guint64 seed = 1; seed <= 10; seed++)
    {
      g_autoptr (GememLifetimes) large = test_guillotine (seed, 200, 1000, 1000000, 0),
                                 small = test_guillotine (seed, 200, 100, 1000, 0);
      g_autoptr (GememPlan) plan = test_plan_lifetimes ("optimal:alignment=1", large),
                            other = test_plan_lifetimes ("optimal:alignment=1", small);

      g_assert_cmpuint (plan->arena, ==, 1000000);
      g_assert_cmpuint (plan->least, ==, 1000000);
      searched += g_strcmp0 (other->winner, "corner-search") == 0;
      solved += other->arena == 1000;
    }
  g_assert_cmpuint (searched, >, 0);
  g_assert_cmpuint (solved, >=, 8);
}

/* Without some of the boxes nothing fits exactly any more; with what still does joined, they are found all the same. */
static void
test_slack (void)
{
  guint solved = 0;

  for (guint64 seed = 1; seed <= 8; seed++)
    {
      g_autoptr (GememLifetimes) lifetimes = test_guillotine (seed, 400, 1000000, 1000000000, 3);
      g_autoptr (GememPlan) plan = test_plan_lifetimes ("optimal:alignment=1", lifetimes);

      solved += plan->arena <= 1000000000;
    }
  g_assert_cmpuint (solved, >=, 7);
}

/* Packings of many boxes, in small numbers or without some of the boxes, which fit together by chance or not exactly. */
static void
test_hard (void)
{
  static const struct
  {
    guint seed, n, height, left_out;
  } packings[] = { { 1, 1000, 1000, 0 }, { 5, 1000, 1000, 3 }, { 1, 2000, 1000000, 3 } };

  for (guint i = 0; i < G_N_ELEMENTS (packings); i++)
    {
      const guint height = packings[i].height;
      g_autoptr (GememLifetimes) lifetimes = test_guillotine (packings[i].seed, packings[i].n, 1000,
                                                              height, packings[i].left_out);
      g_autoptr (GememPlan)
          plan = test_plan_lifetimes ("optimal:alignment=1,effort=10000000", lifetimes);

      g_test_message ("%" G_GUINT64_FORMAT " of %u", plan->arena, height);
      g_assert_cmpuint (plan->arena, <=, height + height / 40);
    }
}

/* Too many for corner search, of few sizes: local search makes the plan of the dives smaller, with more steps no larger, and twice the
 * same. */
static void
test_local (void)
{
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("many");
  GememRng rng;

  gemem_rng_init (&rng, 1, "test-optimal-local");
  for (guint i = 0; i < 5000; i++)
    {
      const guint64 begin = gemem_rng_below (&rng, 4000);
      const guint64 end = begin + gemem_rng_range (&rng, 1, 200);
      const guint64 size = gemem_rng_range (&rng, 1, 9) * 1000;

      gemem_lifetimes_add (lifetimes, begin, end, size);
    }
  g_autoptr (GememPlan) dived = test_plan_lifetimes ("optimal:alignment=1,effort=quick", lifetimes);
  g_autoptr (GememPlan)
      some = test_plan_lifetimes ("optimal:alignment=1,effort=30000000", lifetimes);
  g_autoptr (GememPlan)
      more = test_plan_lifetimes ("optimal:alignment=1,effort=200000000", lifetimes);
  g_autoptr (GememPlan)
      again = test_plan_lifetimes ("optimal:alignment=1,effort=200000000", lifetimes);

  g_assert_cmpstr (dived->winner, ==, "dive");
  g_assert_cmpstr (more->winner, ==, "local-search");
  g_assert_cmpuint (some->arena, <=, dived->arena);
  g_assert_cmpuint (more->arena, <=, some->arena);
  g_assert_cmpuint (more->arena, <, dived->arena);
  g_assert_cmpuint (more->arena, >=, more->least);
  g_assert_cmpmem (more->offsets, more->n_items * sizeof (guint64), again->offsets,
                   again->n_items * sizeof (guint64));
}

/* The least top of what lives at once: every order of stacking. */
static guint64
least_stack (const GememLifetimes *lifetimes, guint placed, guint64 top)
{
  guint64 least = G_MAXUINT64;

  if (placed == (1u << lifetimes->items->len) - 1)
    return top;
  for (guint i = 0; i < lifetimes->items->len; i++)
    if ((placed >> i & 1) == 0)
      {
        const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
        const guint64 start = gemem_align_up (top, life->alignment);

        least = MIN (least, least_stack (lifetimes, placed | 1u << i, start + life->size));
      }
  return least;
}

/* Bytes up to the next multiple of a large alignment are not lost: others may lie there. */
static void
test_mixed_alignments (void)
{
  GememRng rng;
  guint equal = 0;

  gemem_rng_init (&rng, 3, "mixed");
  for (guint i = 0; i < 500; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("mixed");

      for (guint k = 0; k < 5; k++)
        {
          gemem_lifetimes_add (lifetimes, 0, 1, gemem_rng_range (&rng, 1, 9));
          gemem_lifetimes_get (lifetimes, k)->alignment = G_GUINT64_CONSTANT (1)
                                                          << gemem_rng_range (&rng, 1, 4);
        }
      const guint64 least = least_stack (lifetimes, 0, 0);
      g_autoptr (GememPlan)
          plan = test_plan_lifetimes ("optimal:alignment=1,effort=quick", lifetimes);

      g_assert_cmpuint (plan->lower_bound, <=, least);
      g_assert_cmpuint (plan->least, <=, least);
      g_assert_cmpuint (plan->arena, >=, least);
      equal += plan->lower_bound == least;
    }
  g_assert_cmpuint (equal, >, 0);
}

/* The input names the items in another order than that of their begins. */
static void
test_mixed_backwards (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 4, "backwards");
  for (guint i = 0; i < 20; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng, ALIGNMENTS);

      for (guint k = 0; k < lifetimes->items->len; k++)
        gemem_lifetimes_get (lifetimes, k)->id = lifetimes->items->len - k;
      g_autoptr (GememPlan) plan = test_plan_lifetimes ("optimal:effort=quick", lifetimes);

      g_assert_cmpuint (plan->arena, >=, plan->least); /* and it passed the checker */
    }
}

/* No item, one item, and sizes that add up to what cannot be counted. */
static void
test_few (void)
{
  g_autoptr (GememLifetimes) none = gemem_lifetimes_new ("none"), one = gemem_lifetimes_new ("one"),
                             huge = gemem_lifetimes_new ("huge");
  g_autoptr (GememPlan) empty = test_plan_lifetimes ("optimal", none);

  g_assert_cmpuint (empty->arena, ==, 0);
  gemem_lifetimes_add (one, 3, 4, 1);
  g_autoptr (GememPlan) single = test_plan_lifetimes ("optimal", one);
  g_assert_cmpuint (single->arena, ==, 512);
  g_assert_cmpuint (single->least, ==, 512);
  for (guint i = 0; i < 2; i++)
    gemem_lifetimes_add (huge, 2 * i, 2 * i + 2, G_GUINT64_CONSTANT (1) << 61);
  g_autoptr (GememPlan)
      large = test_plan_lifetimes ("optimal", huge); /* 2^62 together: not searched */
  g_assert_cmpuint (large->arena, ==, G_GUINT64_CONSTANT (1) << 61);
  g_assert_cmpuint (large->least, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/optimal/plain", GUINT_TO_POINTER (0), test_random);
  g_test_add_data_func ("/optimal/alignments", GUINT_TO_POINTER (ALIGNMENTS), test_random);
  g_test_add_data_func ("/optimal/spaces", GUINT_TO_POINTER (SPACES), test_random);
  g_test_add_data_func ("/optimal/alignments-and-spaces", GUINT_TO_POINTER (ALIGNMENTS | SPACES),
                        test_random);
  g_test_add_func ("/optimal/packings", test_packings);
  g_test_add_func ("/optimal/slack", test_slack);
  g_test_add_func ("/optimal/hard", test_hard);
  g_test_add_func ("/optimal/local", test_local);
  g_test_add_func ("/optimal/mixed-alignments", test_mixed_alignments);
  g_test_add_func ("/optimal/mixed-backwards", test_mixed_backwards);
  g_test_add_func ("/optimal/few", test_few);
  return g_test_run ();
}
