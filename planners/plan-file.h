/* plan-file.h - plans in files: our JSON, and MiniMalloc's CSV with offsets.
 *
 * JSON: an object with "schema": "gemem-plan", "version": 1, planner, input, arena, lower_bound,
 * alignment, totals {"0x2": bytes}, and optional results of the planner (winner, candidates [[name,
 * total]], feature_map_plus_tail, zero_copy, segments).  Plans of graphs: "outputs" and
 * "workspaces", each {node: [offset or null]}.  Plans of lifetimes: "items" [[id, begin, end, size,
 * offset or null]], and gaps [[begin, end, low, high]] behind where an item has any.  Only the offsets are required, so the `expect` object of vectors/ge-static is
 * such a file.
 * CSV: a table of lifetimes (traces/minimalloc/table.h) with the column `offset`; an id that is not
 * a number counts as the number of its row, from 1.
 *
 * Invariants: a written plan loads to the same offsets and totals; a loaded plan is NOT checked yet
 * (check.h).  A hostile file yields GEMEM_ERROR_INPUT "FILE: field: what; what to do", and memory
 * stays in proportion to file and input.
 * Cost: linear; matching of lifetimes O(n log n).
 */
#pragma once

#include "base/macros.h"
#include "planners/planner.h"

GEMEM_BEGIN_DECLS

/* Appends @plan, made for @input (graph or lifetimes). */
void gemem_plan_write_json (GString *out, const GememPlan *plan, const GememPlanInput *input);
/* A row per lifetime.  For a graph, a row per item, or per group of items that lie together; then
 * `id` is the number of the first. */
void gemem_plan_write_csv (GString *out, const GememPlan *plan, const GememPlanInput *input);

/* Loads the plan at @path ("-": standard input) for @input, with an entry for each of its items.
 * Outputs and workspaces match by the name of the node; lifetimes, in any order, by id (repeated
 * ids: by their order in time) and size.  Items missing in the file have no offset.
 * Errors: GEMEM_ERROR_FAILED (cannot be read), GEMEM_ERROR_INPUT. */
GememPlan *gemem_plan_load (const char *path, const GememPlanInput *input, GError **error);

/* Loads a plan whose file contains its lifetimes: CSV, or JSON with items. */
GememPlan *gemem_plan_load_items (const char *path, GememLifetimes **lifetimes, GError **error);

GEMEM_END_DECLS
