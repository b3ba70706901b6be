/* test-plan-interrupt.c - a planner that nobody waits for any more ends at once, without a plan and
 * without an error in memory: every planner, interrupted before it begins and while it works.  `optimal`
 * gives the best plan so far. */
#include "config.h"

#include "base/rng.h"
#include "planners/check.h"
#include "planners/planner.h"
#include "tests/util/random-graph.h"

#define ITEMS 30000
#define SOON_US (5 * G_TIME_SPAN_SECOND) /* a sanitizer on a busy machine; else some milliseconds */

static GememLifetimes *
many_lifetimes (void)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("many");
  GememRng rng;

  gemem_rng_init (&rng, 14, "interrupt");
  for (guint64 i = 0; i < ITEMS; i++)
    {
      const guint64 end = i + 1 + gemem_rng_below (&rng, ITEMS / 2);

      gemem_lifetimes_add (lifetimes, i, end, 512 * (1 + gemem_rng_below (&rng, 4096)));
    }
  return lifetimes;
}

static void
assert_interrupted (const char *planner, const GememPlanInput *input)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_planner_parse (planner, choices, NULL));
  g_assert_null (gemem_planner_run (choices->pdata[0], input, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED);
}

/* Small graphs with everything that planners know, not one node of which is looked at. */
static void
test_before (void)
{
  const gint interrupted = 1;

  for (guint64 seed = 1; seed <= 20; seed++)
    {
      g_autoptr (GememGraph) graph = test_random_graph (seed, G_MAXUINT, 40);
      const GememPlanInput input = { .graph = graph, .threads = 2, .interrupted = &interrupted };

      for (const GememPlanner *const *p = gemem_planners (); *p != NULL; p++)
        assert_interrupted ((*p)->base.name, &input);
    }
}

/* How far a long plan is can be asked meanwhile: of `optimal`, how far a dive is. */
static void
test_progress (void)
{
  g_autoptr (GememLifetimes) lifetimes = many_lifetimes ();
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  gint share = 0;
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1, .share = &share };
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_planner_parse ("optimal:effort=quick", choices, NULL));
  g_autoptr (GememPlan) plan = gemem_planner_run (choices->pdata[0], &input, &error);

  g_assert_no_error (error);
  g_assert_nonnull (plan);
  g_assert_cmpint (share, >, 0);
  g_assert_cmpint (share, <=, 1000);
}

static gpointer
interrupt (gpointer flag)
{
  g_usleep (G_TIME_SPAN_SECOND / 20);
  g_atomic_int_set ((gint *) flag, 1);
  return NULL;
}

/* A trace on which the long planners take seconds. */
static void
test_meanwhile (void)
{
  g_autoptr (GememLifetimes) lifetimes = many_lifetimes ();
  static const char *const slow[] = { "first-fit-by-size",
                                      "best-fit-by-lifetime",
                                      "ge-hybrid:memory_priority=yes",
                                      "ge-range-binary-block-ascending-frlr",
                                      "xla-heap",
                                      "tvm-usmp-hill-climb",
                                      "mindspore-somas",
                                      "minimalloc",
                                      "idealloc",
                                      NULL };

  for (const char *const *planner = slow; *planner != NULL; planner++)
    {
      gint interrupted = 0;
      const GememPlanInput input = { .lifetimes = lifetimes,
                                     .threads = 1,
                                     .interrupted = &interrupted };
      const gint64 start = g_get_monotonic_time ();
      GThread *thread = g_thread_new ("interrupt", interrupt, &interrupted);

      assert_interrupted (*planner, &input);
      g_assert_cmpint (g_get_monotonic_time () - start, <, SOON_US);
      g_thread_join (thread);
    }
}

/* The plan of @planner for @input, which something ended early for @reason: complete and safe. */
static void
assert_best_so_far (const char *planner, const GememPlanInput *input, const char *reason)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_planner_parse (planner, choices, NULL));
  g_autoptr (GememPlan) plan = gemem_planner_run (choices->pdata[0], input, &error);
  g_assert_no_error (error);
  gemem_plan_verify (plan, input, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (plan->stopped, ==, reason);
  g_assert_cmpuint (plan->arena, >=, plan->least);
  g_assert_cmpuint (plan->least, >, 0);
}

/* A millisecond later each time that it is read. */
static guint64
fake_clock (void)
{
  static guint64 now;

  return now += 1000000;
}

/* `optimal` has a plan at any time. */
static void
test_anytime (void)
{
  g_autoptr (GememLifetimes) lifetimes = many_lifetimes ();
  gint interrupted = 0;
  const GememPlanInput endless = { .lifetimes = lifetimes, .interrupted = &interrupted },
                       timed = { .lifetimes = lifetimes, .clock = fake_clock };
  const gint64 start = g_get_monotonic_time ();
  GThread *thread = g_thread_new ("interrupt", interrupt, &interrupted);

  assert_best_so_far ("optimal:effort=1000000000000000", &endless, "interrupted");
  g_assert_cmpint (g_get_monotonic_time () - start, <, SOON_US);
  g_thread_join (thread);
  assert_best_so_far ("optimal:effort=thorough,time=3ms", &timed, "time");
  assert_best_so_far ("optimal:effort=quick,time=1s", &timed, NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-interrupt/before", test_before);
  g_test_add_func ("/plan-interrupt/progress", test_progress);
  g_test_add_func ("/plan-interrupt/meanwhile", test_meanwhile);
  g_test_add_func ("/plan-interrupt/anytime", test_anytime);
  return g_test_run ();
}
