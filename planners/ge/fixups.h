/* fixups.h - offsets that follow other offsets (ge-static.md 5.6). */
#pragma once

#include "planners/ge/state.h"

/* Runs after all other placement. */
void gemem_ge_fix_offsets (GeAssigner *assigner);
