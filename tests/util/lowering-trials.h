/* lowering-trials.h - the lowering `paddle` with random settings on random graphs, under all checks
 * of lowering-check.h.
 *
 * Settings come from its parameter table: a preset and an executor, then others; what would have no
 * effect is refused, and left out again. Used short in test-lowering-random.c and long in
 * long-lowering.c.
 */
#pragma once

#include <glib.h>

/* Graphs and settings of one seed. */
void test_lowering_trial (guint64 seed);
