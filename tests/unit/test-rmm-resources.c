/* test-rmm-resources.c - `rmm-arena`, `rmm-binning`, `rmm-fixed-size`, `rmm-limiting` and upstreams
 * against worked examples R7 to R13 of peers.md 3.3, and wrong settings. */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define NONE G_MAXUINT64
#define BASE G_GUINT64_CONSTANT (0x100000000000)
/* device allocations side by side, so that an offset in the first is one from the base */
#define DEVICE "sim:base=0x100000000000,step=256,address=bump,capacity="

static GememBlock
get (GememAllocator *a, guint64 size, guint64 stream, guint64 offset)
{
  GememBlock block = { .address = NONE };
  const gboolean ok = a->klass->alloc (a, &(GememRequest){ size, stream, 0 }, &block);

  g_assert_true (a->klass->check (a, NULL));
  g_assert_cmpuint (ok ? block.address - BASE : NONE, ==, offset);
  return block;
}

static void
put (GememAllocator *a, GememBlock block)
{
  a->klass->free (a, &block, FALSE);
  g_assert_true (a->klass->check (a, NULL));
}

static void
put_on (GememAllocator *a, GememBlock block, guint64 stream)
{
  a->klass->streams.free (a, &block, stream);
  put (a, block);
}

static void
append_span (const GememSpan *span, gpointer text)
{
  static const char *const states[] = {
    [GEMEM_SPAN_LIVE] = "live", [GEMEM_SPAN_FREE] = "free", [GEMEM_SPAN_OVERHEAD] = "lost"
  };

  g_string_append_printf (text, " %" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT "%s",
                          span->address - BASE, span->size, states[span->state]);
}

static void
expect_walk (GememAllocator *a, const char *spans)
{
  g_autoptr (GString) text = g_string_new (NULL);

  a->klass->walk (a, append_span, text);
  g_assert_cmpstr (g_strstrip (text->str), ==, spans);
}

/* Destroys @a, whose live blocks must return to the device too. */
static void
finish (GememAllocator *a)
{
  GememDevice *device = a->device;

  gemem_allocator_destroy (a);
  g_assert_cmpuint (device->held, ==, 0);
  g_assert_cmpuint (device->misuses, ==, 0);
  gemem_device_destroy (device);
}

static void
test_fixed_size (void)
{
  GememAllocator *a = test_allocator_new ("rmm-fixed-size:block_size=1000,blocks_to_preallocate=4",
                                          DEVICE "1GiB");
  GememBlock first, second;

  g_assert_cmpuint (a->device->held, ==, 4096);
  first = get (a, 1, 0, 0);
  second = get (a, 1024, 0, 1024);
  get (a, 1025, 0, NONE);
  put (a, first);
  put (a, second);
  get (a, 1, 0, 2048); /* first in, first out */
  get (a, 1, 7, 3072); /* of stream 0 */
  g_assert_cmpuint (test_allocator_stat (a, "taken_from_other_streams"), ==, 1);
  get (a, 1, 7, 0);
  put_on (a, get (a, 1, 7, 1024), 3);
  get (a, 1, 3, 1024);
  get (a, 1, 3, 4096); /* the next chunk */
  g_assert_cmpuint (a->device->held, ==, 8192);
  finish (a);
}

static void
test_arena (void)
{
  GememAllocator *a = test_allocator_new ("rmm-arena:arena_size=12MiB", DEVICE "1GiB");
  GememBlock large = get (a, 5000000, 0, 0), other;

  g_assert_cmpuint (a->device->held, ==, 12 * MIB);
  get (a, 1000, 1, 5000192); /* a superblock of 1 MiB */
  other = get (a, 1000, 2, 5000192 + MIB);
  put (a, large); /* waits for the stream */
  g_assert_cmpuint (a->device->calls[GEMEM_CALL_STREAM_SYNC], ==, 1);
  get (a, 2000, 1, 5001216); /* in the stream's superblock, not at the lowest place */
  put (a, other);
  get (a, MIB, 3, 0);
  get (a, 9 * MIB, 0, NONE);
  g_assert_cmpuint (test_allocator_stat (a, "defragmentations"), ==, 1);
  /* 0..1 MiB live, the rest up to 5000192 free, then streams 1's blocks; stream 2 gave its own back */
  get (a, 300, 2, MIB);
  finish (a);
}

static void
test_size_classes (void)
{
  static const guint64 classes[][2] = {
    { 1, 256 },           { 2048, 2048 },       { 2049, 2560 },           { 8193, 10240 },
    { 49152, 49152 },     { 49153, 55296 },     { 55297, 65536 },         { 65537, 81920 },
    { MIB + 1, 1310720 }, { 3 * MIB, 3 * MIB }, { 3 * MIB + 1, 3670016 },
  };
  GememAllocator *a = test_allocator_new ("rmm-arena:arena_size=64MiB,use_size_classes=yes",
                                          DEVICE "1GiB");

  for (guint i = 0; i < G_N_ELEMENTS (classes); i++)
    {
      const GememBlock block = get (a, classes[i][0], 0, 0);

      g_assert_cmpuint (block.size, ==, classes[i][1]);
      put (a, block);
      get (a, G_GUINT64_CONSTANT (257) << 30, 0, NONE); /* gives the superblock back */
    }
  finish (a);
}

static void
test_binning (void)
{
  GememAllocator *a = test_allocator_new (
      "rmm-binning:min_size_exponent=9,max_size_exponent=10,bins=[3000,1000,64KiB=rmm-pool]",
      DEVICE "1GiB");
  const guint64 second = G_GUINT64_CONSTANT (128) * 512, third = second + 128 * 1024;

  g_assert_cmpuint (test_allocator_stat (a, "bins"), ==, 4); /* 1000 is in the bin of 1024 */
  get (a, 512, 0, 0);
  get (a, 513, 0, second);
  get (a, 1025, 0, third);
  put (a, get (a, 3073, 0, third + 128 * 3072)); /* of the pool */
  get (a, 100000, 0, third + 128 * 3072 + 3328); /* of the device */
  g_assert_cmpuint (test_allocator_stat (a, "bin.64KiB.pool_size"), ==, 3328);
  g_assert_cmpuint (test_allocator_stat (a, "upstream_live_blocks"), ==, 1);
  finish (a);
}

static void
test_limiting (void)
{
  GememAllocator *a = test_allocator_new ("rmm-limiting:allocation_limit=4096B,alignment=1024",
                                          DEVICE "1GiB");
  GememBlock block = get (a, 1025, 0, 0);

  get (a, 2049, 0, NONE); /* counts as 3072 */
  get (a, 2048, 0, 1280);
  g_assert_cmpuint (test_allocator_stat (a, "allocated_bytes"), ==, 4096);
  g_assert_cmpuint (test_allocator_stat (a, "refused_by_limit"), ==, 1);
  put (a, block);
  g_assert_cmpuint (test_allocator_stat (a, "allocated_bytes"), ==, 2048);
  finish (a);
}

/* R12: a limit over a pool over an arena; the spans are the innermost's, cut by those above. */
static void
test_stack (void)
{
  GememAllocator *a = test_allocator_new (
      "rmm-limiting:allocation_limit=1MiB,upstream=[rmm-pool:initial_pool_size=4096B,upstream="
      "[rmm-arena:arena_size=2MiB]]",
      DEVICE "1GiB");
  GememBlock block = get (a, 1000, 0, 0);

  expect_walk (a, "0:1000live 1000:24lost 1024:3072free 4096:1044480free 1048576:1048576free");
  g_assert_cmpuint (test_allocator_stat (a, "upstream.pool_size"), ==, 4096);
  g_assert_cmpuint (test_allocator_stat (a, "upstream.upstream.arena_size"), ==, 2 * MIB);
  put_on (a, block, 5); /* into the pool's list of stream 5 */
  get (a, 1024, 5, 0);
  get (a, 2 * MIB, 0, NONE);
  finish (a);
}

/* R13: what differs between the versions. */
static void
test_versions (void)
{
  GememAllocator *a = test_allocator_new ("rmm-pool:maximum=64MiB", DEVICE "1GiB");
  GememBlock first = get (a, 33 * MIB, 0, 0), second = get (a, 16 * MIB, 0, 33 * MIB);

  put (a, first);
  put (a, second);
  get (a, 34 * MIB, 0, 49 * MIB); /* the first allocation went, the second stays */
  g_assert_cmpuint (a->device->held, ==, 50 * MIB);
  g_assert_cmpuint (test_allocator_stat (a, "reclaimed_allocations"), ==, 1);
  get (a, 65 * MIB, 0, NONE); /* never fits, so nothing is returned for it */
  g_assert_cmpuint (a->device->held, ==, 50 * MIB);
  finish (a);
  a = test_allocator_new ("rmm-pool:maximum=64MiB,version=24.12", DEVICE "1GiB");
  first = get (a, 33 * MIB, 0, 0);
  put (a, first);
  get (a, 34 * MIB, 0, NONE);
  g_assert_cmpuint (a->device->held, ==, 33 * MIB);
  finish (a);
  a = test_allocator_new ("rmm-limiting:version=24.12", DEVICE "1GiB");
  get (a, 1000, 0, 0);
  g_assert_cmpuint (a->device->held, ==, 1008);
  finish (a);
  a = test_allocator_new ("rmm-limiting:version=24.12,upstream=rmm-limiting:limit=1MiB",
                          DEVICE "1GiB");
  get (a, 1000, 0, 0);
  g_assert_cmpuint (a->device->held, ==, 1008); /* the upstream has the version, too */
  finish (a);
}

static void
test_wrong (void)
{
  static const char *const wrong[][2] = {
    { "rmm-pool:upstream=nonsense",
      "'nonsense' is no resource of RMM; there are direct, rmm-pool" },
    { "rmm-pool:upstream=tf-bfc", "is no resource of RMM" },
    { "rmm-pool:upstream=", "is no resource of RMM" },
    { "rmm-pool:upstream=rmm-pool", "cycle" },
    { "rmm-pool:upstream=[rmm-limiting:limit=1GiB,upstream=rmm-pool]", "cycle" },
    { "rmm-pool:upstream=[rmm-pool:size=1GiB]", "unknown parameter 'size'" },
    { "rmm-pool:upstream=[rmm-pool:initial=2GiB,maximum=1GiB]", "above maximum_pool_size" },
    { "rmm-pool:upstream=[rmm-pool:initial=1GiB|2GiB]", "stands for 2 resources" },
    { "rmm-pool:upstream=[rmm-pool:capacity=1GiB]", "capacity is a setting of the device" },
    { "rmm-pool:version=new", "24.12, 26.10" },
    { "rmm-binning:min_size_exponent=none", "no bins" },
    { "rmm-binning:min_size_exponent=9,max_size_exponent=8", "no bins" },
    { "rmm-binning:bins=[],min_size_exponent=none", "no bins" },
    { "rmm-binning:max_size_exponent=41", "up to 40" },
    { "rmm-binning:bins=[1MiB,x]", "not a size" },
    { "rmm-binning:bins=[1MiB,]", "not a size" },
    { "rmm-binning:bins=[1MiB=direct]", "a bin is no device" },
    { "rmm-binning:bins=[1MiB=tf-bfc]", "is no resource of RMM" },
    { "rmm-fixed-size:block_size=0", "too small" },
    { "rmm-fixed-size:blocks_to_preallocate=1.5", "not a whole number" },
    { "rmm-fixed-size:blocks_to_preallocate=0", "too small" },
    { "rmm-arena:arena_size=100000", "too small" },
    { "rmm-limiting:alignment=3", "not a power of two" },
    { "rmm-limiting:allocation_limit=18446744073709551616", "allocation_limit" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    test_allocator_refused (wrong[i][0], wrong[i][1]);
}

static void
test_too_deep (void)
{
  g_autoptr (GString) text = g_string_new ("direct");

  for (guint depth = 1; depth <= 9; depth++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      GememDevice *device = gemem_device_new ("sim:capacity=1GiB", NULL, 0, NULL);
      g_autoptr (GError) error = NULL;
      GememAllocator *a;
      g_autofree char *spec = g_strconcat ("rmm-limiting:limit=1MiB,upstream=", text->str, NULL);

      g_assert_true (gemem_allocator_spec_parse (spec, specs, &error));
      a = gemem_allocator_new (specs->pdata[0], NULL, device, &error);
      if (depth <= 8)
        gemem_allocator_destroy (a);
      else
        g_assert_nonnull (strstr (error->message, "more than 8 resources"));
      gemem_device_destroy (device);
      g_string_printf (text, "[%s]", spec);
    }
}

/* Where a resource does not get what it takes at the beginning, RMM's constructor throws: the run is
 * marked, the device is not asked again, and nothing is served, whatever else stands on it. */
static void
test_no_beginning (void)
{
  static const struct
  {
    const char *spec, *says;
    guint64 calls;
  } cases[] = {
    { "rmm-pool:initial_pool_size=4GiB",
      "rmm-pool takes 4.000 GiB at the beginning (initial_pool_size), which the device of 1.000 "
      "GiB "
      "refused",
      1 },
    { "rmm-fixed-size:block_size=64MiB", "takes 8.000 GiB at the beginning (block_size *", 1 },
    { "rmm-cuda-async:initial_pool_size=4GiB",
      "takes 4.000 GiB at the beginning (initial_pool_size)", 0 },
    { "rmm-arena:arena_size=4GiB", "takes 4.000 GiB at the beginning (arena_size)", 1 },
    { "rmm-limiting:upstream=[rmm-arena:arena_size=4GiB]", "rmm-arena takes 4.000 GiB", 1 },
    { "rmm-pool:initial=4MiB,upstream=[rmm-limiting:limit=1MiB]", "which rmm-limiting refused", 0 },
    { "rmm-fixed-size:upstream=[rmm-pool:initial=4GiB]", "rmm-pool takes 4.000 GiB", 1 },
    { "rmm-binning:bins=[1000],upstream=[rmm-pool:initial=4GiB]", "rmm-pool takes 4.000 GiB", 1 },
    { "rmm-binning:min_size_exponent=none,bins=[1000=rmm-fixed-size:block_size=64MiB]",
      "rmm-fixed-size takes 8.000 GiB", 1 },
    { "rmm-binning:bins=[1MiB],upstream=[rmm-limiting:limit=1MiB]", "which rmm-limiting refused",
      0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GememAllocator *a = test_allocator_new (cases[i].spec, DEVICE "1GiB");

      g_assert_nonnull (a->broken);
      g_test_message ("%s: %s", cases[i].spec, a->broken);
      g_assert_nonnull (strstr (a->broken, cases[i].says));
      get (a, 1000, 0, NONE);
      get (a, 2 * MIB, 1, NONE);
      g_assert_cmpuint (a->klass->largest_free (a, 0), ==, 0);
      g_assert_cmpuint (a->device->calls[GEMEM_CALL_MALLOC], ==, cases[i].calls);
      finish (a);
    }
}

/* Every call of the device fails once: the request that met it is served when repeated, and where it
 * was one at the beginning nothing ever is. */
static void
test_faults (void)
{
  static const char *const stacks[] = {
    ("rmm-binning:min_size_exponent=9,max_size_exponent=11,upstream=[rmm-pool:upstream="
     "rmm-limiting]"),
    "rmm-limiting:limit=1GiB,upstream=[rmm-pool:upstream=[rmm-arena:arena_size=64MiB]]",
    "rmm-fixed-size:blocks_to_preallocate=1,upstream=[rmm-pool:initial_pool_size=1MiB]",
  };
  static const guint at_first[] = { 3, 1, 1 }; /* the calls with which they are made */

  for (guint s = 0; s < G_N_ELEMENTS (stacks); s++)
    for (guint n = 1; n <= 8; n++)
      {
        g_autofree char *device = g_strdup_printf ("faulty:nth=%u,call=malloc,capacity=1GiB", n);
        GememAllocator *a = test_allocator_new (stacks[s], device);
        GememBlock blocks[24];
        guint refused = 0;

        g_assert_cmpint (a->broken != NULL, ==, n <= at_first[s]);
        for (guint i = 0; i < G_N_ELEMENTS (blocks) && a->broken == NULL; i++)
          {
            const GememRequest request = { (i % 4 + 1) * 500 * (i % 3 + 1) * (i + 1), i % 3, 0 };

            while (!a->klass->alloc (a, &request, &blocks[i]))
              g_assert_cmpuint (++refused, <, 10);
            g_assert_true (a->klass->check (a, NULL));
          }
        for (guint i = 0; i < G_N_ELEMENTS (blocks) && a->broken == NULL; i += 2)
          put (a, blocks[i]);
        finish (a);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rmm/fixed-size", test_fixed_size);
  g_test_add_func ("/rmm/arena", test_arena);
  g_test_add_func ("/rmm/arena/size-classes", test_size_classes);
  g_test_add_func ("/rmm/binning", test_binning);
  g_test_add_func ("/rmm/limiting", test_limiting);
  g_test_add_func ("/rmm/stack", test_stack);
  g_test_add_func ("/rmm/versions", test_versions);
  g_test_add_func ("/rmm/wrong", test_wrong);
  g_test_add_func ("/rmm/too-deep", test_too_deep);
  g_test_add_func ("/rmm/no-beginning", test_no_beginning);
  g_test_add_func ("/rmm/faults", test_faults);
  return g_test_run ();
}
