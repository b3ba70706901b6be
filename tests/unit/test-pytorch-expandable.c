/* test-pytorch-expandable.c - expandable segments of `pytorch-caching` against the worked examples
 * P9 to P12 of peers.md 3.1, the order of device calls, devices that refuse, and `pytorch-expandable`.
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/caching.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define NONE G_MAXUINT64

typedef struct
{
  GememAllocator *a;
  GString *calls; /* "reserve map V0+0 ..." since the last look */
  GArray *ranges; /* guint64: begin of each, in order */
  GememDeviceObserver observer;
} Fixture;

static void
append_place (Fixture *f, guint64 address)
{
  for (guint i = f->ranges->len; i-- > 0;)
    {
      const guint64 start = g_array_index (f->ranges, guint64, i);
      if (address >= start)
        {
          g_string_append_printf (f->calls, " V%u+%" G_GUINT64_FORMAT, i, address - start);
          return;
        }
    }
  g_assert_not_reached ();
}

/* Calls of one kind that follow each other at adjoining addresses are one entry: a map or unmap of
 * several pages. */
static void
observe (gpointer data, const GememDeviceNote *note)
{
  static GememDeviceCall last;
  static guint64 end;
  Fixture *f = data;

  if (note->call == GEMEM_CALL_RESERVE && note->ok)
    {
      g_array_append_val (f->ranges, note->address);
      return;
    }
  if (note->call == GEMEM_CALL_CREATE && !note->ok)
    g_string_append (f->calls, " refused");
  if (note->call != GEMEM_CALL_MAP && note->call != GEMEM_CALL_UNMAP
      && note->call != GEMEM_CALL_RELEASE && note->call != GEMEM_CALL_STREAM_SYNC)
    return;
  if (note->call != last || note->address != end || f->calls->len == 0)
    {
      g_string_append_printf (f->calls, " %s", gemem_device_call_name (note->call));
      if (note->call != GEMEM_CALL_STREAM_SYNC)
        append_place (f, note->address);
    }
  last = note->call;
  end = note->address + note->size;
}

static Fixture *
setup (const char *spec, const char *device)
{
  Fixture *f = g_new0 (Fixture, 1);

  f->a = test_allocator_new (spec, device);
  f->ranges = g_array_new (FALSE, FALSE, sizeof (guint64));
  f->calls = g_string_new (NULL);
  f->observer = (GememDeviceObserver){ .func = observe, .data = f };
  gemem_device_add_observer (f->a->device, &f->observer);
  return f;
}

static void
check (Fixture *f)
{
  g_autoptr (GError) error = NULL;

  f->a->klass->check (f->a, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (f->a->device->held, ==, ((Caching *) f->a)->reserved);
}

static void
teardown (Fixture *f)
{
  check (f);
  gemem_device_remove_observer (f->a->device, &f->observer);
  test_allocator_destroy (f->a);
  g_array_unref (f->ranges);
  g_string_free (f->calls, TRUE);
  g_free (f);
}

/* Allocates @size bytes, which must lie @offset into the range @range; NONE: must fail. */
static GememBlock
get (Fixture *f, guint64 size, guint range, guint64 offset)
{
  const GememRequest request = { size, 0, 0 };
  GememBlock block = { 0 };
  const gboolean ok = f->a->klass->alloc (f->a, &request, &block);

  g_assert_cmpint (ok, ==, offset != NONE);
  check (f);
  if (ok)
    {
      g_assert_cmpuint (range, <, f->ranges->len);
      g_assert_cmpuint (block.address - g_array_index (f->ranges, guint64, range), ==, offset);
    }
  return block;
}

static void
put (Fixture *f, GememBlock block)
{
  f->a->klass->free (f->a, &block, FALSE);
  check (f);
}

/* The map, unmap, release and synchronisation calls since the last look. */
static void
expect (Fixture *f, const char *calls, guint64 reserved)
{
  g_assert_cmpstr (g_strstrip (f->calls->str), ==, calls);
  g_string_truncate (f->calls, 0);
  g_assert_cmpuint (((Caching *) f->a)->reserved, ==, reserved);
}

static void
test_p9_growth (void)
{
  Fixture *f = setup ("pytorch-expandable", "sim:capacity=1GiB");
  GememBlock first = get (f, 16 * MIB, 0, 0);

  expect (f, "map V0+0", 20 * MIB);
  get (f, 16 * MIB, 0, 16777216);
  expect (f, "map V0+20971520", 40 * MIB);
  get (f, 3 * MIB, 0, 33554432);
  get (f, 100, 1, 0);
  expect (f, "map V1+0", 42 * MIB);
  put (f, first);
  get (f, 10 * MIB, 0, 0);
  expect (f, "", 42 * MIB);
  get (f, 40 * MIB, 0, 36700160);
  expect (f, "map V0+41943040", 82 * MIB);
  teardown (f);
}

static void
test_p10_unmap_and_refill (void)
{
  Fixture *f = setup ("pytorch-caching:expandable_segments=yes", "sim:capacity=1GiB");
  GememBlock a = get (f, 50 * MIB, 0, 0), c;

  get (f, MIB + 1, 0, 52428800);
  c = get (f, 50 * MIB, 0, 53477888);
  expect (f, "map V0+0", 120 * MIB);
  put (f, a);
  put (f, c);
  f->a->klass->trim (f->a);
  check (f);
  expect (f, "stream_sync unmap V0+0 stream_sync unmap V0+62914560", 20 * MIB);
  get (f, 30 * MIB, 0, 0);
  expect (f, "map V0+0", 60 * MIB);
  get (f, 60 * MIB, 0, 53477888);
  expect (f, "map V0+62914560", 120 * MIB);
  get (f, 25 * MIB, 0, 116392448);
  expect (f, "map V0+125829120", 140 * MIB);
  teardown (f);
}

static void
test_p11_out_of_memory (void)
{
  Fixture *f = setup ("pytorch-expandable", "sim:capacity=140MiB");
  GememBlock a = get (f, 60 * MIB, 0, 0);

  get (f, 30 * MIB, 0, 62914560);
  put (f, a);
  expect (f, "map V0+0", 100 * MIB);
  get (f, 70 * MIB, 0, 94371840);
  expect (f, "refused stream_sync unmap V0+0 map V0+104857600", 100 * MIB);
  get (f, 80 * MIB, 0, NONE);
  teardown (f);
}

static void
test_p12_holes_first (void)
{
  Fixture *f = setup ("pytorch-expandable", "sim:capacity=1GiB");
  GememBlock a = get (f, 30 * MIB, 0, 0);

  get (f, 2 * MIB, 0, 31457280);
  put (f, a);
  expect (f, "map V0+0", 40 * MIB);
  get (f, 6 * MIB, 0, 0);
  expect (f, "", 40 * MIB);
  get (f, 25 * MIB, 0, 33554432);
  expect (f, "map V0+41943040", 60 * MIB);
  teardown (f);
}

/* A range without memory is returned, too. */
static void
test_empty_range (void)
{
  Fixture *f = setup ("pytorch-expandable", "sim:capacity=1GiB");

  put (f, get (f, 30 * MIB, 0, 0));
  expect (f, "map V0+0", 40 * MIB);
  f->a->klass->trim (f->a);
  expect (f, "stream_sync unmap V0+0 release V0+0", 0);
  get (f, 1, 1, 0);
  teardown (f);
}

/* No tail stays attached in the large pool, and the limit counts a segment's bytes. */
static void
test_split_and_limit (void)
{
  Fixture *f = setup ("pytorch-expandable:memory_limit=60MiB,max_split_size_mb=32",
                      "sim:capacity=1GiB");

  put (f, get (f, 20 * MIB, 0, 0));
  put (f, get (f, 20 * MIB - 512, 0, 0));
  get (f, 19 * MIB, 0, 0);
  get (f, MIB + 512, 0, 19 * MIB);
  expect (f, "map V0+0", 40 * MIB);
  get (f, 40 * MIB, 0, NONE); /* 40 + 40 > 60, although 21 more would do */
  teardown (f);
}

/* What 2.12.1 orders equal blocks by: the part that unmapping leaves above counts as made then (the
 * smallest case that tests/oracle found). */
static void
test_order_of_making (void)
{
  Fixture *f = setup ("pytorch-expandable:roundup_power2_divisions=4,version=2.12.1",
                      "sim:capacity=80GiB");
  GememBlock large, small;

  get (f, 1179648, 0, 0);
  get (f, 64 * MIB, 0, 0x140000);
  get (f, 89128960, 0, 0x4140000);
  get (f, 1073152, 0, 0xa140000);
  large = get (f, 143654912, 0, 0xa280000);
  get (f, 2 * MIB, 0, 0x14280000);
  put (f, large);
  small = get (f, 2 * MIB + 1, 0, 0xa280000);
  get (f, 2031616, 0, 0xa500000);
  f->a->klass->trim (f->a);
  put (f, small);
  get (f, 1638400, 0, 0xa280000);
  teardown (f);
}

/* What a device cannot do is said at once. */
static void
test_no_virtual_memory (void)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememDevice *device = gemem_device_new ("sim:virtual_memory=no", NULL, 0, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_allocator_spec_parse ("pytorch-expandable", specs, NULL));
  g_assert_null (gemem_allocator_new (specs->pdata[0], NULL, device, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "without virtual memory"));
  gemem_device_destroy (device);
}

/* The shorthand is the class with the setting, which may be said again. */
static void
test_shorthand (void)
{
  static const char *const specs[] = { "pytorch-expandable",
                                       "pytorch-expandable:expandable_segments=1",
                                       "pytorch:conf=expandable_segments:True",
                                       "expandable-segments:max_split_size_mb=64" };

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      GememAllocator *a = test_allocator_new (specs[i], "sim:capacity=1GiB");
      g_assert_cmpstr (a->klass->name, ==, "pytorch-caching");
      g_assert_true (((Caching *) a)->settings.expandable);
      test_allocator_destroy (a);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch-expandable/P9", test_p9_growth);
  g_test_add_func ("/pytorch-expandable/P10", test_p10_unmap_and_refill);
  g_test_add_func ("/pytorch-expandable/P11", test_p11_out_of_memory);
  g_test_add_func ("/pytorch-expandable/P12", test_p12_holes_first);
  g_test_add_func ("/pytorch-expandable/empty-range", test_empty_range);
  g_test_add_func ("/pytorch-expandable/split-and-limit", test_split_and_limit);
  g_test_add_func ("/pytorch-expandable/order-of-making", test_order_of_making);
  g_test_add_func ("/pytorch-expandable/no-virtual-memory", test_no_virtual_memory);
  g_test_add_func ("/pytorch-expandable/shorthand", test_shorthand);
  return g_test_run ();
}
