/* test-tf-bfc.c - `tf-bfc` against the worked examples T1, T2 and T4 to T8 of peers.md 3.2, and what
 * it says of wrong settings. */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define NONE G_MAXUINT64

/* Allocates @size bytes, which must be the chunk [@offset from the device's base, @chunk]; NONE:
 * must fail. */
static GememBlock
get (GememAllocator *a, guint64 size, guint64 offset, guint64 chunk)
{
  const GememRequest request = { size, 0, 0 };
  GememBlock block = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (a->klass->alloc (a, &request, &block), ==, offset != NONE);
  a->klass->check (a, &error);
  g_assert_no_error (error);
  if (offset == NONE)
    return block;
  g_assert_cmpuint (block.address - G_GUINT64_CONSTANT (0x100000000000), ==, offset);
  g_assert_cmpuint (block.size, ==, chunk);
  return block;
}

static void
put (GememAllocator *a, GememBlock block)
{
  g_autoptr (GError) error = NULL;

  a->klass->free (a, &block, FALSE);
  a->klass->check (a, &error);
  g_assert_no_error (error);
}

static void
find_stat (const char *name, guint64 value, G_GNUC_UNUSED const char *unit, gpointer data)
{
  gpointer *pair = data;

  if (strcmp (name, pair[0]) == 0)
    *(guint64 *) pair[1] = value;
}

static guint64
stat_of (GememAllocator *a, const char *name)
{
  guint64 value = NONE;
  gpointer pair[] = { (gpointer) name, &value };

  a->klass->report.stats (a, find_stat, pair);
  g_assert_cmpuint (value, !=, NONE);
  return value;
}

#define DEVICE "sim:base=0x100000000000,step=2MiB,address=bump,capacity="

static void
test_t1_statistics (void)
{
  GememAllocator *a = test_allocator_new ("tf-bfc:limit=1GiB,allow_growth=no", DEVICE "1GiB");
  GememBlock blocks[1023];
  guint64 offset = 0;

  for (guint i = 0; i < 1023; i++)
    {
      const guint64 size = (i + 1 + 255) / 256 * 256;
      blocks[i] = get (a, i + 1, offset, size);
      offset += size;
    }
  g_assert_cmpuint (stat_of (a, "num_allocs"), ==, 1023);
  g_assert_cmpuint (stat_of (a, "bytes_in_use"), ==, 654336);
  g_assert_cmpuint (stat_of (a, "largest_alloc_size"), ==, 1024);
  for (guint i = 0; i < 1023; i++)
    put (a, blocks[i]);
  g_assert_cmpuint (stat_of (a, "bytes_in_use"), ==, 0);
  g_assert_cmpuint (stat_of (a, "peak_bytes_in_use"), ==, 654336);
  g_assert_cmpuint (stat_of (a, "pool_bytes"), ==, GIB);
  test_allocator_destroy (a);
}

static void
test_t2_coalescing (void)
{
  static const guint64 sizes[] = { 4096, 8388608, 16384, 41943040 };
  GememAllocator *a = test_allocator_new ("tf-bfc:limit=1GiB,allow_growth=no", DEVICE "1GiB");

  put (a, get (a, 4096, 0, 4096));
  for (guint round = 0; round < 1024; round++)
    {
      GememBlock blocks[4];
      guint64 offset = 0;

      for (guint i = 0; i < 4; offset += sizes[i++])
        blocks[i] = get (a, sizes[i], offset, sizes[i]);
      for (guint i = 0; i < 4; i++)
        put (a, blocks[i]);
    }
  g_assert_cmpuint (stat_of (a, "num_allocs"), ==, 4097);
  g_assert_cmpuint (stat_of (a, "peak_bytes_in_use"), ==, 50352128);
  g_assert_cmpuint (stat_of (a, "largest_alloc_size"), ==, 41943040);
  get (a, 4096, 0, 4096);
  test_allocator_destroy (a);
}

/* Regions double; nothing merges across them unless they adjoin and coalesce_regions is set. */
static void
test_t4_regions (void)
{
  static const char *const settings[] = {
    "tf-bfc:limit=512MiB,garbage_collection=no",
    "tf-bfc:limit=512MiB,garbage_collection=no,coalesce_regions=yes", "tf-bfc:limit=2GiB"
  };

  for (guint k = 0; k < G_N_ELEMENTS (settings); k++)
    {
      GememAllocator *a = test_allocator_new (settings[k], DEVICE "4GiB");
      GememBlock blocks[128];

      for (guint i = 0; i < 128; i++)
        blocks[i] = get (a, 4 * MIB, i * 4 * MIB, 4 * MIB);
      g_assert_cmpuint (stat_of (a, "pool_bytes"), ==, 512 * MIB);
      g_assert_cmpuint (stat_of (a, "regions"), ==, k == 1 ? 1 : 8);
      for (guint i = 0; i < 127; i++)
        put (a, blocks[i]);
      if (k < 2)
        get (a, 508 * MIB, k == 0 ? NONE : 0, 508 * MIB);
      else
        {
          get (a, 1536 * MIB + 1, 512 * MIB, 1536 * MIB + 256); /* 7 idle ones are released */
          g_assert_cmpuint (stat_of (a, "regions"), ==, 2);
          g_assert_cmpuint (a->retries, ==, 1);
        }
      test_allocator_destroy (a);
    }
}

static void
test_t5_growth (void)
{
  GememAllocator *a = test_allocator_new ("tf-bfc:limit=64MiB", DEVICE "1GiB");

  get (a, 100, 0, 256);
  get (a, 1000, 256, 1024);
  get (a, 300000, 1280, 300032);
  get (a, 3 * MIB, 2097152, 4 * MIB);
  g_assert_cmpuint (stat_of (a, "pool_bytes"), ==, 6 * MIB);
  get (a, MIB, 301312, 1795840);
  test_allocator_destroy (a);
}

static void
test_t6_split (void)
{
  GememAllocator *a = test_allocator_new ("tf-bfc:limit=1MiB,allow_growth=no", DEVICE "1GiB");
  GememBlock first = get (a, 256000, 0, 256000), third;

  get (a, 256, 256000, 256);
  put (a, first);
  third = get (a, 153600, 0, 256000);
  get (a, 128000, 256256, 128000);
  put (a, third);
  get (a, 128000, 0, 128000);
  test_allocator_destroy (a);
}

static void
test_t7_ties (void)
{
  static const guint64 sizes[] = { 1024, 256, 1280, 256, 1024, 256 };
  GememAllocator *a = test_allocator_new ("tf-bfc:limit=1MiB,allow_growth=no", DEVICE "1GiB");
  GememBlock blocks[6];
  guint64 offset = 0;

  for (guint i = 0; i < 6; offset += sizes[i++])
    blocks[i] = get (a, sizes[i], offset, sizes[i]);
  for (guint i = 0; i < 6; i += 2)
    put (a, blocks[i]);
  get (a, 1100, 1280, 1280);
  get (a, 1024, 0, 1024);
  get (a, 700, 2816, 1024);
  test_allocator_destroy (a);
}

/* In doubles the last step would be 68812800. */
static void
test_t8_back_off (void)
{
  GememAllocator *a = test_allocator_new ("tf-bfc:limit=100MiB,allow_growth=no", DEVICE "70MiB");

  get (a, 1, 0, 256);
  g_assert_cmpuint (stat_of (a, "pool_bytes"), ==, 68797440);
  g_assert_cmpuint (a->device->refused[GEMEM_CALL_MALLOC], ==, 4);
  test_allocator_destroy (a);
}

static void
test_wrong (void)
{
  static const char *const wrong[][2] = { { "tf-bfc:limit=16", "16GiB" },
                                          { "tf-bfc:fragmentation_fraction=2", "large" },
                                          { "tf-bfc:allow_growth=2", "yes" },
                                          { "tf-bfc:limit=", "limit" },
                                          { "tf-bfc:allow_grow=yes", "allow_growth" } };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      g_autoptr (GError) error = NULL;

      g_assert_false (gemem_allocator_spec_parse (wrong[i][0], specs, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      if (strstr (error->message, wrong[i][1]) == NULL)
        g_error ("%s: %s", wrong[i][0], error->message);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tf-bfc/T1", test_t1_statistics);
  g_test_add_func ("/tf-bfc/T2", test_t2_coalescing);
  g_test_add_func ("/tf-bfc/T4", test_t4_regions);
  g_test_add_func ("/tf-bfc/T5", test_t5_growth);
  g_test_add_func ("/tf-bfc/T6", test_t6_split);
  g_test_add_func ("/tf-bfc/T7", test_t7_ties);
  g_test_add_func ("/tf-bfc/T8", test_t8_back_off);
  g_test_add_func ("/tf-bfc/wrong", test_wrong);
  return g_test_run ();
}
