/* assigner.h - one GE assigner, from its start to its score (ge-static.md 2.3). */
#pragma once

#include "planners/ge/state.h"

GeAssigner *gemem_ge_assigner_new (const GeModel *model, const GeStrategy *strategy);
void gemem_ge_assigner_free (GeAssigner *assigner);
/* Level 1: assigns a block to every output and workspace. */
void gemem_ge_assigner_walk (GeAssigner *assigner);
/* Level 1, level 2 (4.1) and placement (4.2), up to the score. */
void gemem_ge_assigner_run (GeAssigner *assigner);
