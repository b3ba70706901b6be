/* test-direct.c - `direct`: one device call per request, exact sizes, adoption, walk in address
 * order. */
#include "config.h"

#include "base/rng.h"
#include "tests/util/vectors.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)
#define STEP G_GUINT64_CONSTANT (0x200000)

static gboolean
get (GememAllocator *a, guint64 size, GememBlock *block)
{
  const GememRequest request = { .size = size };

  return a->klass->alloc (a, &request, block);
}

static void
test_calls (void)
{
  GememAllocator *a = test_allocator_new ("direct", "sim:capacity=1000000");
  GememBlock x, y, z;

  g_assert_true (get (a, 1, &x));
  g_assert_true (get (a, 600000, &y));
  g_assert_cmphex (x.address, ==, BASE);
  g_assert_cmpuint (x.size, ==, 1);
  g_assert_cmphex (y.address, ==, BASE + STEP);
  g_assert_cmpuint (y.size, ==, 600000);
  g_assert_cmpuint (a->device->held, ==, 600001);
  g_assert_false (get (a, 400000, &z)); /* one byte too many */
  g_assert_true (get (a, 399999, &z));
  g_assert_cmpuint (a->device->held, ==, 1000000);
  g_assert_cmpuint (a->device->calls[GEMEM_CALL_MALLOC], ==, 4);
  g_assert_cmpuint (a->device->refused[GEMEM_CALL_MALLOC], ==, 1);
  g_assert_true (test_allocator_verify (a, 3, 1000000));
  a->klass->free (a, &y, FALSE);
  g_assert_cmpuint (a->device->held, ==, 400000);
  g_assert_cmpuint (a->device->calls[GEMEM_CALL_FREE], ==, 1);
  g_assert_cmpuint (a->klass->largest_free (a, 0), ==, 0);
  g_assert_true (test_allocator_verify (a, 2, 400000));
  test_allocator_destroy (a); /* two live blocks are released, too */
}

static void
test_adopt (void)
{
  GememAllocator *a = test_allocator_new ("direct", "sim:capacity=1GiB");
  const GememAdopt segment = { .address = 0x7f0000000000, .size = 2097152 };
  const GememAdopt first = { .address = 0x7f0000000000, .size = 1024, .requested = 1000 };
  const GememAdopt second = { .address = 0x7f0000000400, .size = 512, .requested = 512 };
  GememBlock x, y;

  g_assert_true (a->klass->adopt.segment (a, &segment));
  g_assert_true (a->klass->adopt.block (a, &first, &x));
  g_assert_true (a->klass->adopt.block (a, &second, &y));
  g_assert_null (a->klass->adopt.done);
  g_assert_cmphex (x.address, ==, 0x7f0000000000);
  g_assert_cmpuint (x.size, ==, 1000);
  g_assert_cmpuint (a->device->held, ==, 1512);
  g_assert_true (test_allocator_verify (a, 2, 1512));
  a->klass->free (a, &x, FALSE);
  g_assert_cmpuint (a->device->held, ==, 512);
  test_allocator_destroy (a);
}

static void
count_stat (const char *name, guint64 value, const char *unit, gpointer data)
{
  guint64 *values = data;

  if (g_str_equal (name, "blocks"))
    values[0] = value;
  else if (g_str_equal (name, "bytes"))
    values[1] = value;
  else if (g_str_equal (name, "peak_bytes"))
    values[2] = value;
  else if (g_str_equal (name, "failed_requests"))
    values[3] = value;
}

/* At every moment reserved equals the sum of the live requests. */
static void
test_random (void)
{
  GememAllocator *a = test_allocator_new ("direct", "sim:capacity=64MiB,address=first-fit");
  GememBlock blocks[64] = { 0 };
  guint64 live = 0, bytes = 0, peak = 0, failed = 0, values[4];
  GememRng rng;

  gemem_rng_init (&rng, 7, "test-direct");
  for (guint i = 0; i < 5000; i++)
    {
      const guint slot = (guint) gemem_rng_below (&rng, G_N_ELEMENTS (blocks));

      if (blocks[slot].handle == NULL)
        {
          const guint64 size = gemem_rng_log_uniform (&rng, 1, 32 << 20);
          const gboolean ok = get (a, size, &blocks[slot]);

          if (ok)
            g_assert_cmpuint (blocks[slot].size, ==, size);
          g_assert_cmpint (ok, ==, bytes + size <= 64 << 20);
          live += ok;
          bytes += ok ? size : 0;
          failed += !ok;
        }
      else
        {
          bytes -= blocks[slot].size;
          live--;
          a->klass->free (a, &blocks[slot], FALSE);
          blocks[slot].handle = NULL;
        }
      peak = MAX (peak, bytes);
      g_assert_cmpuint (a->device->held, ==, bytes);
      if (i % 50 == 0)
        g_assert_true (test_allocator_verify (a, live, bytes));
    }
  a->klass->report.stats (a, count_stat, values);
  g_assert_cmpuint (values[0], ==, live);
  g_assert_cmpuint (values[1], ==, bytes);
  g_assert_cmpuint (values[2], ==, peak);
  g_assert_cmpuint (values[3], ==, failed);
  g_assert_cmpuint (failed, >, 0);
  test_allocator_destroy (a);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/direct/calls", test_calls);
  g_test_add_func ("/direct/adopt", test_adopt);
  g_test_add_func ("/direct/random", test_random);
  return g_test_run ();
}
