/* plan-segments.h - a plan as the run time sees it: the pieces of static memory that it may place
 * one by one. */
#pragma once

#include "base/macros.h"
#include "planners/plan.h"

GEMEM_BEGIN_DECLS

/* GE cuts purely static graphs at every block of 512 bytes or more, static subgraphs of dynamic
 * graphs every 200 MiB (ge-runtime.md 3.2). */
#define GEMEM_PLAN_SPLIT_STATIC G_GUINT64_CONSTANT (512)

/* The device memory of @plan (ordinary memory and HBM) in segments by base, without gaps, from 0 to
 * its total: those of the planner if it has any, else cut where no item lies across.  A segment
 * also covers what begins less than @split bytes behind its begin; the zero-copy part is apart.
 * @elsewhere: gets the bytes of the plan in other memory.  Returns GememPlanSegment; free with
 * g_array_unref().  O(items log items). */
GArray *gemem_plan_segments (const GememPlan *plan, guint64 split, guint64 *elsewhere);

GEMEM_END_DECLS
