/* test-planners.c - every planner on some hundreds of random graphs with all features: accepted by
 * the checker, the same for 1 and 8 threads. */
#include "config.h"

#include "tests/util/planner-trials.h"

static void
test_random (void)
{
  const gboolean quick = g_strcmp0 (g_getenv ("GEMEM_QUICK"), "1") == 0;

  test_planner_trials ("*", 0, quick ? 120 : 600, 30);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planners/random-graphs", test_random);
  return g_test_run ();
}
