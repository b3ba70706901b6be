/* rivals.h - other settings beside a run: which of them would have decided all of it alike.
 *
 * Why: a search over settings need not replay what cannot differ.  A run that ends early speaks for all
 * that would have come to the same end.
 *
 * Invariants: a rival that is said to be alike has, replayed by itself up to the same event, the same peaks,
 * device calls and modelled times.  Allocators whose class has no `watch` have no rivals that are alike.
 * After gemem_rivals_new() nothing changes, so runs on several threads share them.
 * Cost: an unused allocator for each.
 */
#pragma once

#include "base/macros.h"
#include "sim/engine/replay.h"

GEMEM_BEGIN_DECLS

typedef struct _GememRivals GememRivals;

/* The @n @specs on the device and for the trace of @job, whose own allocator is ignored; the specs must
 * outlive them.  They are rivals of runs with @capacity bytes; 0: with those of the device.  Interrupted, the rest are
 * rivals of no run.  NULL with the error of the trace; gemem_rivals_free(). */
GememRivals *gemem_rivals_new (const GememJob *job, guint64 capacity,
                               const GememAllocatorSpec *const *specs, guint n, GError **error);
void gemem_rivals_free (GememRivals *rivals); /* may be NULL */

/* Why settings @i cannot be run at all; NULL: they can.  Asked of rivals of @capacity 0. */
const GError *gemem_rivals_refusal (const GememRivals *rivals, guint i);

GEMEM_END_DECLS
