/* test-validate.c - every finding of validate.h on the smallest trace that causes it, and the
 * facts of summary.h on a trace summed up by hand. */
#include "config.h"

#include <string.h>

#include "tests/util/event-source.h"
#include "traces/summary.h"
#include "traces/validate.h"

#define AT(k, i, s, where) \
  { \
    .kind = GEMEM_EVENT_##k, .id = (i), .size = (s), .address = (where) \
  }

/* Findings of @trace as "kind@seq xcount; ...". */
static char *
findings_of (TestTrace *trace)
{
  GError *error = NULL;
  GememTraceReader *reader = test_trace_open (trace, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) findings = gemem_trace_validate (reader, &error);
  g_assert_no_error (error);
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < findings->len; i++)
    {
      const GememFinding *f = findings->pdata[i];
      g_autofree char *seq = f->seq == G_MAXUINT64 ? g_strdup ("-")
                                                   : g_strdup_printf ("%" G_GUINT64_FORMAT, f->seq);
      g_string_append_printf (text, "%s%s@%s x%" G_GUINT64_FORMAT "%s", i > 0 ? "; " : "",
                              gemem_finding_name (f->kind), seq, f->count,
                              f->error ? "" : " (note)");
      g_assert_cmpuint (strlen (f->text), >, 20);
    }
  gemem_trace_close (reader);
  return g_string_free (text, FALSE);
}

static void
assert_findings (const GememTraceEvent *events, gsize n, guint32 flags, const char *expected)
{
  TestTrace trace = { .events = events, .n = n, .flags = flags, .batch = 2 };
  g_autofree char *found = findings_of (&trace);
  g_assert_cmpstr (found, ==, expected);
}

#define ASSERT_FINDINGS(array, flags, expected) \
  assert_findings (array, G_N_ELEMENTS (array), flags, expected)

static void
test_ids (void)
{
  const GememTraceEvent fine[] = { TEST_ALLOC (1, 10), TEST_ALLOC (2, 20), TEST_FREE (1),
                                   TEST_FREE (2),      TEST_ALLOC (1, 5),  TEST_FREE (1) };
  const GememTraceEvent orphan[] = { TEST_ALLOC (1, 10), TEST_FREE (2), TEST_FREE (1),
                                     TEST_FREE (1) };
  const GememTraceEvent twice[] = { TEST_ALLOC (1, 10), TEST_ALLOC (1, 20), TEST_FREE (1) };
  const GememTraceEvent requested[] = { TEST_ALLOC (1, 10), TEST_EVENT (FREE_REQUESTED, 1),
                                        TEST_EVENT (FREE_REQUESTED, 1),
                                        TEST_EVENT (FREE_COMPLETED, 1) };
  const GememTraceEvent left[] = { TEST_ALLOC (1, 10), TEST_ALLOC (2, 10), TEST_FREE (1) };
  const GememTraceEvent failed[] = {
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 5, .flags = GEMEM_EVENT_FAILED },
    { .kind = GEMEM_EVENT_FREE, .id = 1, .flags = GEMEM_EVENT_FAILED }
  };
  ASSERT_FINDINGS (fine, 0, "");
  ASSERT_FINDINGS (orphan, 0, "orphan free@1 x2");
  ASSERT_FINDINGS (twice, 0, "double alloc@1 x1");
  ASSERT_FINDINGS (requested, 0, "double free@2 x1");
  ASSERT_FINDINGS (left, 0, "never freed@- x1 (note)");
  ASSERT_FINDINGS (failed, 0, "");
}

static void
test_sizes (void)
{
  const GememTraceEvent zero[] = { TEST_ALLOC (1, 0), TEST_FREE (1) };
  const GememTraceEvent edge[] = { TEST_ALLOC (1, (G_GUINT64_CONSTANT (1) << 60) - 1),
                                   TEST_FREE (1) };
  const GememTraceEvent huge[] = { TEST_ALLOC (1, G_GUINT64_CONSTANT (1) << 60), TEST_FREE (1),
                                   TEST_ALLOC (2, G_MAXUINT64), TEST_FREE (2) };
  ASSERT_FINDINGS (zero, 0, "zero size@0 x1 (note)");
  ASSERT_FINDINGS (edge, 0, "");
  ASSERT_FINDINGS (huge, 0, "huge size@0 x2");
}

static void
test_addresses (void)
{
  const GememTraceEvent touch[] = { AT (ALLOC, 1, 16, 0x1000),
                                    AT (ALLOC, 2, 16, 0x1010),
                                    AT (ALLOC, 3, 16, 0xff0),
                                    TEST_FREE (1),
                                    TEST_FREE (2),
                                    TEST_FREE (3) };
  const GememTraceEvent over[] = { AT (ALLOC, 1, 17, 0x1000), AT (ALLOC, 2, 16, 0x1010),
                                   TEST_FREE (1), TEST_FREE (2) };
  const GememTraceEvent under[] = { AT (ALLOC, 1, 16, 0x1000), AT (ALLOC, 2, 17, 0xff0),
                                    TEST_FREE (1), TEST_FREE (2) };
  const GememTraceEvent again[] = { AT (ALLOC, 1, 16, 0x1000), TEST_FREE (1),
                                    AT (ALLOC, 2, 16, 0x1000), TEST_FREE (2) };
  const GememTraceEvent block[] = {
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 1, .aux = 512, .address = 0x1000 },
    AT (ALLOC, 2, 1, 0x1100),
    TEST_FREE (1),
    TEST_FREE (2)
  };
  const GememTraceEvent other[] = {
    AT (ALLOC, 1, 16, 0x1000),
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 16, .address = 0x1000, .device = 1 },
    TEST_FREE (1),
    { .kind = GEMEM_EVENT_FREE, .id = 2, .device = 1 }
  };
  ASSERT_FINDINGS (touch, 0, "");
  ASSERT_FINDINGS (over, 0, "overlap@1 x1");
  ASSERT_FINDINGS (under, 0, "overlap@1 x1");
  ASSERT_FINDINGS (again, 0, "");
  ASSERT_FINDINGS (block, 0, "overlap@1 x1");
  ASSERT_FINDINGS (other, 0, "");
}

static void
test_segments (void)
{
  const GememTraceEvent inside[] = { AT (SEGMENT_ALLOC, 0, 0x1000, 0x10000),
                                     AT (SEGMENT_MAP, 0, 0x1000, 0x11000),
                                     AT (ALLOC, 1, 0x1800, 0x10400), TEST_FREE (1) };
  const GememTraceEvent outside[] = { AT (SEGMENT_ALLOC, 0, 0x1000, 0x10000),
                                      AT (ALLOC, 1, 0x1001, 0x10000), TEST_FREE (1) };
  const GememTraceEvent cut[] = { AT (SEGMENT_MAP, 0, 0x3000, 0x10000),
                                  AT (SEGMENT_UNMAP, 0, 0x1000, 0x11000),
                                  AT (ALLOC, 1, 0x1000, 0x10000),
                                  AT (ALLOC, 2, 0x1000, 0x12000),
                                  AT (ALLOC, 3, 16, 0x11000),
                                  TEST_FREE (1),
                                  TEST_FREE (2),
                                  TEST_FREE (3) };
  ASSERT_FINDINGS (inside, GEMEM_TRACE_HAS_SEGMENTS, "");
  ASSERT_FINDINGS (outside, GEMEM_TRACE_HAS_SEGMENTS, "outside segment@1 x1");
  ASSERT_FINDINGS (outside, 0, "");
  ASSERT_FINDINGS (cut, GEMEM_TRACE_HAS_SEGMENTS, "outside segment@4 x1");
}

static void
test_graphs (void)
{
#define LOAD(i, bytes, n) \
  { \
    .kind = GEMEM_EVENT_GRAPH_LOAD, .id = (i), .size = (bytes), .aux = (n) \
  }
  const GememTraceEvent fine[] = { LOAD (1, 48, 2),
                                   AT (GRAPH_SEGMENT, 1, 16, 0),
                                   AT (GRAPH_SEGMENT, 1, 32, 16),
                                   TEST_EVENT (GRAPH_RUN, 1),
                                   TEST_EVENT (GRAPH_RUN_END, 1),
                                   TEST_EVENT (GRAPH_UNLOAD, 1),
                                   LOAD (1, 5, 0) };
  const GememTraceEvent not_loaded[] = { TEST_EVENT (GRAPH_RUN, 1), LOAD (1, 5, 0),
                                         TEST_EVENT (GRAPH_RUN_END, 1),
                                         TEST_EVENT (GRAPH_UNLOAD, 1),
                                         TEST_EVENT (GRAPH_UNLOAD, 1) };
  const GememTraceEvent elsewhere[] = { LOAD (1, 5, 0),
                                        { .kind = GEMEM_EVENT_GRAPH_RUN, .id = 1, .device = 1 },
                                        TEST_EVENT (GRAPH_RUN, 1) };
  const GememTraceEvent twice[] = { LOAD (1, 5, 0), LOAD (1, 5, 0) };
  const GememTraceEvent overlap[] = { LOAD (1, 48, 2), AT (GRAPH_SEGMENT, 1, 17, 0),
                                      AT (GRAPH_SEGMENT, 1, 32, 16) };
  const GememTraceEvent beyond[] = { LOAD (1, 48, 1), AT (GRAPH_SEGMENT, 1, 33, 16) };
  const GememTraceEvent stray[] = { LOAD (1, 48, 0), AT (GRAPH_SEGMENT, 1, 33, 16) };
  const GememTraceEvent few[] = { LOAD (1, 48, 2), AT (GRAPH_SEGMENT, 1, 17, 0), LOAD (2, 5, 1) };
  ASSERT_FINDINGS (fine, 0, "");
  ASSERT_FINDINGS (not_loaded, 0, "graph fault@0 x3");
  ASSERT_FINDINGS (elsewhere, 0, "graph fault@1 x1");
  ASSERT_FINDINGS (twice, 0, "graph fault@1 x1");
  ASSERT_FINDINGS (overlap, 0, "graph fault@2 x1");
  ASSERT_FINDINGS (beyond, 0, "graph fault@1 x1");
  ASSERT_FINDINGS (stray, 0, "graph fault@1 x1");
  ASSERT_FINDINGS (few, 0, "graph fault@2 x2");
}

static void
test_stream_events (void)
{
  const GememTraceEvent fine[] = { TEST_EVENT (EVENT_RECORD, 70), TEST_EVENT (EVENT_WAIT, 70),
                                   TEST_EVENT (EVENT_WAIT, 70) };
  const GememTraceEvent never[] = { TEST_EVENT (EVENT_RECORD, 70), TEST_EVENT (EVENT_WAIT, 71),
                                    TEST_EVENT (EVENT_WAIT, 6) };
  ASSERT_FINDINGS (fine, 0, "");
  ASSERT_FINDINGS (never, 0, "event fault@1 x2");
  ASSERT_FINDINGS (never, GEMEM_TRACE_STARTS_IN_MIDDLE, "missing start@- x1");
}

/* Work with an id begins once and ends once; a query is told apart only where order is told. */
static void
test_order (void)
{
  const GememTraceEvent fine[] = {
    TEST_EVENT (WORK, 7),      TEST_EVENT (WORK, 0), TEST_EVENT (WORK, 0),
    TEST_EVENT (WORK_DONE, 7), TEST_EVENT (WORK, 7), { .kind = GEMEM_EVENT_STREAM_SYNC, .aux = 1 }
  };
  const GememTraceEvent twice[] = { TEST_EVENT (WORK, 7), TEST_EVENT (WORK, 7),
                                    TEST_EVENT (WORK_DONE, 7), TEST_EVENT (WORK_DONE, 7) };
  const GememTraceEvent asks[] = { { .kind = GEMEM_EVENT_STREAM_SYNC, .aux = 2 } };

  ASSERT_FINDINGS (fine, GEMEM_TRACE_HAS_ORDER, "");
  ASSERT_FINDINGS (fine, 0, "event fault@5 x1");
  ASSERT_FINDINGS (twice, GEMEM_TRACE_HAS_ORDER, "event fault@1 x2");
  ASSERT_FINDINGS (asks, GEMEM_TRACE_HAS_ORDER, "event fault@0 x1");
}

static void
test_whole (void)
{
  const GememTraceEvent time[] = { TEST_ALLOC_AT (5, 1, 8), TEST_FREE_AT (4, 1) };
  const GememTraceEvent middle[] = { TEST_ALLOC (1, 8), TEST_FREE (1) };
  const GememTraceEvent initial[] = { { .kind = GEMEM_EVENT_ALLOC,
                                        .id = 1,
                                        .size = 8,
                                        .flags = GEMEM_EVENT_INITIAL | GEMEM_EVENT_AMBIGUOUS },
                                      TEST_FREE (1) };
  const GememTraceEvent cached[] = {
    { .kind = GEMEM_EVENT_SEGMENT_ALLOC, .size = 8, .address = 8, .flags = GEMEM_EVENT_INITIAL },
    AT (ALLOC, 1, 8, 8),
    TEST_FREE (1)
  };
  TestTrace broken = { .events = middle, .n = 2, .fail_at = 1 };
  g_autofree char *found = findings_of (&broken);
  ASSERT_FINDINGS (time, GEMEM_TRACE_HAS_TIME, "time backwards@1 x1");
  /* no block was live, which the flags say */
  ASSERT_FINDINGS (cached, GEMEM_TRACE_STARTS_IN_MIDDLE | GEMEM_TRACE_HAS_SEGMENTS, "");
  ASSERT_FINDINGS (time, 0, "");
  ASSERT_FINDINGS (middle, GEMEM_TRACE_STARTS_IN_MIDDLE, "missing start@- x1");
  ASSERT_FINDINGS (initial, GEMEM_TRACE_STARTS_IN_MIDDLE,
                   "initial state@0 x1 (note); inferred@0 x1 (note)");
  ASSERT_FINDINGS (middle, GEMEM_TRACE_TRUNCATED, "truncated@- x1");
  g_assert_cmpstr (found, ==, "never freed@- x1 (note); truncated@- x1");
}

static void
test_summary (void)
{
  const GememTraceEvent events[] = {
    { .kind = GEMEM_EVENT_ALLOC, .id = 9, .size = 1000, .flags = GEMEM_EVENT_INITIAL },
    TEST_ALLOC_AT (10, 1, 300),
    TEST_ALLOC_AT (20, 2, 513),
    TEST_FREE_AT (30, 1),
    TEST_ALLOC_AT (40, 3, 100),
    TEST_FREE_AT (60, 2),
    { .kind = GEMEM_EVENT_ALLOC, .id = 4, .size = 7, .device = 3, .stream = 5, .time = 70 },
  };
  TestTrace trace = { .events = events, .n = G_N_ELEMENTS (events), .flags = GEMEM_TRACE_HAS_TIME };
  GError *error = NULL;
  GememTraceReader *reader = test_trace_open (&trace, &error);
  GememTraceSummary *summary = gemem_trace_summarise (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (summary->events, ==, 7);
  g_assert_cmpuint (summary->devices->len, ==, 2);
  const GememDeviceSummary *s = summary->devices->pdata[0], *other = summary->devices->pdata[1];
  g_assert_cmpuint (s->initial_bytes, ==, 1000);
  g_assert_cmpuint (s->requested_bytes, ==, 913);
  g_assert_cmpuint (s->peak_live, ==, 1813);
  g_assert_cmpuint (s->peak_live_seq, ==, 2);
  g_assert_cmpuint (s->peak_live_time, ==, 20);
  g_assert_cmpuint (s->peak_live_blocks, ==, 3);
  g_assert_cmpuint (s->lower_bound_256, ==, 1024 + 512 + 768);
  g_assert_cmpuint (s->lower_bound_512, ==, 1024 + 512 + 1024);
  g_assert_cmpuint (s->end_live, ==, 1100);
  g_assert_cmpuint (s->end_blocks, ==, 2);
  g_assert_cmpuint (s->sizes.count, ==, 3);
  g_assert_cmpuint (s->lifetimes_events.count, ==, 2);
  g_assert_cmpuint (s->lifetimes_events.max, ==, 3);
  g_assert_cmpuint (s->lifetimes_ns.max, ==, 40);
  g_assert_cmpuint (other->device, ==, 3);
  g_assert_cmpuint (other->peak_live, ==, 7);
  g_assert_cmpuint (g_array_index (other->streams, GememStreamSummary, 0).stream, ==, 5);
  gemem_trace_summary_free (summary);
  gemem_trace_close (reader);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/validate/ids", test_ids);
  g_test_add_func ("/validate/sizes", test_sizes);
  g_test_add_func ("/validate/addresses", test_addresses);
  g_test_add_func ("/validate/segments", test_segments);
  g_test_add_func ("/validate/graphs", test_graphs);
  g_test_add_func ("/validate/stream-events", test_stream_events);
  g_test_add_func ("/validate/order", test_order);
  g_test_add_func ("/validate/whole", test_whole);
  g_test_add_func ("/summary/by-hand", test_summary);
  return g_test_run ();
}
