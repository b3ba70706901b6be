/* test-cupy-pool.c - `cupy-pool` against the worked examples of peers.md 1i.1. */
#include "config.h"

#include "allocators/allocator.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)
#define NONE G_MAXUINT64

/* An allocator as in the examples, on a device whose addresses begin at BASE in steps of 2 MiB. */
static GememAllocator *
cupy (const char *settings)
{
  g_autofree char *spec = g_strconcat ("cupy-pool", settings, NULL);

  return test_allocator_new (spec, "sim:base=0x100000000000,step=2MiB,address=bump,capacity=1GiB");
}

static GememBlock
want (GememAllocator *a, guint64 size, guint64 offset)
{
  const GememRequest request = { .size = size };
  GememBlock block = { .address = NONE };

  if (!a->klass->alloc (a, &request, &block))
    block.address = NONE;
  g_assert_true (a->klass->check (a, NULL));
  g_assert_cmpuint (block.address, ==, offset == NONE ? NONE : BASE + offset);
  return block;
}

static void
drop (GememAllocator *a, GememBlock block, guint64 held)
{
  a->klass->free (a, &block, FALSE);
  g_assert_true (a->klass->check (a, NULL));
  g_assert_cmpuint (a->device->held, ==, held);
}

static void
test_cut_and_whole (void)
{
  GememAllocator *a = cupy ("");
  GememBlock first = want (a, 1000, 0), second = want (a, 5000, 2 * MIB), third, fourth;

  g_assert_cmpuint (second.size, ==, 5120);
  drop (a, second, 6144);
  third = want (a, 1024, 2 * MIB);
  fourth = want (a, 2000, 2 * MIB + 0x400);
  g_assert_cmpuint (fourth.size, ==, 2048);
  drop (a, third, 6144);
  a->klass->trim (a); /* a cut buffer stays */
  drop (a, fourth, 6144);
  a->klass->trim (a);
  drop (a, first, 1024);
  test_allocator_destroy (a);
}

static void
test_limit (void)
{
  GememAllocator *a = cupy (":limit=6000");

  want (a, 1000, 0);
  want (a, 5000, NONE);
  want (a, 1024, 2 * MIB);
  g_assert_cmpuint (a->device->held, ==, 2048);
  test_allocator_destroy (a);
}

/* CuPy 13 returns what is idle all the same. */
static void
test_above_the_limit_before (void)
{
  GememAllocator *a = cupy (":limit=4000B,version=13.6");

  drop (a, want (a, 3584, 0), 3584);
  want (a, 5000, NONE);
  g_assert_cmpuint (a->device->held, ==, 0);
  test_allocator_destroy (a);
}

/* Which of two chunks of equal size: the lowest, or that of the recording, where it has one of them. */
static void
test_ties (void)
{
  for (guint i = 0; i < 4; i++)
    {
      static const guint64 recorded[] = { 0, 4 * MIB, 2 * MIB, 4 * MIB },
                           chosen[] = { 0, 4 * MIB, 0, 0 };
      GememAllocator *a = cupy (i == 3 ? "" : ":tie=recorded");
      GememBlock low = want (a, 1000, 0), block;
      const GememRequest request = { .size = 1000, .address = BASE + recorded[i] };

      want (a, 2048, 2 * MIB);
      block = want (a, 1000, 4 * MIB);
      drop (a, low, 4096);
      drop (a, block, 4096);
      g_assert_true (a->klass->alloc (a, &request, &block));
      g_assert_cmpuint (block.address, ==, BASE + chosen[i]);
      test_allocator_destroy (a);
    }
}

/* A request above the limit returns nothing; idle buffers serve later ones. */
static void
test_above_the_limit (void)
{
  GememAllocator *a = cupy (":limit=4000B");

  drop (a, want (a, 3584, 0), 3584);
  want (a, 5000, NONE);
  g_assert_cmpuint (a->device->held, ==, 3584);
  want (a, 1000, 0);
  want (a, 2000, 1024);
  want (a, 1000, NONE);
  test_allocator_destroy (a);
}

/* Another stream's chunks are not used, but what is idle is returned for its sake. */
static void
test_streams (void)
{
  GememAllocator *a = cupy (":limit=4MiB");
  GememBlock block = want (a, 3 * MIB, 0);
  const GememRequest other = { .size = 2 * MIB, .stream = 7 };

  drop (a, block, 3 * MIB);
  g_assert_true (a->klass->alloc (a, &other, &block));
  g_assert_cmpuint (a->device->held, ==, 2 * MIB);
  g_assert_cmpuint (a->retries, ==, 1);
  test_allocator_destroy (a);
}

/* What CuPy 14.2 answered (get_limit) after CUPY_GPU_MEMORY_LIMIT or set_limit(fraction=...) on
 * devices of these sizes: a byte less than the exact part, which a request of that part notices. */
static void
test_parts (void)
{
  static const struct
  {
    const char *percent;
    guint64 capacity, limit;
  } rows[] = {
    { "33.3%", 24000000000, 7991999999 },   { "69.0%", 24000000000, 16559999999 },
    { "1.94512%", 24000000000, 466828799 }, { "68.6%", 24000000000, 16463999999 },
    { "79.3%", 80000000000, 63439999999 },  { "15.54%", 80000000000, 12431999999 },
    { "50%", 24000000000, 12000000000 },    { "6e1 %", 24000000000, 14400000000 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *spec = g_strconcat ("cupy-pool:limit=", rows[i].percent, NULL);
      g_autofree char *device = g_strdup_printf (
          "sim:base=0x100000000000,step=2MiB,address=bump,capacity=%" G_GUINT64_FORMAT "B",
          rows[i].capacity);
      GememAllocator *a = test_allocator_new (spec, device);
      const guint64 whole = rows[i].limit / 512 * 512;

      want (a, whole + 512, NONE);
      drop (a, want (a, whole, 0), whole);
      test_allocator_destroy (a);
    }
}

static void
test_no_parts (void)
{
  static const char *const texts[] = { "101%", "-1%", "nan%", "inf%", "33,3%", "%" };
  GememDevice *device = gemem_device_new ("sim", "capacity=1GiB", 0, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      g_autofree char *text = g_strconcat ("cupy-pool:limit=", texts[i], NULL);
      g_autoptr (GError) error = NULL;

      g_assert_true (!gemem_allocator_spec_parse (text, specs, &error)
                     || gemem_allocator_new (specs->pdata[0], NULL, device, &error) == NULL);
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
    }
  gemem_device_destroy (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cupy-pool/1", test_cut_and_whole);
  g_test_add_func ("/cupy-pool/2", test_limit);
  g_test_add_func ("/cupy-pool/3", test_above_the_limit);
  g_test_add_func ("/cupy-pool/parts", test_parts);
  g_test_add_func ("/cupy-pool/no-parts", test_no_parts);
  g_test_add_func ("/cupy-pool/before", test_above_the_limit_before);
  g_test_add_func ("/cupy-pool/ties", test_ties);
  g_test_add_func ("/cupy-pool/streams", test_streams);
  return g_test_run ();
}
