/* padded-outputs.h - one block for outputs that lie side by side (ge-static.md 5.4). */
#pragma once

#include "planners/ge/state.h"

/* A block for outputs that lie side by side, @request->size bytes in all, allocated by the output
 * of @request; never zero-copy. */
GeBlock *ge_continuous_allocate (GeAssigner *assigner, GeRequest *request);
/* The node of @request has padded outputs, and request->continuous is FALSE: allocates them all. */
void ge_continuous_outputs (GeAssigner *assigner, GeRequest *request);
