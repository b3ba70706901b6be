/* bench-record.c - the cost that gemem-record adds to a call and to a launch of a kernel, in ns: a
 * driver whose calls do nothing (record-nothing), with and without the recorder.
 *
 * The recorder is preloaded, so the bench starts itself once more. Best of five.
 */
#include "config.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/bench.h"

typedef int (*Launch) (gpointer, guint, guint, guint, guint, guint, guint, guint, gpointer,
                       gpointer, gpointer);

static gpointer
find (gpointer driver, const char *library, const char *name)
{
  gpointer function = driver != NULL ? dlsym (driver, name) : NULL;

  if (function == NULL)
    g_error ("%s: %s", library, dlerror ());
  return function;
}

/* ns of an allocation or a free, and (@launch) of a launch that adds nothing to the one before. */
static double
ns_per_call (const char *library, double *launch)
{
  gpointer driver = dlopen (library, RTLD_NOW | RTLD_LOCAL);
  int (*allocate) (guint64 *, gsize) = (int (*) (guint64 *, gsize)) find (driver, library,
                                                                          "cuMemAlloc_v2");
  int (*release) (guint64) = (int (*) (guint64)) find (driver, library, "cuMemFree_v2");
  Launch start_kernel = (Launch) find (driver, library, "cuLaunchKernel");
  guint64 pairs = bench_size (200000, 1000), block;
  gint64 best = G_MAXINT64, best_launch = G_MAXINT64;

  for (guint round = 0; round < 5; round++)
    {
      gint64 start = bench_clock ();
      for (guint64 i = 0; i < pairs; i++)
        if (allocate (&block, 4096) != 0 || release (block) != 0)
          g_error ("%s refuses", library);
      best = MIN (best, bench_clock () - start);
      start = bench_clock ();
      for (guint64 i = 0; i < 10 * pairs; i++)
        if (start_kernel (NULL, 1, 1, 1, 32, 1, 1, 0, driver, NULL, NULL) != 0)
          g_error ("%s refuses", library);
      best_launch = MIN (best_launch, bench_clock () - start);
    }
  *launch = (double) best_launch * 1000 / (double) (10 * pairs);
  return (double) best * 1000 / (double) (2 * pairs);
}

int
main (int argc, char **argv)
{
  const char *build = g_getenv ("GEMEM_BUILDDIR") != NULL ? g_getenv ("GEMEM_BUILDDIR") : ".";
  g_autofree char *nothing = g_build_filename (build, "tests/programs/.libs/record-nothing.so",
                                               NULL);
  g_autofree char *recorder = g_build_filename (build, ".libs/libgemem-record.so", NULL);
  g_autofree char *folder = g_strdup ("/tmp/bench-record-XXXXXX");

  if (argc > 2) /* under the recorder */
    {
      double launch, call = ns_per_call (nothing, &launch);
      printf ("{\"bench\":\"record\",\"what\":\"call\",\"ns\":%.1f}\n",
              call - g_ascii_strtod (argv[1], NULL));
      printf ("{\"bench\":\"record\",\"what\":\"launch\",\"ns\":%.1f}\n",
              launch - g_ascii_strtod (argv[2], NULL));
      g_autofree char *journal = g_strdup_printf ("%s/%d.gmj", g_getenv ("GEMEM_JOURNALS"),
                                                  (int) getpid ());
      gboolean recorded = g_unlink (journal) == 0;
      g_rmdir (g_getenv ("GEMEM_JOURNALS"));
      return recorded ? 0 : 1;
    }
  double launch;
  g_autofree char *before = g_strdup_printf ("%.1f", ns_per_call (nothing, &launch));
  g_autofree char *launch_before = g_strdup_printf ("%.1f", launch);
  if (g_mkdtemp (folder) == NULL)
    return 1;
  g_autofree char *sanitizer = g_strconcat (
      g_getenv ("ASAN_OPTIONS") != NULL ? g_getenv ("ASAN_OPTIONS") : "",
      ":verify_asan_link_order=0", NULL);
  g_setenv ("ASAN_OPTIONS", sanitizer, TRUE); /* the recorder comes before libasan */
  g_setenv ("LD_PRELOAD", recorder, TRUE);
  g_setenv ("GEMEM_JOURNALS", folder, TRUE);
  execl ("/proc/self/exe", argv[0], before, launch_before, NULL);
  return 1;
}
