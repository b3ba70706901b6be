/* test-ge-expandable.c - the worked examples E13 to E19 of ge-runtime.md section 9 by name, a
 * device without virtual memory, pages shared between the pools of several streams, and a device
 * that fails at every call of an example. */
#include "config.h"

#include <string.h>

#include "allocators/ge/stack.h"
#include "tests/util/rig.h"
#include "tests/util/sizes.h"

#define TOP \
  (G_GUINT64_CONSTANT (0x200000000000) \
   + G_GUINT64_CONSTANT (65280147456)) /* of the range on a device of 64 GiB */
#define SLOTS 16

static Rig
rig_with (const char *settings)
{
  g_autofree char *spec = g_strconcat ("ge-expandable:total=64GiB", settings, NULL);

  return rig_new (spec, NULL);
}

static gboolean
try (Rig *rig, guint i, guint64 size)
{
  return rig_serve (rig, i, &(GememRequest){ .size = size, .stream = rig->stream });
}

static guint64
get (Rig *rig, guint i, guint64 size)
{
  g_assert_true (try (rig, i, size));
  g_assert_cmpuint (rig->blocks[i].size, >=, size);
  return rig->blocks[i].address;
}

/* MiB of physical memory under the range of @stream's pool. */
static guint64
phys (const Rig *rig, guint64 stream)
{
  return gemem_ge_stack_find ((GeStack *) rig->allocator, stream)->pool.expandable->range.phys
         / MIB;
}

static guint64
driver (const Rig *rig)
{
  return rig->allocator->device->held / MIB;
}

static gboolean
is_new_va (const Rig *rig, guint i)
{
  return ((const GeSpan *) rig->blocks[i].handle)->new_va;
}

/* The rate of 1.8 in percent. */
static guint64
rate (const Rig *rig)
{
  return gemem_ge_pool_reach_theory_rate (
             &gemem_ge_stack_find ((GeStack *) rig->allocator, 0)->pool)
         / 100;
}

/* ---- worked examples */

static void
test_e13 (void)
{
  Rig rig = rig_with ("");

  g_assert_cmphex (get (&rig, 1, 15 * MIB), ==, TOP - 15 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 16);
  g_assert_cmphex (get (&rig, 2, 15 * MIB), ==, TOP - 30 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 32);
  put (&rig, 1);
  put (&rig, 2);
  g_assert_cmphex (get (&rig, 3, 30 * MIB), ==, TOP - 30 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 32);
  put (&rig, 3);
  trim (&rig);
  g_assert_cmpuint (phys (&rig, 0), ==, 0);
  g_assert_cmpuint (driver (&rig), ==, 32);
  g_assert_cmphex (get (&rig, 4, 30 * MIB), ==, TOP - 30 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 32);
  g_assert_cmpuint (driver (&rig), ==, 32);
  rig_done (&rig);
}

static void
test_e14 (void)
{
  Rig rig = rig_with ("");

  get (&rig, 1, 15 * MIB);
  get (&rig, 2, 15 * MIB);
  put (&rig, 1);
  trim (&rig);
  g_assert_cmpuint (phys (&rig, 0), ==, 24); /* only the topmost page was free */
  put (&rig, 2);
  g_assert_cmphex (get (&rig, 3, 30 * MIB), ==, TOP - 30 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 32);
  rig_done (&rig);
}

static void
test_e15 (void)
{
  Rig rig = rig_with ("");

  for (guint i = 1; i <= 4; i++)
    g_assert_cmphex (get (&rig, i, MIB), ==, TOP - i * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 8);
  put (&rig, 3);
  put (&rig, 2);
  trim (&rig);
  g_assert_cmpuint (phys (&rig, 0), ==, 8);
  put (&rig, 1);
  put (&rig, 4);
  trim (&rig);
  g_assert_cmpuint (phys (&rig, 0), ==, 0);
  rig_done (&rig);
}

static void
test_e16 (void)
{
  Rig rig = rig_with ("");
  guint64 shown;

  g_assert_cmphex (get (&rig, 1, 12 * MIB), ==, TOP - 12 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 16);
  g_assert_cmphex (get (&rig, 2, 10 * MIB), ==, TOP - 22 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 24);
  put (&rig, 1);
  shown = get (&rig, 3, 24 * MIB);
  g_assert_true (is_new_va (&rig, 3));
  g_assert_cmpuint (rig.blocks[3].size, ==, 24 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 40);
  put (&rig, 2);
  g_assert_cmphex (get (&rig, 4, 32 * MIB), !=, shown);
  g_assert_true (is_new_va (&rig, 4));
  g_assert_cmpuint (phys (&rig, 0), ==, 56);
  put (&rig, 3);
  g_assert_cmphex (get (&rig, 5, 24 * MIB), ==, shown);
  g_assert_cmpuint (phys (&rig, 0), ==, 56);
  g_assert_cmpuint (rate (&rig), ==, 100);
  rig_done (&rig);
}

static void
assert_violation (const Rig *rig, const char *says)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (rig->allocator->klass->check (rig->allocator, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT);
  g_assert_nonnull (strstr (error->message, says));
}

/* The faults that GE's VA/PA self-check finds (5.8): a page borrowed by two blocks, or mapped at
 * an address outside its block. */
static void
test_self_check (void)
{
  Rig rig = rig_with ("");
  GeRange *range;
  GeNewVa *v;
  guint32 first;

  get (&rig, 1, 12 * MIB);
  get (&rig, 2, 10 * MIB);
  put (&rig, 1);
  get (&rig, 3, 24 * MIB);
  range = &gemem_ge_stack_find ((GeStack *) rig.allocator, 0)->pool.expandable->range;
  v = (GeNewVa *) rig.blocks[3].handle;
  first = v->records[0];
  v->records[0] = v->records[1];
  assert_violation (&rig, "is not mapped at");
  v->records[0] = first;
  gemem_ge_range_record (range, first)->elsewhere = FALSE;
  assert_violation (&rig, "but not lent");
  gemem_ge_range_record (range, first)->elsewhere = TRUE;
  rig_done (&rig);
}

static void
test_e17 (void)
{
  Rig rig = rig_with ("");
  guint64 shown;

  for (guint i = 1; i <= 3; i++)
    g_assert_cmphex (get (&rig, i, 8 * MIB), ==, TOP - i * 8 * MIB);
  put (&rig, 3);
  put (&rig, 1);
  shown = get (&rig, 4, 16 * MIB);
  g_assert_true (is_new_va (&rig, 4));
  g_assert_cmpuint (phys (&rig, 0), ==, 24);
  put (&rig, 4);
  g_assert_cmphex (get (&rig, 5, 16 * MIB), ==, shown);
  put (&rig, 2);
  g_assert_cmphex (get (&rig, 6, 16 * MIB), !=, shown);
  g_assert_true (is_new_va (&rig, 6));
  g_assert_cmpuint (phys (&rig, 0), ==, 32);
  put (&rig, 5);
  g_assert_cmphex (get (&rig, 7, 8 * MIB), ==, TOP - 8 * MIB);
  get (&rig, 8, 16 * MIB);
  g_assert_true (is_new_va (&rig, 8));
  g_assert_cmpuint (phys (&rig, 0), ==, 40);
  g_assert_cmpuint (rate (&rig), ==, 100);
  for (guint i = 6; i <= 8; i++)
    put (&rig, i);
  trim (&rig);
  g_assert_cmpuint (phys (&rig, 0), ==, 0);
  g_assert_cmpuint (driver (&rig), ==, 40);
  rig_done (&rig);
}

static void
test_e18 (void)
{
  Rig rig = rig_with ("");

  get (&rig, 1, 2 * MIB);
  get (&rig, 2, 2 * MIB);
  get (&rig, 3, 6 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 16);
  put (&rig, 2);
  g_assert_cmphex (get (&rig, 4, 4 * MIB), ==, TOP - 14 * MIB);
  g_assert_cmpuint (phys (&rig, 0), ==, 16);
  rig_done (&rig);
}

static void
test_e19 (void)
{
  Rig rig = rig_with ("");
  guint64 first = get (&rig, 1, 24 * MIB);

  get (&rig, 2, 8 * MIB);
  put (&rig, 1);
  trim (&rig);
  g_assert_cmpuint (driver (&rig), ==, 32);
  get (&rig, 3, 40 * MIB); /* three pages from the pool, two new ones */
  g_assert_cmpuint (driver (&rig), ==, 48);
  g_assert_cmphex (get (&rig, 4, 24 * MIB), ==, first); /* its pages are in use: three new ones */
  g_assert_cmpuint (driver (&rig), ==, 72);
  rig_done (&rig);
}

/* ---- beyond the examples */

/* Without virtual memory the pools are those of ge-scalable, and no error is reported. */
static void
test_unsupported (void)
{
  Rig rig = rig_with (",virtual_memory=no");
  GememAllocator *plain = test_allocator_new ("ge-scalable:total=64GiB", NULL);

  for (guint i = 0; i < SLOTS; i++)
    {
      const GememRequest request = { .size = (i * 7 % 5 + 1) * 3 * MIB };
      GememBlock block;

      g_assert_true (plain->klass->alloc (plain, &request, &block));
      g_assert_cmphex (get (&rig, i, request.size), ==, block.address);
    }
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_RESERVE], ==, 1); /* a single attempt */
  g_assert_cmpuint (rig.allocator->device->held, ==, plain->device->held);
  test_allocator_destroy (plain);
  rig_done (&rig);
}

/* A page that the pool of one stream returned serves the pool of another one. */
static void
test_pages_are_shared (void)
{
  Rig rig = rig_with ("");

  get (&rig, 1, 32 * MIB);
  put (&rig, 1);
  trim (&rig);
  rig.stream = 7;
  get (&rig, 2, 32 * MIB);
  g_assert_cmpuint (driver (&rig), ==, 32);
  g_assert_cmpuint (phys (&rig, 0), ==, 0);
  g_assert_cmpuint (phys (&rig, 7), ==, 32);
  rig.stream = 0;
  get (&rig, 3, 8 * MIB); /* its own pages are in use by the other pool */
  g_assert_cmpuint (driver (&rig), ==, 40);
  rig_done (&rig);
}

/* E16 with the device failing at call @nth of @call and at all later ones: requests may fail,
 * the accounting stays right. */
static void
fail_at (const char *call, guint nth)
{
  static const struct
  {
    guint slot;
    guint64 size;
  } steps[] = {
    { 1, 12 }, { 2, 10 }, { 1, 0 }, { 3, 24 }, { 2, 0 }, { 4, 32 }, { 3, 0 }, { 5, 24 }
  };
  g_autofree char *device = g_strdup_printf ("faulty:call=%s,after=%u,capacity=64GiB", call, nth);
  Rig rig = { .allocator = test_allocator_new ("ge-expandable:total=64GiB", device) };
  gboolean live[SLOTS] = { FALSE };

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    if (steps[i].size > 0)
      live[steps[i].slot] = try (&rig, steps[i].slot, steps[i].size * MIB);
    else if (live[steps[i].slot])
      {
        put (&rig, steps[i].slot);
        live[steps[i].slot] = FALSE;
      }
  trim (&rig);
  for (guint i = 0; i < SLOTS; i++)
    if (live[i])
      put (&rig, i);
  trim (&rig);
  rig_done (&rig);
}

static void
test_faults (void)
{
  static const char *const calls[] = { "create", "map", "reserve", "malloc" };

  for (guint c = 0; c < G_N_ELEMENTS (calls); c++)
    for (guint nth = 0; nth < 24; nth++)
      fail_at (calls[c], nth);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-expandable/E13", test_e13);
  g_test_add_func ("/ge-expandable/E14", test_e14);
  g_test_add_func ("/ge-expandable/E15", test_e15);
  g_test_add_func ("/ge-expandable/E16", test_e16);
  g_test_add_func ("/ge-expandable/self-check", test_self_check);
  g_test_add_func ("/ge-expandable/E17", test_e17);
  g_test_add_func ("/ge-expandable/E18", test_e18);
  g_test_add_func ("/ge-expandable/E19", test_e19);
  g_test_add_func ("/ge-expandable/unsupported", test_unsupported);
  g_test_add_func ("/ge-expandable/pages-are-shared", test_pages_are_shared);
  g_test_add_func ("/ge-expandable/faults", test_faults);
  return g_test_run ();
}
