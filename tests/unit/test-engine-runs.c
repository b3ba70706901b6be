/* test-engine-runs.c - the surroundings of a run: recorded state, settings, latency, epochs, the
 * map, interruption, full checks, many jobs at once. */
#include "config.h"

#include "tests/util/engine-job.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

/* ---- recorded state and decisions */

#define SEGMENT G_GUINT64_CONSTANT (0x7f0000000000)

static void
test_adopt (void)
{
  static const GememTraceEvent recorded[] = {
    { .kind = GEMEM_EVENT_SEGMENT_ALLOC,
      .address = SEGMENT,
      .size = 4096,
      .flags = GEMEM_EVENT_INITIAL },
    { .kind = GEMEM_EVENT_ALLOC,
      .id = 1,
      .size = 300,
      .aux = 512,
      .address = SEGMENT + 256,
      .flags = GEMEM_EVENT_INITIAL },
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 100, .aux = 256, .address = SEGMENT },
    /* it will be at + 768 */
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 100, .aux = 256, .address = SEGMENT + 512 },
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
  g_assert_cmpstr (slots_log->str, ==,
                   "adopt-segment;adopt-block;adopt-done;alloc 100;alloc 100;alloc 4000;free;");
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

/* Where no segment is known, blocks live at the start are requested like any others. */
static void
test_adopt_without_segments (void)
{
  static const GememTraceEvent recorded[] = {
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 300, .aux = 512, .flags = GEMEM_EVENT_INITIAL },
    { .kind = GEMEM_EVENT_SEGMENT_ALLOC, .size = 4096 }, /* a total has a size only */
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 100 },
    TEST_FREE (1),
  };
  TestTrace trace = TEST_TRACE (recorded);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  trace.flags = GEMEM_TRACE_HAS_ADDRESSES;
  trace.allocator = "slots";
  trace.device = "address=recorded";
  result = test_job_run (&job);
  g_assert_cmpstr (slots_log->str, ==, "alloc 300;adopt-done;alloc 100;free;");
  equal (result->peak_live, 400);
  equal (result->fidelity.segments_compared, 0);
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
    { .kind = GEMEM_EVENT_SEGMENT_FREE, .address = SEGMENT + 4096, .size = 61 }, /* a false entry */
    /* without a partner */
    { .kind = GEMEM_EVENT_SEGMENT_FREE, .address = SEGMENT + 8192, .size = 1 },
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

/* The first decisions that a recording has may come late; only the first epoch is compared. */
static void
test_late_decisions (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 100),
    TEST_FREE (1),
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 100, .address = SEGMENT },
    TEST_FREE (2),
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 100, .flags = GEMEM_EVENT_FAILED },
    TEST_FREE (3),
  };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  trace.allocator = "direct";
  trace.batch = 2;
  job.repeat = 2;
  result = test_job_run (&job);
  equal (result->fidelity.compared, 1);
  equal (result->fidelity.equal, 0);
  equal (result->fidelity.first_difference, 2);
  equal (result->fidelity.expected_address, SEGMENT);
  equal (result->fidelity.parted,
         4); /* served on this device alone, which is one that was chosen */
  gemem_result_free (result);

  trace.n = 2;
  result = test_job_run (&job);
  equal (result->fidelity.compared, 0);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

static void
test_device_settings (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100) };
  TestTrace trace = TEST_TRACE (events);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememResult *result;
  GememJob job;

  g_assert_true (gemem_allocator_spec_parse ("direct", specs, NULL));
  g_assert_true (gemem_allocator_spec_parse ("direct:capacity=3000B", specs, NULL));
  trace.device = "capacity=1000,shoe_size=44"; /* no device has the setting shoe_size */
  job = test_job (specs->pdata[0], &trace);
  job.device_spec = NULL;
  result = test_job_run (&job);
  equal (result->capacity, 1000);
  gemem_result_free (result);
  job.device_spec = "sim:capacity=2000B";
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
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 200), TEST_FREE (1),
                                            TEST_FREE (2) };
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
  g_assert_cmpuint (result->free_ns.min, >, 0); /* a hit costs time, too */
  equal (result->free_ns.min, result->free_ns.max);
  equal (result->alloc_ns.min, result->free_ns.min);
  equal (result->alloc_ns.max, result->alloc_ns.min + calls);
  equal (result->modelled_total_ns, result->alloc_ns.sum + result->free_ns.sum);
  equal (result->measured_alloc_ns.count, 2);
  equal (result->measured_alloc_ns.sum, 40); /* the nested call reads the clock twice more */
  equal (result->measured_free_ns.sum, 20);
  equal (result->measured_total_ns, 60);
  equal (result->measured_calls[GEMEM_CALL_MALLOC].count, 1);
  equal (result->measured_calls[GEMEM_CALL_MALLOC].sum, 10);
  /* releases at the end are not part of the run */
  equal (result->measured_calls[GEMEM_CALL_FREE].count, 0);
  gemem_result_free (result);
  job.measure = FALSE;
  result = test_job_run (&job);
  equal (result->measured_alloc_ns.count, 0);
  equal (result->measured_total_ns, 0);
  g_assert_null (result->measured_calls);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* ---- epochs, map */

static void
test_epochs (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC_AT (0, 1, 256), TEST_ALLOC_AT (10, 2, 1000),
                                            TEST_FREE_AT (20, 2), TEST_ALLOC_AT (30, 3, 9000) };
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
  equal (result->peak_live_seq, 1); /* the first moment of the peak */
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
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 200), TEST_FREE (1),
                                            TEST_ALLOC (3, 250), TEST_FREE (2) };
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
  equal (result->events, 5); /* the second pass changes no other result */
  equal (result->end_live, 250);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* ---- partial runs, broken allocators */

static void
test_interrupted (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 100),
                                            TEST_ALLOC (3, 100), TEST_FREE (1) };
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
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 100),
                                            TEST_ALLOC (3, 100) };
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
  trace.flags = GEMEM_TRACE_TRUNCATED; /* the reader reports that the end is missing */
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
  check_caught (&(SlotsFaults){ .hide_last = TRUE },
                "array:event 1: *walk does not report the live block of id 2 at 0x*");
  check_caught (&(SlotsFaults){ .overlap = TRUE },
                "array:event 0: *walk adds up to 8192 bytes, the device holds 4096*");
  check_caught (&(SlotsFaults){ .bad_check = TRUE }, "array:event 0: *slots: told to fail");
  check_caught (&(SlotsFaults){ .keep = TRUE },
                "allocator slots: 4096 bytes were not returned to the device at the end*");
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
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 200), TEST_FREE (1),
                                            TEST_ALLOC (3, 250), TEST_FREE (2) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  g_autoptr (GPtrArray) devices = g_ptr_array_new_with_free_func (g_free);
  GememJob jobs[JOBS];

  for (guint i = 0; i < JOBS; i++)
    {
      g_ptr_array_add (devices, i == BAD_JOB ? g_strdup ("sim:colour=red")
                                             : g_strdup_printf ("sim:capacity=%uB", 360 + 10 * i));
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
  g_test_add_func ("/engine/adopt", test_adopt);
  g_test_add_func ("/engine/adopt-without-segments", test_adopt_without_segments);
  g_test_add_func ("/engine/segments", test_segments);
  g_test_add_func ("/engine/late-decisions", test_late_decisions);
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
