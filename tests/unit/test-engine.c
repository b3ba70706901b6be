/* test-engine.c - hand-made traces through `direct` and through sixteen slots of 256 bytes: every measure, computed by hand. */
#include "config.h"

#include "tests/util/engine-job.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

/* ---- measures */

static void
test_direct (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 200), TEST_FREE (1),
                                            TEST_ALLOC (3, 50),  TEST_FREE (2),       TEST_FREE (3) };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (test_direct_class (), &trace);

  g_assert_cmpstr (result->allocator, ==, "direct");
  g_assert_cmpstr (result->trace, ==, "array");
  equal (result->events, 6);
  equal (result->allocs, 3);
  equal (result->frees, 3);
  equal (result->peak_live, 300);
  equal (result->peak_live_seq, 1);
  equal (result->peak_allocated, 300);
  equal (result->peak_reserved, 300);
  equal (result->peak_reserved_seq, 1);
  equal (result->lower_bound, 300);
  equal (result->internal_mean, 0);
  equal (result->external_mean, 0);
  g_assert_false (result->time_weighted);
  equal (result->calls[GEMEM_CALL_MALLOC], 3);
  equal (result->calls[GEMEM_CALL_FREE], 3);
  equal (result->capacity, 4096);
  equal (result->end_live, 0);
  equal (result->end_reserved, 0);
  equal (result->leaked_blocks, 0);
  g_assert_cmpfloat (gemem_result_utilisation (result), ==, 1.0);
  g_assert_cmpfloat (gemem_result_overhead (result), ==, 1.0);
  g_assert_cmpfloat (gemem_result_fragmentation (result), ==, 0.0);
  equal (result->classes->len, 3);
  for (guint i = 0; i < 3; i++) /* at the allocated peak, 100 and 200 were live */
    {
      const GememSizeClassUse *use = &g_array_index (result->classes, GememSizeClassUse, i);
      static const guint64 live[] = { 0, 100, 200 };
      equal (use->limit, 64u << i);
      equal (use->allocs, 1);
      equal (use->live_at_peak, live[i]);
      equal (use->internal_waste_at_peak, 0);
    }
  gemem_result_free (result);
}

static void
test_waste (void)
{
  /*                     live allocated reserved  */
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100), /* 100    256  4096 */
    TEST_ALLOC (2, 257), /* 357    768  4096 */
    TEST_ALLOC (3, 700), /* 1057  1536  4096 */
    TEST_FREE (2),       /* 800   1024  4096 */
    TEST_ALLOC (4, 1),   /* 801   1280  4096 */
  };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);
  static const GememSizeClassUse classes[] = { { 1, 1, 0, 0 }, { 128, 1, 156, 100 }, { 512, 1, 255, 257 }, { 1024, 1, 68, 700 } };

  equal (result->peak_live, 1057);
  equal (result->peak_live_seq, 2);
  equal (result->peak_allocated, 1536);
  equal (result->peak_allocated_seq, 2);
  equal (result->peak_reserved, 4096);
  equal (result->peak_reserved_seq, 0);
  equal (result->lower_bound, 1536);
  equal (result->live_at_peak_reserved, 100);
  equal (result->allocated_at_peak_reserved, 256);
  equal (result->internal_at_peak, 156);
  equal (result->external_at_peak, 3840);
  equal (result->largest_free_at_peak, 3840);
  equal (result->internal_mean, (156 + 411 + 479 + 224 + 479) / 5);
  equal (result->external_mean, (3840 + 3328 + 2560 + 3072 + 2816) / 5);
  equal (result->end_live, 801);
  equal (result->end_allocated, 1280);
  equal (result->end_reserved, 4096);
  equal (result->leaked_blocks, 3);
  equal (result->classes->len, G_N_ELEMENTS (classes));
  g_assert_cmpmem (result->classes->data, sizeof classes, classes, sizeof classes);
  g_assert_cmpfloat_with_epsilon (gemem_result_utilisation (result), 1057.0 / 4096.0, 1e-12);
  equal (result->stats->len, 1);
  g_assert_cmpstr (((GememSetting *) result->stats->pdata[0])->key, ==, "slots");
  g_assert_cmpstr (((GememSetting *) result->stats->pdata[0])->value, ==, "16");
  gemem_result_free (result);
}

static void
test_time_weighted (void)
{
  /* internal 156 for 10 ns, 311 for 20 ns, 155 for 70 ns; external 3840, 3584, 3840 */
  static const GememTraceEvent events[] = { TEST_ALLOC_AT (0, 1, 100), TEST_ALLOC_AT (10, 2, 101), TEST_FREE_AT (30, 1), TEST_FREE_AT (100, 2) };
  TestTrace trace = TEST_TRACE (events);
  trace.flags = GEMEM_TRACE_HAS_TIME;
  GememResult *result = test_run (&slots_class, &trace);

  g_assert_true (result->time_weighted);
  equal (result->internal_mean, (156 * 10 + 311 * 20 + 155 * 70) / 100);
  equal (result->external_mean, (3840 * 10 + 3584 * 20 + 3840 * 70) / 100);
  gemem_result_free (result);
}

static void
test_time_of_no_length (void)
{
  static const GememTraceEvent later[] = { TEST_ALLOC_AT (5, 1, 100) }, now[] = { TEST_ALLOC_AT (0, 1, 100) };
  TestTrace trace = TEST_TRACE (later);
  trace.flags = GEMEM_TRACE_HAS_TIME;
  GememResult *result = test_run (&slots_class, &trace);
  equal (result->internal_mean, 0); /* the 5 ns before the first event */
  gemem_result_free (result);

  trace.events = now;
  result = test_run (&slots_class, &trace);
  equal (result->internal_mean, 156);
  equal (result->external_mean, 3840);
  gemem_result_free (result);
}

static void
test_streams (void)
{
  static const GememTraceEvent events[] = {
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 100, .stream = 7 }, { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 300, .stream = 3 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 10, .stream = 7 },  TEST_FREE (1),
    { .kind = GEMEM_EVENT_ALLOC, .id = 4, .size = 20, .stream = 7 },
  };
  static const GememStreamUse streams[] = { { 3, 300, 512, 1 }, { 7, 110, 512, 3 } };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);

  equal (result->streams->len, 2);
  g_assert_cmpmem (result->streams->data, sizeof streams, streams, sizeof streams);
  gemem_result_free (result);
}

static void
test_many_streams (void)
{
  const guint n = 3000;
  g_autofree GememTraceEvent *events = g_new0 (GememTraceEvent, n);
  TestTrace trace = { .events = events, .n = n };
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);

  for (guint i = 0; i < n; i++)
    events[i] = (GememTraceEvent){ .kind = GEMEM_EVENT_ALLOC, .id = i + 1, .size = 1, .stream = i + 1 };
  job.full_checks = FALSE;
  GememResult *result = test_job_run (&job);
  equal (result->streams->len, GEMEM_STREAMS_MAX); /* stream 0 has its place, but no block */
  const GememStreamUse *others = &g_array_index (result->streams, GememStreamUse, result->streams->len - 1);
  equal (others->stream, G_MAXUINT64);
  equal (others->allocs, n - (GEMEM_STREAMS_MAX - 1));
  equal (others->peak_live, n - (GEMEM_STREAMS_MAX - 1));
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* What is held only while a request is served is a peak too. */
static void
test_transient (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_FREE (1), TEST_ALLOC (2, 100) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  job.device_spec = "sim:capacity=10000";
  job.timeline_points = 10;
  job.repeat = 2;
  slots_faults.transient = TRUE;
  result = test_job_run (&job);
  equal (result->peak_reserved, 5096);
  equal (result->peak_reserved_seq, 2); /* the first time the segment is there as well */
  equal (result->end_reserved, 4096);
  equal (result->external_mean, 3840 * 4 / 6 + 4096 * 2 / 6);
  equal (g_array_index (result->timeline, GememTimelinePoint, 0).reserved_max, 4096);
  equal (g_array_index (result->timeline, GememTimelinePoint, 1).reserved_max, 4096);
  equal (g_array_index (result->timeline, GememTimelinePoint, 2).reserved_max, 5096);
  equal (g_array_index (result->timeline, GememTimelinePoint, 2).reserved, 4096);
  equal (g_array_index (result->epochs, GememEpoch, 1).peak_reserved, 5096);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* ---- out of memory */

static void
test_oom_avoidable (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 1024), TEST_ALLOC (2, 1280), TEST_ALLOC (3, 768), TEST_ALLOC (4, 1024),
    TEST_FREE (1),        TEST_FREE (3), /* free: 1024 before block 2, 768 between it and block 4 */
    TEST_ALLOC (5, 1792),                /* block 4 with the 768 before it would do, and is smaller than block 2 */
    TEST_ALLOC (6, 1793),                /* only block 2 with both neighbours would do */
    TEST_FREE (5),        TEST_FREE (6),
  };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);

  equal (result->ooms, 2);
  equal (result->ooms_avoidable, 1); /* 2304 + 1793 is one byte more than there is */
  equal (result->failed_allocs, 2);
  equal (result->skipped_frees, 2);
  equal (result->frees, 2);
  const GememOom *oom = &g_array_index (result->oom, GememOom, 0);
  equal (oom->seq, 6);
  equal (oom->id, 5);
  equal (oom->requested, 1792);
  equal (oom->live, 2304);
  equal (oom->allocated, 2304);
  equal (oom->reserved, 4096);
  equal (oom->capacity, 4096);
  equal (oom->device_free, 0);
  equal (oom->largest_free, 1024);
  g_assert_true (oom->avoidable);
  equal (oom->missing, 0);
  equal (oom->blocking_id, 4);
  equal (oom->blocking_size, 1024);
  oom++;
  equal (oom->id, 6);
  g_assert_false (oom->avoidable);
  equal (oom->missing, 1);
  equal (oom->blocking_id, 0);
  equal (result->lower_bound, 2304 + 1792 + 2048);
  equal (result->peak_live, 4096);
  gemem_result_free (result);
}

/* The neighbours on both sides count, and waste is not live. */
static void
test_oom_both_neighbours (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 1024), TEST_ALLOC (2, 1025), TEST_ALLOC (3, 768), TEST_ALLOC (4, 1000),
    TEST_FREE (1),        TEST_FREE (3),        TEST_ALLOC (5, 2000),
  };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);
  const GememOom *oom = &g_array_index (result->oom, GememOom, 0);

  equal (result->ooms_avoidable, 1);
  equal (oom->live, 2025);
  equal (oom->blocking_id, 2);
  equal (oom->blocking_size, 1280);
  gemem_result_free (result);
}

static void
test_oom_true (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 3000), TEST_ALLOC (2, 1097), TEST_ALLOC (3, 1096), TEST_FREE (2) };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (test_direct_class (), &trace);

  equal (result->ooms, 1);
  equal (result->ooms_avoidable, 0);
  const GememOom *oom = &g_array_index (result->oom, GememOom, 0);
  equal (oom->id, 2);
  g_assert_false (oom->avoidable);
  equal (oom->missing, 1);
  equal (oom->device_free, 1096);
  equal (oom->blocking_id, 0);
  equal (result->refused[GEMEM_CALL_MALLOC], 1);
  equal (result->peak_live, 4096);
  equal (result->lower_bound, 3000 + 1097 + 1096);
  gemem_result_free (result);
}

/* Only the device's free memory together with a whole segment would do: the last block of that segment must go. */
static void
test_oom_last_in_segment (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 256), TEST_ALLOC (2, 4200) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  job.device_spec = "sim:capacity=5000";
  GememResult *result = test_job_run (&job);
  const GememOom *oom = &g_array_index (result->oom, GememOom, 0);

  g_assert_true (oom->avoidable);
  equal (oom->device_free, 904);
  equal (oom->blocking_id, 1);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

static void
test_oom_kept (void)
{
  const guint n = 50;
  g_autofree GememTraceEvent *events = g_new0 (GememTraceEvent, n);
  TestTrace trace = { .events = events, .n = n };
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  for (guint i = 0; i < n; i++)
    events[i] = (GememTraceEvent) TEST_ALLOC (i + 1, 5000);
  job.oom_max = 7;
  result = test_job_run (&job);
  equal (result->ooms, 50);
  equal (result->ooms_avoidable, 0);
  equal (result->oom->len, 7);
  gemem_result_free (result);

  job.stop_at_oom = TRUE;
  result = test_job_run (&job);
  equal (result->ooms, 1);
  equal (result->events, 1);
  g_assert_cmpstr (result->failure, ==, "out of memory at event 0, where the replay was to stop");
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* ---- events of all kinds */

static void
test_completion (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 4096), TEST_EVENT (FREE_REQUESTED, 1), TEST_ALLOC (2, 256),
                                            TEST_EVENT (FREE_COMPLETED, 1), TEST_ALLOC (3, 256), TEST_EVENT (FREE_COMPLETED, 3) };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);

  g_assert_cmpstr (slots_log->str, ==, "alloc 4096;free-requested;alloc 256;complete;alloc 256;free;");
  equal (result->ooms, 1); /* the first block is live until it is completed */
  equal (result->peak_live, 4096);
  equal (result->frees, 2);
  equal (result->leaked_blocks, 0); /* id 2 was never served */
  gemem_result_free (result);

  result = test_run (&slots_at_once_class, &trace);
  g_assert_cmpstr (slots_log->str, ==, "alloc 4096;free-requested;alloc 256;alloc 256;free;");
  equal (result->ooms, 0); /* it has the memory back at the request */
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
    { .kind = GEMEM_EVENT_USE_ON_STREAM, .id = 9, .stream = 5 },
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

  g_assert_cmpstr (slots_log->str, ==, "alloc 100;use 5;let 5;record 3 5 6;record 4 5 -1;wait 3 6;sync 5;sync -1;trim;free;");
  equal (result->events, 19);
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

/* ---- graphs */

#define PIECE(i, offset, bytes) { .kind = GEMEM_EVENT_GRAPH_SEGMENT, .id = (i), .address = (offset), .size = (bytes) }
#define LOAD(i, bytes, n) { .kind = GEMEM_EVENT_GRAPH_LOAD, .id = (i), .size = (bytes), .aux = (n) }

/* An allocator that knows no graphs gets their static memory as one request each. */
static void
test_graphs_as_blocks (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100), LOAD (1, 1000, 2), PIECE (1, 0, 500), PIECE (1, 500, 500), LOAD (2, 700, 0), TEST_EVENT (GRAPH_RUN, 1),
    TEST_EVENT (GRAPH_RUN_END, 1), TEST_EVENT (GRAPH_UNLOAD, 1), TEST_FREE (1), LOAD (3, 5000, 0), TEST_EVENT (GRAPH_RUN, 3), TEST_EVENT (GRAPH_UNLOAD, 3),
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

static void
check_refused (const GememTraceEvent *events, gsize n, const char *message)
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
  equal (result->inconsistent, 1);
  g_assert_true (result->partial);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

#define REPAIR "; repair the trace, or leave such events out with --allow-partial"

static void
test_inconsistent (void)
{
  static const GememTraceEvent twice[] = { TEST_ALLOC (1, 100), TEST_ALLOC (1, 200), TEST_FREE (1) };
  static const GememTraceEvent unknown[] = { TEST_ALLOC (1, 100), TEST_FREE (2) };
  static const GememTraceEvent again[] = { TEST_ALLOC (1, 100), TEST_FREE (1), TEST_FREE (1) };
  static const GememTraceEvent requested[] = { TEST_ALLOC (1, 100), TEST_EVENT (FREE_REQUESTED, 1), TEST_EVENT (FREE_REQUESTED, 1) };
  static const GememTraceEvent mixed[] = { TEST_ALLOC (1, 100), TEST_EVENT (FREE_REQUESTED, 1), TEST_FREE (1),
                                           TEST_EVENT (FREE_COMPLETED, 1) };
  static const GememTraceEvent completed[] = { TEST_EVENT (FREE_COMPLETED, 3) };
  static const GememTraceEvent kind[] = { { .kind = 99 } };
  static const GememTraceEvent nothing[] = { TEST_EVENT (MEMSET, 1) };
  static const GememTraceEvent beyond[] = { TEST_ALLOC (1, 100), { .kind = GEMEM_EVENT_MEMSET, .id = 1, .size = 101 }, TEST_FREE (1) };

  static const GememTraceEvent wait[] = { TEST_EVENT (EVENT_RECORD, 1), { .kind = GEMEM_EVENT_EVENT_WAIT, .id = 2, .stream = 7 } };
  static const GememTraceEvent run[] = { TEST_EVENT (GRAPH_RUN, 1) };
  static const GememTraceEvent end[] = { LOAD (1, 10, 0), TEST_EVENT (GRAPH_RUN_END, 1) };
  static const GememTraceEvent unload[] = { LOAD (1, 10, 0), TEST_EVENT (GRAPH_UNLOAD, 1), TEST_EVENT (GRAPH_UNLOAD, 1) };
  static const GememTraceEvent load[] = { LOAD (1, 10, 0), LOAD (1, 10, 0) };
  static const GememTraceEvent stray[] = { LOAD (1, 10, 0), PIECE (1, 0, 10) };
  static const GememTraceEvent lacking[] = { LOAD (1, 100, 2), PIECE (1, 0, 50), LOAD (2, 10, 0) };
  static const GememTraceEvent overlap[] = { LOAD (1, 100, 2), PIECE (1, 0, 50), PIECE (1, 49, 50) };
  static const GememTraceEvent outside[] = { LOAD (1, 100, 1), PIECE (1, 50, 51) };

  check_refused (twice, 3, "array:event 1: id 1 is allocated while it is alive" REPAIR);
  check_refused (unknown, 2, "array:event 1: id 2 is freed but is not alive" REPAIR);
  check_refused (again, 3, "array:event 2: id 1 is freed but is not alive" REPAIR);
  check_refused (requested, 3, "array:event 2: id 1 is freed twice" REPAIR);
  check_refused (mixed, 4, "array:event 2: id 1 is freed twice" REPAIR);
  check_refused (completed, 1, "array:event 0: id 3 is freed but is not alive" REPAIR);
  check_refused (nothing, 1, "array:event 0: id 1 is set but is not alive" REPAIR);
  check_refused (beyond, 3, "array:event 1: 101 bytes of id 1 are set, which has 100" REPAIR);
  check_refused (wait, 2, "array:event 1: stream 7 waits for event 2, which was never recorded" REPAIR);
  check_refused (run, 1, "array:event 0: graph 1 is run but not loaded" REPAIR);
  check_refused (end, 2, "array:event 1: a run of graph 1 ends that did not begin" REPAIR);
  check_refused (unload, 3, "array:event 2: graph 1 is unloaded but not loaded" REPAIR);
  check_refused (load, 2, "array:event 1: graph 1 is loaded while it is loaded" REPAIR);
  check_refused (stray, 2, "array:event 1: a segment of graph 1 does not follow its load" REPAIR);
  check_refused (lacking, 3, "array:event 2: the load of graph 1 lacks 1 of its segments" REPAIR);
  check_refused (overlap, 3, "array:event 2: the segment of graph 1 at offset 49 overlaps or precedes the one before it, which ends at 50" REPAIR);
  check_refused (outside, 2, "array:event 1: the segment of graph 1 at offset 50 of 51 bytes does not fit its static memory of 100 bytes" REPAIR);
  check_refused (kind, 1, "array:event 0: there is no event of kind 99" REPAIR);
}

/* Sizes near 2^64 are refused by the device and do not wrap the books. */
static void
test_enormous (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, G_MAXUINT64), TEST_ALLOC (2, G_MAXUINT64 - 1), TEST_ALLOC (3, 10), TEST_FREE (1),
                                            TEST_FREE (2) };
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
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 10, .device = 2 }, { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 20, .device = 0 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 30, .device = 2 }, { .kind = GEMEM_EVENT_FREE, .id = 2, .device = 0 },
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

/* ---- recorded state and decisions */

#define SEGMENT G_GUINT64_CONSTANT (0x7f0000000000)

static void
test_adopt (void)
{
  static const GememTraceEvent recorded[] = {
    { .kind = GEMEM_EVENT_SEGMENT_ALLOC, .address = SEGMENT, .size = 4096, .flags = GEMEM_EVENT_INITIAL },
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 300, .aux = 512, .address = SEGMENT + 256, .flags = GEMEM_EVENT_INITIAL },
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 100, .aux = 256, .address = SEGMENT },
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 100, .aux = 256, .address = SEGMENT + 512 }, /* it will be at + 768 */
    { .kind = GEMEM_EVENT_ALLOC, .id = 4, .size = 4000, .flags = GEMEM_EVENT_FAILED },
    TEST_FREE (1),
  };
  TestTrace trace = TEST_TRACE (recorded);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  trace.flags = GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS;
  trace.allocator = "slots";
  trace.device = "address=recorded";
  result = test_job_run (&job);
  g_assert_cmpstr (slots_log->str, ==, "adopt-segment;adopt-block;adopt-done;alloc 100;alloc 100;alloc 4000;free;");
  equal (result->initial_events, 2);
  equal (result->initial_blocks, 1);
  equal (result->allocs, 3);
  equal (result->peak_reserved, 4096);
  equal (result->peak_reserved_seq, 0);
  equal (result->peak_live, 500);
  equal (result->fidelity.compared, 3);
  equal (result->fidelity.equal, 2);
  equal (result->fidelity.first_difference, 3);
  equal (result->fidelity.expected_address, SEGMENT + 512);
  equal (result->fidelity.got_address, SEGMENT + 768);
  gemem_result_free (result);

  /* On another device the state is rebuilt by plain requests, and the comparison says so. */
  job.device_spec = "sim:capacity=4096,address=bump";
  slots_reset ();
  result = test_job_run (&job);
  g_assert_cmpstr (slots_log->str, ==, "alloc 300;alloc 100;alloc 100;alloc 4000;free;");
  equal (result->fidelity.compared, 4);
  equal (result->fidelity.equal, 1); /* the failure */
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

static void
test_segments (void)
{
  static const GememTraceEvent events[] = {
    { .kind = GEMEM_EVENT_SEGMENT_ALLOC, .address = SEGMENT, .size = 100 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 100, .address = SEGMENT },
    { .kind = GEMEM_EVENT_SEGMENT_ALLOC, .address = SEGMENT + 4096, .size = 60 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 60, .address = SEGMENT + 4096 },
    TEST_FREE (1), /* recorded after the request that caused it */
    { .kind = GEMEM_EVENT_SEGMENT_FREE, .address = SEGMENT, .size = 100 },
    TEST_FREE (2),
    { .kind = GEMEM_EVENT_SEGMENT_FREE, .address = SEGMENT + 4096, .size = 61 }, /* a lie */
    { .kind = GEMEM_EVENT_SEGMENT_FREE, .address = SEGMENT + 8192, .size = 1 },  /* without a partner */
  };
  TestTrace trace = TEST_TRACE (events);
  trace.flags = GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS;
  trace.allocator = "direct";
  trace.device = "address=recorded";
  GememResult *result = test_run (test_direct_class (), &trace);

  equal (result->fidelity.compared, 2);
  equal (result->fidelity.equal, 2);
  equal (result->fidelity.first_difference, G_MAXUINT64);
  equal (result->fidelity.segments_compared, 5);
  equal (result->fidelity.segments_equal, 3);
  equal (result->fidelity.first_segment_difference, 6);
  gemem_result_free (result);

  trace.allocator = "another";
  result = test_run (test_direct_class (), &trace);
  equal (result->fidelity.compared, 0);
  equal (result->fidelity.segments_compared, 0);
  gemem_result_free (result);
}

static void
test_device_settings (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100) };
  TestTrace trace = TEST_TRACE (events);
  g_autoptr (GPtrArray) specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememResult *result;
  GememJob job;

  g_assert_true (gemem_allocator_spec_parse ("direct", specs, NULL));
  g_assert_true (gemem_allocator_spec_parse ("direct:capacity=3000", specs, NULL));
  trace.device = "capacity=1000,shoe_size=44"; /* the device has no shoes */
  job = test_job (specs->pdata[0], &trace);
  job.device_spec = NULL;
  result = test_job_run (&job);
  equal (result->capacity, 1000);
  gemem_result_free (result);
  job.device_spec = "sim:capacity=2000";
  result = test_job_run (&job);
  equal (result->capacity, 2000);
  gemem_result_free (result);
  job.device_spec = "faulty:nth=1,call=malloc"; /* the settings go to the device beneath */
  result = test_job_run (&job);
  equal (result->capacity, 1000);
  equal (result->ooms, 1);
  gemem_result_free (result);
  job.allocator = specs->pdata[1];
  result = test_job_run (&job);
  equal (result->capacity, 3000);
  gemem_result_free (result);
}

/* ---- latency */

static guint64 fake_time;

static guint64
fake_clock (void)
{
  return fake_time += 10;
}

static void
test_latency (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 200), TEST_FREE (1), TEST_FREE (2) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  GememResult *result;
  guint64 calls;

  job.measure = TRUE;
  job.clock = fake_clock;
  result = test_job_run (&job);
  calls = result->call_ns[GEMEM_CALL_MALLOC];
  g_assert_cmpuint (calls, >, 0);
  equal (result->alloc_ns.count, 2);
  equal (result->free_ns.count, 2);
  g_assert_cmpuint (result->free_ns.min, >, 0); /* a hit is not free of charge */
  equal (result->free_ns.min, result->free_ns.max);
  equal (result->alloc_ns.min, result->free_ns.min);
  equal (result->alloc_ns.max, result->alloc_ns.min + calls);
  equal (result->modelled_total_ns, result->alloc_ns.sum + result->free_ns.sum);
  equal (result->measured_alloc_ns.count, 2);
  equal (result->measured_alloc_ns.sum, 20);
  equal (result->measured_free_ns.sum, 20);
  equal (result->measured_total_ns, 40);
  gemem_result_free (result);
  job.measure = FALSE;
  result = test_job_run (&job);
  equal (result->measured_alloc_ns.count, 0);
  equal (result->measured_total_ns, 0);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* ---- epochs, map */

static void
test_epochs (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC_AT (0, 1, 256), TEST_ALLOC_AT (10, 2, 1000), TEST_FREE_AT (20, 2), TEST_ALLOC_AT (30, 3, 9000) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  trace.flags = GEMEM_TRACE_HAS_TIME;
  job.repeat = 3;
  result = test_job_run (&job);
  equal (trace.opened, 3);
  equal (result->events, 12);
  equal (result->epochs->len, 3);
  for (guint i = 0; i < 3; i++)
    {
      const GememEpoch *epoch = &g_array_index (result->epochs, GememEpoch, i);
      equal (epoch->peak_live, 1256);
      equal (epoch->peak_allocated, 1280);
      equal (epoch->peak_reserved, 4096);
      equal (epoch->end_reserved, 4096);
      equal (epoch->end_largest_free, 3840);
      equal (epoch->ooms, 1);
    }
  equal (result->peak_live_seq, 1); /* the first of them */
  equal (result->ooms, 3);
  equal (g_array_index (result->oom, GememOom, 2).seq, 11);
  equal (result->leaked_blocks, 1);
  equal (result->calls[GEMEM_CALL_MALLOC], 1);
  equal (result->lower_bound, 256 + 9216);
  equal (result->internal_mean, (0 * 10 + 24 * 10 + 0 * 10) * 3 / 90);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

static void
test_map (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 200), TEST_FREE (1), TEST_ALLOC (3, 250), TEST_FREE (2) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  job.keep_map = TRUE;
  result = test_job_run (&job);
  equal (result->peak_reserved_seq, 3);
  equal (result->map->len, 2);
  equal (g_array_index (result->map, GememMapSpan, 0).requested, 200);
  equal (g_array_index (result->map, GememMapSpan, 1).requested, 250);
  equal (g_array_index (result->map, GememMapSpan, 1).span.size, 250);
  equal (result->events, 5); /* the second pass leaves no other trace */
  equal (result->end_live, 250);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* ---- partial runs, broken allocators */

static void
test_interrupted (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 100), TEST_ALLOC (3, 100), TEST_FREE (1) };
  gint interrupted = 0;
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  trace.batch = 2;
  trace.interrupt = &interrupted;
  trace.interrupt_at = 2;
  job.interrupted = &interrupted;
  result = test_job_run (&job);
  g_assert_true (result->partial);
  g_assert_cmpstr (result->failure, ==, "interrupted before event 2");
  equal (result->events, 2);
  equal (result->peak_live, 200);
  equal (result->leaked_blocks, 2);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

static void
test_damaged (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 100), TEST_ALLOC (3, 100) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  g_autoptr (GError) error = NULL;
  GememResult *result;

  trace.fail_at = 2;
  result = gemem_job_run (&job, &error);
  g_assert_null (result);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  job.allow_partial = TRUE;
  result = test_job_run (&job);
  g_assert_true (result->partial);
  g_assert_cmpstr (result->failure, ==, "array:event 2: damaged; repair it");
  equal (result->peak_live, 200);
  gemem_result_free (result);
  trace.fail_at = 0;
  trace.flags = GEMEM_TRACE_TRUNCATED; /* the reader was told, and says that the end is missing */
  result = test_job_run (&job);
  g_assert_true (result->partial);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

static void
check_caught (const SlotsFaults *faults, const char *pattern)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 3840) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  g_autoptr (GError) error = NULL;

  slots_faults = *faults;
  g_assert_null (gemem_job_run (&job, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT);
  g_test_message ("%s", error->message);
  g_assert_true (g_pattern_match_simple (pattern, error->message));
  gemem_allocator_spec_free (spec);
}

static void
test_full_checks (void)
{
  check_caught (&(SlotsFaults){ .hide_last = TRUE }, "array:event 1: *walk does not report the live block of id 2 at 0x*");
  check_caught (&(SlotsFaults){ .overlap = TRUE }, "array:event 0: *walk adds up to 8192 bytes, the device holds 4096*");
  check_caught (&(SlotsFaults){ .bad_check = TRUE }, "array:event 0: *slots: told to fail");
  check_caught (&(SlotsFaults){ .keep = TRUE }, "allocator slots: 4096 bytes were not returned to the device at the end*");
}

/* ---- many jobs */

#define JOBS 20
#define BAD_JOB 13

static void
run_jobs (const GememJob *jobs, guint threads)
{
  GememResult *results[JOBS];
  GError *errors[JOBS];

  gemem_jobs_run (jobs, JOBS, threads, results, errors);
  for (guint i = 0; i < JOBS; i++)
    if (i == BAD_JOB)
      {
        g_assert_null (results[i]);
        g_assert_error (errors[i], GEMEM_ERROR, GEMEM_ERROR_USAGE);
        g_clear_error (&errors[i]);
      }
    else
      {
        g_assert_no_error (errors[i]);
        equal (results[i]->capacity, 360 + 10 * i);
        equal (results[i]->ooms, 360 + 10 * i < 450 ? 1 : 0); /* 200 and 250 do not fit */
        gemem_result_free (results[i]);
      }
}

static void
test_jobs (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 200), TEST_FREE (1), TEST_ALLOC (3, 250), TEST_FREE (2) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  g_autoptr (GPtrArray) devices = g_ptr_array_new_with_free_func (g_free);
  GememJob jobs[JOBS];

  for (guint i = 0; i < JOBS; i++)
    {
      g_ptr_array_add (devices, i == BAD_JOB ? g_strdup ("sim:colour=red") : g_strdup_printf ("sim:capacity=%u", 360 + 10 * i));
      jobs[i] = test_job (spec, &trace);
      jobs[i].device_spec = devices->pdata[i];
    }
  run_jobs (jobs, 0);
  run_jobs (jobs, 1);
  run_jobs (jobs, 8);
  run_jobs (jobs, 100);
  gemem_allocator_spec_free (spec);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/direct", test_direct);
  g_test_add_func ("/engine/waste", test_waste);
  g_test_add_func ("/engine/time-weighted", test_time_weighted);
  g_test_add_func ("/engine/time-of-no-length", test_time_of_no_length);
  g_test_add_func ("/engine/streams", test_streams);
  g_test_add_func ("/engine/many-streams", test_many_streams);
  g_test_add_func ("/engine/transient", test_transient);
  g_test_add_func ("/engine/oom/avoidable", test_oom_avoidable);
  g_test_add_func ("/engine/oom/both-neighbours", test_oom_both_neighbours);
  g_test_add_func ("/engine/oom/true", test_oom_true);
  g_test_add_func ("/engine/oom/last-in-segment", test_oom_last_in_segment);
  g_test_add_func ("/engine/oom/kept", test_oom_kept);
  g_test_add_func ("/engine/completion", test_completion);
  g_test_add_func ("/engine/other-events", test_other_events);
  g_test_add_func ("/engine/graphs-as-blocks", test_graphs_as_blocks);
  g_test_add_func ("/engine/inconsistent", test_inconsistent);
  g_test_add_func ("/engine/enormous", test_enormous);
  g_test_add_func ("/engine/devices", test_devices);
  g_test_add_func ("/engine/adopt", test_adopt);
  g_test_add_func ("/engine/segments", test_segments);
  g_test_add_func ("/engine/device-settings", test_device_settings);
  g_test_add_func ("/engine/latency", test_latency);
  g_test_add_func ("/engine/epochs", test_epochs);
  g_test_add_func ("/engine/map", test_map);
  g_test_add_func ("/engine/interrupted", test_interrupted);
  g_test_add_func ("/engine/damaged", test_damaged);
  g_test_add_func ("/engine/full-checks", test_full_checks);
  g_test_add_func ("/engine/jobs", test_jobs);
  return g_test_run ();
}
