/* naive-ge-pack.h - level 2 of the GE planner without shortcuts. */
#pragma once

#include "planners/ge/state.h"

/* Packs the blocks of @assigner after level 1, as ge_pack() does. */
void test_naive_ge_pack (GeAssigner *assigner);
