/* batch.h - blocks of different batch labels overlay each other (ge-static.md 4.3). */
#pragma once

#include "planners/ge/state.h"

/* Resizes the labelled blocks and appends virtual parents to B. */
void gemem_ge_batch (GeAssigner *assigner);
