/* test-pace.c - the times of events, the work of streams meanwhile, and what is not counted:
 * --pace, --occupy, --warm-up. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "sim/engine/pace.h"
#include "tests/util/engine-job.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

/* ---- the host waits */

static guint64 host_now;

static guint64
host_clock (void)
{
  return host_now;
}

static void
host_wait (guint64 until)
{
  g_assert_cmpuint (until, >, host_now);
  host_now = until;
}

static void
test_pace (void)
{
  GememPace pace = { .clock = host_clock, .wait = host_wait };

  host_now = 5000;
  gemem_pace_keep (&pace, 100); /* the first event sets the time */
  equal (host_now, 5000);
  gemem_pace_keep (&pace, 100);
  gemem_pace_keep (&pace, 400);
  equal (host_now, 5300);
  host_now += 1000; /* the time that the allocator took */
  gemem_pace_keep (&pace, 500);
  gemem_pace_keep (&pace, 1300);
  equal (host_now, 6300);
  gemem_pace_keep (&pace, 1401); /* and the delay is made up */
  equal (host_now, 6301);
  equal (pace.waits, 2);
  equal (pace.late, 900);
}

/* ---- work on streams */

/* Times are in ms, beside which the costs of calls are negligible. */
#define MS G_GUINT64_CONSTANT (1000000)

/* TRUE if @event is complete at @time. */
static gboolean
done_at (GememDevice *device, GememDeviceEvent event, guint64 time)
{
  device->now = time;
  return gemem_device_event_query (device, event);
}

static void
test_work (void)
{
  GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);
  GememWork *work = gemem_work_new (device, NULL);
  GememDeviceEvent event, other;
  guint64 pieces, ns;

  gemem_work_until (work, 1, 50 * MS); /* the time before is unknown */
  g_assert_true (done_at (device, gemem_device_event_record (device, 1), MS));
  gemem_work_until (work, 1, 90 * MS);
  gemem_work_until (work, 2, 90 * MS);
  event = gemem_device_event_record (device, 1);
  other = gemem_device_event_record (device, 2);
  g_assert_true (done_at (device, other, 2 * MS));
  g_assert_false (done_at (device, event, 40 * MS));
  g_assert_true (done_at (device, event, 42 * MS));

  /* too short: added to the next work */
  gemem_work_until (work, 1, 90 * MS + GEMEM_WORK_LEAST_NS - 1);
  gemem_work_counts (work, &pieces, &ns);
  equal (pieces, 1);
  gemem_work_until (work, 1, 92 * MS);
  gemem_work_until_all (work, 100 * MS);
  gemem_work_counts (work, &pieces, &ns);
  equal (pieces, 4);
  equal (ns, (40 + 2 + 8 + 10) * MS);
  gemem_device_stream_sync (device, 1);
  g_assert_cmpuint (device->now, >=, 52 * MS);
  g_assert_cmpuint (device->now, <, 53 * MS);
  gemem_work_free (work);
  gemem_device_destroy (device);
}

static void
test_no_work (void)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new ("null", NULL, 0, NULL);

  g_assert_null (gemem_work_new (device, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  gemem_device_destroy (device);
}

/* ---- runs */

/* A block that two streams used is freed when the event after its free is complete. */
static const GememTraceEvent timed[] = {
  { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 16 << 20, .stream = 1 },
  { .kind = GEMEM_EVENT_USE_ON_STREAM, .id = 1, .stream = 2, .time = 10 * MS },
  { .kind = GEMEM_EVENT_FREE, .id = 1, .time = 20 * MS },
  { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 16 << 20, .stream = 1, .time = 30 * MS },
  { .kind = GEMEM_EVENT_FREE, .id = 2, .time = 40 * MS },
};

static guint64
mallocs (const char *device, GememPaceMode pace, gboolean occupy)
{
  TestTrace trace = TEST_TRACE (timed);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememResult *result;
  guint64 n;

  g_assert_true (gemem_allocator_spec_parse ("pytorch-caching", specs, NULL));
  GememJob job = test_job (specs->pdata[0], &trace);
  trace.flags = GEMEM_TRACE_HAS_TIME;
  job.device_spec = device;
  job.pace = pace;
  job.occupy = occupy;
  result = test_job_run (&job);
  n = result->calls[GEMEM_CALL_MALLOC];
  gemem_result_free (result);
  return n;
}

static void
test_runs (void)
{
  equal (mallocs ("sim:event_latency=5ms", GEMEM_PACE_DEFAULT, FALSE), 1);
  equal (mallocs ("sim:event_latency=5ms", GEMEM_PACE_RECORDED, FALSE), 1);
  /* no time passes: the event is pending */
  equal (mallocs ("sim:event_latency=5ms", GEMEM_PACE_ASAP, FALSE), 2);
  equal (mallocs ("sim", GEMEM_PACE_ASAP, FALSE), 1);
  equal (mallocs ("sim", GEMEM_PACE_ASAP, TRUE), 2); /* work is queued before it */
}

static void
test_no_time (void)
{
  TestTrace trace = TEST_TRACE (timed);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);

  for (guint occupy = 0; occupy < 2; occupy++)
    {
      g_autoptr (GError) error = NULL;
      job.occupy = occupy;
      job.pace = occupy ? GEMEM_PACE_DEFAULT : GEMEM_PACE_RECORDED;
      g_assert_null (gemem_job_run (&job, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      g_assert_nonnull (
          strstr (error->message, occupy ? "--occupy has nothing" : "--pace=recorded has nothing"));
    }
  gemem_allocator_spec_free (spec);
}

/* ---- warm-up */

static GememResult *
warm (const char *allocator, guint warm_up, guint repeat)
{
  TestTrace trace = TEST_TRACE (timed);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememResult *result;

  g_assert_true (gemem_allocator_spec_parse (allocator, specs, NULL));
  GememJob job = test_job (specs->pdata[0], &trace);
  trace.flags = GEMEM_TRACE_HAS_TIME;
  job.device_spec = "sim";
  job.warm_up = warm_up;
  job.repeat = repeat;
  job.timeline_points = 100;
  job.measure = TRUE;
  job.clock = host_clock;
  result = test_job_run (&job);
  return result;
}

/* An allocator without a cache does the same in every round. */
static void
test_warm_up (void)
{
  GememResult *plain = warm ("direct", 0, 2), *warmed = warm ("direct", 3, 2);

  equal (warmed->events, 10);
  equal (warmed->events, plain->events);
  equal (warmed->allocs, plain->allocs);
  equal (warmed->frees, plain->frees);
  equal (warmed->peak_reserved, plain->peak_reserved);
  equal (warmed->peak_live, plain->peak_live);
  equal (warmed->lower_bound, plain->lower_bound);
  equal (warmed->internal_mean, plain->internal_mean);
  equal (warmed->peak_reserved_seq, plain->peak_reserved_seq + 15);
  equal (warmed->modelled_total_ns, plain->modelled_total_ns);
  equal (warmed->alloc_ns.count, plain->alloc_ns.count);
  equal (warmed->measured_alloc_ns.count, 4);
  equal (warmed->measured_calls[GEMEM_CALL_MALLOC].count, 4);
  equal (warmed->epochs->len, 2);
  equal (warmed->timeline->len, plain->timeline->len);
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      equal (warmed->calls[call], plain->calls[call]);
      equal (warmed->call_ns[call], plain->call_ns[call]);
    }
  equal (warmed->classes->len, plain->classes->len);
  equal (g_array_index (warmed->streams, GememStreamUse, 0).allocs,
         g_array_index (plain->streams, GememStreamUse, 0).allocs);
  gemem_result_free (plain);
  gemem_result_free (warmed);
}

/* An allocator with a cache has all memory it needs after the warm-up. */
static void
test_warm_cache (void)
{
  GememResult *cold = warm ("pytorch-caching", 0, 1), *warmed = warm ("pytorch-caching", 1, 1);

  equal (cold->calls[GEMEM_CALL_MALLOC], 1);
  equal (warmed->calls[GEMEM_CALL_MALLOC], 0);
  equal (warmed->peak_reserved, cold->peak_reserved);
  equal (warmed->modelled_total_ns, warmed->alloc_ns.sum + warmed->free_ns.sum);
  gemem_result_free (cold);
  gemem_result_free (warmed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pace/host-waits", test_pace);
  g_test_add_func ("/pace/work", test_work);
  g_test_add_func ("/pace/no-work", test_no_work);
  g_test_add_func ("/pace/runs", test_runs);
  g_test_add_func ("/pace/no-time", test_no_time);
  g_test_add_func ("/pace/warm-up", test_warm_up);
  g_test_add_func ("/pace/warm-cache", test_warm_cache);
  return g_test_run ();
}
