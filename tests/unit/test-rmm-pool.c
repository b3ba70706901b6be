/* test-rmm-pool.c - `rmm-pool` against the worked examples R1 to R6 of peers.md 3.3, and wrong
 * settings. */
#include "config.h"

#include "allocators/allocator.h"
#include "tests/util/vectors.h"

#define NONE G_MAXUINT64
#define BASE G_GUINT64_CONSTANT (0x100000000000)
/* device allocations side by side, so that an offset in the pool is one from the base */
#define DEVICE "sim:base=0x100000000000,step=256,address=bump,capacity="

static void
assert_sound (GememAllocator *a)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (a->klass->check (a, &error));
}

/* Allocates @size bytes on @stream, which must lie @offset behind the device's base; NONE: must
 * fail. */
static GememBlock
get (GememAllocator *a, guint64 size, guint64 stream, guint64 offset)
{
  GememBlock block = { .address = NONE };
  const gboolean ok = a->klass->alloc (a, &(GememRequest){ size, stream, 0 }, &block);

  assert_sound (a);
  g_assert_cmpuint (ok ? block.address - BASE : NONE, ==, offset);
  return block;
}

static void
put (GememAllocator *a, GememBlock block)
{
  a->klass->free (a, &block, FALSE);
  assert_sound (a);
}

static void
append_span (const GememSpan *span, gpointer text)
{
  if (span->state == GEMEM_SPAN_FREE)
    g_string_append_printf (text, " %" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, span->address - BASE,
                            span->size);
}

/* The free blocks "OFFSET:SIZE ..." by address, and the bytes of the pool. */
static void
expect (GememAllocator *a, const char *blocks, guint64 pool)
{
  g_autoptr (GString) text = g_string_new (NULL);

  a->klass->walk (a, append_span, text);
  g_assert_cmpstr (g_strstrip (text->str), ==, blocks);
  g_assert_cmpuint (a->device->held, ==, pool);
}

static void
test_r1_halving (void)
{
  GememAllocator *a = test_allocator_new ("rmm-pool", DEVICE "6000");

  get (a, 1000, 0, 0);
  get (a, 4000, 0, 1024);
  expect (a, "", 5120);
  get (a, 500, 0, 5120);
  expect (a, "5632:128", 5760);
  g_assert_cmpuint (a->device->refused[GEMEM_CALL_MALLOC], ==, 3);
  get (a, 2000, 0, NONE);
  g_assert_cmpuint (a->device->refused[GEMEM_CALL_MALLOC], ==, 6);
  test_allocator_destroy (a);
}

static void
test_r2_maximum (void)
{
  GememAllocator *a = test_allocator_new ("rmm-pool:maximum=8192", DEVICE "6000");

  get (a, 1000, 0, 0);
  expect (a, "1024:3072", 4096);
  get (a, 4000, 0, NONE);
  get (a, 500, 0, 1024);
  get (a, 2000, 0, 1536);
  expect (a, "3584:512", 4096);
  test_allocator_destroy (a);
}

static void
test_r3_initial (void)
{
  GememAllocator *a = test_allocator_new ("rmm-pool:initial=1000192,maximum=1000192",
                                          DEVICE "1GiB");

  get (a, 1000, 7, 0);
  expect (a, "1024:999168", 1000192);
  test_allocator_destroy (a);
}

static void
test_r4_streams (void)
{
  GememAllocator *a = test_allocator_new ("rmm-pool:initial=4096", DEVICE "4096");
  GememBlock first = get (a, 1024, 1, 0), second = get (a, 1024, 2, 1024), third;

  put (a, first);
  put (a, second);
  expect (a, "0:1024 1024:1024 2048:2048", 4096); /* of three lists */
  third = get (a, 2000, 1, 2048);
  expect (a, "0:1024 1024:1024", 4096);
  get (a, 2048, 3, 0); /* the lists of streams 1 and 2 become one block of stream 3 */
  expect (a, "", 4096);
  put (a, third);
  test_allocator_destroy (a);
}

static void
test_r5_doubling (void)
{
  GememAllocator *a = test_allocator_new ("rmm-pool", DEVICE "1GiB");

  get (a, 300, 0, 0);
  get (a, 300, 0, 512);
  get (a, 1000, 0, 1024);
  get (a, 5000, 0, 2048);
  expect (a, "", 7168);
  get (a, 100, 0, 7168);
  expect (a, "7424:6912", 14336);
  test_allocator_destroy (a);
}

static void
test_r6_heads (void)
{
  GememAllocator *a = test_allocator_new ("rmm-pool:initial=1024B", DEVICE "1GiB");
  GememBlock first = get (a, 1024, 0, 0), second = get (a, 1024, 0, 1024);

  put (a, first);
  put (a, second);
  expect (a, "0:1024 1024:1024", 2048);
  get (a, 2048, 0, 2048);
  expect (a, "0:1024 1024:1024", 4096);
  test_allocator_destroy (a);
}

static void
test_wrong (void)
{
  static const char *const wrong[][2] = { { "rmm-pool:initial=1000031", "multiple of 256" },
                                          { "rmm-pool:maximum=1000200", "multiple of 256" },
                                          { "rmm-pool:initial=8192,maximum=4096",
                                            "above maximum_pool_size" },
                                          { "rmm-pool:initial=-5", "initial" },
                                          { "rmm-pool:maximum=", "maximum" } };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    test_allocator_refused (wrong[i][0], wrong[i][1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rmm-pool/R1", test_r1_halving);
  g_test_add_func ("/rmm-pool/R2", test_r2_maximum);
  g_test_add_func ("/rmm-pool/R3", test_r3_initial);
  g_test_add_func ("/rmm-pool/R4", test_r4_streams);
  g_test_add_func ("/rmm-pool/R5", test_r5_doubling);
  g_test_add_func ("/rmm-pool/R6", test_r6_heads);
  g_test_add_func ("/rmm-pool/wrong", test_wrong);
  return g_test_run ();
}
