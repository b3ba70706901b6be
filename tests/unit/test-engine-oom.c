/* test-engine-oom.c - refused requests, through sixteen slots of 256 bytes and through `direct`:
 * which were avoidable, and the blocks in the way; and
 * requests that were refused when they were recorded, which are made again. */
#include "config.h"

#include "base/units.h"
#include "tests/util/engine-job.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))
#define MIB GEMEM_MIB

static void
test_oom_avoidable (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, 1024), TEST_ALLOC (2, 1280), TEST_ALLOC (3, 768), TEST_ALLOC (4, 1024),
    TEST_FREE (1),        TEST_FREE (3), /* free: 1024 before block 2, 768 between it and block 4 */
    TEST_ALLOC (5, 1792), /* block 4 with the 768 before it would do, and is smaller than block 2 */
    TEST_ALLOC (6, 1793), /* only block 2 with both neighbours would suffice */
    TEST_FREE (5),        TEST_FREE (6),
  };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (&slots_class, &trace);

  equal (result->ooms, 2);
  equal (result->ooms_avoidable, 1); /* 2304 + 1793 is one byte more than the capacity */
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
    TEST_ALLOC (1, 1024), TEST_ALLOC (2, 1025), TEST_ALLOC (3, 768),  TEST_ALLOC (4, 1000),
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
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 3000), TEST_ALLOC (2, 1097),
                                            TEST_ALLOC (3, 1096), TEST_FREE (2) };
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

/* Only the device's free memory and a whole segment together would suffice: the last block of
 * that segment is the one in the way. */
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

/* The device could have served it, a limit of the allocator's own is in the way: no block is, unless
 * its segment is as large as the request.  A range of addresses without memory does not count. */
static void
test_oom_own_limit (void)
{
  static const struct
  {
    const char *spec;
    guint64 blocking;
  } cases[] = {
    { "pytorch-caching:memory_limit=64MiB", 0 },
    { "pytorch-expandable:memory_limit=64MiB", 0 },
    { "torch-npu:memory_limit=64MiB", 0 },
    { "gmlake:memory_limit=64MiB", 0 },
    { "tf-bfc:limit=64MiB", 0 },
    { "tf-bfc:limit=112MiB,allow_growth=no", 2 },
    { "ort-bfc:limit=64MiB", 0 },
    { "cupy-pool:limit=64MiB", 0 },
    { "cuda-async:max_size=64MiB", 0 },
    { "rmm-pool:maximum=64MiB", 0 },
    { "rmm-limiting:limit=64MiB", 0 },
  };
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 30 * MIB), TEST_ALLOC (2, 12 * MIB),
                                            TEST_FREE (1), TEST_ALLOC (3, 100 * MIB) };
  TestTrace trace = TEST_TRACE (events);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      GememJob job;
      GememResult *result;
      const GememOom *oom;

      g_assert_true (gemem_allocator_spec_parse (cases[i].spec, specs, NULL));
      job = test_job (specs->pdata[0], &trace);
      job.device_spec = "sim:capacity=1GiB";
      result = test_job_run (&job);
      g_test_message ("%s", cases[i].spec);
      equal (result->ooms, 1);
      oom = &g_array_index (result->oom, GememOom, 0);
      g_assert_true (oom->avoidable);
      g_assert_cmpuint (oom->device_free, >=, oom->requested);
      equal (oom->blocking_id, cases[i].blocking);
      gemem_result_free (result);
    }
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

/* ---- requests that ran out of memory when they were recorded */

#define REFUSED(bytes) \
  { \
    .kind = GEMEM_EVENT_OOM, .size = (bytes) \
  }

/* Served: held for a moment, counted in every peak, and freed. */
static void
test_refused_served (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 1000), REFUSED (2000), TEST_FREE (1),
                                            TEST_ALLOC (2, 10), TEST_ALLOC (3, 20) };
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = test_run (test_direct_class (), &trace);

  equal (result->ooms, 0);
  equal (result->recorded_ooms, 1);
  equal (result->recorded_ooms_served, 1);
  equal (result->recorded_oom_size, 2000);
  equal (result->recorded_oom_seq, 1);
  equal (result->after_recorded_oom, 2);
  equal (result->allocs, 4);
  equal (result->frees, 2);
  equal (result->peak_live, 3000);
  equal (result->peak_live_seq, 1);
  equal (result->peak_allocated, 3000);
  equal (result->peak_reserved, 3000);
  equal (result->allocated_at_live_peak, 3000);
  equal (result->reserved_at_live_peak, 3000);
  equal (result->lower_bound, 3000);
  equal (result->end_live, 30);
  equal (result->leaked_blocks, 2);
  equal (gemem_result_new_ooms (result), 0);
  gemem_result_free (result);
}

static void
test_refused_failed (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 1000), REFUSED (3500), TEST_FREE (1) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  GememResult *result;
  const GememOom *oom;

  job.find_capacity = TRUE;
  result = test_job_run (&job);
  equal (result->ooms, 1);
  equal (result->failed_allocs, 1);
  equal (result->skipped_frees, 0);
  equal (result->recorded_ooms, 1);
  equal (result->recorded_ooms_served, 0);
  equal (gemem_result_new_ooms (result), 0);
  equal (result->lower_bound, 4500);
  equal (result->peak_live, 1000);
  equal (result->least_capacity, 4500); /* no less than the request needs */
  g_assert_false (gemem_result_is_complete (result));
  oom = &g_array_index (result->oom, GememOom, 0);
  equal (oom->seq, 1);
  equal (oom->id, GEMEM_REFUSED_ID);
  equal (oom->requested, 3500);
  equal (oom->live, 1000);
  equal (oom->missing, 404);
  gemem_result_free (result);

  job.find_capacity = FALSE;
  job.stop_at_oom = TRUE;
  result = test_job_run (&job);
  equal (result->events, 2);
  gemem_result_free (result);

  job.stop_at_oom = FALSE;
  job.repeat = 3;
  result = test_job_run (&job);
  equal (result->ooms, 3);
  equal (result->recorded_ooms, 3);
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* The next attempt at the same request is no other request; one after a free of the program, or of
 * another size, is. */
static void
test_refused_again (void)
{
  static const GememTraceEvent again[] = { TEST_ALLOC (1, 1000), REFUSED (3500),
                                           TEST_EVENT (TRIM, 0), TEST_EVENT (SNAPSHOT, 0),
                                           REFUSED (3500),       REFUSED (3500) },
                               other[] = { TEST_ALLOC (1, 1000), REFUSED (3500), REFUSED (3501) },
                               freed[] = { TEST_ALLOC (1, 1000), TEST_ALLOC (2, 10), REFUSED (3500),
                                           TEST_FREE (2), REFUSED (3500) };
  TestTrace traces[] = { TEST_TRACE (again), TEST_TRACE (other), TEST_TRACE (freed) };
  static const guint counted[] = { 1, 2, 2 };

  for (guint i = 0; i < G_N_ELEMENTS (traces); i++)
    for (guint large = 0; large < 2; large++)
      {
        GememAllocatorSpec *spec = test_spec (test_direct_class ());
        GememJob job = test_job (spec, &traces[i]);
        GememResult *result;

        job.device_spec = large ? "sim:capacity=1MiB" : "sim:capacity=4096";
        result = test_job_run (&job);
        equal (result->recorded_ooms, counted[i]);
        equal (result->recorded_ooms_served, large ? counted[i] : 0);
        equal (result->ooms, large ? 0 : counted[i]);
        gemem_result_free (result);
        gemem_allocator_spec_free (spec);
      }
}

/* Logs have such a request as an ALLOC with its FREE; where the size is not known, nothing can be
 * made. */
static void
test_refused_otherwise (void)
{
  static const GememTraceEvent flagged[] = {
    TEST_ALLOC (1, 1000),
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 2000, .flags = GEMEM_EVENT_FAILED },
    { .kind = GEMEM_EVENT_FREE, .id = 2, .flags = GEMEM_EVENT_FAILED },
  };
  static const GememTraceEvent unsized[] = { TEST_ALLOC (1, 1000), REFUSED (0) };
  TestTrace traces[] = { TEST_TRACE (flagged), TEST_TRACE (unsized) };

  for (guint i = 0; i < G_N_ELEMENTS (traces); i++)
    {
      GememResult *result = test_run (test_direct_class (), &traces[i]);

      equal (result->recorded_ooms, 1);
      equal (result->recorded_ooms_served, 1);
      equal (result->after_recorded_oom, 0);
      equal (result->peak_live, i == 0 ? 3000 : 1000);
      equal (result->ooms, 0);
      gemem_result_free (result);
    }
}

/* A plan has a place for it: the arena is as large as the program would have needed. */
static void
test_refused_planned (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 1024), REFUSED (2048), TEST_FREE (1),
                                            TEST_ALLOC (2, 512),  REFUSED (1024), REFUSED (1024) };
  TestTrace trace = TEST_TRACE (events);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememJob job;
  GememResult *result;

  g_assert_true (gemem_allocator_spec_parse ("plan", specs, NULL));
  job = test_job (specs->pdata[0], &trace);
  result = test_job_run (&job);
  equal (result->ooms, 0);
  equal (result->recorded_ooms_served, 2);
  equal (result->calls[GEMEM_CALL_MALLOC],
         1); /* the arena: nothing was asked for beside the plan */
  equal (result->peak_reserved, 3072);
  gemem_result_free (result);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/oom/avoidable", test_oom_avoidable);
  g_test_add_func ("/engine/oom/both-neighbours", test_oom_both_neighbours);
  g_test_add_func ("/engine/oom/true", test_oom_true);
  g_test_add_func ("/engine/oom/last-in-segment", test_oom_last_in_segment);
  g_test_add_func ("/engine/oom/own-limit", test_oom_own_limit);
  g_test_add_func ("/engine/oom/kept", test_oom_kept);
  g_test_add_func ("/engine/refused/served", test_refused_served);
  g_test_add_func ("/engine/refused/failed", test_refused_failed);
  g_test_add_func ("/engine/refused/again", test_refused_again);
  g_test_add_func ("/engine/refused/otherwise", test_refused_otherwise);
  g_test_add_func ("/engine/refused/planned", test_refused_planned);
  return g_test_run ();
}
