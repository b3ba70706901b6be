/* bench-many-streams.c - the cost of streams and of pools by their number: linear, for every allocator.
 *
 *   bench-many-streams [ALLOCATOR]
 *
 * 1000, 10 000 and 100 000 streams (then: private pools): a block is allocated on each, and all are
 * freed. Nanoseconds per event, and `ratio`, that cost over the cost with 1000. Memory is the
 * growth of the process. An allocator that is out of memory, or that refuses, says so.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/util/vectors.h"

#define FEWEST 1000
#define BLOCK_MAX 100000

/* Resident memory in bytes, or 0. */
static guint64
resident (void)
{
  g_autofree char *text = NULL;
  const char *second;

  if (!g_file_get_contents ("/proc/self/statm", &text, NULL, NULL))
    return 0;
  second = strchr (text, ' ');
  return second != NULL ? g_ascii_strtoull (second, NULL, 10) * (guint64) sysconf (_SC_PAGESIZE)
                        : 0;
}

/* Blocks served of @n, one on each stream or in each pool. */
static guint64
serve (GememAllocator *allocator, gboolean pools, guint64 n)
{
  const GememAllocatorClass *klass = allocator->klass;
  g_autofree GememBlock *blocks = g_new0 (GememBlock, n);
  guint64 served = 0;

  for (guint64 i = 0; i < n; i++)
    {
      const GememRequest request = { .size = 1 + i * 7919 % BLOCK_MAX,
                                     .stream = pools ? 0 : i,
                                     .pool = pools ? (guint32) i + 1 : 0 };
      if (klass->alloc (allocator, &request, &blocks[served]))
        served++;
    }
  for (guint64 i = 0; i < served; i++)
    klass->free (allocator, &blocks[i], FALSE);
  return served;
}

/* Returns nanoseconds per event; @base: those with the fewest. */
static double
bench (const GememAllocatorClass *klass, gboolean pools, guint64 n, double base)
{
  const guint64 before = resident ();
  GememAllocator *allocator = test_allocator_new (klass->name, "sim:capacity=4TiB");
  const gint64 start = bench_clock ();
  const guint64 served = serve (allocator, pools, n), memory = resident ();
  const gint64 spent = MAX (bench_clock () - start, 1);
  const double cost = (double) spent * 1e3 / (double) (2 * n);

  printf ("{\"bench\":\"many-%s\",\"allocator\":\"%s\",\"n\":%" G_GUINT64_FORMAT
          ",\"served\":%" G_GUINT64_FORMAT
          ",\"ns_per_event\":%.1f,\"ratio\":%.2f,\"bytes_each\":%.0f}\n",
          pools ? "pools" : "streams", klass->name, n, served, cost, base > 0 ? cost / base : 1.0,
          memory > before ? (double) (memory - before) / (double) n : 0.0);
  fflush (stdout);
  test_allocator_destroy (allocator);
  return cost;
}

int
main (int argc, char **argv)
{
  const guint64 most = bench_size (100000, FEWEST);

  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    for (int pools = 0; pools < 2; pools++)
      if (argc < 2 || g_str_equal (argv[1], (*c)->name))
        {
          double base = 0;
          for (guint64 n = FEWEST; n <= most; n *= 10)
            {
              const double cost = bench (*c, pools != 0, n, base);
              base = base > 0 ? base : cost;
            }
        }
  return 0;
}
