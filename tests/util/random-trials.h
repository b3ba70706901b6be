/* random-trials.h - runs random sequences up to a number of operations, for test-random-sequences.c
 * and long-random-sequences.c.
 *
 * GEMEM_SEED=N starts with seed N instead of 1, to reach sequences that were never run.
 */
#pragma once

#include "tests/util/trial.h"

/* Sequences of @length operations, @total in all, on devices with ample and with little memory,
 * checked by the oracle alone. */
gboolean test_random_oracle (const GememAllocatorClass *klass, const char *settings, guint64 total,
                             guint length);
/* The same, with every decision compared to the model's. */
gboolean test_random_model (const NaiveClass *naive, guint64 total, guint length);
