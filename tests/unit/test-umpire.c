/* test-umpire.c - `umpire-quick` and `umpire-list` against the worked examples of peers.md 1k, and
 * what the real program does not survive. */
#include "config.h"

#include <string.h>

#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)
#define NONE G_MAXUINT64

/* An allocator as in the examples, on a device whose addresses begin at BASE in steps of 2 MiB. */
static GememAllocator *
umpire (const char *spec)
{
  return test_allocator_new (spec,
                             "sim:base=0x100000000000,step=2MiB,address=bump,capacity=10000000");
}

static GememBlock
want (GememAllocator *a, guint64 size, guint64 offset, guint64 held)
{
  const GememRequest request = { .size = size };
  GememBlock block = { .address = NONE };

  if (!a->klass->alloc (a, &request, &block))
    block.address = NONE;
  g_assert_true (a->klass->check (a, NULL));
  g_assert_cmpuint (block.address, ==, offset == NONE ? NONE : BASE + offset);
  g_assert_cmpuint (a->device->held, ==, held);
  return block;
}

static void
drop (GememAllocator *a, GememBlock block, guint64 held)
{
  a->klass->free (a, &block, FALSE);
  g_assert_true (a->klass->check (a, NULL));
  g_assert_cmpuint (a->device->held, ==, held);
}

/* U1 */
static void
test_coalesce (gconstpointer name)
{
  g_autofree char *spec = g_strconcat (name, ":first=4096B", NULL);
  GememAllocator *a = umpire (spec);
  GememBlock first = want (a, 100, 0, 4112), second = want (a, 1000, 0x70, 4112), third;

  g_assert_cmpuint (first.size, ==, 112);
  g_assert_cmpuint (second.size, ==, 1008);
  drop (a, first, 4112);
  third = want (a, 2000000, 2 * MIB, 2004128);
  drop (a, second, 2004128);
  g_assert_cmpuint (test_allocator_stat (a, "getAlignedHighwaterMark"), ==, 2001008);
  g_assert_cmpuint (test_allocator_stat (a, "getReleasableBlocks"), ==, 1);
  drop (a, third, 2001024);
  g_assert_cmpuint (test_allocator_stat (a, "getBlocksInPool"), ==, 1);
  g_assert_null (a->broken);
  a->klass->trim (a);
  g_assert_cmpuint (a->device->held, ==, 0);
  test_allocator_destroy (a);
}

/* U2: of two chunks of equal size the first that became free, or the lower. */
static void
test_ties (void)
{
  for (guint i = 0; i < 2; i++)
    {
      GememAllocator *a = umpire (i == 0 ? "umpire-quick:first=4096B" : "umpire-list:first=4096B");
      GememBlock low = want (a, 96, 0, 4112), gap = want (a, 16, 96, 4112),
                 high = want (a, 96, 112, 4112);

      want (a, 16, 208, 4112);
      drop (a, high, 4112);
      drop (a, low, 4112);
      want (a, 90, i == 0 ? 112 : 0, 4112);
      drop (a, gap, 4112);
      test_allocator_destroy (a);
    }
}

/* A fragment in the first block, then two blocks whole: what is released is asked for again. */
static GememAllocator *
coalesce_beside_fragment (const char *spec)
{
  GememAllocator *a = umpire (spec);
  GememBlock low = want (a, 4000, 0, 4112), second, third;

  want (a, 96, 4000, 4112);
  second = want (a, 40000, 2 * MIB, 4112 + 40016);
  third = want (a, 80000, 4 * MIB, 4112 + 40016 + 80016);
  drop (a, low, 124144);
  a->klass->free (a, &second, FALSE);
  a->klass->free (a, &third, FALSE);
  g_assert_true (a->klass->check (a, NULL));
  return a;
}

/* U3: half of the pool is releasable again and again. */
static void
test_without_end (void)
{
  GememAllocator *a;

  a = coalesce_beside_fragment ("umpire-quick:first=4096B,next=1B,coalesce=percent_releasable:50");
  g_assert_nonnull (a->broken);
  g_assert_nonnull (strstr (a->broken, "coalesces without end"));
  g_assert_cmpuint (a->device->held, ==, 4112 + 120016);
  test_allocator_destroy (a);
  a = coalesce_beside_fragment ("umpire-quick:first=4096B,next=1B,coalesce=blocks_releasable:1");
  g_assert_nonnull (a->broken);
  test_allocator_destroy (a);
  a = coalesce_beside_fragment ("umpire-quick:first=4096B,next=1B,coalesce=blocks_releasable:2");
  g_assert_null (a->broken);
  g_assert_cmpuint (a->device->held, ==, 4112 + 120016);
  test_allocator_destroy (a);
  a = coalesce_beside_fragment ("umpire-list:first=4096B,next=1B,coalesce=percent_releasable:50");
  g_assert_null (a->broken);
  test_allocator_destroy (a);
}

/* U4: the device refuses the block with which a free coalesces. */
static void
test_no_memory_to_coalesce (gconstpointer name)
{
  g_autofree char *spec = g_strconcat (name, ":first=4096B,coalesce=percent_releasable:100", NULL);
  GememAllocator *a = test_allocator_new (
      spec, "faulty:after=2,call=malloc,base=0x100000000000,step=2MiB,address=bump");
  GememBlock first = want (a, 4000000, 0, 4000016), second = want (a, 4000000, 4 * MIB, 8000032);

  drop (a, first, 8000032);
  drop (a, second, 0);
  g_assert_nonnull (a->broken);
  g_assert_nonnull (strstr (a->broken, "which ends the real program"));
  want (a, 1, NONE, 0);
  test_allocator_destroy (a);
}

/* An alignment above that of the device: the bytes before and behind a block are nobody's. */
static void
test_alignment (void)
{
  GememAllocator *a = test_allocator_new (
      "umpire-quick:first=5MiB,alignment=4MiB",
      "sim:base=0x100000000000,step=2MiB,address=bump,capacity=64MiB");

  g_assert_cmpuint (want (a, 1, 0, 9 * MIB).size, ==, 4 * MIB);
  want (a, 5, 12 * MIB, 17 * MIB);
  g_assert_true (test_allocator_verify (a, 2, 8 * MIB));
  test_allocator_destroy (a);
}

static void
test_refused (void)
{
  static const struct
  {
    const char *settings, *message;
  } wrong[] = {
    { "coalesce=never", "no heuristic of Umpire" },
    { "coalesce=percent_releasable", "no heuristic of Umpire" },
    { "coalesce=percent_releasable(50", "no heuristic of Umpire" },
    { "coalesce=percent_releasable:50)", "no heuristic of Umpire" },
    { "coalesce=percent_releasable:", "is no whole number" },
    { "coalesce=percent_releasable:-1", "is no whole number" },
    { "coalesce=percent_releasable:0.5", "is no whole number" },
    { "coalesce=percent_releasable:101", "at most 100" },
    { "coalesce=blocks_releasable:18446744073709551616", "is no whole number" },
    { "alignment=48", "not a power of two" },
    { "alignment=8", "use 16 to 1GiB" },
    { "next=2000TiB", "1024TiB" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      g_autofree char *text = g_strconcat ("umpire-quick:", wrong[i].settings, NULL);
      g_autoptr (GError) error = NULL;
      GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);

      if (gemem_allocator_spec_parse (text, specs, &error))
        g_assert_null (gemem_allocator_new (specs->pdata[0], NULL, device, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      g_assert_nonnull (strstr (error->message, wrong[i].message));
      gemem_device_destroy (device);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/umpire/quick/1", "umpire-quick", test_coalesce);
  g_test_add_data_func ("/umpire/list/1", "umpire-list", test_coalesce);
  g_test_add_func ("/umpire/ties", test_ties);
  g_test_add_func ("/umpire/without-end", test_without_end);
  g_test_add_data_func ("/umpire/quick/no-memory", "umpire-quick", test_no_memory_to_coalesce);
  g_test_add_data_func ("/umpire/list/no-memory", "umpire-list", test_no_memory_to_coalesce);
  g_test_add_func ("/umpire/alignment", test_alignment);
  g_test_add_func ("/umpire/refused", test_refused);
  return g_test_run ();
}
