/* test-ge-pressure.c - the worked examples E25 to E28 of ge-runtime.md section 9 by name, and the
 * one of a small device: a pool with a virtual range whose device refuses pages; and a span that is
 * lost (5.4). */
#include "config.h"

#include "allocators/ge/stack.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define HIGH(low) (G_GUINT64_CONSTANT (0x200000000000) + (low))
#define NEW_VA HIGH (0x40000000) /* the first range of its own */
#define NONE 0                   /* refused */
#define SAME G_MAXUINT64         /* not given */
#define PAGE (8 * MIB)

/* Size 0: a block is freed.  MiB held from the device, and by the pool. */
typedef struct
{
  guint block;
  guint64 size, address, reserved, pool;
} Step;

static void
follow (guint64 total, guint64 capacity, const Step *steps, guint n)
{
  g_autofree char *spec = g_strdup_printf ("ge-expandable:total=%" G_GUINT64_FORMAT "MiB", total),
                  *device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT "MiB", capacity);
  GememAllocator *a = test_allocator_new (spec, device);
  GememBlock blocks[40];
  guint64 live = 0;

  for (guint i = 0; i < n; i++)
    {
      const Step *step = &steps[i];
      const GememRequest request = { .size = step->size * MIB };

      g_test_message ("step %u: block %u", i, step->block);
      if (step->size == 0)
        {
          a->klass->free (a, &blocks[step->block], FALSE);
          live--;
        }
      else if (a->klass->alloc (a, &request, &blocks[step->block]))
        {
          g_assert_cmphex (blocks[step->block].address, ==, step->address);
          live++;
        }
      else
        g_assert_cmphex (step->address, ==, NONE);
      if (step->reserved != SAME)
        g_assert_cmpuint (a->device->held, ==, step->reserved * MIB);
      if (step->pool != SAME)
        g_assert_cmpuint (test_allocator_stat (a, "pool"), ==, step->pool * MIB);
      g_assert_true (test_allocator_verify (a, live, G_MAXUINT64));
    }
  test_allocator_destroy (a);
}

/* Undo marks what it returns, so that it is backed in place where idle pages wait. */
static void
test_e25 (void)
{
  static const Step steps[] = {
    { 1, 20, HIGH (0x1cc00000), 24, 24 },
    { 2, 32, HIGH (0x1ac00000), 56, 56 },
    { 1, 0, 0, 56, 56 },
    { 3, 24, NEW_VA, 64, 64 },
    { 4, 40, HIGH (0x17800000), 104, 104 },
    { 5, 32, NONE, 128, 104 },
    { 3, 0, 0, 128, 104 },
    { 6, 24, HIGH (0x16000000), 128, 128 },
  };

  follow (512, 128, steps, G_N_ELEMENTS (steps));
}

/* Pages 29 to 20, 19 to 13, 29, and an idle rest: up to the request of 48 MiB that is refused. */
#define BEFORE_E26 \
  { 1, 76, HIGH (0xa400000), 80, 80 }, { 2, 56, HIGH (0x6c00000), 136, 136 }, \
      { 1, 0, 0, 136, 136 }, { 3, 8, HIGH (0xe800000), 136, 136 }, { 5, 96, NEW_VA, 168, 168 }, \
      { 3, 0, 0, 168, 168 }, { 7, 80, G_GUINT64_CONSTANT (0x100000000000), 248, 240 }, \
  { \
    8, 48, NONE, 256, SAME \
  }

/* The page that a refusal leaves as the last one does not exist, and is forgotten. */
static void
test_e26 (void)
{
  static const Step steps[] = {
    BEFORE_E26,
    { 5, 0, 0, 256, 240 },
    { 11, 56, HIGH (0xb800000), 256, 248 },
    { 11, 0, 0, 256, 248 },
    { 13, 80, HIGH (0x1c00000), 256, 224 },
  };

  follow (256, 256, steps, G_N_ELEMENTS (steps));
}

/* It exists later, at another place: an error although the device has memory. */
static void
test_e27 (void)
{
  static const Step steps[] = {
    BEFORE_E26,
    { 7, 0, 0, 256, 240 },
    { 2, 0, 0, 256, 240 },
    { 9, 120, NONE, 176, SAME },
    { 5, 0, 0, 176, 104 },
    { 11, 56, HIGH (0xb800000), 176, 104 },
    { 12, 72, HIGH (0x7000000), 176, 160 },
    { 13, 80, NONE, 184, SAME },
  };

  follow (256, 256, steps, G_N_ELEMENTS (steps));
}

/* Gathered pages keep their memory after a refusal, on no stack. */
static void
test_e28 (void)
{
  static const Step steps[] = {
    { 1, 32, HIGH (0x14800000), 32, 32 },
    { 2, 8, HIGH (0x14000000), 40, 40 },
    { 3, 32, HIGH (0x12000000), 72, 72 },
    { 4, 24, HIGH (0x10800000), 96, 96 },
    { 5, 20, HIGH (0xf400000), 120, 120 },
    { 10, 16, HIGH (0xe400000), 136, 136 },
    { 11, 40, HIGH (0xbc00000), 176, 176 },
    { 10, 0, 0, 176, 176 },
    { 13, 32, NEW_VA, 200, 200 },
    { 28, 16, HIGH (0x9000000), 216, 216 },
    { 29, 16, HIGH (0x8000000), 232, 232 },
    { 35, 32, HIGH (0x6000000), 264, 264 },
    { 36, 32, NONE, 288, SAME },
    { 13, 0, 0, 288, 264 },
    { 37, 32, NEW_VA, 288, 288 },
    { 38, 32, NONE, 288, SAME },
    { 37, 0, 0, 288, 288 },
    { 39, 32, NEW_VA, 288, 288 },
  };

  follow (384, 288, steps, G_N_ELEMENTS (steps));
}

/* Without the mark of E25 the request of 10 MiB is a new-VA block. */
static void
test_small_device (void)
{
  static const Step steps[] = {
    { 1, 24, HIGH (0x1c800000), SAME, SAME },
    { 2, 29, HIGH (0x1ab00000), SAME, SAME },
    { 3, 4, HIGH (0x1a700000), SAME, SAME },
    { 4, 27, HIGH (0x18c00000), SAME, SAME },
    { 5, 4, HIGH (0x18800000), SAME, SAME },
    { 6, 2, HIGH (0x18600000), SAME, SAME },
    { 1, 0, 0, SAME, SAME },
    { 4, 0, 0, SAME, SAME },
    { 7, 29, NEW_VA, SAME, SAME },
    { 8, 15, NONE, SAME, SAME },
    { 2, 0, 0, SAME, SAME },
    { 9, 10, HIGH (0x1c400000), SAME, SAME },
    { 10, 6, HIGH (0x1be00000), SAME, SAME },
  };

  follow (512, 96, steps, G_N_ELEMENTS (steps));
}

/* ---- 5.4: more in the way than there is */

static GeSpan *
serve (GememAllocator *a, guint64 size)
{
  GememBlock block;

  g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = size }, &block));
  return block.handle;
}

/* The block of @span becomes hidden, as that of a new-VA block is: its pages have no user. */
static void
hide (GeRange *range, GeSpan *span)
{
  span->hidden = TRUE;
  gemem_ge_range_unback (range, span->address, gemem_ge_span_bytes (span));
}

/* Between two hidden spans lies one of 13 MiB, on 4 MiB of the topmost page, all of the next, which
 * is shown elsewhere, and 1 MiB of the third, which has no memory: two whole pages are in the way.
 * The span is neither held nor idle after that. */
static void
test_lost_span (void)
{
  GememAllocator *a = test_allocator_new ("ge-expandable", "sim:capacity=64GiB");
  GeSpan *above = serve (a, 4 * MIB), *between = serve (a, 13 * MIB), *below = serve (a, 7 * MIB);
  GeSpanPool *pool = &gemem_ge_stack_find ((GeStack *) a, 0)->pool;
  GeRange *range = &pool->expandable->range;
  const guint32 shown = range->n_records - 2;
  const guint64 lost = between->address, third = range->base + (shown - 1) * PAGE;

  gemem_ge_stack_free (&((GeStack *) a)->base,
                       &(GememBlock){ .address = lost, .size = 13 * MIB, .handle = between },
                       FALSE);
  hide (range, above);
  hide (range, below);
  gemem_ge_range_recycle (range, third, PAGE);
  pool->obtained -= PAGE;
  pool->theory_min = range->theory_min = GIB; /* so that no idle page is gathered (5.3) */
  g_assert_true (gemem_ge_range_claim (range, &shown, 1));
  for (guint i = 1; i <= 2; i++)
    g_assert_cmphex (serve (a, 13 * MIB)->address, ==, third - i * 13 * MIB);
  gemem_ge_range_unclaim (range, &shown, 1);
  g_assert_cmpuint (pool->idle_pages, ==,
                    (range->size - (4 + 13 + 7 + 13 + 13) * MIB) >> pool->config.page_shift);
  g_assert_cmphex (serve (a, 13 * MIB)->address, ==, third - 3 * 13 * MIB);
  test_allocator_destroy (a);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-pressure/E25", test_e25);
  g_test_add_func ("/ge-pressure/E26", test_e26);
  g_test_add_func ("/ge-pressure/E27", test_e27);
  g_test_add_func ("/ge-pressure/E28", test_e28);
  g_test_add_func ("/ge-pressure/small-device", test_small_device);
  g_test_add_func ("/ge-pressure/lost-span", test_lost_span);
  return g_test_run ();
}
