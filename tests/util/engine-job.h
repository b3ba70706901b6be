/* engine-job.h - jobs over hand-made traces, for the tests of the engine. */
#pragma once

#include "tests/util/event-source.h"
#include "tests/util/slots.h"

/* A spec of @klass without settings; gemem_allocator_spec_free(). */
GememAllocatorSpec *test_spec (const GememAllocatorClass *klass);

/* The class `direct`. */
const GememAllocatorClass *test_direct_class (void);

/* A job of @spec over @trace with full checks on 4096 bytes of a device without costs; resets the
 * slots. */
GememJob test_job (const GememAllocatorSpec *spec, TestTrace *trace);

/* Runs @job; an error fails the test. */
GememResult *test_job_run (const GememJob *job);

/* The same for @klass over @trace with test_job(). */
GememResult *test_run (const GememAllocatorClass *klass, TestTrace *trace);
