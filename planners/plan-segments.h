/* plan-segments.h - the segments of a plan's static memory, which the run time may place one by
 * one. */
#pragma once

#include "base/macros.h"
#include "planners/plan.h"

GEMEM_BEGIN_DECLS

/* GE cuts purely static graphs at every block of 512 bytes or more, static subgraphs of dynamic
 * graphs every 200 MiB (ge-runtime.md 3.2). */
#define GEMEM_PLAN_SPLIT_STATIC G_GUINT64_CONSTANT (512)

/* The device memory of @plan (ordinary memory and HBM) as segments by base, without gaps, from 0 to
 * its total.  Cuts are the planner's segments if it has any, else every base that no item covers.
 * A segment absorbs cuts less than @split bytes after its base; the zero-copy part stays separate.
 * *@elsewhere is set to the bytes of the plan in other memory.  Returns GememPlanSegment; free with
 * g_array_unref().  O(items log items). */
GArray *gemem_plan_segments (const GememPlan *plan, guint64 split, guint64 *elsewhere);

GEMEM_END_DECLS
