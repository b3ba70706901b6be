/* test-ge-scalable.c - the worked examples E1 to E12 of ge-runtime.md section 9 by name, the
 * other rules of sections 1 and 2.1, hostile settings, and two properties on random sequences:
 * the walk adds up, and largest_free is exactly the largest request that needs no device call. */
#include "config.h"

#include <string.h>

#include "allocators/ge/scalable-pool.h"
#include "base/rng.h"
#include "tests/util/rig.h"
#include "tests/util/sizes.h"

#define P G_GUINT64_CONSTANT (65536)
#define D G_GUINT64_CONSTANT (0x100000000000)
#define OUT_OF_MEMORY G_MAXUINT64

/* The address relative to D, or OUT_OF_MEMORY. */
static guint64
get (Rig *rig, guint i, guint64 size)
{
  if (!rig_serve (rig, i, &(GememRequest){ .size = size, .stream = rig->stream }))
    return OUT_OF_MEMORY;
  g_assert_cmpuint (rig->blocks[i].size, ==, MAX (P, (size + P - 1) / P * P));
  g_assert_cmpuint (gemem_ge_span_real (rig->blocks[i].handle), ==, size);
  return rig->blocks[i].address - D;
}

static const GeSpanPool *
pool_of (const Rig *rig, guint i)
{
  return ((const GeSpan *) rig->blocks[i].handle)->root->pool;
}

/* "idle L{pages}{offset}" of the examples: the front of that layer. */
static void
assert_idle (const GeSpanPool *pool, guint32 pages, guint64 offset)
{
  const GeSpan *span = gemem_ge_layers_front (&pool->layers, pages);

  g_assert_nonnull (span);
  g_assert_cmphex (span->address - D, ==, offset);
}

/* ---- worked examples */

static void
test_e1_split (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single", "sim:capacity=64GiB");

  g_assert_cmphex (get (&rig, 1, 16 * P), ==, 0);
  const GeSpanPool *pool = pool_of (&rig, 1);
  put (&rig, 1);
  assert_idle (pool, 16, 0);
  g_assert_cmphex (get (&rig, 2, 2 * P), ==, 14 * P);
  assert_idle (pool, 14, 0);
  g_assert_cmphex (get (&rig, 3, P), ==, 13 * P);
  assert_idle (pool, 13, 0);
  g_assert_true (gemem_ge_span_is_split (rig.blocks[3].handle));
  put (&rig, 2);
  assert_idle (pool, 2, 14 * P);
  assert_idle (pool, 13, 0);
  put (&rig, 3);
  assert_idle (pool, 16, 0);
  g_assert_cmpuint (pool->idle_pages, ==, 16);
  g_assert_cmpuint (rig_held (&rig), ==, 16 * P);
  rig_done (&rig);
}

static void
test_e2_buddy_header (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single", "sim:capacity=64GiB");

  get (&rig, 1, 16 * P);
  const GeSpanPool *pool = pool_of (&rig, 1);
  put (&rig, 1);
  get (&rig, 2, 2 * P);
  get (&rig, 3, P);
  g_assert_cmphex (get (&rig, 4, 13 * P), ==, 0);
  g_assert_true (gemem_ge_span_is_split (rig.blocks[4].handle));
  put (&rig, 3);
  assert_idle (pool, 1, 13 * P);
  put (&rig, 2);
  assert_idle (pool, 3, 13 * P);
  g_assert_null (gemem_ge_layers_front (&pool->layers, 1));
  put (&rig, 4);
  assert_idle (pool, 16, 0);
  rig_done (&rig);
}

static void
test_e3_delayed_split (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single", "sim:capacity=64GiB");

  get (&rig, 1, 10240 * P);
  const GeSpanPool *pool = pool_of (&rig, 1);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 2, 32 * P), ==, 10240 * P);
  g_assert_cmphex (get (&rig, 3, 64 * P), ==, 10272 * P);
  g_assert_cmphex (get (&rig, 4, 64 * P), ==, 10176 * P);
  g_assert_cmphex (get (&rig, 5, 64 * P), ==, 10112 * P);
  put (&rig, 4);
  put (&rig, 5);
  assert_idle (pool, 10240, 0);
  g_assert_cmpuint (gemem_ge_layers_front (&pool->layers, 10240)->tryl, ==, 0);
  put (&rig, 2);
  put (&rig, 3);
  g_assert_cmphex (get (&rig, 6, 10240 * P), ==, 0);
  g_assert_cmpuint (rig_held (&rig), ==, 10336 * P);
  rig_done (&rig);
}

static void
test_e4_limit_is_exceeded_not_reached (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single", "sim:capacity=64GiB");

  get (&rig, 1, 112 * P);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 2, P), ==, 8 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 113 * P);
  g_assert_cmphex (get (&rig, 3, P), ==, 111 * P);
  g_assert_cmpuint (rig_held (&rig), ==, 113 * P);
  rig_done (&rig);
}

static void
test_e5_last_in_first_out (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single", "sim:capacity=64GiB");

  for (guint i = 1; i <= 3; i++)
    g_assert_cmphex (get (&rig, i, P), ==, (i - 1) * 2 * MIB);
  put (&rig, 1);
  put (&rig, 3);
  put (&rig, 2);
  g_assert_cmphex (get (&rig, 4, P), ==, 2 * MIB);
  g_assert_cmphex (get (&rig, 5, P), ==, 4 * MIB);
  g_assert_cmphex (get (&rig, 6, P), ==, 0);
  rig_done (&rig);
}

static void
test_e6_bottom_pool_same_size (void)
{
  Rig rig = rig_new ("ge-scalable:mode=rts", "sim:capacity=64GiB");

  for (guint i = 1; i <= 4; i++)
    g_assert_cmphex (get (&rig, i, 512 * 1024), ==, (4 - i) * 512 * 1024);
  g_assert_cmpuint (rig_held (&rig), ==, 2 * MIB);
  g_assert_cmphex (get (&rig, 5, 512 * 1024), ==, 2 * MIB + 3 * MIB / 2);
  assert_idle (pool_of (&rig, 5), 24, 2 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 4 * MIB);
  rig_done (&rig);
}

static void
test_e7_bottom_pool_exceeds_threshold (void)
{
  Rig rig = rig_new ("ge-scalable:stack=rts", "sim:capacity=64GiB");
  guint64 t = rig_stat (&rig, "page_mem_size_total_threshold");
  guint64 large = (t - 4 * MIB + P - 1) / P * P;

  g_assert_cmphex (get (&rig, 1, MIB + P), ==, 15 * P);
  assert_idle (pool_of (&rig, 1), 15, 0);
  g_assert_cmphex (get (&rig, 2, t - 4 * MIB), ==, 2 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 2 * MIB + large);
  g_assert_cmphex (get (&rig, 3, MIB), ==, OUT_OF_MEMORY);
  g_assert_cmpuint (rig_stat (&rig, "rts.recycle_count"), ==, 1);
  g_assert_cmpuint (rig.allocator->retries, ==, 0); /* the recycle released nothing */
  g_assert_cmpuint (rig_held (&rig), ==, 2 * MIB + large);
  rig_done (&rig);
}

static void
test_e8_two_pools (void)
{
  Rig rig = rig_new ("ge-scalable", "sim:capacity=64GiB");

  g_assert_cmphex (get (&rig, 1, MIB), ==, MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 2 * MIB);
  g_assert_cmpuint (rig_stat (&rig, "pool"), ==, MIB);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 2, 128 * 1024), ==, MIB + 0xE0000);
  g_assert_cmpuint (rig_held (&rig), ==, 2 * MIB);
  rig_done (&rig);
}

static void
test_e9_recycle_stays_in_bottom_pool (void)
{
  Rig rig = rig_new ("ge-scalable:stack=two", "sim:capacity=64GiB");

  g_assert_cmphex (get (&rig, 1, 4 * MIB), ==, 0);
  g_assert_cmphex (get (&rig, 2, 8 * MIB), ==, 4 * MIB);
  const GeSpanPool *bottom = pool_of (&rig, 1)->lower_data;
  put (&rig, 1);
  put (&rig, 2);
  g_assert_cmphex (get (&rig, 3, MIB), ==, 3 * MIB);
  trim (&rig);
  g_assert_cmpuint (rig_stat (&rig, "pool"), ==, 4 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 12 * MIB);
  put (&rig, 3);
  trim (&rig);
  g_assert_cmpuint (rig_stat (&rig, "pool"), ==, 0);
  assert_idle (bottom, 64, 0);
  assert_idle (bottom, 128, 4 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 12 * MIB);
  rig_done (&rig);
}

/* The 20 MiB are idle in the pool of @stream; if that is not the request's own stream, the
 * ladder needs one step more. */
static void
check_e10 (guint64 stream, guint64 syncs, guint64 refused)
{
  Rig rig = rig_new ("ge-scalable:stack=two,total=64GiB", "sim:capacity=32MiB");
  const GememDevice *device = rig.allocator->device;

  rig.stream = stream;
  g_assert_cmphex (get (&rig, 1, 20 * MIB), ==, 0);
  put (&rig, 1);
  rig.stream = 0;
  g_assert_cmphex (get (&rig, 2, 21 * MIB), ==, 20 * MIB);
  g_assert_cmpuint (device->calls[GEMEM_CALL_STREAM_SYNC], ==, syncs);
  g_assert_cmpuint (rig_stat (&rig, "stream_syncs"), ==, syncs);
  g_assert_cmpuint (device->refused[GEMEM_CALL_MALLOC], ==, refused);
  g_assert_cmpuint (rig_held (&rig), ==, 21 * MIB);
  /* L1 released 20 MiB to the bottom pool, which released them to the device */
  g_assert_cmpuint (rig.allocator->retries, ==, 2);
  rig_done (&rig);
}

static void
test_e10_ladder (void)
{
  check_e10 (0, 1, 3);
}

static void
test_e10_ladder_other_pool (void)
{
  check_e10 (1, 2, 5);
}

static void
test_e11_soft_threshold (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single,total=1GiB", "sim:capacity=64GiB");

  g_assert_cmpuint (rig_stat (&rig, "page_mem_size_total_threshold"), ==, 1020054732);
  g_assert_cmphex (get (&rig, 1, 600 * MIB), ==, 0);
  g_assert_cmphex (get (&rig, 2, 600 * MIB), ==, 600 * MIB);
  g_assert_cmphex (get (&rig, 3, MIB), ==, 1200 * MIB);
  put (&rig, 3);
  g_assert_cmphex (get (&rig, 4, 400 * MIB), ==, OUT_OF_MEMORY);
  g_assert_cmpuint (rig_held (&rig), ==, 1201 * MIB);
  /* a bare pool has no ladder */
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_STREAM_SYNC], ==, 0);
  rig_done (&rig);
}

static void
test_e12_split_span_size (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single", "sim:capacity=64GiB");

  get (&rig, 1, 4 * P);
  const GeSpanPool *pool = pool_of (&rig, 1);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 2, 2 * P), ==, 2 * P);
  g_assert_cmphex (get (&rig, 3, 1), ==, P);
  g_assert_cmphex (get (&rig, 4, 1), ==, 0);
  put (&rig, 4);
  put (&rig, 3);
  put (&rig, 2);
  assert_idle (pool, 4, 0);
  rig_done (&rig);
}

/* ---- configuration */

static void
check_threshold (const char *spec, const char *device, guint64 threshold, guint64 refused)
{
  Rig rig = rig_new (spec, device);

  g_assert_cmpuint (rig_stat (&rig, "page_mem_size_total_threshold"), ==, threshold);
  g_assert_cmpuint (rig_stat (&rig, "memory_pool_threshold_refused"), ==, refused);
  rig_done (&rig);
}

static void
test_threshold (void)
{
  check_threshold ("ge-scalable:total=30GiB", "sim:capacity=80GiB", 30601641984, 0);
  check_threshold ("ge-scalable:total=60GiB", "sim:capacity=80GiB", 61203283968, 0);
  check_threshold ("ge-scalable:total=64GiB", "sim:capacity=80GiB", 65283502899, 0);
  check_threshold ("ge-scalable:total=1GiB", "sim:capacity=80GiB", 1020054732, 0);
  check_threshold ("ge-scalable", "sim:capacity=64GiB", 65283502899, 0); /* of the device */
  check_threshold ("ge-scalable:page_mem_size_total_threshold=1GiB", "sim:capacity=64GiB", GIB, 0);
}

static void
test_threshold_option (void)
{
  static const char *const refused[] = { "abc",        "0",   "-3",   "61",
                                         "2147483648", "3.5", "3GiB", "99999999999999999999" };

  check_threshold ("ge-scalable:memory_pool_threshold=3,total=64GiB", "sim:capacity=64GiB", 3 * GIB,
                   0);
  check_threshold ("ge-scalable:ge.experiment.memory_pool_threshold=60,total=64GiB",
                   "sim:capacity=64GiB", 60 * GIB, 0);
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autofree char *spec = g_strdup_printf ("ge-scalable:memory_pool_threshold=%s,total=64GiB",
                                               refused[i]);
      check_threshold (spec, "sim:capacity=64GiB", 65283502899, 1);
    }
}

static void
test_bad_settings (void)
{
  static const char *const bad[] = {
    "ge-scalable:stack=three",
    "ge-scalable:page_idem_num=15",
    "ge-scalable:huge_page_mem_size=3M,page_idem_num=21",
    "ge-scalable:page_mem_size_total_threshold=512TiB",
    "ge-scalable:memory_pool_threshold=3,page_mem_size_total_threshold=1GiB",
    "ge-scalable:span_layer_lift_max=-1",
    "ge-scalable:treshold=3",
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      g_autoptr (GError) error = NULL;
      GememDevice *device = gemem_device_new ("sim:capacity=64GiB", NULL, 0, &error);
      GememAllocator *allocator = NULL;

      g_assert_no_error (error);
      if (gemem_allocator_spec_parse (bad[i], specs, &error))
        allocator = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, device, &error);
      g_assert_null (allocator);
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      g_assert_null (strchr (error->message, '\n'));
      g_assert_cmpuint (device->held, ==, 0);
      gemem_device_destroy (device);
    }
}

/* ---- rules beside the examples */

static void
test_request_sizes (void)
{
  Rig rig = rig_new ("ge-scalable:stack=two,total=1GiB", "sim:capacity=64GiB");
  const GememDevice *device = rig.allocator->device;
  guint64 t = rig_stat (&rig, "page_mem_size_total_threshold"), largest = t / P * P;

  g_assert_cmphex (get (&rig, 1, largest), ==, 0);
  /* one page, the top of the next 2 MiB block */
  g_assert_cmphex (get (&rig, 0, 0), ==, 976 * MIB - P);
  g_assert_cmpuint (device->calls[GEMEM_CALL_STREAM_SYNC], ==, 0);
  /* not above t, but one page too long */
  g_assert_cmphex (get (&rig, 2, largest + 1), ==, OUT_OF_MEMORY);
  g_assert_cmphex (get (&rig, 2, t + 1), ==, OUT_OF_MEMORY);
  g_assert_cmphex (get (&rig, 2, G_MAXUINT64), ==, OUT_OF_MEMORY);
  g_assert_cmpuint (device->calls[GEMEM_CALL_STREAM_SYNC], ==, 3); /* the whole ladder each time */
  g_assert_cmpuint (rig_stat (&rig, "stream0.recycle_count"), ==, 3);
  g_assert_cmpuint (rig_stat (&rig, "stream0.failures"), ==, 6);
  rig_done (&rig);
}

static void
test_should_not_lift (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single,span_layer_lift_max=0", "sim:capacity=64GiB");

  get (&rig, 1, 16 * P);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 2, 2 * P), ==, 2 * MIB);
  g_assert_cmphex (get (&rig, 3, 16 * P), ==, 0);
  rig_done (&rig);
}

/* tryl survives the allocation of a whole span, and an exact hit does not change it (1.5). */
static void
check_persistent_tryl (guint64 last, guint64 expected)
{
  Rig rig = rig_new ("ge-scalable:stack=single", "sim:capacity=64GiB");

  get (&rig, 1, 10240 * P);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 2, 32 * P), ==, 10240 * P);
  g_assert_cmphex (get (&rig, 1, 10240 * P), ==, 0);
  g_assert_cmpuint (((const GeSpan *) rig.blocks[1].handle)->tryl, ==, 32);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 3, last * P), ==, expected);
  rig_done (&rig);
}

static void
test_persistent_tryl (void)
{
  check_persistent_tryl (70, 10272 * P);        /* 102 of 102: a new block */
  check_persistent_tryl (71, (10240 - 71) * P); /* 103: cut */
}

/* Recycle goes in ascending length, most recently freed first, as the bottom pool's own LIFO
 * order shows. */
static void
test_recycle_order (void)
{
  Rig rig = rig_new ("ge-scalable:stack=two", "sim:capacity=64GiB");

  g_assert_cmphex (get (&rig, 1, 4 * MIB), ==, 0);
  g_assert_cmphex (get (&rig, 2, 4 * MIB), ==, 4 * MIB);
  g_assert_cmphex (get (&rig, 3, 4 * MIB), ==, 8 * MIB);
  put (&rig, 1);
  put (&rig, 2);
  put (&rig, 3);
  trim (&rig);
  /* 8 MiB, 4 MiB, 0 were released in this order; the last is the front */
  g_assert_cmphex (get (&rig, 1, 4 * MIB), ==, 0);
  g_assert_cmphex (get (&rig, 2, 4 * MIB), ==, 4 * MIB);
  g_assert_cmphex (get (&rig, 3, 4 * MIB), ==, 8 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 12 * MIB);
  rig_done (&rig);
}

static void
test_streams_have_their_own_pools (void)
{
  Rig rig = rig_new ("ge-scalable:stack=two", "sim:capacity=64GiB");
  const GememAllocatorClass *klass = rig.allocator->klass;

  rig.stream = 7;
  g_assert_cmphex (get (&rig, 1, 4 * MIB), ==, 0);
  put (&rig, 1);
  g_assert_cmpuint (klass->largest_free (rig.allocator, 7), ==, 4 * MIB);
  g_assert_cmpuint (klass->largest_free (rig.allocator, 0), ==, 0);
  rig.stream = 0;
  g_assert_cmphex (get (&rig, 2, 4 * MIB), ==, 4 * MIB); /* not stream 7's cached block */
  g_assert_cmpuint (rig_stat (&rig, "l1_pools"), ==, 2);
  g_assert_cmpuint (rig_stat (&rig, "stream7.occupied_size"), ==, 4 * MIB);
  trim (&rig);
  /* now it is, through the bottom pool */
  g_assert_cmpuint (klass->largest_free (rig.allocator, 0), ==, 4 * MIB);
  g_assert_cmphex (get (&rig, 3, 4 * MIB), ==, 0);
  rig_done (&rig);
}

/* The bytes that L1 may still take from the bottom pool limit largest_free: 8 MiB are left of
 * the threshold, although 20 MiB lie idle below. */
static void
test_largest_free_keeps_threshold (void)
{
  Rig rig = rig_new ("ge-scalable:stack=two,page_mem_size_total_threshold=40MiB",
                     "sim:capacity=64GiB");
  const GememAllocatorClass *klass = rig.allocator->klass;

  get (&rig, 1, 32 * P);
  put (&rig, 1);
  get (&rig, 2, 2 * P); /* leaves 30 idle pages that recycle cannot take */
  get (&rig, 3, 30 * MIB);
  rig.stream = 1;
  get (&rig, 4, 20 * MIB); /* above the threshold, but the bottom pool has nothing idle */
  g_assert_cmpuint (rig_held (&rig), ==, 52 * MIB);
  put (&rig, 4);
  trim (&rig);
  g_assert_cmpuint (klass->largest_free (rig.allocator, 0), ==, 8 * MIB);
  g_assert_cmpuint (klass->largest_free (rig.allocator, 1), ==, 20 * MIB);
  rig.stream = 0;
  g_assert_cmphex (get (&rig, 5, 8 * MIB), ==, 32 * MIB + 12 * MIB); /* the top of the 20 MiB */
  g_assert_cmpuint (rig_held (&rig), ==, 52 * MIB);
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_STREAM_SYNC], ==, 0);
  g_assert_cmpuint (klass->largest_free (rig.allocator, 0), ==, 30 * P);
  rig_done (&rig);
}

static gboolean
refuse_sync (G_GNUC_UNUSED GememDevice *device, G_GNUC_UNUSED guint64 stream)
{
  return FALSE;
}

/* A stream that cannot be synchronised ends the ladder: no pool is recycled. */
static void
test_failed_sync (void)
{
  Rig rig = rig_new ("ge-scalable:stack=two,total=64GiB", "sim:capacity=32MiB");
  GememDevice *device = rig.allocator->device;
  const GememDeviceClass *klass = device->klass;
  GememDeviceClass broken = *klass;

  broken.stream_sync = refuse_sync;
  get (&rig, 1, 20 * MIB);
  put (&rig, 1);
  device->klass = &broken;
  g_assert_cmphex (get (&rig, 2, 21 * MIB), ==, OUT_OF_MEMORY);
  g_assert_cmpuint (device->calls[GEMEM_CALL_STREAM_SYNC], ==, 1);
  g_assert_cmpuint (rig_stat (&rig, "stream0.recycle_count"), ==, 0);
  g_assert_cmpuint (rig_stat (&rig, "pool"), ==, 20 * MIB);
  device->klass = klass;
  g_assert_cmphex (get (&rig, 2, 21 * MIB), ==, 20 * MIB);
  rig_done (&rig);
}

static void
test_statistics (void)
{
  Rig rig = rig_new ("ge-scalable:stack=single", "sim:capacity=64GiB");

  get (&rig, 1, 3 * P - 5);
  get (&rig, 2, P + 1);
  put (&rig, 1);
  g_assert_cmpuint (rig_stat (&rig, "stream0.theory"), ==, 2 * P);
  g_assert_cmpuint (rig_stat (&rig, "stream0.real_theory"), ==, P + 1);
  g_assert_cmpuint (rig_stat (&rig, "stream0.theory_min"), ==, 5 * P);
  g_assert_cmpuint (rig_stat (&rig, "stream0.real_theory_min"), ==, 4 * P - 4);
  g_assert_cmpuint (rig_stat (&rig, "stream0.occupied_size"), ==, 5 * P);
  g_assert_cmpuint (rig_stat (&rig, "stream0.idle_size"), ==, 3 * P);
  g_assert_cmpuint (rig_stat (&rig, "stream0.reach_theory_rate"), ==, 8000); /* 262140 of 327680 */
  trim (&rig);
  g_assert_cmpuint (rig_stat (&rig, "stream0.occupied_size"), ==, 2 * P);
  /* obtained fell below the maximum */
  g_assert_cmpuint (rig_stat (&rig, "stream0.reach_theory_rate"), ==, 10000);
  put (&rig, 2);
  trim (&rig);
  g_assert_cmpuint (rig_stat (&rig, "stream0.reach_theory_rate"), ==, 0);
  g_assert_cmpuint (rig_stat (&rig, "stream0.recycle_count"), ==, 2);
  g_assert_cmpuint (rig_held (&rig), ==, 0);
  rig_done (&rig);
}

/* check() finds each kind of damage. */
static void
test_check_finds_damage (void)
{
  Rig rig = rig_new ("ge-scalable:stack=two", "sim:capacity=64GiB");

  get (&rig, 1, 16 * P);
  put (&rig, 1);
  get (&rig, 2, 2 * P);
  GeSpan *span = rig.blocks[2].handle, *idle = span->prev;
  GeSpanPool *pool = span->root->pool;
  GeSpanPool *bottom = pool->lower_data;
  struct
  {
    guint64 *figure;
    guint32 *pages;
  } damage[] = {
    { &span->address, NULL },    { NULL, &span->pages },       { NULL, &idle->pages },
    { &pool->obtained, NULL },   { &pool->theory, NULL },      { &pool->real_theory, NULL },
    { &pool->idle_pages, NULL }, { NULL, &span->root->pages }, { &bottom->obtained, NULL },
    { &bottom->theory, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (damage); i++)
    for (int sign = -1; sign <= 1; sign += 2)
      {
        g_autoptr (GError) error = NULL;
        guint64 old_figure = damage[i].figure != NULL ? *damage[i].figure : 0;
        guint32 old_pages = damage[i].pages != NULL ? *damage[i].pages : 0;

        if (damage[i].figure != NULL)
          *damage[i].figure += (guint64) (gint64) sign;
        else
          *damage[i].pages += (guint32) sign;
        g_assert_false (rig.allocator->klass->check (rig.allocator, &error));
        g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT);
        if (damage[i].figure != NULL)
          *damage[i].figure = old_figure;
        else
          *damage[i].pages = old_pages;
      }
  idle->occupied = TRUE;
  g_assert_false (rig.allocator->klass->check (rig.allocator, NULL));
  idle->occupied = FALSE;
  gemem_ge_layers_remove (&pool->layers, idle);
  g_assert_false (rig.allocator->klass->check (rig.allocator, NULL));
  gemem_ge_layers_push (&pool->layers, idle);
  rig_done (&rig);
}

/* The walk of a stack shows the parts of an L1 block in place of the bottom pool's block. */
static void
print_span (const GememSpan *span, gpointer data)
{
  g_string_append_printf (data,
                          "%s%" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT "@%" G_GUINT64_FORMAT " ",
                          span->state == GEMEM_SPAN_LIVE ? "L" : "f", (span->address - D) / P,
                          span->size / P, span->stream);
}

static void
test_walk (void)
{
  Rig rig = rig_new ("ge-scalable:stack=two", "sim:capacity=64GiB");
  g_autoptr (GString) text = g_string_new (NULL);

  rig.stream = 5;
  get (&rig, 1, 16 * P); /* the upper half of a 2 MiB block */
  put (&rig, 1);
  get (&rig, 2, 2 * P);
  rig.stream = 0;
  get (&rig, 3, 4 * P); /* below, from the bottom pool's idle half */
  rig.allocator->klass->walk (rig.allocator, print_span, text);
  g_assert_cmpstr (text->str, ==, "f0+12@0 L12+4@0 f16+14@5 L30+2@5 ");
  rig_done (&rig);
}

/* ---- properties */

typedef struct
{
  const char *spec, *device;
  guint64 smallest, largest;
  guint streams;
} Sequence;

static const Sequence sequences[] = {
  { "ge-scalable:stack=two,total=512MiB", "sim:capacity=48MiB", 1, 16 * MIB, 1 },
  { "ge-scalable:stack=two,total=512MiB", "sim:capacity=48MiB", 1, 16 * MIB, 4 },
  { "ge-scalable:stack=two,page_mem_size_total_threshold=40MiB", "sim:capacity=48MiB", 1, 16 * MIB,
    3 },
  { "ge-scalable:stack=two,total=4GiB", "sim:capacity=1GiB", 64, 300 * MIB, 2 },
  { "ge-scalable:stack=single,total=512MiB", "sim:capacity=48MiB", 1, 16 * MIB, 2 },
  { "ge-scalable:stack=rts,total=512MiB", "sim:capacity=48MiB", 1, 16 * MIB, 2 },
  { "ge-scalable:stack=two,total=512MiB,enable_quick_layer_mode=no,span_layer_lift_max=3",
    "sim:capacity=48MiB", 1, 16 * MIB, 2 },
};

static guint64
device_calls (const GememDevice *device)
{
  return device->calls[GEMEM_CALL_MALLOC] + device->calls[GEMEM_CALL_STREAM_SYNC];
}

/* One request that is freed at once; TRUE if it was served without a device call. */
static gboolean
served_from_cache (GememAllocator *allocator, guint64 stream, guint64 size)
{
  guint64 before = device_calls (allocator->device);
  GememRequest request = { .size = size, .stream = stream };
  GememBlock block;

  if (!allocator->klass->alloc (allocator, &request, &block))
    return FALSE;
  allocator->klass->free (allocator, &block, FALSE);
  return device_calls (allocator->device) == before;
}

static void
test_properties (gconstpointer data)
{
  const Sequence *sequence = data;
  GememAllocator *allocator = test_allocator_new (sequence->spec, sequence->device);
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (GememBlock));
  guint64 bytes = 0, failures = 0, probes = 0;
  GememRng rng;

  gemem_rng_init (&rng, 11, sequence->spec);
  for (guint step = 0; step < 6000; step++)
    {
      guint64 stream = gemem_rng_below (&rng, sequence->streams);
      if (live->len == 0 || gemem_rng_below (&rng, 120) >= live->len)
        {
          GememRequest request = { .size = gemem_rng_log_uniform (&rng, sequence->smallest,
                                                                  sequence->largest),
                                   .stream = stream };
          GememBlock block;
          if (allocator->klass->alloc (allocator, &request, &block))
            {
              bytes += block.size;
              g_array_append_val (live, block);
            }
          else
            failures++;
        }
      else
        {
          guint i = (guint) gemem_rng_below (&rng, live->len);
          GememBlock block = g_array_index (live, GememBlock, i);
          g_array_remove_index_fast (live, i);
          bytes -= block.size;
          allocator->klass->free (allocator, &block, FALSE);
        }
      g_assert_true (test_allocator_verify (allocator, live->len, bytes));
      if (step % 16 != 0)
        continue;
      guint64 largest = allocator->klass->largest_free (allocator, stream);
      g_assert_cmpuint (largest % P, ==, 0);
      if (largest > 0)
        {
          g_assert_true (served_from_cache (allocator, stream, largest));
          probes++;
        }
      largest = allocator->klass->largest_free (allocator, stream);
      for (guint64 more = P; more <= 1024 * P; more *= 2)
        if (gemem_rng_below (&rng, 8) == 0)
          {
            g_assert_false (served_from_cache (allocator, stream, largest + more));
            break; /* the ladder may have emptied everything */
          }
    }
  g_assert_cmpuint (failures, >, 0);
  g_assert_cmpuint (probes, >, 200);
  test_allocator_destroy (allocator);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-scalable/e1-split", test_e1_split);
  g_test_add_func ("/ge-scalable/e2-buddy-header", test_e2_buddy_header);
  g_test_add_func ("/ge-scalable/e3-delayed-split", test_e3_delayed_split);
  g_test_add_func ("/ge-scalable/e4-limit-is-exceeded-not-reached",
                   test_e4_limit_is_exceeded_not_reached);
  g_test_add_func ("/ge-scalable/e5-last-in-first-out", test_e5_last_in_first_out);
  g_test_add_func ("/ge-scalable/e6-bottom-pool-same-size", test_e6_bottom_pool_same_size);
  g_test_add_func ("/ge-scalable/e7-bottom-pool-exceeds-threshold",
                   test_e7_bottom_pool_exceeds_threshold);
  g_test_add_func ("/ge-scalable/e8-two-pools", test_e8_two_pools);
  g_test_add_func ("/ge-scalable/e9-recycle-stays-in-bottom-pool",
                   test_e9_recycle_stays_in_bottom_pool);
  g_test_add_func ("/ge-scalable/e10-ladder", test_e10_ladder);
  g_test_add_func ("/ge-scalable/e10-ladder-other-pool", test_e10_ladder_other_pool);
  g_test_add_func ("/ge-scalable/e11-soft-threshold", test_e11_soft_threshold);
  g_test_add_func ("/ge-scalable/e12-split-span-size", test_e12_split_span_size);
  g_test_add_func ("/ge-scalable/threshold", test_threshold);
  g_test_add_func ("/ge-scalable/threshold-option", test_threshold_option);
  g_test_add_func ("/ge-scalable/bad-settings", test_bad_settings);
  g_test_add_func ("/ge-scalable/request-sizes", test_request_sizes);
  g_test_add_func ("/ge-scalable/should-not-lift", test_should_not_lift);
  g_test_add_func ("/ge-scalable/persistent-tryl", test_persistent_tryl);
  g_test_add_func ("/ge-scalable/recycle-order", test_recycle_order);
  g_test_add_func ("/ge-scalable/streams-have-their-own-pools", test_streams_have_their_own_pools);
  g_test_add_func ("/ge-scalable/largest-free-keeps-threshold", test_largest_free_keeps_threshold);
  g_test_add_func ("/ge-scalable/failed-sync", test_failed_sync);
  g_test_add_func ("/ge-scalable/statistics", test_statistics);
  g_test_add_func ("/ge-scalable/check-finds-damage", test_check_finds_damage);
  g_test_add_func ("/ge-scalable/walk", test_walk);
  for (guint i = 0; i < G_N_ELEMENTS (sequences); i++)
    {
      g_autofree char *name = g_strdup_printf ("/ge-scalable/properties/%u", i);
      g_test_add_data_func (name, &sequences[i], test_properties);
    }
  return g_test_run ();
}
