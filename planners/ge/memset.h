/* memset.h - what a plan has besides offsets: ranges that memsets clear, addresses of
 * variables (ge-static.md 6.4, 7.3, 11.2). */
#pragma once

#include "planners/ge/state.h"

/* Bytes of the space of variables and constants, gaps included (7.3).  O(tensors). */
guint64 gemem_ge_variable_bytes (const GeModel *model);

/* Both write lines in GE's format to the plan's log; the plan must have its items and segments. */
void gemem_ge_log_variables (const GeModel *model, GememPlan *plan); /* 7.3 */
/* Adds the plan's memsets too. */
void gemem_ge_add_memsets (const GeAssigner *assigner, GememPlan *plan); /* 6.4 */
