/* plan-file.h - plans in files: our JSON, and MiniMalloc's CSV with offsets.
 *
 * JSON: an object with "schema": "gemem-plan", "version": 1, planner, input, arena, lower_bound, alignment, totals {"0x2": bytes}, and what the
 * planner says besides (winner, candidates [[name, total]], feature_map_plus_tail, zero_copy, segments).  Plans of graphs: "outputs" and "workspaces"
 * {node: [offset or null]}, and in the same shape "output_sizes", "workspace_sizes" and, where memory types differ, "output_spaces",
 * "workspace_spaces".  Plans of lifetimes: "items" [[id, begin, end, size, offset or null]].  The `expect` object of vectors/ge-static is
 * such a file as it stands; only offsets are required.
 * CSV: a table of lifetimes (traces/minimalloc-table.h) with a column `offset`; one space.
 *
 * Invariants: what was saved loads to the same offsets, sizes, spaces and totals; what is loaded is NOT checked yet (check.h).  A hostile file gives
 * GEMEM_ERROR_INPUT "FILE:LINE: field: what; what to do", and memory stays in proportion to file and input.
 * Cost: linear; matching of lifetimes O(n log n).
 */
#pragma once

#include "sim/core/macros.h"
#include "allocators/planners/planner.h"

GEMEM_BEGIN_DECLS

/* Appends @plan, made for @input (graph or lifetimes). */
void gemem_plan_write_json (GString *out, const GememPlan *plan, const GememPlanInput *input);
/* A row per lifetime that has an offset; of a graph per item or group of items that lie together, `id` being the number of the first. */
void gemem_plan_write_csv (GString *out, const GememPlan *plan, const GememPlanInput *input);

/* The plan at @path for @input.  Each output and workspace of the graph must be there by the name of its node (nodes without any memory may be
 * left out); each lifetime by its id and begin, with the same end and size, in any order.  From a CSV for a graph: by the numbers of items.
 * Errors: GEMEM_ERROR_FAILED (cannot be read), GEMEM_ERROR_INPUT. */
GememPlan *gemem_plan_load (const char *path, const GememPlanInput *input, GError **error);

/* A plan that brings its lifetimes: CSV, or JSON with items. */
GememPlan *gemem_plan_load_items (const char *path, GememLifetimes **lifetimes, GError **error);

GEMEM_END_DECLS
