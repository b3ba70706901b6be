/* long-lowering.c - the lowering `paddle` with random settings on random graphs
 * (lowering-trials.h), for minutes. */
#include "config.h"

#include "tests/util/lowering-trials.h"

static void
test_random (void)
{
  for (guint64 seed = 1000; seed < 3000; seed++)
    test_lowering_trial (seed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lowering/long", test_random);
  return g_test_run ();
}
