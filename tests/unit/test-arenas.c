/* test-arenas.c - address=cuda by hand: the start of a process, pages of small requests, what the
 * device has left, and requests that no rule serves.  Logs of a real driver are in
 * tests/vectors/test-cuda-addresses.c. */
#include "config.h"

#include "base/rng.h"
#include "devices/arenas.h"
#include "devices/device.h"

#define MIB(n) ((n) *G_GUINT64_CONSTANT (0x100000))
#define F (GEMEM_ARENAS_TOP - MIB (32))
#define LOW G_GUINT64_CONSTANT (0x302000000)

static GememDevice *
device_new (const char *settings)
{
  GError *error = NULL;
  g_autofree char *spec = g_strconcat ("sim:address=cuda", settings, NULL);
  GememDevice *device = gemem_device_new (spec, NULL, 0, &error);

  g_assert_no_error (error);
  return device;
}

static guint64
take (GememDevice *device, guint64 size)
{
  return gemem_device_malloc (device, size, 0);
}

static guint64
free_bytes (GememDevice *device)
{
  GememDeviceInfo info;

  gemem_device_info (device, &info);
  return info.free;
}

/* cuda-driver.md 4: with the end of L in use, and without. */
static void
test_start (void)
{
  GememDevice *one = device_new (""), *other = device_new ("");

  g_assert_cmphex (take (one, MIB (2)), ==, F - MIB (66));
  g_assert_cmphex (take (one, MIB (20)), ==, F + MIB (8));
  gemem_device_compute (one);
  gemem_device_compute (one);                               /* once only */
  g_assert_cmphex (take (one, MIB (8)), ==, F - MIB (488)); /* what 504 MiB left of their arena */
  g_assert_cmphex (take (one, MIB (20)), ==, F - MIB (480));
  g_assert_cmphex (take (one, MIB (50)), ==, F - MIB (460));

  g_assert_cmphex (take (other, MIB (20)), ==, F + MIB (8));
  g_assert_cmphex (take (other, MIB (20)), ==, F - MIB (512));
  gemem_device_compute (other);
  g_assert_cmphex (take (other, MIB (20)), ==, F - MIB (96));
  g_assert_cmphex (take (other, MIB (50)), ==, F - MIB (160));
  g_assert_cmpuint (one->held, ==, MIB (100));
  gemem_device_destroy (one);
  gemem_device_destroy (other);
}

static void
test_pages (void)
{
  GememDevice *device = device_new (",capacity=6MiB");
  guint64 address[1500], first;

  for (guint i = 0; i < G_N_ELEMENTS (address); i++)
    address[i] = take (device, 4);
  g_assert_cmphex (address[1499] - address[0], ==, 1499 * 512);
  g_assert_cmpuint (free_bytes (device), ==, MIB (4));
  for (guint i = 0; i < G_N_ELEMENTS (address); i++)
    gemem_device_free (device, address[i], 4);
  g_assert_cmpuint (free_bytes (device), ==, MIB (6));

  g_assert_cmpuint (take (device, MIB (2) + 1), !=, 0); /* two pages of its own */
  first = take (device, MIB (1));
  g_assert_cmphex (take (device, MIB (1)), ==, first + MIB (1));
  g_assert_cmpuint (free_bytes (device), ==, 0);
  g_assert_cmphex (take (device, 1), ==, 0);
  gemem_device_free (device, first, MIB (1));
  g_assert_cmphex (take (device, MIB (1) + 1), ==, 0);
  g_assert_cmphex (take (device, MIB (1)), ==, first);
  gemem_device_destroy (device);
}

/* The prices of an H100: a page is made and freed at full cost, and shared for next to nothing. */
static void
test_prices (void)
{
  GememDevice *device = device_new (",gpu=h100"), *other = device_new (",gpu=a30");
  guint64 first, now;

  first = take (device, 4);
  g_assert_cmpuint (device->now, ==, 45628);
  take (device, 4);
  g_assert_cmpuint (device->now, ==, 45628 + 1674);
  now = device->now;
  gemem_device_free (device, first, 4);
  g_assert_cmpuint (device->now - now, ==, 1602);
  now = device->now;
  gemem_device_free (device, first + 512, 4);
  g_assert_cmpuint (device->now - now, ==, 37647);
  g_assert_cmpuint (device->cost_guesses, ==, 0);
  g_assert_cmpuint (other->cost_guesses, >, 0); /* no profile of its own */
  gemem_device_destroy (device);
  gemem_device_destroy (other);
}

/* What gpu= implies, and what was said instead. */
static void
test_default (void)
{
  static const struct
  {
    const char *spec;
    gboolean cuda;
    guint64 hit_ns;
  } cases[] = {
    { "h100", TRUE, 104 },
    { "sim:gpu=H100 80GB HBM3", TRUE, 104 },
    { "faulty:nth=99,gpu=h100", TRUE, 200 },
    { "sim:gpu=a30", TRUE, 200 },
    { "sim:gpu=h100,profile=generic", TRUE, 200 },
    { "sim:gpu=h100,address=bump", FALSE, 104 },
    { "sim:gpu=h100,device=bump", FALSE, 104 },
    { "sim:gpu=h100,vabase=2GiB", FALSE, 104 },
    { "sim:gpu=h100,granularity=64KiB", FALSE, 104 },
    { "sim:gpu=mi300x", FALSE, 200 },
    { "sim", FALSE, 200 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      GememDevice *device = gemem_device_new (cases[i].spec, NULL, 0, &error);

      g_test_message ("%s", cases[i].spec);
      g_assert_no_error (error);
      g_assert_cmpint (take (device, MIB (2)) == F - MIB (66), ==, cases[i].cuda);
      if (device->inner == NULL)
        g_assert_cmpuint (device->hit_ns, ==, cases[i].hit_ns);
      gemem_device_destroy (device);
    }
}

static void
test_ranges (void)
{
  GememDevice *device = device_new ("");
  guint64 range;

  g_assert_cmphex (gemem_device_reserve (device, MIB (2), 0), ==, F - MIB (66)); /* end of L */
  g_assert_cmphex (gemem_device_reserve (device, MIB (2), 0), ==, F + MIB (8));
  g_assert_cmphex (gemem_device_reserve (device, MIB (1024), 0), ==, LOW);
  range = gemem_device_reserve (device, MIB (20 * 1024), 0);
  g_assert_cmphex (range, ==, LOW + MIB (1024));
  gemem_device_release (device, range, MIB (20 * 1024));
  g_assert_cmphex (gemem_device_reserve (device, MIB (20 * 1024), 0), ==, range);
  g_assert_cmphex (gemem_device_reserve (device, MIB (2), MIB (64)) % MIB (64), ==, 0);
  /* 1 TiB is not crossed */
  g_assert_cmphex (gemem_device_reserve (device, MIB (1024 * 1024), 0), ==,
                   G_GUINT64_CONSTANT (0x10004000000));
  g_assert_cmphex (gemem_device_reserve (device, G_MAXUINT64 / 2, 0), ==, 0);
  gemem_device_destroy (device);
}

/* What a recording began with lies where it was recorded, and goes back there. */
static void
test_adopted (void)
{
  GememDevice *device = device_new (",capacity=100MiB");
  const guint64 address = G_GUINT64_CONSTANT (0x7f0000000000);

  g_assert_true (gemem_device_adopt (device, address, MIB (20)));
  g_assert_false (gemem_device_adopt (device, address, MIB (20)));
  g_assert_false (gemem_device_adopt (device, F + MIB (8), MIB (20)));
  g_assert_cmpuint (free_bytes (device), ==, MIB (80));
  g_assert_cmphex (take (device, MIB (20)), <, address);
  gemem_device_free (device, address, MIB (20));
  g_assert_cmpuint (free_bytes (device), ==, MIB (80));
  gemem_device_destroy (device);
}

static void
test_bounds (void)
{
  GememDevice *device = device_new (",capacity=unlimited");
  GError *error = NULL;

  g_assert_cmphex (take (device, G_MAXUINT64 / 2), ==, 0);
  g_assert_cmphex (take (device, GEMEM_ARENAS_TOP / 8), ==, 0);
  g_assert_cmphex (take (device, GEMEM_ARENAS_TOP / 16), !=, 0);
  g_assert_cmphex (take (device, GEMEM_ARENAS_TOP / 16), ==, 0);
  g_assert_cmphex (take (device, 1), ==, F + MIB (8) - MIB (74));
  gemem_device_destroy (device);
  g_assert_null (gemem_device_new ("sim:address=cuda,granularity=64KiB", NULL, 0, &error));
  g_assert_nonnull (error);
  g_error_free (error);
}

/* Nothing overlaps, and everything comes back: then the first address is as at the start. */
static void
test_random (void)
{
  GememDevice *device = device_new (",capacity=4GiB");
  guint64 address[300] = { 0 }, size[300];
  GememRng rng;

  gemem_rng_init (&rng, 1, "arenas");
  for (guint n = 0; n < 30000; n++)
    {
      const guint i = gemem_rng_below (&rng, G_N_ELEMENTS (address));
      if (n == 1000)
        gemem_device_compute (device);
      if (address[i] != 0)
        {
          gemem_device_free (device, address[i], size[i]);
          address[i] = 0;
          continue;
        }
      size[i] = gemem_rng_below (&rng, MIB (64));
      size[i] = 1 + (size[i] >> gemem_rng_below (&rng, 20));
      address[i] = take (device, size[i]);
      for (guint k = 0; k < G_N_ELEMENTS (address) && address[i] != 0; k++)
        g_assert_true (k == i || address[k] == 0 || address[k] + size[k] <= address[i]
                       || address[i] + size[i] <= address[k]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (address); i++)
    if (address[i] != 0)
      gemem_device_free (device, address[i], size[i]);
  g_assert_cmpuint (device->held, ==, 0);
  g_assert_cmpuint (device->misuses, ==, 0);
  gemem_device_destroy (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/arenas/start", test_start);
  g_test_add_func ("/arenas/pages", test_pages);
  g_test_add_func ("/arenas/prices", test_prices);
  g_test_add_func ("/arenas/default", test_default);
  g_test_add_func ("/arenas/ranges", test_ranges);
  g_test_add_func ("/arenas/adopted", test_adopted);
  g_test_add_func ("/arenas/bounds", test_bounds);
  g_test_add_func ("/arenas/random", test_random);
  return g_test_run ();
}
