/* above-least.h - what an allocator holds at its peak above the best placement (compare --optimal), by
 * who keeps it there.
 *
 * Why: "12.7 % more than the least" is no advice; the line of which 44 blocks keep 112 MiB of segments is.
 *
 * Invariants: the bytes of the rows add up to what was reserved at the peak minus what the best placement
 * reserves, exactly.  At that moment the best placement has idle bytes, too: what it needs at another one.
 * So many are taken off what is idle here, first of what goes back by itself, last of what blocks keep and
 * of rounding: what is left of these is to blame, however the rest is counted.
 * Cost: O(rows log rows).
 */
#pragma once

#include "sim/engine/result.h"

/* Appends "404.0 MiB of the peak of LABEL are above the best placement: " and the largest causes, with the
 * place that keeps most.  FALSE: there is nothing, or the allocator tells nothing of most of it. */
gboolean gemem_above_append_sentence (GString *out, const GememResult *result);
/* Appends a line for each of the largest rows, below one for the sum, or nothing. */
void gemem_above_append (GString *out, const GememResult *result);
/* Appends the member "above_least", or nothing. */
void gemem_above_append_json (GString *out, const GememResult *result);
