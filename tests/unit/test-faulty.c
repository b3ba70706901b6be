/* test-faulty.c - injected failures: the chosen call fails, nothing else changes, and all other
 * calls pass through unchanged. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "devices/faulty.h"
#include "tests/util/sizes.h"

static GememDevice *
faulty_new (const char *rules)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_faulty_device_new (gemem_device_new ("sim", NULL, 0, NULL), rules,
                                                 &error);
  g_assert_no_error (error);
  return device;
}

/* "x" for each of @n mallocs that failed, "." for the others. */
static char *
pattern (GememDevice *device, guint n)
{
  char *text = g_malloc0 (n + 1);
  for (guint i = 0; i < n; i++)
    text[i] = gemem_device_malloc (device, MIB, 0) == 0 ? 'x' : '.';
  return text;
}

static void
test_rules (void)
{
  static const struct
  {
    const char *rules, *pattern;
  } cases[] = {
    { "", "...................." },
    { "nth=5,call=malloc", "....x..............." },
    { "nth=1", "x..................." },
    { "every=7", "......x......x......" },
    { "every=1", "xxxxxxxxxxxxxxxxxxxx" },
    { "after=3", "...xxxxxxxxxxxxxxxxx" },
    { "after=0", "xxxxxxxxxxxxxxxxxxxx" },
    { "nth=2,every=5,after=18", ".x..x....x....x...xx" },
    { "nth=2,call=map", "...................." },
    { "rate=100%", "xxxxxxxxxxxxxxxxxxxx" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GememDevice *device = faulty_new (cases[i].rules);
      g_autofree char *text = pattern (device, 20);
      guint64 failed = 0;
      for (const char *c = text; *c != '\0'; c++)
        failed += *c == 'x';
      g_assert_cmpstr (text, ==, cases[i].pattern);
      g_assert_cmpuint (gemem_faulty_device_injected (device, GEMEM_CALL_MALLOC), ==, failed);
      g_assert_cmpuint (gemem_faulty_device_injected (device, GEMEM_CALL_COUNT), ==, failed);
      g_assert_cmpuint (gemem_faulty_device_injected (device, GEMEM_CALL_MAP), ==, 0);
      g_assert_cmpuint (device->refused[GEMEM_CALL_MALLOC], ==, failed);
      g_assert_cmpuint (device->calls[GEMEM_CALL_MALLOC], ==, 20);
      gemem_device_destroy (device);
    }
}

/* The same seed makes the same failures, another seed others, in about the requested number. */
static void
test_rate (void)
{
  g_autofree char *first = NULL;

  for (guint round = 0; round < 3; round++)
    {
      GememDevice *device = faulty_new (round < 2 ? "seed=3,rate=1%" : "seed=4,rate=1%");
      g_autofree char *text = pattern (device, 20000);
      guint64 n = gemem_faulty_device_injected (device, GEMEM_CALL_MALLOC);
      g_assert_cmpuint (n, >=, 150); /* 200 expected, sigma 14 */
      g_assert_cmpuint (n, <=, 250);
      if (round == 0)
        first = g_steal_pointer (&text);
      else if (round == 1)
        g_assert_cmpstr (text, ==, first);
      else
        g_assert_cmpstr (text, !=, first);
      gemem_device_destroy (device);
    }

  /* Another rule does not shift the random failures. */
  GememDevice *device = faulty_new ("seed=3,rate=1%,nth=1");
  g_autofree char *text = pattern (device, 20000);
  g_assert_cmpint (text[0], ==, 'x');
  g_assert_cmpstr (text + 1, ==, first + 1);
  gemem_device_destroy (device);
}

static void
test_stacked (void)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_faulty_device_new (faulty_new ("nth=2"), "nth=3", &error);
  g_autofree char *text = pattern (device, 6);
  g_assert_no_error (error);
  g_assert_cmpstr (text, ==, ".xx..."); /* the third call never reached the inner device */
  g_assert_cmpuint (gemem_faulty_device_injected (device, GEMEM_CALL_MALLOC), ==, 2);
  g_assert_cmpuint (device->held, ==, 4 * MIB);
  gemem_device_destroy (device);
}

/* ---- each kind of call: call 2 of it fails, without effect */

/* Makes one call of kind @call, as number @i of its kind; TRUE if it succeeded. */
static gboolean
make_call (GememDevice *device, GememDeviceCall call, guint i, guint64 va, GememPage page)
{
  switch (call)
    {
    case GEMEM_CALL_MALLOC:
      return gemem_device_malloc (device, MIB, 0) != 0;
    case GEMEM_CALL_RESERVE:
      return gemem_device_reserve (device, MIB, 0) != 0;
    case GEMEM_CALL_CREATE:
      return gemem_device_create_page (device, 2 * MIB) != 0;
    case GEMEM_CALL_MAP:
      return gemem_device_map (device, va + (8 + i) * 2 * MIB, page, 0, 2 * MIB);
    case GEMEM_CALL_UNMAP:
      /* 1 twice: it failed the first time */
      return gemem_device_unmap (device, va + (i > 1 ? i - 1 : i) * 2 * MIB, 2 * MIB);
    case GEMEM_CALL_MEMSET:
      return gemem_device_memset (device, va, 0, 64 * MIB, 9);
    case GEMEM_CALL_EVENT_RECORD:
      return gemem_device_event_record (device, 0) != 0;
    case GEMEM_CALL_EVENT_QUERY:
      return gemem_device_event_query (device, 0);
    case GEMEM_CALL_STREAM_SYNC:
      return gemem_device_stream_sync (device, 0);
    case GEMEM_CALL_DEVICE_SYNC:
      return gemem_device_sync (device);
    default:
      g_assert_not_reached ();
    }
}

static void
test_kinds (void)
{
  static const GememDeviceCall kinds[] = { GEMEM_CALL_MALLOC,       GEMEM_CALL_RESERVE,
                                           GEMEM_CALL_CREATE,       GEMEM_CALL_MAP,
                                           GEMEM_CALL_UNMAP,        GEMEM_CALL_MEMSET,
                                           GEMEM_CALL_EVENT_RECORD, GEMEM_CALL_EVENT_QUERY,
                                           GEMEM_CALL_STREAM_SYNC,  GEMEM_CALL_DEVICE_SYNC };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint healthy = 0; healthy < 2; healthy++)
      {
        g_autofree char *rules = g_strdup_printf ("nth=2,call=%s",
                                                  gemem_device_call_name (kinds[k]));
        GememDevice *device = faulty_new (healthy ? "" : rules);
        guint64 va = gemem_device_reserve (device, 64 * MIB, 0), held, before, cost;
        GememPage page = gemem_device_create_page (device, 2 * MIB);
        /* made above */
        guint first = kinds[k] == GEMEM_CALL_RESERVE || kinds[k] == GEMEM_CALL_CREATE;

        for (guint i = 0; i < 4; i++)
          g_assert_cmpint (gemem_device_map (device, va + i * 2 * MIB, page, 0, 2 * MIB), ==,
                           healthy || kinds[k] != GEMEM_CALL_MAP || i != 1);
        if (kinds[k] == GEMEM_CALL_MAP)
          first = 4;
        for (guint i = 0; i < 4; i++)
          {
            gboolean fails = !healthy && first + i == 1, ok;
            if (healthy && kinds[k] == GEMEM_CALL_UNMAP && i == 2)
              continue; /* there is no second try when nothing failed */
            before = device->now;
            held = device->held;
            ok = make_call (device, kinds[k], i, va, page);
            g_assert_cmpint (ok, ==, !fails);
            cost = device->klass->cost (device, kinds[k],
                                        kinds[k] == GEMEM_CALL_MALLOC ? MIB : 2 * MIB);
            if (fails)
              {
                g_assert_cmpuint (device->held, ==, held);
                /* charged, without waiting */
                g_assert_cmpuint (device->now - before, ==, cost);
              }
          }
        g_assert_cmpuint (gemem_faulty_device_injected (device, kinds[k]), ==, !healthy);
        g_assert_cmpuint (gemem_faulty_device_injected (device, GEMEM_CALL_COUNT), ==, !healthy);
        g_assert_cmpuint (device->misuses, ==, 0);
        gemem_device_destroy (device);
      }
}

/* Only calls of the named kinds are counted; a failed malloc consumes no address. */
static void
test_counting (void)
{
  GememDevice *device = faulty_new ("nth=3,call=malloc|create");
  guint64 a = gemem_device_malloc (device, MIB, 0);

  gemem_device_reserve (device, MIB, 0);
  gemem_device_free (device, a, MIB);
  g_assert_cmpuint (gemem_device_create_page (device, 2 * MIB), ==, 1);
  gemem_device_sync (device);
  g_assert_cmphex (gemem_device_malloc (device, MIB, 0), ==, 0);
  g_assert_cmphex (gemem_device_malloc (device, MIB, 0), ==, 0x100000200000);
  g_assert_cmpuint (gemem_device_create_page (device, 2 * MIB), ==, 2);
  gemem_device_destroy (device);

  /* The default is memory: waiting is not counted. */
  device = faulty_new ("nth=1");
  g_assert_true (gemem_device_sync (device));
  g_assert_true (gemem_device_memset (device, 1, 0, 1, 0));
  g_assert_cmphex (gemem_device_reserve (device, MIB, 0), ==, 0);
  gemem_device_destroy (device);

  device = faulty_new ("nth=1,call=all");
  g_assert_false (gemem_device_sync (device));
  gemem_device_destroy (device);
}

/* ---- all other calls pass through: a wrapper without rules, or whose rules never match, equals
 * the bare device */

static void
assert_same (const GememDevice *a, const GememDevice *b)
{
  g_assert_cmpuint (a->held, ==, b->held);
  g_assert_cmpuint (a->peak_held, ==, b->peak_held);
  g_assert_cmpuint (a->now, ==, b->now);
  g_assert_cmpuint (a->call_time, ==, b->call_time);
  g_assert_cmpuint (a->unexpected, ==, b->unexpected);
  g_assert_cmpuint (a->misuses, ==, b->misuses);
  g_assert_cmpmem (a->calls, sizeof a->calls, b->calls, sizeof b->calls);
  g_assert_cmpmem (a->refused, sizeof a->refused, b->refused, sizeof b->refused);
  g_assert_cmpmem (a->call_ns, sizeof a->call_ns, b->call_ns, sizeof b->call_ns);
}

static void
test_forwards (void)
{
  enum
  {
    LIVE = 32
  };
  static const char spec[] = "capacity=30MiB,address=recorded,event_latency=50us";
  g_autofree char *sim = g_strconcat ("sim:", spec, NULL),
                  *wrapped = g_strconcat ("faulty:", spec, ",after=1000000000,call=all", NULL);
  GememDevice *device[2] = { gemem_device_new (sim, NULL, 0, NULL),
                             gemem_device_new (wrapped, NULL, 0, NULL) };
  guint64 block[LIVE] = { 0 }, size[LIVE], mapped = 0, event = 0;
  guint64 va[2], got[2];
  GememPage page = 0;
  GememRng rng;

  gemem_rng_init (&rng, 1, "faulty");
  for (guint d = 0; d < 2; d++)
    {
      gemem_device_expect_map (device[d], 0x6f0000000000, MIB, FALSE);
      va[d] = gemem_device_reserve (device[d], 4 * MIB, 0);
      g_assert_cmphex (va[d], ==, 0x6f0000000000);
    }
  for (guint step = 0; step < 20000; step++)
    {
      guint action = gemem_rng_below (&rng, 9), i = gemem_rng_below (&rng, LIVE);
      guint64 n = gemem_rng_range (&rng, 1, 4 * MIB), stream = gemem_rng_below (&rng, 3),
              later = gemem_rng_below (&rng, 100000);
      for (guint d = 0; d < 2; d++)
        {
          GememDeviceInfo info = { 0 };
          device[d]->now += later; /* as the engine does when the trace has times */
          got[d] = 0;
          if (action < 3 && block[i] != 0)
            gemem_device_free (device[d], block[i], size[i]);
          else if (action < 3)
            {
              if (action == 1)
                gemem_device_expect (device[d], 0x7f0000000000 + step * 8 * MIB, n);
              got[d] = gemem_device_malloc (device[d], n, stream);
            }
          else if (action == 3)
            got[d] = page != 0 ? 0 : gemem_device_create_page (device[d], 2 * MIB);
          else if (action == 4 && page != 0 && !mapped)
            got[d] = gemem_device_map (device[d], va[d], page, 0, 2 * MIB);
          else if (action == 4 && page != 0)
            {
              gemem_device_unmap (device[d], va[d], 2 * MIB);
              gemem_device_destroy_page (device[d], page, 2 * MIB);
            }
          else if (action == 5)
            got[d] = gemem_device_memset (device[d], va[d], 0, n, stream);
          else if (action == 6)
            got[d] = gemem_device_event_record (device[d], stream);
          else if (action == 7)
            got[d] = gemem_device_event_query (device[d], event)
                     + (gemem_device_info (device[d], &info), info.free);
          else
            got[d] = gemem_device_stream_sync (device[d], stream)
                     && (i != 0 || gemem_device_sync (device[d]));
        }
      g_assert_cmphex (got[0], ==, got[1]);
      assert_same (device[0], device[1]);
      if (action < 3)
        {
          block[i] = block[i] != 0 ? 0 : got[0];
          size[i] = n;
        }
      else if (action == 3)
        page = page != 0 ? page : got[0];
      else if (action == 4 && page != 0)
        {
          page = mapped ? 0 : page;
          mapped = !mapped;
        }
      else if (action == 6)
        event = got[0];
    }
  g_assert_cmpuint (device[0]->refused[GEMEM_CALL_MALLOC], >, 100);
  g_assert_cmpuint (device[0]->unexpected, >, 100);
  g_assert_cmpuint (device[0]->calls[GEMEM_CALL_UNMAP], >, 100);
  g_assert_cmpuint (gemem_faulty_device_injected (device[1], GEMEM_CALL_COUNT), ==, 0);
  /* not a wrapper */
  g_assert_cmpuint (gemem_faulty_device_injected (device[0], GEMEM_CALL_COUNT), ==, 0);
  gemem_device_destroy (device[0]);
  gemem_device_destroy (device[1]);
}

static void
test_adopts (void)
{
  GememDevice *device = faulty_new ("every=1");
  g_assert_true (gemem_device_adopt (device, 0x5000, 5));
  g_assert_cmpuint (device->held, ==, 5);
  g_assert_cmpuint (device->peak_held, ==, 5);
  gemem_device_free (device, 0x5000, 5);
  g_assert_cmpuint (device->held, ==, 0);
  g_assert_cmpuint (device->now, ==, device->inner->now + device->call_ns[GEMEM_CALL_FREE]);
  gemem_device_destroy (device);

  /* Taken over in the middle of a run. */
  GememDevice *inner = gemem_device_new ("sim:profile=h200", NULL, 5, NULL);
  gemem_device_malloc (inner, MIB, 0);
  device = gemem_faulty_device_new (inner, "nth=1", NULL);
  g_assert_cmpuint (device->held, ==, MIB);
  g_assert_cmpuint (device->peak_held, ==, MIB);
  g_assert_cmpuint (device->now, ==, inner->now);
  g_assert_cmpuint (device->hit_ns, ==, inner->hit_ns);
  g_assert_cmpint (device->ordinal, ==, 5);
  g_assert_cmpuint (gemem_device_capacity (device), ==, 143771 * MIB);
  gemem_device_destroy (device);
}

static void
test_text (void)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new ("faulty:nth=2,capacity=5MiB",
                                          "capacity=9MiB,address=first-fit", 3, &error);

  g_assert_no_error (error);
  g_assert_cmpint (device->ordinal, ==, 3);
  g_assert_cmpint (device->inner->ordinal, ==, 3);
  g_assert_cmpuint (gemem_device_capacity (device), ==, 5 * MIB);
  g_autofree char *text = gemem_device_describe (device);
  g_assert_cmpstr (text, ==, "faulty:nth=2,capacity=5MiB,granularity=2MiB,address=first-fit");
  gemem_device_destroy (device);
}

static void
test_bad (void)
{
  static const struct
  {
    const char *rules, *message;
  } cases[] = {
    { "nht=1", "device faulty: unknown parameter 'nht'; did you mean 'nth'?" },
    { "call=malloc",
      "device faulty: call=malloc: nothing says when; add nth, every, after or rate" },
    { "nth=1,seed=5", "device faulty: seed has no effect without rate; add rate=1% or remove it" },
    { "rate=101%", "device faulty: rate=101%: not a share; use 0% to 100%, as in rate=1%" },
    { "rate=0.5", "device faulty: rate=0.5: not a share; use 0% to 100%, as in rate=1%" },
    { "nth=1,call=free", "device faulty: call=free: no call that can fail; use memory, all, "
                         "malloc, reserve, create, map, unmap, memset, "
                         "event_record, event_query, stream_sync, device_sync" },
    { "nth=1,call=unmapp", "device faulty: call=unmapp: no call that can fail; did you mean "
                           "'unmap'? use memory, all, malloc, reserve, create, map, "
                           "unmap, memset, event_record, event_query, stream_sync, device_sync" },
    { "nth=1,call=malloc|", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (gemem_faulty_device_new (gemem_device_new ("sim", NULL, 0, NULL),
                                              cases[i].rules, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      if (cases[i].message != NULL)
        g_assert_cmpstr (error->message, ==, cases[i].message);
    }
  g_autoptr (GError) error = NULL;
  g_assert_null (gemem_device_new ("faulty:on=faulty", NULL, 0, &error));
  g_assert_cmpstr (error->message, ==,
                   "device faulty: on=faulty: cannot stand on itself; use on=sim");
  g_clear_error (&error);
  g_assert_null (gemem_device_new ("faulty:nth=1,capcity=1GiB", NULL, 0, &error));
  g_assert_cmpstr (error->message, ==,
                   "device sim: unknown parameter 'capcity'; did you mean 'capacity'?");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/faulty/rules", test_rules);
  g_test_add_func ("/faulty/rate", test_rate);
  g_test_add_func ("/faulty/stacked", test_stacked);
  g_test_add_func ("/faulty/kinds", test_kinds);
  g_test_add_func ("/faulty/counting", test_counting);
  g_test_add_func ("/faulty/forwards", test_forwards);
  g_test_add_func ("/faulty/adopts", test_adopts);
  g_test_add_func ("/faulty/text", test_text);
  g_test_add_func ("/faulty/bad", test_bad);
  return g_test_run ();
}
