/* shrink.h - makes a failing list of operations as small as possible, and writes it to a file that
 * can be replayed.
 *
 * Delta debugging: chunks of operations are removed, halves first and single ones last, as long as
 * the list still fails; then ids are renumbered without gaps, and streams and sizes are lowered.
 * Cost: O(n^2) trials at worst, usually about n log n.
 */
#pragma once

#include "tests/util/trial.h"

/* TRUE if the list still fails. */
typedef gboolean (*TestFails) (const TestOp *ops, gsize n, gpointer data);

/* @ops must fail; it is made smaller in place.  Returns the number of trials made. */
guint test_shrink (GArray *ops, TestFails fails, gpointer data);

/* Runs the list. If it fails, shrinks it, reports the problem, the seed, the smallest list and
 * how to replay it with g_test_message(), calls g_test_fail(), and returns FALSE. */
gboolean test_subject_try (const TestSubject *subject, const GArray *ops, guint64 seed);

/* The list as a file for `gemem-sim replay`: format "ops" if that can express it, else the text
 * twin. */
char *test_ops_text (const TestSubject *subject, const GArray *ops);
