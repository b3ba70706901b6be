/* segments.h - the segments of a plan, which the run time may map one by one (ge-static.md 8.1). */
#pragma once

#include "planners/ge/state.h"

/* Adds the segments to @plan.  @feature_map, @cleared: the HBM counter after 4.2 and before the
 * zero-copy tail. */
void gemem_ge_segments (const GeAssigner *assigner, GememPlan *plan, guint64 feature_map,
                        guint64 cleared);
