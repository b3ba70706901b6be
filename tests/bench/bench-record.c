/* bench-record.c - the cost that gemem-record adds to a call, in ns: a driver whose calls do
 * nothing (record-nothing), with and without the recorder.
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

static double
ns_per_call (const char *library)
{
  gpointer driver = dlopen (library, RTLD_NOW | RTLD_LOCAL);
  int (*allocate) (guint64 *, gsize) = driver != NULL ? (int (*) (guint64 *, gsize)) dlsym (
                                           driver, "cuMemAlloc_v2")
                                                      : NULL;
  int (*release) (guint64) = driver != NULL ? (int (*) (guint64)) dlsym (driver, "cuMemFree_v2")
                                            : NULL;
  guint64 pairs = bench_size (200000, 1000), block;
  gint64 best = G_MAXINT64;

  if (allocate == NULL || release == NULL)
    g_error ("%s: %s", library, dlerror ());
  for (guint round = 0; round < 5; round++)
    {
      gint64 start = bench_clock ();
      for (guint64 i = 0; i < pairs; i++)
        if (allocate (&block, 4096) != 0 || release (block) != 0)
          g_error ("%s refuses", library);
      best = MIN (best, bench_clock () - start);
    }
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

  if (argc > 1) /* under the recorder */
    {
      double before = g_ascii_strtod (argv[1], NULL);
      printf ("{\"bench\":\"record\",\"what\":\"call\",\"ns\":%.1f}\n",
              ns_per_call (nothing) - before);
      g_autofree char *journal = g_strdup_printf ("%s/%d.gmj", g_getenv ("GEMEM_JOURNALS"),
                                                  (int) getpid ());
      gboolean recorded = g_unlink (journal) == 0;
      g_rmdir (g_getenv ("GEMEM_JOURNALS"));
      return recorded ? 0 : 1;
    }
  g_autofree char *before = g_strdup_printf ("%.1f", ns_per_call (nothing));
  if (g_mkdtemp (folder) == NULL)
    return 1;
  g_autofree char *sanitizer = g_strconcat (
      g_getenv ("ASAN_OPTIONS") != NULL ? g_getenv ("ASAN_OPTIONS") : "",
      ":verify_asan_link_order=0", NULL);
  g_setenv ("ASAN_OPTIONS", sanitizer, TRUE); /* the recorder comes before libasan */
  g_setenv ("LD_PRELOAD", recorder, TRUE);
  g_setenv ("GEMEM_JOURNALS", folder, TRUE);
  execl ("/proc/self/exe", argv[0], before, NULL);
  return 1;
}
