/* film.h - what a page shows of one run over time: its timeline, and its history of blocks and segments.
 */
#pragma once

#include "sim/engine/result.h"
#include "sim/page/stacks.h"

/* Appends an object: the points of the timeline, as columns. */
void gemem_film_append_timeline (GString *out, const GememResult *result);
/* Appends an object: "blocks" and "segments", columns, with nodes of @stacks; "texts" of lines; "series",
 * a column for each of @lines, of which the last is the rest. */
void gemem_film_append_history (GString *out, const GememHistory *history, GememPageStacks *stacks);
