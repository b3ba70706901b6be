/* test-optimal-nested.c - gaps that lie within one another (planners/optimal/nested.h): the halves of every item
 * keep one offset and nothing overlaps, in thousands of instances; and where box by box much is wasted, `optimal`
 * reaches the load with it. */
#include "config.h"

#include "base/rng.h"
#include "planners/check.h"
#include "planners/optimal/nested.h"

#define INSTANCES 4000
#define STEPS 60

static void
add_gap (GememLifetimes *lifetimes, guint64 begin, guint64 end)
{
  const GememLifeGap gap = { begin, end, 0, 0, lifetimes->items->len - 1 };

  g_array_append_val (lifetimes->gaps, gap);
}

static guint64
load_of (const GememLifetimes *lifetimes)
{
  guint64 step;

  return gemem_lifetimes_load (lifetimes, -1, 1, &step);
}

static GememLifetimes *
new_lifetimes (void)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("nested");

  lifetimes->gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  return lifetimes;
}

/* Items of the whole time, with a gap or without, and temporary ones. */
static GememLifetimes *
random_instance (GememRng *rng)
{
  GememLifetimes *lifetimes = new_lifetimes ();
  const guint n = 2 + (guint) gemem_rng_below (rng, 40);

  for (guint i = 0; i < n; i++)
    {
      const guint64 size = gemem_rng_range (rng, 1, 30), begin = gemem_rng_below (rng, STEPS - 1);

      if (i > 0 && gemem_rng_below (rng, 2) == 0)
        {
          gemem_lifetimes_add (lifetimes, begin, gemem_rng_range (rng, begin + 1, STEPS), size);
          continue;
        }
      gemem_lifetimes_add (lifetimes, 0, STEPS, size);
      if (i == 0 || gemem_rng_below (rng, 4) > 0)
        {
          const guint64 from = gemem_rng_range (rng, 1, STEPS - 2);
          add_gap (lifetimes, from, gemem_rng_range (rng, from + 1, STEPS - 1));
        }
    }
  return lifetimes;
}

static void
test_random (void)
{
  GememRng rng;
  guint placed = 0, smaller = 0;

  gemem_rng_init (&rng, 41, "nested");
  for (guint k = 0; k < INSTANCES; k++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_instance (&rng);
      const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
      g_autoptr (GememPlan) plan = gemem_nested_plan (&input, 1, 1, NULL);
      g_autoptr (GError) error = NULL;

      if (plan == NULL)
        continue;
      placed++;
      g_assert_true (gemem_plan_verify (plan, &input, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (plan->arena, >=, load_of (lifetimes));
      g_clear_pointer (&lifetimes->gaps, g_array_unref);
      smaller += plan->arena < load_of (lifetimes);
    }
  g_assert_cmpuint (placed, >=, INSTANCES * 9 / 10);
  g_assert_cmpuint (smaller, >=, INSTANCES / 4); /* than any plan that has the gaps in use */
}

/* A step of training: weights, gradients that are released before the backward pass and come back in it, and a
 * temporary block for each layer. */
#define LAYERS 1500

static GememLifetimes *
training_step (guint64 seed)
{
  GememLifetimes *lifetimes = new_lifetimes ();
  const guint64 middle = LAYERS, end = 2 * LAYERS + 1;
  guint64 sizes[LAYERS];
  GememRng rng;

  gemem_rng_init (&rng, seed, "step");
  for (guint i = 0; i < LAYERS; i++)
    {
      sizes[i] = gemem_rng_range (&rng, 1, 50);
      gemem_lifetimes_add (lifetimes, 0, end, sizes[i]);
      gemem_lifetimes_add (lifetimes, 0, end, sizes[i]);
      add_gap (lifetimes, middle, end - 1 - i);
    }
  for (guint i = 0; i < LAYERS; i++)
    gemem_lifetimes_add (lifetimes, i, end - 1 - i, sizes[i] / 2 + 1);
  for (guint i = 0; i < LAYERS; i++)
    gemem_lifetimes_add (lifetimes, middle + i, middle + i + 1, 20000 - 10 * i);
  return lifetimes;
}

static void
test_training_step (void)
{
  g_autoptr (GememLifetimes) lifetimes = training_step (1);
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
  GememChoice *choice = gemem_planner_parse_one ("optimal:alignment=1", "test", NULL);
  g_autoptr (GememPlan) plan = gemem_planner_run (choice, &input, NULL);
  const guint64 load = load_of (lifetimes);

  g_assert_true (gemem_plan_verify (plan, &input, NULL));
  g_assert_cmpuint (plan->arena, >=, load);
  g_assert_cmpuint (plan->arena, <=, load + load / 500);
  g_test_message ("%" G_GUINT64_FORMAT " bytes, load %" G_GUINT64_FORMAT ", by %s", plan->arena,
                  load, plan->winner);
  gemem_choice_free (choice);
}

/* Where nothing nests there is no plan. */
static void
test_none (void)
{
  g_autoptr (GememLifetimes) lifetimes = new_lifetimes ();
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
  const GememLifeGap window = { 3, 5, 1, 4, 1 };

  gemem_lifetimes_add (lifetimes, 0, 10, 8);
  g_assert_null (gemem_nested_plan (&input, 1, 1, NULL));
  gemem_lifetimes_add (lifetimes, 0, 10, 8);
  g_array_append_val (lifetimes->gaps, window);
  g_assert_null (gemem_nested_plan (&input, 1, 1, NULL));
  g_clear_pointer (&lifetimes->gaps, g_array_unref);
  g_assert_null (gemem_nested_plan (&input, 1, 1, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optimal-nested/random", test_random);
  g_test_add_func ("/optimal-nested/training-step", test_training_step);
  g_test_add_func ("/optimal-nested/none", test_none);
  return g_test_run ();
}
