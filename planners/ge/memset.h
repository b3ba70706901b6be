/* memset.h - lines of the log besides offsets (ge-static.md 6.4, 7.3, 11.2). */
#pragma once

#include "planners/ge/state.h"

/* In GE's format; the plan must have its items and segments. */
void ge_log_variables (const GeModel *model, GememPlan *plan);     /* 7.3 */
void ge_log_memsets (const GeAssigner *assigner, GememPlan *plan); /* 6.4 */
