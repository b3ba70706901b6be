/* test-engine.c - short traces through `direct` and through sixteen slots of 256 bytes: every
 * measure, computed by hand. */
#include "config.h"

#include "tests/util/engine-job.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

static void
test_direct (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100), TEST_ALLOC (2, 200), TEST_FREE (1),
    TEST_ALLOC (3, 50),  TEST_FREE (2),       TEST_FREE (3)
  };
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
  /*                     live allocated reserved */
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100), /* 100    256  4096 */
    TEST_ALLOC (2, 257), /* 357    768  4096 */
    TEST_ALLOC (3, 700), /* 1057  1536  4096 */
    TEST_FREE (2),       /* 800   1024  4096 */
    TEST_ALLOC (4, 1),   /* 801   1280  4096 */
  };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);
  static const GememSizeClassUse classes[] = {
    { 1, 1, 0, 0 }, { 128, 1, 156, 100 }, { 512, 1, 255, 257 }, { 1024, 1, 68, 700 }
  };

  equal (result->peak_live, 1057);
  equal (result->peak_live_seq, 2);
  equal (result->peak_allocated, 1536);
  equal (result->peak_allocated_seq, 2);
  equal (result->peak_reserved, 4096);
  equal (result->peak_reserved_seq, 0);
  equal (result->lower_bound, 1536);
  equal (result->allocated_at_live_peak, 1536);
  equal (result->reserved_at_live_peak, 4096);
  equal (result->largest_free_at_live_peak, 2560);
  equal (gemem_result_internal_waste (result), 1536 - 1057);
  equal (gemem_result_external_waste (result), 4096 - 1536);
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

/* Waste is measured where live memory is largest: all of a segment that is there before any block
 * is no waste of the program's, and what happens after the peak does not count. */
static void
test_live_peak (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 256), TEST_ALLOC (2, 1024), TEST_ALLOC (3, 512),
    TEST_FREE (2),       TEST_ALLOC (4, 1024), /* as much live as at the first peak */
    TEST_FREE (1),       TEST_FREE (3),        TEST_FREE (4),
  };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  job.timeline_points = 100;
  result = test_job_run (&job);
  equal (result->peak_reserved_seq, 0);
  equal (result->peak_live_seq, 2);
  equal (result->allocated_at_live_peak, 1792);
  equal (result->reserved_at_live_peak, 4096);
  equal (result->largest_free_at_live_peak, 4096 - 1792);
  g_assert_cmpfloat (gemem_result_fragmentation (result), ==, 0.0);
  g_assert_true (gemem_result_is_complete (result));
  /* free slots after each event: in one piece but for the hole that event 3 leaves until event 4
   * fills it, and for what events 5 and 6 free */
  g_assert_cmpfloat (gemem_result_mean_fragmentation (result), >, 0.0);
  g_assert_cmpfloat (gemem_result_mean_fragmentation (result), <, 0.5);
  gemem_result_free (result);

  job.repeat = 2; /* the peak of the first epoch, taken before its blocks are freed */
  trace.n = 3;
  result = test_job_run (&job);
  equal (result->peak_live_seq, 2);
  equal (result->allocated_at_live_peak, 1792);
  equal (result->largest_free_at_live_peak, 4096 - 1792);
  gemem_result_free (result);

  job.repeat = 1;
  job.warm_up = 1; /* the peak of the warm-up is forgotten */
  result = test_job_run (&job);
  equal (result->peak_live, 1792);
  equal (result->allocated_at_live_peak, 1792);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

static void
test_time_weighted (void)
{
  /* internal 156 for 10 ns, 311 for 20 ns, 155 for 70 ns; external 3840, 3584, 3840 */
  static const GememTraceEvent events[] = { TEST_ALLOC_AT (0, 1, 100), TEST_ALLOC_AT (10, 2, 101),
                                            TEST_FREE_AT (30, 1), TEST_FREE_AT (100, 2) };
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
  static const GememTraceEvent later[] = { TEST_ALLOC_AT (5, 1, 100) },
                               now[] = { TEST_ALLOC_AT (0, 1, 100) };
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
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 100, .stream = 7 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 300, .stream = 3 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 10, .stream = 7 },
    TEST_FREE (1),
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
    events[i] = (GememTraceEvent){
      .kind = GEMEM_EVENT_ALLOC, .id = i + 1, .size = 1, .stream = i + 1
    };
  job.full_checks = FALSE;
  GememResult *result = test_job_run (&job);
  equal (result->streams->len, GEMEM_STREAMS_MAX); /* stream 0 has an entry, but no block */
  const GememStreamUse *others = &g_array_index (result->streams, GememStreamUse,
                                                 result->streams->len - 1);
  equal (others->stream, G_MAXUINT64);
  equal (others->allocs, n - (GEMEM_STREAMS_MAX - 1));
  equal (others->peak_live, n - (GEMEM_STREAMS_MAX - 1));
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* Memory held only while a request is served counts for the peak. */
static void
test_transient (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_FREE (1),
                                            TEST_ALLOC (2, 100) };
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
  equal (result->peak_reserved_seq, 2); /* at the first peak the segment is held as well */
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/direct", test_direct);
  g_test_add_func ("/engine/waste", test_waste);
  g_test_add_func ("/engine/live-peak", test_live_peak);
  g_test_add_func ("/engine/time-weighted", test_time_weighted);
  g_test_add_func ("/engine/time-of-no-length", test_time_of_no_length);
  g_test_add_func ("/engine/streams", test_streams);
  g_test_add_func ("/engine/many-streams", test_many_streams);
  g_test_add_func ("/engine/transient", test_transient);
  return g_test_run ();
}
