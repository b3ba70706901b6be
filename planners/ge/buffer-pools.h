/* buffer-pools.h - pools whose layout the graph specifies (ge-static.md 7.7). */
#pragma once

#include "planners/ge/state.h"

/* Places the pools and all outputs in them behind the feature map. */
void gemem_ge_buffer_pools_place (GeAssigner *assigner);
