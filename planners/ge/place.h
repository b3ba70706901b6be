/* place.h - sizes and offsets of blocks, and the zero-copy tail (ge-static.md 4.2, 7.2). */
#pragma once

#include "planners/ge/state.h"

void gemem_ge_place (GeAssigner *assigner);           /* 4.2 */
void gemem_ge_place_zero_copy (GeAssigner *assigner); /* 7.2 */
