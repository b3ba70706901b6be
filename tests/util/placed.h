/* placed.h - holds a placement of boxes to what every placement must be. */
#pragma once

#include "planners/optimal/parts.h"

/* Fails unless the boxes of @part share no bytes, have offsets that are multiples of their units, and the top that it says.
 * O(n^2). */
void test_assert_placed (const GememPart *part);
