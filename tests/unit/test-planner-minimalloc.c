/* test-planner-minimalloc.c - the planner `minimalloc` against brute force: on thousands of tiny instances the
 * least peak, proven; the capacity below it is refused as impossible; what is too hard for the
 * steps is said to be unknown, never impossible.
 */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "planners/check.h"
#include "tests/util/guillotine.h"

#define MOST 11
#define STEPS 8
#define LOAD 8
#define INSTANCES 3000

static GememPlan *
try_plan (const char *text, const GememLifetimes *lifetimes, GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };

  g_assert_true (gemem_planner_parse (text, choices, NULL));
  GememPlan *plan = gemem_planner_run (choices->pdata[0], &input, error);
  if (plan != NULL)
    gemem_plan_verify (plan, &input, error);
  return plan;
}

/* ---- brute force: items in any order of offsets, each on top of those placed before it */

typedef struct
{
  const GememLifetimes *lifetimes;
  guint64 ends[MOST]; /* 0: not placed */
  guint64 bound, best;
} Brute;

static guint64
floor_of (const Brute *brute, guint item)
{
  const GememLifetime *life = gemem_lifetimes_get (brute->lifetimes, item);
  guint64 floor = 0;

  for (guint d = 0; d < brute->lifetimes->items->len; d++)
    {
      const GememLifetime *other = gemem_lifetimes_get (brute->lifetimes, d);

      if (life->begin < other->end && other->begin < life->end)
        floor = MAX (floor, brute->ends[d]);
    }
  return gemem_round_up (floor, MAX (life->alignment, 1));
}

static void
brute_force (Brute *brute, guint placed, guint64 top, guint64 from, guint first)
{
  const guint n = brute->lifetimes->items->len;

  if (placed == n)
    brute->best = top;
  for (guint item = 0; item < n && placed < n && brute->best > brute->bound; item++)
    {
      const guint64 floor = floor_of (brute, item);

      if (brute->ends[item] != 0 || floor < from || (floor == from && item < first))
        continue;
      brute->ends[item] = floor + gemem_lifetimes_get (brute->lifetimes, item)->size;
      if (MAX (top, brute->ends[item]) < brute->best)
        brute_force (brute, placed + 1, MAX (top, brute->ends[item]), floor, item);
      brute->ends[item] = 0;
    }
}

static guint64
least_of (const GememLifetimes *lifetimes, gboolean aligned)
{
  Brute brute = {
    lifetimes, { 0 }, aligned ? 0 : gemem_lifetimes_lower_bound (lifetimes, 1), G_MAXUINT64
  };

  brute_force (&brute, 0, 0, 0, 0);
  return brute.best;
}

/* ---- tests */

/* Items of the same load at every step: at each some end, and others of their size begin. */
static GememLifetimes *
tiny (GememRng *rng, gboolean aligned)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("tiny");
  const guint most = aligned ? 7 : MOST;
  guint64 free = LOAD;

  for (guint64 step = 0; step < STEPS; step++)
    {
      for (guint i = 0; i < lifetimes->items->len; i++)
        {
          GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

          if (life->end == STEPS && life->begin < step && lifetimes->items->len < most - 2
              && gemem_rng_below (rng, 2) == 0)
            {
              life->end = life->safe_end = step;
              free += life->size;
            }
        }
      while (free > 0)
        {
          const guint64 size = lifetimes->items->len < most - 1 ? 1 + gemem_rng_below (rng, free)
                                                                : free;

          gemem_lifetimes_add (lifetimes, step, STEPS, size);
          if (aligned)
            gemem_lifetimes_get (lifetimes, lifetimes->items->len - 1)->alignment =
                G_GUINT64_CONSTANT (1) << gemem_rng_below (rng, 3);
          free -= size;
        }
    }
  return lifetimes;
}

static void
test_brute_force (gconstpointer aligned)
{
  guint above = 0;
  GememRng rng;

  gemem_rng_init (&rng, 2, "minimalloc");
  for (guint i = 0; i < INSTANCES; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = tiny (&rng, aligned != NULL);
      const guint64 least = least_of (lifetimes, aligned != NULL);
      g_autofree char *below = g_strdup_printf (
          "minimalloc:alignment=1,capacity=%" G_GUINT64_FORMAT, least - 1);
      g_autofree char *equal = g_strdup_printf (
          "minimalloc:alignment=1,preorders=OCLUZ,capacity=%" G_GUINT64_FORMAT, least);
      g_autoptr (GError) error = NULL;
      g_autoptr (GememPlan) plan = try_plan ("minimalloc:alignment=1", lifetimes, &error);
      g_assert_no_error (error);
      g_autoptr (GememPlan) fitting = try_plan (equal, lifetimes, &error);
      g_assert_no_error (error);

      g_assert_cmpuint (plan->arena, ==, least);
      g_assert_cmpuint (plan->least, ==, least);
      g_assert_cmpuint (fitting->arena, ==, least);
      above += least > LOAD;
      g_assert_null (try_plan (below, lifetimes, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
      g_assert_nonnull (strstr (error->message, "no plan fits into"));
    }
  g_test_message ("%u of %u need more than their load", above, INSTANCES);
  g_assert_cmpuint (above, >, 0);
}

/* Packings without waste. */
static void
test_packings (void)
{
  for (guint64 seed = 1; seed <= 5; seed++)
    {
      g_autoptr (GememLifetimes) lifetimes = test_guillotine (seed, 30, 1000, 1000000, 0);
      g_autoptr (GError) error = NULL;
      g_autoptr (GememPlan) plan = try_plan ("minimalloc:alignment=1", lifetimes, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (plan->arena, ==, 1000000);
    }
}

/* With hardly any steps there is a plan, but no proof; a capacity is neither reached nor refused. */
static void
test_effort (void)
{
  g_autoptr (GememLifetimes) lifetimes = test_guillotine (7, 300, 1000, 1000000, 3);
  g_autoptr (GError) error = NULL;
  g_autoptr (GememPlan) plan = try_plan ("minimalloc:alignment=1,effort=2000", lifetimes, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (plan->least, ==, 0);
  g_assert_cmpuint (plan->arena, >, plan->lower_bound);
  g_assert_null (
      try_plan ("minimalloc:alignment=1,effort=2000,capacity=1000000", lifetimes, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "not known"));
}

static void
test_refused (void)
{
  static const char *const words[] = { "minimalloc:preorders=", "minimalloc:preorders=WAT+",
                                       "minimalloc:preorders=wat", "minimalloc:preorders=B",
                                       "minimalloc:preorders=WWWWWWWWW" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autoptr (GPtrArray)
          choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
      g_autoptr (GError) error = NULL;

      g_assert_false (gemem_planner_parse (words[i], choices, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/minimalloc/brute-force", NULL, test_brute_force);
  g_test_add_data_func ("/minimalloc/brute-force-aligned", "aligned", test_brute_force);
  g_test_add_func ("/minimalloc/packings", test_packings);
  g_test_add_func ("/minimalloc/effort", test_effort);
  g_test_add_func ("/minimalloc/refused", test_refused);
  return g_test_run ();
}
