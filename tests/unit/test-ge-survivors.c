/* test-ge-survivors.c - rules of GE's parts that mutations of the code broke while all other
 * tests passed: the order among equal blocks, the rounding of a session's addresses, variables'
 * own pages, the device calls of a stream's bins, when a pool stops searching its range, and
 * which pages are backed in place. See test-ge-corners.c for those of `ge` and `ge-streams`. */
#include "config.h"

#include "allocators/ge/stack.h"
#include "allocators/ge/variables.h"
#include "tests/util/ge-graphs.h"

#define PAGE (8 * MIB)
#define RANGES G_GUINT64_CONSTANT (0x200000000000) /* virtual addresses begin here */

/* Of blocks of the same size the older is filled first (3.3). */
static void
test_equal_blocks (void)
{
  GememAllocator *a = test_allocator_new ("ge-active:policy=2,rules=as-built",
                                          "sim:capacity=64MiB");
  const guint64 first = LOAD (a, 1, { 0, 4 * MIB, 0 }, { 4 * MIB + 512, 4 * MIB, 0 });

  g_assert_cmpuint (stat_of (a, "static.blocks"), ==, 2);
  g_assert_cmpuint (LOAD (a, 2, { 0, MIB, 0 }), ==, first);
  test_allocator_destroy (a);
}

/* Addresses are reserved in whole pages; a first request above the total, which is not rounded, is
 * never answered (5.9). */
static void
test_rounded_total (void)
{
  GememDevice *device = gemem_device_new ("sim:capacity=64MiB", NULL, 0, NULL);
  GeSessionRange range;
  GePages pages;

  gemem_ge_pages_init (&pages, device, GE_SMALL_PAGE, GE_1G_NO);
  gemem_ge_session_init (&range, &pages, 9 * MIB, TRUE);
  g_assert_cmpuint (gemem_ge_session_append (&range, 9 * MIB), ==, range.backing.base);
  g_assert_cmpuint (gemem_ge_session_append (&range, MIB + 1), ==, 0);
  g_assert_cmpuint (gemem_ge_session_append (&range, MIB), ==, range.backing.base + 9 * MIB);
  g_assert_cmpuint (gemem_ge_session_append (&range, 1), ==, 0);
  gemem_ge_session_reset (&range);
  g_assert_cmpuint (gemem_ge_session_append (&range, 9 * MIB + 1), ==, 0);
  g_assert_cmpuint (gemem_ge_session_append (&range, 1), ==, 0);
  g_assert_true (range.unsupported);
  gemem_ge_session_clear (&range);
  gemem_ge_pages_clear (&pages);
  gemem_device_destroy (device);
}

/* A page released because the next one was refused waits for its own address (7.4: reuse=false);
 * in other ranges pages are shared. */
static void
test_pages_of_variables (void)
{
  for (guint padded = 0; padded <= 1; padded++)
    {
      GememDevice *device = gemem_device_new ("faulty:call=create,nth=3,capacity=64MiB", NULL, 0,
                                              NULL);
      GeVariables variables;
      GememBlock block;

      gemem_ge_variables_init (&variables, device, GE_SMALL_PAGE, GE_1G_NO, 64 * MIB, padded);
      g_assert_true (gemem_ge_variables_alloc (&variables, MIB, 0, &block));
      /* the upper of the two pages exists */
      g_assert_false (gemem_ge_variables_alloc (&variables, 4 * MIB, 0, &block));
      g_assert_cmpuint (device->held, ==, 4 * MIB);
      g_assert_true (gemem_ge_variables_alloc (&variables, 2 * MIB, 0, &block));
      g_assert_cmpuint (device->held, ==, padded ? 6 * MIB : 4 * MIB);
      gemem_ge_variables_clear (&variables);
      g_assert_cmpuint (device->held, ==, 0);
      gemem_device_destroy (device);
    }
}

/* 6.1: a bare CachingAllocator asks the device twice; bound to a stream once, then once after
 * each step of the ladder: the own stream, each known one. */
static void
test_calls_of_bins (void)
{
  GememAllocator *bare = test_allocator_new ("ge-bins:npu=no", "sim:capacity=4MiB");
  GememAllocator *bound = test_allocator_new ("ge-bins:npu=yes", "sim:capacity=4MiB");
  GememBlock block;

  g_assert_false (bare->klass->alloc (bare, &(GememRequest){ .size = 6 * MIB }, &block));
  g_assert_cmpuint (calls (bare, GEMEM_CALL_MALLOC), ==, 2);
  g_assert_false (bound->klass->alloc (bound, &(GememRequest){ .size = 6 * MIB }, &block));
  g_assert_cmpuint (calls (bound, GEMEM_CALL_MALLOC), ==, 3);
  test_allocator_destroy (bare);
  test_allocator_destroy (bound);
}

/* ---- used pages in the way (5.4) */

/* Of the topmost 2 * @n pages of the range every second one is in use by a block elsewhere;
 * apart from that the range is one idle span. */
static GememAllocator *
with_obstacles (guint n)
{
  GememAllocator *a = test_allocator_new ("ge-expandable", "sim:capacity=64GiB");
  GememBlock block = request (a, 2 * n * PAGE, 0);
  GeRange *range = &gemem_ge_stack_find ((GeStack *) a, 0)->pool.expandable->range;

  a->klass->free (a, &block, FALSE);
  for (guint i = 1; i <= n; i++)
    {
      const guint32 record = range->n_records - 2 * i;

      g_assert_true (gemem_ge_range_claim (range, &record, 1));
    }
  return a;
}

/* After ten failed attempts whole spans are skipped, except the one at the beginning of the
 * range, which has the most space. */
static void
test_span_at_the_base (void)
{
  GememAllocator *a = with_obstacles (14);

  g_assert_cmpuint (request (a, 2 * PAGE, 0).address, >=, RANGES);
  g_assert_cmpuint (stat_of (a, "rts.occupied_size"), ==, 0);
  test_allocator_destroy (a);
}

/* The thousandth attempt is the last, both before and after the ladder. */
static void
test_thousand_attempts (void)
{
  for (guint n = 999; n <= 1000; n++)
    {
      GememAllocator *a = with_obstacles (n);
      GememBlock block;

      g_assert_cmpint (a->klass->alloc (a, &(GememRequest){ .size = 2 * PAGE }, &block), ==,
                       n == 999);
      g_assert_cmpuint (stat_of (a, "stream_syncs"), ==, n == 999 ? 0 : 1);
      test_allocator_destroy (a);
    }
}

/* ---- pages backed in place (5.3, 5.6) */

/* A page that lost its memory, also by a failure that undoes it, is backed in its place although
 * an idle page waits; for one that never had memory the idle page is gathered. */
static void
test_recycled (void)
{
  GememDevice *device = gemem_device_new ("sim:capacity=16MiB", NULL, 0, NULL);
  const guint64 taken = gemem_device_malloc (device, PAGE, 0);
  GeRange range = { 0 };
  GePages pages;
  guint64 reuse;

  gemem_ge_pages_init (&pages, device, PAGE, GE_1G_NO);
  g_assert_true (gemem_ge_range_init (&range, &pages, 4 * PAGE));
  g_assert_cmpint (gemem_ge_range_back (&range, range.base + 3 * PAGE, PAGE, &reuse), ==,
                   GE_BACKED);
  gemem_ge_range_unback (&range, range.base + 3 * PAGE, PAGE);
  gemem_ge_range_recycle (&range, range.base + 3 * PAGE, PAGE);
  /* the upper page existed */
  g_assert_cmpint (gemem_ge_range_back (&range, range.base + 2 * PAGE, 2 * PAGE, &reuse), ==,
                   GE_BACK_FAILED);
  gemem_device_free (device, taken, PAGE);
  g_assert_cmpint (gemem_ge_range_back (&range, range.base, PAGE, &reuse), ==, GE_BACKED);
  gemem_ge_range_unback (&range, range.base, PAGE);
  g_assert_cmpint (gemem_ge_range_back (&range, range.base + 3 * PAGE, PAGE, &reuse), ==,
                   GE_BACKED);
  g_assert_cmpint (gemem_ge_range_back (&range, range.base + PAGE, PAGE, &reuse), ==,
                   GE_BACK_NEW_VA);
  gemem_ge_range_clear (&range);
  gemem_ge_pages_clear (&pages);
  gemem_device_destroy (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-survivors/equal-blocks", test_equal_blocks);
  g_test_add_func ("/ge-survivors/rounded-total", test_rounded_total);
  g_test_add_func ("/ge-survivors/pages-of-variables", test_pages_of_variables);
  g_test_add_func ("/ge-survivors/calls-of-bins", test_calls_of_bins);
  g_test_add_func ("/ge-survivors/span-at-the-base", test_span_at_the_base);
  g_test_add_func ("/ge-survivors/thousand-attempts", test_thousand_attempts);
  g_test_add_func ("/ge-survivors/recycled", test_recycled);
  return g_test_run ();
}
