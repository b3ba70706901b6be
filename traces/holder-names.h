/* holder-names.h - tells rows apart whose line is the same and whose call stacks differ: by the first
 * frame that differs.
 *
 * Why: two rows "loss.py:31 forward" say nothing; "loss.py:31 forward, called from train.py:12 step" and
 * "..., called from eval.py:4 run" do.
 *
 * Invariant: callers come before what the line called, and lines of the program before others; a row
 * whose stack ends where others go on keeps its name.
 */
#pragma once

#include "traces/holders.h"

/* Extends the names of those of @holders (GememHolder, by stack) that are equal.  O(frames log rows). */
void gemem_holders_tell_apart (const GememTraceInfo *info, const GPtrArray *holders);
