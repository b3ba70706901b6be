/* apply-output.h - the block of an output (ge-static.md 2.4). */
#pragma once

#include "planners/ge/state.h"

/* The block of the output of @request.  NULL: it has no block and lies at 0 for now. */
GeBlock *gemem_ge_apply_output (GeAssigner *assigner, GeRequest *request);
