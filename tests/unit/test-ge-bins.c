/* test-ge-bins.c - the rules of ge-runtime.md 6.1 one by one: bins and their device requests,
 * the cut at half, the hint, padding, what is released and when, with NpuMemoryAllocator above
 * and without. */
#include "config.h"

#include "allocators/ge/block-set.h"
#include "tests/util/rig.h"
#include "tests/util/sizes.h"

#define D G_GUINT64_CONSTANT (0x100000000000)
#define REFUSED G_MAXUINT64

static guint64
get_on (Rig *rig, guint i, guint64 size, guint64 stream)
{
  return rig_serve (rig, i, &(GememRequest){ .size = size, .stream = stream })
             ? rig->blocks[i].address - D
             : REFUSED;
}

static guint64
get (Rig *rig, guint i, guint64 size)
{
  return get_on (rig, i, size, 0);
}

static guint64
calls (const Rig *rig, GememDeviceCall call)
{
  return rig->allocator->device->calls[call];
}

/* The device memory that a request at each bin's limits allocates. */
static void
test_bins (void)
{
  static const struct
  {
    guint64 size, taken;
  } rows[] = {
    { 0, 512 * KIB },
    { 1, 512 * KIB },
    { 512 * KIB, 512 * KIB },
    { 512 * KIB + 1, 8 * MIB + 512 },
    { 8 * MIB + 512, 8 * MIB + 512 },
    { 8 * MIB + 513, 32 * MIB + 512 },
    { 32 * MIB + 513, 128 * MIB + 512 },
    { 128 * MIB + 513, 256 * MIB + 512 },
    { 256 * MIB + 513, 512 * MIB + 512 },
    { 512 * MIB + 512, 512 * MIB + 512 },
    { 512 * MIB + 513, GIB },
    { GIB, GIB },
    { GIB + 1, 2 * GIB },
    { 5 * GIB, 5 * GIB },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      Rig rig = rig_new ("ge-bins:npu=no", "sim:capacity=64GiB");

      g_assert_cmphex (get (&rig, 0, rows[i].size), ==, 0);
      g_assert_cmpuint (rig_held (&rig), ==, rows[i].taken);
      rig_done (&rig);
    }
}

static void
test_low_part_up_to_half (void)
{
  Rig rig = rig_new ("ge-bins:npu=no", "sim:capacity=64GiB");

  g_assert_cmphex (get (&rig, 0, 256 * KIB), ==, 0); /* exactly half: cut */
  g_assert_cmpuint (rig.blocks[0].size, ==, 256 * KIB);
  g_assert_cmphex (get (&rig, 1, 128 * KIB + 1), ==, 256 * KIB); /* the whole rest */
  g_assert_cmpuint (rig.blocks[1].size, ==, 256 * KIB);
  put (&rig, 0);
  g_assert_cmphex (get (&rig, 0, 1), ==, 0);
  g_assert_cmpuint (rig.blocks[0].size, ==, 512);
  rig_done (&rig);
}

/* The rest of a large block is not used for small requests, and the other way round. */
static void
test_only_the_own_bin (void)
{
  Rig rig = rig_new ("ge-bins:npu=no", "sim:capacity=64GiB");

  g_assert_cmphex (get (&rig, 0, MIB), ==, 0); /* of 8 MiB + 512 */
  g_assert_cmphex (get (&rig, 1, 512 * KIB), ==, 10 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 8 * MIB + 512 + 512 * KIB);
  g_assert_cmphex (get (&rig, 2, 512 * KIB + 512), ==, MIB);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 3, 512 * KIB + 512), ==, MIB + 512 * KIB + 512);
  rig_done (&rig);
}

static void
test_merges_both_neighbours (void)
{
  Rig rig = rig_new ("ge-bins:npu=no", "sim:capacity=64GiB");

  for (guint i = 0; i < 3; i++)
    g_assert_cmphex (get (&rig, i, 64 * KIB), ==, 64 * KIB * i);
  put (&rig, 0);
  put (&rig, 2);
  put (&rig, 1);
  g_assert_cmpuint (rig.allocator->klass->largest_free (rig.allocator, 0), ==, 512 * KIB);
  g_assert_cmphex (get (&rig, 0, 512 * KIB), ==, 0);
  g_assert_cmpuint (rig_held (&rig), ==, 512 * KIB);
  rig_done (&rig);
}

/* Four free blocks of 64 KiB: which one is returned? */
static guint64
hinted (const char *spec, guint freed_last)
{
  Rig rig = rig_new (spec, "sim:capacity=64GiB");
  guint64 address;

  for (guint i = 0; i < 8; i++)
    g_assert_cmphex (get (&rig, i, 64 * KIB), ==, 64 * KIB * i);
  for (guint i = 0; i < 8; i += 2)
    if (i != freed_last)
      put (&rig, i);
  put (&rig, freed_last);
  address = get (&rig, 8, 64 * KIB);
  rig_done (&rig);
  return address;
}

static void
test_hint (void)
{
  g_assert_cmphex (hinted ("ge-bins:npu=no", 4), ==, 0);
  g_assert_cmphex (hinted ("ge-bins:npu=no,hint=latest", 4), ==, 4 * 64 * KIB);
  g_assert_cmphex (hinted ("ge-bins:npu=no,hint=latest", 0), ==, 0);
}

/* A block of equal size below the hint is passed over, even if it is the only one. */
static void
test_hint_above_the_only_block (void)
{
  Rig rig = rig_new ("ge-bins:npu=no,hint=latest", "sim:capacity=64GiB");

  g_assert_cmphex (get (&rig, 0, 512 * KIB), ==, 0);
  g_assert_cmphex (get (&rig, 1, MIB), ==, 2 * MIB);
  put (&rig, 0);
  put (&rig, 1);
  g_assert_cmpuint (rig.allocator->klass->largest_free (rig.allocator, 0), ==, 8 * MIB + 512);
  g_assert_cmphex (get (&rig, 0, 512 * KIB), ==, 12 * MIB);
  rig_done (&rig);
}

static guint64
block_size (const char *spec, guint64 size)
{
  Rig rig = rig_new (spec, "sim:capacity=64GiB");
  guint64 result = get (&rig, 0, size) == REFUSED ? 0 : rig.blocks[0].size;

  rig_done (&rig);
  return result;
}

static void
test_padding (void)
{
  g_assert_cmpuint (block_size ("ge-bins:npu=no", 512), ==, 512);
  g_assert_cmpuint (block_size ("ge-bins:platform_padding=0", 512), ==, 512);
  g_assert_cmpuint (block_size ("ge-bins", 448), ==, 512);  /* (448 + 63) / 32 * 32 = 480 */
  g_assert_cmpuint (block_size ("ge-bins", 480), ==, 512);  /* 512 */
  g_assert_cmpuint (block_size ("ge-bins", 481), ==, 1024); /* 544 */
  g_assert_cmpuint (block_size ("ge-bins:platform_padding=64", 449), ==, 1024);
  /* one more than needed */
  g_assert_cmpuint (block_size ("ge-bins:platform_padding=0,padding=512", 512), ==, 1024);
  /* (512 + 599) / 300 * 300 = 900 */
  g_assert_cmpuint (block_size ("ge-bins:platform_padding=0,padding=300", 512), ==, 1024);
  g_assert_cmpuint (block_size ("ge-bins", 0), ==, 0);
  g_assert_cmpuint (block_size ("ge-bins:npu=no", 0), ==, 512);
}

static void
test_largest_request (void)
{
  Rig npu = rig_new ("ge-bins", "sim:capacity=4TiB"),
      bare = rig_new ("ge-bins:npu=no", "sim:capacity=4TiB");

  g_assert_cmphex (get (&npu, 0, 1024 * GIB + 1), ==, REFUSED);
  g_assert_cmphex (get (&npu, 0, G_MAXUINT64), ==, REFUSED);
  g_assert_cmpuint (calls (&npu, GEMEM_CALL_MALLOC), ==, 0); /* an error, not out of memory */
  g_assert_cmphex (get (&npu, 0, 1024 * GIB), !=, REFUSED);
  g_assert_cmphex (get (&bare, 0, 1024 * GIB + 1), !=, REFUSED);
  g_assert_cmphex (get (&bare, 1, G_MAXUINT64), ==, REFUSED);
  rig_done (&npu);
  rig_done (&bare);
}

static void
test_streams_have_their_own_pools (void)
{
  Rig npu = rig_new ("ge-bins", "sim:capacity=64GiB"),
      bare = rig_new ("ge-bins:npu=no", "sim:capacity=64GiB");

  g_assert_cmphex (get_on (&npu, 0, MIB, 7), ==, 0);
  put (&npu, 0);
  g_assert_cmpuint (npu.allocator->klass->largest_free (npu.allocator, 3), ==, 0);
  g_assert_cmphex (get_on (&npu, 1, MIB, 3), ==, 10 * MIB);
  g_assert_cmphex (get_on (&npu, 0, MIB, 7), ==, 0);
  g_assert_cmphex (get_on (&bare, 0, MIB, 7), ==, 0);
  put (&bare, 0);
  g_assert_cmphex (get_on (&bare, 1, MIB, 3), ==, 0);
  rig_done (&npu);
  rig_done (&bare);
}

/* Unsplit free blocks are released after their stream has finished; others stay. */
static void
test_trim (void)
{
  Rig rig = rig_new ("ge-bins", "sim:capacity=64GiB");

  get (&rig, 0, MIB);
  get (&rig, 1, 9 * MIB);
  get_on (&rig, 2, 9 * MIB, 1);
  put (&rig, 1);
  put (&rig, 2);
  g_assert_cmpuint (rig_held (&rig), ==, 72 * MIB + 3 * 512);
  trim (&rig);
  g_assert_cmpuint (rig_held (&rig), ==, 8 * MIB + 512);
  g_assert_cmpuint (calls (&rig, GEMEM_CALL_STREAM_SYNC), ==, 2);
  rig_done (&rig);
}

/* 40 MiB are free on stream 0, 20 on stream 1: which step of the ladder suffices? */
static void
ladder (guint64 size, guint64 stream, guint64 syncs)
{
  Rig rig = rig_new ("ge-bins", "sim:capacity=80MiB");

  g_assert_cmphex (get_on (&rig, 0, 9 * MIB, 0), ==, 0);
  g_assert_cmphex (get_on (&rig, 1, 8 * MIB, 1), ==, 34 * MIB);
  g_assert_cmphex (get_on (&rig, 2, 9 * MIB, 1), ==, 44 * MIB);
  put (&rig, 0);
  put (&rig, 1);
  put (&rig, 2);
  g_assert_cmpuint (rig_held (&rig), ==, 72 * MIB + 1536);
  g_assert_cmpuint (get_on (&rig, 3, size, stream) != REFUSED, ==, size <= 32 * MIB);
  g_assert_cmpuint (calls (&rig, GEMEM_CALL_STREAM_SYNC), ==, syncs);
  rig_done (&rig);
}

static void
test_ladder (void)
{
  ladder (9 * MIB, 0, 0); /* free there already */
  ladder (8 * MIB, 2, 2); /* stream 2 has nothing; stream 0 frees 32 MiB */
  ladder (9 * MIB, 2, 2);
  ladder (MIB, 0, 1);      /* its own 32 MiB are released, 8 are allocated again */
  ladder (40 * MIB, 0, 3); /* the bin for it exceeds the capacity: own, 0, 1 */
}

static gboolean
refuse_sync (G_GNUC_UNUSED GememDevice *device, G_GNUC_UNUSED guint64 stream)
{
  return FALSE;
}

static void
test_failed_sync (void)
{
  Rig rig = rig_new ("ge-bins", "sim:capacity=80MiB");
  GememDevice *device = rig.allocator->device;
  const GememDeviceClass *klass = device->klass;
  GememDeviceClass broken = *klass;

  broken.stream_sync = refuse_sync;
  for (guint i = 0; i < 2; i++)
    get (&rig, i, 20 * MIB);
  put (&rig, 0);
  device->klass = &broken;
  g_assert_cmphex (get (&rig, 2, 33 * MIB), ==, REFUSED);
  g_assert_cmpuint (calls (&rig, GEMEM_CALL_STREAM_SYNC), ==, 1);
  g_assert_cmpuint (rig_held (&rig), ==, 64 * MIB + 1024);
  device->klass = klass;
  rig_done (&rig);
}

/* Without a stream no block is released: the allocator only asks the device a second time. */
static void
test_bare_failure (void)
{
  Rig rig = rig_new ("ge-bins:npu=no", "sim:capacity=80MiB"),
      lucky = rig_new ("ge-bins:npu=no", "faulty:nth=1,call=malloc,capacity=80MiB");

  for (guint i = 0; i < 2; i++)
    get (&rig, i, 20 * MIB);
  put (&rig, 0);
  g_assert_cmphex (get (&rig, 2, 33 * MIB), ==, REFUSED);
  g_assert_cmpuint (calls (&rig, GEMEM_CALL_MALLOC), ==, 4);
  g_assert_cmpuint (calls (&rig, GEMEM_CALL_STREAM_SYNC), ==, 0);
  g_assert_cmpuint (rig_held (&rig), ==, 64 * MIB + 1024);
  trim (&rig);
  g_assert_cmpuint (rig_held (&rig), ==, 32 * MIB + 512);
  g_assert_cmphex (get (&lucky, 0, 20 * MIB), ==, 0);
  rig_done (&rig);
  rig_done (&lucky);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-bins/bins", test_bins);
  g_test_add_func ("/ge-bins/low-part-up-to-half", test_low_part_up_to_half);
  g_test_add_func ("/ge-bins/only-the-own-bin", test_only_the_own_bin);
  g_test_add_func ("/ge-bins/merges-both-neighbours", test_merges_both_neighbours);
  g_test_add_func ("/ge-bins/hint", test_hint);
  g_test_add_func ("/ge-bins/hint-above-the-only-block", test_hint_above_the_only_block);
  g_test_add_func ("/ge-bins/padding", test_padding);
  g_test_add_func ("/ge-bins/largest-request", test_largest_request);
  g_test_add_func ("/ge-bins/streams-have-their-own-pools", test_streams_have_their_own_pools);
  g_test_add_func ("/ge-bins/trim", test_trim);
  g_test_add_func ("/ge-bins/ladder", test_ladder);
  g_test_add_func ("/ge-bins/failed-sync", test_failed_sync);
  g_test_add_func ("/ge-bins/bare-failure", test_bare_failure);
  return g_test_run ();
}
