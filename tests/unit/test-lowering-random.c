/* test-lowering-random.c - the lowering `paddle` with random settings on random graphs
 * (lowering-trials.h). */
#include "config.h"

#include "tests/util/lowering-trials.h"

static void
test_random (void)
{
  const guint n = g_getenv ("GEMEM_QUICK") != NULL ? 30 : 100;

  for (guint64 seed = 1; seed <= n; seed++)
    test_lowering_trial (seed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lowering/random", test_random);
  return g_test_run ();
}
