/* lowering-trials.h - the lowering `paddle` with random settings on random graphs, under all checks
 * of lowering-check.h.
 *
 * Settings come from its parameter table: a preset and an executor, then others; a setting that is
 * refused for having no effect is left out. Used short in test-lowering-random.c and long in
 * long-lowering.c.
 */
#pragma once

#include <glib.h>

/* Draws graphs and settings from @seed and checks them. */
void test_lowering_trial (guint64 seed);
