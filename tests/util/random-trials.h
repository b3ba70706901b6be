/* random-trials.h - random sequences by the number of operations, as test-random-sequences.c and
 * long-random-sequences.c want them.
 *
 * GEMEM_SEED=N starts with another seed than 1, to look where nobody looked before.
 */
#pragma once

#include "tests/util/trial.h"

/* Sequences of @length operations, @total in all, on devices with space and without: against the
 * oracle alone. */
gboolean test_random_oracle (const GememAllocatorClass *klass, const char *settings, guint64 total,
                             guint length);
/* The same with every decision compared to the model's. */
gboolean test_random_model (const NaiveClass *naive, guint64 total, guint length);
