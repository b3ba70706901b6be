/* long-planners.c - every planner on 20 000 random graphs with all features: accepted by the
 * checker, the same for 1 and 8 threads. */
#include "config.h"

#include "tests/util/planner-trials.h"

static void
test_random (void)
{
  test_planner_trials ("*", 1000, 20000, 40);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planners/20000-random-graphs", test_random);
  return g_test_run ();
}
