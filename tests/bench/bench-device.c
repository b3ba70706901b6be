/* bench-device.c - the host cost of one malloc and free of a device, with N blocks live.
 *
 *   bench-device [SPEC BLOCKS]     default: all of the list below
 *
 * Random blocks are freed and replaced by others of 2 to 32 MiB. One JSON line per device and
 * number of blocks: best of five runs of a million pairs, the loop's own cost included (the null
 * device shows how much that is).
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/units.h"
#include "devices/device.h"
#include "tests/bench/bench.h"

static const struct
{
  const char *spec;
  guint blocks;
} cases[] = {
  { "null", 1000 },
  { "sim:capacity=unlimited", 1 },
  { "sim:capacity=unlimited", 1000 },
  { "sim:capacity=unlimited", 100000 },
  { "sim:capacity=unlimited,address=first-fit", 1000 },
  { "sim:capacity=unlimited,address=first-fit", 100000 },
  { "sim:capacity=unlimited,address=cuda", 1000 },
  { "sim:capacity=unlimited,address=cuda", 100000 },
  { "faulty:capacity=unlimited", 1000 },
};

typedef struct
{
  guint64 address, size;
} Block;

static gint64
run (const char *spec, guint blocks, guint pairs)
{
  g_autoptr (GError) error = NULL;
  g_autofree Block *block = g_new (Block, blocks);
  GememDevice *device = gemem_device_new (spec, NULL, 0, &error);
  gint64 start, elapsed;
  GememRng rng;

  if (device == NULL)
    {
      fprintf (stderr, "bench-device: %s\n", error->message);
      exit (gemem_error_exit_status (error));
    }
  gemem_rng_init (&rng, 1, "bench");
  for (guint i = 0; i < blocks; i++)
    {
      block[i].size = (gemem_rng_below (&rng, 16) + 1) * 2 * GEMEM_MIB;
      block[i].address = gemem_device_malloc (device, block[i].size, 0);
    }
  start = bench_clock ();
  for (guint pair = 0; pair < pairs; pair++)
    {
      guint64 random = gemem_rng_next (&rng);
      Block *victim = &block[((random >> 32) * blocks) >> 32];
      gemem_device_free (device, victim->address, victim->size);
      victim->size = ((random & 15) + 1) * 2 * GEMEM_MIB;
      victim->address = gemem_device_malloc (device, victim->size, 0);
    }
  elapsed = bench_clock () - start;
  for (guint i = 0; i < blocks; i++)
    gemem_device_free (device, block[i].address, block[i].size);
  g_assert_true (device->held == 0);
  gemem_device_destroy (device);
  return elapsed;
}

static void
bench (const char *spec, guint blocks)
{
  const guint runs = (guint) bench_size (5, 1), pairs = (guint) bench_size (1000000, 1000);
  gint64 best = G_MAXINT64;

  for (guint i = 0; i < runs; i++)
    best = MIN (best, run (spec, blocks, pairs));
  printf (
      "{\"bench\":\"device\",\"device\":\"%s\",\"blocks\":%u,\"pairs\":%u,\"ns_per_pair\":%.1f}\n",
      spec, blocks, pairs, (double) best * 1000 / pairs);
  fflush (stdout);
}

int
main (int argc, char **argv)
{
  guint64 blocks;

  if (argc == 3 && gemem_parse_uint (argv[2], &blocks, NULL) && blocks > 0 && blocks <= 100000000)
    bench (argv[1], (guint) blocks);
  else if (argc == 1)
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
      bench (cases[i].spec, cases[i].blocks);
  else
    {
      fprintf (stderr, "usage: bench-device [SPEC BLOCKS]\n");
      return 2;
    }
  return 0;
}
