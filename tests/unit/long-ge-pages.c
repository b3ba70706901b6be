/* long-ge-pages.c - the page pool and session ranges against their naive model (ge-page-trials.h),
 * a million operations. */
#include "config.h"

#include "tests/util/ge-page-trials.h"

static void
test_million (void)
{
  for (guint64 seed = 100; seed < 350; seed++)
    test_ge_page_trial (seed, 4000, seed % 2, TRUE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-pages/million", test_million);
  return g_test_run ();
}
