/* engine-job.c - see engine-job.h. */
#include "config.h"

#include "tests/util/engine-job.h"

GememAllocatorSpec *
test_spec (const GememAllocatorClass *klass)
{
  GememAllocatorSpec *spec = g_new0 (GememAllocatorSpec, 1);
  spec->klass = klass;
  spec->label = g_strdup (klass->name);
  spec->settings = g_ptr_array_new ();
  spec->device = g_ptr_array_new ();
  return spec;
}

const GememAllocatorClass *
test_direct_class (void)
{
  const GememAllocatorClass *klass = gemem_allocator_find ("direct", NULL);
  g_assert_nonnull (klass);
  return klass;
}

GememJob
test_job (const GememAllocatorSpec *spec, TestTrace *trace)
{
  GememJob job = { .allocator = spec,
                   .device_spec = "sim:capacity=4096",
                   .device_ordinal = -1,
                   .source = test_trace_open,
                   .source_data = trace,
                   .full_checks = TRUE };
  slots_reset ();
  return job;
}

GememResult *
test_job_run (const GememJob *job)
{
  g_autoptr (GError) error = NULL;
  GememResult *result = gemem_job_run (job, &error);
  g_assert_no_error (error);
  g_assert_nonnull (result);
  return result;
}

GememResult *
test_run (const GememAllocatorClass *klass, TestTrace *trace)
{
  GememAllocatorSpec *spec = test_spec (klass);
  GememJob job = test_job (spec, trace);
  GememResult *result = test_job_run (&job);
  gemem_allocator_spec_free (spec);
  return result;
}
