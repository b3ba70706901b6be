/* pack.h - level 2: blocks inside blocks (ge-static.md 4.1). */
#pragma once

#include "planners/ge/state.h"

/* Packs the blocks of @assigner after level 1. */
void gemem_ge_pack (GeAssigner *assigner);
