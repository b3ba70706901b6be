/* test-paddle-auto-growth.c - PaddlePaddle's auto_growth: the worked examples E11-E15 of paddle.md
 * by name, then streams, small and large pools, the out-of-memory ladder, and refusals.
 *
 * Cn below is the n-th device allocation; the device places each on the next 2 MiB boundary
 * (address=bump).
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)
#define C(n) (BASE + (n) *2 * GEMEM_MIB)

static gboolean
try_on (GememAllocator *allocator, guint64 stream, guint64 size, GememBlock *block)
{
  const GememRequest request = { .size = size, .stream = stream };

  return allocator->klass->alloc (allocator, &request, block);
}

/* A block of @size bytes on @stream, which must lie at @address and be @rounded bytes long. */
static GememBlock
take_on (GememAllocator *allocator, guint64 stream, guint64 size, guint64 address, guint64 rounded)
{
  GememBlock block;

  g_assert_true (try_on (allocator, stream, size, &block));
  g_assert_cmphex (block.address, ==, address);
  g_assert_cmpuint (block.size, ==, rounded);
  return block;
}

static GememBlock
take (GememAllocator *allocator, guint64 size, guint64 address, guint64 rounded)
{
  return take_on (allocator, 0, size, address, rounded);
}

static void
give (GememAllocator *allocator, GememBlock block)
{
  allocator->klass->free (allocator, &block, FALSE);
}

static void
add_free (const GememSpan *span, gpointer data)
{
  if (span->state == GEMEM_SPAN_FREE)
    g_string_append_printf (
        data, "(C%" G_GUINT64_FORMAT "+0x%" G_GINT64_MODIFIER "x,%" G_GUINT64_FORMAT ")",
        (span->segment - BASE) / (2 * MIB), span->address - span->segment, span->size);
}

/* The free blocks in address order, reserved bytes, and all invariants. */
static void
expect_state (GememAllocator *allocator, const char *pool, guint64 reserved)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  allocator->klass->walk (allocator, add_free, text);
  g_assert_cmpstr (text->str, ==, pool);
  g_assert_cmpuint (allocator->device->held, ==, reserved);
  allocator->klass->check (allocator, &error);
  g_assert_no_error (error);
}

/* ---- worked examples */

static void
test_e11 (gconstpointer preset)
{
  g_autofree char *spec = g_strdup_printf ("paddle-auto-growth:preset=%s,chunk_mb=0",
                                           (const char *) preset);
  GememAllocator *growth = test_allocator_new (spec, "sim:capacity=1GiB");
  GememBlock a = take (growth, 1000, C (0), 1024), b = take (growth, 5000, C (1), 5120), d, e;

  take (growth, 300, C (2), 512);
  expect_state (growth, "", 6656);
  give (growth, b);
  b = take (growth, 1000, C (1) + 0x1000, 1024); /* from the END */
  expect_state (growth, "(C1+0x0,4096)", 6656);
  d = take (growth, 3000, C (1) + 0x400, 3072);
  expect_state (growth, "(C1+0x0,1024)", 6656);
  e = take (growth, 1024, C (1), 1024);
  expect_state (growth, "", 6656);
  give (growth, d);
  expect_state (growth, "(C1+0x400,3072)", 6656);
  give (growth, b);
  expect_state (growth, "(C1+0x400,4096)", 6656);
  give (growth, e);
  give (growth, a);
  expect_state (growth, "(C0+0x0,1024)(C1+0x0,5120)", 6656);
  growth->klass->trim (growth);
  expect_state (growth, "", 512);
  test_allocator_destroy (growth);
}

static void
test_e12 (void)
{
  GememAllocator *growth = test_allocator_new (
      "paddle-auto-growth:FLAGS_auto_growth_chunk_size_in_mb=1", "sim:capacity=1GiB");
  GememBlock a = take (growth, 1000, C (0) + 0xffc00, 1024);

  take (growth, 2000, C (0) + 0xff400, 2048);
  take (growth, 1048577, C (1), 1048832);
  expect_state (growth, "(C0+0x0,1045504)", 2097408);
  give (growth, a);
  expect_state (growth, "(C0+0x0,1045504)(C0+0xffc00,1024)", 2097408);
  take (growth, 512, C (0) + 0xffe00, 512);
  expect_state (growth, "(C0+0x0,1045504)(C0+0xffc00,512)", 2097408);
  test_allocator_destroy (growth);
}

static void
test_e13 (void)
{
  GememAllocator *growth = test_allocator_new ("paddle-auto-growth:preset=P16",
                                               "sim:capacity=1GiB");

  take (growth, 1000, C (0) + 0x100, 1024);
  expect_state (growth, "(C0+0x0,256)", 1280);
  take (growth, 200, C (0), 256);
  expect_state (growth, "", 1280);
  take (growth, 256, C (1) + 0x100, 256);
  expect_state (growth, "(C1+0x0,256)", 1792);
  test_allocator_destroy (growth);
}

static void
test_e14 (gconstpointer flag)
{
  static const guint64 sizes[] = { 4096, 4608, 5120 };
  static const guint64 without[] = { 4352, 9216, 5376 }, with[] = { 4352, 4864, 5376 };
  const gboolean set = g_str_equal (flag, "true");
  g_autofree char *spec = g_strdup_printf (
      "paddle-auto-growth:preset=P16,free_when_no_cache_hit=%s", (const char *) flag);
  GememAllocator *growth = test_allocator_new (spec, "sim:capacity=11264");

  for (guint i = 0; i < 3; i++)
    {
      GememBlock block;

      g_assert_true (try_on (growth, 0, sizes[i], &block));
      give (growth, block);
      g_assert_cmpuint (growth->device->held, ==, set ? with[i] : without[i]);
    }
  g_assert_cmpuint (growth->retries, ==, set ? 0 : 1);
  g_assert_cmpuint (growth->device->refused[GEMEM_CALL_MALLOC], ==, set ? 0 : 1);
  test_allocator_destroy (growth);
}

static void
test_e15 (gconstpointer flag)
{
  const gboolean set = g_str_equal (flag, "true");
  g_autofree char *spec = g_strdup_printf (
      "paddle-auto-growth:preset=P16,alignment=4096,free_idle_chunk=%s", (const char *) flag);
  GememAllocator *growth = test_allocator_new (spec, "sim:capacity=1GiB");

  for (guint i = 0; i < 10; i++)
    {
      GememBlock block = take (growth, 8192, C (i) + 4096, 8192);

      g_assert_cmpuint (growth->device->held, ==, 12288);
      give (growth, block);
      g_assert_cmpuint (growth->device->held, ==, set ? 0 : 12288);
      growth->klass->trim (growth);
      g_assert_cmpuint (growth->device->held, ==, 0);
    }
  test_allocator_destroy (growth);
}

/* ---- streams */

/* Since P2 each stream has its own chunks; before, all streams share them. */
static void
test_streams (void)
{
  GememAllocator *p2 = test_allocator_new ("paddle-auto-growth:preset=P2", "sim:capacity=1GiB");
  GememAllocator *p16 = test_allocator_new ("paddle-auto-growth:preset=P16", "sim:capacity=1GiB");
  GememBlock block = take_on (p2, 0, 4096, C (0), 4096);

  give (p2, block);
  g_assert_cmpuint (p2->klass->largest_free (p2, 0), ==, 4096);
  g_assert_cmpuint (p2->klass->largest_free (p2, 7), ==, 0);
  block = take_on (p2, 7, 4096, C (1), 4096);
  take_on (p2, 0, 4096, C (0), 4096);
  give (p2, block); /* freed to its own stream */
  take_on (p2, 0, 512, C (2), 512);
  take_on (p2, 7, 512, C (1) + 3584, 512);
  expect_state (p2, "(C1+0x0,3584)", 8704);
  g_assert_cmpuint (p2->klass->largest_free (p2, 7), ==, 3584);

  block = take_on (p16, 0, 4096, C (0) + 256, 4096);
  give (p16, block);
  take_on (p16, 7, 4096, C (0) + 256, 4096);
  test_allocator_destroy (p2);
  test_allocator_destroy (p16);
}

/* Out of memory on one stream releases the idle chunks of all streams, but only if those of its
 * own do not suffice. */
static void
test_memory_of_other_streams (void)
{
  GememAllocator *growth = test_allocator_new ("paddle-auto-growth:preset=P3",
                                               "sim:capacity=10MiB");
  GememBlock a = take_on (growth, 1, 4 * MIB, C (0), 4 * MIB),
             b = take_on (growth, 2, 4 * MIB, C (2), 4 * MIB);

  give (growth, a);
  give (growth, b);
  take_on (growth, 2, 5 * MIB, C (4), 5 * MIB); /* stream 2 releases its own 4 MiB */
  expect_state (growth, "(C0+0x0,4194304)", 9 * MIB);
  g_assert_cmpuint (growth->retries, ==, 1);
  take_on (growth, 3, 5 * MIB, C (7), 5 * MIB); /* stream 3 has none: stream 1 releases */
  expect_state (growth, "", 10 * MIB);
  g_assert_cmpuint (growth->retries, ==, 2);
  test_allocator_destroy (growth);
}

/* Best fit tries twice below StreamSafe, StreamSafe twice below Retry: eight calls before a
 * request fails; four without Retry. */
static void
test_refused_calls (void)
{
  static const struct
  {
    const char *spec;
    guint64 refused, waited;
  } rows[] = {
    { "paddle-auto-growth:preset=P16", 4, G_GUINT64_CONSTANT (10000000000) },
    { "paddle-auto-growth:preset=P16,gpu_allocator_retry_time=0", 2, 0 },
    { "paddle-auto-growth:preset=P3", 8, G_GUINT64_CONSTANT (10000000000) },
    { "paddle-auto-growth:preset=P3,gpu_allocator_retry_time=0", 4, 0 },
    { "paddle-auto-growth:preset=P3,gpu_allocator_retry_time=0,free_when_no_cache_hit=1", 2, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GememAllocator *growth = test_allocator_new (rows[i].spec, "sim:capacity=1MiB");
      const guint64 before = growth->device->now;
      GememBlock block;

      g_assert_false (try_on (growth, 0, 2 * MIB, &block));
      g_assert_cmpuint (growth->device->refused[GEMEM_CALL_MALLOC], ==, rows[i].refused);
      g_assert_cmpuint (growth->device->now - before, >=, rows[i].waited);
      g_assert_cmpuint (growth->retries, ==, 0);
      expect_state (growth, "", 0);
      test_allocator_destroy (growth);
    }
}

static void
test_memory_limit (void)
{
  GememAllocator *growth = test_allocator_new ("paddle-auto-growth:gpu_memory_limit_mb=8",
                                               "sim:capacity=1GiB");
  GememBlock a = take (growth, 5 * MIB, C (0), 5 * MIB), b;

  g_assert_false (try_on (growth, 0, 3 * MIB + 1, &b));
  b = take (growth, 3 * MIB, C (3), 3 * MIB);
  give (growth, a);
  take (growth, 5 * MIB - 1, C (0), 5 * MIB);
  give (growth, b);
  test_allocator_destroy (growth);
}

/* ---- pools of P3 */

static void
test_small_and_large_pool (void)
{
  GememAllocator *growth = test_allocator_new (
      "paddle-auto-growth:small_pool_size_in_mb=1,small_pool_auto_growth_chunk_size_in_mb=2,"
      "large_pool_auto_growth_chunk_size_in_mb=20",
      "sim:capacity=1GiB");
  GememBlock a = take (growth, MIB, C (0) + MIB, MIB), b;

  /* one byte more: the large pool */
  b = take (growth, MIB + 1, C (1) + 20 * MIB - MIB - 256, MIB + 256);
  expect_state (growth, "(C0+0x0,1048576)(C1+0x0,19922688)", 22 * MIB);
  g_assert_cmpuint (growth->klass->largest_free (growth, 0), ==, 19922688);
  take (growth, 19922688, C (1), 19922688);
  g_assert_cmpuint (growth->klass->largest_free (growth, 0), ==, MIB);
  take (growth, 512 * 1024, C (0) + 512 * 1024, 512 * 1024);
  give (growth, a);
  /* a block of the large pool is not used for a small request, although it fits */
  give (growth, b);
  take (growth, 600 * 1024, C (0) + 2 * MIB - 600 * 1024, 600 * 1024);
  take (growth, 600 * 1024, C (11) + 2 * MIB - 600 * 1024, 600 * 1024);
  g_assert_cmpuint (growth->device->held, ==, 24 * MIB);
  test_allocator_destroy (growth);
}

/* A rest of the large pool of at most the small size is used for no request. */
static void
test_largest_of_two_pools (void)
{
  GememAllocator *growth = test_allocator_new ("paddle-auto-growth:small_pool_size_in_mb=1",
                                               "sim:capacity=1GiB");
  GememBlock a = take (growth, 2 * MIB, C (0), 2 * MIB), b = take (growth, 4096, C (1), 4096);

  give (growth, a);
  take (growth, 2 * MIB - 4096, C (0) + 4096, 2 * MIB - 4096);
  expect_state (growth, "(C0+0x0,4096)", 2 * MIB + 4096);
  g_assert_cmpuint (growth->klass->largest_free (growth, 0), ==, 0);
  give (growth, b);
  g_assert_cmpuint (growth->klass->largest_free (growth, 0), ==, 4096);
  test_allocator_destroy (growth);
}

static void
test_pre_allocation (void)
{
  GememAllocator *growth = test_allocator_new (
      "paddle-auto-growth:small_pool_size_in_mb=1,small_pool_pre_alloc_in_mb=2,"
      "large_pool_pre_alloc_in_mb=6,gpu_allocator_retry_time=0",
      "sim:capacity=15MiB");
  GememBlock block;

  g_assert_cmpuint (growth->device->held, ==, 0);
  take (growth, 1000, C (0) + 2 * MIB - 1024, 1024);
  expect_state (growth, "(C0+0x0,2096128)(C1+0x0,6291456)", 8 * MIB);
  take (growth, 2 * MIB, C (3), 2 * MIB);
  /* memory for stream 5's small chunk only: it gets neither chunk */
  g_assert_false (try_on (growth, 5, 1000, &block));
  g_assert_cmpuint (growth->device->held, ==, 8 * MIB);
  expect_state (growth, "(C0+0x0,2096128)(C1+0x0,4194304)", 8 * MIB);
  test_allocator_destroy (growth);
}

/* ---- bad input */

static void
test_hostile_sizes (void)
{
  static const guint64 sizes[] = { G_MAXUINT64,       G_MAXUINT64 - 255, G_MAXUINT64 - 256,
                                   G_MAXUINT64 - 512, G_MAXUINT64 - 513, G_MAXINT64 };
  static const char *const specs[] = { "paddle-auto-growth:preset=P16",
                                       "paddle-auto-growth:preset=P3,alignment=1GiB" };

  for (guint s = 0; s < G_N_ELEMENTS (specs); s++)
    {
      GememAllocator *growth = test_allocator_new (specs[s], "sim:capacity=1GiB");
      GememBlock block = take (growth, 0, 0, 0);

      give (growth, block);
      for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
        g_assert_false (try_on (growth, 0, sizes[i], &block));
      expect_state (growth, "", 0);
      test_allocator_destroy (growth);
    }
}

static void
test_refusals (void)
{
  static const struct
  {
    const char *spec, *part;
  } rows[] = {
    { "paddle-auto-growth:preset=P16,chunk_mb=1",
      "auto_growth_chunk_size_in_mb would have no effect" },
    { "paddle-auto-growth:chunk_mb=1,small_pool_size_in_mb=1", "auto_growth_chunk_size_in_mb" },
    { "paddle-auto-growth:preset=P2,small_pool_size_in_mb=1", "version=3.x" },
    { "paddle-auto-growth:small_pool_auto_growth_chunk_size_in_mb=1", "small_pool_size_in_mb" },
    { "paddle-auto-growth:large_pool_auto_growth_chunk_size_in_mb=1", "small_pool_size_in_mb" },
    { "paddle-auto-growth:small_pool_pre_alloc_in_mb=1", "small_pool_size_in_mb" },
    { "paddle-auto-growth:large_pool_pre_alloc_in_mb=1", "small_pool_size_in_mb" },
    { "paddle-auto-growth:alignment=768", "power of two" },
    { "paddle-auto-growth:chunk_mb=17592186044415", "8 EiB" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);
      g_autoptr (GError) error = NULL;

      gemem_allocator_spec_parse (rows[i].spec, specs, &error);
      g_assert_no_error (error);
      g_assert_null (gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, device, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      if (strstr (error->message, rows[i].part) == NULL)
        g_error ("%s: no '%s' in: %s", rows[i].spec, rows[i].part, error->message);
      gemem_device_destroy (device);
    }
}

/* ---- random requests on four streams, with all invariants after each */

static void
test_random (gconstpointer spec)
{
  GememAllocator *growth = test_allocator_new (spec, "sim:capacity=8MiB");
  GememBlock live[200];
  guint64 state = 20260101, bytes = 0;
  guint n = 0, failures = 0;

  for (guint i = 0; i < 5000; i++)
    {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const gboolean full = n == G_N_ELEMENTS (live);

      if (!full && (n == 0 || state % 5 < 3))
        {
          const guint64 size = 1 + (state >> 20) % (1 << (4 + state % 19));

          if (try_on (growth, (state >> 50) % 4, size, &live[n]))
            {
              g_assert_cmpuint (live[n].size, >=, size);
              g_assert_cmpuint (live[n].address % 256, ==, 0);
              bytes += live[n++].size;
            }
          else
            failures++;
        }
      else
        {
          const guint victim = (guint) ((state >> 40) % n);

          bytes -= live[victim].size;
          give (growth, live[victim]);
          live[victim] = live[--n];
        }
      if (i % 500 == 0)
        growth->klass->trim (growth);
      g_assert_true (test_allocator_verify (growth, n, bytes));
    }
  g_assert_cmpuint (failures, >, 0);
  test_allocator_destroy (growth);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/paddle/auto-growth/E11/P2", "P2", test_e11);
  g_test_add_data_func ("/paddle/auto-growth/E11/P3", "P3", test_e11);
  g_test_add_data_func ("/paddle/auto-growth/E11/vector-name", "P2/P3", test_e11);
  g_test_add_func ("/paddle/auto-growth/E12", test_e12);
  g_test_add_func ("/paddle/auto-growth/E13", test_e13);
  g_test_add_data_func ("/paddle/auto-growth/E14/false", "false", test_e14);
  g_test_add_data_func ("/paddle/auto-growth/E14/true", "true", test_e14);
  g_test_add_data_func ("/paddle/auto-growth/E15/false", "false", test_e15);
  g_test_add_data_func ("/paddle/auto-growth/E15/true", "true", test_e15);
  g_test_add_func ("/paddle/auto-growth/streams", test_streams);
  g_test_add_func ("/paddle/auto-growth/memory-of-other-streams", test_memory_of_other_streams);
  g_test_add_func ("/paddle/auto-growth/refused-calls", test_refused_calls);
  g_test_add_func ("/paddle/auto-growth/memory-limit", test_memory_limit);
  g_test_add_func ("/paddle/auto-growth/small-and-large-pool", test_small_and_large_pool);
  g_test_add_func ("/paddle/auto-growth/largest-of-two-pools", test_largest_of_two_pools);
  g_test_add_func ("/paddle/auto-growth/pre-allocation", test_pre_allocation);
  g_test_add_func ("/paddle/auto-growth/hostile-sizes", test_hostile_sizes);
  g_test_add_func ("/paddle/auto-growth/refusals", test_refusals);
  g_test_add_data_func ("/paddle/auto-growth/random/P16",
                        "paddle-auto-growth:preset=P16,alignment=4096", test_random);
  g_test_add_data_func ("/paddle/auto-growth/random/P2",
                        "paddle-auto-growth:preset=P2,chunk_mb=1,free_when_no_cache_hit=1",
                        test_random);
  g_test_add_data_func ("/paddle/auto-growth/random/P3", "paddle-auto-growth:free_idle_chunk=1",
                        test_random);
  g_test_add_data_func (
      "/paddle/auto-growth/random/pools",
      "paddle-auto-growth:small_pool_size_in_mb=64KiB,small_pool_pre_alloc_in_mb=1,"
      "large_pool_auto_growth_chunk_size_in_mb=2",
      test_random);
  return g_test_run ();
}
