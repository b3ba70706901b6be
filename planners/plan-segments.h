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
 * its total: those of the planner where it says any, else cut wherever no item crosses.  A segment
 * takes in what follows while that begins less than @split bytes from its own begin; the zero-copy
 * part stays by itself.  Free with g_array_unref().  @elsewhere: bytes of the plan in other
 * memory.  O(items log items). */
GArray *gemem_plan_segments (const GememPlan *plan, guint64 split, guint64 *elsewhere);

GEMEM_END_DECLS
