/* plan-places.h - from a plan to an address for each allocation of a trace: what the `plan`
 * allocator replays.
 *
 * A plan of a graph knows items; the trace lowered from the graph names its allocations by them
 * (workloads/lowering.h: id = item + 1).  Each allocation lies where its item lies; the spaces of
 * the plan (memory types) follow one another in one arena; what the plan does not place (variables,
 * constants, buffers that a lowering adds) lies behind it, each in a place of its own.  A plan of
 * the trace's lifetimes is taken as it is.
 *
 * Invariants: what is returned passed gemem_plan_check() against the lifetimes of the trace, and
 * against the rules of the graph where it was made for one: a plan that reuses bytes which the
 * trace still needs (because its lowering keeps tensors longer than the planner thinks, or the
 * planner shares memory that the lowering does not) is never replayed.  Memory linear in the
 * allocations.
 */
#pragma once

#include "planners/planner.h"

/* The plan of the lifetimes in @input, in one space.  @plan is of the graph in @input, or of the
 * lifetimes if there is no graph; it is freed.  Errors: GEMEM_ERROR_INPUT with the violation, and
 * what to do.  O(n log n). */
GememPlan *gemem_plan_places (GememPlan *plan, const GememPlanInput *input, GError **error);
