/* test-ge-pages.c - ge-runtime.md section 4 rule by rule, the fallbacks of 1 GiB pages, variables
 * (7.4), E23 through ge-fixed-base, random operations against a naive model, and a device that
 * fails at every call. */
#include "config.h"

#include "allocators/ge/static.h"
#include "allocators/ge/variables.h"
#include "devices/faulty.h"
#include "tests/util/ge-page-trials.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

typedef struct
{
  GememDevice *device;
  GePages pages;
  guint64 a, b; /* two ranges of eight pages */
} Rig;

static Rig
rig_new (const char *device)
{
  Rig rig = { .device = gemem_device_new (device, NULL, 0, NULL) };

  gemem_ge_pages_init (&rig.pages, rig.device, GE_SMALL_PAGE, GE_1G_NO);
  rig.a = gemem_ge_pages_open (&rig.pages, GE_SMALL_PAGE, 8 * GE_SMALL_PAGE);
  rig.b = gemem_ge_pages_open (&rig.pages, GE_SMALL_PAGE, 8 * GE_SMALL_PAGE);
  g_assert_cmphex (rig.b, !=, 0);
  return rig;
}

static void
check (const Rig *rig)
{
  g_autoptr (GError) error = NULL;

  gemem_ge_pages_check (&rig->pages, "test", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (rig->device->misuses, ==, 0);
}

static void
rig_done (Rig *rig)
{
  check (rig);
  gemem_ge_pages_close (&rig->pages, rig->a, 8 * GE_SMALL_PAGE);
  gemem_ge_pages_close (&rig->pages, rig->b, 8 * GE_SMALL_PAGE);
  gemem_ge_pages_clear (&rig->pages);
  g_assert_cmpuint (rig->device->held, ==, 0);
  gemem_device_destroy (rig->device);
}

/* For a place that does not look at its last page again. */
static guint32
take (GePages *pages, guint32 last, guint64 address, gboolean reuse)
{
  return gemem_ge_pages_take (pages, &last, address, reuse);
}

/* ---- section 4 */

static void
test_users (void)
{
  Rig rig = rig_new ("sim");
  guint32 page;

  /* the first user fixed the size */
  g_assert_false (gemem_ge_pages_enter (&rig.pages, GE_LARGE_PAGE));
  g_assert_cmphex (gemem_ge_pages_open (&rig.pages, GE_LARGE_PAGE, GE_LARGE_PAGE), ==, 0);
  page = take (&rig.pages, GE_NO_PAGE, rig.a, TRUE);
  gemem_ge_pages_give (&rig.pages, page);
  gemem_ge_pages_close (&rig.pages, rig.a, 8 * GE_SMALL_PAGE);
  g_assert_cmpuint (rig.device->held, ==, GE_SMALL_PAGE); /* another user remains */
  gemem_ge_pages_close (&rig.pages, rig.b, 8 * GE_SMALL_PAGE);
  g_assert_cmpuint (rig.device->held, ==, 0);
  g_assert_true (gemem_ge_pages_enter (&rig.pages, GE_LARGE_PAGE)); /* the first user again */
  gemem_ge_pages_leave (&rig.pages);
  rig.a = gemem_ge_pages_open (&rig.pages, GE_SMALL_PAGE, 8 * GE_SMALL_PAGE);
  rig.b = gemem_ge_pages_open (&rig.pages, GE_SMALL_PAGE, 8 * GE_SMALL_PAGE);
  rig_done (&rig);
}

/* A page stays when the last user leaves, if a caller holds it or an address maps it. */
static void
test_what_stays (void)
{
  Rig rig = rig_new ("sim");
  const guint32 had = take (&rig.pages, GE_NO_PAGE, rig.a, TRUE);
  const guint32 shown = take (&rig.pages, GE_NO_PAGE, rig.b, TRUE);
  const guint32 free = take (&rig.pages, GE_NO_PAGE, rig.a + GE_SMALL_PAGE, TRUE);

  gemem_ge_pages_give (&rig.pages, shown);
  gemem_ge_pages_give (&rig.pages, free);
  gemem_ge_pages_close (&rig.pages, rig.a, 8 * GE_SMALL_PAGE);
  gemem_ge_pages_leave (&rig.pages); /* without releasing its range */
  g_assert_cmpuint (rig.device->held, ==, 2 * GE_SMALL_PAGE);
  check (&rig);
  g_assert_true (gemem_ge_pages_enter (&rig.pages, GE_SMALL_PAGE));
  g_assert_false (gemem_ge_pages_enter (&rig.pages, GE_LARGE_PAGE));
  gemem_ge_pages_give (&rig.pages, had);
  /* the released page is not found */
  g_assert_cmpuint (take (&rig.pages, GE_NO_PAGE, rig.b + GE_SMALL_PAGE, TRUE), ==, had);
  gemem_ge_pages_give (&rig.pages, had);
  rig.a = gemem_ge_pages_open (&rig.pages, GE_SMALL_PAGE, 8 * GE_SMALL_PAGE);
  rig_done (&rig);
}

static void
test_order (void)
{
  Rig rig = rig_new ("sim");
  guint32 page[3];

  for (guint i = 0; i < 3; i++)
    page[i] = take (&rig.pages, GE_NO_PAGE, rig.a + i * GE_SMALL_PAGE, TRUE);
  for (guint i = 0; i < 3; i++)
    gemem_ge_pages_give (&rig.pages, page[i]);
  /* its own page first, regardless of the stack */
  g_assert_cmpuint (take (&rig.pages, page[0], rig.a, TRUE), ==, page[0]);
  /* else the page released last */
  g_assert_cmpuint (take (&rig.pages, GE_NO_PAGE, rig.b, TRUE), ==, page[2]);
  /* without reuse a new one */
  g_assert_cmpuint (take (&rig.pages, GE_NO_PAGE, rig.b + GE_SMALL_PAGE, FALSE), ==, 3);
  g_assert_cmpuint (take (&rig.pages, GE_NO_PAGE, rig.b + 2 * GE_SMALL_PAGE, TRUE), ==, page[1]);
  g_assert_cmpuint (take (&rig.pages, GE_NO_PAGE, rig.b + 3 * GE_SMALL_PAGE, TRUE), ==, 4);
  g_assert_cmpuint (rig.device->held, ==, 5 * GE_SMALL_PAGE);
  for (guint32 i = 0; i < 5; i++)
    gemem_ge_pages_give (&rig.pages, i);
  rig_done (&rig);
}

/* Releasing a page unmaps nothing; if another owner took it, the first owner's next take does. */
static void
test_delayed_unmapping (void)
{
  Rig rig = rig_new ("sim");
  const guint32 page = take (&rig.pages, GE_NO_PAGE, rig.a, TRUE);
  const guint64 *calls = rig.device->calls;

  gemem_ge_pages_give (&rig.pages, page);
  g_assert_cmpuint (take (&rig.pages, page, rig.a, TRUE), ==, page);
  g_assert_cmpuint (calls[GEMEM_CALL_MAP], ==, 1); /* the mapping was still present */
  gemem_ge_pages_give (&rig.pages, page);
  g_assert_cmpuint (take (&rig.pages, GE_NO_PAGE, rig.b, TRUE), ==, page);
  g_assert_cmpuint (gemem_ge_pages_at (&rig.pages, rig.a), ==, page); /* mapped at both addresses */
  g_assert_cmpuint (calls[GEMEM_CALL_UNMAP], ==, 0);
  /* a new page: the old mapping is removed */
  g_assert_cmpuint (take (&rig.pages, page, rig.a, TRUE), ==, 1);
  g_assert_cmpuint (calls[GEMEM_CALL_UNMAP], ==, 1);
  g_assert_cmpuint (gemem_ge_pages_at (&rig.pages, rig.a), ==, 1);
  /* never mapped there: an error */
  g_assert_cmpuint (take (&rig.pages, page, rig.a + GE_SMALL_PAGE, TRUE), ==, GE_NO_PAGE);
  gemem_ge_pages_give (&rig.pages, page);
  gemem_ge_pages_give (&rig.pages, 1);
  gemem_ge_pages_release (&rig.pages, rig.b, 8 * GE_SMALL_PAGE); /* release unmaps */
  g_assert_cmpuint (calls[GEMEM_CALL_UNMAP], ==, 2);
  g_assert_cmpuint (gemem_ge_pages_at (&rig.pages, rig.b), ==, GE_NO_PAGE);
  gemem_ge_pages_leave (&rig.pages);
  rig.b = gemem_ge_pages_open (&rig.pages, GE_SMALL_PAGE, 8 * GE_SMALL_PAGE);
  rig_done (&rig);
}

/* The place of a page that the driver refuses remembers the number that it would have had: it is no
 * page until another place obtains it; then it is an error while that has it, and is taken once
 * that returned it. */
static void
test_refused_page (void)
{
  Rig rig = rig_new ("sim:capacity=6MiB");
  guint32 last[] = { GE_NO_PAGE, GE_NO_PAGE, GE_NO_PAGE };
  const guint64 other = gemem_device_malloc (rig.device, 4 * MIB, 0);

#define TAKE(i) gemem_ge_pages_take (&rig.pages, &last[i], rig.a + (i) *GE_SMALL_PAGE, TRUE)
  g_assert_cmpuint (TAKE (0), ==, 0);
  g_assert_cmpuint (TAKE (1), ==, GE_NO_PAGE);
  g_assert_cmpuint (last[1], ==, 1);
  gemem_ge_pages_give (&rig.pages, 0);
  g_assert_cmpuint (TAKE (1), ==, 0); /* there is no page 1 */
  g_assert_cmpuint (last[1], ==, 0);
  /* its page is in use here: unmapped there, and the refusal does not restore it */
  g_assert_cmpuint (TAKE (0), ==, GE_NO_PAGE);
  g_assert_cmpuint (last[0], ==, 1);
  g_assert_cmpuint (gemem_ge_pages_at (&rig.pages, rig.a), ==, GE_NO_PAGE);
  gemem_device_free (rig.device, other, 4 * MIB);
  g_assert_cmpuint (TAKE (2), ==, 1);
  g_assert_cmpuint (TAKE (0), ==, GE_NO_PAGE); /* an error: the device has memory */
  g_assert_cmpuint (last[0], ==, 1);
  gemem_ge_pages_give (&rig.pages, 1);
  g_assert_cmpuint (TAKE (0), ==, 1);
  g_assert_cmpuint (gemem_ge_pages_at (&rig.pages, rig.a), ==, 1);
#undef TAKE
  gemem_ge_pages_give (&rig.pages, 0);
  gemem_ge_pages_give (&rig.pages, 1);
  rig_done (&rig);
}

static void
test_refused_range (void)
{
  GememDevice *device = gemem_device_new ("sim:virtual_memory=no", NULL, 0, NULL);
  GePages pages;

  gemem_ge_pages_init (&pages, device, GE_LARGE_PAGE, GE_1G_NO);
  g_assert_cmphex (gemem_ge_pages_open (&pages, GE_LARGE_PAGE, GE_LARGE_PAGE), ==, 0);
  g_assert_cmpuint (pages.users, ==, 0);
  gemem_ge_pages_clear (&pages);
  gemem_device_destroy (device);
}

/* ---- variables */

static gboolean
get (GeVariables *v, guint64 bytes, GememBlock *block)
{
  g_autoptr (GError) error = NULL;
  const gboolean ok = gemem_ge_variables_alloc (v, bytes, 0, block);

  gemem_ge_variables_check (v, "test", &error);
  g_assert_no_error (error);
  return ok;
}

static void
test_variables (void)
{
  GememDevice *device = gemem_device_new ("sim:capacity=1GiB", NULL, 0, NULL);
  GememBlock blocks[3];
  GeVariables v;

  gemem_ge_variables_init (&v, device, GE_LARGE_PAGE, GE_1G_NO, GIB, TRUE);
  g_assert_true (get (&v, 1, &blocks[0]));
  g_assert_true (get (&v, 513, &blocks[1]));
  g_assert_cmphex (blocks[0].address, ==, v.range.backing.base + 512);
  g_assert_cmpuint (blocks[0].size, ==, 512 + 1024);
  g_assert_cmphex (blocks[1].address, ==, v.range.backing.base + 512 + 1024 + 512);
  g_assert_cmpuint (blocks[1].size, ==, 1024 + 1024);
  g_assert_cmpuint (device->held, ==, GE_LARGE_PAGE);
  g_assert_cmpuint (gemem_ge_variables_largest_free (&v), ==, GE_LARGE_PAGE - 3584 - 1024);
  g_assert_false (get (&v, GIB, &blocks[2]));
  gemem_ge_variables_free (&v, &blocks[0]);
  g_assert_true (get (&v, 1, &blocks[2]));
  /* freed addresses are not reused */
  g_assert_cmphex (blocks[2].address, ==, v.range.backing.base + 3584 + 512);
  gemem_ge_variables_free (&v, &blocks[1]);
  gemem_ge_variables_free (&v, &blocks[2]);
  g_assert_cmpuint (device->held, ==, 0); /* until all variables are freed */
  gemem_ge_variables_clear (&v);
  gemem_device_destroy (device);
}

/* Where a variable of a session with @option lies on @device: 0 refused, 1 in a range, 2 in
 * plain memory. */
static guint
way (const char *device, Ge1gOption option, guint64 *held, gboolean *fell_back)
{
  GememDevice *d = gemem_device_new (device, NULL, 0, NULL);
  GememBlock block;
  GeVariables v;
  guint answer = 0;

  gemem_ge_variables_init (&v, d, option != GE_1G_NO ? GE_HUGE_PAGE : GE_SMALL_PAGE, option,
                           4 * GIB, TRUE);
  if (get (&v, 100, &block))
    answer = v.range.used > 0 ? 1 : 2;
  *held = d->held;
  *fell_back = v.pages.fell_back;
  if (answer != 0)
    {
      const guint64 creates = d->calls[GEMEM_CALL_CREATE];
      GememBlock more;

      /* after the first fallback no further refused call */
      g_assert_true (get (&v, 3 * GIB / 2, &more));
      g_assert_cmpuint (d->calls[GEMEM_CALL_CREATE] - creates, <=, 1536 / 2 + 1);
      g_assert_cmpuint (d->refused[GEMEM_CALL_CREATE], <=, 1);
      gemem_ge_variables_free (&v, &more);
      gemem_ge_variables_free (&v, &block);
    }
  gemem_ge_variables_clear (&v);
  g_assert_cmpuint (d->held, ==, 0);
  gemem_device_destroy (d);
  return answer;
}

static void
test_huge_pages (void)
{
  static const char *const none = "sim:capacity=8GiB,virtual_memory=no",
                           *const refuses = "faulty:call=create,nth=1,capacity=8GiB";
  guint64 held;
  gboolean fell_back;

  g_assert_cmpuint (way ("sim:capacity=8GiB", GE_1G_NO, &held, &fell_back), ==, 1);
  g_assert_cmpuint (held, ==, GE_SMALL_PAGE);
  for (Ge1gOption option = GE_1G_ONLY; option <= GE_1G_FIRST; option++)
    {
      g_assert_cmpuint (way ("sim:capacity=8GiB", option, &held, &fell_back), ==, 1);
      g_assert_cmpuint (held, ==, GIB);
      g_assert_false (fell_back);
    }
  g_assert_cmpuint (way (refuses, GE_1G_ONLY, &held, &fell_back), ==, 0);
  g_assert_cmpuint (way (refuses, GE_1G_NO, &held, &fell_back), ==, 0);
  g_assert_false (fell_back);
  g_assert_cmpuint (way (refuses, GE_1G_FIRST, &held, &fell_back), ==, 1);
  g_assert_cmpuint (held, ==, GIB);
  g_assert_true (fell_back);
  g_assert_cmpuint (way (none, GE_1G_NO, &held, &fell_back), ==, 2);
  g_assert_cmpuint (held, ==, 1536);
  g_assert_cmpuint (way (none, GE_1G_FIRST, &held, &fell_back), ==, 2);
  g_assert_cmpuint (way (none, GE_1G_ONLY, &held, &fell_back), ==, 0);
}

/* ---- the classes */

static guint64
load (GememAllocator *a, guint64 id, guint64 size)
{
  const GememGraphSegment segment = { 0, size, 0 };
  guint64 address = 0;

  g_assert_true (a->klass->graphs.load (a, id, 0, &segment, 1, &address));
  g_assert_true (test_allocator_verify (a, 0, 0));
  return address;
}

static void
test_e23 (void)
{
  static const guint64 sizes[] = { 32, 50, 40, 60 }, backed[] = { 32, 50, 50, 60 },
                       large[] = { 32, 56, 56, 64 };

  for (guint k = 0; k < 2; k++)
    {
      GememAllocator *a = test_allocator_new (
          k == 0 ? "ge-fixed-base" : "ge-fixed-base:page_size=8MiB", "sim:capacity=64GiB");
      guint64 base = 0;

      for (guint i = 0; i < 4; i++)
        {
          const guint64 address = load (a, i, sizes[i] * MIB);

          g_assert_cmphex (address, ==, i == 0 ? address : base);
          base = address;
          g_assert_cmpuint (a->device->held, ==, (k == 0 ? backed : large)[i] * MIB);
        }
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 60 * MIB);
      for (guint i = 0; i < 4; i++)
        {
          g_assert_cmpuint (a->device->held, ==, (k == 0 ? 60 : 64) * MIB);
          a->klass->graphs.unload (a, i);
        }
      g_assert_cmpuint (a->device->held, ==, 0);
      test_allocator_destroy (a);
    }
}

static void
test_fixed_base_unsupported (void)
{
  GememAllocator *a = test_allocator_new ("ge-fixed-base", "sim:capacity=1GiB,virtual_memory=no");

  g_assert_cmphex (load (a, 1, 5 * MIB), !=, load (a, 2, 7 * MIB));
  g_assert_cmpuint (a->device->held, ==, 12 * MIB);
  a->klass->graphs.unload (a, 1);
  g_assert_cmpuint (a->device->held, ==, 7 * MIB);
  test_allocator_destroy (a);
}

/* Requests and frees on a device that fails at call @nth; TRUE if that call was reached. */
static gboolean
try_failing (const char *spec, const char *rule, guint nth)
{
  static const guint64 sizes[] = { 3 * MIB, 100, 9 * MIB, 2 * MIB, 1, 17 * MIB };
  g_autofree char *device = g_strdup_printf ("faulty:call=memory,%s=%u,capacity=2GiB", rule, nth);
  GememAllocator *a = test_allocator_new (spec, device);
  GememBlock blocks[12];
  gboolean live[12], refused;
  guint count = 0;

  for (guint i = 0; i < 12; i++)
    {
      live[i] = a->klass->alloc (a, &(GememRequest){ .size = sizes[i % 6] }, &blocks[i]);
      count += live[i];
      g_assert_true (test_allocator_verify (a, count, G_MAXUINT64));
      if (i % 3 == 2 && live[i - 1])
        {
          a->klass->free (a, &blocks[i - 1], FALSE);
          live[i - 1] = FALSE;
          count--;
        }
      if (a->klass->graphs.load != NULL && i % 4 == 0)
        {
          const GememGraphSegment segment = { 0, sizes[i % 6], 0 };
          guint64 address;

          a->klass->graphs.load (a, i, 0, &segment, 1, &address);
        }
      g_assert_true (test_allocator_verify (a, count, G_MAXUINT64));
    }
  for (guint i = 0; i < 12; i++)
    if (live[i])
      a->klass->free (a, &blocks[i], FALSE);
  g_assert_true (test_allocator_verify (a, 0, G_MAXUINT64));
  refused = gemem_faulty_device_injected (a->device, GEMEM_CALL_COUNT) > 0;
  test_allocator_destroy (a); /* fails the test on memory held or misuse */
  return refused;
}

static void
test_failing_calls (void)
{
  static const char *const specs[] = { "ge-physical",
                                       "ge-physical:page_size=8MiB",
                                       "ge-session-range",
                                       "ge-session-range:variables=no",
                                       "ge-session-range:variable_use_1g_huge_page=2",
                                       "ge-fixed-base",
                                       "ge-fixed-base:page_size=8MiB" };

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    for (guint after = 0; after < 2; after++)
      {
        guint nth = 1 - after;

        while (try_failing (specs[i], after ? "after" : "nth", nth))
          nth++;
        g_assert_cmpuint (nth, >=, 3);
      }
}

/* ---- random operations */

static void
test_random (void)
{
  const guint64 seeds = g_getenv ("GEMEM_QUICK") != NULL ? 8 : 30;

  for (guint64 seed = 1; seed <= seeds; seed++)
    test_ge_page_trial (seed, 1000, seed % 2, seed % 5 != 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-pages/users", test_users);
  g_test_add_func ("/ge-pages/what-stays", test_what_stays);
  g_test_add_func ("/ge-pages/order", test_order);
  g_test_add_func ("/ge-pages/delayed-unmapping", test_delayed_unmapping);
  g_test_add_func ("/ge-pages/refused-page", test_refused_page);
  g_test_add_func ("/ge-pages/refused-range", test_refused_range);
  g_test_add_func ("/ge-pages/variables", test_variables);
  g_test_add_func ("/ge-pages/huge-pages", test_huge_pages);
  g_test_add_func ("/ge-pages/E23", test_e23);
  g_test_add_func ("/ge-pages/fixed-base-unsupported", test_fixed_base_unsupported);
  g_test_add_func ("/ge-pages/failing-calls", test_failing_calls);
  g_test_add_func ("/ge-pages/random", test_random);
  return g_test_run ();
}
