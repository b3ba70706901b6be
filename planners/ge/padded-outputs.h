/* padded-outputs.h - one block for outputs that lie side by side (ge-static.md 5.4). */
#pragma once

#include "planners/ge/state.h"

/* A block of @request->size bytes for all adjacent outputs, allocated by the output of @request;
 * never zero-copy. */
GeBlock *gemem_ge_continuous_allocate (GeAssigner *assigner, GeRequest *request);
/* Allocates all (padded) outputs of the node of @request; request->continuous must be FALSE. */
void gemem_ge_continuous_outputs (GeAssigner *assigner, GeRequest *request);
