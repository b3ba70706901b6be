/* test-ge-rdma.c - the rules of ge-runtime.md 6.2 one by one: one device allocation, best fit by
 * size then address, cut at half, coalescing on both sides. */
#include "config.h"

#include "allocators/ge/rdma-pool.h"
#include "tests/util/rig.h"
#include "tests/util/sizes.h"

#define D G_GUINT64_CONSTANT (0x100000000000)
#define REFUSED G_MAXUINT64

static guint64
get (Rig *rig, guint i, guint64 size)
{
  return rig_serve (rig, i, &(GememRequest){ .size = size }) ? rig->blocks[i].address - D : REFUSED;
}

static void
test_low_part_up_to_half (void)
{
  Rig rig = rig_new ("ge-rdma:size=64KiB", "sim:capacity=1MiB");

  g_assert_cmphex (get (&rig, 0, 32 * KIB), ==, 0); /* exactly half: cut */
  g_assert_cmpuint (rig.blocks[0].size, ==, 32 * KIB);
  g_assert_cmphex (get (&rig, 1, 16 * KIB + 1), ==, 32 * KIB); /* more than half: the whole node */
  g_assert_cmpuint (rig.blocks[1].size, ==, 32 * KIB);
  g_assert_cmphex (get (&rig, 2, 1), ==, REFUSED);
  put (&rig, 1);
  g_assert_cmphex (get (&rig, 1, 0), ==, 32 * KIB);
  g_assert_cmpuint (rig.blocks[1].size, ==, 512);
  g_assert_cmphex (get (&rig, 2, 513), ==, 32 * KIB + 512);
  g_assert_cmpuint (rig.blocks[2].size, ==, 1024);
  rig_done (&rig);
}

static void
test_best_fit_by_size_then_address (void)
{
  Rig rig = rig_new ("ge-rdma:size=1MiB", "sim:capacity=8MiB");

  for (guint i = 0; i < 8; i++)
    g_assert_cmphex (get (&rig, i, i % 2 == 0 ? 4 * KIB : (8 + i) * KIB), !=, REFUSED);
  put (&rig, 5);                                          /* 13 KiB */
  put (&rig, 1);                                          /* 9 KiB */
  put (&rig, 6);                                          /* with 5: 17 KiB */
  put (&rig, 2);                                          /* with 1: 13 KiB */
  g_assert_cmphex (get (&rig, 8, 12 * KIB), ==, 4 * KIB); /* the 13 KiB */
  put (&rig, 8);
  g_assert_cmphex (get (&rig, 8, 14 * KIB), ==, rig.blocks[5].address - D);
  put (&rig, 8);
  put (&rig, 0);                                    /* with 1 and 2: 17 KiB, as long as the other */
  g_assert_cmphex (get (&rig, 8, 16 * KIB), ==, 0); /* the lower address */
  g_assert_cmphex (get (&rig, 9, 16 * KIB), ==, rig.blocks[5].address - D);
  rig_done (&rig);
}

static void
test_merges_both_neighbours (void)
{
  Rig rig = rig_new ("ge-rdma:size=64KiB", "sim:capacity=1MiB");

  for (guint i = 0; i < 3; i++)
    g_assert_cmphex (get (&rig, i, 8 * KIB), ==, 8 * KIB * i);
  put (&rig, 0);
  put (&rig, 2);
  put (&rig, 1);
  g_assert_cmpuint (rig.allocator->klass->largest_free (rig.allocator, 0), ==, 64 * KIB);
  g_assert_cmphex (get (&rig, 0, 64 * KIB), ==, 0);
  rig_done (&rig);
}

static void
test_never_grows (void)
{
  Rig rig = rig_new ("ge-rdma:size=25%", "sim:capacity=4MiB");
  const GememDevice *device = rig.allocator->device;

  g_assert_cmpuint (device->held, ==, MIB);
  g_assert_cmphex (get (&rig, 0, MIB + 1), ==, REFUSED);
  g_assert_cmphex (get (&rig, 0, G_MAXUINT64), ==, REFUSED);
  g_assert_cmphex (get (&rig, 0, MIB), ==, 0);
  g_assert_cmphex (get (&rig, 1, 1), ==, REFUSED);
  put (&rig, 0);
  g_assert_cmpuint (device->held, ==, MIB); /* no memory is released before the end */
  g_assert_cmpuint (device->calls[GEMEM_CALL_MALLOC], ==, 1);
  rig_done (&rig);
}

static void
test_default_size (void)
{
  Rig large = rig_new ("ge-rdma", "sim:capacity=64GiB"),
      little = rig_new ("ge-rdma", "sim:capacity=100MiB");

  g_assert_cmpuint (large.allocator->device->held, ==, 1024 * MIB);
  g_assert_cmpuint (little.allocator->device->held, ==, 50 * MIB);
  rig_done (&large);
  rig_done (&little);
}

/* The odd end of a pool cannot be cut off; it belongs to the last block. */
static void
test_odd_size (void)
{
  Rig rig = rig_new ("ge-rdma:size=1300B", "sim:capacity=4MiB");

  g_assert_cmpuint (rig.allocator->klass->largest_free (rig.allocator, 0), ==, 1024);
  g_assert_cmphex (get (&rig, 0, 1025), ==, REFUSED);
  g_assert_cmphex (get (&rig, 0, 1), ==, 0);
  g_assert_cmphex (get (&rig, 1, 1), ==, 512);
  g_assert_cmpuint (rig.blocks[1].size, ==, 788);
  rig_done (&rig);
}

static void
test_init_memory_once (void)
{
  GememDevice *device = gemem_device_new ("sim:capacity=1MiB", NULL, 0, NULL);
  GeRdma rdma;

  gemem_ge_rdma_init (&rdma, device);
  g_assert_null (gemem_ge_rdma_alloc (&rdma, 1));
  g_assert_false (gemem_ge_rdma_init_memory (&rdma, 2 * MIB));
  g_assert_true (gemem_ge_rdma_init_memory (&rdma, 64 * KIB));
  g_assert_false (gemem_ge_rdma_init_memory (&rdma, 64 * KIB));
  g_assert_cmpuint (device->held, ==, 64 * KIB);
  g_assert_nonnull (gemem_ge_rdma_alloc (&rdma, 1));
  gemem_ge_rdma_clear (&rdma); /* with a block in use */
  g_assert_cmpuint (device->held, ==, 0);
  gemem_device_destroy (device);
}

/* If the device refuses the pool, the next request asks for it again. */
static void
test_device_refuses (void)
{
  Rig rig = rig_new ("ge-rdma:size=64KiB", "faulty:call=malloc,nth=1,capacity=1MiB");

  g_assert_cmpuint (rig.allocator->device->held, ==, 0);
  g_assert_cmphex (get (&rig, 0, 1), ==, 0);
  rig_done (&rig);
}

static void
test_check_finds_damage (void)
{
  Rig rig = rig_new ("ge-rdma:size=64KiB", "sim:capacity=1MiB");
  const GememAllocatorClass *klass = rig.allocator->klass;

  get (&rig, 0, 8 * KIB);
  get (&rig, 1, 8 * KIB);
  get (&rig, 2, 8 * KIB);
  put (&rig, 1);
  GeBinBlock *block = rig.blocks[0].handle, *idle = block->next;
  guint64 *figures[] = { &block->node.address, &block->node.size, &block->node.group,
                         &idle->node.size };

  for (guint i = 0; i < G_N_ELEMENTS (figures); i++)
    {
      g_autoptr (GError) error = NULL;

      *figures[i] += 512;
      g_assert_false (klass->check (rig.allocator, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT);
      *figures[i] -= 512;
    }
  block->occupied = FALSE;
  g_assert_false (klass->check (rig.allocator, NULL));
  block->occupied = TRUE;
  idle->occupied = TRUE;
  g_assert_false (klass->check (rig.allocator, NULL));
  idle->occupied = FALSE;
  rig_done (&rig);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-rdma/low-part-up-to-half", test_low_part_up_to_half);
  g_test_add_func ("/ge-rdma/best-fit-by-size-then-address", test_best_fit_by_size_then_address);
  g_test_add_func ("/ge-rdma/merges-both-neighbours", test_merges_both_neighbours);
  g_test_add_func ("/ge-rdma/never-grows", test_never_grows);
  g_test_add_func ("/ge-rdma/default-size", test_default_size);
  g_test_add_func ("/ge-rdma/odd-size", test_odd_size);
  g_test_add_func ("/ge-rdma/init-memory-once", test_init_memory_once);
  g_test_add_func ("/ge-rdma/device-refuses", test_device_refuses);
  g_test_add_func ("/ge-rdma/check-finds-damage", test_check_finds_damage);
  return g_test_run ();
}
