/* shrink.h - makes a failing list of operations as small as it gets, and writes it down so that it
 * can be replayed.
 *
 * Delta debugging: chunks of operations are removed, halves first and single ones last, as long as
 * the list still fails; then ids are closed up, and streams and sizes are brought down.  Cost:
 * O(n^2) trials at worst, about n log n as a rule.
 */
#pragma once

#include "tests/util/trial.h"

/* TRUE if the list still fails. */
typedef gboolean (*TestFails) (const TestOp *ops, gsize n, gpointer data);

/* @ops must fail; it is made smaller in place.  Returns the number of trials made. */
guint test_shrink (GArray *ops, TestFails fails, gpointer data);

/* Runs the list, shrinks it if it fails and says so with g_test_message() and g_test_fail(): the
 * problem, the seed, the smallest list, and how to replay it.  FALSE if it failed. */
gboolean test_subject_try (const TestSubject *subject, const GArray *ops, guint64 seed);

/* The list as a file for `gemem-sim replay`: format "ops" if that can say it, else the text
 * twin. */
char *test_ops_text (const TestSubject *subject, const GArray *ops);
