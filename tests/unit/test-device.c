/* test-device.c - the simulated device by exact addresses: address policies, capacity, virtual
 * memory, and misuse by callers. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "devices/device.h"
#include "tests/util/device-contract.h"
#include "tests/util/sizes.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)
#define VA_BASE G_GUINT64_CONSTANT (0x200000000000)
#define BEYOND G_GUINT64_CONSTANT (0x800000000000) /* where `recorded` puts other requests */

static GememDevice *
device_new (const char *spec)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new (spec, NULL, 0, &error);
  g_assert_no_error (error);
  return device;
}

static guint64
take (GememDevice *device, guint64 size)
{
  return gemem_device_malloc (device, size, 0);
}

/* ---- addresses */

static void
test_bump (void)
{
  GememDevice *device = device_new ("sim");

  g_assert_cmphex (take (device, 1000), ==, BASE);
  g_assert_cmphex (take (device, 5 * MIB), ==, BASE + 2 * MIB);
  g_assert_cmphex (take (device, 2 * MIB), ==, BASE + 8 * MIB); /* 7 MiB rounded up */
  g_assert_cmphex (take (device, 1), ==, BASE + 10 * MIB);      /* touches its neighbour */
  gemem_device_free (device, BASE, 1000);
  gemem_device_free (device, BASE + 10 * MIB, 1);
  g_assert_cmphex (take (device, 1000), ==, BASE + 12 * MIB); /* never again */
  g_assert_cmpuint (device->held, ==, 7 * MIB + 1000);
  g_assert_cmpuint (device->peak_held, ==, 7 * MIB + 1001);
  g_assert_cmphex (take (device, 0), ==, 0);
  g_assert_cmpuint (device->refused[GEMEM_CALL_MALLOC], ==, 1);
  g_assert_cmpuint (device->calls[GEMEM_CALL_MALLOC], ==, 6);
  gemem_device_destroy (device);
}

/* Descending and random addresses: whole steps that never overlap, and never come again. */
static void
test_orders (void)
{
  GememDevice *down = device_new ("sim:address=descending");
  GememDevice *one = device_new ("sim:address=random"), *same = device_new ("sim:address=random");
  GememDevice *other = device_new ("sim:address=random,seed=2");
  const guint64 top = BASE + (G_GUINT64_CONSTANT (1) << 44);
  guint differ = 0;

  g_assert_cmphex (take (down, 1000), ==, top - 2 * MIB);
  g_assert_cmphex (take (down, 5 * MIB), ==, top - 8 * MIB);
  gemem_device_free (down, top - 2 * MIB, 1000);
  g_assert_cmphex (take (down, 1), ==, top - 10 * MIB);
  g_assert_cmphex (take (down, G_GUINT64_CONSTANT (1) << 60), ==, 0);
  for (guint i = 0; i < 1000; i++)
    {
      guint64 address = take (one, MIB), again = take (same, MIB), third = take (other, MIB);
      g_assert_cmphex (address, ==, again);
      g_assert_true (address >= BASE && address % (2 * MIB) == 0);
      gemem_device_free (same, again, MIB);
      differ += address != third;
    }
  g_assert_cmpuint (differ, >, 990);
  g_assert_cmpuint (one->held, ==, 1000 * MIB);
  gemem_device_destroy (down);
  gemem_device_destroy (one);
  gemem_device_destroy (same);
  gemem_device_destroy (other);
}

static void
test_gpu (void)
{
  GememDevice *device = device_new ("sim:gpu=a100-40");

  g_assert_cmpuint (device->capacity, ==, 40326 * MIB);
  gemem_device_destroy (device);
}

/* The ascending addresses of 3 million allocations cross many of the pieces in which bump
 * reserves addresses. */
static void
test_bump_far (void)
{
  GememDevice *device = device_new ("sim:capacity=unlimited");
  guint64 expected = BASE;

  for (guint i = 0; i < 3000000; i++)
    {
      guint64 size = (i % 7 + 1) * MIB;
      g_assert_cmphex (take (device, size), ==, expected);
      gemem_device_free (device, expected, size);
      expected = (expected + size + 2 * MIB - 1) & ~(2 * MIB - 1);
    }
  /* larger than a piece */
  g_assert_cmphex (take (device, G_GUINT64_CONSTANT (5) << 40), ==, expected);
  expected += G_GUINT64_CONSTANT (5) << 40;
  g_assert_cmphex (take (device, 1), ==, expected);
  g_assert_cmphex (take (device, G_MAXUINT64 / 2), ==, 0); /* more than all addresses */
  gemem_device_destroy (device);
}

/* The keys in the first line of the vector files, unchanged. */
static void
test_vector_keys (void)
{
  GememDevice *device = device_new (
      "sim:capacity=1073741824,device=bump,base=0x100000000000,step=2097152,reuse=never,"
      "va=bump,vabase=0x200000000000,vastep=1073741824,vareuse=never");

  g_assert_cmphex (take (device, 1), ==, BASE);
  g_assert_cmphex (take (device, 2097153), ==, BASE + 2 * MIB);
  g_assert_cmphex (take (device, 1), ==, BASE + 6 * MIB);
  g_assert_cmphex (gemem_device_reserve (device, 1, 0), ==, VA_BASE);
  g_assert_cmphex (gemem_device_reserve (device, GIB + 1, 0), ==, VA_BASE + GIB);
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, VA_BASE + 3 * GIB);
  gemem_device_destroy (device);

  device = device_new ("sim:base=4096,step=512,va_base=0x10000000,va_step=0x10000");
  g_assert_cmphex (take (device, 1), ==, 4096);
  g_assert_cmphex (take (device, 513), ==, 4608);
  g_assert_cmphex (take (device, 1), ==, 5632);
  g_assert_cmphex (gemem_device_reserve (device, 1, 0), ==, 0x10000000);
  g_assert_cmphex (gemem_device_reserve (device, 1, 0), ==, 0x10010000);
  gemem_device_destroy (device);
}

static void
test_first_fit (void)
{
  GememDevice *device = device_new ("sim:address=first-fit,reuse=yes");

  g_assert_cmphex (take (device, MIB), ==, BASE);
  g_assert_cmphex (take (device, 3 * MIB), ==, BASE + 2 * MIB);
  g_assert_cmphex (take (device, 2 * MIB), ==, BASE + 6 * MIB);
  g_assert_cmphex (take (device, 2 * MIB), ==, BASE + 8 * MIB);
  gemem_device_free (device, BASE + 6 * MIB, 2 * MIB);
  gemem_device_free (device, BASE + 2 * MIB, 3 * MIB); /* both gaps are one now: 6 MiB */
  g_assert_cmphex (take (device, 6 * MIB + 1), ==, BASE + 10 * MIB);
  g_assert_cmphex (take (device, 6 * MIB), ==, BASE + 2 * MIB);
  gemem_device_free (device, BASE, MIB);
  g_assert_cmphex (take (device, 2 * MIB), ==, BASE); /* the rest of the step was released, too */
  gemem_device_destroy (device);
}

/* First-fit against a model with one byte per step. */
static void
test_first_fit_naive (void)
{
  enum
  {
    STEPS = 600,
    LIVE = 100
  };
  GememDevice *device = device_new (
      "sim:address=first-fit,capacity=unlimited,base=0x10000,step=4KiB");
  gboolean used[STEPS] = { FALSE };
  guint64 address[LIVE] = { 0 }, size[LIVE] = { 0 };
  GememRng rng;

  gemem_rng_init (&rng, 1, "device");
  for (guint n = 0; n < 20000; n++)
    {
      guint i = gemem_rng_below (&rng, LIVE), steps;
      if (address[i] != 0)
        {
          gemem_device_free (device, address[i], size[i]);
          for (guint s = 0; s < (size[i] + 4095) / 4096; s++)
            used[(address[i] - 0x10000) / 4096 + s] = FALSE;
          address[i] = 0;
          continue;
        }
      size[i] = gemem_rng_range (&rng, 1, 5 * 4096);
      steps = (size[i] + 4095) / 4096;
      guint first = 0, run = 0;
      for (guint s = 0; run < steps; s++)
        {
          g_assert_cmpuint (s, <, STEPS);
          run = used[s] ? 0 : run + 1;
          first = s + 1 - run;
        }
      address[i] = take (device, size[i]);
      g_assert_cmphex (address[i], ==, 0x10000 + first * 4096);
      for (guint s = 0; s < steps; s++)
        used[first + s] = TRUE;
    }
  g_assert_cmpuint (device->misuses, ==, 0);
  gemem_device_destroy (device);
}

static void
test_recorded (void)
{
  GememDevice *device = device_new ("sim:address=recorded");
  const guint64 a = 0x7f0000000000, b = 0x7f0000200000, c = 0x7e0000000200;

  gemem_device_expect (device, a, 2 * MIB);
  gemem_device_expect (device, b, 20 * MIB);
  gemem_device_expect (device, c, 512);
  g_assert_cmphex (take (device, 2 * MIB), ==, a);
  g_assert_cmphex (take (device, 2 * MIB), ==, BEYOND); /* not the expected next size */
  g_assert_cmpuint (device->unexpected, ==, 1);
  g_assert_cmphex (take (device, 20 * MIB), ==, b); /* the expectation was kept */
  g_assert_cmphex (take (device, 512), ==, c);
  g_assert_cmphex (take (device, 1), ==, BEYOND + 2 * MIB); /* no expectation is left */
  g_assert_cmpuint (device->unexpected, ==, 2);

  gemem_device_free (device, a, 2 * MIB);
  gemem_device_expect (device, a, MIB); /* a freed address may be reused */
  g_assert_cmphex (take (device, MIB), ==, a);
  gemem_device_expect (device, a + MIB / 2, MIB); /* but not while it is in use */
  g_assert_cmphex (take (device, MIB), ==, BEYOND + 4 * MIB);
  gemem_device_free (device, a, MIB);
  g_assert_cmphex (take (device, MIB), ==, a + MIB / 2);
  g_assert_cmpuint (device->unexpected, ==, 3);

  /* A refused request takes no address from the queue; an address above all others raises the
   * base for requests that were not recorded. */
  gemem_device_expect (device, G_GUINT64_CONSTANT (0x900000000001), 3);
  g_assert_cmphex (take (device, 80 * GIB), ==, 0);
  g_assert_cmphex (take (device, 3), ==, 0x900000000001);
  g_assert_cmphex (take (device, 3), ==, 0x900000200000);
  gemem_device_destroy (device);
}

/* Properties from a recording apply to `recorded`, also through a wrapper, until they change. */
static void
test_limit (void)
{
  GememDevice *device = device_new ("sim:address=recorded,capacity=100MiB");
  guint64 a = take (device, 40 * MIB), b;

  gemem_device_limit (device, 50 * MIB);
  g_assert_cmphex (take (device, 11 * MIB), ==, 0);
  b = take (device, 10 * MIB);
  g_assert_cmphex (b, !=, 0);
  gemem_device_limit (device, 1); /* less than is held */
  g_assert_cmphex (take (device, 1), ==, 0);
  gemem_device_free (device, a, 40 * MIB);
  g_assert_cmphex (take (device, 1), ==, 0);
  g_assert_cmphex (take (device, G_MAXUINT64), ==, 0);
  gemem_device_limit (device, 0);
  g_assert_cmphex (take (device, 90 * MIB), !=, 0);
  gemem_device_limit (device, G_MAXUINT64); /* no more than the capacity */
  g_assert_cmphex (take (device, MIB), ==, 0);
  gemem_device_destroy (device);

  device = device_new ("faulty:after=1000,address=recorded,capacity=100MiB");
  gemem_device_limit (device, MIB);
  g_assert_cmphex (take (device, 2 * MIB), ==, 0);
  gemem_device_limit (device, 0);
  g_assert_cmphex (take (device, 2 * MIB), !=, 0);
  gemem_device_destroy (device);

  device = device_new ("sim:capacity=100MiB"); /* wherever its addresses come from */
  gemem_device_limit (device, MIB);
  g_assert_cmphex (take (device, 2 * MIB), ==, 0);
  gemem_device_destroy (device);
}

static void
test_adopt (void)
{
  GememDevice *device = device_new ("sim:capacity=20MiB");

  g_assert_true (gemem_device_adopt (device, BASE + 2 * MIB, 3 * MIB));
  g_assert_false (gemem_device_adopt (device, BASE + 4 * MIB, 4 * MIB));   /* overlaps */
  g_assert_false (gemem_device_adopt (device, BASE + 40 * MIB, 18 * MIB)); /* does not fit */
  g_assert_false (gemem_device_adopt (device, BASE, 0));
  g_assert_false (gemem_device_adopt (device, 0, 1));
  g_assert_cmpuint (device->held, ==, 3 * MIB);
  g_assert_cmpuint (device->peak_held, ==, 3 * MIB);
  g_assert_cmpuint (device->calls[GEMEM_CALL_MALLOC], ==, 0);
  g_assert_cmphex (take (device, 2 * MIB), ==, BASE); /* beside the adopted memory */
  g_assert_cmphex (take (device, MIB), ==, BASE + 6 * MIB);
  g_assert_true (gemem_device_adopt (device, BASE + 8 * MIB, MIB));
  g_assert_cmphex (take (device, MIB), ==, BASE + 10 * MIB);
  gemem_device_free (device, BASE + 2 * MIB, 3 * MIB);
  g_assert_cmphex (take (device, MIB), ==, BASE + 12 * MIB);
  gemem_device_destroy (device);

  device = device_new ("sim:address=first-fit");
  g_assert_true (gemem_device_adopt (device, BASE + 0x200, 2 * MIB));
  g_assert_cmphex (take (device, 1), ==, BASE + 4 * MIB);
  gemem_device_free (device, BASE + 0x200, 2 * MIB);
  g_assert_cmphex (take (device, 4 * MIB), ==, BASE);
  gemem_device_destroy (device);

  device = device_new ("sim:address=recorded");
  g_assert_true (gemem_device_adopt (device, 0x7f0000000000, 2 * MIB));
  gemem_device_free (device, 0x7f0000000000, 2 * MIB);
  gemem_device_expect (device, 0x7f0000000000, MIB);
  g_assert_cmphex (take (device, MIB), ==, 0x7f0000000000);
  g_assert_true (gemem_device_adopt (device, 0x900000000000, 1));
  g_assert_cmphex (take (device, 1), ==, 0x900000200000); /* above everything recorded */
  gemem_device_destroy (device);
}

/* Allocations and ranges share one address space. */
static void
test_one_space (void)
{
  GememDevice *device = device_new ("sim:capacity=unlimited,base=0x1fffc0000000");

  g_assert_cmphex (take (device, GIB / 2), ==, VA_BASE - GIB);
  /* though bump had reserved addresses ahead */
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, VA_BASE);
  g_assert_cmphex (take (device, GIB), ==, VA_BASE + GIB); /* 512 MiB are left before the range */
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, VA_BASE + 2 * GIB);
  g_assert_cmphex (take (device, 1), ==, VA_BASE + 3 * GIB);
  gemem_device_destroy (device);
}

/* ---- capacity */

static void
test_capacity (void)
{
  GememDevice *device = device_new ("sim:capacity=10MiB");

  g_assert_cmphex (take (device, 4 * MIB + 1), ==, BASE);
  g_assert_cmphex (take (device, 6 * MIB), ==, 0); /* one byte too many */
  g_assert_cmpuint (device->held, ==, 4 * MIB + 1);
  /* exactly full, and the refusal consumed no address */
  g_assert_cmphex (take (device, 6 * MIB - 1), ==, BASE + 6 * MIB);
  g_assert_cmphex (take (device, 1), ==, 0);
  g_assert_cmphex (take (device, G_MAXUINT64), ==, 0);
  g_assert_cmpuint (device->refused[GEMEM_CALL_MALLOC], ==, 3);
  gemem_device_free (device, BASE, 4 * MIB + 1);
  g_assert_cmphex (take (device, 4 * MIB + 1), !=, 0);
  g_assert_cmpuint (device->peak_held, ==, 10 * MIB);
  gemem_device_destroy (device);

  device = device_new ("sim:capacity=10MiB,reserved_by_others=4MiB");
  g_assert_cmphex (take (device, 6 * MIB + 1), ==, 0);
  g_assert_cmphex (take (device, 6 * MIB), ==, BASE);
  g_assert_cmpuint (gemem_device_capacity (device), ==, 10 * MIB);
  gemem_device_destroy (device);

  device = device_new ("sim:capacity=1B");
  g_assert_cmphex (take (device, 2), ==, 0);
  gemem_device_destroy (device);
}

static void
assert_info (GememDevice *device, guint64 total, guint64 available, guint64 granularity,
             gboolean virtual_memory)
{
  GememDeviceInfo info;
  gemem_device_info (device, &info);
  g_assert_cmpuint (info.total, ==, total);
  g_assert_cmpuint (info.free, ==, available);
  g_assert_cmpuint (info.granularity, ==, granularity);
  g_assert_cmpint (info.virtual_memory, ==, virtual_memory);
}

static void
test_info (void)
{
  GememDevice *device = device_new (
      "sim:capacity=10MiB,reserved_by_others=4MiB,granularity=64KiB,virtual_memory=no");
  take (device, MIB + 1);
  assert_info (device, 10 * MIB, 5 * MIB - 1, 65536, FALSE);
  g_assert_cmpuint (device->calls[GEMEM_CALL_INFO], ==, 1);
  gemem_device_destroy (device);

  /* Paddle's vectors: total and available at the start; the total is the capacity. */
  device = device_new ("sim:total=16GiB,available=12GiB");
  assert_info (device, 16 * GIB, 12 * GIB, 2 * MIB, TRUE);
  /* `available` is only reported, the capacity counts */
  g_assert_cmphex (take (device, 13 * GIB), ==, BASE);
  assert_info (device, 16 * GIB, 0, 2 * MIB, TRUE);
  g_assert_cmphex (take (device, 3 * GIB + 1), ==, 0);
  gemem_device_destroy (device);

  /* GE's vectors: --total without --cap. */
  device = device_new ("sim:total=64GiB,capacity=unlimited");
  g_assert_cmphex (take (device, 65 * GIB), ==, BASE);
  assert_info (device, 64 * GIB, 0, 2 * MIB, TRUE);
  gemem_device_destroy (device);

  device = device_new ("sim:profile=h200");
  assert_info (device, 143771 * MIB, 143771 * MIB, 2 * MIB, TRUE);
  gemem_device_destroy (device);
}

/* ---- virtual memory */

static void
map_new (GememDevice *device, guint64 address, gboolean expected)
{
  const GememPage page = gemem_device_create_page (device, 2 * MIB);

  g_assert_true (gemem_device_map (device, address, page, 0, 2 * MIB) == expected);
  gemem_device_destroy_page (device, page, 2 * MIB); /* a mapping keeps it */
}

/* A range begins where memory was mapped last: its parts follow one another. */
static void
test_recorded_ranges (void)
{
  GememDevice *device = device_new ("sim:address=recorded,va_base=0x500000000000");
  const guint64 a = 0x7f0000000000, b = 0x310000000000, elsewhere = 0x500000000000;

  gemem_device_expect_map (device, a, 2 * MIB, FALSE);
  gemem_device_expect_map (device, a + 2 * MIB, 20 * MIB, FALSE);
  g_assert_cmphex (gemem_device_reserve (device, GIB, 2 * MIB), ==, a);
  gemem_device_expect_map (device, a + 22 * MIB, 2 * MIB, FALSE); /* into that range */
  gemem_device_expect_map (device, b, 2 * MIB, FALSE);
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, b);
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, elsewhere); /* nothing says where */
  g_assert_cmpuint (device->unexpected, ==, 0);
  map_new (device, b + GIB - 2 * MIB, TRUE);
  gemem_device_expect_map (device, b + GIB - 2 * MIB, MIB, FALSE); /* not free */
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, elsewhere + GIB);
  gemem_device_expect_map (device, b + 2 * GIB + 512, MIB, FALSE); /* not so aligned */
  g_assert_cmphex (gemem_device_reserve (device, GIB, 2 * MIB), ==, elsewhere + 2 * GIB);
  g_assert_cmpuint (device->unexpected, ==, 2);
  gemem_device_release (device, a, GIB);
  gemem_device_expect_map (device, a, MIB, FALSE); /* as before */
  g_assert_cmphex (gemem_device_reserve (device, GIB, 2 * MIB), ==, a);
  gemem_device_destroy (device);

  /* a recording that says where ranges begin, but for one that was as long as what was mapped */
  device = device_new ("sim:address=recorded,va_base=0x500000000000");
  gemem_device_expect_map (device, elsewhere + GIB - 2 * MIB, 2 * MIB, TRUE);
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, elsewhere);
  gemem_device_expect_map (device, b, 8 * MIB, TRUE);
  gemem_device_expect_map (device, b + 8 * MIB, 8 * MIB, TRUE);
  gemem_device_expect_map (device, b + 16 * MIB, 8 * MIB, TRUE);
  g_assert_cmphex (gemem_device_reserve (device, 16 * MIB, 0), ==, b + 8 * MIB);
  gemem_device_expect_map (device, b + 24 * MIB, 4 * MIB, TRUE); /* the next one adjoins it */
  g_assert_cmphex (gemem_device_reserve (device, 4 * MIB, 0), ==, b + 24 * MIB);
  gemem_device_expect_map (device, elsewhere + 8 * MIB, 8 * MIB, TRUE);
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, elsewhere + GIB);
  g_assert_cmpuint (device->unexpected, ==, 0);
  gemem_device_destroy (device);

  device = device_new ("sim:address=first-fit,va_base=0x500000000000");
  gemem_device_expect_map (device, a, 2 * MIB, FALSE); /* of no interest to other policies */
  g_assert_cmphex (gemem_device_reserve (device, GIB, 2 * MIB), ==, elsewhere);
  gemem_device_destroy (device);
}

/* Ranges as large as a device that is larger than the recorded one: each ends where the next one begins,
 * above it and below it. */
static void
test_recorded_ranges_overlap (void)
{
  GememDevice *device = device_new ("sim:address=recorded,va_base=0x500000000000");
  const guint64 b = 0x310000000000, size = 16 * GIB;

  gemem_device_expect_map (device, b, 2 * MIB, FALSE);
  g_assert_cmphex (gemem_device_reserve (device, size, 2 * MIB), ==, b);
  map_new (device, b, TRUE);
  gemem_device_expect_map (device, b + 2 * GIB, 2 * MIB, FALSE); /* in its end */
  g_assert_cmphex (gemem_device_reserve (device, size, 2 * MIB), ==, b + 2 * GIB);
  map_new (device, b + 2 * GIB, TRUE);
  gemem_device_expect_map (device, b + GIB, 2 * MIB, FALSE); /* between them */
  g_assert_cmphex (gemem_device_reserve (device, size, 2 * MIB), ==, b + GIB);
  map_new (device, b + GIB, TRUE);
  gemem_device_expect_map (device, b - GIB, 2 * MIB, FALSE); /* below all */
  g_assert_cmphex (gemem_device_reserve (device, size, 2 * MIB), ==, b - GIB);
  g_assert_cmpuint (device->unexpected, ==, 0);
  map_new (device, b + GIB, FALSE); /* of the first range, but the third one maps there */
  g_assert_cmpuint (device->unexpected, ==, 1);
  gemem_device_expect_map (device, b, 2 * MIB,
                           FALSE); /* a range begins there; and memory is mapped there */
  g_assert_cmphex (gemem_device_reserve (device, size, 2 * MIB), ==, 0x500000000000);
  gemem_device_expect_map (device, b + MIB, 2 * MIB, FALSE);
  g_assert_cmphex (gemem_device_reserve (device, size, MIB), ==, 0x500000000000 + size);
  g_assert_cmpuint (device->unexpected, ==, 3);
  g_assert_true (gemem_device_unmap (device, b, 2 * MIB));
  gemem_device_release (device, b, size); /* though another one maps beyond its end */
  g_assert_true (gemem_device_unmap (device, b + GIB, 2 * MIB));
  gemem_device_release (device, b + GIB, size);
  g_assert_true (gemem_device_unmap (device, b + 2 * GIB, 2 * MIB));
  gemem_device_release (device, b + 2 * GIB, size);
  gemem_device_release (device, b - GIB, size);
  gemem_device_expect_map (device, b, 2 * MIB, FALSE); /* all of it is free again */
  g_assert_cmphex (gemem_device_reserve (device, size, 2 * MIB), ==, b);
  map_new (device, b + size - 2 * MIB, TRUE);
  g_assert_cmpuint (device->unexpected, ==, 3);
  gemem_device_destroy (device);
}

static void
test_ranges (void)
{
  GememDevice *device = device_new ("sim");

  g_assert_cmphex (gemem_device_reserve (device, 20 * MIB, 0), ==, VA_BASE);
  g_assert_cmphex (gemem_device_reserve (device, 90 * GIB, 2 * MIB), ==, VA_BASE + GIB);
  g_assert_cmphex (gemem_device_reserve (device, 1, 32 * GIB), ==, VA_BASE + 96 * GIB);
  g_assert_cmphex (gemem_device_reserve (device, 0, 0), ==, 0);
  g_assert_cmphex (gemem_device_reserve (device, G_MAXUINT64, 0), ==, 0);
  gemem_device_release (device, VA_BASE, 20 * MIB);
  g_assert_cmphex (gemem_device_reserve (device, 1, 0), ==, VA_BASE + 97 * GIB); /* never again */
  g_assert_cmpuint (device->held, ==, 0);
  gemem_device_destroy (device);

  device = device_new ("sim:va=first-fit,vareuse=yes");
  g_assert_cmphex (gemem_device_reserve (device, 2 * GIB, 0), ==, VA_BASE);
  g_assert_cmphex (gemem_device_reserve (device, GIB, 0), ==, VA_BASE + 2 * GIB);
  gemem_device_release (device, VA_BASE, 2 * GIB);
  g_assert_cmphex (gemem_device_reserve (device, 3 * GIB, 0), ==, VA_BASE + 3 * GIB);
  g_assert_cmphex (gemem_device_reserve (device, MIB, 0), ==, VA_BASE);
  g_assert_cmphex (gemem_device_reserve (device, MIB, 0), ==, VA_BASE + GIB);
  gemem_device_destroy (device);
}

static void
test_no_virtual_memory (void)
{
  GememDevice *device = device_new ("sim:virtual_memory=no");

  g_assert_cmphex (gemem_device_reserve (device, 2 * MIB, 0), ==, 0);
  g_assert_cmpuint (gemem_device_create_page (device, 2 * MIB), ==, 0);
  g_assert_false (gemem_device_map (device, VA_BASE, 1, 0, 2 * MIB));
  g_assert_false (gemem_device_unmap (device, VA_BASE, 2 * MIB));
  g_assert_cmpuint (device->refused[GEMEM_CALL_RESERVE] + device->refused[GEMEM_CALL_CREATE], ==,
                    2);
  g_assert_cmpuint (device->refused[GEMEM_CALL_MAP] + device->refused[GEMEM_CALL_UNMAP], ==, 2);
  g_assert_cmpuint (device->misuses, ==, 0);
  g_assert_cmphex (take (device, 1), ==, BASE);
  gemem_device_destroy (device);
}

/* With internal checks a mistake aborts the program with a message; without them it is counted
 * and changes nothing. */
static void
test_misuse (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);

  if (g_test_subprocess ())
    {
      test_device_mistake ("sim", i);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
#if GEMEM_CHECKS >= 1
  g_autofree char *pattern = g_strdup_printf ("*device sim: %s*", test_device_mistakes[i].message);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (pattern);
#else
  g_test_trap_assert_passed ();
#endif
}

static void
test_contract (gconstpointer check)
{
  ((void (*) (const char *)) check) ("sim");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device/bump", test_bump);
  g_test_add_func ("/device/orders", test_orders);
  g_test_add_func ("/device/gpu", test_gpu);
  g_test_add_func ("/device/bump-far", test_bump_far);
  g_test_add_func ("/device/vector-keys", test_vector_keys);
  g_test_add_func ("/device/first-fit", test_first_fit);
  g_test_add_func ("/device/first-fit-naive", test_first_fit_naive);
  g_test_add_func ("/device/recorded", test_recorded);
  g_test_add_func ("/device/recorded-ranges", test_recorded_ranges);
  g_test_add_func ("/device/recorded-ranges-overlap", test_recorded_ranges_overlap);
  g_test_add_func ("/device/adopt", test_adopt);
  g_test_add_func ("/device/limit", test_limit);
  g_test_add_func ("/device/one-space", test_one_space);
  g_test_add_func ("/device/capacity", test_capacity);
  g_test_add_func ("/device/info", test_info);
  g_test_add_func ("/device/ranges", test_ranges);
  g_test_add_func ("/device/no-virtual-memory", test_no_virtual_memory);
  g_test_add_data_func ("/device/contract/capacity", (gconstpointer) test_device_capacity,
                        test_contract);
  g_test_add_data_func ("/device/contract/pages", (gconstpointer) test_device_pages, test_contract);
  g_test_add_data_func ("/device/contract/streams", (gconstpointer) test_device_streams,
                        test_contract);
  g_test_add_data_func ("/device/contract/leave-all", (gconstpointer) test_device_leave_all,
                        test_contract);
  for (guint i = 0; i < test_device_n_mistakes; i++)
    {
      g_autofree char *path = g_strconcat ("/device/misuse/", test_device_mistakes[i].name, NULL);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_misuse);
    }
  return g_test_run ();
}
