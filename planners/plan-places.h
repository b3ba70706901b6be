/* plan-places.h - from a plan to an address for each allocation of a trace, which the `plan`
 * allocator replays.
 *
 * A plan of a graph knows items; the trace lowered from the graph names its allocations by them
 * (workloads/lowering.h: id = item + 1).  Each allocation has the address of its item.  The spaces
 * of the plan (memory types) follow one another in one arena.  Allocations that the plan does not
 * place (variables, constants, buffers that a lowering adds) lie behind it, each id at its own
 * offset.  A plan of the trace's lifetimes is used unchanged.
 *
 * Invariants: every result passed gemem_plan_check() against the lifetimes of the trace and, for a
 * plan of the graph, against the rules of the graph.  So a plan is never replayed if it reuses
 * bytes that the trace still needs (the lowering keeps tensors longer than the planner assumes, or
 * the planner shares memory that the lowering does not).
 * Memory: linear in the allocations.
 */
#pragma once

#include "planners/planner.h"

/* The plan of the lifetimes in @input, in one space.  @plan is of the graph in @input, or of the
 * lifetimes if there is no graph; it is freed.  Errors: GEMEM_ERROR_INPUT with the violation and
 * advice.  O(n log n). */
GememPlan *gemem_plan_places (GememPlan *plan, const GememPlanInput *input, GError **error);
