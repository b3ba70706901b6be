/* test-capacity.c - the least capacity that suffices, on allocators where it is known. */
#include "config.h"

#include "tests/util/engine-job.h"

static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 5000), TEST_FREE (1),
                                          TEST_ALLOC (3, 250), TEST_FREE (2) };
static const GememTraceEvent small[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 300) };

static GememResult *
find (const GememAllocatorClass *klass, TestTrace *trace, const SlotsFaults *faults)
{
  GememAllocatorSpec *spec = test_spec (klass);
  GememJob job = test_job (spec, trace);
  GememResult *result;

  if (faults != NULL)
    slots_faults = *faults;
  job.find_capacity = TRUE;
  result = test_job_run (&job);
  gemem_allocator_spec_free (spec);
  return result;
}

static void
check (const GememAllocatorClass *klass, TestTrace *trace, const SlotsFaults *faults, guint64 least,
       gboolean monotone)
{
  GememResult *result = find (klass, trace, faults);
  g_assert_cmpuint (result->least_capacity, ==, least);
  g_assert_cmpint (result->capacity_monotone, ==, monotone);
  gemem_result_free (result);
}

static void
test_direct (void)
{
  TestTrace trace = TEST_TRACE (events);
  GememResult *result = find (test_direct_class (), &trace, NULL);

  /* 4096 was the given capacity, with which the run fails */
  g_assert_cmpuint (result->least_capacity, ==, 5250);
  g_assert_cmpuint (result->ooms, ==, 1);
  g_assert_cmpuint (result->capacity, ==, 4096);
  g_assert_true (result->capacity_monotone);
  gemem_result_free (result);
}

static void
test_segment (void)
{
  TestTrace trace = TEST_TRACE (small);
  check (&slots_class, &trace, NULL, 4096, TRUE);
}

/* The least capacity is larger than the peak of the unlimited run. */
static void
test_greedy (void)
{
  TestTrace trace = TEST_TRACE (small);
  const SlotsFaults greedy = { .refuse_to = 12345 };
  check (&slots_class, &trace, &greedy, 12345, TRUE);
}

/* With 2 MiB more than the answer the run fails again. */
static void
test_not_monotone (void)
{
  TestTrace trace = TEST_TRACE (small);
  const SlotsFaults quirk = { .refuse_from = 2 << 20, .refuse_to = 4 << 20 };
  check (&slots_class, &trace, &quirk, 4096, FALSE);
}

static void
test_never (void)
{
  TestTrace trace = TEST_TRACE (small);
  const SlotsFaults stubborn = { .refuse_to = G_MAXUINT64 };
  check (&slots_class, &trace, &stubborn, G_MAXUINT64, FALSE);
}

static void
test_nothing_asked (void)
{
  static const GememTraceEvent nothing[] = { TEST_EVENT (STEP, 1) };
  TestTrace trace = TEST_TRACE (nothing);
  check (test_direct_class (), &trace, NULL, 1, TRUE);
}

static void
test_interrupted (void)
{
  gint interrupted = 0;
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  job.find_capacity = TRUE;
  job.interrupted = &interrupted;
  trace.interrupt = &interrupted;
  trace.interrupt_opening = 5; /* during the search */
  result = test_job_run (&job);
  g_assert_true (result->partial);
  g_assert_cmpuint (result->least_capacity, ==, 0);
  g_assert_cmpuint (trace.opened, ==, 5);
  g_assert_cmpuint (result->events, ==, 5); /* the run itself was complete */
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/capacity/direct", test_direct);
  g_test_add_func ("/capacity/segment", test_segment);
  g_test_add_func ("/capacity/greedy", test_greedy);
  g_test_add_func ("/capacity/not-monotone", test_not_monotone);
  g_test_add_func ("/capacity/never", test_never);
  g_test_add_func ("/capacity/nothing-asked", test_nothing_asked);
  g_test_add_func ("/capacity/interrupted", test_interrupted);
  return g_test_run ();
}
