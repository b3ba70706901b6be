/* choices.h - what the program that made a recording could have chosen: the rows of `compare` for which
 * nobody asked by name.
 *
 * Why: who brings a recording of PyTorch can set PyTorch's allocator; rows of other systems are knowledge
 * (--zoo), no choice.
 *
 * Invariant: a setting is a choice only if it needs less than what the program has now, or serves more.
 */
#pragma once

#include "allocators/allocator.h"
#include "sim/engine/result.h"
#include "traces/trace.h"

/* Appends to @specs the allocator @recorder with the settings that made the recording, then each setting
 * that its system's users can write (sim/search/candidates.h).  @elsewhere: and behind the first the same with
 * segments where the driver puts them, as all others are replayed, if @info has the recorded ones.  FALSE: its
 * settings cannot be written, so that there is nothing to choose. */
gboolean gemem_choices_append (GPtrArray *specs, const char *recorder, const GememTraceInfo *info,
                               gboolean elsewhere);

/* Whether @label is that of the row of segments elsewhere. */
gboolean gemem_choices_is_elsewhere (const char *label);

/* Removes from @rows, and from @results, which holds a part of them, what is no choice: the runs but the
 * first of each trace and device that need as much as that one, there or elsewhere, and serve no more; and
 * those elsewhere.  Not @complete: only these, as others were interrupted.  Returns how many settings.  O(n^2). */
guint gemem_choices_keep (GPtrArray *rows, GPtrArray *results, gboolean complete);
