/* test-engine-events.c - the engine on events other than requests and frees, graphs among them,
 * and on events that cannot be right. */
#include "config.h"

#include "tests/util/engine-job.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

static void
test_completion (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 4096), TEST_EVENT (FREE_REQUESTED, 1),
                                            TEST_ALLOC (2, 256),  TEST_EVENT (FREE_COMPLETED, 1),
                                            TEST_ALLOC (3, 256),  TEST_EVENT (FREE_COMPLETED, 3) };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);

  g_assert_cmpstr (slots_log->str, ==,
                   "alloc 4096;free-requested;alloc 256;complete;alloc 256;free;");
  equal (result->ooms, 1); /* the first block is live until it is completed */
  equal (result->peak_live, 4096);
  equal (result->frees, 2);
  equal (result->leaked_blocks, 0); /* id 2 was never served */
  gemem_result_free (result);

  result = test_run (&slots_at_once_class, &trace);
  g_assert_cmpstr (slots_log->str, ==, "alloc 4096;free-requested;alloc 256;alloc 256;free;");
  equal (result->ooms, 0); /* the request found the memory released */
  equal (result->leaked_blocks, 1);
  equal (result->end_live, 256);
  gemem_result_free (result);
}

static void
test_other_events (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100),
    { .kind = GEMEM_EVENT_USE_ON_STREAM, .id = 1, .stream = 5 },
    { .kind = GEMEM_EVENT_STREAM_FREE, .id = 1, .stream = 5 },
    { .kind = GEMEM_EVENT_EVENT_RECORD, .id = 3, .stream = 5, .aux = 1 + 6 },
    { .kind = GEMEM_EVENT_EVENT_RECORD, .id = 4, .stream = 5 },
    { .kind = GEMEM_EVENT_EVENT_WAIT, .id = 3, .stream = 6 },
    { .kind = GEMEM_EVENT_STREAM_SYNC, .stream = 5 },
    TEST_EVENT (DEVICE_SYNC, 0),
    TEST_EVENT (TRIM, 0),
    TEST_EVENT (STEP, 1),
    TEST_EVENT (PHASE, 0),
    TEST_EVENT (OOM, 0),
    TEST_EVENT (SNAPSHOT, 0),
    TEST_ALLOC (2, 0),
    { .kind = GEMEM_EVENT_MEMSET, .id = 1, .size = 100, .stream = 5 },
    { .kind = GEMEM_EVENT_MEMSET, .id = 2 },
    TEST_FREE (2),
    TEST_FREE (1),
  };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);

  g_assert_cmpstr (
      slots_log->str, ==,
      "alloc 100;use 5;let 5;record 3 5 6;record 4 5 -1;wait 3 6;sync 5;sync -1;trim;free;");
  equal (result->events, 18);
  equal (result->calls[GEMEM_CALL_MEMSET], 1);
  equal (result->trims, 1);
  equal (result->zero_allocs, 1);
  equal (result->skipped_frees, 0);
  equal (result->allocs, 1);
  equal (result->frees, 1);
  equal (result->calls[GEMEM_CALL_STREAM_SYNC], 1);
  equal (result->calls[GEMEM_CALL_DEVICE_SYNC], 1);
  gemem_result_free (result);
}

/* ---- memory that is set */

static const GememDeviceClass *plain_class;
static GString *sets;

static gboolean
note_memset (GememDevice *device, guint64 address, guint8 value, guint64 size, guint64 stream)
{
  g_string_append_printf (sets, "%02x on %" G_GUINT64_FORMAT " bytes;", value, size);
  return plain_class->memset (device, address, value, size, stream);
}

/* Slots on a device that notes its memsets. */
static GememAllocator *
create_on_noting (gconstpointer params, GememDevice *device, GError **error)
{
  static GememDeviceClass noting;

  plain_class = device->klass;
  noting = *plain_class;
  noting.memset = note_memset;
  device->klass = &noting;
  return slots_class.create (params, device, error);
}

static void
test_memset_values (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100),
    { .kind = GEMEM_EVENT_MEMSET, .id = 1, .size = 100, .aux = 0xef },
    { .kind = GEMEM_EVENT_MEMSET, .id = 1, .size = 60 },
    TEST_FREE (1),
  };
  GememAllocatorClass klass = slots_class;
  TestTrace trace = TEST_TRACE (events);

  klass.create = create_on_noting;
  sets = g_string_new (NULL);
  gemem_result_free (test_run (&klass, &trace));
  g_assert_cmpstr (sets->str, ==, "ef on 100 bytes;00 on 60 bytes;");
  g_string_free (sets, TRUE);
}

/* ---- graphs */

#define PIECE(i, offset, bytes) \
  { \
    .kind = GEMEM_EVENT_GRAPH_SEGMENT, .id = (i), .address = (offset), .size = (bytes) \
  }
#define LOAD(i, bytes, n) \
  { \
    .kind = GEMEM_EVENT_GRAPH_LOAD, .id = (i), .size = (bytes), .aux = (n) \
  }

/* An allocator without graphs gets their static memory as one request each. */
static void
test_graphs_as_blocks (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100),
    LOAD (1, 1000, 2),
    PIECE (1, 0, 500),
    PIECE (1, 500, 500),
    LOAD (2, 700, 0),
    TEST_EVENT (GRAPH_RUN, 1),
    TEST_EVENT (GRAPH_RUN_END, 1),
    TEST_EVENT (GRAPH_UNLOAD, 1),
    TEST_FREE (1),
    LOAD (3, 5000, 0),
    TEST_EVENT (GRAPH_RUN, 3),
    TEST_EVENT (GRAPH_UNLOAD, 3),
  };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);

  g_assert_cmpstr (slots_log->str, ==, "alloc 100;alloc 1000;alloc 700;free;free;alloc 5000;");
  equal (result->graph_loads, 3);
  equal (result->allocs, 4);
  equal (result->ooms, 1);
  equal (result->peak_live, 1800);
  equal (result->end_live, 700);
  equal (result->leaked_blocks, 1);
  gemem_result_free (result);
}

/* The trace is refused with @message; with damage allowed, @found inconsistencies are counted. */
static void
check_found (const GememTraceEvent *events, gsize n, const char *message, guint64 found)
{
  TestTrace trace = { .events = events, .n = n };
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  g_autoptr (GError) error = NULL;
  GememResult *result = gemem_job_run (&job, &error);

  g_assert_null (result);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (error->message, ==, message);
  job.allow_partial = TRUE;
  result = test_job_run (&job);
  equal (result->inconsistent, found);
  g_assert_true (result->partial);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

static void
check_refused (const GememTraceEvent *events, gsize n, const char *message)
{
  check_found (events, n, message, 1);
}

#define REPAIR "; repair the trace, or leave such events out with --allow-partial"

static void
test_inconsistent (void)
{
  static const GememTraceEvent twice[] = { TEST_ALLOC (1, 100), TEST_ALLOC (1, 200),
                                           TEST_FREE (1) };
  static const GememTraceEvent unknown[] = { TEST_ALLOC (1, 100), TEST_FREE (2) };
  static const GememTraceEvent again[] = { TEST_ALLOC (1, 100), TEST_FREE (1), TEST_FREE (1) };
  static const GememTraceEvent requested[] = { TEST_ALLOC (1, 100), TEST_EVENT (FREE_REQUESTED, 1),
                                               TEST_EVENT (FREE_REQUESTED, 1) };
  static const GememTraceEvent mixed[] = { TEST_ALLOC (1, 100), TEST_EVENT (FREE_REQUESTED, 1),
                                           TEST_FREE (1), TEST_EVENT (FREE_COMPLETED, 1) };
  static const GememTraceEvent completed[] = { TEST_EVENT (FREE_COMPLETED, 3) };
  static const GememTraceEvent kind[] = { { .kind = 99 } };
  static const GememTraceEvent nothing[] = { TEST_EVENT (MEMSET, 1) };
  static const GememTraceEvent no_byte[] = {
    TEST_ALLOC (1, 100),
    { .kind = GEMEM_EVENT_MEMSET, .id = 1, .size = 100, .aux = 256 },
    TEST_FREE (1)
  };
  static const GememTraceEvent beyond[] = { TEST_ALLOC (1, 100),
                                            { .kind = GEMEM_EVENT_MEMSET, .id = 1, .size = 101 },
                                            TEST_FREE (1) };

  static const GememTraceEvent wait[] = {
    TEST_EVENT (EVENT_RECORD, 1), { .kind = GEMEM_EVENT_EVENT_WAIT, .id = 2, .stream = 7 }
  };
  static const GememTraceEvent use[] = { TEST_EVENT (USE_ON_STREAM, 9), TEST_ALLOC (1, 100),
                                         TEST_FREE (1), TEST_EVENT (STREAM_FREE, 1) };
  static const GememTraceEvent run[] = { TEST_EVENT (GRAPH_RUN, 1) };
  static const GememTraceEvent end[] = { LOAD (1, 10, 0), TEST_EVENT (GRAPH_RUN_END, 1) };
  static const GememTraceEvent unload[] = { LOAD (1, 10, 0), TEST_EVENT (GRAPH_UNLOAD, 1),
                                            TEST_EVENT (GRAPH_UNLOAD, 1) };
  static const GememTraceEvent load[] = { LOAD (1, 10, 0), LOAD (1, 10, 0) };
  static const GememTraceEvent stray[] = { LOAD (1, 10, 0), PIECE (1, 0, 10) };
  static const GememTraceEvent lacking[] = { LOAD (1, 100, 2), PIECE (1, 0, 50), LOAD (2, 10, 0) };
  static const GememTraceEvent cut_off[] = { LOAD (1, 100, 2), PIECE (1, 0, 50) };
  static const GememTraceEvent overlap[] = { LOAD (1, 100, 2), PIECE (1, 0, 50),
                                             PIECE (1, 49, 50) };
  static const GememTraceEvent outside[] = { LOAD (1, 100, 1), PIECE (1, 50, 51) };

  check_refused (twice, 3, "array:event 1: id 1 is allocated while it is alive" REPAIR);
  check_refused (unknown, 2, "array:event 1: id 2 is freed but is not alive" REPAIR);
  check_refused (again, 3, "array:event 2: id 1 is freed but is not alive" REPAIR);
  check_refused (requested, 3, "array:event 2: id 1 is freed twice" REPAIR);
  check_refused (mixed, 4, "array:event 2: id 1 is freed twice" REPAIR);
  check_refused (completed, 1, "array:event 0: id 3 is freed but is not alive" REPAIR);
  check_refused (nothing, 1, "array:event 0: id 1 is set but is not alive" REPAIR);
  check_refused (no_byte, 3, "array:event 1: id 1 is set to 256, which is no byte" REPAIR);
  check_refused (beyond, 3, "array:event 1: 101 bytes of id 1 are set, which has 100" REPAIR);
  check_refused (wait, 2,
                 "array:event 1: stream 7 waits for event 2, which was never recorded" REPAIR);
  check_found (use, 4, "array:event 0: id 9 is used on a stream but is not alive" REPAIR, 2);
  check_refused (run, 1, "array:event 0: graph 1 is run but not loaded on device 0" REPAIR);
  check_refused (end, 2, "array:event 1: a run of graph 1 ends that did not begin" REPAIR);
  check_refused (unload, 3, "array:event 2: graph 1 is unloaded but not loaded" REPAIR);
  check_refused (load, 2, "array:event 1: graph 1 is loaded while it is loaded" REPAIR);
  check_refused (stray, 2, "array:event 1: a segment of graph 1 does not follow its load" REPAIR);
  check_refused (lacking, 3, "array:event 2: the load of graph 1 lacks 1 of its segments" REPAIR);
  check_refused (cut_off, 2, "array:event 2: the load of graph 1 lacks 1 of its segments" REPAIR);
  /* the segment, and the load that is short of it */
  check_found (overlap, 3,
               "array:event 2: the segment of graph 1 at offset 49 overlaps or precedes the one "
               "before it, which ends at 50" REPAIR,
               2);
  check_found (outside, 2,
               "array:event 1: the segment of graph 1 at offset 50 of 51 bytes does not fit its "
               "static memory of 100 bytes" REPAIR,
               2);
  check_refused (kind, 1, "array:event 0: there is no event of kind 99" REPAIR);
}

/* Sizes near 2^64 are refused by the device and do not wrap the totals. */
static void
test_enormous (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, G_MAXUINT64),
                                            TEST_ALLOC (2, G_MAXUINT64 - 1), TEST_ALLOC (3, 10),
                                            TEST_FREE (1), TEST_FREE (2) };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (test_direct_class (), &trace);

  equal (result->ooms, 2);
  equal (result->ooms_avoidable, 0);
  equal (result->lower_bound, G_MAXUINT64);
  equal (result->peak_live, 10);
  gemem_result_free (result);
}

static void
test_devices (void)
{
  static const GememTraceEvent events[] = {
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 10, .device = 2 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 20, .device = 0 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 30, .device = 2 },
    { .kind = GEMEM_EVENT_FREE, .id = 2, .device = 0 },
  };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (test_direct_class (), &trace);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  g_autoptr (GArray) devices = gemem_trace_devices (test_trace_open, &trace, NULL);

  equal (result->device_ordinal, 2);
  equal (result->events, 2);
  equal (result->peak_live, 40);
  equal (result->peak_live_seq, 2);
  gemem_result_free (result);
  job.device_ordinal = 0;
  result = test_job_run (&job);
  equal (result->device_ordinal, 0);
  equal (result->peak_live, 20);
  equal (result->end_live, 0);
  gemem_result_free (result);
  equal (devices->len, 2);
  equal (g_array_index (devices, guint16, 0), 0);
  equal (g_array_index (devices, guint16, 1), 2);
  gemem_allocator_spec_free (spec);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/completion", test_completion);
  g_test_add_func ("/engine/other-events", test_other_events);
  g_test_add_func ("/engine/memset-values", test_memset_values);
  g_test_add_func ("/engine/graphs-as-blocks", test_graphs_as_blocks);
  g_test_add_func ("/engine/inconsistent", test_inconsistent);
  g_test_add_func ("/engine/enormous", test_enormous);
  g_test_add_func ("/engine/devices", test_devices);
  return g_test_run ();
}
