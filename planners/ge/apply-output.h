/* apply-output.h - the block of an output (ge-static.md 2.4). */
#pragma once

#include "planners/ge/state.h"

/* NULL: the output has none and is placed at 0 for now. */
GeBlock *ge_apply_output (GeAssigner *assigner, GeRequest *request);
