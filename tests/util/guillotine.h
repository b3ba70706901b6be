/* guillotine.h - instances of planning whose least peak is known: a rectangle of time and memory,
 * cut into boxes from edge to edge at random places, shuffled.
 *
 * The boxes fill the rectangle, so that its height is both the largest load and the least peak; no
 * order of time or size gives the cuts away.  Origin: offline-planning.md 4.
 */
#pragma once

#include "base/lifetimes.h"

/* @n boxes (or as many as the rectangle can be cut into) of a rectangle of @steps x @height; then
 * each is left out with a probability of @left_out percent.  The same for the same @seed. */
GememLifetimes *test_guillotine (guint64 seed, guint n, guint64 steps, guint64 height,
                                 guint left_out);
