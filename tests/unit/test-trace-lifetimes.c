/* test-trace-lifetimes.c - sim/engine/lifetimes.h: events to lifetimes, case by case. */
#include "config.h"

#include "sim/engine/lifetimes.h"
#include "tests/util/event-source.h"

/* "ID:BEGIN-END:SIZE ..." of the lifetimes of @trace; or the message. */
static char *
lifetimes_text (TestTrace *trace, int device)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = test_trace_open (trace, &error);
  g_autoptr (GememLifetimes) lifetimes = gemem_trace_lifetimes (reader, device, &error);
  GString *text = g_string_new (NULL);

  gemem_trace_close (reader);
  if (lifetimes == NULL)
    return g_string_free (g_string_assign (text, error->message), FALSE);
  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      g_assert_cmpuint (life->end, ==, life->safe_end);
      g_assert_cmpuint (life->end, <=, lifetimes->steps);
      g_string_append_printf (text,
                              "%s%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT
                              ":%" G_GUINT64_FORMAT,
                              i > 0 ? " " : "", life->id, life->begin, life->end, life->size);
    }
  return g_string_free (text, FALSE);
}

static void
assert_lifetimes (TestTrace trace, int device, const char *expected)
{
  g_autofree char *text = lifetimes_text (&trace, device);

  g_assert_cmpstr (text, ==, expected);
}

static void
test_plain (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (7, 100),  TEST_ALLOC (8, 0),  TEST_FREE (7),
    TEST_EVENT (STEP, 1), TEST_ALLOC (7, 50), TEST_FREE (8)
  };

  assert_lifetimes ((TestTrace) TEST_TRACE (events), 0, "7:0-2:100 8:1-5:0 7:4-6:50");
  assert_lifetimes ((TestTrace){ .events = events, .n = 6, .batch = 1 }, -1,
                    "7:0-2:100 8:1-5:0 7:4-6:50");
  assert_lifetimes ((TestTrace){ .events = events, .n = 0 }, 0, "");
}

/* The static memory of a graph is planned like a block; a graph and a block may have the same
 * id. */
static void
test_graphs (void)
{
  static const GememTraceEvent events[] = {
    { .kind = GEMEM_EVENT_GRAPH_LOAD, .id = 1, .size = 100, .aux = 1 },
    { .kind = GEMEM_EVENT_GRAPH_SEGMENT, .id = 1, .size = 100 },
    TEST_ALLOC (1, 50),
    TEST_EVENT (GRAPH_RUN, 1),
    TEST_EVENT (GRAPH_UNLOAD, 1),
    TEST_FREE (1)
  };

  assert_lifetimes ((TestTrace) TEST_TRACE (events), 0, "9223372036854775809:0-4:100 1:2-5:50");
}

static void
test_halves (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_EVENT (FREE_REQUESTED, 1),
                                            TEST_ALLOC (2, 10), TEST_EVENT (FREE_COMPLETED, 1),
                                            TEST_EVENT (FREE_REQUESTED, 2) };

  assert_lifetimes ((TestTrace) TEST_TRACE (events), 0, "1:0-3:100 2:2-5:10");
}

static void
test_initial_and_failed (void)
{
  static const GememTraceEvent events[] = {
    { .kind = GEMEM_EVENT_SEGMENT_ALLOC, .size = 1000, .flags = GEMEM_EVENT_INITIAL },
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 10, .flags = GEMEM_EVENT_INITIAL },
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 20, .flags = GEMEM_EVENT_INITIAL },
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 30, .flags = GEMEM_EVENT_FAILED },
    { .kind = GEMEM_EVENT_FREE, .id = 3, .flags = GEMEM_EVENT_FAILED },
    TEST_ALLOC (4, 40),
    TEST_FREE (2)
  };

  assert_lifetimes ((TestTrace) TEST_TRACE (events), 0, "1:0-7:10 2:0-6:20 3:3-4:30 4:5-7:40");
}

static void
test_devices (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 10),
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 20, .device = 1 },
    TEST_FREE (1),
    { .kind = GEMEM_EVENT_FREE, .id = 2, .device = 1 }
  };

  assert_lifetimes ((TestTrace) TEST_TRACE (events), 0, "1:0-2:10");
  assert_lifetimes ((TestTrace) TEST_TRACE (events), 1, "2:1-3:20");
  assert_lifetimes ((TestTrace) TEST_TRACE (events), -1, "1:0-2:10 2:1-3:20");
}

static void
test_errors (void)
{
  static const GememTraceEvent twice[] = { TEST_ALLOC (1, 10), TEST_ALLOC (1, 10) };
  TestTrace trace = TEST_TRACE (twice),
            broken = { .events = twice, .n = 2, .batch = 1, .fail_at = 1 };
  g_autofree char *text = lifetimes_text (&trace, 0);
  g_autofree char *reading = lifetimes_text (&broken, 0);

  g_assert_nonnull (g_strrstr (text, "event 1: id 1 is allocated again while alive"));
  g_assert_cmpstr (reading, !=, "1:0-2:10");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trace-lifetimes/plain", test_plain);
  g_test_add_func ("/trace-lifetimes/graphs", test_graphs);
  g_test_add_func ("/trace-lifetimes/halves", test_halves);
  g_test_add_func ("/trace-lifetimes/initial-and-failed", test_initial_and_failed);
  g_test_add_func ("/trace-lifetimes/devices", test_devices);
  g_test_add_func ("/trace-lifetimes/errors", test_errors);
  return g_test_run ();
}
