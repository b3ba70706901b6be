/* test-bfc.c - `tf-bfc` against the worked examples T1, T2 and T4 to T8 of peers.md 3.2, `ort-bfc`
 * against those of 1h, and what they say of wrong settings. */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define NONE G_MAXUINT64

/* Allocates @size bytes, which must be the chunk [@offset from the device's base, @chunk]; NONE:
 * must fail. */
static GememBlock
get_on (GememAllocator *a, guint64 stream, guint64 size, guint64 offset, guint64 chunk)
{
  const GememRequest request = { size, stream, 0 };
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

static GememBlock
get (GememAllocator *a, guint64 size, guint64 offset, guint64 chunk)
{
  return get_on (a, 0, size, offset, chunk);
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

/* ---- spatial partitioning: offsets of TensorFlow 2.22 */

/* A block of @size bytes for a private pool; expects @expected bytes at @offset from the device's base. */
static GememBlock
get_upper (GememAllocator *a, guint64 size, guint64 offset, guint64 expected)
{
  const GememRequest request = { .size = size, .pool = 1 };
  GememBlock block;

  g_assert_true (a->klass->alloc (a, &request, &block));
  g_assert_true (a->klass->check (a, NULL));
  g_assert_cmphex (block.address - G_GUINT64_CONSTANT (0x100000000000), ==, offset);
  g_assert_cmpuint (block.size, ==, expected);
  return block;
}

static void
refuse (GememAllocator *a, guint64 size, guint32 pool)
{
  const GememRequest request = { .size = size, .pool = pool };
  GememBlock block;

  g_assert_false (a->klass->alloc (a, &request, &block));
}

#define PARTITIONED "tf-bfc:enable_spatial_partitioning=yes,allow_growth=no,limit="

/* Holes go to their own end; the upper end takes the upper bytes and wastes none, of equal holes both
 * take the lowest. */
static void
test_ends (void)
{
  GememAllocator *a = test_allocator_new (PARTITIONED "64KiB", DEVICE "1GiB");
  GememBlock low = get (a, 1024, 0, 1024), high, equal;

  get (a, 256, 0x400, 256);
  high = get_upper (a, 1024, 0xfc00, 1024);
  get_upper (a, 256, 0xfb00, 256);
  put (a, low);
  put (a, high);
  get (a, 768, 0, 1024);
  high = get_upper (a, 768, 0xfd00, 768);
  equal = get_upper (a, 768, 0xf800, 768);
  get_upper (a, 256, 0xfc00, 256);
  get_upper (a, 256, 0xf700, 256);
  put (a, high);
  put (a, equal);
  get_upper (a, 768, 0xf800, 768);
  get_upper (a, 512, 0xfe00, 512);
  test_allocator_destroy (a);
}

/* The gap: the lower end may take it whole, the ends do not take each other's holes, and what is freed
 * where they meet belongs to both. */
static void
test_gap (void)
{
  GememAllocator *a = test_allocator_new (PARTITIONED "4KiB", DEVICE "1GiB");
  GememBlock low[2] = { get (a, 1024, 0, 1024), get (a, 1024, 0x400, 1024) }, high, all;

  get_upper (a, 1024, 0xc00, 1024);
  high = get_upper (a, 1024, 0x800, 1024);
  put (a, low[0]);
  refuse (a, 256, 1);
  put (a, high);
  all = get (a, 512, 0, 512);
  put (a, low[1]);
  high = get_upper (a, 2048, 0x400, 2048);
  g_assert_cmpuint (a->klass->largest_free (a, 0), ==, 512);
  refuse (a, 1024, 0);
  get_upper (a, 256, 0x300, 256);
  put (a, high);
  put (a, all);
  get (a, 512, 0, 768);
  test_allocator_destroy (a);

  a = test_allocator_new (PARTITIONED "64KiB", DEVICE "1GiB");
  all = get (a, 40000, 0, 65536);
  refuse (a, 1, 1);
  put (a, all);
  all = get_upper (a, 65536, 0, 65536);
  put (a, all);
  get_upper (a, 40000, 0x6300, 40192);
  test_allocator_destroy (a);
}

/* ---- ONNX Runtime */

static void
shrink (GememAllocator *a, guint64 held)
{
  a->klass->trim (a);
  g_assert_true (a->klass->check (a, NULL));
  g_assert_cmpuint (a->device->held, ==, held);
}

static void
test_ort_doubling (void)
{
  GememAllocator *a = test_allocator_new ("ort-bfc", DEVICE "4GiB");
  GememBlock first = get (a, 1000, 0, 1024), second = get (a, 3000000, 0x200000, 4194304),
             third = get (a, 100, 0x400, 256), fourth;

  put (a, first);
  put (a, second);
  fourth = get (a, 5000000, 0x600000, 8388608);
  shrink (a, 9437184);
  put (a, third);
  put (a, fourth);
  shrink (a, 1048576);
  shrink (a, 1048576);
  g_assert_cmpuint (stat_of (a, "NumArenaShrinkages"), ==, 2); /* regions, not calls */
  get (a, 3000000, 0xe00000, 4194304);
  test_allocator_destroy (a);
}

static void
test_ort_exact (void)
{
  GememAllocator *a = test_allocator_new ("ort-bfc:arena_extend_strategy=1", DEVICE "4GiB");
  GememBlock blocks[4];

  blocks[0] = get (a, 1000, 0, 1024);
  blocks[1] = get (a, 3000000, 0x200000, 3000064);
  blocks[2] = get (a, 100, 0x600000, 256);
  blocks[3] = get (a, 5000000, 0x800000, 5000192);
  for (guint i = 0; i < 4; i++)
    put (a, blocks[i]);
  shrink (a, 0);
  test_allocator_destroy (a);
}

static void
test_ort_back_off (void)
{
  GememAllocator *a = test_allocator_new ("ort-bfc", DEVICE "1000000000");

  get (a, 900000000, 0, 966367744);
  get (a, 100000, 0x39a00000, 100096);
  g_assert_cmpuint (a->device->held, ==, 999550720);
  test_allocator_destroy (a);
}

/* What no device has fails, and yet it is how much is asked for next. */
static void
test_ort_remembers (void)
{
  GememAllocator *a = test_allocator_new ("ort-bfc", DEVICE "80GiB");

  get (a, G_GUINT64_CONSTANT (1125899890065408), NONE, 0);
  get (a, 989855744, 0, 989855744);
  g_assert_cmpuint (a->device->held, ==, G_GUINT64_CONSTANT (85767864320));
  test_allocator_destroy (a);
}

/* Doubling ends at the cap; a large request goes beyond it once. */
static void
test_ort_cap (void)
{
  static const guint64 sizes[] = { MIB, 1, 1, 2 * MIB, 4 * MIB, 16 * MIB, 32 * MIB },
                       regions[] = { 1, 2, 0, 4, 4, 16, 32 };
  GememAllocator *a = test_allocator_new ("ort-bfc:max_power_of_two_extend_bytes=4MiB",
                                          DEVICE "4GiB");
  guint64 held = 0;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      const GememRequest request = { sizes[i], 0, 0 };
      GememBlock block;

      g_assert_true (a->klass->alloc (a, &request, &block));
      held += regions[i] * MIB;
      g_assert_cmpuint (a->device->held, ==, held);
    }
  test_allocator_destroy (a);
}

/* Freed chunks merge when the safe frontier has passed them, in the order of their frees. */
static void
test_t9_frontier (void)
{
  for (guint order = 0; order < 3; order++)
    {
      GememAllocator *a = test_allocator_new ("tf-bfc:timestamped_allocator=yes", DEVICE "80GiB");
      GememBlock first = get (a, 512, 0, 512), second = get (a, 512, 512, 512);

      put (a, order == 1 ? second : first);
      put (a, order == 1 ? first : second);
      if (order < 2)
        a->klass->streams.sync (a, 0);
      else
        a->klass->streams.sync (a, 1); /* not the compute stream */
      if (order == 1)
        get (a, MIB, 0, MIB);
      else
        get (a, MIB, 1024, 2096128);
      get (a, 1024, order == 0 ? 0 : order == 1 ? MIB : 2 * MIB, 1024);
      test_allocator_destroy (a);
    }
}

static void
test_t9_streams (void)
{
  GememAllocator *a = test_allocator_new ("tf-bfc:timestamped_allocator=yes", DEVICE "80GiB");
  GememBlock block = get (a, 112 * MIB, 0, 128 * MIB);

  put (a, block);
  put (a, get_on (a, 1, 8388351, 128 * MIB, 8388352));
  put (a, get (a, 7 * MIB, 128 * MIB, 8388352)); /* the compute stream takes what waits */
  a->klass->streams.sync (a, G_MAXUINT64);
  get_on (a, 1, 100, 0, 256);
  test_allocator_destroy (a);
}

/* Where nothing else is left, chunks merge whatever the frontier. */
static void
test_t9_forced (void)
{
  GememAllocator *a = test_allocator_new ("tf-bfc:timestamped_allocator=yes,allow_growth=no,"
                                          "garbage_collection=no",
                                          DEVICE "100MiB");
  GememBlock third, fourth;

  get (a, 15466496, 0, 15466496);
  get (a, 2097152, 15466496, 2097152);
  third = get (a, 3604480, 17563648, 3604480);
  put (a, third);
  fourth = get (a, 16711680, 21168128, 16711680);
  get (a, 167772160, NONE, 0);
  put (a, fourth);
  get_on (a, 1, 66 * MIB, NONE, 0); /* not for another stream */
  get (a, 64 * MIB, 17563648, 87293952);
  get (a, G_MAXUINT64, NONE, 0);
  test_allocator_destroy (a);
}

/* What merged with the chunk below is tried again before what was never tried. */
static void
test_t9_forced_again (void)
{
  GememAllocator *a = test_allocator_new ("tf-bfc:timestamped_allocator=yes,allow_growth=no,"
                                          "garbage_collection=no",
                                          DEVICE "16MiB");
  const GememBlock first = get (a, 4 * MIB, 0, 4 * MIB);
  const GememBlock second = get (a, 4 * MIB, 4 * MIB, 4 * MIB);

  put (a, get (a, 3 * MIB, 8 * MIB, 3 * MIB));
  put (a, first);
  put (a, second);
  put (a, get (a, 6 * MIB, 4 * MIB, 6 * MIB));
  get (a, 7 * MIB, 0, 7 * MIB);
  test_allocator_destroy (a);
}

/* A recorded state goes on: chunks as they were, the target of the next region. */
static void
test_adopt (void)
{
  GememAllocator *a = test_allocator_new (
      "tf-bfc:curr_region_allocation_bytes=16MiB,limit=64MiB",
      "sim:base=0x100000000000,step=2MiB,address=recorded,capacity=64MiB");
  const guint64 base = G_GUINT64_CONSTANT (0x100000000000);
  const GememAdopt regions[] = { { .address = base, .size = 2 * MIB },
                                 { .address = base + 4 * MIB, .size = 4 * MIB },
                                 { .address = base + 16 * MIB, .size = 64 * MIB } };
  const GememRequest more = { .size = MIB };
  GememAdopt piece = { .address = base + 256, .size = 512, .requested = 300 };
  GememBlock block;

  g_assert_true (a->klass->adopt.segment (a, &regions[0]));
  g_assert_true (a->klass->adopt.segment (a, &regions[1]));
  g_assert_false (a->klass->adopt.segment (a, &regions[2])); /* above the limit */
  g_assert_true (a->klass->adopt.block (a, &piece, &block));
  g_assert_false (a->klass->adopt.block (a, &piece, &block)); /* taken */
  piece.address = base + 5 * MIB;
  piece.size = 3 * MIB + 256; /* beyond the region */
  g_assert_false (a->klass->adopt.block (a, &piece, &block));
  piece.address = base + 3 * MIB; /* between the regions */
  g_assert_false (a->klass->adopt.block (a, &piece, &block));
  piece.address = base + 4 * MIB;
  piece.size = 0; /* unknown: as requested */
  g_assert_true (a->klass->adopt.block (a, &piece, &block));
  g_assert_cmpuint (block.size, ==, 512);
  a->klass->adopt.done (a);
  get (a, 256, 0, 256);
  get (a, MIB, 768, 2 * MIB - 768);
  put (a, block);
  get (a, 4 * MIB, 4 * MIB, 4 * MIB);
  g_assert_true (a->klass->alloc (a, &more, &block));
  g_assert_cmpuint (stat_of (a, "pool_bytes"), ==, 22 * MIB);
  test_allocator_destroy (a);
}

/* Parts of the limit that make no sense are taken as TensorFlow takes them: above 1 no chunk is split for
 * its waste alone, also where the product leaves 64 bits; below 0 is like 0. */
static void
test_odd_fractions (void)
{
  static const struct
  {
    const char *text;
    guint64 chunk;
  } cases[] = {
    { "1.5", 512 * MIB }, { "-0.5", 300 * MIB }, { "8e9", 512 * MIB }, { "1e30", 512 * MIB }
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *spec = g_strconcat ("tf-bfc:fragmentation_fraction=", cases[i].text, NULL);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=1GiB,base=0x100000000000");

      get (a, 300 * MIB, 0, cases[i].chunk);
      test_allocator_destroy (a);
    }
}

static void
test_wrong (void)
{
  static const char *const wrong[][2] = { { "tf-bfc:limit=16", "16GiB" },
                                          { "tf-bfc:fragmentation_fraction=nan", "not a number" },
                                          { "tf-bfc:allow_growth=2", "yes" },
                                          { "tf-bfc:limit=", "limit" },
                                          { "tf-bfc:timestamped_allocator=3", "yes" },
                                          { "tf-bfc:timestamped_allocator=", "timestamped" },
                                          { "tf-bfc:allow_grow=yes", "allow_growth" },
                                          { "ort-bfc:arena_extend_strategy=2", "kSameAsRequested" },
                                          { "ort-bfc:max_dead_bytes_per_chunk=0", "small" },
                                          { "ort-bfc:max_mem=-2", "max_mem" } };

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

/* Numbers of 32 bits, as ONNX Runtime 1.32 keeps them: accepted with the first region of a request of 1000
 * bytes, or refused (0).  Zero crashes the real arena or makes it double for ever. */
static void
test_ort_numbers (void)
{
  static const struct
  {
    const char *spec;
    guint64 first;
  } rows[] = { { "ort-bfc:initial_chunk_size_bytes=-1", MIB },
               { "ort-bfc:initial_chunk_size_bytes=4294967295", MIB },
               { "ort-bfc:initial_chunk_size_bytes=4294971393", 4352 },
               { "ort-bfc:initial_chunk_size_bytes=2GiB", 0 },
               { "ort-bfc:initial_chunk_size_bytes=4GiB", 0 },
               { "ort-bfc:max_dead_bytes_per_chunk=-1", MIB },
               { "ort-bfc:max_dead_bytes_per_chunk=3GiB", 0 },
               { "ort-bfc:max_dead_bytes_per_chunk=4GiB", 0 },
               { "ort-bfc:initial_growth_chunk_size_bytes=257", 0 },
               { "ort-bfc:max_power_of_two_extend_bytes=-1", MIB },
               { "ort-bfc:max_power_of_two_extend_bytes=9223372036854775807", MIB },
               { "ort-bfc:max_power_of_two_extend_bytes=9223372036854775808", 0 },
               { "ort-bfc:max_mem=-1,arena_extend_strategy=-1", MIB },
               { "ort-bfc:arena_extend_strategy=1", 1024 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const GememRequest request = { 1000, 0, 0 };
      GememAllocator *a;
      GememBlock block;

      if (rows[i].first == 0)
        {
          test_allocator_refused (rows[i].spec, "ONNX Runtime");
          continue;
        }
      a = test_allocator_new (rows[i].spec, "sim:capacity=1GiB");
      g_assert_true (a->klass->alloc (a, &request, &block));
      g_assert_cmpuint (a->device->held, ==, rows[i].first);
      test_allocator_destroy (a);
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
  g_test_add_func ("/tf-bfc/T9/frontier", test_t9_frontier);
  g_test_add_func ("/tf-bfc/T9/streams", test_t9_streams);
  g_test_add_func ("/tf-bfc/T9/forced", test_t9_forced);
  g_test_add_func ("/tf-bfc/T9/forced-again", test_t9_forced_again);
  g_test_add_func ("/bfc/adopt", test_adopt);
  g_test_add_func ("/tf-bfc/partition/ends", test_ends);
  g_test_add_func ("/tf-bfc/partition/gap", test_gap);
  g_test_add_func ("/ort-bfc/1", test_ort_doubling);
  g_test_add_func ("/ort-bfc/2", test_ort_exact);
  g_test_add_func ("/ort-bfc/3", test_ort_back_off);
  g_test_add_func ("/ort-bfc/4", test_ort_cap);
  g_test_add_func ("/ort-bfc/remembers", test_ort_remembers);
  g_test_add_func ("/bfc/odd-fractions", test_odd_fractions);
  g_test_add_func ("/bfc/wrong", test_wrong);
  g_test_add_func ("/ort-bfc/numbers", test_ort_numbers);
  return g_test_run ();
}
