/* kinds.h - the kind of each node (ge-static.md 1.1, 2.2, 5, 6.1, 7.4). */
#pragma once

#include "planners/ge/model.h"

/* Fills nodes[].kind (without GE_DIFF_PRIOR and GE_MERGE_TAINTED), nodes[].label, labels,
 * last_memset and the IO-reuse flags. */
void gemem_ge_model_fill_kinds (GeModel *model);
